"""A unit's totals scaled to a norm, in plain Python; ``Clip`` has the proof."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from oracle.cells import Cell

from dprelease.model import Clip

MOST = 2**50

Totals = Mapping[Cell, int]


def scaled(totals: Totals, clip: Clip) -> dict[Cell, int]:
    """What remains of one unit's totals."""
    held = {cell: min(max(total, -MOST), MOST) for cell, total in totals.items()}
    if clip.norm == "l1":
        norm = sum(map(abs, held.values()))
    else:
        squares = sum(total * total for total in held.values())
        norm = math.isqrt(squares - 1) + 1 if squares else 0
    if norm <= clip.bound:
        return held
    return {
        cell: (-1 if total < 0 else 1) * (abs(total) * clip.bound // norm)
        for cell, total in held.items()
    }


def add_up(amounts: Iterable[tuple[bytes, Cell, int]], clip: Clip) -> dict[Cell, int]:
    """The sums over units of what remains, from what each row of a unit adds to its cell."""
    units: defaultdict[bytes, defaultdict[Cell, int]] = defaultdict(lambda: defaultdict(int))
    for unit, cell, amount in amounts:
        units[unit][cell] += amount
    sums: defaultdict[Cell, int] = defaultdict(int)
    for totals in units.values():
        for cell, total in scaled(totals, clip).items():
            sums[cell] += total
    return dict(sums)
