"""The privacy checklist: what the tool checked, what people state, what nobody looked at."""

from __future__ import annotations

from typing import Any

import pytest
from pages import render_html
from report_specs import DELTA, PEOPLE, SELECTED, spec

from dprelease.model import Plan
from dprelease.planning.planner import make_plan
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.model.json_form import from_json, to_json
from dprelease.reports.model.report_model import LedgerStanding, PlanFacts
from dprelease.reports.sections.guarantee_section import (
    build_guarantee_section,
    build_meaning_section,
)
from dprelease.reports.sections.hazards_section import build_hazards_section
from dprelease.specfile import load

COUNT = {"statistic": "count", "by": ["region"]}
MEAN = {"statistic": "mean", "column": "days"}
BEYOND = {
    "side channels", "security and access", "data collection and minimisation",
    "staff who see the data",
}  # fmt: skip
SPENT = {"epsilon": 0, "delta": 0}


def plan_spec(*queries: dict[str, Any], cap: float | None = 2, **sections: Any) -> Plan:
    raw = spec(*(queries or (COUNT,)), **sections.pop("privacy", {}))
    raw["ledger"] = {} if cap is None else {"epsilon_cap": cap}
    for name, section in sections.items():
        raw[name] = section | raw.get(name, {}) if isinstance(section, dict) else section
    return make_plan(load(raw))


def collect_facts(plan: Plan, so_far: dict[str, Any] | None = None, **cap: Any) -> PlanFacts:
    standing = None
    if so_far is not None:
        totals = {"before": SPENT, "after": so_far}
        caps = {"epsilon": 2, "delta": None} | cap
        standing = from_json(LedgerStanding, {**totals, "composed": totals, "cap": caps})
    return collect_plan_facts(plan, standing=standing)


def read_rows(facts: PlanFacts) -> dict[str, Any]:
    return {row.hazard: row for row in facts.hazards}


def list_tiles(facts: PlanFacts) -> dict[str, str]:
    parts = build_guarantee_section(facts).parts
    (told,) = [part for part in parts if hasattr(part, "tiles")]
    return {tile.label: str(tile.figure) for tile in told.tiles}


def test_what_nobody_attested_is_not_checked_and_counted():
    facts = collect_facts(plan_spec())
    assert {name for name, row in read_rows(facts).items() if row.status == "not checked"} == BEYOND
    said = build_hazards_section(facts)
    assert said.title == "Privacy checklist (NIST SP 800-226)"
    assert "Not checked by anybody: 4." in said.parts[0].text


def test_records_over_several_lines_rest_on_what_nobody_checks():
    data = spec(COUNT)["data"]
    facts = collect_facts(plan_spec(data=data | {"multiline": True, "max_lines_per_record": 1234}))
    row = read_rows(facts)["records over several lines"]
    assert row.status == "not checked"
    assert "more than 1,234 lines" in row.note
    assert any(line.startswith("A CSV record has up to 1,234 lines") for line in facts.processing)
    assert facts.data.max_lines_per_record == 1234
    assert collect_facts(plan_spec()).data.max_lines_per_record is None


def test_a_text_of_the_reviewer_states_it_and_says_who():
    review = {"reviewer": "A. Person", "attestations": {"side_channels": "a locked room"}}
    facts = collect_facts(plan_spec(review=review))
    row = read_rows(facts)["side channels"]
    assert (row.status, row.note) == ("stated", "A. Person states: a locked room")
    assert "Not checked by anybody: 3." in build_hazards_section(facts).parts[0].text


@pytest.mark.parametrize(
    ("query", "privacy"),
    [
        (COUNT, {}),
        (MEAN, PEOPLE),
        (COUNT | SELECTED, {"delta": 1e-6}),
        ({"statistic": "max", "column": "days"}, {}),
    ],
)
def test_a_status_is_one_of_five_words(published, query, privacy):
    report = published(plan_spec(query, privacy=privacy)).report
    words = {row["status"] for row in report["hazards"]}
    assert words <= {"checked", "see", "stated", "not checked", "attention"}
    page = render_html(report, {})
    assert 'class="status not-checked">not checked<' in page
    assert "attested" not in page


def test_reports_of_older_versions_attest_nothing_either():
    old = to_json(collect_facts(plan_spec()))
    for row in old["hazards"]:
        row["status"] = {"not checked": "attested", "checked": "pass"}.get(row["status"], "pass")
    facts = from_json(PlanFacts, old)
    assert "Not checked by anybody: 4." in build_hazards_section(facts).parts[0].text


