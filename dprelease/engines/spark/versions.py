"""Versions that must be the same wherever tasks run: then all of them compute the same."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import distributions

from dprelease.engines.duckdb.duckdb_session import open_session

PACKAGES = ("dprelease", "duckdb", "pyarrow", "numpy", "isal", "msgspec")


@cache
def list_versions() -> dict[str, str]:
    """List the versions of Python and of packages that read and count; "" if missing."""
    own = {
        name: next((package.version for package in distributions(name=name)), "")
        for name in PACKAGES
    }
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **own}


@cache
def compute_text_hash() -> int:
    """Compute a hash of constants, which must be the same on all machines."""
    # Rows are assigned to tasks by this function of DuckDB.
    with open_session((), threads=1) as connection:
        ((number,),) = connection.execute("SELECT HASH('dprelease', 1, NULL)").fetchall()
    return int(number)
