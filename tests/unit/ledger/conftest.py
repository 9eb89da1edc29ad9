"""A ledger on a server, for tests that try it beside one in a file."""

from __future__ import annotations

from pathlib import Path

import postgres_server
import pytest


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place of a ledger on a server, in a database of its own; not laid out yet."""
    postgres_server.require("psycopg")
    started: postgres_server.Server = request.getfixturevalue("postgres")
    monkeypatch.chdir(tmp_path)  # its witness is here
    monkeypatch.setenv("TRIED_LEDGER", started.uri(started.database()))
    return "env:TRIED_LEDGER"
