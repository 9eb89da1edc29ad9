"""Plans of record-level tables: what they cost, and that no plan is certified that costs more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import builders
import pytest
from builders import is_refused
from msgspec.structs import replace

from dprelease import ExitCode, Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.record_tables.record_rules import find_table_loss_breaches
from dprelease.model import (
    Loss,
    Mechanism,
    Plan,
    SubsetLaw,
)
from dprelease.planning.planner import make_plan

COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b", "c", "d", "e", "f"], "source": "p"},
    "x": {"type": "integer", "lower": 0, "upper": 1000, "source": "p"},
    "y": {"type": "decimal", "lower": -1, "upper": 1, "step": 0.01, "source": "p"},
    "u": {"type": "boolean", "source": "p"},
}


def build_spec(perturb: list[dict[str, Any]], **privacy: Any) -> dict[str, Any]:
    return builders.spec(
        privacy={"adjacency": "replace-one"} | privacy,
        columns=COLUMNS,
        perturb=perturb,
    )


def plan_tables(perturb: list[dict[str, Any]], **privacy: Any) -> Plan:
    return make_plan(load(build_spec(perturb, **privacy)))


def usual() -> Plan:
    laplace = {"name": "s", "columns": ["x"], "epsilon": 1, "delta": 0.01, "mechanism": "laplace"}
    mixed = {"name": "r", "columns": ["g", "x", "y", "u"], "epsilon": 4}
    return plan_tables([mixed, laplace])


def with_table(plan: Plan, at: int, **changes: Any) -> Plan:
    records = list(plan.records)
    records[at] = replace(records[at], **changes)
    return replace(plan, records=tuple(records))


def with_response(plan: Plan, table: int, column: int, **changes: Any) -> Plan:
    responses = list(plan.records[table].responses)
    responses[column] = replace(responses[column], **changes)
    return with_table(plan, table, responses=tuple(responses))


def sharpen(law: Any) -> Any:
    """The window's levels a hundredth likelier."""
    return replace(law, first=replace(law.first, ratio=law.first.ratio * Fraction(101, 100)))


@pytest.mark.parametrize(
    ("table", "column", "change"),
    [
        (0, 0, lambda law: replace(law, keep=law.keep + Fraction(1, 2**40))),
        (0, 3, lambda law: replace(law, keep=law.keep + Fraction(1, 2**40))),
        (0, 0, lambda law: replace(law, labels=law.labels - 1)),
        (0, 1, sharpen),
        (0, 2, sharpen),
        (1, 0, lambda law: replace(law, scale=law.scale * Fraction(999_999, 1_000_000))),
    ],
)
def test_a_law_that_loses_more_than_is_claimed_is_refused(
    table: int, column: int, change: Callable[[Any], Any]
) -> None:
    law = usual().records[table].responses[column].law
    assert is_refused(with_response(usual(), table, column, law=change(law)))


def test_what_is_planned_is_certified() -> None:
    plan = usual()
    assert certify(plan).plan is plan
    assert plan.loss == Loss(Fraction(5), Fraction(1, 100))
    assert plan.method == "basic"
    assert plan.basic == plan.loss


def test_columns_share_by_weight_and_rows_of_a_unit_share_evenly() -> None:
    weights = {"g": 3, "x": 1}
    perturb = {"name": "t", "columns": ["g", "x"], "epsilon": 8, "delta": 0.08, "weights": weights}
    bounding = {"max_rows_per_unit": 4, "max_groups_per_unit": 4}
    plan = plan_tables([perturb], unit="column", unit_column="who", bounding=bounding)
    (step,) = plan.records
    assert step.rows == 4
    losses = [(each.loss.epsilon, each.loss.delta) for each in step.responses]
    assert losses == [
        (Fraction(3, 2), Fraction(15, 1000)),
        (Fraction(1, 2), Fraction(5, 1000)),
    ]
    assert (plan.loss.epsilon, plan.loss.delta) == (8, Fraction(8, 100))
    certify(plan)
    assert is_refused(with_table(plan, 0, rows=3))
    # by the table's own rule, whatever the total says
    privacy = plan.release.privacy
    assert not any(find_table_loss_breaches(step, privacy))
    for less in ({"epsilon": Fraction(7)}, {"delta": Fraction(7, 100)}):
        loss = replace(step.loss, **less)
        assert is_refused(with_table(plan, 0, loss=loss))
        assert any(find_table_loss_breaches(replace(step, loss=loss), privacy))


def test_alone_it_takes_the_total() -> None:
    plan = plan_tables([{"name": "t", "columns": ["g"]}], epsilon=3, delta=0.001)
    assert (plan.loss.epsilon, plan.loss.delta) == (3, Fraction(1, 1000))
    certify(plan)


@pytest.mark.parametrize(
    ("truth", "epsilon"), [(0.75, 1.098612), (0.25, 1.098612), (0.9, 2.197224)]
)
def test_by_the_chance_of_a_true_answer(truth: float, epsilon: float) -> None:
    plan = plan_tables([{"name": "t", "columns": ["u"], "truth": truth}])
    assert float(plan.loss.epsilon) == pytest.approx(epsilon, abs=1e-6)
    law = plan.records[0].responses[0].law
    assert isinstance(law, SubsetLaw)
    assert float(law.keep) == pytest.approx(truth)
    certify(plan)