@pytest.mark.parametrize(
    ("so_far", "cap", "status"),
    [(1, 2, "see"), (1, 2.99, "see"), (1, 3, "attention"), (3, None, "attention")],
)
def test_the_size_of_epsilon_is_that_of_all_releases_and_of_the_cap(so_far, cap, status):
    plan = plan_spec(cap=cap)
    row = read_rows(collect_facts(plan, {"epsilon": so_far, "delta": 0}, epsilon=cap))[
        "size of epsilon"
    ]
    assert row.status == status
    said = "All releases with this one, if nothing else is charged before"
    assert f"{said}: {so_far}." in row.note
    assert ("If the cap is used up" in row.note) == (cap is not None)


def test_a_plan_knows_the_cap_without_a_ledger():
    assert read_rows(collect_facts(plan_spec(cap=5)))["size of epsilon"].status == "attention"
    assert read_rows(collect_facts(plan_spec(cap=2)))["size of epsilon"].status == "see"


def test_beliefs_are_told_of_all_releases_and_of_a_used_up_cap():
    facts = collect_facts(plan_spec(cap=10), {"epsilon": 4, "delta": 0}, epsilon=10)
    so_far, cap = facts.meaning.totals
    assert [(each.of, each.epsilon, each.delta) for each in facts.meaning.totals] == [
        ("planned", 4, 0),
        ("cap", 10, None),
    ]
    assert [table.epsilon for table in so_far.beliefs] == [4, 8]
    assert [table.rows[2].posterior_high for table in cap.beliefs] == [0.999955, 0.9999999980]
    label = "epsilon of all releases with this one, if nothing else is charged before"
    assert list_tiles(facts)[label] == "4 of 10"
    parts = build_meaning_section(facts).parts
    (table,) = [part for part in parts if getattr(part, "name", "") == "totals"]
    assert table.rows[0] == ("This release", "1", "0", "73.11%", "88.08%")
    assert table.rows[1][1:] == ("4", "0", "98.21%", "99.967%")
    assert table.rows[2][:3] == ("If the cap is used up", "10", "no cap")


@pytest.mark.parametrize(
    ("delta", "status"),
    [(0, "checked"), (1e-9, "see"), (2e-9, "attention"), (1e-5, "attention")],
)
def test_the_size_of_delta(delta, status):
    gauss = COUNT | {"mechanism": "gaussian", "delta": delta} if delta else COUNT
    row = read_rows(collect_facts(plan_spec(gauss)))["size of delta"]
    assert row.status == status
    if delta == 1e-5:
        assert "may publish 1 row in 100,000." in row.note
        people = read_rows(collect_facts(plan_spec(gauss, privacy=PEOPLE)))["size of delta"]
        assert "the rows of 1 person in 100,000." in people.note


@pytest.mark.parametrize(
    ("population", "status", "published"),
    [(999, "stated", "0.00999"), (1000, "stated", "0.01"), (1001, "attention", "0.01001")],
)
def test_delta_is_judged_by_the_population_that_the_spec_states(population, status, published):
    gauss = COUNT | {"mechanism": "gaussian", "delta": 1e-5}
    row = read_rows(collect_facts(plan_spec(gauss, privacy={"population": population})))[
        "size of delta"
    ]
    assert row.status == status
    assert f"Delta times that number is {published}:" in row.note
    assert f"there are {population:,} units in all, which the tool can't know" in row.note


def test_a_large_population_makes_a_small_delta_worth_a_look():
    small = COUNT | {"mechanism": "gaussian", "delta": 1e-9}
    row = read_rows(collect_facts(plan_spec(small, privacy={"population": 80_000_000})))[
        "size of delta"
    ]
    assert row.status == "attention"
    assert (
        read_rows(collect_facts(plan_spec(privacy={"population": 9})))["size of delta"].note
        == "Delta is 0."
    )
    later = collect_facts(plan_spec(privacy={"population": 100}), {"epsilon": 1, "delta": 1e-3})
    assert read_rows(later)["size of delta"].status == "attention"


def test_a_small_delta_after_large_ones_is_not_small():
    row = read_rows(collect_facts(plan_spec(), {"epsilon": 1, "delta": 1e-6}))["size of delta"]
    assert row.status == "attention"


