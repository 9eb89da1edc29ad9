"""The privacy checklist of a plan, whose ledger has a standing, and of older reports."""

from __future__ import annotations

from typing import Any

import pytest
from report_specs import PEOPLE, spec

from dprelease.planning.planner import make_plan
from dprelease.reports.facts.privacy_facts import summarize_privacy
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.model.json_form import from_json, to_json
from dprelease.reports.model.report_model import LedgerStanding, PlanFacts
from dprelease.reports.sections.document import Tiles
from dprelease.reports.sections.guarantee_section import (
    build_guarantee_section,
    build_meaning_section,
)
from dprelease.reports.sections.hazards_section import build_hazards_section
from dprelease.specfile import load

COUNT = {"statistic": "count", "by": ["region"]}
SPENT = {"epsilon": 0, "delta": 0}


def collect_facts(
    epsilon: float | None = None, delta: float = 0, cap: float | None = 2, **privacy: Any
) -> PlanFacts:
    """The facts of a plan whose dataset comes to a total with it; of None it is not known."""
    raw = spec(COUNT, **privacy)
    raw["ledger"] = {} if cap is None else {"epsilon_cap": cap}
    standing = None
    if epsilon is not None:
        totals = {"before": SPENT, "after": {"epsilon": epsilon, "delta": delta}}
        caps = {"epsilon": cap, "delta": None}
        standing = from_json(LedgerStanding, {**totals, "composed": totals, "cap": caps})
    return collect_plan_facts(make_plan(load(raw)), standing=standing)


def find_row(facts: PlanFacts, hazard: str) -> Any:
    (row,) = [row for row in facts.hazards if row.hazard == hazard]
    return row


def test_reports_of_older_versions_attest_nothing_either():
    old = to_json(collect_facts())
    for row in old["hazards"]:
        row["status"] = {"not checked": "attested", "checked": "pass"}.get(row["status"], "pass")
    facts = from_json(PlanFacts, old)
    assert "Not checked by anybody: 4." in build_hazards_section(facts).parts[0].text


@pytest.mark.parametrize(
    ("so_far", "cap", "status"),
    [(1, 2, "see"), (1, 2.99, "see"), (1, 3, "attention"), (3, None, "attention")],
)
def test_the_size_of_epsilon_is_that_of_all_releases_and_of_the_cap(so_far, cap, status):
    row = find_row(collect_facts(so_far, cap=cap), "size of epsilon")
    assert row.status == status
    said = "All releases with this one, if nothing else is charged before"
    assert f"{said}: {so_far}." in row.note
    assert ("If the cap is used up" in row.note) == (cap is not None)


def test_a_plan_knows_the_cap_without_a_ledger_and_no_figures():
    assert find_row(collect_facts(cap=5), "size of epsilon").status == "attention"
    facts = collect_facts(cap=2)
    assert find_row(facts, "size of epsilon").status == "see"
    assert "utility" not in {row.hazard for row in facts.hazards}


@pytest.mark.parametrize(("delta", "privacy"), [(1e-6, {}), (1e-3, {"population": 100})])
def test_a_small_delta_after_large_ones_is_not_small(delta, privacy):
    assert find_row(collect_facts(1, delta, **privacy), "size of delta").status == "attention"


def test_beliefs_are_told_of_all_releases_and_of_a_used_up_cap():
    facts = collect_facts(4, cap=10)
    so_far, cap = facts.meaning.totals
    assert [(each.of, each.epsilon, each.delta) for each in facts.meaning.totals] == [
        ("planned", 4, 0),
        ("cap", 10, None),
    ]
    assert [table.epsilon for table in so_far.beliefs] == [4, 8]
    assert [table.rows[2].posterior_high for table in cap.beliefs] == [0.999955, 0.9999999980]
    (tiles,) = [part for part in build_guarantee_section(facts).parts if isinstance(part, Tiles)]
    label = "epsilon of all releases with this one, if nothing else is charged before"
    assert [tile.figure for tile in tiles.tiles if tile.label == label] == ["4 of 10"]
    parts = build_meaning_section(facts).parts
    (table,) = [part for part in parts if getattr(part, "name", "") == "totals"]
    assert table.rows[0] == ("This release", "1", "0", "73.11%", "88.08%")
    assert table.rows[1][1:] == ("4", "0", "98.21%", "99.967%")
    # What a cap of epsilon alone would bound, a delta without a cap undoes; so the label says.
    assert table.rows[2] == ("If the cap is used up", "10", "no cap", "no bound", "no bound")
    assert summarize_privacy(facts, None).learnt_at_most.cap_used_up is None


def test_a_figure_that_limits_can_cut_is_not_drawn_as_a_bad_one(planned, published):
    """All figures of people are ``bounded``: hollow marks are for those that noise drowns."""
    good, bad = (
        published(planned(COUNT, **PEOPLE), value).files["report.html"].decode()
        for value in (10**6, 1)
    )
    assert "Hollow marks" not in good
    assert "Hollow marks" in bad
    worse = "Who gets the worse figures: north (region): 1 of 1; south (region): 1 of 1"
    assert f"<summary>{worse}</summary>" in bad
