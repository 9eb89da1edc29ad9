"""A process that gives birth to command lines: each one forked, with something going wrong in it.

Python and the package are loaded once, so that hundreds of real processes cost what a few would.
Reads requests from standard input, a JSON object a line, and answers in kind.

A process *ticks* before and after every step that could be the last: opening a file for writing,
fsync, rename, link, unlink, mkdir, and every statement that the ledger executes. A request says
what happens at tick ``at``: "kill" (SIGKILL), "terminate" (SIGTERM), "interrupt" (SIGINT), "full"
(the disk is full, for this and all later steps that write), "server" (the ledger's server breaks
down), or nothing.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
from typing import Any

from dprelease.cli.guard import execute

STEPS = ("fsync", "rename", "replace", "link", "unlink", "mkdir", "ftruncate")
LOCAL = ("SELECT", "SET", "SHOW", "ROLLBACK")  # statements that change nothing on a server
WRITING = {"fsync", "rename", "replace", "link", "mkdir", "open", "sqlite"}
SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "interrupt": signal.SIGINT}


class Clockwork:
    """Counts steps, and lets one go wrong."""

    def __init__(self, what: str | None, at: int, log: str) -> None:
        self.what, self.at, self.log = what, at, log
        self.ticks = 0

    def step(self, name: str, does: Any) -> Any:
        """A tick before and a tick after."""
        self._tick(name)
        if self.what == "full" and self.ticks >= self.at and name in WRITING:
            if name == "sqlite":
                problem = sqlite3.OperationalError("database or disk is full")
                problem.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise problem
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = does()
        self._tick(f"after {name}")
        return done

    def _tick(self, name: str) -> None:
        self.ticks += 1
        with OPEN(self.log, "a", encoding="ascii") as log:
            log.write(f"{name}\n")
        if self.ticks == self.at and self.what in SIGNALS:
            os.kill(os.getpid(), SIGNALS[self.what])
        if self.ticks == self.at and self.what == "server":
            os.kill(int(os.environ["POSTMASTER"]), signal.SIGQUIT)
            time.sleep(0.3)


OPEN = builtins.open


def install(clock: Clockwork) -> None:
    """Put the clockwork into everything that touches the disk."""
    for name in STEPS:
        real = getattr(os, name)

        def slowed(*given: Any, _name: str = name, _real: Any = real, **named: Any) -> Any:
            return clock.step(_name, lambda: _real(*given, **named))

        setattr(os, name, slowed)
    real_open, real_connect = os.open, sqlite3.connect

    def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if not flags & (os.O_WRONLY | os.O_RDWR):
            return real_open(path, flags, *rest, **named)
        handle: int = clock.step("open", lambda: real_open(path, flags, *rest, **named))
        return handle

    class Connection(sqlite3.Connection):
        """A connection whose every statement is a step."""

        def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
            reading = statement.startswith(("SELECT", "PRAGMA", "ROLLBACK"))
            if reading and not statement.startswith("PRAGMA user_version ="):
                return super().execute(statement, *given)
            cursor: sqlite3.Cursor = clock.step(
                "sqlite", lambda: super(Connection, self).execute(statement, *given)
            )
            return cursor

    if "POSTMASTER" in os.environ:
        import psycopg

        real_execute = psycopg.Connection.execute

        def executed(self: Any, query: str, *given: Any, **named: Any) -> Any:
            if query.startswith(LOCAL) and "advisory" not in query:
                return real_execute(self, query, *given, **named)
            return clock.step("server", lambda: real_execute(self, query, *given, **named))

        vars(psycopg)["Connection"].execute = executed
    os.open = opened
    sqlite3.connect = lambda *given, **named: real_connect(
        *given, **{**named, "factory": Connection}
    )


def small_cache() -> None:
    """A ledger whose pages reach the disk before the commit, as those of large releases do."""
    real = sqlite3.connect

    def connected(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*given, **named)
        connection.execute("PRAGMA cache_size = 1")
        return connection

    sqlite3.connect = connected


def become(request: dict[str, Any]) -> None:
    """Run one command line in this process, and end with its code."""
    os.chdir(request["folder"])
    for stream, name in ((1, "stdout"), (2, "stderr")):
        handle = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(handle, stream)
        os.close(handle)
    os.environ |= request.get("environment", {})
    if "user" in request and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])
    if "largest" in request:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest"], resource.RLIM_INFINITY))
    if "now" in request:
        pretend(request["now"])
    if request.get("small_cache"):
        small_cache()
    if "log" in request:
        install(Clockwork(request.get("what"), request.get("at", 0), request["log"]))
    code = execute(request["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def pretend(year: int) -> None:
    """Another year, for every clock that anybody asks."""
    from datetime import datetime

    import dprelease.ledger.store as store

    class Moved(datetime):
        """The same moment of another year."""

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz).replace(year=year, day=1)

    vars(store)["datetime"] = Moved
    real = time.time
    time.time = lambda: real() + (year - 2026) * 31_557_600


def answer(request: dict[str, Any]) -> list[int]:
    """Fork as many processes as asked, let them go at once, and tell how each one ended."""
    children = []
    gate, starter = os.pipe()
    for each in request["processes"]:
        child = os.fork()
        if child == 0:
            os.close(starter)
            os.read(gate, 1)  # ends when the starter is closed
            try:
                become(each)
            finally:
                os._exit(99)
        children.append(child)
    os.close(gate)
    os.close(starter)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def preload(folder: str) -> None:
    """Import what a run imports, as a child that has made one tells."""
    told, tells = os.pipe()
    if os.fork() == 0:
        os.close(told)
        os.chdir(folder)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        execute(["run", "small.toml"])
        with os.fdopen(tells, "w") as names:
            names.write(" ".join(sys.modules))
        os._exit(0)
    os.close(tells)
    with os.fdopen(told) as names:
        found = names.read().split()
    os.wait()
    for name in found:
        importlib.import_module(name)
    # other users may not be able to read the package's own files
    importlib.import_module("dprelease.reports.renderers.html_page").prepare()
    importlib.import_module("dprelease.release.payload").list_versions()
    importlib.import_module("dprelease.language").load_catalogue("en")


def main() -> None:
    """Answer requests until there are no more."""
    preload(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
