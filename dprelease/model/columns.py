"""Columns, their types, and the lattices their values live on."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

from msgspec import Struct


class ColumnType(StrEnum):
    """Declared type of a column."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


NUMERIC_TYPES = frozenset(
    {ColumnType.INTEGER, ColumnType.FLOAT, ColumnType.DECIMAL, ColumnType.BOOLEAN}
)


class Grid(Struct, frozen=True):
    """The public lattice of a numeric column: values ``k * step`` with ``lower <= k <= upper``."""

    step: Fraction
    lower: int
    upper: int

    @property
    def width(self) -> int:
        """Number of steps from the lower to the upper bound."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> int:
        """Largest absolute grid integer that one record can have."""
        return max(abs(self.lower), abs(self.upper))


class Expression(Struct, frozen=True):
    """A row-local SQL expression that passed the whitelist; ``columns`` are those it reads.

    With ``state_of`` it is not SQL: its value is the state of a record in that column, one of
    ``STATES``.
    """

    text: str
    columns: tuple[str, ...]
    state_of: Column | None = None


STATES = ("ok", "null", "unreadable", "undeclared", "clamped")
"""The first that fits, of null to clamped, or ok.

null: the field is missing, or holds a null text. unreadable: it holds something else, and gives no
value of its type. undeclared: its value is none of the keys, or lies in none of the bins. clamped:
its number lies outside of the bounds.

A computed column has no field that could be unreadable: where its expression has no value, it is
null.
"""


class Column(Struct, frozen=True):
    """A declared column.

    Texts (``keys``, ``edges``, ``null_value``) are canonical: integers without sign or leading
    zeros but a minus, decimals in plain notation, booleans ``true``/``false``, dates
    ``YYYY-MM-DD``, timestamps ``YYYY-MM-DD HH:MM:SS[.ffffff]``.
    ``null_value`` None means that records with a null are dropped from what uses the column;
    ``nulls_stated`` that the spec says so, and has not just left it open.
    ``format`` is how texts of a CSV file write dates or timestamps, None the ISO form. A moment
    with a zone becomes the wall clock of ``zone``, None that of UTC.
    """

    name: str
    type: ColumnType
    grid: Grid | None = None
    step_chosen: bool = False
    keys: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    other: str | None = None
    null_value: str | None = None
    expression: Expression | None = None
    source: str | None = None
    nulls_stated: bool = False
    format: str | None = None
    zone: str | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """States of ``STATES`` that a record can have in the column."""
        computed = self.expression is not None
        return tuple(state for state in STATES if not (computed and state == "unreadable"))

    @property
    def observed_column(self) -> Column | None:
        """Column whose states this column holds; None for all other columns."""
        return None if self.expression is None else self.expression.state_of
