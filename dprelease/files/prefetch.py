"""A stream whose items are made by a thread of their own, a few of them ahead of who takes them."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")

ROOM = 2
_PATIENCE = 0.1  # seconds between two looks at whether anybody still waits


class _End:
    """Nothing more comes; ``problem`` is what the stream has raised, if it has."""

    def __init__(self, problem: BaseException | None) -> None:
        self.problem = problem


class _Ahead(Generic[T]):
    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._queue: Queue[T | _End] = Queue(ROOM)
        self._dropped = Event()
        self._thread = Thread(target=self._make, daemon=True)

    def take(self) -> Iterator[T]:
        self._thread.start()
        try:
            while True:
                item = self._queue.get()
                if not isinstance(item, _End):
                    yield item
                elif item.problem is None:
                    return
                else:
                    raise item.problem
        finally:
            self._dropped.set()
            while self._thread.is_alive():  # it may wait for room
                self._thread.join(_PATIENCE)

    def _make(self) -> None:
        """All that the stream raises is for the taker to see, and not for a thread to print."""
        end = _End(None)
        try:
            for item in self._items:
                if not self._put(item):
                    break
        except BaseException as problem:  # handed on, whatever it is
            end = _End(problem)
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
        self._put(end)

    def _put(self, item: T | _End) -> bool:
        """Hand it over; False if nobody takes it any more."""
        while not self._dropped.is_set():
            try:
                self._queue.put(item, timeout=_PATIENCE)
            except Full:
                continue
            return True
        return False


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, made in another thread; what that raises is raised here.

    Dropped before its end, it stops the stream after the item that is being made.
    """
    return _Ahead(items).take()
