"""What many tests need: noise that is the same in every run of the tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import postgres_server
import pytest
from hashed_bytes import HashedEntropy
from hypothesis import HealthCheck, settings
from thorough import is_in_diagonal, names_with_more

if TYPE_CHECKING:
    from kept_sessions import KeptSessions

BY_DEFAULT = "not thorough"

# A worker a processor: threads of numpy's beside them would only wait for one another, and take
# processor time for it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

IN_MEMORY = Path("/dev/shm")
ROOM = 4 << 30

# The suite tries the same examples each time: what it says of a commit doesn't change. New ones
# are tried with DPRELEASE_RANDOM_EXAMPLES=1.
SAME = not os.environ.get("DPRELEASE_RANDOM_EXAMPLES")
# How long an example takes says nothing: the machine may be busy.
BUSY = [HealthCheck.too_slow]
for name, examples in (("default", 12), ("thorough", 100)):
    settings.register_profile(
        name, max_examples=examples, deadline=None, derandomize=SAME, suppress_health_check=BUSY
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """A run of all tests after the default one needn't repeat what is the same in both."""
    parser.addoption(
        "--after-default",
        action="store_true",
        help="leave out the tests that a run by default has done with all of their examples",
    )


def pytest_configure(config: pytest.Config) -> None:
    """All tests also mean all examples. Folders of tests are in memory, where there is room.

    There nothing waits for a disk, whose part in a crash no test could show.
    """
    settings.load_profile("default" if config.option.markexpr == BY_DEFAULT else "thorough")
    if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free >= ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """No search for garbage among the many things that are made here and live to the end.

    Later the search is rare: most of what tests make is freed without it.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Iterator[None]:
    """Every other worker begins at the last file, so that no two compile the same files.

    The second to come to a file finds it compiled.
    """
    report = yield
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579" and isinstance(
        collector, pytest.Directory | pytest.Session
    ):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as thorough the cases that ``one_in`` leaves out: all but a diagonal of them."""
    items.sort(key=lambda item: item.path)
    counts: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            if not is_in_diagonal(counts[test], *mark.args):
                item.add_marker("thorough")
            counts[test] += 1
    if config.option.after_default:
        done = [item for item in items if not _has_more(item)]
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if _has_more(item)]


def _has_more(item: pytest.Item) -> bool:
    """Whether a test does more in a run of all tests: it runs there only, or has more examples."""
    if item.get_closest_marker("thorough") or getattr(item.obj, "is_hypothesis_test", False):
        return True
    name = item.nodeid.split("::")[1].partition("[")[0]
    return name in names_with_more(item.path.read_text(encoding="utf-8"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how all tests are run, since the default leaves some out."""
    if terminalreporter.config.option.markexpr == BY_DEFAULT:
        terminalreporter.write_line("Without the thorough tests: `pytest -m ''` runs all.")


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> HashedEntropy:
    """Bytes of the test's own."""
    return HashedEntropy(request.node.name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    """A PostgreSQL server of this process's tests; they are skipped where there can't be one."""
    postgres_server.require()
    with postgres_server.server() as server:
        yield server


@pytest.fixture(scope="session")
def kept_sessions() -> Iterator[KeptSessions]:
    """DuckDB sessions that are opened once for all tests of a process."""
    from kept_sessions import KeptSessions  # imported by who runs tests, not by who hands them out

    kept = KeptSessions()
    with kept.used():
        yield kept


@pytest.fixture(autouse=True, scope="module")
def _first_session(kept_sessions: KeptSessions) -> None:
    """A module of tests opens a session of its own before it shares others."""
    kept_sessions.is_first = True


@pytest.fixture(autouse=True, scope="session")
def _interruptions_arrive() -> None:
    """Ctrl-C is heard here and by processes of tests, also in a job of the background.

    A shell starts those with the signal ignored, and who is started so inherits that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
