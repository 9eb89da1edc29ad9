"""What charts draw is what the facts say."""

import math
import re
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist, fmean
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from pages import list_texts, read_points, shapes

from dprelease.model import OutputColumn
from dprelease.model.outputs import get_ending
from dprelease.reports.charts.beliefs import draw_band_chart, draw_people_chart
from dprelease.reports.charts.budget_chart import (
    draw_budget_chart,
    draw_ledger_chart,
    draw_spending_chart,
    list_payments,
)
from dprelease.reports.charts.forms import Band, Estimate, draw_line_with_band
from dprelease.reports.charts.noises import (
    draw_dots_chart,
    draw_error_chart,
    find_falling,
    has_dots,
    list_twenty_noises,
)
from dprelease.reports.charts.svg import (
    Drawing,
    Scale,
    build_chart,
    cut,
    fit_linear_scale,
    fix,
    write_short,
)
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.facts.unit_facts import compute_posterior
from dprelease.reports.model.report_model import (
    Belief,
    Beliefs,
    Cap,
    Charge,
    Column,
    ComposedTotals,
    ExampleHalfwidth,
    Ledger,
    Query,
    Sensitivity,
    Shares,
    Spent,
    Threshold,
)
from dprelease.reports.sections.document import Group
from dprelease.reports.sections.figures_section import iter_first_rows
from dprelease.reports.sections.guarantee_section import build_meaning_section


def test_names_of_pictures_and_numbers_of_coordinates():
    drawing = Drawing(10)
    drawing.write_text(1 / 3, -0.01, "<a> & \x00", "t")
    svg = build_chart((("", drawing),), "c", "t", "d <", (), ()).svg
    assert '<text class="t" x="0.3" y="0">&lt;a&gt; &amp; \ufffd</text>' in svg
    assert ElementTree.fromstring(svg).get("aria-hidden") == "true"
    told = build_chart((("", drawing),), "c", "t", "d <", (), (), "what is shown in its place").svg
    assert ElementTree.fromstring(told).get("aria-label") == "d <"
    assert [fix(each) for each in (1.04, 2.0, -0.04, 12.36)] == ["1", "2", "0", "12.4"]
    assert cut("a  b", 9) == "a b"
    assert cut("abcdef", 4) == "abc…"
    assert cut("南部地区健康", 9) == "南部地区…"
    assert cut("स्वास्थ्य", 9) == "स्वास्थ्य"


def test_an_axis_may_start_where_the_values_do():
    scale = fit_linear_scale([4100.0, 4300.0], 0, 100, zero=False)
    assert (scale.low, scale.high) == (4100, 4300)
    assert fit_linear_scale([-109.0, 9_900.0], 0, 100, 4, zero=False).low == -1000
    near = fit_linear_scale([1_000_000.0, 1_000_200.0], 0, 100, zero=False)
    assert len({label for _, label in near.ticks}) == len(near.ticks)


def test_the_first_and_last_names_below_a_line_are_whole():
    labels = ["Jan. bis März 2025", "Apr. bis Juni 2025", "Okt. bis Dez. 2025"]
    rows = [Estimate(label, 1.0, (0.5, 1.5)) for label in labels]
    drawing = draw_line_with_band(Band(rows, [0.0, 0.5, 1.0], []), Scale(0, 2, 0, 1))
    names = [part for part in drawing.parts if "bis" in part]
    assert [label for label in labels if any(f">{label}<" in name for name in names)] == [
        labels[0], labels[-1],
    ]  # fmt: skip


def test_axes_hold_zero_and_every_value():
    for values in ([3.0], [-2.0, 5.0], [1e6, 2e6], [0.0], [-0.001], [1e-9, 1e12]):
        scale = fit_linear_scale(values, 0, 100)
        assert scale.low <= min(0, *values) <= max(0, *values) <= scale.high
        assert 0 in [value for value, _ in scale.ticks]
        assert 2 <= len(scale.ticks) <= 8
    assert [write_short(each) for each in (0, 1500, 20_000, -2e6, 0.05)] == [
        "0",
        "1,500",
        "20k",
        "\u22122M",
        "0.05",
    ]


@pytest.fixture
def facts(planned):
    return collect_plan_facts(
        planned(
            {"name": "visits", "statistic": "count", "by": ["region"], "epsilon": Fraction(3, 4)},
            {"name": "wait", "statistic": "mean", "column": "days", "epsilon": Fraction(1, 4)},
        )
    )


