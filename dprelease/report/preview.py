"""The beginning of a released table for people: rounded to what the noise leaves of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dprelease.model import OutputColumn
from dprelease.postprocess.fixed_point import placed


def shown_rows(columns: Sequence[OutputColumn], most: int) -> Iterator[tuple[object, ...]]:
    """Give the first rows, figures as texts."""
    texts = [_texts(column, _places(column, columns, most), most) for column in columns]
    yield from zip(*texts, strict=True)


def _texts(column: OutputColumn, places: int, most: int) -> list[object]:
    rounded = _up if column.kind != "key" and column.name.endswith("_noise_moe") else _rounded
    return [
        placed(rounded(value, column.decimals - places), places)
        if isinstance(value, int)
        else value
        for value in column.values[:most]
    ]


def _rounded(value: int, dropped: int) -> int:
    unit: int = 10**dropped
    return (2 * value + unit) // (2 * unit)


def _up(value: int, dropped: int) -> int:
    """Round a half-width, which must not look smaller than it is."""
    unit: int = 10**dropped
    return -(-value // unit)


def _places(column: OutputColumn, columns: Sequence[OutputColumn], most: int) -> int:
    """Decimals worth showing beside the noise: two digits of the smallest half-width shown.

    The half-width is the column's own, or else that of the query's first figure.
    """
    halves = {each.name: each for each in columns if each.name.endswith("_noise_moe")}
    near = (column.name, f"{column.name}_noise_moe", f"{column.query or ''}_noise_moe")
    found = next((halves[name] for name in near if name in halves), None)
    shown = found.values[:most] if found is not None else []
    smallest = min((half for half in shown if isinstance(half, int) and half > 0), default=0)
    if not smallest or not column.decimals:
        return column.decimals
    return min(column.decimals, max(0, column.decimals - len(str(smallest)) + 2))
