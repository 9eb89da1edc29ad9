"""Flags by the plan: quantiles beside a count, and figures that limits on a unit's rows can cut."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dprelease.language import word
from dprelease.model import Bounding, OutputColumn, OutputTable, Plan, Query
from dprelease.model.outputs import is_weak, split_flag
from dprelease.planning.planner import make_plan
from dprelease.postprocess.finishing.flags import (
    CountBeside,
    add_count_flags,
    add_rank_flags,
    clip_figures,
    count_beside,
    find_judge,
    is_cut_by_limits,
    mark_bounded,
    remove_empty_groups,
)
from dprelease.postprocess.intervals.estimate_columns import (
    Ends,
    Layout,
    clip_intervals,
    estimate_columns,
)
from dprelease.specfile import load

sys.path.insert(0, str(Path(__file__).parents[1] / "reports"))

from report_specs import PEOPLE, spec

MEDIAN: dict[str, Any] = {"name": "m", "statistic": "median", "column": "days", "by": ["region"]}
COUNT: dict[str, Any] = {"name": "n", "statistic": "count", "by": ["region"]}
MEAN: dict[str, Any] = {"name": "w", "statistic": "mean", "column": "days", "by": ["region"]}
KEY = OutputColumn("region", "key", ["north", "south"], "declared values of region")


def plan_tables(*queries: dict[str, Any], **privacy: Any) -> Plan:
    return make_plan(load(spec(*queries, **privacy)))


def quantile(ranks: int) -> list[OutputColumn]:
    return [
        OutputColumn("m", "integer", [3, 4], "value", 0, "m"),
        OutputColumn("m_rank_moe", "integer", [ranks] * 2, "", 0, "m"),
        OutputColumn("m_flag", "text", [None, None], "empty", 0, "m"),
    ]


def count(values: list[int], name: str = "n") -> list[OutputColumn]:
    return estimate_columns(Layout(name, 0, "number of records", Fraction(95, 100)), values, 7)


def column(tables: tuple[OutputTable, ...], name: str) -> OutputColumn:
    return next(column for column in tables[0].columns if column.name == name)


def list_flags(columns: Sequence[OutputColumn], *queries: dict[str, Any]) -> list[Any]:
    table = OutputTable("by_region", (KEY, *columns))
    return list(column(add_count_flags([table], plan_tables(*queries)), "m_flag").values)


def test_a_quantile_is_flagged_where_its_ranks_exceed_a_tenth_of_its_values() -> None:
    columns = [*quantile(36), *count([360, 359], "w_count")]
    assert list_flags(columns, MEDIAN, MEAN) == ["ok", "low_reliability"]
    tables = add_count_flags([OutputTable("by_region", (KEY, *columns))], plan_tables(MEDIAN, MEAN))
    assert word(column(tables, "m_flag").description) == (
        "ok, or low_reliability where m_rank_moe exceeds a tenth of w_count"
    )
    unknown = OutputTable("by_region", (KEY, *quantile(36)))
    tables = mark_bounded(add_count_flags([unknown], plan_tables(MEDIAN)), plan_tables(MEDIAN))
    assert "m_flag" not in {one.name for one in tables[0].columns}


def test_a_count_that_may_hold_missing_values_never_makes_a_quantile_reliable() -> None:
    """1,000 records, of which one has a value: no more is known than that they are few enough."""
    columns = [*quantile(8), *count([1000, 79])]
    assert list_flags(columns, MEDIAN, COUNT) == [None, "low_reliability"]
    filled = spec(MEDIAN, COUNT)
    filled["columns"]["days"]["nulls"] = 0
    tables = add_count_flags([OutputTable("by_region", (KEY, *columns))], make_plan(load(filled)))
    assert column(tables, "m_flag").values == ["ok", "low_reliability"]
    known = COUNT | {"where": "days IS NOT NULL"}
    assert list_flags(columns, MEDIAN, known) == ["ok", "low_reliability"]
    other = COUNT | {"where": "stars IS NOT NULL"}
    plan = plan_tables(MEDIAN, other)
    assert count_beside(plan.reads[0].query, plan) is None


@pytest.mark.parametrize(
    ("others", "beside"),
    [
        ((COUNT,), CountBeside("n", of_values=False)),
        ((COUNT, MEAN), CountBeside("w_count", of_values=True)),
        ((COUNT | {"where": '"days" is not null'},), CountBeside("n", of_values=True)),
        ((COUNT | {"where": "days > 1"},), None),
        ((COUNT | {"by": []},), None),
        ((MEAN | {"column": "stars"},), None),
        ((COUNT | {"table": "other"},), None),
    ],
)
def test_the_count_is_of_the_same_records_in_the_same_table(
    others: tuple[dict[str, Any], ...], beside: CountBeside | None
) -> None:
    plan = plan_tables(MEDIAN, *others)
    (query,) = [read.query for read in plan.reads if read.query.name == "m"]
    assert count_beside(query, plan) == beside
    assert find_judge(query, plan) == (beside.name if beside and beside.of_values else None)


def test_a_filter_is_part_of_what_a_count_of_values_counts() -> None:
    few = MEDIAN | {"where": "stars > 2"}
    for where, beside in {
        "(stars > 2) AND (days IS NOT NULL)": "n",
        "days IS NOT NULL": None,
        "stars > 3 AND days IS NOT NULL": None,
    }.items():
        plan = plan_tables(few, COUNT | {"where": where})
        assert find_judge(plan.reads[0].query, plan) == beside


MODE: dict[str, Any] = {"name": "m", "statistic": "mode", "column": "region"}
BY_NAME: dict[str, Any] = {"name": "h", "statistic": "histogram", "column": "region"}


def chosen(name: str) -> OutputTable:
    columns = [
        OutputColumn("m", "text", [name], "", 0, "m"),
        OutputColumn("m_noise_moe", "integer", [30], "", 0, "m"),
        OutputColumn("m_flag", "text", [None], "", 0, "m"),
        *count([500]),
    ]
    return OutputTable("overall", tuple(columns))


@pytest.mark.parametrize(("name", "flag"), [("north", "low_reliability"), ("south", "ok")])
def test_a_name_is_judged_by_its_own_count_in_whichever_table(name: str, flag: str) -> None:
    counts = OutputTable("by_region", (KEY, *count([99, 100], "h")))
    plan = plan_tables(MODE, COUNT | {"by": []}, BY_NAME)
    tables = add_count_flags([chosen(name), counts], plan)
    assert column(tables, "m_flag").values == [flag]
    assert find_judge(plan.reads[0].query, plan) == "h"


def test_a_count_of_all_records_never_makes_a_name_reliable() -> None:
    """They may have other values: it can only be too small."""
    plan = plan_tables(MODE, COUNT | {"by": []})
    assert column(add_count_flags([chosen("north")], plan), "m_flag").values == [None]
    few = replace(chosen("north"), columns=(*chosen("north").columns[:3], *count([99])))
    assert column(add_count_flags([few], plan), "m_flag").values == ["low_reliability"]
    assert find_judge(plan.reads[0].query, plan) is None


def test_figures_of_groups_that_may_have_no_records_are_empty() -> None:
    mean = [
        *estimate_columns(
            Layout("w", 1, "mean", Fraction(95, 100)), [50, 60], [9, 5], Ends([41, 55], [59, 65])
        ),
        *count([7, 8], "w_count")[:2],
    ]
    mean = [replace(one, query="w") for one in mean]
    table = OutputTable("by_region", (KEY, *mean, *quantile(1)))
    plan = plan_tables(MEAN, MEDIAN)
    tables = remove_empty_groups(add_count_flags([table], plan), plan)
    for name in ("w", "w_noise_moe", "w_low", "w_high", "m"):
        assert column(tables, name).values[0] is None
        assert column(tables, name).values[1] is not None
    assert column(tables, "w_flag").values == ["low_reliability", "ok"]
    assert column(tables, "m_flag").values == ["low_reliability", "low_reliability"]
    assert column(tables, "w_count").values == [7, 8]
    assert column(tables, "m_rank_moe").values == [1, 1]
    assert "empty where w_count is within its noise of 0" in word(column(tables, "m").description)


def test_a_quantile_of_a_group_that_may_have_no_units_is_empty() -> None:
    units = {**COUNT, "statistic": "count_units"}
    table = OutputTable("by_region", (KEY, *count([7, 8]), *quantile(1)))
    for privacy in ({}, PEOPLE):
        plan = plan_tables(units, MEDIAN, **privacy)
        tables = remove_empty_groups(add_count_flags([table], plan), plan)
        assert column(tables, "m").values == [None, 4]
        assert column(tables, "m_flag").values == ["low_reliability", None]
        assert "empty where n is within its noise of 0" in word(column(tables, "m").description)
    other = plan_tables({**units, "where": "urgent"}, MEDIAN)
    assert remove_empty_groups([table], other) == (table,)


def test_what_limits_can_cut_is_bounded_whatever_else_it_is() -> None:
    table = OutputTable("by_region", (KEY, *count([360, 3]), *quantile(9)))
    plan = plan_tables(COUNT, MEDIAN, **PEOPLE)
    tables = mark_bounded(add_count_flags([table], plan), plan)
    assert column(tables, "n_flag").values == ["bounded", "bounded low_reliability"]
    assert column(tables, "m_flag").values == ["bounded", "bounded low_reliability"]
    assert "bounded in place of ok" in word(column(tables, "n_flag").description)
    assert "bounded in place of an empty flag" in word(column(tables, "m_flag").description)
    limits = "rows that count of one unit: at most 4 in all and 4 in a group, in at most 2 of the"
    assert limits in word(column(tables, "n").description)
    assert limits not in word(column(tables, "n_noise_moe").description)
    judged = OutputTable("by_region", (KEY, *count([360, 3], "w_count")[:2], *quantile(9)))
    plan = plan_tables(MEAN, MEDIAN, **PEOPLE)
    tables = mark_bounded(add_count_flags([judged], plan), plan)
    assert "bounded in place of ok" in word(column(tables, "m_flag").description)
    alone = plan_tables(COUNT, MEDIAN)
    tables = mark_bounded(add_count_flags([table], alone), alone)
    assert column(tables, "n_flag").values == ["ok", "low_reliability"]


def test_what_was_sealed_before_is_judged_as_it_was() -> None:
    table = OutputTable("by_region", (KEY, *count([360, 3]), *quantile(9)))
    plan = plan_tables(COUNT, MEDIAN, **PEOPLE)
    tables = mark_bounded(add_rank_flags([table], plan), plan, with_others=False)
    assert column(tables, "n_flag").values == ["bounded", "low_reliability"]
    assert column(tables, "m_flag").values == ["bounded", "low_reliability"]


def test_all_that_a_flag_says() -> None:
    assert split_flag(None) == split_flag("") == frozenset()
    assert split_flag("bounded low_reliability") == {"bounded", "low_reliability"}
    weak = ["low_reliability", "suppressed", "bounded low_reliability"]
    assert [is_weak(flag) for flag in weak] == [True] * 3
    assert [is_weak(flag) for flag in ("ok", "bounded", None, "")] == [False] * 4


@pytest.mark.parametrize(
    ("rows", "groups", "cut"), [(2, 2, False), (1, 2, True), (2, 1, True), (9, 9, False)]
)
def test_people_are_cut_only_out_of_groups(rows: int, groups: int, cut: bool) -> None:
    people = COUNT | {"statistic": "count_units"}
    limits = {"max_rows_per_unit": rows, "max_groups_per_unit": groups}
    plan = plan_tables(people, **PEOPLE | {"bounding": limits})
    (query,) = [read.query for read in plan.reads]
    bounding = plan.release.privacy.bounding
    assert is_cut_by_limits(query, bounding) is cut
    assert is_cut_by_limits(Query("v", "count", "t"), bounding)
    assert not is_cut_by_limits(Query("v", "count_units", "t"), bounding)  # once in all
    assert not is_cut_by_limits(query, None)


def test_the_flag_of_a_cell_depends_on_nothing_but_the_spec_and_noisy_figures() -> None:
    """As far as it is ``bounded``: it is the same in every cell that has no stronger word."""
    plan = plan_tables(COUNT, **PEOPLE)
    for values in ([10**6, 10**6], [100, 5000]):
        table = OutputTable("by_region", (KEY, *count(values)))
        assert column(mark_bounded([table], plan), "n_flag").values == ["bounded"] * 2


def test_a_package_tells_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dprelease

    monkeypatch.chdir(tmp_path)
    lines = [f"{patient},north,3\n" for patient in range(5000)]
    Path("t.csv").write_text("patient,region,days\n" + "".join(lines), encoding="utf-8")
    content = spec(COUNT, **PEOPLE)
    content["columns"] = {"region": content["columns"]["region"]}
    dprelease.run(load(content))
    package = json.loads(Path("out/datapackage.json").read_text(encoding="utf-8"))
    fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
    assert "at most 4 in all" in fields["n"]["description"]
    assert "bounded" in fields["n_flag"]["description"]
    assert "do not count in n" in Path("out/report.md").read_text(encoding="utf-8")
    assert Bounding(4, 2, 4) == load(content).privacy.bounding


def test_a_figure_that_noise_made_impossible_is_moved_into_its_interval() -> None:
    """A ratio of positive sums is no less than 0: neither is what is published of it."""
    values = [-20, -200, 500]
    ratios = estimate_columns(
        Layout("r", 2, "quotient", Fraction(95, 100)),
        values,
        50,
        clip_intervals(values, [50] * 3, 0),
    )
    tables = clip_figures([OutputTable("t", tuple(ratios))])
    assert column(tables, "r").values == [0, 0, 500]
    assert column(tables, "r_flag").values == ["low_reliability"] * 2 + ["ok"]
    assert column(tables, "r_low").values == [0, 0, 450]
    assert column(tables, "r_high").values == [30, 0, 550]
