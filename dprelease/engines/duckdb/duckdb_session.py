"""A private DuckDB: in memory, locked down, closed whatever happens."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.expressions.growth import LONGEST_JOINED
from dprelease.expressions.sqltext import Value, array, literal
from dprelease.model import InputColumn
from dprelease.sources.shared.data_failures import build_data_failure

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# The optimizer must not put the data on the side of a join that is held in memory. It must not
# believe the statistics in a Parquet file, which leave out NaN and may be wrong, nor push filters
# into its reader, which tests them on statistics first. And it must not push TRY_CAST into the CSV
# reader, which would fail where it should return null (DuckDB issue 23818).
NEVER = (
    "join_order",
    "build_side_probe_side",
    "statistics_propagation",
    "join_filter_pushdown",
    "filter_pushdown",
    "type_pushdown",
)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]i?B)", re.IGNORECASE)
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
VECTOR = 2048  # values that DuckDB computes at once, in a thread
BYTES_AN_INTEGER = 60  # measured, with those of the table itself and a third to spare
MOST_THREADS = 8
LEAST_MEMORY = 100 * 10**6
MEMORY = "400MB"  # override with DPRELEASE_MEMORY, such as 2GB
# Additional memory by default, so that a million units, or as many points, take one pass.
ROOM_FOR_UNITS = 1100 * 10**6
ROOM_FOR_POINTS = 600 * 10**6


@contextmanager
def open_session(
    paths: Sequence[str],
    integers: int = 0,
    room: int = 0,
    threads: int | None = None,
    joined: int = 0,
) -> Iterator[DuckDBPyConnection]:
    """Open a connection that may read the given files only, and can't be reconfigured.

    The memory limit depends on the request, never on the data. A statement that exceeds it fails.

    Args:
        paths: Files that statements may read.
        integers: Number of aggregates that the statement holds at once.
        room: Further bytes of memory.
        threads: Number of threads; None takes that of the cores, up to a limit.
        joined: Number of joined texts that the statement computes for each record.
    """
    import duckdb

    # There is no scratch directory: a killed process would leave data in it on a disk.
    connection = duckdb.connect(":memory:")
    try:
        _disable(connection)
        settings = list_settings(paths, integers, room, threads, joined).items()
        connection.execute("; ".join(f"SET {name} = {literal(value)}" for name, value in settings))
        yield connection
    finally:
        connection.close()


def _disable(connection: DuckDBPyConnection) -> None:
    """Disable the optimizers in ``NEVER``, but those that this version of DuckDB doesn't have."""
    import duckdb

    try:
        connection.execute(f"SET disabled_optimizers = {literal(','.join(NEVER))}")
    except (duckdb.ParserException, duckdb.InvalidInputException):
        optimizers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
        never = ",".join(name for name in NEVER if (name,) in optimizers)
        connection.execute(f"SET disabled_optimizers = {literal(never)}")


def list_settings(
    paths: Sequence[str], integers: int, room: int, threads: int | None, joined: int
) -> dict[str, Value]:
    """List the name and value of each setting of a session; the last two lock the connection."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = threads or min(cores or 1, MOST_THREADS)
    # DuckDB matches the escaped form of a path, and opens the path itself.
    allowed = dict.fromkeys(form for path in paths for form in (path, escape_path(path)))
    # The usual limit, and room for the aggregates that all threads may hold.
    room += integers * threads * BYTES_AN_INTEGER + joined * threads * VECTOR * LONGEST_JOINED
    memory = f"{int(MEMORY.removesuffix('MB')) + room // 10**6}MB"
    return {
        "enable_progress_bar_print": False,
        "enable_progress_bar": True,  # without it there is no progress to query
        "memory_limit": os.environ.get("DPRELEASE_MEMORY", memory),
        "threads": threads,
        "preserve_insertion_order": False,
        "temp_directory": "",
        "max_temp_directory_size": "0KB",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "arrow_large_buffer_size": True,  # texts of a batch may be longer than 2 GiB
        "allow_persistent_secrets": False,  # don't look into the user's home
        "python_enable_replacements": False,  # don't take a name for a Python variable
        "allowed_paths": array(allowed),
        "enable_external_access": False,
        "lock_configuration": True,
    }


def get_memory_limit(connection: DuckDBPyConnection) -> int | None:
    """Get the connection's memory limit in bytes, as DuckDB rounds it; None if it states none."""
    ((text,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        return None
    thousand = 1024 if len(match[2]) == 3 else 1000  # MiB, or MB
    return int(float(match[1]) * thousand ** (1 + "KMGT".index(match[2][0].upper())))


def check_memory() -> None:
    """Refuse, before the charge, a memory limit of no valid size; raises Failure(SPEC)."""
    setting = os.environ.get("DPRELEASE_MEMORY", MEMORY)
    match = _SIZE.fullmatch(setting.strip())
    if match is None or float(match[1]) * _UNITS[match[2].upper()[0]] < LEAST_MEMORY:
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E413",
                "the environment variable DPRELEASE_MEMORY is not an amount of memory to work in",
            ),
        )


def check_zones(inputs: Sequence[InputColumn]) -> None:
    """Refuse, before the charge, a zone that this DuckDB doesn't know; raises Failure(DATA)."""
    import duckdb

    zones = {column.zone for column in inputs if column.zone is not None} - {"UTC"}
    if not zones:
        return
    try:
        with open_session((), threads=1) as connection:
            rows = connection.execute("SELECT name FROM pg_timezone_names()").fetchall()
    except duckdb.CatalogException:
        rows = []  # DuckDB was built without time zones
    for zone in sorted(zones - {name for (name,) in rows}):
        raise build_data_failure(
            "E425", f'this version of DuckDB does not know the time zone "{zone}"'
        )


def escape_path(path: str) -> str:
    """Escape the characters of a path that DuckDB would take for a pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)
