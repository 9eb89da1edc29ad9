"""Systematic sampling of a unit's rows in SQL: which rows are counted, in any engine, to the bit.

A unit's rows that pass the filter and lie in a cell are put in canonical order
(``request_content``): by cell, then by all that is counted of them. Three cuts follow. Of the n
rows m are taken; of the k cells these lie in c; of the q rows in each cell r. Each cut takes all of
what is within its bound, and else its share evenly from the whole length of what is in order.

The rule. Of n items in order, m < n of them are taken: those at the places floor((j*n + s) / m),
for j = 0 .. m-1 and a start s from 0 .. n-1 (W. G. Madow and L. H. Madow, "On the theory of
systematic sampling, I", Annals of Mathematical Statistics 15, 1944).

Exactly m are taken: the places rise by n/m > 1, so no two are the same, and the last is at most
floor(((m-1)*n + n-1) / m) < n.

Each item is taken with chance exactly m/n, whatever it is like: item p is taken if and only if one
of the m whole numbers p*m .. p*m + m-1 leaves the remainder s when divided by n. Since m < n they
leave m different remainders, so p is taken for exactly m of the n starts.

The sample is spread evenly: by the same count, of any w items that stand together, such as rows
that are alike, either floor(w*m/n) or ceil(w*m/n) are taken. Of 90 rows of one kind and 10 of
another, ten are nine and one. Of the first p items, floor((p*m + n-1 - s) / n) are taken.

The starts. One SHA-256 of the salt and the text of the unit gives three numbers of 60 bits, one for
each cut; the start is the remainder of such a number by n. If the digits are uniform, every start
has chance 1/n up to 2^-60.

Guarantee. The sample is a function of the unit's own rows and the salt: not of other units' rows,
nor of where a row stands in which file. Rows alike in all that is counted are interchangeable. So
whoever else is there, a unit adds at most m rows, in at most c cells, at most r in each.

All arguments here are SQL of whole numbers; what they give is meant only where more items are there
than may be taken. A ``start`` is the remainder of the unit's number by how many items there are.
"""

from __future__ import annotations

from enum import IntEnum

from dprelease.expressions.sqltext import Sql, call, literal

DIGITS = 15  # hexadecimal ones, of each of the three numbers: 60 bits
NARROW = 1 << 22  # up to so many kept, products with 2^40 records have less than 64 bits


class Cut(IntEnum):
    """Which of the three cuts: its place among the three numbers of the digest."""

    ROWS = 0
    CELLS = 1
    WITHIN = 2


def hash_unit(salt: int, unit: Sql) -> Sql:
    """Compute what the numbers of a unit are taken of; ``unit`` is its text."""
    unit_text = call("COALESCE", literal("=").concat(unit), "")
    return call("SHA256", literal(f"{salt}:").concat(unit_text))


def compute_number(digest: Sql, cut: Cut) -> Sql:
    """Compute the unit's number for a cut."""
    digits = call("SUBSTR", digest, 1 + cut * DIGITS, DIGITS)
    return literal("0x").concat(digits).cast("BIGINT")


def compute_start(digest: Sql, cut: Cut, count: Sql) -> Sql:
    """Compute where the sample of a cut begins."""
    return compute_number(digest, cut) % count


def is_kept(place: Sql, count: Sql, limit: int, start: Sql) -> Sql:
    """Tell if the item at a place from 0 is kept.

    That is, whether one of ``most`` whole numbers from ``place * most`` on has the remainder
    ``start``: then the last of them is less than ``most`` above a number that has.
    """
    return (_choose_times(place, limit) + (limit - 1) + count - start) % count < limit


def count_kept(place: Sql, count: Sql, limit: int, start: Sql) -> Sql:
    """Count those kept of the first ``place`` items."""
    return ((_choose_times(place, limit) + (count - 1 - start)) // count).cast("BIGINT")


def _choose_times(place: Sql, limit: int) -> Sql:
    return (place if limit <= NARROW else place.cast("HUGEINT")) * limit
