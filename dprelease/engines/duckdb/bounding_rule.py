"""The rule of ``sampling`` in SQL: numbers of a unit, and which places are kept.

All arguments are SQL of whole numbers; what they give is meant only where more items are there than
may be kept. A ``start`` is the remainder of the unit's number by how many items there are.
"""

from __future__ import annotations

from enum import IntEnum

from dprelease.engines.common.bounding_rule import DIGITS
from dprelease.expressions.sqltext import Sql, binary, call, cast, each, identifier, number, text

NARROW = 1 << 22  # up to so many kept, products with 2^40 records have less than 64 bits


class Cut(IntEnum):
    """Which of the three cuts: its place among the numbers of ``sampling.Seeds``."""

    ROWS = 0
    CELLS = 1
    WITHIN = 2


def digest_of(salt: int, unit: Sql) -> Sql:
    """What the numbers of a unit are taken of; ``unit`` is its text."""
    named = call("COALESCE", binary(text("="), "||", unit), text(""))
    return call("SHA256", binary(text(f"{salt}:"), "||", named))


def start_of(digest: Sql, cut: Cut, count: Sql) -> Sql:
    """Where the sample of a cut begins."""
    digits = call("SUBSTR", digest, number(1 + cut * DIGITS), number(DIGITS))
    return binary(cast(binary(text("0x"), "||", digits), "BIGINT"), "%", count)


def places(count: Sql, most: Sql, start: Sql) -> Sql:
    """A list of the places from 1 of the ``most`` that are kept."""
    place = binary(binary(binary(identifier("j"), "*", count), "+", start), "//", most)
    return call("LIST_TRANSFORM", call("RANGE", most), each(("j",), binary(place, "+", number(1))))


def is_kept(place: Sql, count: Sql, most: int, start: Sql) -> Sql:
    """Whether the item at a place from 0 is kept.

    That is, whether one of ``most`` whole numbers from ``place * most`` on has the remainder
    ``start``: then the last of them is less than ``most`` above a number that has.
    """
    last = binary(_times(place, most), "+", number(most - 1))
    above = binary(binary(binary(last, "+", count), "-", start), "%", count)
    return binary(above, "<", number(most))


def kept_before(place: Sql, count: Sql, most: int, start: Sql) -> Sql:
    """How many of the first ``place`` items are kept."""
    from_end = binary(binary(count, "-", number(1)), "-", start)
    return cast(binary(binary(_times(place, most), "+", from_end), "//", count), "BIGINT")


def _times(place: Sql, most: int) -> Sql:
    wide = place if most <= NARROW else cast(place, "HUGEINT")
    return binary(wide, "*", number(most))
