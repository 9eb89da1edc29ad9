"""Fewer cases and examples by default than in a run of all tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")


def examples(count: int) -> int:
    """So many examples in a run of all tests; a fifth of them, and at least five, by default."""
    return max(min(count, 5), count * settings().max_examples // 100)


def some(cases: Sequence[Case], step: int) -> list[Case]:
    """All cases in a run of all tests; by default one in ``step``, the first among them."""
    if settings().max_examples >= 100:
        return list(cases)
    return [case for position, case in enumerate(cases) if in_diagonal(position, step)]


def in_diagonal(position: int, step: int) -> bool:
    """One position in each row of ``step``, a place further in each next row.

    So every value of every parameter takes part sooner or later, also when the number of values of
    the inner parameter is a multiple of the step.
    """
    row, column = divmod(position, step)
    return column == row % step