def test_a_source_is_stated_for_the_tool_cannot_know():
    hazard = "bounds and categories taken from the data"
    assert read_rows(collect_facts(plan_spec()))[hazard].status == "stated"
    silent = {"stars": {"type": "integer", "lower": 1, "upper": 5}}
    raw = spec(COUNT)
    raw["columns"] |= silent
    row = read_rows(collect_facts(make_plan(load(raw))))[hazard]
    assert (row.status, "no public source for: stars" in row.note) == ("attention", True)
    raw["columns"] = {}
    del raw["query"][0]["by"]
    assert read_rows(collect_facts(make_plan(load(raw))))[hazard].status == "checked"


def test_the_most_that_odds_change_is_for_what_is_feared_most():
    """Under add-remove another row is two steps away: e^2 for what a row says, not e."""
    odds = list_tiles(collect_facts(plan_spec()))[
        "most that odds change: what the row says, if it is in the table"
    ]
    assert odds == "\u00d7 7.39"
    replaced = list_tiles(collect_facts(plan_spec(privacy={"adjacency": "replace-one"})))
    assert replaced["most that odds change: what the row says"] == "\u00d7 2.72"


def test_groups_have_beliefs_and_lose_protection():
    facts = collect_facts(plan_spec(privacy={"unit_description": "one visit"}))
    section = build_meaning_section(facts)
    (table,) = [part for part in section.parts if getattr(part, "name", "") == "groups"]
    assert [row[3:] for row in table.rows] == [
        ("73.11%", "88.08%", ""),
        ("88.08%", "98.21%", ""),
        ("99.34%", "99.9955%", "no protection"),
        ("99.9955%", "99.9999998%", "no protection"),
    ]
    gauss = COUNT | {"mechanism": "gaussian", "delta": 1e-5}
    delta = collect_facts(plan_spec(gauss)).meaning.groups
    assert [row.protected for row in delta] == [True, True, False, False]
    assert [row.beliefs[1] is None for row in delta] == [False, False, True, True]
    assert delta[-1].delta > 0.01 > delta[-2].delta


def test_beliefs_are_about_the_unit():
    rows_only = build_meaning_section(
        collect_facts(plan_spec(privacy={"unit_description": "one visit"}))
    )
    assert rows_only.title == "What that means for one row"
    assert rows_only.parts[0].text.startswith(
        "A row is one visit. Somebody believes something of a row"
    )
    assert "A person with several rows is protected less" in str(rows_only.parts)
    people = build_meaning_section(collect_facts(plan_spec(privacy=PEOPLE)))
    assert people.title == "What that means for one person"
    assert "several rows" not in str(people.parts)


def test_half_widths_that_are_computed_from_noisy_figures_were_not_fixed():
    def fixed(*queries: dict[str, Any]) -> str:
        facts = collect_facts(plan_spec(*queries, cap=9))
        return next(part.text for part in build_guarantee_section(facts).parts[2:])

    assert "The half-widths of q are fixed too." in fixed(COUNT)
    both = fixed(COUNT, MEAN | {"name": "m"})
    assert "The half-widths of m are computed from noisy figures." in both
    assert "The half-widths of q are fixed too." in both
    ratio = {
        "statistic": "ratio",
        "numerator": {"column": "days"},
        "denominator": {"column": "stars"},
    }
    for query in (MEAN, {"statistic": "variance", "column": "stars"}, ratio):
        assert "noise is fixed before any data is read" in fixed(query)
        assert "half-widths of q are computed" in fixed(query)
    assert "groups are fixed" not in fixed(MEAN)


def test_processing_is_only_what_this_release_does():
    count = " ".join(collect_facts(plan_spec({"statistic": "count"})).processing)
    for word in ("bound", "Means", "Nulls", "step"):
        assert word not in count
    assert "Means" not in " ".join(
        collect_facts(plan_spec({"statistic": "sum", "column": "days"})).processing
    )
    mean = " ".join(collect_facts(plan_spec(MEAN)).processing)
    assert "Values of days outside the bounds count as the nearest bound" in mean
    assert "Means are read from two noisy sums" in mean


