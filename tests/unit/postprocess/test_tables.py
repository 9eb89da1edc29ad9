"""Published tables as their queries say: order of the steps, half-widths, flags, raw figures."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dprelease.kernel.distributions.laws import compute_noise_variance, find_halfwidth
from dprelease.language import word
from dprelease.model import (
    ColumnType,
    Expression,
    Finish,
    Group,
    NoiseFamily,
    OutputColumn,
    OutputTable,
    Query,
)
from dprelease.model import Noise as NoiseLaw
from dprelease.postprocess.finishing.finished_tables import (
    Finished,
    Noisy,
    collect_observed,
    finish_tables,
)
from dprelease.postprocess.intervals.combined_noise import Part
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.statistics.shared.two_sums import COUNT_SUFFIXES

REGION = Group("region", ColumnType.STRING, ("n", "s", "e"), keys=("n", "s", "e"))
LEVEL = Fraction(95, 100)


def is_decimal(value: Fraction) -> bool:
    return 10**6 % value.denominator == 0


def query(name="visits", groups=(REGION,), table="by_region", statistic="count", **finish) -> Query:
    return Query(name, statistic, table, groups, finish=Finish(**finish))


def key(labels=REGION.labels) -> OutputColumn:
    return OutputColumn("region", "key", labels, "declared values of region")


def table(name="by_region", *columns: OutputColumn) -> OutputTable:
    return OutputTable(name, (key(), *columns), "")


def estimate(values, half, name="visits", places=0) -> list[OutputColumn]:
    return estimate_columns(Layout(name, places, "number", LEVEL), values, half)


def done(tables, *queries: Query, variance=Fraction(8)) -> Finished:
    return finish_tables(tables, [Noisy(one, one.name, variance) for one in queries], LEVEL)


def list_values(result: Finished, place=0) -> dict[str, list[object]]:
    return {column.name: list(column.values) for column in result.tables[place].columns}


def only(finish_query: Query, values=(100, -3, 40), half=7, places=0) -> Finished:
    return done([table("by_region", *estimate(list(values), half, places=places))], finish_query)


def test_what_nothing_is_done_to_stays_as_it_is():
    tables = (table("by_region", *estimate([1, 2, 3], 7)),)
    assert done(tables, query()) == Finished(tables)


def test_cells_are_0_or_more_and_the_raw_ones_are_handed_on():
    result = only(query(nonnegative=True))
    columns = list_values(result)
    assert columns["visits"] == [99, 0, 38]
    assert columns["visits_noise_moe"] == [7, 7, 7]
    assert columns["visits_flag"] == ["ok", "low_reliability", "ok"]
    assert result.raw == {("by_region", "visits"): ([100, -3, 40], 0)}
    assert word(result.tables[0].columns[1].description) == "number; at least 0"


def test_a_figure_alone_is_set_to_0():
    overall = OutputTable("overall", tuple(estimate([-3], 7)), "")
    result = done([overall], query(groups=(), table="overall", nonnegative=True))
    assert result.tables[0].columns[0].values == [0]


def test_whole_numbers_keep_the_total():
    result = only(query(integer=True), (1050, 2040, 2910), 70, places=2)
    column, half = result.tables[0].columns[1:3]
    assert (list(column.values), column.decimals, column.kind) == ([11, 20, 29], 0, "integer")
    assert (list(half.values), half.decimals) == ([1, 1, 1], 0)


def test_hidden_cells_are_empty_and_so_are_their_raw_ones():
    result = only(query(nonnegative=True, hide_below=Fraction(39)))
    columns = list_values(result)
    assert columns["visits"] == [99, None, None]
    assert columns["visits_noise_moe"] == [7, None, None]
    assert columns["visits_flag"] == ["ok", "suppressed", "suppressed"]
    assert result.raw["by_region", "visits"] == ([100, None, None], 0)


def test_figures_are_rounded_last_and_half_widths_allow_for_it():
    result = only(query(hide_below=Fraction(38), round_to=Fraction(25)), (112, -13, 38))
    columns = list_values(result)
    assert columns["visits"] == [100, None, 50]
    assert columns["visits_noise_moe"] == [20, None, 20]
    assert result.raw["by_region", "visits"] == ([112, None, 38], 0)


@pytest.mark.parametrize(
    ("step", "values", "halves", "decimals"),
    [("0.1", [123, -5, 0], [6, 6, 6], 1), ("2.5", [125, 0, 0], [18, 18, 18], 1),
     ("0.001", [12345, -500, 5], [546, 546, 546], 3)],
)  # fmt: skip
def test_rounding_sets_the_decimals(step, values, halves, decimals):
    finish_query = query(round_to=Fraction(step))
    result = only(finish_query, (123449, -5000, 49), 5450, places=4)
    column, half = result.tables[0].columns[1:3]
    assert (list(column.values), list(half.values)) == (values, halves)
    assert column.decimals == half.decimals == decimals


def test_another_share_flags_others():
    columns = list_values(only(query(flag_unreliable_at=Fraction(1, 20)), (139, 140, 141)))
    assert columns["visits_flag"] == ["low_reliability", "ok", "ok"]
    result = only(query(flag_unreliable_at=Fraction(1, 20)))
    assert "exceeds 5% of visits" in word(result.tables[0].columns[3].description)
    assert not result.raw


def test_a_condition_reads_the_row_before_anything_is_hidden_or_rounded():
    mean = estimate([2000, 2100, 2200], [150, 90, 300], "wait", 2)
    counts = [OutputColumn("wait" + COUNT_SUFFIXES[0], "integer", [25, 30, 19], "", 0, "wait")]
    condition = Expression("count >= 20 AND noise_moe < 0.1 * value AND visits > 41", ())
    visits = query(hide_below=Fraction(90), round_to=Fraction(50))
    wait = query("wait", statistic="mean", publish_if=condition)
    columns = [*estimate([42, 41, 90], 7), *mean, *counts]
    columns = [c if c.query else replace(c, query="wait") for c in columns]
    result = list_values(done([table("by_region", *columns)], visits, wait))
    assert result["visits"] == [None, None, 100]
    assert result["wait"] == [2000, None, None]
    assert result["wait_count"] == [25, None, None]
    assert result["wait_flag"] == ["ok", "suppressed", "suppressed"]


def test_each_of_several_quantiles_is_hidden_by_itself():
    columns = [
        replace(column, query="pay")
        for figure, values in (("pay_q25", [5, 20, 30]), ("pay_q75", [15, 40, 50]))
        for column in [
            OutputColumn(figure, "integer", values, "", 0),
            OutputColumn(figure + "_noise_moe", "integer", [None] * 3, "", 0),
            OutputColumn(figure + "_flag", "text", [None] * 3, "", 0),
            OutputColumn(figure + "_rank_moe", "integer", [9] * 3, "", 0),
        ]
    ]
    pay = query("pay", statistic="quantile", publish_if=Expression("value > 10", ()))
    result = list_values(done([table("by_region", *columns)], pay, variance=None))
    assert result["pay_q25"] == [None, 20, 30]
    assert result["pay_q25_rank_moe"] == [None, 9, 9]
    assert result["pay_q75"] == [15, 40, 50]
    assert result["pay_q75_flag"] == [None, None, None]


def test_names_are_hidden_by_another_figure_of_the_row():
    top = [
        OutputColumn("top", "text", ["a", "b", "a"], "", 0, "top"),
        OutputColumn("top_noise_moe", "integer", [4, 4, 4], "", 0, "top"),
        OutputColumn("top_flag", "text", [None] * 3, "", 0, "top"),
    ]
    mode = query("top", statistic="mode", publish_if=Expression("visits >= 40", ()), round_to=None)
    result = list_values(done([table("by_region", *estimate([9, 50, 60], 7), *top)], query(), mode))
    assert result["top"] == [None, "b", "a"]
    assert result["top_flag"] == ["suppressed", None, None]


TOTAL = OutputTable("overall", tuple(estimate([120], 7, "total")), "")
WANTED = {"consistent": True, "nonnegative": True}


def test_tables_of_the_same_records_agree():
    total = query("total", (), "overall", **WANTED, integer=True)
    tables = [TOTAL, table("by_region", *estimate([100, -3, 40], 7))]
    result = done(tables, total, query(**WANTED, integer=True), variance=Fraction(1000))
    assert result.tables[0].columns[0].values == [124]
    assert sum(list_values(result, 1)["visits"]) == 124
    assert not result.remarks


def test_agreeing_figures_have_two_more_decimals_unless_whole():
    total = query("total", (), "overall", **WANTED)
    tables = [TOTAL, table("by_region", *estimate([100, -3, 40], 7))]
    result = done(tables, total, query(**WANTED), variance=Fraction(1000))
    assert result.tables[0].columns[0].decimals == 2
    half = result.tables[0].columns[1]
    assert (half.decimals, half.values) == (2, [700])


def test_totals_further_apart_than_noise_are_remarked():
    total = query("total", (), "overall", **WANTED)
    tables = [TOTAL, table("by_region", *estimate([100, -3, 40], 7))]
    (remark,) = map(word, done(tables, total, query(**WANTED), variance=Fraction(2)).remarks)
    assert remark.startswith("The totals of overall and by_region are further apart than noise")


def test_a_table_that_a_finer_one_of_the_same_step_repeats_counts_once():
    total, cells = query("total", (), "overall", **WANTED), query(**WANTED)
    read_from_cells = [Noisy(one, "visits", Fraction(9)) for one in (total, cells)]
    group = collect_observed(read_from_cells, [1, 3], [[137], [100, -3, 40]])
    assert [counts.axes for counts in group.observed] == [(0,)]
    of_its_own = [Noisy(total, "total", Fraction(9)), read_from_cells[1]]
    assert [counts.axes for counts in collect_observed(of_its_own, [1, 3]).observed] == [(), (0,)]


def test_a_half_width_is_that_of_the_finished_figure_where_that_is_larger():
    # noise that is nearly Laplace has less of its mass close to 0 than Laplace noise
    laws = [NoiseLaw(NoiseFamily.LAPLACE, Fraction(scale)) for scale in (4000, 6000)]
    total, cells = query("total", (), "overall", consistent=True), query(consistent=True)
    level = Fraction(1, 2)
    halves = [find_halfwidth(law, 1 - level) for law in laws]
    tables = [
        OutputTable("overall", tuple(estimate([120], halves[0], "total")), ""),
        table("by_region", *estimate([100, -3, 40], halves[1])),
    ]
    noises = [
        Noisy(one, one.name, Fraction(compute_noise_variance(law)), (Part(law, Fraction(1), 1),))
        for one, law in zip((total, cells), laws, strict=True)
    ]
    result = finish_tables(tables, noises, level)
    (of_total,) = list_values(result)["total_noise_moe"]
    assert halves[0] * 100 < of_total < halves[0] * 110
    draws = np.random.default_rng(1).laplace(size=(4, 200_000)) * [[4000], [6000], [6000], [6000]]
    weight = Fraction(27, 31)  # 1/v over 1/v + 1/(3 v')
    off = float(weight) * draws[0] + float(1 - weight) * draws[1:].sum(axis=0)
    assert 0.47 < np.mean(abs(off) > of_total / 100) < 0.504
    assert np.mean(abs(off) > halves[0]) > 0.504


def test_a_table_without_rows_stays_empty():
    empty = OutputTable("by_region", (key(()), *estimate([], 7)), "")
    result = done([empty], query(nonnegative=True, integer=True, hide_below=Fraction(3)))
    assert result.tables[0].rows == 0


@given(
    st.integers(-(10**7), 10**7),
    st.integers(0, 10**6),
    st.fractions(min_value="0.001", max_value=5000, max_denominator=1000).filter(is_decimal),
    st.integers(0, 4),
)
def test_a_rounded_interval_holds_the_one_before(value, half, step, places):
    result = only(query(round_to=step), (value,) * 3, half, places)
    column, wide = result.tables[0].columns[1:3]
    shown, reach = (Fraction(c.values[0], 10**c.decimals) for c in (column, wide))
    before, unit = Fraction(value, 10**places), Fraction(1, 10**places)
    assert (shown / step).denominator == 1
    assert abs(shown - before) <= step / 2
    assert shown - reach <= before - half * unit
    assert shown + reach >= before + half * unit
