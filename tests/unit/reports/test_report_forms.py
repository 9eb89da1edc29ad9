"""Each figure is drawn in the form that its keys ask for, true to what is published."""

from functools import partial
from itertools import pairwise
from time import process_time
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from pages import list_texts, read_points, shapes

from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.model.outputs import ColumnNames
from dprelease.reports.charts.figure_charts import choose_form, draw_figure_chart, find_figures
from dprelease.reports.charts.svg import Chart, HeatTable
from dprelease.reports.renderers.html_page import render
from dprelease.reports.sections.document import Document
from dprelease.reports.sections.figures_section import build_figures_section, list_shown_texts

NO_ORDER: dict[str, frozenset[str]] = {}
AGES = {"age": frozenset({"not known"})}


def table(values, halves=None, keys=None, flags=None, decimals=0):
    """A table of one figure; ``keys`` are columns of labels by name."""
    rows = len(values)
    keys = keys or {"key": [f"k{number}" for number in range(rows)]}
    kind = "number" if decimals else "integer"
    return OutputTable(
        "t",
        (
            *(OutputColumn(name, "key", labels, "") for name, labels in keys.items()),
            OutputColumn("v", kind, values, "", decimals, "v"),
            OutputColumn("v_noise_moe", "integer", halves or [3] * rows, "", decimals, "v"),
            OutputColumn("v_flag", "text", flags or ["ok"] * rows, "", 0, "v"),
            OutputColumn("v_count", "integer", values, "", 0, "v"),
        ),
    )


def draw_chart(made, orders=NO_ORDER):
    (figure,) = find_figures(made)
    form = choose_form(made, orders)
    if form is None:
        return None
    return draw_figure_chart(
        made, figure, form, orders, ("c", "t.csv"), 95, partial(list_shown_texts, made)
    )


def cross_keys(first, second):
    return {
        "region": [f"r{a}" for a in range(first) for _ in range(second)],
        "age": [f"{10 * b}" for _ in range(first) for b in range(second)],
    }


def test_figures_stand_at_their_values_with_their_intervals():
    chart = draw_chart(table([-50, 100, None], [10, 20, None], decimals=1))
    dots = [float(each.get("cx")) for each in shapes(chart, "circle", "bar")]
    boxes = [
        (float(each.get("x")), float(each.get("width")))
        for each in shapes(chart, "rect", "interval")
    ]
    (zero,) = shapes(chart, "line", "zero")
    unit = (dots[1] - dots[0]) / 15
    assert float(zero.get("x1")) == pytest.approx(dots[0] + 5 * unit, abs=0.1)
    assert boxes[0] == (pytest.approx(dots[0] - unit, abs=0.1), pytest.approx(2 * unit, abs=0.1))
    assert chart.rows == (("k0", "-5.0", "1.0"), ("k1", "10.0", "2.0"), ("k2", "empty", "empty"))
    assert draw_chart(table([None, None], [None, None])) is None


def test_an_interval_is_cut_at_what_is_possible():
    made = table([10, 20], [15, 15])
    columns = (*made.columns, OutputColumn("v_low", "integer", [0, 5], "", 0, "v"),
               OutputColumn("v_high", "integer", [25, 35], "", 0, "v"))  # fmt: skip
    chart = draw_chart(OutputTable("t", columns))
    (low, high), dots = (
        shapes(chart, "rect", "interval"),
        [float(each.get("cx")) for each in shapes(chart, "circle", "bar")],
    )
    unit = (dots[1] - dots[0]) / 10
    assert dots[0] - float(low.get("x")) == pytest.approx(10 * unit, abs=0.2)
    assert dots[1] - float(high.get("x")) == pytest.approx(15 * unit, abs=0.2)


