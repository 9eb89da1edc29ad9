"""What a choice, a quantile or a private key promises, in sentences with their numbers."""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.finish.text import number, percent
from dprelease.model import Form, NoiseFamily, Step
from dprelease.report.numbers import text, upward
from dprelease.statistics.registry import statistic_of

EXTREMES = {"min": "minimum", "max": "maximum"}


def explained(step: Step, interval: Fraction) -> list[str]:
    """Explain what a table of scales can't; empty for plain noise on public cells."""
    said: list[str] = []
    if step.threshold is not None:
        said.append(_threshold(step, interval))
    elif step.query.private:
        said.append("Its cells are the private keys that the table's count selected.")
    if step.form is Form.CHOICE:
        said.append(_choice(step, interval))
    elif step.form is Form.QUANTILES:
        said.append(_quantiles(step, interval))
    elif step.query.axis is not None:
        said.append(_largest(step, interval))
    if step.query.statistic == "ratio":
        said.append(
            "Numerator and denominator have noise of one size, each times an integer that balances "
            "their errors."
        )
    return said


def threshold_facts(step: Step, interval: Fraction) -> dict[str, object] | None:
    """State what the count that selects private keys promises; None for all other steps."""
    selection = step.query.key_selection
    if step.threshold is None or selection is None:
        return None
    half = _half(step, interval)
    return {
        "at_least": step.threshold,
        "delta": upward(selection.delta),
        "counts": _counted(step),
        "shown_from": math.ceil(step.threshold + half),
        "hidden_below": max(2, math.floor(step.threshold - half)),
    }


def _counted(step: Step) -> str:
    return "people" if step.query.statistic == "count_units" else "rows"


def _half(step: Step, interval: Fraction) -> Fraction:
    return statistic_of(step.query.statistic).halfwidth(step, interval) or Fraction(0)


def _threshold(step: Step, interval: Fraction) -> str:
    known = threshold_facts(step, interval) or {}
    many = known["counts"]
    one = "person" if many == "people" else "row"
    level = percent(interval)
    return (
        f"Private keys: each key that occurs gets its number of {many} with noise, and is shown "
        f"with it where that is at least {known['at_least']:,}. A key that one {one} alone has is "
        f"shown with a probability of at most {known['delta']}. A key of {known['shown_from']:,} "
        f"{many} or more is shown, and one of fewer than {known['hidden_below']:,} hidden, each "
        f"with at least {level} certainty. Of keys about the threshold those are seen whose noise "
        "was large, so that their counts look larger than they are."
    )


def _choice(step: Step, interval: Fraction) -> str:
    """The bound of the exponential mechanism, which permute-and-flip keeps too."""
    query, known = step.query, step.sensitivity
    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    several = query.picks > 1
    epsilon = step.noise.parameter * known.choice_l1 * (1 if known.monotone else 2)
    return (
        f"Chosen by {'permute-and-flip' if flips else 'the exponential mechanism'} among public "
        f"candidates{', one pick after the other' if several else ''}: larger scores are likelier. "
        f"{_error(step, interval)}, whatever the scores are. The bound is "
        f"{'' if known.monotone else '2 '}D (ln R + t)/epsilon, in whole scores, with D = "
        f"{number(known.choice_l1 * step.unit[0], 6, up=True)} (how far neighbours move a score; "
        f"{'all move one way' if known.monotone else 'they can move both ways'}), "
        f"R = {candidates_of(step) * query.picks:,} (candidates{' times picks' if several else ''})"
        f", t = ln(1/{text(1 - interval)}) and epsilon = {upward(epsilon)}"
        f"{' for each pick' if several else ''}."
    )


def _largest(step: Step, interval: Fraction) -> str:
    """Top k by noisy counts."""
    return (
        f"The {step.query.picks:,} with the largest noisy counts are named, and the counts are not "
        f"published. {_error(step, interval)}, whatever the counts are."
    )


def _quantiles(step: Step, interval: Fraction) -> str:
    query = step.query
    among = f"{candidates_of(step):,} values of the grid"
    if query.points is not None:
        among = f"{candidates_of(step):,} candidates listed"
    said = f"Chosen by the exponential mechanism among the {among}: nearer ranks are likelier."
    if len(query.quantiles) > 1:
        said += " One is found after the other, between two found before, so that they rise."
    error = _error(step, interval).partition(";")[0]
    said += f" The error is {error} with {percent(interval)} certainty, whatever the values are."
    if query.statistic in EXTREMES:
        said += (
            f" It is the quantile {text(query.quantiles[0])}, for a true "
            f"{EXTREMES[query.statistic]} is the value of one record and can't be released."
        )
    return said


def _error(step: Step, interval: Fraction) -> str:
    """The statistic's own words, as the beginning of a sentence."""
    said = statistic_of(step.query.statistic).expected_error(step, interval)
    return said[0].upper() + said[1:]


def candidates_of(step: Step) -> int:
    """Among how many a choice or a quantile is taken in each cell; 0 for all else."""
    query = step.query
    if query.candidates is not None:
        return len(query.candidates.texts)
    if query.axis is not None:
        return len(query.axis.labels)
    if step.points is not None:
        return len(query.points) if query.points is not None else step.points.grid.width + 1
    return 0
