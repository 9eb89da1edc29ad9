"""How far a run is, on the terminal of whoever waits for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from dprelease.cli.views.console import NARROWEST, get_width, is_terminal, paint
from dprelease.files.system import NoMoreThreads, start

if TYPE_CHECKING:
    from dprelease import Stage

_CLEAR_LINE = "\r\x1b[2K"
REDRAWN = 0.25  # seconds
_MINUTES_FROM = 120  # seconds


class StatusLine:
    """How far a run is: one line on standard error, drawn again as time passes, gone at the end.

    Shown on a terminal only, so that a scheduled run writes no such thing. The share of the data
    that was read and the seconds tell of the size of the data: whoever runs the tool may see it,
    and nothing is written elsewhere. The line is narrower than the terminal, for one that is broken
    can't be overwritten. That it can't be drawn stops no run.
    """

    def __init__(self, is_on: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._shown = is_on and is_terminal(sys.stderr)
        self._clock = clock
        self._start = clock()
        self._stage: Stage | None = None
        self._drawn = ""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._redrawing = threading.Thread(target=self._redraw, daemon=True)

    def __enter__(self) -> Callable[[Stage], None] | None:
        if not self._shown:
            return None
        try:
            start(self._redrawing)
        except NoMoreThreads:
            self._shown = False
            return None
        return self.show

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._ended.set()
            self._redrawing.join()
            self._write(_CLEAR_LINE)

    def show(self, stage: Stage) -> None:
        """Show a new step at once, and what it has read when the line is drawn next."""
        begun = self._stage is None or self._stage.number != stage.number
        self._stage = stage
        if begun:
            self.draw()

    def draw(self) -> None:
        """Draw the line if it has changed; from any thread."""
        with self._lock:
            if self._stage is None or self._ended.is_set():
                return
            seconds = int(self._clock() - self._start)
            line = format_status(self._stage, seconds, get_width(sys.stderr) or NARROWEST)
            if line != self._drawn:
                self._drawn = line
                self._write(f"{_CLEAR_LINE}{paint(line, 'quiet', sys.stderr)}")

    def _redraw(self) -> None:
        while not self._ended.wait(REDRAWN):
            self.draw()

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def format_status(stage: Stage, seconds: int, width: int) -> str:
    """Format a line such as ``[4/7] read the data: 42 %, 12 s``, narrower than ``width``."""
    place = "" if stage.steps is None else f"[{stage.number}/{stage.steps}] "
    share = "" if stage.share is None else f"{int(100 * stage.share)} %, "
    minutes, rest = divmod(seconds, 60)
    passed = f"{minutes} min {rest} s" if seconds >= _MINUTES_FROM else f"{seconds} s"
    numbers = f": {share}{passed}"
    # Narrower than the terminal: a line that it breaks can't be overwritten.
    room = width - 1 - len(place) - len(numbers)
    step = stage.step if len(stage.step) <= room else f"{stage.step[: max(0, room - 1)]}…"
    return f"{place}{step}{numbers}"[: width - 1]
