"""Which rows are kept of a unit with too many is drawn anew by each run, for all of its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle.engine import get

import dprelease
from dprelease.errors import Complaint
from dprelease.kernel.core.entropy import SystemEntropy


class Listening:
    """An engine that notes the salts it is asked with."""

    def __init__(self) -> None:
        self._engine = get("reference")
        self.of_cells: list[int] = []
        self.of_records: list[int] = []

    def inspect(self, *given: Any) -> tuple[Complaint, ...]:
        return self._engine.inspect(*given)

    def aggregate(self, request: Any, share: Any = None) -> Any:
        self.of_cells.append(request.bound.salt)
        return self._engine.aggregate(request, share)

    def records(self, request: Any, share: Any = None) -> Any:
        self.of_records.append(request.bound.salt)
        return self._engine.records(request, share)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Listening:
    made = Listening()
    monkeypatch.setattr("dprelease.release.run.get", lambda _name: made)
    return made


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "t.csv").write_text("p,g,x\np,a,1\np,b,2\np,b,3\nq,a,4\n")
    return {
        "release": {"name": "r"},
        "data": {"path": str(tmp_path / "t.csv")},
        "privacy": {
            "unit": "column",
            "unit_column": "p",
            "adjacency": "replace-one",
            "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 2},
        },
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d"},
        "columns": {
            "g": {"type": "string", "keys": ["a", "b"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [
            {"name": "n", "statistic": "count", "by": ["g"], "epsilon": 1},
            {"name": "m", "statistic": "median", "column": "x", "epsilon": 1},
        ],
        "perturb": [
            {"name": "people", "columns": ["g"], "epsilon": 1},
            {"name": "others", "columns": ["x"], "epsilon": 1},
        ],
        "output": {"path": str(tmp_path / "out")},
        "report": {"formats": ["json"]},
    }


def test_every_run_draws_salts_of_its_own(spec: dict[str, Any], engine: Listening) -> None:
    """63 bits: that two of 8 are alike, or all short, has a chance below 2^-50."""
    for _ in range(4):
        dprelease.run(spec, new_noise=True, entropy=SystemEntropy())
    assert len(engine.of_cells) == len(engine.of_records) == 8
    for salts in (engine.of_cells, engine.of_records):
        assert salts[::2] == salts[1::2]  # the tables of one run keep the same rows
        assert len({*salts}) == 4
    every = {*engine.of_cells, *engine.of_records}
    assert len(every) == 8
    assert max(every) >= 1 << 56
