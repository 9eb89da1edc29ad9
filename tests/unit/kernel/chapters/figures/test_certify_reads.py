"""Certification refuses figures that are read from what they are not about."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from builders import spec
from msgspec.structs import replace

import dprelease
from dprelease.kernel.certification import certify
from dprelease.model import Plan, Read, Reading
from dprelease.planning.planner import make_plan

SHARED = [
    {"name": "n", "statistic": "count", "by": ["g"]},
    {"name": "s", "statistic": "sum", "column": "x", "by": ["g"]},
    {"name": "m", "statistic": "mean", "column": "x", "by": ["g"]},
    {"name": "v", "statistic": "variance", "column": "x", "by": ["g"]},
    {"name": "other", "statistic": "count", "where": "x > 3"},
    {"name": "fine", "statistic": "count", "by": ["h", "k"]},
    {"name": "coarse", "statistic": "count", "by": ["h"]},
]


def plan(queries: list[dict[str, Any]] = SHARED) -> Plan:
    keys = {"type": "string", "keys": ["a", "b"]}
    release = dprelease.load(
        spec(
            release={"name": "reads"},
            columns={
                "g": keys,
                "h": keys,
                "k": keys | {"other": "rest", "nulls": "rest"},
                "x": {"type": "integer", "lower": 2, "upper": 100},
                "y": {"type": "integer", "lower": 0, "upper": 10},
            },
            query=queries,
        )
    )
    return make_plan(release)


def read_of(made: Plan, name: str) -> Read:
    return next(read for read in made.reads if read.query.name == name)


def test_what_is_shared_is_certified() -> None:
    made = plan()
    kinds = {read.query.name: read.reading for read in made.reads}
    assert kinds["n"] is kinds["s"] is kinds["coarse"] is Reading.LINEAR
    assert kinds["m"] is Reading.MOMENTS
    assert read_of(made, "coarse").merged
    certify(made)


def test_a_sum_over_groups_that_lack_some_records_is_refused() -> None:
    made = make_plan(plan([SHARED[5], SHARED[6] | {"by": ["k"]}]).release, jointly=False)
    taken = read_of(made, "coarse")
    wrong = replace(
        taken, step="fine", rows=(0,), reading=Reading.LINEAR, factors=(Fraction(1),), merged=(0,)
    )
    reads = tuple(wrong if read == taken else read for read in made.reads)
    steps = tuple(step for step in made.steps if step.query.name == "fine")
    with pytest.raises(dprelease.Failure, match=r"the figures of|every query is read from a step"):
        certify(replace(made, reads=reads, steps=steps))
