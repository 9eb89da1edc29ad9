"""The bounds on a unit's influence in words, one sentence each, for the report."""

from __future__ import annotations

from dprelease.privacy.sensitivity.unit_rows import Contribution, Row, Scalar, Vector


def some(number: int, noun: str) -> str:
    """Give a number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cells(number: int) -> str:
    """Give a bound on a number of cells: one cell, at most 2 cells."""
    return "one cell" if number == 1 else f"at most {number:,} cells"


def many(unit: str) -> str:
    """Give the plural of a unit: records, people."""
    return "people" if unit == "person" else f"{unit}s"


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
    where = cells(limits.groups)
    if limits.groups > 1:
        where += f", at most {limits.per_group:,} in one"
    return f"a {unit} has at most {some(limits.rows, 'row')} in {where}; each changes {effect(row)}"


def replaced_text(limits: Contribution, row: Row, all_cells: int, unit: str) -> str:
    """Say how far a replaced unit can move the table."""
    changed = min(2 * limits.groups, all_cells)
    if limits.is_one_row:
        return f"a replaced {unit} leaves or enters {cells(changed)}, and changes {effect(row)}"
    where = cells(changed) if changed == 1 else f"{cells(changed)} in all"
    return (
        f"a replaced {unit} takes at most {some(limits.rows, 'row')} away and brings as many, "
        f"in {where}; each changes {effect(row)}"
    )


def counted_text(number: int) -> str:
    """Say in how many cells a unit counts once."""
    return f"{cells(number)}, and counts once in {'it' if number == 1 else 'each'}"


def moved_text(row: Scalar, size: int, unit: str) -> str:
    """Say how far a replaced row can move the only cell, which it can't leave."""
    if size == 0:
        return f"replacing a {unit} leaves the {row.noun} as it is"
    return f"a replaced {unit} moves the {row.noun} by at most upper - lower = {size:,}"