def test_bias_names_what_moves_figures_one_way():
    bias = read_rows(collect_facts(plan_spec({"statistic": "count"})))["bias"]
    assert bias.status == "checked"
    said = read_rows(collect_facts(plan_spec(MEAN | {"by": ["region"]}, privacy=PEOPLE)))["bias"]
    assert said.status == "attention"
    for words in ("nearest bound: days", "tables by region", "many rows count in part"):
        assert words in said.note


@pytest.mark.parametrize(("value", "status", "weak"), [(1000, "see", 0), (1, "attention", 2)])
def test_utility_is_told_of_the_published_figures(published, value, status, weak):
    report = published(plan_spec(), value).report
    (row,) = [row for row in report["hazards"] if row["hazard"] == "utility"]
    assert row["status"] == status
    assert f"judged by their noise: 2. Of these {weak} are low_reliability" in row["note"]
    assert "utility" not in read_rows(collect_facts(plan_spec()))


def test_figures_that_nothing_judges_are_not_counted_as_good(published):
    """A median without a count beside it has no flag of reliability, only ``bounded``."""
    median = {"name": "m", "statistic": "median", "column": "days", "by": ["region"]}
    count = {"name": "n", "statistic": "count"}
    made_of = published(plan_spec(median, count, privacy=PEOPLE), 1)
    (row,) = [row for row in made_of.report["hazards"] if row["hazard"] == "utility"]
    assert "judged by their noise: 1. Of these 1 are low_reliability" in row["note"]


def test_a_cap_of_this_spec_stops_no_other_one():
    with_cap = read_rows(collect_facts(plan_spec(cap=2)))["repeated releases"]
    assert (
        with_cap.status,
        "A spec without a cap is stopped by one of the ledger only" in with_cap.note,
    ) == (
        "see",
        True,
    )
    assert "What was released without this ledger is not known to it." in with_cap.note


@pytest.mark.parametrize(("unit", "words"), [({}, "of one row"), (PEOPLE, "of one person's rows")])
def test_what_private_keys_reveal_is_of_the_unit(unit, words):
    statistic = "count_units" if unit else "count"
    raw = spec({"name": "q", "statistic": statistic} | SELECTED, **unit, delta=DELTA)
    row = read_rows(collect_facts(make_plan(load(raw))))["groups that appear only when non-empty"]
    assert f"Whether a key is shown reveals {words} at most" in row.note


def test_what_bounding_does_is_not_only_too_low():
    """A sum of negative values is too high without its rows, a mean can be either."""
    note = read_rows(collect_facts(plan_spec(MEAN, privacy=PEOPLE)))[
        "rows left out by bounding"
    ].note
    assert "counts are too low, and the rest can err either way" in note


def test_it_says_who_gets_the_worse_figures(published):
    text = published(plan_spec({"statistic": "count", "by": ["region"]}), 1).files["report.md"]
    caption = "Figures that are low_reliability or suppressed: 2 of 2 groups, the worst first"
    told = text.decode().partition(caption)[2].partition("datapackage.json")[0]
    assert "| region | north | 1 of 1 | 100% |" in told
    page = published(plan_spec({"statistic": "count", "by": ["region"]}), 1).files["report.html"]
    summary = "Who gets the worse figures: north (region): 1 of 1; south (region): 1 of 1"
    assert f"<summary>{summary}</summary>" in page.decode()
    good = published(plan_spec({"statistic": "count", "by": ["region"]}), 10**6).files["report.md"]
    assert "the worst first" not in good.decode()


def test_cells_and_draws_are_told_as_they_are_where_figures_are_hidden():
    """A hidden figure isn't published, and new noise is drawn again, for another charge."""
    told = read_rows(
        collect_facts(plan_spec({"statistic": "count", "by": ["region"], "hide_below": 20}))
    )
    cells = told["groups that appear only when non-empty"].note
    assert (("is published" in cells), ("has a row" in cells)) == (False, True)
    assert "new noise is charged anew" in told["noise truncated or drawn again"].note


def test_a_figure_that_limits_can_cut_is_not_drawn_as_a_bad_one(published):
    """All figures of people are ``bounded``: hollow marks are for those that noise drowns."""
    count = {"statistic": "count", "by": ["region"]}
    good = published(plan_spec(count, privacy=PEOPLE), 10**6).files["report.html"]
    assert "Hollow marks" not in good.decode()
    assert (
        "Hollow marks"
        in published(plan_spec(count, privacy=PEOPLE), 1).files["report.html"].decode()
    )
