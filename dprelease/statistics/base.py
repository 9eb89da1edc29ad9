"""What a statistic must say of itself. One file for each statistic, one registry line.

``Estimate`` holds what most statistics say of themselves unless they say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dprelease.model import (
    Adjacency,
    Column,
    Expression,
    Form,
    Measure,
    OutputColumn,
    Quantity,
    Query,
    Sensitivity,
    Step,
)
from dprelease.privacy.sensitivity import Contribution

ONE_ROW = Contribution(1, 1, 1)
RECORDS_FOR_EXAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Released:
    """What a statistic has released of each cell, as ``Step`` describes it.

    NUMBERS: the integers ``transform @ measures``; ``unit[i]`` is the value of one integer step of
    released integer i. CHOICE: one row of ``transform`` makes the score of each candidate, in steps
    of ``unit[0]``; the row is empty where the scores are those of ``Query.candidates``.
    QUANTILES: no measures, but ``points``; an empty row and a unit for each quantile.
    """

    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...]
    unit: tuple[Fraction, ...]
    form: Form = Form.NUMBERS
    points: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What two neighbouring tables differ in: one record, or one unit with all its rows.

    ``people``: the unit is a column's value, and has the rows that ``contribution`` allows.
    Otherwise it is a record, exactly one row.
    """

    adjacency: Adjacency
    contribution: Contribution = ONE_ROW
    people: bool = False

    def __post_init__(self) -> None:
        if not self.people and self.contribution != ONE_ROW:
            raise ValueError("a record is one row")

    @property
    def noun(self) -> str:
        """What comes and goes, in derivations."""
        return "person" if self.people else "record"


class Statistic(Protocol):
    """A statistic: what it releases, how far a neighbour can move it, how it is read."""

    @property
    def name(self) -> str:
        """Its name in the spec."""

    def suffixes_of(self, query: Query) -> tuple[str, ...]:
        """Suffixes of the columns it publishes after the query's name, in order."""

    def released(self, query: Query) -> Released:
        """Say which integers leave the engine, and which combinations of them are noised."""

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all released integers together between neighbouring tables."""

    def columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        """Read what was released (``noisy[i][cell]``): estimates, noise intervals, flags."""

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """Say before any data is read how large the noise will be, at the interval level."""

    def example(
        self, step: Step, interval: Fraction, records: int = RECORDS_FOR_EXAMPLE
    ) -> dict[str, float | int] | None:
        """Give the half-width at so many records, where it differs by cell."""

    def halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Give the half-width of the noise interval if it is the same for every cell."""

    def meaningful_from(self, step: Step, interval: Fraction) -> int | None:
        """Give the number of a cell's values below which its figure says nothing, if it is known.

        A function of the plan alone.
        """


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


def both(first: Expression | None, second: Expression | None) -> Expression | None:
    """The condition that both are true; None is always true."""
    if first is None or second is None:
        return first or second
    columns = tuple(dict.fromkeys(first.columns + second.columns))
    return Expression(f"({first.text}) AND ({second.text})", columns)
