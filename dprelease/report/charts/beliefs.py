"""What epsilon means: from the belief before to the belief after, as a band and in people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dprelease.report.charts.drawing import WIDTH, Chart, Drawing
from dprelease.report.charts.people import SIDE, hundred
from dprelease.report.charts.scales import Scale
from dprelease.report.meaning import posterior
from dprelease.report.numbers import written

POINTS = 40
STYLES = ("band-1", "band-2")


def percent(share: float) -> str:
    """Write a share in percent as the tables of beliefs do."""
    return f"{share * 100:.4g}%"


def band_chart(tables: Sequence[Mapping[str, Any]]) -> Chart:
    """Draw for every belief before how far it can move; one band for each table."""
    left, top, side = 46.0, 12.0, 290.0
    across, up = Scale(0, 1, left, left + side), Scale(0, 1, top + side * 0.8, top)
    bottom = up.start
    drawing = Drawing(bottom + 44 + 15 * len(tables))
    for tenth in (0, 25, 50, 75, 100):
        share = tenth / 100
        drawing.line((left, up.at(share)), (left + side, up.at(share)), "grid")
        drawing.text(left - 6, up.at(share) + 4, f"{tenth}%", "t s", "end")
        drawing.text(across.at(share), bottom + 14, f"{tenth}%", "t s", "middle")
    for place, table in reversed(list(enumerate(tables[:2]))):
        drawing.path(_band(across, up, float(table["epsilon"])), STYLES[place], closed=True)
    drawing.path([(across.at(0), up.at(0)), (across.at(1), up.at(1))], "rule dash")
    drawing.text(
        left + side / 2, bottom + 29, "belief before (across), after (up)", "t s", "middle"
    )
    for place, table in enumerate(tables[:2]):
        y = bottom + 48 + 15 * place
        drawing.box((left, y - 9), (12, 10), STYLES[place])
        drawing.text(left + 18, y, f"epsilon {written(table['epsilon'])}: {table['about']}", "t s")
    title = "How far a belief can move"
    description = (
        "For each belief before the release, the least and the greatest belief after it. "
        + " ".join(
            f"Of {table['about']}: from 50% to between {percent(_at(table, 0.5)[0])} and "
            f"{percent(_at(table, 0.5)[1])}."
            for table in tables
        )
    )
    rows = tuple(
        (
            str(table["about"]),
            percent(row["prior"]),
            percent(row["posterior_low"]),
            percent(row["posterior_high"]),
        )
        for table in tables
        for row in table["rows"]
    )
    head = ("belief about", "before", "least after", "greatest after")
    name = "chart-beliefs"
    return Chart(name, title, description, drawing.finish(name, title, description), head, rows)


def _band(across: Scale, up: Scale, epsilon: float) -> list[tuple[float, float]]:
    priors = [count / POINTS for count in range(POINTS + 1)]
    bounds = [posterior(prior, epsilon) if 0 < prior < 1 else (prior, prior) for prior in priors]
    lower = [(across.at(prior), up.at(low)) for prior, (low, _) in zip(priors, bounds, strict=True)]
    upper = [
        (across.at(prior), up.at(high)) for prior, (_, high) in zip(priors, bounds, strict=True)
    ]
    return [*lower, *reversed(upper)]


def _at(table: Mapping[str, Any], prior: float) -> tuple[float, float]:
    row = next(row for row in table["rows"] if row["prior"] == prior)
    return row["posterior_low"], row["posterior_high"]


def people_chart(table: Mapping[str, Any], number: int, prior: float = 0.1) -> Chart:
    """Draw one belief before, and the bounds of it after, as people out of a hundred."""
    low, high = _at(table, prior)
    marked = (round(prior * 100), math.floor(low * 100), math.ceil(high * 100))
    labels = ("before", "at least, after", "at most, after")
    drawing = Drawing(10 * SIDE + 40)
    gap = (WIDTH - 3 * 10 * SIDE) / 4
    for place, (count, label) in enumerate(zip(marked, labels, strict=True)):
        x = gap + place * (10 * SIDE + gap)
        hundred(drawing, (x, 4), count)
        drawing.text(x + 5 * SIDE, 10 * SIDE + 20, f"{count} of 100", "t b", "middle")
        drawing.text(x + 5 * SIDE, 10 * SIDE + 34, label, "t s", "middle")
    title = f"In people: {table['about']}"
    said = "but for rare outcomes (delta)" if table["delta"] else "whatever it says"
    description = (
        f"Somebody holds a statement about this for true in {marked[0]} of 100 such cases. After "
        f"the release, {said}, they hold it for true in at least {marked[1]} and at most "
        f"{marked[2]} of 100."
    )
    rows = tuple((label, str(count)) for count, label in zip(marked, labels, strict=True))
    name = f"chart-people-{number}"
    svg = drawing.finish(name, title, description)
    return Chart(name, title, description, svg, ("belief", "in 100"), rows)
