"""What a spec asks: groups and queries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from dprelease.model.columns import Column, ColumnType, Expression


@dataclass(frozen=True, slots=True)
class Group:
    """One public grouping column of a query: it maps each record to a label, or to none.

    Exactly one of ``keys`` (declared values) and ``edges`` (bins: half-open, the last one closed)
    is set. ``labels`` are the published labels in order: the keys or bins, then ``other``.
    Undeclared values go to ``other`` if set, else the record belongs to no cell; nulls go to
    ``null_label`` if set (one of ``labels``), else to no cell.
    """

    column: str
    type: ColumnType
    labels: tuple[str, ...]
    keys: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    other: str | None = None
    null_label: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """One ``[[query]]``. Budget: ``epsilon`` (and ``delta``), ``rho``, or else ``weight``."""

    name: str
    statistic: str
    table: str
    groups: tuple[Group, ...] = ()
    column: Column | None = None
    where: Expression | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    weight: Fraction = Fraction(1)
    mechanism: str = "auto"  # "auto" | "laplace" | "gaussian"
    number: int = 0  # position in the spec, from 0

    @property
    def cells(self) -> int:
        """Number of cells of the cross product of the groups (1 when there are none)."""
        return prod(len(group.labels) for group in self.groups)
