"""Systematic sampling of a unit's rows in SQL: every engine keeps exactly the same rows.

A unit's rows that pass the filter and lie in a cell are put in canonical order
(``request_content``): by cell, then by all counted columns. Three cuts follow: take m of the n
rows, then c of the k cells in which these lie, then r of the q rows in each cell. A cut takes all
items if there are no more than its bound; otherwise it takes them evenly from the whole order.

The rule. Of n items in order, take m < n: those at the places floor((j*n + s) / m), for
j = 0 .. m-1 and a start s from 0 .. n-1 (W. G. Madow and L. H. Madow, "On the theory of systematic
sampling, I", Annals of Mathematical Statistics 15, 1944).

Exactly m are taken: the places rise by n/m > 1, so no two are the same, and the last is at most
floor(((m-1)*n + n-1) / m) < n.

Each item is taken with probability exactly m/n, whatever it holds: item p is taken if and only if
one of the m integers p*m .. p*m + m-1 leaves the remainder s when divided by n. Since m < n they
leave m different remainders, so p is taken for exactly m of the n starts.

The sample is spread evenly: by the same argument, either floor(w*m/n) or ceil(w*m/n) of any w
consecutive items are taken, such as rows that are equal. Ten rows taken of 90 of one kind and 10 of
another are nine and one. Of the first p items, floor((p*m + n-1 - s) / n) are taken.

The starts. One SHA-256 hash of the salt and the unit's text gives three numbers of 60 bits, one for
each cut; the start is that number modulo n. If the digits are uniform, every start has probability
1/n up to 2^-60.

Guarantee. The sample is a function of the unit's own rows and the salt: not of other units' rows,
nor of the file or place where a row stands. Rows equal in all counted columns are interchangeable.
So whoever else is in the table, a unit adds at most m rows, in at most c cells, at most r in each.

``is_kept`` and ``count_kept`` are valid only where there are more items than the limit. Their
``start`` is the unit's number modulo the number of items.
"""

from __future__ import annotations

from enum import IntEnum

from dprelease.expressions.sqltext import Sql, call, literal

DIGITS = 15  # hexadecimal digits of each of the three numbers: 60 bits
NARROW = 1 << 22  # up to this limit, products with 2^40 records have less than 64 bits


class Cut(IntEnum):
    """The three cuts, each with the place of its number in the digest."""

    ROWS = 0
    CELLS = 1
    WITHIN = 2


def hash_unit(salt: int, unit: Sql) -> Sql:
    """Hash the salt and the text of a unit into a digest; null has a digest of its own."""
    unit_text = call("COALESCE", literal("=").concat(unit), "")
    return call("SHA256", literal(f"{salt}:").concat(unit_text))


def compute_number(digest: Sql, cut: Cut) -> Sql:
    """Read the unit's number for a cut from its digest."""
    digits = call("SUBSTR", digest, 1 + cut * DIGITS, DIGITS)
    return literal("0x").concat(digits).cast("BIGINT")


def compute_start(digest: Sql, cut: Cut, count: Sql) -> Sql:
    """Compute the start of a cut: the unit's number modulo ``count``."""
    return compute_number(digest, cut) % count


def is_kept(place: Sql, count: Sql, limit: int, start: Sql) -> Sql:
    """Tell if the item at a place from 0 is kept.

    It is if one of the ``limit`` integers from ``place * limit`` on leaves the remainder ``start``:
    then the last of them exceeds a number with that remainder by less than ``limit``.
    """
    return (_choose_times(place, limit) + (limit - 1) + count - start) % count < limit


def count_kept(place: Sql, count: Sql, limit: int, start: Sql) -> Sql:
    """Count the items kept of the first ``place``."""
    return ((_choose_times(place, limit) + (count - 1 - start)) // count).cast("BIGINT")


def _choose_times(place: Sql, limit: int) -> Sql:
    return (place if limit <= NARROW else place.cast("HUGEINT")) * limit
