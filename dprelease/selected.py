"""Private keys that were selected, in an order that tells nothing of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.model import NUMERIC_TYPES, ColumnType, Group

Key = tuple[str, ...]


def selected(
    keys: Sequence[Key], noisy: Sequence[int], threshold: int, groups: Sequence[Group]
) -> list[tuple[Key, int]]:
    """Keep the keys whose noisy count reaches the threshold, each with that count, in order.

    Public labels come as declared, private ones as numbers or texts sort.
    """
    kept = [(key, count) for key, count in zip(keys, noisy, strict=True) if count >= threshold]
    ranks = [{label: rank for rank, label in enumerate(group.labels)} for group in groups]

    def order(found: tuple[Key, int]) -> list[tuple[int, Fraction, str]]:
        return [
            _rank(label, group, known)
            for label, group, known in zip(found[0], groups, ranks, strict=True)
        ]

    return sorted(kept, key=order)


def _rank(label: str, group: Group, known: Mapping[str, int]) -> tuple[int, Fraction, str]:
    """What a label sorts by: its place among public ones, else its number, else its text.

    Defined for every text, since nothing may fail between the draw and the seal.
    """
    if not group.private:
        return known.get(label, len(known)), Fraction(0), label
    if label == group.null_label or group.type is ColumnType.BOOLEAN:
        return 3, Fraction(0), label
    if group.type in NUMERIC_TYPES:
        if label in _ENDS:
            return _ENDS[label], Fraction(0), label
        try:
            return 1, Fraction(label), ""
        except ValueError:
            return 3, Fraction(0), label
    return 0, Fraction(0), label


_ENDS = {"-inf": 0, "inf": 2}
