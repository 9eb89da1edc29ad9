"""Private keys under a total in rho: approximate zCDP, in the plan, its claims and the ledger."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import pytest
from builders import is_refused, with_step
from msgspec.structs import replace

import dprelease
from dprelease import Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.core.additive_loss import bound_zcdp_delta
from dprelease.ledger.reservation import build_terms
from dprelease.model import Loss, Plan
from dprelease.planning.planner import make_plan
from dprelease.privacy.composition import Cost, compose

KEY_DELTA = Fraction(1, 10**8)
COUNT = {"name": "n", "statistic": "count"}
MEAN = {"name": "m", "statistic": "mean", "column": "x"}
BOUNDS = {"max_rows_per_unit": 6, "max_groups_per_unit": 3}
PEOPLE = {"unit": "column", "unit_column": "p", "bounding": BOUNDS}


def plan(*queries: dict[str, Any], privacy: dict[str, Any] | None = None) -> Plan:
    settings = {"unit": "row", "adjacency": "add-remove", "rho": 0.5} | (privacy or {})
    given = builders.spec(
        data={"path": "t.csv"},
        columns={
            "s": {"type": "string"},
            "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
        },
        query=[
            {"by": ["s"], "partition_selection": {"delta": float(KEY_DELTA)}} | query
            for query in queries
        ],
    )
    given["privacy"] = settings
    return certify(make_plan(load(given))).plan


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_noise_has_the_whole_rho_and_keys_their_delta(people: bool, adjacency: str) -> None:
    count = {"name": "n", "statistic": "count_units"} if people else COUNT
    made = plan(count, privacy={"adjacency": adjacency} | (PEOPLE if people else {}))
    (step,) = made.steps
    assert step.loss.rho == made.loss.rho == Fraction(1, 2)
    assert step.noise.parameter == step.sensitivity.l2_squared  # 1/(2 rho) of that
    assert made.loss.delta == Fraction(1, 10**6) + KEY_DELTA
    spare = made.loss.delta - KEY_DELTA
    assert bound_zcdp_delta(Fraction(1, 2), made.loss.epsilon) <= spare


def test_queries_share_rho_by_weight() -> None:
    made = plan(COUNT, MEAN | {"weight": 4})
    count, mean = (step.loss.rho or Fraction(0) for step in made.steps)
    assert float(count + mean) == pytest.approx(0.5, rel=1e-6)
    assert float(mean / count) == pytest.approx(2, rel=1e-3)
    stated = plan(COUNT | {"rho": 0.1}, MEAN)
    rhos = [float(step.loss.rho or 0) for step in stated.steps]
    assert rhos == pytest.approx([0.1, 0.4], rel=1e-6)


def test_a_stated_delta_is_that_of_all() -> None:
    made = plan(COUNT, privacy={"delta": 1e-7})
    assert made.loss.delta == Fraction(1, 10**7)
    assert bound_zcdp_delta(Fraction(1, 2), made.loss.epsilon) <= made.loss.delta - KEY_DELTA
    queries = [COUNT, MEAN | {"table": "other"}]
    with pytest.raises(Failure, match="E238"):
        plan(*queries, privacy={"delta": 2e-8})


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_nothing_less_is_certified(adjacency: str) -> None:
    made = plan(COUNT, MEAN, privacy={"adjacency": adjacency})
    (step, _) = made.steps
    assert step.loss.rho is not None
    assert step.threshold is not None
    less = Fraction(999, 1000)
    for changes in (
        {"threshold": step.threshold - 1},
        {"noise": replace(step.noise, parameter=step.noise.parameter * less)},
        {"loss": replace(step.loss, rho=step.loss.rho * less)},
        {"loss": replace(step.loss, epsilon=step.loss.epsilon * less)},
        {"loss": replace(step.loss, delta=KEY_DELTA)},
    ):
        assert is_refused(with_step(made, **changes))
    # The delta of the keys is beside the one at which rho is converted.
    lower = with_step(made, loss=replace(step.loss, delta=step.loss.delta - KEY_DELTA))
    with pytest.raises(Failure, match="costs no more epsilon and delta than it claims"):
        certify(lower)
    for total in (
        replace(made.loss, delta=made.loss.delta - KEY_DELTA),  # what may fail is left out
        replace(made.loss, epsilon=made.loss.epsilon * less),
        replace(made.loss, rho=(made.loss.rho or 0) * less),
    ):
        assert is_refused(replace(made, loss=total))
    # A selection that claims no rho is no part of a total in rho.
    assert is_refused(with_step(made, loss=replace(step.loss, rho=None)))


def test_what_may_fail_is_taken_off_delta_before_rho_is_converted() -> None:
    rho, failure, delta = Fraction(1, 10), Fraction(1, 10**7), Fraction(1, 10**6)
    cost = Cost(Loss(Fraction(3), delta, rho), ((None, 1),), failure)  # type: ignore[arg-type]
    loss, method = compose([cost], delta)
    assert (loss.delta, loss.rho, method) == (delta, rho, "zcdp")
    assert bound_zcdp_delta(rho, loss.epsilon) <= delta - failure
    assert bound_zcdp_delta(rho, loss.epsilon) > Fraction(99, 100) * (delta - failure)
    twice, _ = compose([cost, cost], delta)
    assert twice.rho == 2 * rho
    assert bound_zcdp_delta(2 * rho, twice.epsilon) <= delta - 2 * failure
    for accounting, at in (("auto", failure), ("pld", delta), ("pure", delta)):
        with pytest.raises(ValueError, match="approximate zCDP"):
            compose([cost], at, accounting)


def test_the_ledger_counts_what_may_fail_beside_rho() -> None:
    made = plan(COUNT, MEAN)
    parts = build_terms(made).parts
    assert parts.rho == made.loss.rho
    assert (parts.epsilon, parts.delta) == (0, KEY_DELTA)
    assert parts.either >= KEY_DELTA


def test_a_cap_in_rho_alone_does_not_admit_it(tmp_path: Path) -> None:
    """It would say nothing of the chance that a key of one unit is shown."""
    (tmp_path / "t.csv").write_text("s\n" + "a\n" * 50)
    spec: dict[str, Any] = {
        "schema": 1,
        "release": {"name": "r"},
        "data": {"path": str(tmp_path / "t.csv"), "snapshot": "1"},
        "privacy": {"unit": "row", "adjacency": "add-remove", "rho": 0.5},
        "ledger": {"path": str(tmp_path / "ledger"), "dataset": "t"},
        "columns": {"s": {"type": "string"}},
        "query": [COUNT | {"by": ["s"], "partition_selection": {"delta": 1e-8}}],
        "output": {"path": str(tmp_path / "out")},
    }
    capped = spec | {"ledger": spec["ledger"] | {"rho_cap": 5.0}}
    with pytest.raises(Failure, match="rho"):
        dprelease.run(dprelease.load(capped))
    made = dprelease.run(dprelease.load(spec))
    assert made.report["deployment"]["dp_variant"] == "approximate zero-concentrated"
    assert "but for a probability of 1e-8" in json.dumps(made.report)
