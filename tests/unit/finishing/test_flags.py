"""Flags by the plan: quantiles beside a count, and figures that limits on a unit's rows can cut."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dprelease.finishing.flags import (
    count_beside,
    limits_cut,
    with_bounded,
    with_rank_flags,
    within_ends,
)
from dprelease.model import Bounding, OutputColumn, OutputTable, Plan, Query
from dprelease.planning.planner import make_plan
from dprelease.postprocess.estimate_columns import Layout, clipped, estimate_columns
from dprelease.spec import load

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from report_specs import PEOPLE, spec

MEDIAN: dict[str, Any] = {"name": "m", "statistic": "median", "column": "days", "by": ["region"]}
COUNT: dict[str, Any] = {"name": "n", "statistic": "count", "by": ["region"]}
MEAN: dict[str, Any] = {"name": "w", "statistic": "mean", "column": "days", "by": ["region"]}
KEY = OutputColumn("region", "key", ["north", "south"], "declared values of region")


def plan_of(*queries: dict[str, Any], **privacy: Any) -> Plan:
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


def test_a_quantile_is_flagged_where_its_ranks_exceed_a_tenth_of_the_count_beside_it() -> None:
    table = OutputTable("by_region", (KEY, *quantile(36), *count([360, 359])))
    tables = with_rank_flags([table], plan_of(MEDIAN, COUNT))
    assert column(tables, "m_flag").values == ["ok", "low_reliability"]
    assert column(tables, "m_flag").description == (
        "ok, or low_reliability where m_rank_moe exceeds a tenth of n"
    )
    unknown = OutputTable("by_region", (KEY, *quantile(36)))
    tables = with_bounded(with_rank_flags([unknown], plan_of(MEDIAN)), plan_of(MEDIAN))
    assert "m_flag" not in {one.name for one in tables[0].columns}


@pytest.mark.parametrize(
    ("others", "beside"),
    [
        ((COUNT,), "n"),
        ((COUNT, MEAN), "w_count"),  # of the same column: nulls are in neither
        ((COUNT | {"where": "days > 1"},), None),
        ((COUNT | {"by": []},), None),
        ((MEAN | {"column": "stars"},), None),
        ((COUNT | {"table": "other"},), None),
    ],
)
def test_the_count_is_of_the_same_records_in_the_same_table(
    others: tuple[dict[str, Any], ...], beside: str | None
) -> None:
    plan = plan_of(MEDIAN, *others)
    (query,) = [read.query for read in plan.reads if read.query.name == "m"]
    assert count_beside(query, plan) == beside


def test_what_limits_can_cut_is_bounded_but_for_a_stronger_word() -> None:
    table = OutputTable("by_region", (KEY, *count([360, 3]), *quantile(9)))
    plan = plan_of(COUNT, MEDIAN, **PEOPLE)
    tables = with_bounded(with_rank_flags([table], plan), plan)
    assert column(tables, "n_flag").values == ["bounded", "low_reliability"]
    assert column(tables, "m_flag").values == ["bounded", "low_reliability"]
    assert "bounded in place of ok" in column(tables, "n_flag").description
    limits = "rows that count of one unit: at most 4 in all and 4 in a group, in at most 2 of the"
    assert limits in column(tables, "n").description
    assert limits not in column(tables, "n_noise_moe").description
    alone = plan_of(COUNT, MEDIAN)
    tables = with_bounded(with_rank_flags([table], alone), alone)
    assert column(tables, "n_flag").values == ["ok", "low_reliability"]


@pytest.mark.parametrize(
    ("rows", "groups", "cut"), [(2, 2, False), (1, 2, True), (2, 1, True), (9, 9, False)]
)
def test_people_are_cut_only_out_of_groups(rows: int, groups: int, cut: bool) -> None:
    people = COUNT | {"statistic": "count_units"}
    limits = {"max_rows_per_unit": rows, "max_groups_per_unit": groups}
    plan = plan_of(people, **PEOPLE | {"bounding": limits})
    (query,) = [read.query for read in plan.reads]
    bounding = plan.release.privacy.bounding
    assert limits_cut(query, bounding) is cut
    assert limits_cut(Query("v", "count", "t"), bounding)
    assert not limits_cut(Query("v", "count_units", "t"), bounding)  # once in all
    assert not limits_cut(query, None)


def test_the_flag_of_a_cell_depends_on_nothing_but_the_spec_and_noisy_figures() -> None:
    """As far as it is ``bounded``: it is the same in every cell that has no stronger word."""
    plan = plan_of(COUNT, **PEOPLE)
    for values in ([10**6, 10**6], [100, 5000]):
        table = OutputTable("by_region", (KEY, *count(values)))
        assert column(with_bounded([table], plan), "n_flag").values == ["bounded"] * 2


def test_a_package_tells_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dprelease

    monkeypatch.chdir(tmp_path)
    lines = [f"{patient},north,3\n" for patient in range(5000)]
    Path("small.csv").write_text("patient,region,days\n" + "".join(lines), encoding="utf-8")
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
        Layout("r", 2, "quotient", Fraction(95, 100)), values, 50, clipped(values, [50] * 3, 0)
    )
    tables = within_ends([OutputTable("t", tuple(ratios))])
    assert column(tables, "r").values == [0, 0, 500]
    assert column(tables, "r_flag").values == ["low_reliability"] * 2 + ["ok"]
    assert column(tables, "r_low").values == [0, 0, 450]
    assert column(tables, "r_high").values == [30, 0, 550]