def test_budget_bars_are_in_proportion(facts):
    chart = draw_budget_chart(facts.queries, facts.accounting)
    bars = [float(bar.get("width")) for bar in shapes(chart, "rect", "bar")]
    assert bars == [270, 90]  # of 360: against the whole
    assert chart.description.startswith(
        "2 parts make up the budget. The largest, visits, takes 75%"
    )
    assert chart.rows == (("visits", "0.75", "75%"), ("wait", "0.25", "25%"))


def test_what_is_shared_is_paid_once(facts):
    query = facts.queries[0]
    shared = [replace(query, name=name, shares=Shares(release="a", with_=())) for name in "ab"]
    assert list_payments([*shared, query], "basic")[1] == [("a + b", 0.75), ("visits", 0.75)]
    many = [replace(query, name=str(number)) for number in range(30)]
    chart = draw_budget_chart(many, facts.accounting)
    assert len(shapes(chart, "rect", "bar")) == 12
    assert "19 more" in chart.svg
    assert len(chart.rows) == 30
    assert "The largest, 0, takes 3.33% of their sum" in chart.description
    alone = draw_budget_chart(many[:1], facts.accounting)
    assert alone.description == "Only 0 costs privacy: epsilon 1."


LEDGER = Ledger(
    dataset="d",
    entry=4,
    before=Spent(epsilon=1.0, delta=0),
    after=Spent(epsilon=3.0, delta=0),
    cap=Cap(epsilon=4, delta=None),
    history=(
        Charge(entry=1, at="2026-01-01T00:00:00+00:00", epsilon=1),
        Charge(entry=4, at="2026-03-01T00:00:00+00:00", epsilon=3),
    ),
)


def test_the_ledger_bar():
    chart = draw_ledger_chart(LEDGER)
    before, added = shapes(chart, "rect", "bar quiet")[0], shapes(chart, "rect", "bar")[0]
    assert [float(before.get("width")), float(added.get("x")), float(added.get("width"))] == [
        90,
        90,
        180,
    ]
    assert [row[1] for row in chart.rows] == ["1", "2", "1 of 4"]
    free = draw_ledger_chart(replace(LEDGER, cap=Cap(epsilon=None, delta=None)))
    assert free.rows[2][1] == "no cap"
    composed = ComposedTotals(before=Spent(epsilon=0.5, delta=0), after=Spent(epsilon=1.5, delta=0))
    assert draw_ledger_chart(replace(LEDGER, composed=composed)).rows[1][1] == "1"


def test_epsilon_over_time():
    chart = draw_spending_chart(LEDGER)
    assert [row[2] for row in chart.rows] == ["1", "3"]
    (line,) = shapes(chart, "path", "stroke-1")
    assert line.get("d").count("L") == 5
    assert draw_spending_chart(replace(LEDGER, history=())) is None
    odd = [Charge(entry=at, at="now", epsilon=at) for at in range(1, 6)]
    assert len(draw_spending_chart(replace(LEDGER, history=tuple(odd))).rows) == 5


def test_a_few_days_are_no_time_to_draw():
    def draw(last):
        times = ("2026-01-01T09:00:00+00:00", f"2026-01-{last}+00:00")
        history = [Charge(entry=at, at=time, epsilon=at) for at, time in enumerate(times, 1)]
        return draw_spending_chart(replace(LEDGER, history=tuple(history)))

    assert draw("04T08:59:59") is None
    texts = list_texts(draw("04T09:00:00"))
    assert "this release" in texts


def test_beliefs_are_those_of_the_tables(facts):
    first, second = facts.meaning.beliefs
    chart = draw_band_chart([first, second])
    (band,) = shapes(chart, "path", "band-1")
    points = read_points(band)
    low, high = compute_posterior(0.5, 1.0)
    by_prior = [point[1] for point in points if point[0] == pytest.approx(46 + 145)]
    assert by_prior == [pytest.approx(12 + 232 * (1 - each), abs=0.11) for each in (high, low)]
    people = draw_people_chart(first, 1)
    assert "in at least 3 and at most 24 of 100" in people.description
    for style in ("p-on", "p-body"):
        assert list(map(count_people, shapes(people, "path", style))) == [10, 3, 24]
    assert list(map(count_people, shapes(people, "path", "p-off"))) == [90, 97, 76]


