"""Threads beside the main one: an interruption leaves none of them behind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from threading import Thread

import pytest

from dprelease.files.prefetch import read_ahead
from dprelease.sources.shared.read_share import ReadShare


def take_items() -> None:
    next(read_ahead(repeat("item")))


def measure() -> None:
    with ReadShare(lambda _share: None).measure(100, lambda: 0.0):
        pass


@pytest.mark.parametrize("use", [take_items, measure])
@pytest.mark.parametrize("runs", [True, False])
def test_a_thread_that_is_interrupted_as_it_begins_ends(
    use: Callable[[], None], runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Thread] = []
    start = Thread.start

    def interrupted(thread: Thread) -> None:
        if runs:
            start(thread)
            begun.append(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            use()
    for thread in begun:
        thread.join(30)
        assert not thread.is_alive()
