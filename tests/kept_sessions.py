"""DuckDB sessions that are opened once, for tests that ask very many small things of a reader.

To open one takes longer than to answer. One that may read no file has nothing of its own but
settings, which are locked: with the same settings it is the same, once its tables are dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

from dprelease.engines.duckdb import duckdb_engine, duckdb_session, record_codes
from dprelease.engines.duckdb.duckdb_session import NEVER
from dprelease.engines.spark import partial_results, tasks

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    Opened = AbstractContextManager[DuckDBPyConnection]

MOST = 8
TABLES = "SELECT table_name FROM duckdb_tables()"
REGISTERED = "SELECT view_name FROM duckdb_views() WHERE NOT internal"


class KeptSessions:
    """In place of ``open_session``: sessions that nobody uses now, by what they were asked for."""

    def __init__(self) -> None:
        self.idle: dict[object, tuple[Opened, DuckDBPyConnection]] = {}
        self.open = duckdb_session.open_session

    @contextmanager
    def session(
        self,
        paths: Sequence[str],
        integers: int = 0,
        room: int = 0,
        threads: int | None = None,
        joined: int = 0,
    ) -> Iterator[DuckDBPyConnection]:
        """See ``open_session``; after an error, or where files are read, none is kept."""
        if paths:
            with self.open(paths, integers, room, threads, joined) as connection:
                yield connection
            return
        asked = integers, room, threads, joined, os.environ.get("DPRELEASE_MEMORY"), NEVER
        opened, connection = self.idle.pop(asked, (None, None))
        if opened is None or connection is None:
            opened = self.open(paths, integers, room, threads, joined)
            connection = opened.__enter__()
        sound = False
        try:
            yield connection
            for (name,) in connection.execute(REGISTERED).fetchall():
                connection.unregister(name)
            for (name,) in connection.execute(TABLES).fetchall():
                connection.execute(f'DROP TABLE "{name}"')
            left = connection.execute(f"{TABLES} UNION ALL {REGISTERED}")
            sound = left.fetchall() == []
        finally:
            if sound and asked not in self.idle:
                self.idle[asked] = opened, connection
            else:
                opened.__exit__(None, None, None)
            while len(self.idle) > MOST:
                self.idle.pop(next(iter(self.idle)))[0].__exit__(None, None, None)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Every engine takes them, and at the end all are closed."""
        with pytest.MonkeyPatch.context() as patch:
            for module in (duckdb_session, duckdb_engine, record_codes, partial_results, tasks):
                patch.setattr(module, "open_session", self.session)
            yield
        while self.idle:
            self.idle.popitem()[1][0].__exit__(None, None, None)
