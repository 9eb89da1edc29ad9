"""Few tables for many steps: each has the groups of its steps, and no other rows."""

from __future__ import annotations

from typing import Any

import pytest
import strategy_plans as plans
from msgspec.structs import replace

from dprelease.kernel.core import joined_tables
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.core.joined_tables import plan_joined_groups
from dprelease.model import Form, Group, Measure, MeasureKind, Part, Plan, Step


def list_column_names(groups: tuple[Group, ...]) -> str:
    return "".join(group.column for group in groups)


def tables(steps: tuple[Step, ...], *, people: bool = False) -> dict[str, str]:
    return {
        name.removeprefix("together: "): list_column_names(groups)
        for name, groups in plan_joined_groups(steps, people=people).items()
    }


def list_steps_by_one_group(plan: Plan) -> tuple[Step, ...]:
    """The steps of ``centred`` without the largest table."""
    return plan.steps[:3]


def test_the_largest_table_has_the_cells_of_all() -> None:
    in_one = dict.fromkeys(("total", "g", "h", "gh"), "gh")
    assert tables(plans.build_centred().steps) == in_one
    assert tables(plans.build_centred().steps[::-1]) == in_one


@pytest.mark.parametrize(("most", "table"), [(12, "hg"), (11, "")])
def test_tables_are_joined_while_they_are_small(
    most: int, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By 3 and by 4 labels; the total is a part of whichever table comes first."""
    monkeypatch.setattr(joined_tables, "MOST_CELLS", most)
    steps = list_steps_by_one_group(plans.build_centred())
    assert tables(steps) == {"total": table or "h", "g": table or "g", "h": table or "h"}
    # a step's own table may have more cells
    assert set(tables(plans.build_centred().steps).values()) == {"gh"}


def test_rows_of_people_are_counted_in_one_table_for_each_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joined_tables, "MOST_CELLS", 1)
    steps = list_steps_by_one_group(plans.build_centred(people=True))
    assert set(tables(steps, people=True).values()) == {"hg"}
    where = plans.plan_by_filters().steps[1].query.where
    filtered = replace(
        steps[1],
        query=replace(steps[1].query, where=where),
        measures=(Measure(MeasureKind.RECORDS, None, where),),
    )
    mixed = tables((steps[0], filtered, steps[2]), people=True)
    assert mixed == {"total": "h", "g": "g", "h": "h"}


def test_of_people_only_steps_of_strategies_are_joined() -> None:
    (cells,) = plans.plan_full().steps
    short = plans.release((("g", "k"), None)).queries[0].groups
    private = (replace(short[0], labels=(), keys=None, private=True, other=None, null_label=None),)
    changes: list[dict[str, Any]] = [{"implied": False}, {"groups": short}, {"groups": private}]
    for change in changes:
        other = replace(cells, query=replace(cells.query, **change))
        assert plan_joined_groups([other], people=True) == {}
    assert (
        plan_joined_groups([replace(cells, measures=(Measure(MeasureKind.UNITS),))], people=True)
        == {}
    )


def counts(*ways: tuple[str, ...]) -> list[Step]:
    """Steps of counts by groups, some of which leave records out."""
    queries = plans.release(*((way, None) for way in ways)).queries
    return [replace(plans.step(query.name, 1, 1), query=query) for query in queries]


def test_of_rows_all_steps_that_add_up_are_joined_in_completed_groups() -> None:
    steps = counts(("k",), ("g",), ())
    (by_k,), (by_g,), _ = (step.query.groups for step in steps)
    assert by_k.complete() == by_k
    assert by_g.complete() != by_g
    table = (by_k, by_g.complete())
    assert plan_joined_groups(steps, people=False) == {step.query.name: table for step in steps}


def test_a_table_that_takes_in_no_other_has_the_groups_of_its_steps() -> None:
    (step,) = counts(("g",))
    other = replace(step, query=replace(step.query, name="other"))
    own = step.query.groups
    assert plan_joined_groups([step, other], people=False) == {step.query.name: own, "other": own}


@pytest.mark.parametrize(("most", "joined"), [(9, True), (8, False)])
def test_a_table_that_would_grow_when_it_is_completed_asks_for_itself(
    most: int, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two labels become three: of many groups, there would be thousands of times as many cells."""
    monkeypatch.setattr(joined_tables, "MOST_CELLS", most)
    (cells,) = counts(("g",))
    (group,) = cells.query.groups
    names = tuple(replace(group, column=name, labels=("a", "b")) for name in "cd")
    large = replace(cells, query=replace(cells.query, name="large", groups=names))
    small = replace(cells, query=replace(cells.query, groups=names[:1]))
    tables = plan_joined_groups([large, small], people=False)
    assert (tables.get("large") == tuple(name.complete() for name in names)) is joined
    assert (tables[small.query.name] == names[:1]) is not joined


@pytest.mark.parametrize(("most", "joined"), [(4, {"g", "k", "gk"}), (3, {"k", "gk"})])
def test_a_large_table_counts_nothing_for_smaller_ones(
    most: int, joined: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (own,) = counts(("k",))
    (group,) = own.query.groups
    other = replace(group, column="other", labels=group.labels[-1:])
    monkeypatch.setattr(joined_tables, "MOST_CELLS", len(group.labels) + most - 4)
    asked = {
        "gk": ((group, other), (Measure(MeasureKind.RECORDS),)),
        "k": ((group,), (Measure(MeasureKind.RECORDS),)),
        "g": ((other,), (Measure(MeasureKind.UNITS),)),
    }
    steps = [
        replace(own, measures=measures, query=replace(own.query, name=name, groups=groups))
        for name, (groups, measures) in asked.items()
    ]
    assert set(plan_joined_groups(steps, people=False)) == joined


def test_what_does_not_add_up_asks_for_itself_and_for_what_has_its_cells() -> None:
    by_g, by_k, total = counts(("g",), ("k",), ())
    distinct = replace(
        by_g,
        query=replace(by_g.query, name="distinct"),
        measures=(Measure(MeasureKind.DISTINCT, column="y"),),
    )
    chosen = replace(by_k, form=Form.CHOICE, query=replace(by_k.query, name="chosen"))
    joined = plan_joined_groups([distinct, by_g, chosen, by_k, total], people=False)
    assert set(joined) == {by_k.query.name, total.query.name}


def test_private_keys_and_values_to_choose_from_are_asked_for_by_themselves() -> None:
    by_g, total = counts(("g",), ())
    (group,) = by_g.query.groups
    private = replace(group, labels=(), keys=None, private=True)
    changes: list[dict[str, Any]] = [{"groups": (private,)}, {"groups": (), "axis": group}]
    for change in changes:
        other = replace(by_g, query=replace(by_g.query, **change))
        assert set(plan_joined_groups([other, total], people=False)) == {total.query.name}


def test_a_condition_of_a_ratio_that_is_a_filter_asks_for_itself() -> None:
    by_g, total = counts(("g",), ())
    where = plans.plan_by_filters().steps[1].query.where
    share = replace(by_g, query=replace(by_g.query, numerator=Part(), where=where))
    assert set(plan_joined_groups([share, total], people=False)) == {total.query.name}
    share = replace(by_g, query=replace(by_g.query, numerator=Part()))
    assert set(plan_joined_groups([share, total], people=False)) == {
        share.query.name,
        total.query.name,
    }


def test_one_request_has_the_cells_of_all_steps() -> None:
    plan = plans.build_centred()
    (job,) = build_jobs(plan.release, plan.steps)
    assert list_column_names(job.request.groups) == "gh"
    assert job.request.measures == (Measure(MeasureKind.RECORDS),)
    assert job.positions == ((0,),) * 4
    assert job.places == ((), (0,), (1,), None)


def test_people_are_bounded_in_the_cells_of_the_joined_table() -> None:
    plan = plans.build_centred(people=True)
    (job,) = build_jobs(plan.release, plan.steps)
    assert job.request.bound is not None
    assert (job.request.bound.rows, job.request.bound.leading) == (2, 2)
    filtered = plans.plan_by_filters(people=True)
    jobs = build_jobs(filtered.release, filtered.steps)
    assert [job.request.where for job in jobs] == [step.query.where for step in filtered.steps]


def test_groups_in_another_order_have_places_of_their_own() -> None:
    (cells,) = plans.plan_full().steps
    other = replace(
        cells, query=replace(cells.query, name="turned", groups=cells.query.groups[::-1])
    )
    (job,) = build_jobs(plans.plan_full().release, [cells, other])
    assert job.places == (None, (1, 0))
