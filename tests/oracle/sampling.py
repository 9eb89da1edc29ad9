"""Systematic sampling in plain Python: the rule of ``bounding.rule``, where its proofs are."""

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
