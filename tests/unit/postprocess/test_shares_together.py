"""Which shares are of the same records, by the plan alone."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease.model import Plan
from dprelease.planning.planner import make_plan
from dprelease.postprocess.finishing.shares_together import MOST_LAWS, find_joint_shares
from dprelease.specfile import load

sys.path.insert(0, str(Path(__file__).parents[1] / "reports"))

from report_specs import DELTA, PEOPLE, spec

Share = dict[str, Any]


def share(name: str, where: str = "days > 3", **more: Any) -> Share:
    return {"name": name, "statistic": "proportion", "where": where, "by": ["region"]} | more


def plan_tables(*shares: Share, **privacy: Any) -> Plan:
    return make_plan(load(spec(*shares, **privacy)))


def together(plan: Plan) -> set[tuple[str, ...]]:
    return {found.queries for found in find_joint_shares(plan).values()}


@pytest.mark.parametrize("privacy", [{}, PEOPLE, {"adjacency": "replace-one"}, {"delta": DELTA}])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("days > 3", "NOT days BETWEEN 1 AND 5"),
        ("days > 3 AND days < 9", "days IN (1, 2)"),
        ("region = 'north'", "LOWER(region) LIKE 'n%'"),
        ("days IS NULL", "COALESCE(days > 3, FALSE)"),
        ("days > stars", "stars = days"),
    ],
)
def test_shares_of_the_same_records_have_one_count(
    one: str, other: str, privacy: dict[str, Any]
) -> None:
    plan = plan_tables(share("a", one), share("b", other), **privacy)
    assert together(plan) == {("a", "b")}
    fit = find_joint_shares(plan)["a"].fit
    assert fit.weight("a") + fit.weight("b") == 1


@pytest.mark.parametrize(
    "other",
    [
        share("b", "stars > 3"),
        share("b", "days > stars"),
        share("b", "days > 3 AND stars > 3"),
        share("b", "days + 1 > 3"),
        share("b", "days > 9", by=[]),
        {"name": "b", "statistic": "mean", "column": "days", "by": ["region"]},
        share("a_again"),  # released once, so that there is one count anyway
    ],
)
def test_of_other_records_nothing_is_said(other: Share) -> None:
    assert together(plan_tables(share("a"), other)) == set()


def test_private_keys_are_those_of_one_table() -> None:
    selection = {"delta": DELTA, "epsilon": 1}
    shares = [
        share(name, f"days > {at}", by=["town"], table=table, partition_selection=selection)
        for at, (name, table) in enumerate(zip("abc", ("one", "one", "two"), strict=True))
    ]
    assert together(plan_tables(*shares, delta=Decimal("1e-6"))) == {("a", "b")}


def test_weighted_records_are_not_those_that_count_once() -> None:
    weighted = spec(
        share("a"),
        share("b", "days > 9"),
        share("c", weight_by_survey=False),
        share("d", "days > 9", weight_by_survey=False),
    )
    weighted["data"]["weight"] = "stars"
    assert together(make_plan(load(weighted))) == {("a", "b"), ("c", "d")}


def test_less_noise_weighs_more() -> None:
    plan = plan_tables(share("a", epsilon=2), share("b", "days > 9", epsilon=1))
    fit = find_joint_shares(plan)["a"].fit
    assert (fit.weight("a"), fit.weight("b")) == (fit.weight("b") * 4, 1 - fit.weight("a"))


def test_shares_of_all_records_are_as_they_were() -> None:
    """As versions up to 0.2 released them."""
    release = load(spec(share("a"), share("b", "days > 9")))
    earlier = [replace(query, among=None) for query in release.queries]
    assert together(make_plan(replace(release, queries=tuple(earlier)))) == set()


def test_the_order_in_the_spec_changes_no_count() -> None:
    shares = [share("a", epsilon=2), share("b", "days > 9"), share("c", "days > 5")]
    fits = [find_joint_shares(plan_tables(*order))["a"].fit for order in (shares, shares[::-1])]
    assert fits[0] == fits[1]


def test_shares_with_very_many_laws_of_noise_stay_apart() -> None:
    shares = [
        share(f"s{at}", f"days > {at}", epsilon=Decimal(100 + at) / 100)
        for at in range(MOST_LAWS + 1)
    ]
    assert together(plan_tables(*shares)) == set()
    assert len(together(plan_tables(*shares[1:]))) == 1
