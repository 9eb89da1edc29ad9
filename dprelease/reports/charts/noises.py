"""How large noise is: twenty equally likely results, and errors against the size of a group."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import NormalDist
from textwrap import wrap
from typing import NamedTuple

from dprelease.language import number_text, say, word
from dprelease.reports.charts.svg import (
    WIDTH,
    Chart,
    Drawing,
    Scale,
    build_chart,
    cut,
    fit_linear_scale,
    write_short,
)
from dprelease.reports.model.report_model import Column, Query
from dprelease.reports.text.shown_numbers import format_number, shorten
from dprelease.statistics.statistic_registry import get_statistic

DOTS = 20
MOST_STRIPS = 6
STRIP, LINE, NAMES = 77.0, 15.0, 52  # heights without names and of a line of them, and its letters
WIDE = 30  # from so many steps of the grid on, a bell is that of the continuous law


def has_dots(query: Query) -> bool:
    """Check whether a figure is one released number: the truth, and one draw of noise."""
    return (
        get_statistic(query.statistic).one_number
        and query.lender is None
        and query.threshold is None
        and query.mechanism in {"laplace", "staircase", "gaussian"}
        and query.scale > 0
    )


def list_twenty_noises(query: Query) -> list[float]:
    """Give the noise at the middles of twenty equally likely parts of its law, rising.

    A value is a multiple of the query's granularity, and the quantile of the discrete law.
    """
    unit, scale = float(query.granularity), float(query.scale) / float(query.granularity)
    upper = [
        _find_stair_quantile(query.stairs, scale, (2 * i + 1) / (2 * DOTS))
        if query.stairs
        else _find_quantile(query.mechanism, scale, (2 * i + 1) / (2 * DOTS))
        for i in range(10, DOTS)
    ]
    return [-steps * unit for steps in reversed(upper)] + [steps * unit for steps in upper]


def _find_quantile(mechanism: str, scale: float, share: float) -> int:
    """Find the least k >= 0 with P(noise <= k) >= share, for a share above one half."""
    if mechanism == "laplace":  # P(X > k) = p^(k+1) / (1 + p), p = e^(-1/scale)
        stay = math.exp(-1 / scale)
        return max(0, math.ceil(math.log((1 - share) * (1 + stay)) * -scale - 1 - 1e-9))
    if scale > WIDE:
        return max(0, math.ceil(NormalDist(0, scale).inv_cdf(share) - 0.5))
    weights = [math.exp(-((k / scale) ** 2) / 2) for k in range(math.ceil(12 * scale) + 2)]
    whole = 2 * math.fsum(weights) - 1
    reached = (1 + 1 / whole) / 2  # P(X <= 0)
    k = 0
    while reached < share and k + 1 < len(weights):
        k += 1
        reached += weights[k] / whole
    return k


def _find_stair_quantile(stairs: Sequence[int], scale: float, share: float) -> int:
    """Find the quantile of a staircase; b: ratio of its levels, W (1 - b): sum of all weights."""
    # P(X > k) = b^n (m (1 - b) + D b)/W, if the level n of k + 1 goes on for m integers from there.
    stair, first = stairs
    ratio = math.exp(-stair / scale)
    whole = (2 * first - 1) * (1 - ratio) + 2 * stair * ratio

    def is_reached(k: int) -> bool:
        level = (k + 1 + stair - first) // stair
        rest = first + level * stair - k - 1
        outside = ratio**level * (rest * (1 - ratio) + stair * ratio) / whole
        return outside <= (1 - share) * (1 + 1e-9)

    return bisect_left(range(math.ceil(50 * scale) + stair), True, key=is_reached)


def draw_dots_chart(queries: Sequence[Query], level: float) -> Chart | None:
    """Draw twenty equally likely results of the same truth; None where no query has any."""
    dotted = [query for query in queries if has_dots(query)]
    if not dotted:
        return None
    strips: dict[tuple[float, ...], list[Query]] = {}
    for query in dotted:
        strips.setdefault(tuple(list_twenty_noises(query)), []).append(query)
    shown = [
        (values, alike, wrap(", ".join(query.name for query in alike), NAMES))
        for values, alike in list(strips.items())[:MOST_STRIPS]
    ]
    drawing = Drawing(sum(STRIP + LINE * len(names) for *_, names in shown))
    top = 0.0
    for values, alike, names in shown:
        _strip(drawing, top, names, (values, float(alike[0].granularity)))
        top += STRIP + LINE * len(names)
    description = say("charts.dots.description", level=level)
    rest = sum(map(len, list(strips.values())[MOST_STRIPS:]))
    return build_chart(
        (("", drawing),),
        "chart-dots",
        say("charts.dots.title"),
        description,
        (say("words.query"), say("charts.dots.axis")),
        [
            (query.name, ", ".join(map(_format_signed, list_twenty_noises(query))))
            for query in dotted
        ],
        say("charts.more_queries", description=description, number=rest) if rest > 0 else "",
    )


def _strip(
    drawing: Drawing, top: float, names: list[str], noise: tuple[tuple[float, ...], float]
) -> None:
    """Draw results on a scale around the truth; ``noise`` is the results and their granularity."""
    values, unit = noise
    reach = max(map(abs, values)) or unit
    across = fit_linear_scale([-reach, reach], 14, WIDTH - 14, 4)
    for line, name in enumerate(names):
        drawing.write_text(0, top + 12 + LINE * line, name, "t")
    top += LINE * (len(names) - 1)
    base, size = top + 58, 8.6
    drawing.draw_line((0, base + 5), (WIDTH, base + 5), "rule")
    drawing.draw_line((WIDTH / 2, top + 18), (WIDTH / 2, base + 8), "zero")
    heights: dict[int, int] = {}
    for value in values:
        column = round((across.place(value) - WIDTH / 2) / size)
        stack = heights.get(column, 0)
        heights[column] = stack + 1
        drawing.draw_dot(WIDTH / 2 + column * size, base - stack * size * 0.62, 3.6, "dot")
    for value, _ in across.ticks:
        x = across.place(value)
        drawing.draw_line((x, base + 5), (x, base + 9), "rule")
        at_end = "end" if value == across.high else "" if value == across.low else "middle"
        place = {"end": WIDTH, "": 0.0}.get(at_end, x)
        label = say("charts.dots.truth") if value == 0 else _format_signed(value)
        drawing.write_text(place, base + 20, label, anchor=at_end)


def _format_signed(value: float) -> str:
    text = write_short(abs(value))
    sign = "+" if value > 0 else "\u2212"
    return "0" if text == "0" else f"{sign}{text}"


class Falling(NamedTuple):
    """An error that falls with the size of a group: ``share`` of a figure at one record."""

    names: tuple[str, ...]
    share: float
    of: str
    sizes: str  # what a size of a group counts


def find_falling(
    queries: Sequence[Query], columns: Sequence[Column], units: str = "people"
) -> list[Falling]:
    """Find the relative error of each query that has one; equal ones together, largest first."""
    middles = {column.name: _find_middle(column) for column in columns}
    names: dict[tuple[float, str, str], list[str]] = {}
    for query in queries:
        if query.survey_weight:
            continue  # its error falls with the weight of a group, not with its size
        statistic, half, example = (
            get_statistic(query.statistic), query.noise_halfwidth, query.example_halfwidth
        )  # fmt: skip
        error = statistic.compute_relative_error(
            None if half is None else float(half),
            None if example is None else float(example.halfwidth) * float(example.values),
            middles.get(query.column or ""),
            units,
        )
        if error is not None and error[0] > 0:
            sizes = units if statistic.counts_units else say(statistic.counts or "words.records")
            share, of = error[0], word(error[1])
            names.setdefault((share, of, sizes), []).append(query.name)
    lines = [Falling(tuple(equal), *error) for error, equal in names.items()]
    return sorted(lines, key=lambda line: -line.share)


def _find_middle(column: Column) -> float | None:
    if column.lower is None or column.upper is None:
        return None
    return max(abs(float(column.lower)), abs(float(column.upper))) / 2


SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
MOST_LINES = 5
SAME_LINE = math.log10(1.25)  # lines nearer to each other than this are one to the eye
LEGEND = 28  # letters of names in a line; the error stands beside them
MOST_NAMES = 20
UNRELIABLE = 0.3
Line = tuple[float, list[str]]
"""A line of the chart: its error at one record, and the names of all queries of that error."""


def choose_lines(lines: Sequence[Falling]) -> tuple[list[Line], list[str]]:
    """Choose lines that stand apart, from largest to smallest; and name the queries left out.

    First the largest, then again and again what is farthest from all that are chosen.
    """
    names: dict[float, list[str]] = {}
    for line in lines:
        names.setdefault(line.share, []).extend(line.names)
    places = {share: math.log10(share) for share in names}
    chosen = [max(places)]
    while len(chosen) < MOST_LINES:
        gaps = {
            share: min(abs(place - places[other]) for other in chosen)
            for share, place in places.items()
        }
        farthest = max(gaps, key=lambda share: gaps[share])
        if gaps[farthest] < SAME_LINE:
            break
        chosen.append(farthest)
    chosen_lines = [(share, names[share]) for share in sorted(chosen, reverse=True)]
    return chosen_lines, [name for share in names if share not in chosen for name in names[share]]


def draw_error_chart(
    queries: Sequence[Query], columns: Sequence[Column], units: str
) -> Chart | None:
    """Draw relative error against group size, both by powers of ten; None where none is known.

    ``units``: what ``count_units`` counts.
    """
    lines = find_falling(queries, columns, units)
    if not lines:
        return None
    lines_drawn, rest = choose_lines(lines)
    x_start, x_end, top, bottom = 46.0, WIDTH - 10.0, 10.0, 210.0
    sizes_across = [(power, number_text(label)) for power, label in ACROSS]
    shares_up = [(power, _format_percent(10.0**power)) for power in range(0, -5, -1)]
    across = Scale(1, 6, x_start, x_end, sizes_across)
    up = Scale(-4, 0, bottom, top, shares_up)
    legend = [
        wrap(f"{number}  {', '.join(names)}", LEGEND)
        for number, (_, names) in enumerate(lines_drawn, 1)
    ]
    drawing = Drawing(bottom + 40 + 16 * sum(map(len, legend)))
    _draw_powers(drawing, across, up)
    for place, (share, _) in enumerate(lines_drawn):
        style = f"stroke-{place % 4 + 1}{' dash' if place >= 4 else ''}"
        _draw_fall(drawing, (across, up), math.log10(share), style, place + 1)
        y = bottom + 46 + 16 * sum(map(len, legend[:place]))
        drawing.draw_line((x_start, y - 4), (x_start + 22, y - 4), style)
        for line, text in enumerate(legend[place]):
            drawing.write_text(x_start + 28, y + 16 * line, text)
        drawing.write_text(
            x_end,
            y,
            say("charts.error_by_size.at_thousand", share=_format_percent(share / 1000)),
            anchor="end",
        )
    counted = {line.sizes for line in lines}
    all_sizes = dict.fromkeys((say("words.records"), units, say("words.different_values")))
    sizes = join_alternatives([name for name in all_sizes if name in counted])
    drawing.write_text(
        (x_start + x_end) / 2,
        bottom + 28,
        cut(say("charts.error_by_size.axis", things=sizes), 48),
        anchor="middle",
    )
    description = say("charts.error_by_size.description", things=sizes)
    note = ""
    if rest:
        rest_names = ", ".join(rest[:MOST_NAMES])
        if len(rest) > MOST_NAMES:
            more = len(rest) - MOST_NAMES
            rest_names = say("words.list.more", first=rest_names, more=more)
        note = say("charts.error_by_size.not_drawn", description=description, others=rest_names)
    return build_chart(
        (("", drawing),),
        "chart-errors",
        say("charts.error_by_size.title"),
        description,
        (
            say("words.query"),
            say("words.share"),
            *(say("charts.error_by_size.columns.at_size", size=size) for size in SIZES[1:5]),
        ),
        [
            (
                ", ".join(line.names),
                line.of,
                *(_format_percent(line.share / size) for size in SIZES[1:5]),
            )
            for line in lines
        ],
        note,
    )


def join_alternatives(names: Sequence[str]) -> str:
    """Join alternatives as a sentence does."""
    *others, last = names
    return say("words.list.or", first=", ".join(others), last=last) if others else last


ACROSS = ((1, "10"), (2, "100"), (3, "1,000"), (4, "10k"), (5, "100k"), (6, "1M"))


def _draw_powers(drawing: Drawing, across: Scale, up: Scale) -> None:
    """Draw the powers of ten on both axes, and shade what is flagged."""
    drawing.draw_axis_up(up, across.start, across.end, "grid")
    for power, label in across.ticks:
        x = across.place(power)
        drawing.draw_line((x, up.end), (x, up.start), "grid")
        drawing.write_text(x, up.start + 14, label, anchor="end" if power == 6 else "middle")
    limit = up.place(math.log10(UNRELIABLE))
    drawing.draw_box((across.start, up.end), (across.end - across.start, limit - up.end), "shade")
    drawing.write_text(
        across.end - 4, up.end + 12, say("charts.error_by_size.flagged"), anchor="end"
    )


def _draw_fall(
    drawing: Drawing, frame: tuple[Scale, Scale], total: float, style: str, number: int
) -> None:
    """Draw a line of slope -1 as far as it lies inside the frame, and number it.

    All along it log error + log size is ``total``.
    """
    across, up = frame
    first, last = max(1.0, total), min(6.0, total + 4)
    if first >= last:
        return
    drawing.draw_path(
        [(across.place(size), up.place(total - size)) for size in (first, last)], style
    )
    # numbers stand apart even where lines lie close together
    along = first + (last - first) * (0.15 + 0.1 * ((number - 1) % 8))
    x, y = across.place(along), up.place(total - along)
    drawing.draw_dot(x, y, 6.5, "badge")
    drawing.write_text(x, y + 3.5, str(number), anchor="middle")


def _format_percent(share: float) -> str:
    """Write a share of error in percent, rounded up, but for the dust of floats."""
    return say("words.percent", share=format_number(shorten(float(f"{share * 100:.12g}"), 2)))