def count_people(shape):
    """How many marks a picture of a hundred people has: its style breaks lines after each."""
    lengths = [float(length) for length in re.findall(r"h([\d.]+)", shape.get("d"))]
    return sum(int(length // 10.4 + 1) for length in lengths)


def test_beliefs_are_told_as_they_were_bounded(facts):
    """Bounds were rounded outward: near certainty they are not rounded again, to the nearest."""
    near = facts.meaning.beliefs[0].rows[2]
    row = replace(near, posterior_low=0.00027, posterior_high=0.99973)
    whole = facts.meaning.beliefs[0]
    table = replace(whole, rows=tuple(row if each is near else each for each in whole.rows))
    meaning = replace(facts.meaning, beliefs=(table, table))
    parts = build_meaning_section(replace(facts, meaning=meaning)).parts
    (overview,) = [part for part in parts if isinstance(part, Group)]
    _, beliefs = overview.parts[0].parts
    assert ("50%", *["0.027% to 99.973%"] * 2) in beliefs.rows


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 5, 10, 20])
def test_the_drawn_band_holds_the_true_one_and_little_more(epsilon):
    row = Belief(prior=0.5, posterior_low=0, posterior_high=1)
    table = Beliefs(about="a", epsilon=epsilon, delta=0, rows=(row,))
    (band,) = shapes(draw_band_chart([table]), "path", "band-1")
    drawn = read_points(band)
    points = [((x - 46) / 290, (244 - y) / 232) for x, y in drawn]
    corner = points.index((1, 1))
    upper, lower = points[: corner + 1], points[corner:][::-1]
    priors = [1 / (1 + math.exp(-each / 20)) for each in range(-500, 501)]
    for prior in priors:
        low, high = compute_posterior(prior, epsilon)
        assert read_line_at(upper, prior) > high - 0.005
        assert read_line_at(lower, prior) < low + 0.005
    for side, place in ((upper, 1), (lower, 0)):
        middles = [tuple(map(fmean, zip(*ends, strict=True))) for ends in pairwise(side)]
        for x, y in [*side[1:-1], *middles]:
            up_or_down = abs(y - compute_posterior(x, epsilon)[place]) if 0 < x < 1 else 1
            aside = abs(x - compute_posterior(y, epsilon)[1 - place]) if 0 < y < 1 else 1
            assert min(up_or_down, aside) < 0.005


def read_line_at(line, x):
    """Read a line of points at a place; where it stands upright, its end."""
    after = next(
        place for place, point in enumerate(line) if point[0] > x or place + 1 == len(line)
    )
    (x0, y0), (x1, y1) = line[after - 1], line[after]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0) if x1 > x0 else y1


def test_a_long_legend_is_wrapped(facts):
    about = "what the person's rows say, if they are in the table, of anything that it holds"
    table = replace(facts.meaning.beliefs[0], epsilon=10, about=about)
    chart = draw_band_chart([table, table])
    said = list_texts(chart)
    assert max(map(len, said)) <= 42
    assert " ".join(said).count(f"epsilon 10: {about}") == 2
    height = float(ElementTree.fromstring(chart.svg).find(".//svg").get("viewBox").split()[3])
    lowest = max(float(e.get("y")) for e in ElementTree.fromstring(chart.svg).iter("text"))
    assert lowest + 4 <= height


def test_people_are_counted_without_dust():
    for low, high in ((0.29, 0.57), (0.07, 0.14), (0.58, 0.55), (0.001, 0.9999)):
        told = Belief(prior=0.1, posterior_low=low, posterior_high=high)
        chart = draw_people_chart(Beliefs(about="a", epsilon=1, delta=0, rows=(told,)), 1)
        counts = math.floor(round(low * 1e4) / 100), math.ceil(round(high * 1e4) / 100)
        assert list(map(count_people, shapes(chart, "path", "p-on"))) == [
            count for count in (10, *counts) if count
        ]


NONE = dict.fromkeys(
    [
        "column",
        "where",
        "cells",
        "candidates",
        "shares",
        "rho",
        "denominator",
        "threshold",
        "accuracy",
        "meaningful_from",
        "example_halfwidth",
    ]
)
QUERY = Query(
    name="q", statistic="count", table="t", by=(), form="numbers", mechanism="laplace", epsilon=1,
    epsilon_exact="1", delta=0, sensitivity=Sensitivity(l1=1, l2=1, of="figures", derivation=""),
    scale=1, granularity=1, noise_halfwidth=10, expected_error="", explained=(), **NONE,
)  # fmt: skip


