"""Statistics that release one integer for each cell: counts and sums.

The half-width of the noise interval is the same for every cell, except for counts that select
private keys: a key is shown only if its noisy count Y = n + X reaches a threshold. Among the keys
shown, those near the threshold have more noise than average. So the interval must hold n with the
stated probability among the keys shown, for every n >= 1 (no other key occurs):

    P(abs(Y - n) <= half(Y) | Y >= threshold) >= 1 - alpha.

*From above.* P(X < -h) <= alpha/2, where h is the half-width of the noise alone. Leaving out the
smallest Y only lowers this probability.

*From below.* Among the keys shown, n gives Y or more with probability P(X >= Y - n)/P(X >= t - n),
where t is the threshold. It rises with n, because X is log-concave. So the least n for which it
exceeds alpha/2 bounds n from below, except with probability alpha/2. ``half`` is the distance to
that n, or h if this is larger.

Near the threshold the interval reaches down to 1: a count with Laplace noise then shows that the
key occurs, and no more. A few scales above the threshold ``half`` is h.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from dprelease.model import Noise, NoiseFamily, OutputColumn, Query, Step
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.fixed_point import count_decimals, to_fixed_point
from dprelease.postprocess.intervals.number_text import write_halfwidth
from dprelease.statistics.shared.statistic import Noisy, Statistic, compute_noise_halfwidth


class Single(Statistic):
    """One noisy integer times its unit, with the same half-width for every cell.

    Counts that select private keys have a half-width of their own for each key; see the module.
    """

    what = ""
    one_number = True

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the noisy integers as they are; the half-width comes from the exact law."""
        unit = step.unit[0]
        places = count_decimals(unit)
        factor = to_fixed_point(unit, places)
        half: int | list[int] = factor * compute_noise_halfwidth(step.noise, 1 - interval)
        if step.threshold is not None:
            half = [
                factor * compute_shown_halfwidth(step.noise, step.threshold, k, 1 - interval)
                for k in noisy[0]
            ]
        values = noisy[0] if factor == 1 else [k * factor for k in noisy[0]]
        layout = Layout(step.query.name, places, self._describe_figure(step), interval)
        return estimate_columns(layout, values, half)

    def _describe_figure(self, step: Step) -> Sentence:
        meaning = self.describe_meaning(step.query)
        if step.noise.family is NoiseFamily.NONE:
            return sentence("tables.columns.exact", figure=meaning)
        if step.threshold is not None:
            return sentence(
                "tables.columns.private_keys",
                figure=meaning,
                threshold=step.threshold,
            )
        return sentence("tables.columns.with_noise", figure=meaning)

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the half-width of the noise on one figure."""
        error_text = write_halfwidth(
            step.unit[0] * compute_noise_halfwidth(step.noise, 1 - interval)
        )
        return (
            error_text
            if step.threshold is None
            else sentence("statistics.error.near_threshold", error=error_text)
        )

    def list_aspects(self, query: Query) -> tuple[tuple[Fraction, ...], ...]:
        """List the figure."""
        return (self.define_release(query).unit,)

    def list_linear_factors(self, query: Query) -> Mapping[str, tuple[Fraction, ...]]:
        """List the figure: its integer times the unit."""
        return {query.column_name: self.define_release(query).unit}

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Compute the half-width for every cell; for private keys, far above the threshold."""
        return step.unit[0] * compute_noise_halfwidth(step.noise, 1 - interval)


_ONE = Fraction(1)
_FAR = 64
_BITS = 80  # of probabilities; where one is smaller still, the interval is the wider


def compute_shown_halfwidth(noise: Noise, threshold: int, count: int, alpha: Fraction) -> int:
    """Compute the half-width for a noisy ``count`` that has reached the threshold."""
    settled = _find_settled_count(noise, threshold, alpha)
    if settled is not None and count >= settled:
        return compute_noise_halfwidth(noise, alpha)
    return _compute_halfwidth(noise, threshold, count, alpha)


@lru_cache(maxsize=1 << 16)
def _compute_halfwidth(noise: Noise, threshold: int, count: int, alpha: Fraction) -> int:
    half = compute_noise_halfwidth(noise, alpha)
    low, high = 0, count - half
    while high - low > 1:  # the least n that is possible lies above low, or the half-width is h
        middle = (low + high) // 2
        if _is_possible(noise, threshold, count, middle, alpha):
            high = middle
        else:
            low = middle
    return max(half, count - max(high, 1))


@lru_cache(maxsize=64)
def _find_settled_count(noise: Noise, threshold: int, alpha: Fraction) -> int | None:
    """Find a count from which on the half-width is that of the noise alone; None if not found."""
    half = compute_noise_halfwidth(noise, alpha)
    reach = 1
    while reach < _FAR * (half + 1):
        count = threshold + reach
        if not _is_possible(noise, threshold, count, count - half - 1, alpha):
            return count
        reach *= 2
    return None


def _is_possible(noise: Noise, threshold: int, count: int, n: int, alpha: Fraction) -> bool:
    """Check that ``n`` gives ``count`` or more with a chance above alpha/2, among shown keys."""
    reached = _bound_tail(noise, count - n)[1]
    return 2 * reached > alpha * _bound_tail(noise, threshold - n)[0]


@lru_cache(maxsize=1 << 14)
def _bound_tail(noise: Noise, value: int) -> tuple[Fraction, Fraction]:
    """Bound P(X >= value) from below and above."""
    # Imported here for start-up: to load a spec needs no law.
    from dprelease.kernel.distributions.laws import bound_tail

    if value >= 1:
        return bound_tail(noise, value, _BITS)
    low, high = bound_tail(noise, 1 - value, _BITS)
    return _ONE - high, _ONE - low
