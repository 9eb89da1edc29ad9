"""Files that are read more than once must be the same files each time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dprelease.engines.base import lost


@contextmanager
def unchanged(paths: Sequence[str]) -> Iterator[None]:
    """Raise Failure(AFTER_CHARGE) at the end if a file is not as it was at the beginning.

    What DuckDB makes of a file that changes under its hands is no bug of ours either.
    """
    import duckdb

    before = _marks(paths)
    try:
        yield
    except duckdb.Error:
        if _marks(paths) == before:
            raise
        raise changed() from None
    if _marks(paths) != before:
        raise changed()


def changed() -> Exception:
    """What to raise where two looks at the files did not see the same."""
    return lost("the files changed while they were read")


def _marks(paths: Sequence[str]) -> list[tuple[int, ...]]:
    """What changes with a file's content; raises OSError when one is gone."""
    found = map(os.stat, paths)
    return [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns) for each in found]
