"""What an engine is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from dprelease.model.columns import ColumnType, Expression, Grid
from dprelease.model.queries import Group
from dprelease.model.settings import Source


class MeasureKind(StrEnum):
    """RECORDS: number of records; VALUES: number of records with a value; SUM: sum of their k."""

    RECORDS = "records"
    VALUES = "values"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A numeric column put on its grid: ``k = clamp(round(x / step), lower, upper)``.

    Nulls, NaN and unreadable values become ``null_fill`` (a grid integer inside the bounds) or,
    when it is None, the record has no value. Infinities clamp to the bounds.
    """

    column: str
    grid: Grid
    null_fill: int | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One exact integer for each cell, over the records of the cell for which ``where`` is true."""

    kind: MeasureKind
    quantity: Quantity | None = None
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column that the request reads: from the file, or computed when ``expression`` is set."""

    name: str
    type: ColumnType
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class AggregateRequest:
    """One table of exact integers: every cell of the cross product of ``groups``, row-major."""

    source: Source
    inputs: tuple[InputColumn, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]

    @property
    def cells(self) -> int:
        """Number of cells (1 when there are no groups)."""
        return prod(len(group.labels) for group in self.groups)


class ExactTable:
    """Exact aggregates: one sequence of integers per measure, one integer per cell.

    Private. It shows nothing of itself, can't be pickled, and has no equality.
    """

    __slots__ = ("_measures",)

    def __init__(self, measures: Sequence[Sequence[int]]) -> None:
        self._measures = tuple(measures)

    def reveal(self) -> tuple[Sequence[int], ...]:
        """The integers themselves: called by ``privatize`` and by tests of engines only."""
        return self._measures

    def __repr__(self) -> str:
        return "<ExactTable: private>"

    def __reduce__(self) -> str:
        raise TypeError("exact aggregates are never serialised")
