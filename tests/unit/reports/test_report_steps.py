"""What reports and the ledger say of choices, quantiles, private keys and their neighbours."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from report_specs import BEST, DELTA, EVERY, PEOPLE, SELECTED

from dprelease.language import word
from dprelease.mechanisms.exponential import find_shortfall
from dprelease.mechanisms.mechanism_registry import MECHANISMS
from dprelease.model import NoiseFamily
from dprelease.model.plan_json import build_charge_json
from dprelease.reports.facts.query_facts import describe_queries
from dprelease.reports.model.json_form import to_json

LEVEL = Fraction(95, 100)


def collect_facts(planned: Any, query: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    plan = planned(query, **privacy)
    (read,) = plan.reads
    found: dict[str, Any] = to_json(describe_queries(plan)[plan.reads.index(read)])
    return found


def test_every_family_has_words():
    families = {mechanism.family for mechanism in MECHANISMS}
    assert families | {NoiseFamily.NONE} == set(NoiseFamily)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("statistic", EVERY)
@pytest.mark.parametrize("privacy", [{}, PEOPLE], ids=["rows", "people"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_every_statistic_is_published_with_a_whole_report(
    planned, published, statistic, privacy, adjacency
):
    query = {"statistic": statistic} | EVERY[statistic]
    plan = planned(query, **(privacy | {"adjacency": adjacency}))
    made = published(plan)
    assert json.loads(json.dumps(made.report, allow_nan=False)) == made.report
    (told,) = made.report["queries"]
    assert told["expected_error"]
    assert told["mechanism"] in {str(family) for family in NoiseFamily}
    assert json.loads(json.dumps(build_charge_json(plan)))["steps"][0]["query"] == "q"
    text = made.files["report.md"].decode()
    assert f"| q | {statistic}" in text
    assert "None" not in text


def test_every_statistic_is_in_the_list_above():
    from dprelease.statistics.statistic_registry import STATISTICS

    own = {name for name, each in STATISTICS.items() if not each.keys.tables_of}
    assert set(EVERY) == own


def test_a_choice_states_its_bound_with_its_numbers(planned):
    told = collect_facts(planned, BEST)
    assert (told["form"], told["mechanism"], told["candidates"]) == (
        "choice",
        "permute-and-flip",
        4,
    )
    assert told["sensitivity"] | {"derivation": ""} == {
        "l1": 402,
        "l2": None,
        "of": "score",
        "monotone": True,
        "derivation": "",
    }
    assert told["scale"] == 402
    short = find_shortfall(True, 4, 1, Fraction(1, 402), 1 - LEVEL)
    assert told["noise_halfwidth"] == short
    (said,) = told["explained"]
    for words in (f"{short:,} points", "bound is D s/epsilon", "1 - (1 - (1 - p)^R)/(R p) = 0.05",
                  "D = 402 ", "R = 4 ", "epsilon = 1:", "all move one way", "multiples of 1; ",
                  "above 402 it counts as 402, below 0 or null as 0."):  # fmt: skip
        assert words in said
    # s is what makes the two sides equal
    p = math.exp(-(short + 1) / 402)
    assert 1 - (1 - (1 - p) ** 4) / (4 * p) <= 0.05


def test_a_choice_whose_scores_move_both_ways_has_the_factor_2(planned):
    told = collect_facts(planned, BEST, adjacency="replace-one")
    assert told["scale"] == 804
    assert told["noise_halfwidth"] == find_shortfall(True, 4, 1, Fraction(1, 804), 1 - LEVEL)
    assert "bound is 2 D s/epsilon" in told["explained"][0]
    assert "D = 402 " in told["explained"][0]


def test_picks_one_after_the_other_share_the_epsilon(planned):
    query = {"statistic": "top_k", "column": "region", "k": 2, "mechanism": "exponential"}
    told = collect_facts(planned, query)
    assert "one pick after the other" in told["explained"][0]
    assert "(R - 1) p/(1 + (R - 1) p) = 1 - (1 - 0.05)^(1/2)" in told["explained"][0]
    assert "epsilon = 0.5 for each pick:" in told["explained"][0]
    assert "a record adds" not in told["explained"][0]
    assert told["picks"] == 2


def test_quantiles_are_right_within_ranks(planned):
    told = collect_facts(planned, {"statistic": "max", "column": "days"})
    assert (told["mechanism"], told["candidates"], told["quantiles"]) == (
        "exponential",
        181,
        ["0.99"],
    )
    assert told["sensitivity"]["of"] == "rows"
    said = told["explained"][0]
    assert "181 values of the grid" in said
    assert "quantile 0.99, for a true maximum is the value of one record" in said
    # one of a record: rate = epsilon/(2 * 99) for a hundredth of a rank
    assert told["scale"] == pytest.approx(2 * 99 / 100)


def test_a_ratio_states_both_of_its_parts(planned):
    query = {"statistic": "ratio", "numerator": {"column": "days"}, "denominator": "urgent"}
    told = collect_facts(planned, query)
    assert told["denominator"]["scale"] * 180 == pytest.approx(told["scale"])
    assert told["numerator"] == {"column": "days", "where": None}
    assert told["denominator_part"] == {"column": None, "where": "urgent"}


@pytest.mark.parametrize(("privacy", "many"), [({}, "rows"), (PEOPLE, "people")])
def test_private_keys_state_their_threshold(planned, published, privacy, many):
    statistic = "count" if many == "rows" else "count_units"
    plan = planned({"statistic": statistic} | SELECTED, delta=DELTA, **privacy)
    told = to_json(describe_queries(plan)[0])
    known = told["threshold"]
    half = told["noise_halfwidth"]
    assert told["cells"] is None
    assert known == {
        "at_least": plan.steps[0].threshold,
        "delta": 1e-8,
        "counts": many,
        "shown_from": known["at_least"] + half,
        "hidden_below": known["at_least"] - half,
    }
    said = told["explained"][0]
    assert f"at least {known['at_least']:,}" in said
    assert "probability of at most 1e-8." in said
    assert "look larger than they are" in said
    made = published(plan, known["at_least"] + 5, ("Ayr", "Bath"))
    text = made.files["report.md"].decode()
    assert "| Ayr |" in text
    assert "private keys" in text
    hazard = next(each for each in made.report["hazards"] if "non-empty" in each["hazard"])
    assert hazard["status"] == "attention"
    assert f"from {known['at_least']:,} on" in hazard["note"]
    assert made.report["notes"] == list(map(word, plan.notes))


def test_no_key_that_reached_the_threshold_is_remarked_on(planned, published):
    plan = planned({"statistic": "count"} | SELECTED, delta=DELTA)
    made = published(plan)
    (note,) = made.report["notes"]
    assert "No key of the table by_town reached the threshold of" in note
    assert "the table is empty" in made.files["report.md"].decode()
    assert made.files["by_town.csv"].decode().splitlines() == ["town,q,q_noise_moe,q_flag"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("statistic", ["quantile", "min", "median", "mode", "top_k", "best"])
@pytest.mark.parametrize("privacy", [{}, PEOPLE], ids=["rows", "people"])
@pytest.mark.parametrize("keys", [("Ayr", "Bath"), ()], ids=["two keys", "no keys"])
def test_quantiles_and_choices_by_private_keys_are_published_with_a_whole_report(
    planned, published, statistic, privacy, keys
):
    count = {"name": "n", "statistic": "count_units" if privacy else "count"} | SELECTED
    asked = {"statistic": statistic} | EVERY[statistic] | SELECTED
    plan = planned(count, asked, delta=DELTA, **privacy)
    told = to_json(describe_queries(plan)[1])
    assert (told["cells"], told["threshold"]) == (None, None)
    assert told["expected_error"]
    assert "its cells are the private keys" in told["explained"][0].lower()
    assert "by chance alone" in told["explained"][0]
    made = published(plan, 10**6, keys)
    rows = made.files["by_town.csv"].decode().splitlines()
    assert [row.split(",")[0] for row in rows] == ["town", *keys]
    assert len({row.count(",") for row in rows}) == 1
    text = made.files["report.md"].decode()
    assert told["explained"][1] in text
    assert ("reached the threshold, so that the table is empty" in text) == (not keys)


def test_tables_without_counts_can_be_published_and_blank_ones_are_seen(planned, published):
    only = published(planned({"statistic": "median", "column": "days", "by": ["region"]}))
    assert only.report["notes"] == []
    share = {"statistic": "proportion", "where": "urgent", "by": ["region"]}
    assert "within its noise of 0" in published(planned(share)).report["notes"][0]
    units = {"statistic": "count_units", "by": ["region"]}
    assert "within its noise of 0" in published(planned(units, **PEOPLE)).report["notes"][0]
    assert published(planned(units, **PEOPLE), 10_000).report["notes"] == []


def test_hazards_of_figures_are_named_where_they_occur(planned, published):
    def hazards(*queries: dict[str, Any]) -> set[str]:
        named = [query | {"name": f"q{at}"} for at, query in enumerate(queries)]
        return {each["hazard"] for each in published(planned(*named)).report["hazards"]}

    plain = hazards({"statistic": "count"})
    new = {
        "names chosen by noisy scores": {"statistic": "mode", "column": "region"},
        "spread close to 0": {"statistic": "stddev", "column": "days"},
        "different values counted": {"statistic": "count_distinct", "column": "town"},
        "quantiles": {"statistic": "median", "column": "days"},
    }
    for hazard, query in new.items():
        assert hazards(query) - plain == {hazard}
    coarse = hazards({"statistic": "median", "column": "stars"}) - plain
    assert coarse == {"quantiles", "quantiles of a coarse grid"}
    assert hazards(*new.values()) - plain == set(new)


def _describe_charge(plan):
    steps = build_charge_json(plan)["steps"]
    return steps[0]


def test_the_ledger_gets_exact_details(planned):
    count = _describe_charge(planned({"statistic": "count"}))
    assert set(count) == {"query", "mechanism", "parameter", "l1", "l2_squared", "coordinates",
                          "epsilon", "delta", "rho"}  # fmt: skip
    choice = _describe_charge(planned(BEST))
    assert choice | {"rho": ""} == {
        "query": "q",
        "mechanism": "permute-and-flip",
        "parameter": "1/402",
        "l1": 4 * 402,
        "l2_squared": str(4 * 402**2),
        "coordinates": 4,
        "epsilon": "1/1",
        "delta": "0/1",
        "rho": "",
        "form": "choice",
        "picks": 1,
        "choice_l1": 402,
        "monotone": True,
    }
    median = _describe_charge(planned({"statistic": "median", "column": "days"}))
    assert median["selections"] == [
        {"quantile": "1/2", "between": [0, 2], "target": "1/2", "rate": "1/2"}
    ]
    keys = _describe_charge(planned({"statistic": "count"} | SELECTED, delta=DELTA))
    assert keys["threshold"] > 1
