"""Names of columns: which column of a table a declared name means, and refusals where none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dprelease.errors import Failure
from dprelease.expressions.normal_form import normalize
from dprelease.sources.shared.data_failures import build_data_failure

EXACT = "it must have exactly this name, including upper and lower case"


def find_places(names: Sequence[str | None], target: str) -> list[int]:
    """Find the columns with this name, however its accents are encoded."""
    target = normalize(target)
    return [place for place, name in enumerate(names) if name and normalize(name) == target]


def choose_place(
    places: Sequence[int],
    names: Iterable[str | None],
    name: str,
    where: str,
    usual: str = EXACT,
) -> int:
    """Choose the only place that a column was found at.

    Args:
        places: Places of the columns that the name means.
        names: Names of all columns.
        name: The declared name.
        where: Name of the source for messages.
        usual: Hint if the column is missing and none has almost its name.

    Raises:
        Failure: Exit code 4 if there is no such column, or there are several.
    """
    if not places:
        raise build_no_column_failure(where, name, names, usual)
    if len(places) > 1:
        raise build_duplicate_failure(where, name)
    return places[0]


def build_no_column_failure(
    where: str,
    name: str,
    names: Iterable[str | None] = (),
    usual: str = EXACT,
    key: str = "data.path",
) -> Failure:
    """Report a missing column; hint at one of ``names`` that is almost its name."""
    hint = usual
    if any(other and _fold(other) == _fold(name) for other in names):
        hint = (
            "a column there differs only in blanks, in upper and lower case or in how accents are "
            "encoded: write its name exactly so"
        )
    return build_data_failure("E405", f'{where} has no column "{name}"', hint, key)


def build_duplicate_failure(where: str, name: str, key: str = "data.path") -> Failure:
    """Report several columns of one name."""
    message = f'{where} has several columns "{name}"'
    return build_data_failure("E406", message, key=key)


def _fold(name: str) -> str:
    """Remove what is hard to see from a name."""
    return "".join(normalize(name).casefold().split()).strip("\ufeff")
