"""A private DuckDB: in memory, locked down, closed whatever happens."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "400MB"  # override with DPRELEASE_MEMORY, such as 2GB


@contextmanager
def session(paths: Sequence[str]) -> Iterator[DuckDBPyConnection]:
    """A connection that may read the given files and nothing else, and can't be reconfigured.

    What doesn't fit into memory is written to a directory of its own (mode 0700), which is removed.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="dprelease-") as scratch:
        connection = duckdb.connect(":memory:")
        try:
            for name, value in _settings(scratch, paths).items():
                connection.execute(f"SET {name} = {value}")
            yield connection
        finally:
            connection.close()


def _settings(scratch: str, paths: Sequence[str]) -> dict[str, str]:
    """Name and SQL literal of each setting; the last two close the door."""
    return {
        "enable_progress_bar": "false",
        "memory_limit": quote(os.environ.get("DPRELEASE_MEMORY", MEMORY)),
        "threads": str(_cores()),
        "preserve_insertion_order": "false",
        "temp_directory": quote(scratch),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # The optimizer must never put the data on the side of a join that is held in memory.
        "disabled_optimizers": quote("join_order,build_side_probe_side"),
        "allowed_paths": "[" + ", ".join(quote(path) for path in paths) + "]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }


def quote(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
