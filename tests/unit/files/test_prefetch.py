"""A stream that is read ahead in a thread: in order, closed in time, and waited for by nobody."""

from __future__ import annotations

import sys
from signal import SIGINT
from subprocess import PIPE, Popen
from typing import Any

import pytest

from dprelease.files.prefetch import read_ahead


def test_a_stream_comes_in_order_and_whole() -> None:
    assert list(read_ahead(iter(range(50)))) == list(range(50))
    assert list(read_ahead(iter(()))) == []


def test_what_a_stream_raises_is_raised_where_it_is_taken() -> None:
    def broken() -> Any:
        yield 1
        raise ZeroDivisionError

    taken = read_ahead(broken())
    assert next(taken) == 1
    with pytest.raises(ZeroDivisionError):
        next(taken)


def test_a_dropped_stream_is_closed() -> None:
    closed = []

    def endless() -> Any:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    taken = read_ahead(endless())
    assert next(taken) == 1
    taken.close()  # type: ignore[attr-defined]
    assert closed == [True]


WAITS = """
import time
from dprelease.__main__ import leave
from dprelease.files.prefetch import read_ahead

def slow():
    yield 1
    time.sleep(100)
    yield 2

try:
    for _ in read_ahead(slow()):
        print("taken", flush=True)
        {after}
except (KeyboardInterrupt, ArithmeticError):
    leave(130)
"""


@pytest.mark.parametrize(("after", "signals"), [("pass", 1), ("raise ArithmeticError", 0)])
def test_nobody_waits_for_an_item_that_is_not_wanted(after: str, signals: int) -> None:
    process = Popen([sys.executable, "-c", WAITS.format(after=after)], stdout=PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        for _ in range(signals):
            process.send_signal(SIGINT)
        assert process.wait(20) == 130
