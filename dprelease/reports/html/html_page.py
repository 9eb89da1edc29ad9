"""The report as one HTML file: no network, no script; light, dark and paper.

A document is laid out here, with the looks of ``report.css``; nothing is worded but the way to the
report. ``tag`` escapes every text on its way into the page, and charts escape theirs
(``charts.svg``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dprelease.language import say, spoken
from dprelease.reports.charts.svg import Chart, HeatTable, VegaLite, clean, room
from dprelease.reports.sections.document import (
    Bullets,
    Cell,
    Definitions,
    Details,
    Document,
    Figure,
    FigureTable,
    Group,
    Heading,
    Link,
    Paragraph,
    Part,
    Section,
    Status,
    Table,
    Tile,
    Tiles,
)
from dprelease.reports.text.shown_numbers import written

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import PlanFacts

LOOKS = Path(__file__).parent
WIDTHS = {25: 22, 34: 30, 44: 44, 61: 61, 76: 76}
"""By the room that a table needs, in rem: the width below which its rows become cards.

Small type lets some fit that need more than there is.
"""
SMALL, LETTER, GAP = 15.0, 0.53, 0.9  # fits everywhere; width of a letter, and between columns
PAGE, BROAD = 61, 76
WORD = 16

_CODE = re.compile(r"`([^`]*)`")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Html(str):
    """HTML, which is not escaped again: what ``tag`` has made, or is written here or by charts."""

    __slots__ = ()


NONE = Html()
NEW_LINE = Html("\n")


def tag(name: str, *inside: Cell, **attributes: str) -> Html:
    """An element around texts, which are escaped, and HTML, which stays; "" is no attribute.

    The name of an attribute may end in an underscore, and those inside it stand for hyphens.
    """
    written_attributes = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Html(f"<{name}{written_attributes}>{_joined(inside)}</{name}>")


def _escaped(value: Cell) -> Html:
    """A text cleaned, a number written for people, - for nothing; HTML as it is."""
    if value is None:
        return Html("-")
    if isinstance(value, Html):
        return value
    if isinstance(value, Status):
        return tag("span", value.text, class_=f"status {value.name.replace(' ', '-')}")
    if isinstance(value, Link):
        return tag("a", value.text, href=value.address)
    return Html(clean(value if isinstance(value, str) else written(value)))


def _joined(parts: Iterable[Cell]) -> Html:
    return Html("".join(map(_escaped, parts)))


def _lines(parts: Iterable[Html]) -> Html:
    """Each on lines of its own."""
    return Html("".join(f"{part}\n" for part in parts))


def _code(text: str) -> Html:
    """A sentence of ours; what stands between backticks is code."""
    return Html(_CODE.sub(r"<code>\1</code>", _escaped(text)))


def _breakable(name: str) -> Html:
    """A name that may be broken after each underscore."""
    return Html(_escaped(name).replace("_", "_<wbr>"))


def _on_card(name: str) -> str:
    """The same where a style sheet writes the name, which takes text alone."""
    return name.replace("_", "_\u200b")


# --- the page -----------------------------------------------------------------------------------


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    style = Html("\n" + _css(any(section.name == "records" for section in document.sections)))
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        Html('<meta name="generator" content="dprelease">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        tag("title", document.title, " \u2013 ", document.form),
        tag("style", style),
    ]
    body = [
        tag("a", say("page.skip_to_report"), class_="skip", href="#main"),
        *([tag("aside", document.mark, class_="mark")] if document.mark else []),
        tag("header", NEW_LINE, _wide(_header(document)), NEW_LINE),
        tag("nav", _wide([_contents(document)]), aria_label=say("page.contents")),
        tag(
            "main",
            Html("\n\n"),
            *(Html(f"{_section(section)}\n\n") for section in document.sections),
            id="main",
            class_="wide",
            tabindex="-1",
        ),
        tag("footer", tag("div", tag("p", document.origin), class_="wide")),
        *_linked_data(document.linked_data),
    ]
    page = [tag("head", NEW_LINE, _lines(head)), tag("body", NEW_LINE, _lines(body))]
    return _lines([Html("<!doctype html>"), tag("html", NEW_LINE, _lines(page), lang=spoken())])


def _linked_data(content: str) -> Iterator[Html]:
    """What the page says to programs: a block of data, which no browser runs.

    Escapes of JSON stand for what could end the block.
    """
    if content:
        ends = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&"}
        yield tag("script", Html(content.translate(ends)), type_="application/ld+json")


def _wide(parts: Iterable[Html]) -> Html:
    return tag("div", NEW_LINE, _lines(parts), class_="wide")


def _header(document: Document) -> list[Html]:
    return [
        tag("p", document.kind, class_="kind"),
        tag("h1", document.title),
        _definitions(document.basics, "facts"),
    ]


def _contents(document: Document) -> Html:
    return _list(tag("a", section.short, href=f"#{section.name}") for section in document.sections)


def _section(section: Section) -> Html:
    title = tag("h2", section.title, id=section.name)
    return tag(
        "section", NEW_LINE, title, NEW_LINE, _parts(section.parts), aria_labelledby=section.name
    )


def prepare() -> None:
    """Read the looks, which needs files, beforehand."""
    _css(True)


@cache
def _css(records: bool) -> Html:
    """Give the looks; those of cards once for each width below which a table has them."""
    cards = _look("cards.css")
    fitting = [cards.replace("WIDTH", str(width)) for width in WIDTHS.values()]
    # a renderer of paper may know no containers
    on_paper = cards.partition("@container (min")[0].replace(
        "@container (max-width: WIDTHrem)", "@media print"
    )
    wide = [on_paper.replace("WIDTH", str(width)) for width in (PAGE, BROAD)]
    looks = _look("report.css").replace("/* cards */", "\n".join([*fitting, *wide]))
    if records:
        looks += f"\n{_look('records.css')}"
    return Html("\n".join(line.strip() for line in looks.splitlines() if line.strip()) + "\n")


@cache
def _look(name: str) -> str:
    return (LOOKS / name).read_text(encoding="utf-8")


# --- its parts ----------------------------------------------------------------------------------


def _parts(parts: Iterable[Part]) -> Html:
    return _lines(map(_part, parts))


def _part(part: Part) -> Html:  # noqa: PLR0911 - one for each kind
    match part:
        case Heading():
            return tag("h3", part.text)
        case Paragraph():
            return tag("p", part.text, class_=part.style)
        case Bullets():
            return _list(_code(line) if part.code else _escaped(line) for line in part.lines)
        case Tiles():
            return _list(map(_tile, part.tiles), "tiles")
        case Table():
            return _table(part)
        case FigureTable():
            return _figures(part)
        case Definitions():
            return _definitions(part.rows, "list")
        case Details():
            name = _joined((tag("b", part.name), " \u2013 ")) if part.name else NONE
            return _folded(_joined((name, part.title)), _parts(part.parts))
        case Group():
            return tag("div", NEW_LINE, _parts(part.parts), class_=part.layout)
        case Chart():
            return _chart(part)
        case HeatTable():
            return _heat(part)


def _list(items: Iterable[Html], style: str = "") -> Html:
    return tag("ul", NEW_LINE, _lines(tag("li", item) for item in items), class_=style)


def _definitions(rows: Iterable[tuple[str, Cell]], style: str) -> Html:
    said = (tag("div", tag("dt", label), tag("dd", text)) for label, text in rows)
    return tag("dl", NEW_LINE, _lines(said), class_=style)


def _folded(title: Html, inside: Html) -> Html:
    return tag("details", tag("summary", title), NEW_LINE, inside)


def _tile(tile: Tile) -> Html:
    link = NONE
    if tile.link is not None:
        text, section = tile.link
        link = _joined((" ", tag("a", text, href=f"#{section}")))
    return _joined((tag("b", tile.figure), " ", tag("span", tile.label, link)))


def _chart(chart: Chart) -> Html:
    inside = [
        tag("figcaption", chart.title),
        Html(chart.svg),
        tag("p", chart.note or chart.description, class_="small"),
    ]
    if chart.rows:
        caption = say("page.in_numbers", title=chart.title)
        numbers = Table(f"{chart.name}-n", caption, chart.head, chart.rows)
        title = say("page.numbers_of", title=chart.title)
        inside.append(_folded(_escaped(title), _lines([_table(numbers)])))
    if chart.vega is not None:
        inside.append(_vega(chart.vega))
    has_panels = chart.svg.count("<svg") > 1
    style = "chart full" if has_panels else "chart"
    return tag("figure", NEW_LINE, _lines(inside), class_=style, id=chart.name)


# --- tables -------------------------------------------------------------------------------------


def _fitted(  # noqa: PLR0913, PLR0917 - a table, and how much room it needs
    name: str,
    caption: str,
    head: Iterable[Html],
    rows: Iterable[Html],
    need: float,
    style: str = "",
) -> Html:
    """A table that is never cut: in less room than it needs its rows are cards, or it scrolls.

    There is a stop for the keyboard only while something scrolls.
    """
    inside = [
        tag("caption", caption, id=name),
        tag("thead", tag("tr", NEW_LINE, *head, NEW_LINE)),
        tag("tbody", NEW_LINE, _lines(rows)),
    ]
    width = next((width for most, width in WIDTHS.items() if most >= need), None)
    cards = f"w{width or PAGE}" if need > SMALL and not style else style
    table = tag("table", NEW_LINE, _lines(inside), class_=cards)
    scrolls = need > BROAD if not style else need > SMALL
    if scrolls:
        room_for = f"scroll s{width or 'all'}" if style else f"scroll below{PAGE}"
        table = tag("div", table, class_=room_for, role="group", aria_labelledby=name, tabindex="0")
    out = " out" if need > PAGE else ""
    return tag("div", NEW_LINE, table, NEW_LINE, class_=f"fit{out}")


def _need(columns: Iterable[Iterable[str]]) -> float:
    """Estimate the room of columns, in rem, from texts that are not broken."""
    widths = [max(map(room, texts), default=0) for texts in columns]
    return LETTER * sum(widths) + GAP * len(widths)


def _words(text: str) -> Iterator[str]:
    """Give what is not broken of a text: its words, and some letters in any case."""
    yield from text.replace("_", "_ ").split()
    yield text[:WORD]


def _table(table: Table) -> Html:
    need = _need(
        [
            word
            for text in (title, *(_plain(row[at]) for row in table.rows))
            for word in _words(text)
        ]
        for at, title in enumerate(table.head)
    )
    names = [_on_card(title) if need > SMALL else "" for title in table.head]

    def style(place: int) -> str:
        return "n" if place in table.numbers else ""

    def row(cells: tuple[Cell, ...]) -> Html:
        name = tag("th", tag("bdi", cells[0]), scope="row")
        rest = enumerate(cells[1:], 1)
        return tag(
            "tr",
            name,
            *(tag("td", cell, class_=style(place), data_name=names[place]) for place, cell in rest),
        )

    head = (
        tag("th", title, scope="col", class_=style(place)) for place, title in enumerate(table.head)
    )
    return _fitted(table.name, table.caption, head, map(row, table.rows), need)


def _plain(cell: Cell) -> str:
    if isinstance(cell, Status | Link):
        return f"{cell.text}   "
    return cell if isinstance(cell, str) else "-" if cell is None else written(cell)


def _figures(table: FigureTable) -> Html:
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    pads = [max((len(cell.noise) for cell in column), default=0) for column in columns]
    flagged = [any(cell.flag for cell in column) for column in columns]
    need = _need(
        texts
        for column, cells in zip(table.head, columns, strict=True)
        for texts in (
            [
                *column.name.replace("_", "_ ").split(),
                *(
                    word
                    for cell in cells
                    for text in [f"{cell.figure} {cell.noise}"]
                    for word in ([text] if column.number else _words(text))
                ),
            ],
            [cell.flag[: len(cell.flag) * 9 // 10] for cell in cells],
        )
        if any(texts)
    )
    short = all(room(cell.figure) <= WORD for column in columns[: table.keys] for cell in column)
    names = [_on_card(column.name) if need > SMALL else "" for column in table.head]

    def head() -> Iterator[Html]:
        for column, has_flag in zip(table.head, flagged, strict=True):
            style, title = "n" if column.number else "", column.description
            yield tag("th", _breakable(column.name), scope="col", class_=style, title=title)
            if has_flag:
                yield tag("th", say("page.flag"), scope="col")

    def cells(row: Sequence[Figure]) -> Iterator[Html]:
        for place, (column, cell) in enumerate(zip(table.head, row, strict=True)):
            if place < table.keys:
                key = tag("bdi", cell.figure)
                yield tag("th", key, scope="row", class_="k" if short else "")
                continue
            figure = cell.figure if column.number else tag("bdi", cell.figure)
            # spaces as wide as a digit: what stands after ± begins at one place in all rows
            padding = "\u2007" * (pads[place] - len(cell.noise)) if column.number else ""
            noise = [" ", tag("span", cell.noise + padding, class_="moe")] if pads[place] else []
            style = "n" if column.number else ""
            yield tag("td", figure, *noise, class_=style, data_name=names[place])
            if flagged[place]:
                flag = tag("span", cell.flag, class_="flag") if cell.flag else NONE
                yield tag("td", flag, class_="f")

    rows = (tag("tr", *cells(row)) for row in table.rows)
    return _fitted(table.name, table.caption, head(), rows, need)


def _heat(table: HeatTable) -> Html:
    def cell(text: str, shade: int, flagged: bool) -> Html:
        depth = f"h{shade}" if shade >= 0 else f"l{-shade}"
        return tag("td", text, class_="n hollow" if flagged else f"n {depth}")

    need = _need(
        [head, *(row[0] if not place else row[1][place - 1].text for row in table.rows)]
        for place, head in enumerate(table.head)
    )
    head = (tag("th", tag("bdi", key), scope="col") for key in table.head)
    rows = (
        tag("tr", tag("th", tag("bdi", key), scope="row"), *(cell(*one) for one in cells))
        for key, cells in table.rows
    )
    drawn = _fitted(f"{table.name}-n", table.title, head, rows, need, "heat")
    said = tag("p", table.description, class_="small")
    beside = [] if table.vega is None else [_vega(table.vega)]
    style = "chart full"
    return tag("figure", NEW_LINE, _lines([drawn, said, *beside]), class_=style, id=table.name)


def _vega(vega: VegaLite) -> Html:
    title = say("page.vega_lite")
    return tag("p", tag("a", title, href=vega.file), class_="small vega")
