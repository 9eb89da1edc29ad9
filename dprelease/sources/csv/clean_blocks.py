"""Whether a block of CSV lines is so clean that any reader makes the same of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.model import Dialect
from dprelease.sources.shared.files import BOM, LINE_LIMIT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = npt.NDArray[np.intp]

_FEED, _RETURN = b"\n\r"


def clean_records(block: bytes, dialect: Dialect) -> int | None:
    """Count the records of a block of lines that every reader reads alike.

    Records are clean if none has too many bytes or lines, or holds a NUL, a byte order mark or a
    carriage return other than at the end of a line, and if all quotes come in pairs: around whole
    fields, or doubled inside of such a field. The number of fields is not checked.

    Args:
        block: Whole lines.
        dialect: How the file is written.

    Returns:
        The number of records; None if each line needs a careful look.
    """
    import numpy as np

    if b"\0" in block or BOM in block:
        return None
    returns = b"\r" in block
    if returns and block.count(b"\r") != block.count(b"\r\n"):
        return None
    content = np.frombuffer(block, np.uint8)
    feeds = np.flatnonzero(content == _FEED)
    starts = np.concatenate([[0], feeds + 1])
    ends = np.append(feeds, len(block))
    if starts[-1] == len(block):  # what follows the last line feed is no line
        starts, ends = starts[:-1], ends[:-1]
    if dialect.quote and dialect.quote.encode() in block:
        quotes = np.flatnonzero(content == ord(dialect.quote))
        if not _has_paired_quotes(content, quotes, dialect):
            return None
        outside = np.searchsorted(quotes, starts) % 2 == 0  # the lines with which a record begins
        places = np.append(np.flatnonzero(outside), len(starts))
        if len(places) <= len(starts):
            if np.diff(places).max() > dialect.max_lines:
                return None
            starts, ends = starts[outside], ends[places[1:] - 1]
    if len(block) > LINE_LIMIT and (ends - starts).max() > LINE_LIMIT:
        return None
    return len(starts)


def _has_paired_quotes(content: Any, quotes: Places, dialect: Dialect) -> bool:
    """Tell if each quote begins or ends a whole field, or is one of two inside of one."""
    import numpy as np

    # The first of a pair has a delimiter, or the beginning of a line, before it; the second has a
    # delimiter or the end of a line behind it. Or else the second of a pair touches the first of
    # the next one: the two are a quote in a field.
    if len(quotes) % 2:
        return False
    first, second = quotes[::2], quotes[1::2]
    touched = np.concatenate([second[:-1] + 1 == first[1:], [False]])  # by the next pair
    delimiter = ord(dialect.delimiter)
    around = np.concatenate([[_FEED], content, [_FEED]])  # place p of the block is p + 1 here
    before, behind = around[first], around[second + 2]
    begins = (before == delimiter) | (before == _FEED)
    begins[1:] |= touched[:-1]
    ends = (behind == delimiter) | (behind == _FEED) | (behind == _RETURN) | touched
    return bool((begins & ends).all())
