"""Names of columns: which column of a file a declared name means, and a hint where none has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dprelease.expressions.normal_form import normalize


def find_places(names: Sequence[str | None], target: str) -> list[int]:
    """Find the columns with this name, however its accents are encoded."""
    target = normalize(target)
    return [place for place, name in enumerate(names) if name and normalize(name) == target]


def suggest_name(names: Iterable[str | None], target: str, usual: str) -> str:
    """Suggest a column whose name is almost the wanted one; else the usual hint."""
    if any(name and _fold(name) == _fold(target) for name in names):
        return (
            "a column there differs only in blanks, in upper and lower case or in how accents are "
            "encoded: write its name exactly so"
        )
    return usual


def _fold(name: str) -> str:
    """Remove what is hard to see from a name."""
    return "".join(normalize(name).casefold().split()).strip("\ufeff")
