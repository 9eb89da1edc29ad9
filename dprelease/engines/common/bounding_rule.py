"""Which of a unit's rows are kept: systematic sampling, the same in every engine, to the bit.

A unit's rows that pass the filter and lie in a cell are put in canonical order (``contents``): by
cell, then by all that is counted of them. Three cuts follow. Of the n rows m are kept; of the k
cells these lie in c; of the q rows in each cell r. Each cut keeps whole what is within its bound,
and else takes its share evenly from the whole length of what is in order.

The rule. Of n items in order, m < n of them are kept: those at the places floor((j*n + s) / m), for
j = 0 .. m-1 and a start s from 0 .. n-1 (W. G. Madow and L. H. Madow, "On the theory of systematic
sampling, I", Annals of Mathematical Statistics 15, 1944).

Exactly m are kept: the places rise by n/m > 1, so no two are the same, and the last is at most
floor(((m-1)*n + n-1) / m) < n.

Each item is kept with chance exactly m/n, whatever it is like: item p is kept if and only if one of
the m whole numbers p*m .. p*m + m-1 leaves the remainder s when divided by n. Since m < n they
leave m different remainders, so p is kept for exactly m of the n starts.

What is kept is spread evenly: by the same count, of any w items that stand together, such as rows
that are alike, either floor(w*m/n) or ceil(w*m/n) are kept. Of 90 rows of one kind and 10 of
another, ten are nine and one. Of the first p items, floor((p*m + n-1 - s) / n) are kept.

The starts. One SHA-256 of the salt and the unit gives three numbers of 60 bits, one for each cut;
the start is the remainder of such a number by n. If the digits are uniform, every start has chance
1/n up to 2^-60.

Guarantee. What is kept is a function of the unit's own rows and the salt: not of other units' rows,
nor of where a row stands in which file. Rows alike in all that is counted are interchangeable. So
whoever else is there, a unit adds at most m rows, in at most c cells, at most r in each.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from dprelease.expressions.nodes import Value

DIGITS = 15  # hexadecimal ones, of each of the three numbers: 60 bits


class Seeds(NamedTuple):
    """A number for each cut of a unit: of its rows, of their cells, and within each cell."""

    rows: int
    cells: int
    within: int


def seeds_of(salt: int, unit: str | None) -> Seeds:
    """The numbers of the unit with this text; None is the unit of rows without one."""
    named = "" if unit is None else f"={unit}"
    digest = sha256(f"{salt}:{named}".encode()).hexdigest()
    return Seeds(*(int(digest[at : at + DIGITS], 16) for at in range(0, 3 * DIGITS, DIGITS)))


def sampled(count: int, most: int, seed: int) -> Sequence[int]:
    """The places from 0, in order, of those kept of ``count`` items: ``most``, or all if fewer."""
    if count <= most:
        return range(count)
    start = seed % count
    return [(each * count + start) // most for each in range(most)]


def text_of(value: Value) -> str | None:
    """The text of a unit: equal for equal values, different for different ones of one type.

    Integers in decimal; ``true`` and ``false``; the 64 bits of a double; days and microseconds
    since 1970; a text as it is. None for no unit.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return bits_of(value + 0.0)  # which makes -0.0 a plain 0
    if isinstance(value, datetime):
        return str((value - datetime(1970, 1, 1)) // timedelta(microseconds=1))
    if isinstance(value, date):
        return str((value - date(1970, 1, 1)).days)
    return None if value is None else str(value)


def bits_of(value: float) -> str:
    """The bits of a double, sign first; all NaNs are one."""
    if math.isnan(value):
        return "nan"
    return format(int.from_bytes(struct.pack(">d", value)), "064b")