def test_flagged_marks_are_hollow_and_it_is_said():
    chart = draw_chart(table([10, 20, 30], flags=["ok", "low_reliability", "bounded"]))
    assert len(shapes(chart, "circle", "hollow")) == 1  # bounded holds for a whole column
    assert len(shapes(chart, "circle", "bar")) == 2
    assert "Hollow marks are flagged figures." in chart.description
    assert "Hollow" not in draw_chart(table([10, 20, 30])).description


def test_an_axis_that_leaves_out_zero_says_so():
    assert (
        "The axis begins at 3,900, not at 0." in draw_chart(table([4000, 4500, 5000])).description
    )
    assert "not at 0" not in draw_chart(table([0, 4500, 5000])).description


def test_an_ordered_key_is_a_line_with_a_band_and_other_keys_stand_apart():
    keys = {"age": ["0", "10", "40", "not known"]}
    chart = draw_chart(table([30, 60, 50, 10], keys=keys), AGES)
    (line,) = shapes(chart, "path", "stroke-1")
    points = read_points(line)
    assert len(points) == 3
    steps = [after[0] - before[0] for before, after in pairwise(points)]
    assert steps[1] == pytest.approx(3 * steps[0], abs=0.2)  # places are those of the numbers
    (band,) = shapes(chart, "path", "interval")
    assert band.get("d").count("L") == 5
    assert len(shapes(chart, "circle", "bar")) == 4
    assert shapes(chart, "rect", "interval")  # of the key that is not on the line
    broken = draw_chart(
        table([30, None, 50, 60, 10], keys={"age": ["1", "2", "3", "4", "5"]}), AGES
    )
    assert len(shapes(broken, "path", "stroke-1")) == 2


def test_facets_of_a_few_rows_are_one_picture_with_a_mark_for_each():
    flags = ["ok"] * 3 + ["low_reliability"] + ["ok"] * 2
    made = table([10, 20, 30, 40, 50, 60], keys=cross_keys(3, 2), flags=flags)
    chart = draw_chart(made, NO_ORDER)
    assert chart.svg.count("<svg") == 1
    dots = [float(each.get("cx")) for each in shapes(chart, "circle", "bar")]
    squares = [float(each.get("x")) + 2.8 for each in shapes(chart, "rect", "mark-2")]
    (hollow,) = shapes(chart, "rect", "hollow")
    assert len(dots) == 3 + 1  # with the one of the legend
    assert squares[0] - dots[0] == pytest.approx((dots[1] - dots[0]) / 2, abs=0.2)
    assert float(hollow.get("x")) + 2.8 == pytest.approx(2 * dots[1] - squares[0], abs=0.2)
    texts = list_texts(chart)
    assert [text for text in texts if text[0] == "r"] == ["r0", "r1", "r2"]
    assert texts[-2:] == ["0", "10"]
    assert "Each age has its own mark, in the order of the lines below." in chart.description
    assert "panel" not in chart.description


def test_labels_take_the_room_that_they_need():
    def start(labels):
        chart = draw_chart(table([10, 20], keys={"key": labels}))
        return min(float(each.get("x1")) for each in shapes(chart, "line", "grid"))

    assert start(["Male", "Female"]) < 60
    assert 130 < start(["x" * 20, "y"]) < 160
    panels = draw_chart(table(list(range(0, 12)), keys=cross_keys(3, 4)), NO_ORDER)
    assert 'class="panels narrow"' in panels.svg


def test_codes_with_labels_are_no_line():
    made = table([30, 60, 50], keys={"age": ["1", "2", "3"]})
    assert choose_form(made, AGES).kind == "line"
    key, *figures = made.columns
    labels = {"1": "single", "2": "married", "3": "widowed"}
    coded = replace(key, names=ColumnNames(labels=labels))
    assert choose_form(OutputTable("t", (coded, *figures)), AGES).kind == "dots"
    some = replace(key, names=ColumnNames(labels={"3": "3 or more"}))
    assert choose_form(OutputTable("t", (some, *figures)), AGES).kind == "line"
    ages = replace(key, names=ColumnNames(labels=labels, bins=ColumnType.INTEGER))
    assert choose_form(OutputTable("t", (ages, *figures)), AGES).kind == "line"