def query(**facts):
    return replace(QUERY, **facts)


def bounds(name, lower, upper):
    return Column(
        name=name, type="number", lower=lower, upper=upper, step=1, step_chosen_by_tool=False,
        keys=None, key_list=None, private_keys=False, bins=None, other=None, nulls="drop",
        expression=None, source=None,
    )  # fmt: skip


@pytest.mark.parametrize("scale", [0.3, 1, 5, 400])
def test_twenty_results_of_laplace_noise_are_its_quantiles(scale):
    values = list_twenty_noises(query(mechanism="laplace", scale=scale))
    stay = math.exp(-1 / scale)
    assert values == sorted(values)
    for place, value in enumerate(values[10:], 10):
        share = (2 * place + 1) / 40
        above = [stay ** (k + 1) / (1 + stay) for k in (value, value - 1)]
        assert 1 - above[0] >= share - 1e-9
        assert value == 0 or 1 - above[1] < share + 1e-9
        assert values[19 - place] == -value


@pytest.mark.parametrize("scale", [0.4, 3, 29, 200])
def test_twenty_results_of_gaussian_noise(scale):
    values = list_twenty_noises(query(mechanism="gaussian", scale=scale * 0.5, granularity=0.5))
    assert all(float(value / 0.5).is_integer() for value in values)
    weights = {k: math.exp(-((k / scale) ** 2) / 2) for k in range(-2000, 2001)}
    whole = sum(weights.values())
    for place, value in enumerate(values[10:], 10):
        reached = sum(weight for k, weight in weights.items() if k <= value / 0.5) / whole
        before = sum(weight for k, weight in weights.items() if k < value / 0.5) / whole
        slack = 0.004 if scale > 30 else 1e-9
        assert before - slack <= (2 * place + 1) / 40 <= reached + slack
    assert NormalDist().inv_cdf(0.975) * scale == pytest.approx(values[-1] / 0.5, abs=1)


