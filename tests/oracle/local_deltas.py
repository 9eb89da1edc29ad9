"""Deltas of local randomizers by their formulas: an oracle for the planner and the verifier."""

from fractions import Fraction

from dprelease.model.record_tables import Window
from dprelease.privacy.interval_arithmetic import bound_exp, round_down


def delta_of(window: Window, epsilon: Fraction) -> Fraction:
    """Upper bound of the delta of a window at this epsilon, for any two numbers."""
    starts = window.levels - window.width
    over = window.ratio - round_down(1 / bound_exp(-epsilon)[1], 30)
    if over <= 0:
        return Fraction(0)
    return min(window.width, starts) * over / (starts + window.ratio * window.width)


def subset_delta(labels: int, size: int, chance: Fraction, epsilon: Fraction) -> Fraction:
    """Upper bound of the delta of subset selection, any two labels either way round."""
    most = bound_exp(-epsilon)[1]  # e^epsilon >= 1/most, and epsilon may be large
    alone = chance * (labels - size) / (labels - 1)
    other = (1 - chance) * size / (labels - 1)
    return max(Fraction(0), alone - other / most, other - alone / most)
