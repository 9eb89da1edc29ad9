"""DuckDB sessions that are opened once, since tests ask very many small things of a reader.

To open one takes longer than to answer. It has nothing of its own but settings, which are locked:
with the same settings it is the same, once its tables are dropped. One that reads files may read
none but those, so each is another one. A module of tests opens the first of its own; after that it
shares those of all modules, which may read any file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from dprelease.engines.duckdb import duckdb_engine, duckdb_session, record_codes
from dprelease.engines.spark import partial_results, tasks, versions
from dprelease.expressions.sqltext import Value, array, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    Opened = AbstractContextManager[DuckDBPyConnection]

MOST = 16
LEFT = """\
SELECT table_name, true FROM duckdb_tables()
UNION ALL SELECT view_name, false FROM duckdb_views() WHERE NOT internal"""


class KeptSessions:
    """In place of ``open_session``: sessions that nobody uses now, by what they were asked for."""

    def __init__(self) -> None:
        self.idle: dict[object, tuple[Opened, DuckDBPyConnection]] = {}
        self.open = duckdb_session.open_session
        self.list_settings = duckdb_session.list_settings
        self.process, self.connect = os.getpid(), duckdb.connect
        self.is_first = True  # no session has read files for the module of tests
        self.may_read_any = ContextVar("may_read_any", default=False)

    def list_shared_settings(self, *asked: Any) -> dict[str, Value]:
        """See ``list_settings``; any file in place of some, for sessions that are shared."""
        settings = self.list_settings(*asked)
        if not self.may_read_any.get():
            return settings
        anywhere = ("allowed_directories", array(["/"]))
        items = settings.items()
        return dict(anywhere if name == "allowed_paths" else (name, of) for name, of in items)

    @contextmanager
    def session(
        self,
        paths: Sequence[str],
        integers: int = 0,
        room: int = 0,
        threads: int | None = None,
        joined: int = 0,
    ) -> Iterator[DuckDBPyConnection]:
        """See ``open_session``; after an error none is kept.

        A process that was forked has sessions without their threads: it opens its own. So does a
        test that puts something in the place of ``duckdb.connect``.
        """
        is_other = os.getpid() != self.process or duckdb.connect != self.connect
        if is_other or (paths and self.is_first):
            self.is_first = False
            with self.open(paths, integers, room, threads, joined) as connection:
                yield connection
            return
        token = self.may_read_any.set(bool(paths))
        try:
            settings = self.list_shared_settings(paths, integers, room, threads, joined)
            texts = tuple(f"{name} {literal(value)}" for name, value in settings.items())
            asked = texts, duckdb_session.NEVER
            opened, connection = self.idle.pop(asked, (None, None))
            if opened is None or connection is None:
                opened = self.open(paths, integers, room, threads, joined)
                connection = opened.__enter__()
        finally:
            self.may_read_any.reset(token)
        sound = False
        try:
            yield connection
            left = connection.execute(LEFT).fetchall()
            for name, is_table in left:
                if is_table:
                    connection.execute(f'DROP TABLE "{name}"')
                else:
                    connection.unregister(name)
            sound = left == [] or connection.execute(LEFT).fetchall() == []
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
            for module in (
                duckdb_session, duckdb_engine, record_codes, partial_results, tasks, versions,
            ):  # fmt: skip
                patch.setattr(module, "open_session", self.session)
            patch.setattr(duckdb_session, "list_settings", self.list_shared_settings)
            yield
        while self.idle:
            self.idle.popitem()[1][0].__exit__(None, None, None)
