"""The three columns of an estimate: value, half-width of its noise interval, flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.finish.text import percent
from dprelease.model import OutputColumn

UNRELIABLE_AT = Fraction(3, 10)
"""A value whose noise half-width is more than this share of it is flagged low_reliability."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How an estimate is published: column name, decimal places, meaning, interval level."""

    name: str
    places: int
    meaning: str
    interval: Fraction


def estimate_columns(
    layout: Layout, values: Sequence[int], halves: Sequence[int]
) -> list[OutputColumn]:
    """Lay out an estimate as published.

    ``values`` and ``halves`` are fixed-point integers with ``places`` decimals, one per cell.
    """
    name, places = layout.name, layout.places
    kind = "number" if places else "integer"
    top, bottom = UNRELIABLE_AT.numerator, UNRELIABLE_AT.denominator
    flags = [
        "low_reliability" if half * bottom > abs(value) * top else "ok"
        for value, half in zip(values, halves, strict=True)
    ]
    level = percent(layout.interval)
    return [
        OutputColumn(name, kind, list(map(int, values)), layout.meaning, places, name),
        OutputColumn(
            f"{name}_noise_moe",
            kind,
            list(map(int, halves)),
            f"half-width of the {level} noise interval of {name}: "
            "the noise alone, no sampling or measurement error",
            places,
            name,
        ),
        OutputColumn(
            f"{name}_flag",
            "text",
            flags,
            f"ok, or low_reliability where the noise half-width exceeds "
            f"{percent(UNRELIABLE_AT)} of {name}",
            0,
            name,
        ),
    ]