def test_two_keys_are_facets_of_one_axis():
    chart = draw_chart(table(list(range(0, 12)), keys=cross_keys(3, 4)), NO_ORDER)
    assert isinstance(chart, Chart)
    assert chart.svg.count("<svg") == 3
    assert "Each region has its own panel; all panels have the same axis." in chart.description
    zeros = {each.get("x1") for each in shapes(chart, "line", "zero")}
    assert len(zeros) == 1
    assert choose_form(table(list(range(12)), keys=cross_keys(3, 4)), AGES).kind == "line"


def test_many_cells_of_two_keys_are_a_heat_table():
    keys = cross_keys(20, 12)
    values = list(range(-40, 200))
    flags = ["suppressed", *["ok"] * 239]
    heat = draw_chart(table([None, *values[1:]], keys=keys, flags=flags))
    assert isinstance(heat, HeatTable)
    assert heat.head[0] == "region \\ age"
    assert len(heat.rows) == 20
    cells = [cell for _, row in heat.rows for cell in row]
    assert len(cells) == 240
    assert cells[0][:3] == ("-", 0, True)
    assert "The line under a figure shows its size." in heat.description
    assert "The stronger a cell's colour" in heat.vega.content["description"]
    assert cells[-1][:3] == ("199", 100, False)
    assert cells[1].text == "\u221239"
    assert cells[1].size == -20
    assert draw_chart(table([1] * 2000, keys=cross_keys(50, 40))) is None


def test_rows_without_an_order_have_no_chart_beyond_forty():
    assert choose_form(table(list(range(40))), NO_ORDER).kind == "dots"
    assert choose_form(table(list(range(41))), NO_ORDER) is None
    days = {"age": [str(day) for day in range(700)]}
    assert choose_form(table(list(range(700)), keys=days), AGES).kind == "line"
    chart = draw_chart(table(list(range(700)), keys=days), AGES)
    assert chart.rows == ()
    assert chart.note == "All 700 rows are in t.csv."
    assert f'aria-label="{chart.description[:20]}' in chart.svg
    assert len(chart.svg) < 40_000


def quantiles(ranks, flags=None):
    rows = len(ranks)
    key = OutputColumn("key", "key", [f"k{at}" for at in range(rows)], "", type=ColumnType.STRING)
    columns = [key]
    for number in (25, 50, 97):
        name = f"m_q{number}" if number != 97 else "m_q97_5"
        columns += [
            OutputColumn(name, "integer", [number + at for at in range(rows)], "", 0, "m"),
            OutputColumn(f"{name}_noise_moe", "integer", [None] * rows, "", 0, "m"),
            OutputColumn(f"{name}_flag", "text", flags or [None] * rows, "", 0, "m"),
            OutputColumn(f"{name}_rank_moe", "integer", ranks, "", 0, "m"),
        ]
    return OutputTable("t", tuple(columns))


def test_quantiles_are_a_range_and_do_not_look_exact():
    chart = draw_chart(quantiles([17, 17, 1366], ["ok", "ok", "low_reliability"]))
    assert len(shapes(chart, "rect", "bar")) == 9
    assert len(shapes(chart, "rect", "interval")) == 2
    assert len(shapes(chart, "rect", "hollow")) == 1
    assert not shapes(chart, "circle", "bar")
    assert "the quantiles 25%, 50%, 97.5%" in chart.description
    assert (
        "the nearest that can be published to a value that may be off by 17 to 1,366 ranks; no "
        "interval" in chart.description
    )
    assert chart.head == ("key", "m_q25", "m_q50", "m_q97_5")
    assert chart.rows[0] == ("k0", "25", "50", "97")
    assert "off by up to 17 ranks;" in draw_chart(quantiles([17] * 3)).description
    single = OutputTable("t", quantiles([5] * 3).columns[:5])
    assert "off by up to 5 ranks" in draw_chart(single).description


