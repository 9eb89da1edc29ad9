"""Which columns of a released table belong together: a figure, its half-width and its flag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dprelease.output.read.package import Field

MOE, RANKS, FLAG = "_noise_moe", "_rank_moe", "_flag"


class Figure(NamedTuple):
    """Places of a column and of those that say how exact it is; a key or a name has none."""

    name: str
    value: int
    moe: int | None = None
    ranks: int | None = None
    flag: int | None = None


def figures_of(fields: Sequence[Field]) -> list[Figure]:
    """Every column that stands for itself, with those that are about it, in order."""
    places = {field.name: place for place, field in enumerate(fields)}
    about = {
        f"{name}{suffix}"
        for name in places
        for suffix in (MOE, RANKS, FLAG)
        if f"{name}{MOE}" in places and f"{name}{suffix}" in places
    }
    return [
        Figure(
            name,
            place,
            *((places.get(f"{name}{suffix}") if f"{name}{MOE}" in about else None)
              for suffix in (MOE, RANKS, FLAG)),
        )
        for name, place in places.items()
        if name not in about
    ]  # fmt: skip


def keys_of(fields: Sequence[Field], figures: Sequence[Figure]) -> list[Figure]:
    """The grouping columns: those before the first figure; of names chosen, by description."""
    keys: list[Figure] = []
    for figure in figures:
        description = fields[figure.value].description
        if figure.moe is not None or not description.startswith(_OF_KEYS):
            break
        keys.append(figure)
    return keys


# How ``layout`` describes grouping columns.
_OF_KEYS = ("bins of ", "declared values of ", "values of ")
