"""Runs a property with ever new examples for a while, and counts them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

BATCH = 200


class TimeIsUp(Exception):
    """No failure: the run is over."""


def run_for(seconds: float, start: int, check: Callable[[Any], None], cases: Any) -> int:
    """How many cases were tried; what a case raises is raised, the case made small first.

    One is tried at least, however busy the machine is.
    """
    end = time.monotonic() + seconds
    tried = 0
    number = start
    has_failed = False  # then it is made small, however long that takes
    while tried == 0 or time.monotonic() < end:

        @settings(
            max_examples=BATCH,
            deadline=None,
            database=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @seed(number)
        @given(cases)
        def one(case: Any) -> None:
            nonlocal tried, has_failed
            if tried == 0 or has_failed or time.monotonic() < end:
                tried += 1
                try:
                    check(case)
                except BaseException:
                    has_failed = True
                    raise

        one()
        number += 1
    return tried


def main(
    arguments: Sequence[str], what: str, check: Callable[[Any], None], cases: st.SearchStrategy[Any]
) -> int:
    """The command line of a fuzzing program."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given_ = parser.parse_args(arguments)
    started = time.monotonic()
    tried = run_for(given_.minutes * 60, given_.seed, check, cases)
    taken = time.monotonic() - started
    sys.stdout.write(f"{what}: {tried} cases in {taken:.0f} s from seed {given_.seed}, no crash\n")
    return 0
