"""What reports say of the unit: a row, or a person with a bounded number of rows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from report_specs import PEOPLE, SELECTED

from dprelease.ledger.guarantee import describe_guarantee
from dprelease.model import Plan
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.plan_facts import describe
from dprelease.reports.sections.document import Bullets, Details, Paragraph
from dprelease.reports.sections.guarantee_section import build_guarantee_section

COUNT = {"statistic": "count", "by": ["region"]}


def test_one_word_for_the_unit_in_a_report(planned, published):
    """What derivations, thresholds and remarks say comes and goes is what the guarantee names."""
    queries = [COUNT | {"name": "n"}, {"name": "u", "statistic": "count_units"}]
    queries.append({"name": "most", "statistic": "max", "column": "days"})
    for privacy in ({}, {"adjacency": "replace-one"}):
        people = published(planned(*queries, **(PEOPLE | privacy))).files["report.md"].decode()
        lines = [line for line in people.splitlines() if line.startswith("- because: ")]
        derived = "\n".join(lines)
        assert len(lines) == len(queries)
        assert "person has at most" in derived or "replaced person takes" in derived
        assert "unit" not in derived.replace("count_units", "")
        assert "record" not in derived
        assert "1 cell," not in people
        assert "Do not add up numbers of people" in people
        rows = published(planned(*queries, **privacy)).files["report.md"].decode()
        assert "Do not add up numbers of rows" in rows


def read_own_rows(plan: Plan) -> tuple[str, tuple[str, ...], bool]:
    """Read what a person with some rows is told: the lead, the bounds, and if there is a slack."""
    parts = build_guarantee_section(collect_plan_facts(plan)).parts
    (folded,) = [part for part in parts if isinstance(part, Details)]
    lead, bounds, *slack = folded.parts
    assert isinstance(lead, Paragraph)
    assert isinstance(bounds, Bullets)
    return lead.text, bounds.lines, bool(slack)


@pytest.mark.parametrize(("adjacency", "changes"), [("replace-one", 1), ("add-remove", 2)])
def test_a_person_reads_what_is_learnt_by_how_many_rows_are_theirs(planned, adjacency, changes):
    """Of k rows k times the loss; under add-remove twice, for others come in their place."""
    plan = planned(COUNT, adjacency=adjacency)
    lead, bounds, slack = read_own_rows(plan)
    assert lead.startswith("All your rows count together.")
    assert not slack
    assert [line.partition(": ")[0] for line in bounds] == ["1 row", "2 rows", "5 rows", "10 rows"]
    for rows, line in zip((1, 2, 5, 10), bounds, strict=True):
        true = 1 / (1 + math.exp(-float(plan.loss.epsilon) * rows * changes))
        stated = float(line.partition("at most ")[2].partition("%")[0]) / 100
        assert true <= stated < true + 1e-4
        assert line.endswith("; that is no protection") == (stated > 0.999)


def test_rows_of_a_person_that_is_the_unit_are_protected_together(planned):
    lead, bounds, slack = read_own_rows(planned(COUNT, **PEOPLE))
    assert 'all rows with your value of "patient" are protected together' in lead
    assert bounds == ("However many: at most 88.08%",)
    assert not slack


def test_of_many_rows_delta_can_leave_no_bound(planned):
    """Ten rows of another content are 20 steps away, over which delta grows by e^19 and more."""
    _, bounds, slack = read_own_rows(planned(COUNT | SELECTED))
    assert bounds[-1] == "10 rows: no bound"
    assert slack


def test_the_ledger_tells_units_apart(planned):
    rows, people = planned(COUNT).release, planned(COUNT, **PEOPLE).release
    others = planned(COUNT, **(PEOPLE | {"unit_column": "family"})).release
    bounds = {"max_rows_per_unit": 9, "max_groups_per_unit": 9}
    wide = planned(COUNT, **(PEOPLE | {"bounding": bounds})).release
    assert describe_guarantee(rows) == {"unit": "row", "adjacency": "add-remove"}
    assert describe_guarantee(people)["unit"] == "column patient"
    assert describe_guarantee(others)["unit"] == "column family"
    assert describe_guarantee(wide) == describe_guarantee(people)


def test_plan_and_report_state_the_unit(planned, published):
    plan = planned(COUNT, **PEOPLE)
    told, unit = describe(plan), published(plan).report["deployment"]["privacy_unit"]
    bounding = {"max_rows_per_unit": 4, "max_groups_per_unit": 2, "max_rows_per_unit_per_group": 4}
    for stated in (told, unit):
        assert (stated["unit"], stated["unit_column"]) == ("column", "patient")
        assert stated["bounding"] == bounding
    assert told["adjacency"] == "add-remove"
    assert Fraction(str(told["steps"][0]["sensitivity"]["l1"])) == 4
