"""Fewer cases and examples by default than in a run of all tests."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """So many examples in a run of all tests; a fifth of them, and at least five, by default."""
    return max(min(count, 5), count * settings().max_examples // 100)


def in_diagonal(position: int, step: int) -> bool:
    """One position in each row of ``step``, a place further in each next row.

    So every value of every parameter takes part sooner or later, also when the number of values of
    the inner parameter is a multiple of the step.
    """
    row, column = divmod(position, step)
    return column == row % step
