"""Key paths of a spec, and where each of them stands in its text.

Lines and columns count from 1, columns in characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple, TypeAlias

from dprelease.specfile.complaints.complaint_wording import show

Path: TypeAlias = tuple[str | int, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def format_path(path: Path) -> str:
    """Write a key path as in ``query[2].by[0]``; names that TOML must quote are quoted."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if _BARE.fullmatch(part) else show(part)
        text += f".{name}" if text else name
    return text


Spot: TypeAlias = tuple[int, int]
# So many elements of an array have a mark; of the others only the offset is kept.
MARKED = 1000


class Mark(NamedTuple):
    """Where a key and its value stand. For a table both are its header (or its first key)."""

    key: Spot
    value: Spot


class Marks(dict[Path, Mark]):
    """The mark of every key path, but for the elements of long arrays: ``find`` knows those too."""

    def __init__(self, starts: list[int]) -> None:
        super().__init__()
        self.starts = starts  # offsets at which lines start
        self.rest: dict[Path, list[int]] = {}  # of an array the offsets of what has no mark

    def find_spot(self, offset: int) -> Spot:
        """Return line and column of an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def find(self, path: Path) -> Mark | None:
        """Return the mark of a path, or None if it is nowhere in the text."""
        mark = self.get(path)
        if mark is None and path and isinstance(path[-1], int):
            offsets, number = self.rest.get(path[:-1], []), path[-1] - MARKED
            if 0 <= number < len(offsets):
                spot = self.find_spot(offsets[number])
                mark = Mark(spot, spot)
        return mark
