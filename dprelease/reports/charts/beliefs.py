"""What epsilon means: from the belief before to the belief after, as a band and in people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from textwrap import wrap

from dprelease.language import say
from dprelease.reports.charts.svg import WIDTH, Chart, Drawing, Scale, build_chart, fix
from dprelease.reports.model.report_model import Beliefs
from dprelease.reports.text.shown_numbers import write_headline, write_percent

STEP, REACH = 0.25, 6.0
"""Points lie so far apart in log odds, and so far out from where a belief is one half."""
LEGEND = 42  # letters in a line, which fit at the size of letters on a phone too
DRAWN_PRIOR = 0.1  # the belief that is drawn in people
SIDE = 10.4  # from one person to the next
STYLES = ("band-1", "band-2")


def draw_band_chart(tables: Sequence[Beliefs]) -> Chart:
    """Draw for every belief before how far it can move; one band for each table."""
    x_start, top, side = 46.0, 12.0, 290.0
    across, up = Scale(0, 1, x_start, x_start + side), Scale(0, 1, top + side * 0.8, top)
    bottom = up.start
    legend = [
        wrap(
            say("charts.beliefs.line", epsilon=write_headline(table.epsilon), about=table.about),
            LEGEND,
        )
        for table in tables[:2]
    ]
    drawing = Drawing(bottom + 44 + 15 * sum(map(len, legend)))
    for tenth in (0, 25, 50, 75, 100):
        share = tenth / 100
        drawing.draw_line((x_start, up.place(share)), (x_start + side, up.place(share)), "grid")
        drawing.write_text(x_start - 6, up.place(share) + 4, write_percent(share), anchor="end")
        drawing.write_text(across.place(share), bottom + 14, write_percent(share), anchor="middle")
    for place, table in reversed(list(enumerate(tables[:2]))):
        drawing.draw_path(
            _outline_band(across, up, float(table.epsilon)), STYLES[place], closed=True
        )
    drawing.draw_path([(across.place(0), up.place(0)), (across.place(1), up.place(1))], "rule dash")
    drawing.write_text(x_start + side / 2, bottom + 29, say("charts.beliefs.axes"), anchor="middle")
    y = bottom + 48
    for place, lines in enumerate(legend):
        drawing.draw_box((x_start, y - 9), (12, 10), STYLES[place])
        for line in lines:
            drawing.write_text(x_start + 18, y, line)
            y += 15
    description = say("charts.beliefs.description")
    # a table beside it has its numbers
    return build_chart((("", drawing),), "chart-beliefs", say("charts.beliefs.title"), description)


def list_greatest(epsilon: float) -> list[tuple[float, float]]:
    """List beliefs before with the greatest belief after, dense wherever one of them changes.

    Straight lines between them run below the true curve by less than 0.3 points of a hundred.
    """
    steps = [STEP * count for count in range(round(-REACH / STEP), round(REACH / STEP) + 1)]
    odds = sorted({about + step for about in (-epsilon, 0.0) for step in steps})
    return [(0.0, 0.0), *((_share(x), _share(x + epsilon)) for x in odds), (1.0, 1.0)]


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(min(-log_odds, 700.0)))


def _outline_band(across: Scale, up: Scale, epsilon: float) -> list[tuple[float, float]]:
    """Outline what a belief can move to, rounded outward: steep curves would look safer else."""
    above = list_greatest(epsilon)
    upper = [
        (_round_down(across.place(before)), _round_down(up.place(after))) for before, after in above
    ]
    # the least belief after is one less the greatest of the opposite
    lower = [
        (_round_up(across.place(1 - before)), _round_up(up.place(1 - after)))
        for before, after in above
    ]
    return [point for point, _ in groupby([*upper, *lower])]


def _round_down(place: float) -> float:
    return math.floor(place * 10 + 1e-6) / 10


def _round_up(place: float) -> float:
    return math.ceil(place * 10 - 1e-6) / 10


def draw_people_chart(table: Beliefs, number: int) -> Chart:
    """Draw one belief before, and the bounds of it after, as people out of a hundred."""
    # the decimals as written: of floats, 0.07 of 100 is a little more than 7
    row = table.get_row(DRAWN_PRIOR)
    low, high = (Fraction(str(end)) * 100 for end in (row.posterior_low, row.posterior_high))
    marked = (round(DRAWN_PRIOR * 100), math.floor(low), math.ceil(high))
    labels = (
        say("charts.beliefs.columns.before"),
        say("charts.people.columns.at_least"),
        say("charts.people.columns.at_most"),
    )
    drawing = Drawing(10 * SIDE + 40)
    gap = (WIDTH - 3 * 10 * SIDE) / 4
    for place, (count, label) in enumerate(zip(marked, labels, strict=True)):
        x = gap + place * (10 * SIDE + gap)
        draw_hundred(drawing, (x, 4), count)
        drawing.write_text(
            x + 5 * SIDE,
            10 * SIDE + 20,
            say("charts.people.of_hundred", count=count),
            "b",
            "middle",
        )
        drawing.write_text(x + 5 * SIDE, 10 * SIDE + 34, label, anchor="middle")
    note = (
        say("charts.people.but_for_rare_outcomes")
        if table.delta
        else say("charts.people.whatever_it_says")
    )
    description = say(
        "charts.people.description",
        before=marked[0],
        condition=note,
        least=marked[1],
        greatest=marked[2],
    )
    title = say("charts.people.title", about=table.about)
    return build_chart((("", drawing),), f"chart-people-{number}", title, description)


def draw_hundred(drawing: Drawing, corner: tuple[float, float], marked: int) -> None:
    """Draw a hundred people, row by row; the first ``marked`` stand out, by size too.

    A row is one line, which its style breaks into dots: heads, with shoulders below, or points.
    """
    x, y = corner
    heads, shoulders, points = list[str](), list[str](), list[str]()
    for row in range(10):
        told = min(max(marked - 10 * row, 0), 10)
        middle = x + SIDE / 2
        if told:
            heads.append(_draw_row(middle, y + SIDE * row + 2.8, told))
            shoulders.append(_draw_row(middle - 1.7, y + SIDE * row + 7.6, told, 3.4))
        if told < 10:
            points.append(_draw_row(middle + SIDE * told, y + SIDE * row + 5, 10 - told))
    for style, lines in (("p-on", heads), ("p-body", shoulders), ("p-off", points)):
        if lines:
            drawing.draw_shape("".join(lines), style)


def _draw_row(x: float, y: float, number: int, width: float = 0.1) -> str:
    """Draw a line from the first of so many marks through the last one."""
    return f"M{fix(x)} {fix(y)}h{fix(SIDE * (number - 1) + width)}"