@pytest.mark.parametrize(("scale", "stair", "first"), [(25, 100, 20), (2, 3, 1), (20, 7, 7)])
def test_twenty_results_on_stairs(scale, stair, first):
    values = list_twenty_noises(
        query(mechanism="staircase", scale=scale * 0.5, granularity=0.5, stairs=(stair, first))
    )
    levels = [(abs(k) + stair - first) // stair for k in range(-9000, 9001)]
    weights = [math.exp(-stair / scale) ** level for level in levels]
    whole, reached, expected = math.fsum(weights), 0.0, []
    for k, weight in zip(range(-9000, 9001), weights, strict=True):
        reached += weight / whole
        while len(expected) < 20 and reached >= (2 * len(expected) + 1) / 40 - 1e-12:
            expected.append(k * 0.5)
    assert values[10:] == expected[10:]
    assert values == [-value for value in reversed(values)]
    assert has_dots(query(mechanism="staircase", scale=scale, stairs=(stair, first)))


def test_dots_stand_where_the_results_are_and_nowhere_else():
    plain = query(mechanism="laplace", scale=5)
    chart = draw_dots_chart([plain, query(mechanism="exponential", scale=5)], 95)
    assert len(shapes(chart, "circle", "dot")) == 20
    assert len(chart.rows) == 1
    assert chart.rows[0][1].count(",") == 19
    shares, threshold = Shares(release="a", with_=()), Threshold(at_least=9, delta=0)
    for other in (
        {"shares": shares}, {"threshold": threshold}, {"statistic": "mean"}, {"scale": 0}
    ):  # fmt: skip
        assert not has_dots(replace(plain, **other))
    assert draw_dots_chart([query(mechanism="none", scale=0)], 95) is None


def test_errors_fall_with_the_size_of_a_group(facts):
    columns = [bounds("pay", -10.0, 100.0)]
    lines = find_falling(
        [
            query(),
            query(name="twin"),
            query(name="s", statistic="sum", column="pay", noise_halfwidth=500),
            query(name="m", statistic="mean", column="pay", noise_halfwidth=None,
                  example_halfwidth=ExampleHalfwidth(values=1000, halfwidth=0.5)),
            query(name="none", statistic="median", noise_halfwidth=None),
        ],
        columns,
    )  # fmt: skip
    found = [(line.names, line.share) for line in lines]
    assert sorted(found) == [(("m",), 10), (("q", "twin"), 10), (("s",), 10)]
    chart = draw_error_chart([query()], columns, "people")
    assert chart.rows[0][2:] == ("10%", "1%", "0.1%", "0.01%")
    (line,) = shapes(chart, "path", "stroke-1")
    ends = read_points(line)
    assert ends == [(46, 10), (pytest.approx(289.2), 210)]
    assert draw_error_chart([query(noise_halfwidth=None)], columns, "people") is None


def test_a_long_name_leaves_room_for_what_stands_beside_it():
    """At the size of letters on a phone, where one takes about half of it."""
    name = "a_very_long_name_of_a_query_that_goes_on_and_on"
    chart = draw_error_chart([query(name=name, noise_halfwidth=70.4)], [], "people")
    said = list_texts(chart)
    first, *rest = [each for each in said if "_" in each]
    (share,) = [each for each in said if each.endswith("at 1,000")]
    assert f"{first}{''.join(rest)}".replace(" ", "") == f"1{name}"
    widest = max(map(len, (first, *rest))) + len(share)
    assert widest * 12.3 * 0.53 <= 360 - 10 - 46 - 28


def test_the_name_of_a_cap_is_not_cut_at_the_top():
    root = ElementTree.fromstring(draw_spending_chart(LEDGER).svg)
    texts = list(root.iter("text"))
    assert any(each.text.startswith("cap ") for each in texts)
    assert min(float(each.get("y")) for each in texts) >= 12.3


def test_shares_of_an_error_are_rounded_up():
    chart = draw_error_chart([query(noise_halfwidth=12.34)], [], "people")
    assert chart.rows[0][2:] == ("13%", "1.3%", "0.13%", "0.013%")
    assert "1.3% at 1,000" in chart.svg


def test_sizes_are_named_for_what_is_counted():
    def axis(*statistics):
        queries = [query(name=each, statistic=each) for each in statistics]
        chart = draw_error_chart(queries, [], "people")
        return next(t for t in list_texts(chart) if t.endswith("in the group")), chart.rows

    assert axis("count")[0] == "records in the group"
    assert axis("count_units")[0] == "people in the group"
    named, rows = axis("count", "count_units", "count_distinct")
    assert named == "records, people or different values in the group"
    assert [row[1] for row in rows] == [
        "of the count of records",
        "of the count of people",
        "of the count of different values",
    ]


def test_at_most_five_lines_stand_apart_and_all_are_named():
    halves = [10, 10, 10.5, 11, 20, 21, 40, 80, 160, 320, 640]
    queries = [query(name=f"q{at}", noise_halfwidth=half) for at, half in enumerate(halves)]
    chart = draw_error_chart(queries, [], "people")
    drawn = [each for n in range(1, 6) for each in shapes(chart, "path", f"stroke-{n}")]
    assert len(drawn) + len(shapes(chart, "path", "stroke-1 dash")) == 5
    assert "q0, q1" in chart.svg
    left_out = chart.note.partition("Not drawn")[2]
    assert all(f"q{at}" in left_out or f"q{at}" in chart.svg for at in range(11))
    assert "q2" in left_out
    assert len(chart.rows) == 10
    near = draw_error_chart(queries[:4], [], "people")
    assert len(shapes(near, "circle", "badge")) == 1
    many = [query(name=f"q{at}", noise_halfwidth=10 + at / 10) for at in range(60)]
    assert " more" in draw_error_chart(many, [], "people").note


def test_shown_half_widths_are_rounded_up():
    column = OutputColumn("v", "number", [9_414_854], "", 6, "v")
    half = OutputColumn("v_noise_moe", "number", [414_854], "", 6, "v")
    assert list(iter_first_rows([column, half], 1)) == [("9.41", "0.42")]
    exact = OutputColumn("v_noise_moe", "number", [410_000], "", 6, "v")
    assert list(iter_first_rows([column, exact], 1)) == [("9.41", "0.41")]


def test_decimals_of_a_page_take_steps_in_proportion_to_columns(monkeypatch):
    looks = []

    def count_look(column, query):
        looks.append(column)
        return get_ending(column, query)

    monkeypatch.setattr("dprelease.model.outputs.get_ending", count_look)

    def count_looks(figures):
        columns = [
            OutputColumn(f"{figure}{ending}", "number", [9_414_854], "", 6, figure)
            for figure in (f"v{at}" for at in range(figures))
            for ending in ("", "_noise_moe")
        ]
        looks.clear()
        list(iter_first_rows(columns, 1))
        return len(looks)

    assert count_looks(200) == 10 * count_looks(20)
