"""A ledger in a file, and one on a server for tests that try it beside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import postgres_server
import pytest

from dprelease.ledger.store import Ledger


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place of a ledger on a server, in a database of its own; not laid out yet."""
    postgres_server.require("psycopg")
    started: postgres_server.Server = request.getfixturevalue("postgres")
    monkeypatch.chdir(tmp_path)  # its witness is here
    monkeypatch.setenv("TRIED_LEDGER", started.uri(started.database()))
    return "env:TRIED_LEDGER"


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def path(file: str) -> str:
    """Where the ledger is that is not laid out yet."""
    return file


@pytest.fixture
def ledger(path: str) -> Iterator[Ledger]:
    with Ledger.open(path, 1) as found:
        yield found
