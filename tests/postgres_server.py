"""A PostgreSQL server of the tests' own: started for them, with a password, on a socket alone.

It is that of Debian's package, or whatever ``initdb`` is on the path. Tests are skipped where there
is none, unless ``DPRELEASE_REQUIRE_POSTGRES=1`` says that there must be one.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

REQUIRED = "DPRELEASE_REQUIRE_POSTGRES"
USER = "dprelease"
PASSWORD = "a secret@of:the/tests"
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB")


def programs() -> Path | None:
    """The folder of the server's programs; None where there are none."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return packaged[-1].parent if packaged else None


def missing(*modules: str) -> str | None:
    """What is missing for tests that need a server and these modules; None if nothing is."""
    if programs() is None:
        return "no PostgreSQL server is installed"
    if os.getuid() == 0 and _other_user() is None:
        return "PostgreSQL doesn't run as root, and there is no user postgres"
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"{', '.join(absent)} is not installed" if absent else None


def require(*modules: str) -> None:
    """Skip the test where something is missing; fail where it must be there."""
    reason = missing(*modules)
    if reason is not None:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


class Server:
    """A running server. ``uri`` is how to get to one of its databases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = 0

    def uri(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """The URI of a database, with the password in it."""
        secret = quote(password, safe="")
        return f"postgresql://{USER}:{secret}@/{database}?host={quote(str(self.folder), safe='')}"

    def database(self, options: str = "") -> str:
        """A new, empty database; its name."""
        self._made += 1
        name = f"made{os.getpid()}_{self._made}"
        self.psql("postgres", f"CREATE DATABASE {name} {options}")
        return name

    def psql(self, database: str, sql: str) -> str:
        """What psql says to statements, one row a line; raises CalledProcessError."""
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        options = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder))
        command = [_program("psql"), *options, "-U", USER, "-d", database]
        made = subprocess.run(
            command, input=sql, env=environment, capture_output=True, text=True, check=True
        )
        return made.stdout

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = " ".join(f"-c {each}" for each in _FAST)
        options = f"-c listen_addresses= -k {self.folder} {settings}"
        log = str(self.folder / "log")
        _as_owner([_program("pg_ctl"), "-D", self._data, "-w", "-l", log, "-o", options, "start"])

    def stop(self, how: str = "immediate") -> None:
        """Stop it: ``immediate`` as if it broke down, ``fast`` in order."""
        _as_owner([_program("pg_ctl"), "-D", self._data, "-w", "-m", how, "stop"])

    @property
    def process(self) -> int:
        """The number of its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split("\n")[0])

    @property
    def _data(self) -> str:
        return str(self.folder / "data")


@contextmanager
def server() -> Iterator[Server]:
    """A server, as long as the context lasts."""
    folder = Path(tempfile.mkdtemp(prefix="dprelease-pg-"))  # short: sockets have short paths
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        owner = _other_user()
        if owner is not None:
            for path in (folder, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        made = Server(folder)
        options = ("-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-E", "UTF8")
        data = str(folder / "data")
        command = [_program("initdb"), "-D", data, *options, "--locale=C", "--no-sync"]
        _as_owner(command)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(name: str) -> str:
    folder = programs()
    assert folder is not None
    return str(folder / name)


@functools.cache
def _other_user() -> Any:
    """Who a server belongs to that root starts; None for anybody else, or if there is nobody."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


def _as_owner(command: Sequence[str]) -> None:
    owner = _other_user()
    who = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    subprocess.run(
        command, cwd="/", check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who
    )
