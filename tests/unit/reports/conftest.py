"""Plans of specs, and the whole publication of made-up noisy integers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dprelease.ledger.entries import Account, Run, State
from dprelease.ledger.privacy_filter import Caps
from dprelease.ledger.reservation import Reservation, build_terms
from dprelease.model import Form, Loss, NoisyTable, Plan, Step
from dprelease.planning.planner import make_plan
from dprelease.release.bundle import Publication, assemble
from dprelease.release.payload import Sealed
from dprelease.specfile import load

sys.path.insert(0, str(Path(__file__).parent))

Planned = Callable[..., Plan]


@pytest.fixture
def planned() -> Planned:
    """Plan a spec of these queries."""

    def make(*queries: Mapping[str, Any], **privacy: Any) -> Plan:
        from report_specs import spec

        return make_plan(load(spec(*queries, **privacy)))

    return make


@pytest.fixture
def published() -> Callable[..., Publication]:
    """Publish a plan of which every released integer is ``value``, for ``keys`` private keys.

    Of each record-level table ``rows`` records are made up.
    """
    from report_specs import draw_records

    def make(
        plan: Plan, value: int = 0, keys: tuple[str, ...] = (), rows: int = 1000
    ) -> Publication:
        tables = {step.query.table for step in plan.steps if step.query.private}
        noisy = NoisyTable(
            {step.query.name: _integers(step, value, len(keys)) for step in plan.steps},
            {table: tuple((key,) for key in keys) for table in tables},
        )
        zero = Loss(Fraction(0))
        terms = build_terms(plan)
        run = Run(1, "e" * 64, "f" * 64, "small", "small", terms, Caps(), {}, "now")
        account = Account("small", ())
        totals = account.compute_total(Caps()), account.compute_total(Caps(), terms)
        reservation = Reservation(run, State.CHARGED, True, zero, plan.loss, *totals)
        records = {step.perturb.name: draw_records(step, rows) for step in plan.records}
        return assemble(plan, reservation, Sealed(noisy, {"dprelease": "1"}, records), "now")

    return make


def _integers(step: Step, value: int, keys: int) -> tuple[tuple[int, ...], ...]:
    query = step.query
    if step.form is Form.NUMBERS:
        labels = len(query.axis.labels) if query.axis is not None else 1
        size = keys * labels if query.private else step.draws
        return ((value,) * size,) * len(step.transform)
    size = keys if query.private else query.cells
    return ((0,) * size,) * (len(query.quantiles) or query.picks)
