"""Progress of a request: how much was read of all the readings that it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dprelease.files.system import start, wait_for
from dprelease.sources.shared.data_failures import Share

PAUSE = 0.2  # least seconds between two reports of the share
LOOK = 0.25  # seconds between two measurements of what was read
_BEFORE_THE_END = 0.99


class ReadShare:
    """The share of a request, which never falls, from those of single readings; thread-safe."""

    def __init__(self, share: Share | None = None) -> None:
        self._share = share
        self._start = self._highest = 0.0
        self._readings = 0  # until the first reading begins
        self._told = -PAUSE
        self._lock = threading.RLock()
        self._measured: Callable[[], float] = lambda: 0.0
        self._base = 0.0
        self._beside = 0

    @property
    def is_wanted(self) -> bool:
        """Tell if the share is reported to anybody."""
        return self._share is not None

    @property
    def readings(self) -> int:
        """Number of readings left, the present one included."""
        return self._readings

    def begin(self, readings: int) -> None:
        """Begin a reading; ``readings`` are left, itself included."""
        # Lack of memory may add readings at any time. So each reading begins at the present share,
        # and takes its part of what is left.
        with self._lock:
            self._start, self._readings = self._highest, readings
            self._base = self._measured()

    def read(self, part: float) -> None:
        """Record the part of the present reading that is done, from 0 to 1."""
        if self._share is None or not self._readings:
            return
        with self._lock:
            share = self._start + (1 - self._start) * min(part, 1) / self._readings
            self._highest = max(self._highest, min(share, _BEFORE_THE_END))
            now = time.monotonic()
            if now >= self._told + PAUSE:
                self._told = now
                self._share(self._highest)

    def build_counter(self, size: Callable[[], int]) -> Callable[[int], None]:
        """Build a function that is told the size of each piece; ``size`` gives the whole."""
        if not self.is_wanted:
            return lambda _piece: None
        whole, done = size(), 0

        def count(piece: int) -> None:
            nonlocal done
            done += piece
            self.read(done / max(1, whole))

        return count

    @contextmanager
    def measure(self, size: int, percent: Callable[[], float]) -> Iterator[None]:
        """Measure the bytes that this process reads meanwhile.

        Args:
            size: Bytes of one reading.
            percent: Gives the percentage done of a reading, where the system doesn't count bytes.
        """

        def measure() -> float:
            total = count_bytes_read()
            return percent() / 100 if total is None else (total - self._beside) / max(1, size)

        def poll() -> None:
            while not ended.wait(LOOK):
                with self._lock:  # no other reading begins between the look and what is told
                    self.read(measure() - self._base)

        ended, thread = threading.Event(), threading.Thread(target=poll, daemon=True)
        self._measured = measure
        try:
            start(thread)
            yield
        finally:
            ended.set()
            wait_for(thread)
            self._measured = lambda: 0.0

    def exclude(self, size: int) -> None:
        """Exclude bytes that another thread read for another purpose."""
        self._beside += size

    def finish(self) -> None:
        """Report that the request is answered."""
        if self._share is not None:
            self._share(1)


def count_bytes_read() -> int | None:
    """Count the bytes that this process has read; None where the system doesn't."""
    try:
        with open("/proc/self/io", "rb") as counts:
            return int(counts.readline().removeprefix(b"rchar: "))
    except (OSError, ValueError):
        return None


UNTOLD = ReadShare()
"""A share that is reported to nobody."""
