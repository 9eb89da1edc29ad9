"""Engines: a request as data in, exact integers out. One line of the registry each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from dprelease.engines.engine_registry import ENGINES, ON_CLUSTERS
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.engines.engine_interface import Engine

__all__ = ["ENGINES", "get", "keep_parsed", "open_for_table", "open_in_session"]


def get(name: str) -> Engine:
    """Import an engine.

    Args:
        name: The name in ``[data] engine``.

    Raises:
        ValueError: No engine of that name is registered.
    """
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    engine: Engine = import_module(ENGINES[name]).ENGINE
    return engine


def open_for_table(name: str, format: str, table: object) -> Engine:
    """Open the engine for a table in memory.

    Args:
        name: The name in ``[data] engine``.
        format: The name in ``[data] format``.
        table: The table that a program handed over.

    Raises:
        Failure: Exit code 2 if the spec names its data itself, or a cluster as its engine; exit
            code 4 if the table is of an unknown kind.
    """
    if format != "frame" or name in ON_CLUSTERS:
        message = "a table was passed, but the spec names its own data"
        raise Failure(ExitCode.SPEC, Complaint("E432", message, key="data.format"))
    from dprelease.engines.duckdb.duckdb_engine import DuckDB
    from dprelease.sources.frame.frame_source import HandedOver

    return DuckDB(HandedOver(table).lay_out)


def open_in_session(name: str, session: object) -> Engine:
    """Open an engine in a session of a cluster.

    Args:
        name: The name in ``[data] engine``.
        session: The session that a program handed over.

    Raises:
        Failure: Exit code 2 if the engine takes no session.
    """
    if name not in ON_CLUSTERS:
        message = f'a cluster session is given, but the engine is "{name}"'
        raise Failure(ExitCode.SPEC, Complaint("E418", message, key="data.engine"))
    engine: Engine = import_module(ENGINES[name]).ENGINE.open_in(session)
    return engine


@contextmanager
def keep_parsed() -> Iterator[None]:
    """Keep what sources parse of their files, until the end of the run that is entered."""
    from dprelease.sources.shared.kept_parts import keep_parsed as keep  # a check reads no file

    with keep():
        yield
