"""Public groups of a column: declared keys (inline or from a file), or bins, and their labels."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

from dprelease.model import ColumnType
from dprelease.spec.numbers import Refused
from dprelease.spec.values import canonical, canonical_line
from dprelease.spec.wording import show

MAX_KEYS = 10**6
_MOST_WRONG = 1000
_MAX_KEYS_BYTES = 64 * 1024 * 1024
_BINNED = frozenset(
    {
        ColumnType.INTEGER,
        ColumnType.FLOAT,
        ColumnType.DECIMAL,
        ColumnType.DATE,
        ColumnType.TIMESTAMP,
    }
)

Complain = Callable[[int, Refused], None]


def read_keys(kind: ColumnType, values: Sequence[object], complain: Complain) -> tuple[str, ...]:
    """Give the canonical texts of declared keys; each mistake goes to ``complain`` by position."""
    return _unique(values, partial(canonical, kind), complain)


def read_keys_file(kind: ColumnType, path: str) -> tuple[str, ...]:
    """Read keys from a UTF-8 file, one a line; blank lines don't count.

    Raises ``Refused`` (E112, E210, E211), naming the first line that is wrong.
    """
    lines = _lines(path)
    if not lines:
        raise Refused(f"the keys_file {show(path)} holds no keys", "write one key a line", "E112")
    if len(lines) > MAX_KEYS:
        raise Refused(f"the keys_file holds more than {MAX_KEYS} keys", "use fewer", "E222")

    def complain(position: int, refused: Refused) -> None:
        # The line itself is not shown: the file could be the wrong one, and private.
        what = "repeats an earlier key" if refused.code == "E211" else f"is no {kind.value} key"
        message = f"line {lines[position][0]} of the keys_file {what}"
        raise Refused(message, refused.hint, refused.code)

    return _unique(
        [line for _, line in lines], lambda line: canonical_line(kind, str(line)), complain
    )


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
        normal = text if text.isascii() else unicodedata.normalize("NFC", text)
        if normal in found:
            wrong += 1
            same = " (they differ only in how accents are encoded)" if found[normal] != text else ""
            complain(position, Refused(f"{show(text)} is declared twice{same}", "keep one", "E211"))
            continue
        found[normal] = text
    return tuple(found.values())


def _lines(path: str) -> list[tuple[int, str]]:
    """Read the lines of a file that are not blank, with their numbers."""
    try:
        with open(path, "rb") as stream:
            content = stream.read(_MAX_KEYS_BYTES + 1)
        if len(content) > _MAX_KEYS_BYTES:
            raise Refused("the keys_file is too large", "use fewer keys", "E112")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"the keys_file {show(path)} is not UTF-8"
        raise Refused(message, "save it as UTF-8", "E112") from None
    except (OSError, ValueError):
        message = f"the keys_file {show(path)} can't be read"
        hint = f"it is looked for in {show(os.path.dirname(path))}; one key a line, UTF-8"
        raise Refused(message, hint, "E112") from None
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
