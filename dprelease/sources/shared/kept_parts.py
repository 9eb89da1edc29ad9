"""What was parsed of files is kept while a run asks for it again and again.

It is forgotten at the end of the run. Outside of one nothing is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

MOST_KEPT = 1 << 26  # bytes that are kept, roughly; what is more is read anew


class KeptParts:
    """Parts of files by keys, which hold the marks of the files (see ``read_marks``).

    Attributes:
        columns: Numbers of the columns that were asked for, by file and sheet, and how their
            dates are written.
    """

    def __init__(self) -> None:
        self.columns: dict[Hashable, dict[int, str | None]] = {}
        self._parts: dict[Hashable, Any] = {}
        self._size = 0

    def find(self, key: Hashable) -> Any:
        """Find a part; None if it is not kept."""
        return self._parts.get(key)

    def keep(self, key: Hashable, part: Any, size: int) -> None:
        """Keep a part of so many bytes, if there is room."""
        if self._size + size <= MOST_KEPT:
            self._size += size
            self._parts[key] = part


_OPEN: list[KeptParts] = []  # one for each run: they may be nested, or in several threads


@contextmanager
def keep_parsed() -> Iterator[None]:
    """Keep what is parsed until the end."""
    kept = KeptParts()
    _OPEN.append(kept)
    try:
        yield
    finally:
        _OPEN.remove(kept)


def find_kept() -> KeptParts | None:
    """Find what the latest run keeps; None outside of runs."""
    return _OPEN[-1] if _OPEN else None
