"""The server that tests of databases share."""

from __future__ import annotations

import subprocess

import pytest
from postgres_server import Server


def test_databases_of_the_server_are_apart(postgres: Server) -> None:
    one, other = postgres.database(), postgres.database()
    postgres.psql(one, "CREATE TABLE t (x int)")
    with pytest.raises(subprocess.CalledProcessError):
        postgres.psql(other, "SELECT * FROM t")


def test_a_password_is_asked_for(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postgres_server.PASSWORD", "another")
    with pytest.raises(subprocess.CalledProcessError):
        postgres.psql("postgres", "SELECT 1")
