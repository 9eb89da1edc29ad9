"""What a statistic must say of itself. One file for each statistic, one registry line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dprelease.model import (
    Adjacency,
    Column,
    Measure,
    OutputColumn,
    Quantity,
    Query,
    Sensitivity,
    Step,
)
from dprelease.privacy.shift import Shift


@dataclass(frozen=True, slots=True)
class Released:
    """The integers a statistic releases for each cell: ``transform @ measures``.

    ``unit[i]`` is the value of one integer step of released integer i.
    """

    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...]
    unit: tuple[Fraction, ...]


class Statistic(Protocol):
    """A statistic: what it releases, how far a neighbour can move it, how it is read."""

    @property
    def name(self) -> str:
        """Its name in the spec."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the columns it publishes after the query's name, "" first."""

    def released(self, query: Query) -> Released:
        """Say which integers leave the engine, and which combinations of them are noised."""

    def sensitivity(self, query: Query, adjacency: Adjacency) -> Sensitivity:
        """Bound the change of all released integers together between neighbouring tables."""

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Read the noisy integers (``noisy[i][cell]``): estimates, noise intervals, flags."""

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Say before any data is read how large the noise will be, at the interval level."""

    def example(self, step: Step, interval: Fraction) -> dict[str, float | int] | None:
        """Give the half-width at an example number of values, where it differs by cell."""

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Give the half-width of the noise interval if it is the same for every cell."""


def bounded(l1: int, shift: Shift, derivation: str) -> Sensitivity:
    """State a sensitivity from its L1 norm and the shifts that neighbours can cause."""
    return Sensitivity(l1, shift.l2_squared, shift.coordinates, shift.shapes, derivation)


def quantity(column: Column | None) -> Quantity:
    """Put a column with bounds on its grid.

    Raises ValueError when the column has no bounds, which the spec's checks rule out.
    """
    if column is None or column.grid is None:
        raise ValueError("a quantity needs a column with bounds")
    return Quantity(column.name, column.grid, null_fill(column))


def null_fill(column: Column) -> int | None:
    """Give the grid integer that stands for a null, inside the bounds, or None to drop it."""
    grid = column.grid
    if column.null_value is None or grid is None:
        return None
    text = {"true": "1", "false": "0"}.get(column.null_value, column.null_value)
    nearest = round(Fraction(text) / grid.step)
    return min(max(nearest, grid.lower), grid.upper)


def may_be_outside(query: Query) -> bool:
    """Say whether some record can be in no cell of the query.

    True when a filter, an undeclared group value or a null in a group can drop it. Unreadable
    values are nulls.
    """
    return query.where is not None or any(
        group.other is None or group.null_label is None for group in query.groups
    )
