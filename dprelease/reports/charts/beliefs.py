"""What epsilon means: from the belief before to the belief after, as a band and in people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from textwrap import wrap

from dprelease.language import say
from dprelease.reports.charts.svg import WIDTH, Chart, Drawing, Scale, chart_of, near
from dprelease.reports.model.meaning_model import Beliefs
from dprelease.reports.text.shown_numbers import belief_text, headline, percent

STEP, REACH = 0.25, 6.0
"""Points lie so far apart in log odds, and so far out from where a belief is one half."""
LEGEND = 42  # letters in a line, which fit at the size of letters on a phone too
SIDE = 10.4  # from one person to the next
STYLES = ("band-1", "band-2")


def band_chart(tables: Sequence[Beliefs]) -> Chart:
    """Draw for every belief before how far it can move; one band for each table."""
    x_start, top, side = 46.0, 12.0, 290.0
    across, up = Scale(0, 1, x_start, x_start + side), Scale(0, 1, top + side * 0.8, top)
    bottom = up.start
    legend = [
        wrap(
            say("charts.beliefs.line", epsilon=headline(table.epsilon), about=table.about),
            LEGEND,
        )
        for table in tables[:2]
    ]
    drawing = Drawing(bottom + 44 + 15 * sum(map(len, legend)))
    for tenth in (0, 25, 50, 75, 100):
        share = tenth / 100
        drawing.line((x_start, up.at(share)), (x_start + side, up.at(share)), "grid")
        drawing.text(x_start - 6, up.at(share) + 4, percent(share), anchor="end")
        drawing.text(across.at(share), bottom + 14, percent(share), anchor="middle")
    for place, table in reversed(list(enumerate(tables[:2]))):
        drawing.path(_band(across, up, float(table.epsilon)), STYLES[place], closed=True)
    drawing.path([(across.at(0), up.at(0)), (across.at(1), up.at(1))], "rule dash")
    drawing.text(x_start + side / 2, bottom + 29, say("charts.beliefs.axes"), anchor="middle")
    y = bottom + 48
    for place, lines in enumerate(legend):
        drawing.box((x_start, y - 9), (12, 10), STYLES[place])
        for line in lines:
            drawing.text(x_start + 18, y, line)
            y += 15
    description = say("charts.beliefs.description") + " ".join(
        say(
            "charts.beliefs.from_half",
            about=table.about,
            least=belief_text(_at(table, 0.5)[0]),
            greatest=belief_text(_at(table, 0.5)[1]),
        )
        for table in tables
    )
    rows = [
        (table.about, *map(belief_text, (row.prior, row.posterior_low, row.posterior_high)))
        for table in tables
        for row in table.rows
    ]
    head = (
        say("charts.beliefs.columns.about"),
        say("charts.beliefs.columns.before"),
        say("charts.beliefs.columns.least"),
        say("charts.beliefs.columns.greatest"),
    )
    return chart_of(
        (("", drawing),), "chart-beliefs", say("charts.beliefs.title"), description, head, rows
    )


def most(epsilon: float) -> list[tuple[float, float]]:
    """List beliefs before with the greatest belief after, dense wherever one of them changes.

    Straight lines between them run below the true curve by less than 0.3 points of a hundred.
    """
    steps = [STEP * count for count in range(round(-REACH / STEP), round(REACH / STEP) + 1)]
    odds = sorted({about + step for about in (-epsilon, 0.0) for step in steps})
    return [(0.0, 0.0), *((_share(x), _share(x + epsilon)) for x in odds), (1.0, 1.0)]


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(min(-log_odds, 700.0)))


def _band(across: Scale, up: Scale, epsilon: float) -> list[tuple[float, float]]:
    """Outline what a belief can move to, rounded outward: steep curves would look safer else."""
    above = most(epsilon)
    upper = [(_floor(across.at(before)), _floor(up.at(after))) for before, after in above]
    # the least belief after is one less the greatest of the opposite
    lower = [(_ceil(across.at(1 - before)), _ceil(up.at(1 - after))) for before, after in above]
    return [point for point, _ in groupby([*upper, *lower])]


def _floor(place: float) -> float:
    return math.floor(place * 10 + 1e-6) / 10


def _ceil(place: float) -> float:
    return math.ceil(place * 10 - 1e-6) / 10


def _at(table: Beliefs, prior: float) -> tuple[float, float]:
    row = next(row for row in table.rows if row.prior == prior)
    return row.posterior_low, row.posterior_high


def people_chart(table: Beliefs, number: int, prior: float = 0.1) -> Chart:
    """Draw one belief before, and the bounds of it after, as people out of a hundred."""
    # the decimals as written: of floats, 0.07 of 100 is a little more than 7
    low, high = (Fraction(str(share)) * 100 for share in _at(table, prior))
    marked = (round(prior * 100), math.floor(low), math.ceil(high))
    labels = (
        say("charts.beliefs.columns.before"),
        say("charts.people.columns.at_least"),
        say("charts.people.columns.at_most"),
    )
    drawing = Drawing(10 * SIDE + 40)
    gap = (WIDTH - 3 * 10 * SIDE) / 4
    for place, (count, label) in enumerate(zip(marked, labels, strict=True)):
        x = gap + place * (10 * SIDE + gap)
        hundred(drawing, (x, 4), count)
        drawing.text(
            x + 5 * SIDE,
            10 * SIDE + 20,
            say("charts.people.of_hundred", count=count),
            "t b",
            "middle",
        )
        drawing.text(x + 5 * SIDE, 10 * SIDE + 34, label, anchor="middle")
    said = (
        say("charts.people.but_for_rare_outcomes")
        if table.delta
        else say("charts.people.whatever_it_says")
    )
    description = say(
        "charts.people.description",
        before=marked[0],
        condition=said,
        least=marked[1],
        greatest=marked[2],
    )
    rows = [(label, str(count)) for count, label in zip(marked, labels, strict=True)]
    title, head = (
        say("charts.people.title", about=table.about),
        (say("charts.people.columns.belief"), say("charts.people.columns.in_hundred")),
    )
    return chart_of((("", drawing),), f"chart-people-{number}", title, description, head, rows)


def hundred(drawing: Drawing, corner: tuple[float, float], marked: int) -> None:
    """Draw a hundred people, row by row; the first ``marked`` stand out, by size too."""
    x, y = corner
    for style, places in (("p-on", range(marked)), ("p-off", range(marked, 100))):
        outlines = [
            _person(x + SIDE * (place % 10), y + SIDE * (place // 10), style == "p-on")
            for place in places
        ]
        if outlines:
            drawing.shape("".join(outlines), style)


def _person(x: float, y: float, marked: bool) -> str:
    """Draw a head and shoulders, or a dot of the same place."""
    cx, cy = near(x + SIDE / 2), y + 2.8
    if not marked:
        return f"M{cx} {near(cy + 2.2)}m-1.6 0a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0z"
    head = f"M{cx} {near(cy)}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0z"
    return f"{head}M{near(x + SIDE / 2 - 3.6)} {near(y + 9.6)}v-1.4a3.6 2.8 0 0 1 7.2 0v1.4z"
