"""Whether a block of CSV lines is so clean that any reader makes the same of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dprelease.engines.common.files import BOM, LINE_LIMIT
from dprelease.model import Dialect

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = npt.NDArray[np.intp]

_FEED = 10


def clean_records(block: bytes, dialect: Dialect) -> int | None:
    """How many records the lines of a block are; None if a careful look at each is needed.

    Lines are clean if none is too long or holds a NUL, a byte order mark or a carriage return other
    than at its end, and if all quotes come in pairs about whole fields, with nothing about them.
    Whether the fields are as many as they should be is for the reader to say.
    """
    import numpy as np

    if b"\0" in block or BOM in block or block.count(b"\r") != block.count(b"\r\n"):
        return None
    content = np.frombuffer(block, np.uint8)
    feeds = np.flatnonzero(content == _FEED)
    starts = np.concatenate([[0], feeds + 1])
    ends = np.append(feeds, len(block))
    if len(block) > LINE_LIMIT and (ends - starts).max() > LINE_LIMIT:
        return None
    if b"\r" in block:  # a line of nothing else is empty
        ends = ends - (content[ends - 1] == 13)
    if dialect.quote and not _paired(content, feeds, dialect):
        return None
    return int(np.count_nonzero(ends > starts))


def _paired(content: Any, feeds: Places, dialect: Dialect) -> bool:
    """Whether each quote begins or ends a whole field of one line.

    The first of two has a delimiter, or the beginning of a line, before it; the second has a
    delimiter or the end of a line behind it; and no other quote is between them.
    """
    import numpy as np

    quotes = np.flatnonzero(content == ord(dialect.quote))
    if not len(quotes):
        return True
    if len(quotes) % 2:
        return False
    first, second = quotes[::2], quotes[1::2]
    delimiter = ord(dialect.delimiter)
    around = np.concatenate([[_FEED], content, [_FEED]])  # place p of the block is p + 1 here
    before, behind = around[first], around[second + 2]
    begins = (before == delimiter) | (before == _FEED)
    ends = (behind == delimiter) | (behind == _FEED) | (behind == 13)
    of_one_line = np.searchsorted(feeds, first) == np.searchsorted(feeds, second)
    return bool((begins & ends & of_one_line).all())
