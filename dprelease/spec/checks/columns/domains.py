"""Public groups of a column: declared keys (inline or from a file), or bins, and their labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

from dprelease.model import ColumnType
from dprelease.spec.checks.columns.list_files import Lines
from dprelease.spec.checks.columns.values import canonical, canonical_line
from dprelease.spec.complaints.quoting import show
from dprelease.spec.toml.numbers import Refused

_MOST_WRONG = 1000
_BINNED = frozenset(
    {
        ColumnType.INTEGER,
        ColumnType.FLOAT,
        ColumnType.DECIMAL,
        ColumnType.DATE,
        ColumnType.TIMESTAMP,
    }
)

ENCODED = "they differ only in how accents are encoded"

Complain = Callable[[int, Refused], None]


def normal(text: str) -> str:
    """Give what labels are compared by: as in the data, how accents are encoded does not matter."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def read_keys(kind: ColumnType, values: Sequence[object], complain: Complain) -> tuple[str, ...]:
    """Give the canonical texts of declared keys; each mistake goes to ``complain`` by position."""
    return _unique(values, partial(canonical, kind), complain)


def read_keys_file(kind: ColumnType, lines: Lines) -> tuple[str, ...]:
    """Read keys from the lines of a file. Raises ``Refused`` (E210, E211) for the first wrong."""

    def complain(position: int, refused: Refused) -> None:
        # The line itself is not shown: the file could be the wrong one, and private.
        what = "repeats an earlier key" if refused.code == "E211" else f"is no {kind.value} key"
        message = f"line {lines.numbers[position]} of the keys_file {what}"
        raise Refused(message, refused.hint, refused.code)

    return _unique(lines.texts, lambda line: canonical_line(kind, str(line)), complain)


def read_bins(kind: ColumnType, values: Sequence[object]) -> tuple[str, ...]:
    """Give the canonical texts of bin edges. Raises ``Refused`` (E213)."""
    if kind not in _BINNED:
        hint = "keys list the values of such a column"
        raise Refused(f"a {kind.value} column takes no bins", hint, "E213")
    if len(values) < 2:
        raise Refused("bins need at least two edges", "bins = [0, 10, 20] makes two bins", "E213")
    try:
        edges = tuple(canonical(kind, value) for value in values)
    except Refused as refused:
        hint = f'{refused.hint}; other = "..." takes what lies outside of the bins'
        raise Refused(f"edges: {refused.message}", hint, "E213") from None
    for before, after in pairwise(edges):
        if order(kind, before) >= order(kind, after):
            message = f"the edges do not rise: {after} comes after {before}"
            raise Refused(message, "write them from the smallest to the largest, once each", "E213")
    return edges


def order(kind: ColumnType, text: str) -> tuple[Fraction, str]:
    """Give what a canonical text sorts by: its number, or (dates, timestamps) itself.

    A timestamp without a fraction is the start of the same one with a fraction, so texts sort
    as times do.
    """
    if kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
        return Fraction(0), text
    return Fraction(text), ""


def bin_labels(edges: Sequence[str]) -> tuple[str, ...]:
    """Write the bins as people read them: half-open, the last one closed."""
    last = len(edges) - 2
    return tuple(
        f"[{low}, {high}{']' if number == last else ')'}"
        for number, (low, high) in enumerate(pairwise(edges))
    )


def bin_label(kind: ColumnType, edges: Sequence[str], value: str) -> str | None:
    """Give the label of the bin that a canonical value falls into, or None."""
    wanted = order(kind, value)
    ranks = [order(kind, edge) for edge in edges]
    labels = bin_labels(edges)
    for number, label in enumerate(labels):
        low, high = ranks[number], ranks[number + 1]
        if low <= wanted < high or (wanted == high and number == len(labels) - 1):
            return label
    return None


def _unique(
    values: Sequence[object], read: Callable[[object], str], complain: Complain
) -> tuple[str, ...]:
    found: dict[str, str] = {}
    wrong = 0
    for position, value in enumerate(values):
        if wrong > _MOST_WRONG:
            break
        try:
            text = read(value)
        except Refused as refused:
            complain(position, refused)
            wrong += 1
            continue
        compared = normal(text)
        if compared in found:
            wrong += 1
            same = f" ({ENCODED})" if found[compared] != text else ""
            complain(position, Refused(f"{show(text)} is declared twice{same}", "keep one", "E211"))
            continue
        found[compared] = text
    return tuple(found.values())
