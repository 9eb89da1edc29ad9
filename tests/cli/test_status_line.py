"""The line that says how far a run is, with a clock and a terminal of the test's own."""

from __future__ import annotations

import io
import sys
import time

import pytest

from dprelease import Stage
from dprelease.cli.status_line import StatusLine, format_status

READ = Stage("read the data for visits", 4, 7)
CLEAR = "\r\x1b[2K"


class Terminal(io.StringIO):
    """Takes what is written, and says that somebody watches."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        return self.getvalue().split(CLEAR)


class File(Terminal):
    """What a scheduled run writes to."""

    def isatty(self) -> bool:
        return False


class Broken(Terminal):
    """A terminal that has gone."""

    def write(self, _text: str) -> int:
        raise OSError(5, "gone")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A terminal of 80 columns without colour; the line is drawn again when a test says so."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("dprelease.cli.status_line.REDRAWN", 3600)
    return monkeypatch


def replace_stderr(terminal: Terminal, environment: pytest.MonkeyPatch) -> Terminal:
    """The terminal in the place of standard error, which pytest sets anew for each test."""
    environment.setattr(sys, "stderr", terminal)
    return terminal


@pytest.mark.parametrize(
    ("stage", "seconds", "line"),
    [
        (Stage("plan", 1), 0, "plan: 0 s"),
        (READ, 3, "[4/7] read the data for visits: 3 s"),
        (Stage("read the data for visits", 4, 7, 0), 3, "[4/7] read the data for visits: 0 %, 3 s"),
        (Stage("read", 4, 7, 0.429), 119, "[4/7] read: 42 %, 119 s"),
        (Stage("read", 4, 7, 0.999), 120, "[4/7] read: 99 %, 2 min 0 s"),
        (Stage("read", 4, 7, 1), 3725, "[4/7] read: 100 %, 62 min 5 s"),
    ],
)
def test_a_line(stage: Stage, seconds: int, line: str) -> None:
    assert format_status(stage, seconds, 80) == line


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_line_is_narrower_than_the_terminal_and_its_numbers_are_whole(width: int) -> None:
    line = format_status(Stage("read the data for " + "x" * 100, 4, 7, 0.5), 12, width)
    assert len(line) < width
    assert line.startswith("[4/7] ")
    assert line.endswith(": 50 %, 12 s")
    assert ("…" in line) == (width < 120)


def test_no_terminal_is_so_narrow_that_a_line_is_broken() -> None:
    stage = Stage("read the data for visits", 1000, 2000, 0.5)
    assert len(format_status(stage, 100_000, 20)) < 20


def test_the_line_is_drawn_again_as_time_passes_and_wiped_at_the_end(
    environment: pytest.MonkeyPatch,
) -> None:
    terminal = replace_stderr(Terminal(), environment)
    now = [50.0]
    line = StatusLine(is_on=True, clock=lambda: now[0])
    with line as watcher:
        assert watcher is not None
        watcher(Stage("plan", 1))
        watcher(READ)
        line.draw()  # nothing has changed
        now[0] = 62.9
        watcher(Stage(READ.step, READ.number, READ.steps, 0.25))
        line.draw()
        watcher(Stage("write", 7, 7))
    line.draw()  # nothing is drawn after the end
    read = "[4/7] read the data for visits"
    assert terminal.lines() == [
        "", "plan: 0 s", f"{read}: 0 s", f"{read}: 25 %, 12 s", "[7/7] write: 12 s", "",
    ]  # fmt: skip


def test_the_line_draws_itself_again(environment: pytest.MonkeyPatch) -> None:
    environment.setattr("dprelease.cli.status_line.REDRAWN", 0.001)
    terminal, now = replace_stderr(Terminal(), environment), [0.0]
    with StatusLine(is_on=True, clock=lambda: now[0]) as watcher:
        assert watcher is not None
        watcher(READ)
        now[0] = 5
        while not terminal.getvalue().endswith(": 5 s"):
            time.sleep(0.001)
    assert terminal.lines()[-1] == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_nobody_is_shown_anything_off_a_terminal(
    quiet: bool, environment: pytest.MonkeyPatch
) -> None:
    terminal = replace_stderr(Terminal() if quiet else File(), environment)
    with StatusLine(is_on=not quiet) as watcher:
        assert watcher is None
    assert terminal.getvalue() == ""


def test_a_terminal_that_goes_stops_no_run(environment: pytest.MonkeyPatch) -> None:
    replace_stderr(Broken(), environment)
    with StatusLine(is_on=True) as watcher:
        assert watcher is not None
        watcher(READ)


def test_no_thread_to_draw_the_line_stops_no_run(environment: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    terminal = replace_stderr(Terminal(), environment)
    environment.setattr("threading.Thread.start", refused)
    with StatusLine(is_on=True) as watcher:
        assert watcher is None
    assert terminal.getvalue() == ""