def test_twelve_queries_and_five_thousand_rows_stay_small_and_quick():
    """The figures of a page take under half a second and under 400 kB."""
    days = {"age": [str(day) for day in range(365)]}
    tables = {
        f"t{number}.csv": table([7 * day % 900 for day in range(365)], keys=days)
        for number in range(8)
    }
    tables["by_age.csv"] = table(list(range(600)), keys=cross_keys(12, 50))
    tables["cells.csv"] = table(list(range(240)), keys=cross_keys(20, 12))
    tables["keys.csv"] = table(list(range(1000)))
    tables["facets.csv"] = table(list(range(240)), keys=cross_keys(6, 40) | {"b": ["x"] * 240})
    assert sum(each.rows for each in tables.values()) == 5_000
    ages = SimpleNamespace(name="age", type="integer", other=None, nulls=None)
    started = process_time()
    section = build_figures_section(tables, 95, "", [ages])
    page = render(Document("t", "f", "k", (), (section,), "o"))
    assert process_time() - started < 0.5
    assert len(page.encode()) < 400_000
    assert page.count("<figure") == 11
    assert page.count('<figure class="chart full"') == 3


def test_what_stands_beside_any_quantile_is_told_of_all_of_them():
    made = quantiles([17, 17])
    columns = {column.name: column for column in made.columns}
    columns["m_q50_flag"] = replace(columns["m_q50_flag"], values=["ok", "bounded low_reliability"])
    columns["m_q50_rank_moe"] = replace(columns["m_q50_rank_moe"], values=[92, 92])
    chart = draw_chart(OutputTable("t", tuple(columns.values())))
    assert len(shapes(chart, "rect", "hollow")) == 1
    assert "off by 17 to 92 ranks;" in chart.description
    bar, *strokes = chart.vega.content["layer"]
    assert len(strokes) == 3
    assert "m_q50_flag" in bar["encoding"]["fill"]["condition"]["test"]


def test_digits_worth_no_more_than_the_noise_are_pale():
    """The digit of a place is pale as soon as one of it is within the half-width."""

    def list_tails(values, halves, decimals=0):
        made = table(values, halves, decimals=decimals)
        texts = list_shown_texts(made, made.columns[1])
        return [text[len(text) - pale :] for text, pale in texts]

    assert list_tails([620, 96, -45, None], [15] * 4) == ["20", "96", "\u221245", ""]
    # ± 9 leaves tens, ± 10 does not; a separator is not pale before pale digits
    assert list_tails([620, 620], [9, 10]) == ["0", "20"]
    assert list_tails([19_987, 1_234], [999, 1_000]) == ["990", "1,230"]
    assert list_tails([726, 726], [18, 100], decimals=3) == ["26", "726"]
    made = table([620] * 2)
    assert [pale for _, pale in list_shown_texts(made, made.columns[2])] == [0, 0]


def test_intervals_that_are_cut_make_pale_what_their_longer_side_does():
    made = table([620] * 2)
    low = OutputColumn("v_low", "integer", [610, 520], "", 0, "v")
    high = OutputColumn("v_high", "integer", [621, 621], "", 0, "v")
    made = replace(made, columns=(*made.columns, low, high))
    assert [pale for _, pale in list_shown_texts(made, made.columns[1])] == [2, 3]


@pytest.mark.parametrize(
    ("halves", "told"), [([7] * 240, "Every cell ± 7."), ([3, *[7] * 239], "Cells ± 3 to ± 7.")]
)
def test_a_heat_table_says_the_noise_of_its_cells(halves, told):
    heat = draw_chart(table(list(range(240)), halves, keys=cross_keys(20, 12)))
    assert told in heat.description
    assert told not in heat.vega.content["description"]
