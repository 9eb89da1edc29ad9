"""How large noise is: twenty equally likely results, and errors against the size of a group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from dprelease.report.charts.drawing import WIDTH, Chart, Drawing, cut
from dprelease.report.charts.scales import Scale, short
from dprelease.report.facts.model import Column, Query
from dprelease.report.numbers import shortened, written
from dprelease.statistics.registry import statistic_of

DOTS = 20
MOST_STRIPS = 6
WIDE = 30  # from so many steps of the grid on, a bell is that of the continuous law


def has_dots(query: Query) -> bool:
    """Whether a figure is one released number: the truth, and one draw of noise."""
    return (
        statistic_of(query.statistic).one_number
        and query.shares is None
        and query.threshold is None
        and query.mechanism in {"laplace", "gaussian"}
        and query.scale > 0
    )


def twenty(query: Query) -> list[float]:
    """Give the noise at the middles of twenty equally likely parts of its law, rising.

    A value is a multiple of the query's granularity, and the quantile of the discrete law.
    """
    unit, scale = float(query.granularity), float(query.scale) / float(query.granularity)
    upper = [_quantile(query.mechanism, scale, (2 * i + 1) / (2 * DOTS)) for i in range(10, DOTS)]
    return [-each * unit for each in reversed(upper)] + [each * unit for each in upper]


def _quantile(mechanism: str, scale: float, share: float) -> int:
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


def dots_chart(queries: Sequence[Query], level: float) -> Chart | None:
    """Draw twenty equally likely results of the same truth; None where no query has any."""
    found = [query for query in queries if has_dots(query)]
    if not found:
        return None
    shown = found[:MOST_STRIPS]
    strip = 92.0
    drawing = Drawing(strip * len(shown))
    for place, query in enumerate(shown):
        _strip(drawing, strip * place, query)
    title = "Twenty equally likely results"
    description = (
        "If the truth were at the middle line, the figure would be published at one of the twenty "
        f"dots, each as likely as any other. The noise interval holds {level:g} of 100 results."
    )
    rows = tuple(
        (str(query.name), ", ".join(_signed(each) for each in twenty(query))) for query in found
    )
    rest = len(found) - len(shown)
    note = f"{description} {rest} more queries are in the table of numbers." if rest else ""
    name = "chart-dots"
    svg = drawing.finish(name, title, description)
    head = ("query", "published minus true, twenty equally likely")
    return Chart(name, title, description, svg, head, rows, note)


def _strip(drawing: Drawing, top: float, query: Query) -> None:
    values = twenty(query)
    reach = max(abs(each) for each in (values[0], values[-1])) or float(query.granularity)
    across = Scale(-reach, reach, 14, WIDTH - 14)
    base, size = top + 58, 8.6
    drawing.text(0, top + 12, cut(str(query.name), 44), "t")
    drawing.line((0, base + 5), (WIDTH, base + 5), "rule")
    drawing.line((WIDTH / 2, top + 18), (WIDTH / 2, base + 8), "zero")
    heights: dict[int, int] = {}
    for value in values:
        column = round((across.at(value) - WIDTH / 2) / size)
        stack = heights.get(column, 0)
        heights[column] = stack + 1
        drawing.dot(WIDTH / 2 + column * size, base - stack * size * 0.62, 3.6, "dot")
    for value, anchor, x in ((-reach, "", 2.0), (reach, "end", WIDTH - 2.0)):
        drawing.text(x, base + 18, _signed(value), "t s", anchor)
    drawing.text(WIDTH / 2, base + 18, "the truth", "t s", "middle")


def _signed(value: float) -> str:
    said = short(abs(value))
    sign = "+" if value > 0 else "\u2212"
    return "0" if said == "0" else f"{sign}{said}"


@dataclass(frozen=True, slots=True)
class Falling:
    """An error that falls with the size of a group: ``share`` of a figure at one record."""

    names: tuple[str, ...]
    share: float
    of: str
    sizes: str  # what a size of a group counts


def falling(
    queries: Sequence[Query], columns: Sequence[Column], units: str = "people"
) -> list[Falling]:
    """Find the relative error of each query that has one; equal ones together, largest first."""
    sizes = {column.name: _middle(column) for column in columns}
    found: dict[tuple[float, str, str], list[str]] = {}
    for query in queries:
        many = statistic_of(query.statistic).counts.format(units=units) or "records"
        known = _share(query, sizes.get(query.column or ""), units)
        if known is not None and known[0] > 0:
            found.setdefault((*known, many), []).append(str(query.name))
    lines = [Falling(tuple(names), *known) for known, names in found.items()]
    return sorted(lines, key=lambda line: -line.share)


def _middle(column: Column) -> float | None:
    if column.lower is None or column.upper is None:
        return None
    return max(abs(float(column.lower)), abs(float(column.upper))) / 2


def _share(query: Query, middle: float | None, units: str) -> tuple[float, str] | None:
    half, example = query.noise_halfwidth, query.example_halfwidth
    return statistic_of(query.statistic).relative_error(
        None if half is None else float(half),
        None if example is None else float(example.halfwidth) * float(example.values),
        middle,
        units,
    )


SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
MOST_LINES = 5
APART = math.log10(1.25)  # lines nearer to each other than this are one to the eye
MOST_NAMES = 20
UNRELIABLE = 0.3


@dataclass(frozen=True, slots=True)
class Drawn:
    """A line of the chart, with the names of all queries of exactly this error."""

    share: float
    names: tuple[str, ...]


def drawn_lines(lines: Sequence[Falling]) -> tuple[list[Drawn], list[str]]:
    """Choose lines that stand apart, from largest to smallest; and name the queries left out.

    First the largest, then again and again what is farthest from all that are chosen.
    """
    together: dict[float, list[str]] = {}
    for line in lines:
        together.setdefault(line.share, []).extend(line.names)
    places = {share: math.log10(share) for share in together}
    chosen = [max(places)]
    while len(chosen) < MOST_LINES:
        gaps = {
            share: min(abs(place - places[other]) for other in chosen)
            for share, place in places.items()
        }
        farthest = max(gaps, key=lambda share: gaps[share])
        if gaps[farthest] < APART:
            break
        chosen.append(farthest)
    shown = [Drawn(share, tuple(together[share])) for share in sorted(chosen, reverse=True)]
    return shown, [name for share in together if share not in chosen for name in together[share]]


def error_chart(queries: Sequence[Query], columns: Sequence[Column], units: str) -> Chart | None:
    """Draw relative error against group size, both by powers of ten; None where none is known.

    ``units``: what ``count_units`` counts.
    """
    lines = falling(queries, columns, units)
    if not lines:
        return None
    shown, rest = drawn_lines(lines)
    left, right, top, bottom = 46.0, WIDTH - 10.0, 10.0, 210.0
    frame = across, up = Scale(1, 6, left, right), Scale(-4, 0, bottom, top)
    drawing = Drawing(bottom + 40 + 16 * len(shown))
    _powers(drawing, across, up)
    for place, line in enumerate(shown):
        style = f"stroke-{place % 4 + 1}{' dash' if place >= 4 else ''}"
        _fall(drawing, frame, line, style, place + 1)
        y = bottom + 46 + 16 * place
        drawing.line((left, y - 4), (left + 22, y - 4), style)
        said = f"{place + 1}  {', '.join(line.names)}"
        drawing.text(left + 28, y, cut(said, 32), "t s")
        drawing.text(right, y, f"{_percent(line.share / 1000)} at 1,000", "t s", "end")
    sizes = listed([each for each in _sizes(units) if each in {line.sizes for line in lines}])
    drawing.text((left + right) / 2, bottom + 28, f"{sizes} in the group", "t s", "middle")
    title = "Relative error against the size of a group"
    description = (
        "The noise interval's half-width as a share of the figure. Ten times the "
        f"{sizes}, a tenth of the error. Sums and means are compared with values of half the "
        "column's largest."
    )
    rows = tuple(
        (", ".join(line.names), line.of, *(_percent(line.share / size) for size in SIZES[1:5]))
        for line in lines
    )
    name = "chart-errors"
    svg = drawing.finish(name, title, description)
    head = ("query", "share", *(f"at {size:,}" for size in SIZES[1:5]))
    note = ""
    if rest:
        more = f" and {len(rest) - MOST_NAMES} more" if len(rest) > MOST_NAMES else ""
        names = f"{', '.join(rest[:MOST_NAMES])}{more}"
        note = f"{description} Not drawn, for they lie close to these lines or between: {names}."
    return Chart(name, title, description, svg, head, rows, note)


def _sizes(units: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("records", units, "different values")))


def listed(names: Sequence[str]) -> str:
    """Join alternatives as a sentence does."""
    return " or ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _powers(drawing: Drawing, across: Scale, up: Scale) -> None:
    """Draw the powers of ten on both axes, and shade what is flagged."""
    left, right, top, bottom = across.start, across.end, up.end, up.start
    for power, label in ((0, "100%"), (-1, "10%"), (-2, "1%"), (-3, "0.1%"), (-4, "0.01%")):
        drawing.line((left, up.at(power)), (right, up.at(power)), "grid")
        drawing.text(left - 6, up.at(power) + 4, label, "t s", "end")
    for power, label in enumerate(("10", "100", "1,000", "10k", "100k", "1M"), 1):
        drawing.line((across.at(power), top), (across.at(power), bottom), "grid")
        anchor = "end" if power == 6 else "middle"
        drawing.text(across.at(power), bottom + 14, label, "t s", anchor)
    limit = up.at(math.log10(UNRELIABLE))
    drawing.box((left, top), (right - left, limit - top), "shade")
    drawing.text(right - 4, top + 12, "flagged: over 30%", "t s", "end")


def _fall(
    drawing: Drawing, frame: tuple[Scale, Scale], line: Drawn, style: str, number: int
) -> None:
    """Draw a line of slope -1 as far as it lies inside the frame, and number it."""
    across, up = frame
    whole = math.log10(line.share)  # log error + log size, all along the line
    first, last = max(1.0, whole), min(6.0, whole + 4)
    if first >= last:
        return
    ends = [(across.at(size), up.at(whole - size)) for size in (first, last)]
    drawing.path(ends, style)
    # numbers stand apart even where lines lie close together
    along = first + (last - first) * (0.15 + 0.1 * ((number - 1) % 8))
    x, y = across.at(along), up.at(whole - along)
    drawing.dot(x, y, 6.5, "badge")
    drawing.text(x, y + 3.5, str(number), "t s", "middle")


def _percent(share: float) -> str:
    """Write a share of error in percent, rounded up, but for the dust of floats."""
    return f"{written(shortened(float(f'{share * 100:.12g}'), 2))}%"
