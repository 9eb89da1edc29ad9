"""Tests on a real Spark. They are skipped where there is none, unless it is required."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
sys.path.insert(0, str(Path(__file__).parent))

from sessions import REQUIRED, Sessions, Standalone, missing

HERE = Path(__file__).parent


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say what is missing."""
    reason = missing()
    if reason is not None and item.path.is_relative_to(HERE):
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def sessions() -> Iterator[Sessions]:
    """Sessions with settings of the test's own."""
    made = Sessions()
    yield made
    made.stop()


@pytest.fixture
def spark(sessions: Sessions) -> Any:
    """An ordinary session on this machine."""
    return sessions.get()


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Standalone]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Standalone(folder)
    yield cluster
    cluster.kill()
