"""Everything that is counted of a row as the bits of one integer, and back.

Each column is a field, the first ones in the highest bits, nulls as 0: so the order of the integers
is the canonical order of the rows (``contents``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from dprelease.engines.common.row_order import leading_of
from dprelease.engines.duckdb.cells import public_cells
from dprelease.engines.duckdb.typed_rows import Rows
from dprelease.expressions.sqltext import Kind, Sql, binary, call, case, cast, identifier, number
from dprelease.model import AggregateRequest

NARROW, WIDE = 63, 127  # bits of a BIGINT and of a HUGEINT beside the sign
WIDEST = 62  # bits of a field


@dataclass(frozen=True, slots=True)
class Field:
    """A column whose values are ``lowest`` and the ``size`` - 1 integers after it, or null."""

    column: str
    lowest: int
    size: int
    nullable: bool = True
    truth: bool = False  # a condition: 1 where it is true, else 0

    @property
    def bits(self) -> int:
        """The width of the field."""
        return (self.size + self.nullable - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Packing:
    """The fields in canonical order: the cell, and its place among later groups if there are any.

    The integer of a row is never negative.
    """

    fields: tuple[Field, ...]

    @property
    def bits(self) -> int:
        """The width of all fields."""
        return sum(field.bits for field in self.fields)

    @property
    def kind(self) -> Kind:
        """The type of the integers."""
        return "BIGINT" if self.bits <= NARROW else "HUGEINT"

    @property
    def lows(self) -> dict[str, int]:
        """The lowest bit of each column's field."""
        ends = accumulate(field.bits for field in self.fields)
        return {f.column: self.bits - end for f, end in zip(self.fields, ends, strict=True)}

    def packed(self) -> Sql:
        """The integer of a row; null where the cell is."""
        lows, whole = self.lows, cast(number(0), self.kind)
        for field in self.fields:
            value = cast(encoded(field), self.kind)
            if lows[field.column]:
                value = binary(value, "<<", number(lows[field.column]))
            whole = binary(whole, "|", value)
        return whole

    def above(self, column: str, value: Sql) -> Sql:
        """The bits of an integer from the field of a column upwards."""
        low = self.lows[column]
        return binary(value, ">>", number(low)) if low else value

    def decoded(self, field: Field, value: Sql) -> Sql:
        """The column that a field was made of."""
        bits = binary(self.above(field.column, value), "&", number((1 << field.bits) - 1))
        bits = cast(bits, "BIGINT")
        if field.truth:
            return binary(bits, "=", number(1))
        if not field.nullable:
            return bits
        return binary(call("NULLIF", bits, number(0)), "+", number(field.lowest - 1))


def encoded(field: Field) -> Sql:
    """The bits of a field, as a number that is never negative."""
    value = identifier(field.column)
    if field.truth:
        return case([(value, number(1))], number(0))
    if not field.nullable:
        return value
    above = binary(value, "-", number(field.lowest))
    return call("COALESCE", binary(above, "+", number(1)), number(0))


def packing_of(request: AggregateRequest, rows: Rows) -> Packing | None:
    """How the rows of the request are packed, or None if they can't be."""
    if request.private or rows.values:
        return None
    leading, end = leading_of(request), len(request.groups)
    fields = [Field("c", 0, public_cells(request, 0, leading), nullable=False)]
    if leading < end:
        fields.append(Field("a", 0, public_cells(request, leading, end)))
    for quantity, key in rows.quantities.items():
        fields.append(Field(key, quantity.grid.lower, quantity.grid.width + 1))
    for key in rows.conditions.values():
        fields.append(Field(key, 0, 2, nullable=False, truth=True))
    packing = Packing(tuple(fields))
    fits = packing.bits <= WIDE and max(field.bits for field in fields) <= WIDEST
    return packing if fits else None
