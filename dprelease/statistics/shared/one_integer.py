"""Statistics that release one integer for each cell: counts and sums.

The half-width of the noise interval is the same for every cell; but a count that selects private
keys is seen only where it is large, and ``shown`` says what that means.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dprelease.kernel.noise.distributions.laws import halfwidth
from dprelease.model import NoiseFamily, OutputColumn, Query, Step
from dprelease.postprocess.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.fixed_point import decimals_of, fixed_point
from dprelease.postprocess.number_text import plus_minus
from dprelease.statistics.shared.defaults import Estimate
from dprelease.statistics.shared.truncated_count_interval import shown_halfwidth


class Single(Estimate):
    """One integer with noise, times its unit. The half-width is the same for every cell."""

    what = "number"

    def meaning(self, query: Query) -> str:
        """What is estimated, in a few words."""
        return self.what

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Publish the noisy integers as they are; the half-width comes from the exact law."""
        unit = step.unit[0]
        places = decimals_of(unit)
        factor = fixed_point(unit, places)
        half: int | list[int] = factor * halfwidth(step.noise, 1 - interval)
        if step.threshold is not None:
            half = [
                factor * shown_halfwidth(step.noise, step.threshold, k, 1 - interval)
                for k in noisy[0]
            ]
        values = noisy[0] if factor == 1 else [k * factor for k in noisy[0]]
        layout = Layout(step.query.name, places, self._described(step), interval)
        return estimate_columns(layout, values, half)

    def _described(self, step: Step) -> str:
        meaning = self.meaning(step.query)
        if step.noise.family is NoiseFamily.NONE:
            return f"{meaning}, exact: no neighbour changes it"
        if step.threshold is not None:
            return (
                f"{meaning}, with noise; keys where it is below {step.threshold:,} are not shown, "
                "so that counts near that look larger than they are, and their noise intervals "
                "are wide"
            )
        return f"{meaning}, with noise"

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Half-width of the noise on one figure."""
        said = plus_minus(step.unit[0] * halfwidth(step.noise, 1 - interval))
        return said if step.threshold is None else f"{said}; more near the threshold"

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """The same for every cell, or for every key whose count is far above the threshold."""
        return step.unit[0] * halfwidth(step.noise, 1 - interval)
