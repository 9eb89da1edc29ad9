"""The bounds on a unit's influence in words, one sentence each, for the report."""

from __future__ import annotations

from dprelease.privacy.contribution_rows import Contribution, Row, Scalar, Vector


def some(number: int, noun: str) -> str:
    """Give a number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def effect(row: Row) -> str:
    """Say what one row does to its cell."""
    if isinstance(row, Vector):
        return f"the {row.noun}s of one cell by at most {row.l1:,} together"
    least = "" if row.lower == row.upper else "at most "
    return f"one {row.noun} by {least}{row.magnitude:,}"


def added_text(limits: Contribution, row: Row, unit: str) -> str:
    """Say how far one unit more or less can move the table."""
    if limits.is_one_row:
        return f"one {unit} more or less changes {effect(row)}"
    return (
        f"a {unit} has at most {some(limits.rows, 'row')} in at most "
        f"{some(limits.groups, 'cell')}, at most {limits.per_group:,} in one; "
        f"each changes {effect(row)}"
    )


def replaced_text(limits: Contribution, row: Row, cells: int, unit: str) -> str:
    """Say how far a replaced unit can move the table."""
    changed = some(min(2 * limits.groups, cells), "cell")
    if limits.is_one_row:
        return f"a replaced {unit} leaves or enters at most {changed}, and changes {effect(row)}"
    return (
        f"a replaced {unit} takes at most {some(limits.rows, 'row')} away and brings as many, "
        f"in at most {changed} in all; each changes {effect(row)}"
    )


def moved_text(row: Scalar, size: int, unit: str) -> str:
    """Say how far a replaced row can move the only cell, which it can't leave."""
    if size == 0:
        return f"replacing a {unit} leaves the {row.noun} as it is"
    return f"a replaced {unit} moves the {row.noun} by at most upper - lower = {size:,}"