@pytest.mark.parametrize(("column", "epsilon"), [("u", 1), ("g", 8)])
def test_sets_of_one_label_are_what_subset_selection_may_come_to(column: str, epsilon: int) -> None:
    asked = {"columns": [column], "epsilon": epsilon, "mechanism": "subset-selection"}
    plan = plan_tables([{"name": "t", **asked}])
    (response,) = plan.records[0].responses
    assert (response.mechanism, response.law.size) == (Mechanism.RANDOMIZED_RESPONSE, 1)
    certify(plan)


WIDE = {"type": "integer", "lower": 0, "upper": 10**15, "source": "p"}
FINE = {"type": "decimal", "lower": -1, "upper": 1, "step": 1e-12, "source": "p"}


@pytest.mark.parametrize(("column", "epsilon"), [(WIDE, 0.01), (FINE, 1e-5)])
def test_what_could_not_be_drawn_is_refused_before_it_is_paid(
    column: dict[str, Any], epsilon: float
) -> None:
    """A scale beyond 2^55 steps, which no draw of 64 bits has room for."""
    spec = build_spec([{"name": "t", "columns": ["w"], "epsilon": epsilon, "mechanism": "laplace"}])
    spec["columns"] = {"w": column}
    check_not_planned(spec, "E319")
    spec["perturb"][0]["epsilon"] = 1000
    certify(make_plan(load(spec)))


def check_not_planned(spec: dict[str, Any], code: str) -> None:
    with pytest.raises(Failure) as failure:
        make_plan(load(spec))
    assert failure.value.complaints[0].code == code
    assert failure.value.exit_code == ExitCode.SPEC


@pytest.mark.parametrize(
    ("asked", "total", "code"),
    [
        ({"epsilon": 3}, {"epsilon": 5}, "E311"),
        ({"epsilon": 1, "delta": 0.5}, {}, "E314"),  # a delta of 1 promises nothing
        ({"epsilon": 2}, {"rho": 0.5}, "E311"),
    ],
)
def test_the_total_is_kept(asked: dict[str, Any], total: dict[str, Any], code: str) -> None:
    perturb = [{"name": name, "columns": ["g"]} | asked for name in "ts"]
    check_not_planned(build_spec(perturb, **total), code)


def test_queries_have_what_records_leave() -> None:
    spec = build_spec([{"name": "t", "columns": ["g"], "epsilon": 3, "delta": 1e-7}], epsilon=5)
    spec["privacy"]["delta"] = 1e-6
    spec["query"] = [{"name": f"n{each}", "statistic": "count", "by": ["g"]} for each in range(3)]
    plan = make_plan(load(spec))
    certify(plan)
    assert Fraction(499, 100) < plan.loss.epsilon <= 5
    assert plan.loss.delta <= Fraction(1, 10**6)
    for less in ({"epsilon": plan.loss.epsilon - Fraction(1, 2)}, {"delta": Fraction(1, 10**8)}):
        assert is_refused(replace(plan, loss=replace(plan.loss, **less)))
    spec["perturb"][0]["epsilon"] = 5  # nothing is left
    check_not_planned(spec, "E315")


def test_totals_in_rho() -> None:
    plan = plan_tables([{"name": "t", "columns": ["u"], "epsilon": 1}], rho=0.5)
    assert plan.loss.rho is not None
    assert plan.loss.rho <= Fraction(1, 2)
    certify(plan)
    less = plan.loss.rho * Fraction(99, 100)
    assert is_refused(replace(plan, loss=replace(plan.loss, rho=less)))
    declared = replace(plan.release.privacy, rho=less)
    assert is_refused(replace(plan, release=replace(plan.release, privacy=declared)))


# --- tampered plans ------------------------------------------------------------------------------


def test_a_law_under_the_name_of_another_is_refused() -> None:
    """By whichever mechanism is said, also where the spec leaves the choice."""
    plan = usual()
    for column, name in [
        (0, Mechanism.RANDOMIZED_RESPONSE),
        (1, Mechanism.LAPLACE),
        (3, Mechanism.SUBSET_SELECTION),
    ]:
        used = plan.records[0].responses[column].mechanism
        assert used is not name
        assert is_refused(with_response(plan, 0, column, mechanism=name))
    spec = [{"name": "t", "columns": ["x"], "epsilon": 1, "mechanism": "piecewise"}]
    piecewise, laplace = plan_tables(spec), plan_tables([{**spec[0], "mechanism": "laplace"}])
    law = laplace.records[0].responses[0].law
    assert is_refused(with_response(piecewise, 0, 0, law=law))


def test_another_chance_of_true_answers_than_the_spec_has_is_refused() -> None:
    """Dearer than what is asked for, though it is charged as what it costs."""
    asked = plan_tables([{"name": "t", "columns": ["u"], "truth": 0.75}])
    dearer = plan_tables([{"name": "t", "columns": ["u"], "truth": 0.9}]).records[0]
    step = replace(dearer, perturb=asked.records[0].perturb)
    assert is_refused(replace(asked, records=(step,), loss=step.loss, basic=step.loss))
    certify(asked)
