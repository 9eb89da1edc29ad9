"""What a run tells of how far it is: every step in order, numbered, to the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dprelease
from dprelease import Stage

Spec = dict[str, Any]


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    """Two tables that are read twice, for quantiles ask for themselves, and one of records."""
    table = tmp_path / "t.csv"
    table.write_text("g,x\n" + "a,1\nb,2\nc,3\n" * 10)
    return {
        "release": {"name": "r"},
        "data": {"path": str(table)},
        "privacy": {"unit": "row", "adjacency": "replace-one"},
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d"},
        "columns": {
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [
            {"name": "n", "statistic": "count", "by": ["g"], "epsilon": 1},
            {"name": "m", "statistic": "median", "column": "x", "by": ["g"], "epsilon": 1},
        ],
        "perturb": [{"name": "people", "columns": ["x"], "epsilon": 1}],
        "output": {"path": str(tmp_path / "out")},
    }


def test_steps_are_numbered_to_the_last_and_shares_rise(spec: Spec) -> None:
    names: list[str] = []
    stages: list[Stage] = []
    dprelease.run(spec, progress=names.append, watcher=stages.append)
    begun = [stage for stage in stages if stage.share is None]
    assert [stage.step for stage in begun] == names
    assert [stage.number for stage in begun] == list(range(1, len(names) + 1))
    assert begun[0] == Stage("plan", 1)
    assert {stage.steps for stage in stages[1:]} == {len(names)}
    assert names == [
        "plan", "check the structure of the data", "charge the budget",
        "read the data for by_g", "add noise to by_g",
        "read the data for by_g", "add noise to by_g",
        "perturb the records for people", "seal", "write",
    ]  # fmt: skip
    for number in {stage.number for stage in stages if stage.share is not None}:
        shares = [s.share for s in stages if s.number == number and s.share is not None]
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_a_run_that_is_sealed_takes_three_steps(spec: Spec) -> None:
    dprelease.run(spec)
    stages: list[Stage] = []
    dprelease.run(spec, watcher=stages.append)
    assert [stage.step for stage in stages] == ["plan", "charge the budget", "write"]
    assert stages[-1].number == stages[-1].steps == 3


def test_a_watcher_that_raises_is_not_called_again_and_stops_no_run(spec: Spec) -> None:
    calls: list[Stage] = []

    def fail(stage: Stage) -> None:
        calls.append(stage)
        if stage.number == 4:
            raise OSError("a closed pipe")

    assert dprelease.run(spec, watcher=fail).charged
    assert [stage.number for stage in calls] == [1, 2, 3, 4]
