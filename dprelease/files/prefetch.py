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
    """The same items in the same order, made in another thread; what that raises is raised here.

    At most ``ROOM`` of them are made before they are taken. Dropped before its end, it stops the
    stream after the item that is being made. No one waits longer than ``PATIENCE`` for that item,
    nor does the end of the process: Ctrl-C must not wait for a query.
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
        dropped.set()
        room.release()
        wait_for(maker, PATIENCE)
