"""What most statistics say of themselves unless they say otherwise."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import Query, Step
from dprelease.statistics.base import RECORDS_FOR_EXAMPLE

ESTIMATE = ("", "_noise_moe", "_flag")
"""Suffixes of the three columns of an estimate."""


class Estimate:
    """Publishes the same columns whatever the query; its errors differ from cell to cell."""

    suffixes: tuple[str, ...] = ESTIMATE

    def suffixes_of(self, query: Query) -> tuple[str, ...]:
        """The same for every query."""
        return self.suffixes

    def example(
        self, step: Step, interval: Fraction, records: int = RECORDS_FOR_EXAMPLE
    ) -> dict[str, float | int] | None:
        """No example is needed."""
        return None

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Differs from cell to cell."""
        return None

    def meaningful_from(self, step: Step, interval: Fraction) -> int | None:
        """Noise intervals say how much a figure says."""
        return None
