"""A stream whose items are made by a thread of their own, a few of them ahead of who takes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")

ROOM = 3


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items in the same order, made in another thread; what that raises is raised here.

    At most ``ROOM`` of them are made before they are taken. Dropped before its end, it stops the
    stream after the item that is being made.
    """
    # Imported here for start-up: most releases have no table of records.
    from concurrent.futures import ThreadPoolExecutor

    end = object()
    with ThreadPoolExecutor(1) as maker:
        steps = deque(maker.submit(next, items, end) for _ in range(ROOM))
        try:
            while (item := steps.popleft().result()) is not end:
                steps.append(maker.submit(next, items, end))
                yield item  # type: ignore[misc]
        finally:
            for step in steps:
                step.cancel()
            if (close := getattr(items, "close", None)) is not None:
                maker.submit(close).result()
