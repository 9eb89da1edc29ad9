"""What a run notes with its charge, and that nothing is read without one that is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle.engine import get

import dprelease
from dprelease.engines.engine_interface import Engine
from dprelease.errors import Complaint, Failure
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.ledger.entries import State
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.reservation import Reservation
from dprelease.ledger.single_draw import NoiseDraw
from dprelease.ledger.store import Ledger
from dprelease.local.store.table_store import Unsealed
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    Loss,
    RecordRequest,
    Source,
)
from dprelease.release import run as pipeline
from dprelease.release.plan import plan_and_certify
from dprelease.release.progress import Stages
from dprelease.sources.shared.data_failures import Share

Spec = dict[str, Any]

PERSON = {
    "unit": "column",
    "unit_column": "uid",
    "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 1},
}


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    """A query and a table of records, both asked of the engine."""
    table = tmp_path / "t.csv"
    table.write_text("uid,house,x\n" + "a,h,1\nb,h,2\nc,g,3\n" * 10)
    return {
        "release": {"name": "r"},
        "data": {"path": str(table)},
        "privacy": {"unit": "row", "adjacency": "replace-one"},
        "ledger": {"path": str(tmp_path / "l.sqlite"), "dataset": "d", "epsilon_cap": 8},
        "columns": {
            "house": {"type": "string", "keys": ["g", "h"], "source": "p"},
            "x": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [{"name": "n", "statistic": "count", "by": ["house"], "epsilon": 1}],
        "perturb": [{"name": "people", "columns": ["x"], "epsilon": 1}],
        "output": {"path": str(tmp_path / "out")},
    }


class Watched:
    """The reference engine, which notes what it is asked; before it reads, ``watch`` is called."""

    name = "watched"

    def __init__(self, engine: Engine, watch: Any = lambda: None) -> None:
        self.engine, self.watch, self.asked = engine, watch, list[str]()

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        return self.engine.inspect(source, inputs)

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        self.asked.append("aggregate")
        self.watch()
        return self.engine.aggregate(request, share)

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        self.asked.append("records")
        self.watch()
        return self.engine.records(request, share)


NOTED: dict[str, tuple[Spec, Spec, dict[str, str]]] = {
    "rows": ({}, {}, {"unit": "row", "adjacency": "replace-one"}),
    "rows that come and go": (
        {"adjacency": "add-remove", "unit_description": "one visit"},
        {},
        {"unit": "row", "adjacency": "add-remove", "unit_description": "one visit"},
    ),
    "people": (PERSON, {}, {"unit": "column uid", "adjacency": "replace-one"}),
    "people by another column": (
        PERSON | {"unit_column": "door"},
        {"door": {"type": "string", "expression": "house || uid"}, "uid": {"type": "string"}},
        {"unit": "column door", "adjacency": "replace-one", "expression": '||("house", "uid")'},
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("what", NOTED)
def test_a_charge_notes_the_unit_and_neighbours_of_its_plan(spec: Spec, what: str) -> None:
    privacy, columns, noted = NOTED[what]
    spec["privacy"] |= deepcopy(privacy)
    spec["columns"] |= columns
    if privacy:
        del spec["perturb"]
    dprelease.run(spec)
    with Ledger.read(spec["ledger"]["path"]) as book:
        (run,) = book.list_runs()
    definition = run.detail.get("unit_definition", {})
    assert isinstance(definition, dict)
    named = ("unit", "adjacency", "unit_description")
    found = {name: run.detail[name] for name in named if name in run.detail}
    found |= {name: definition[name] for name in ("expression",) if name in definition}
    assert found == noted
    assert bool(definition) is ("bounding" in privacy)
    assert (run.dataset, run.caps, run.loss.epsilon) == (
        "d",
        Caps(Fraction(8)),
        2 if "perturb" in spec else 1,
    )


def test_the_next_run_is_held_against_what_was_noted(spec: Spec) -> None:
    del spec["perturb"]
    dprelease.run(spec)
    spec["privacy"] |= PERSON
    with pytest.raises(Failure, match="E304"):
        dprelease.run(spec)


def test_whenever_data_are_read_the_ledger_holds_an_open_charge(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[State] = []

    def look() -> None:
        with Ledger.read(spec["ledger"]["path"]) as book:
            states.extend(run.state for run in book.list_runs())

    engine = Watched(get("reference"), look)
    monkeypatch.setattr(pipeline, "get", lambda _name: engine)
    dprelease.run(spec)
    assert engine.asked == ["aggregate", "records"]
    assert states == [State.CHARGED] * 2
    dprelease.run(spec)
    assert len(engine.asked) == 2


@pytest.fixture(params=[State.SEALED, State.BURNT])
def closed(spec: Spec, request: pytest.FixtureRequest) -> Iterator[tuple[Ledger, Reservation]]:
    """A ledger with a run that is over, and what charging it again gives."""
    with Ledger.open(str(Path(spec["ledger"]["path"]))) as book:

        def charge() -> Reservation:
            return book.charge("a" * 64, "d", "r", Loss(Fraction(2)), Caps(), {})

        first = charge()
        if request.param is State.SEALED:
            book.seal(first, b"numbers")
        else:
            book.burn(first)
        again = charge()
        assert again.state is request.param
        yield book, again


def test_no_engine_is_asked_under_a_charge_that_is_used(
    spec: Spec, closed: tuple[Ledger, Reservation]
) -> None:
    """Each of the three looks for itself: no order of calls makes one of them superfluous."""
    book, reservation = closed
    certified = plan_and_certify(dprelease.load(spec))
    plan, entropy = certified.plan, SystemEntropy()
    engine = Watched(get("reference"))
    draw = NoiseDraw(entropy)
    run = pipeline.ChargedRun(book, plan, reservation, engine, Stages(None, None))
    (job,) = build_jobs(plan.release, plan.steps)
    with pytest.raises(ValueError, match="between its charge and its seal"):
        pipeline.read_aggregates(run, job)
    with Unsealed() as unsealed, pytest.raises(ValueError, match="between its charge and its seal"):
        pipeline.release_records(run, draw, unsealed)
    with pytest.raises(Failure, match="E611"):
        pipeline.draw_once(run, entropy)
    assert engine.asked == []
    assert not draw.taken
