"""Everything that is counted of a row as bits of one or several integers, and back.

Each column is a field: the cell as it is, all others with 0 for null. The cell comes first, whole,
in the lowest bits of the first integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dprelease.engines.duckdb_cells import leading_of, public_cells
from dprelease.engines.duckdb_rows import Rows
from dprelease.expressions.sqltext import (
    Sql,
    binary,
    call,
    case,
    cast,
    identifier,
    number,
)
from dprelease.model import AggregateRequest

ALONE = 35  # most bits of fields in a single integer, beside at least 28 of a hash
CHUNK = 31  # bits of fields in each of several integers, beside 32 of a hash
MOST_CHUNKS = 6
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
class Piece:
    """Bits ``start`` and on of a field, ``bits`` of them, at ``low`` of integer ``chunk``."""

    field: Field
    start: int
    bits: int
    chunk: int
    low: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each bit goes."""

    fields: tuple[Field, ...]
    pieces: tuple[Piece, ...]

    @property
    def chunks(self) -> int:
        """How many integers there are."""
        return 1 + max(piece.chunk for piece in self.pieces)

    @property
    def cell_bits(self) -> int:
        """The width of the cell in the first integer."""
        return self.fields[0].bits

    def used(self, chunk: int) -> int:
        """How many bits of an integer are taken."""
        return max(piece.low + piece.bits for piece in self.pieces if piece.chunk == chunk)

    def packed(self, chunk: int) -> Sql:
        """One of the integers, of columns ``e_<column>`` that hold the fields."""
        whole: Sql | None = None
        for piece in self.pieces:
            if piece.chunk != chunk:
                continue
            value = identifier(f"e_{piece.field.column}")
            if piece.start:
                value = binary(value, ">>", number(piece.start))
            if piece.start + piece.bits < piece.field.bits:
                value = binary(value, "&", number((1 << piece.bits) - 1))
            if piece.low:
                value = binary(value, "<<", number(piece.low))
            whole = value if whole is None else binary(whole, "|", value)
        return cast(number(0) if whole is None else whole, "UBIGINT")

    def unpacked(self, field: Field, chunks: Mapping[int, Sql]) -> Sql:
        """The bits of a field, of the integers or of what has them in its lowest bits."""
        whole: Sql | None = None
        for piece in self.pieces:
            if piece.field != field:
                continue
            value = chunks[piece.chunk]
            if piece.low:
                value = binary(value, ">>", number(piece.low))
            value = binary(value, "&", number((1 << piece.bits) - 1))
            if piece.start:
                value = binary(value, "<<", number(piece.start))
            whole = value if whole is None else binary(whole, "|", value)
        return number(0) if whole is None else whole

    def decoded(self, field: Field, chunks: Mapping[int, Sql]) -> Sql:
        """The column that the field was made of."""
        value = self.unpacked(field, chunks)
        if field.truth:
            return binary(value, "=", number(1))
        if not field.nullable:
            return value
        # pieces of different rows may make up what none of them holds
        if sum(piece.field == field for piece in self.pieces) > 1:
            value = call("LEAST", value, number(field.size))
        return binary(call("NULLIF", value, number(0)), "+", number(field.lowest - 1))


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
    if fields[0].bits > CHUNK or max(field.bits for field in fields) > WIDEST:
        return None
    total = sum(field.bits for field in fields)
    pieces = _cut(fields, ALONE if total <= ALONE else CHUNK)
    return Packing(tuple(fields), pieces) if pieces[-1].chunk < MOST_CHUNKS else None


def _cut(fields: list[Field], size: int) -> tuple[Piece, ...]:
    pieces = [Piece(fields[0], 0, fields[0].bits, 0, 0)]
    chunk, low = 0, fields[0].bits
    for field in fields[1:]:
        start = 0
        while start < field.bits:
            if low == size:
                chunk, low = chunk + 1, 0
            bits = min(size - low, field.bits - start)
            pieces.append(Piece(field, start, bits, chunk, low))
            start, low = start + bits, low + bits
    return tuple(pieces)
