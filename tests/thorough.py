"""Fewer cases and examples by default than in a run of all tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")


def is_thorough() -> bool:
    """Whether all tests run, with all of their examples."""
    return settings().max_examples >= 100


def examples(count: int, share: int = 10) -> int:
    """So many examples in a run of all tests; by default one in ``share``, and at least three."""
    return count if is_thorough() else max(min(count, 3), count // share)


def some(cases: Sequence[Case], step: int) -> list[Case]:
    """All cases in a run of all tests; by default one in ``step``, the first among them."""
    if is_thorough():
        return list(cases)
    return [case for position, case in enumerate(cases) if in_diagonal(position, step)]


def in_diagonal(position: int, step: int) -> bool:
    """One position in each row of ``step``, at a place that moves by the golden ratio.

    So every value of every parameter takes part sooner or later, whatever the number of values of
    the inner parameters.
    """
    row, column = divmod(position, step)
    return column == (row * 0x9E3779B9 % (1 << 32)) * step >> 32
