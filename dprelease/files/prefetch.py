"""A stream whose items are made by a thread of their own, a few of them ahead of who takes them."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import TypeVar

from dprelease.files.system import start, wait_for

T = TypeVar("T")

ROOM = 3
PATIENCE = 1.0  # seconds


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Make the items of an iterator in another thread, at most ``ROOM`` ahead.

    Args:
        items: The iterator; an exception of it is raised here.

    Yields:
        The same items in the same order.
    """
    queue: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()
    room, dropped = Semaphore(ROOM), Event()

    def make() -> None:
        problem: BaseException | None = None
        try:
            try:
                while room.acquire() and not dropped.is_set():
                    queue.put((next(items),))
            finally:
                getattr(items, "close", lambda: None)()
        except BaseException as raised:  # for the taker to see, and not for a thread to print
            problem = None if isinstance(raised, StopIteration) else raised
        queue.put(problem)

    maker = Thread(target=make, daemon=True)
    try:
        start(maker)
        while isinstance(item := queue.get(), tuple):
            room.release()
            yield item[0]
        if item is not None:
            raise item
    finally:
        # Ctrl-C must not wait for a query, so nobody waits longer than PATIENCE for the item that
        # is being made; the thread ends after it.
        dropped.set()
        room.release()
        wait_for(maker, PATIENCE)
