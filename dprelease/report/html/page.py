"""The report as one HTML file: no network, no script; light, dark and paper.

A document is laid out here, with the looks of ``report.css``; nothing is worded but the way to the
report. ``tag`` escapes every text on its way into the page, and charts escape theirs
(``charts.svg``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dprelease.report.charts.svg import Chart, clean
from dprelease.report.document import (
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
from dprelease.report.numbers import written

if TYPE_CHECKING:
    from dprelease.report.facts.model import PlanFacts

LOOKS = Path(__file__).parent
BLOCKS, TIGHT = 9, 6
"""Columns above which paper shows each row as a block of named figures, or in small type."""

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
        return tag("span", value.text, class_=f"status {value.text.replace(' ', '-')}")
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


# --- the page -----------------------------------------------------------------------------------


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    looks = ["report.css"]
    if any(section.name == "records" for section in document.sections):
        looks.append("records.css")
    style = Html("\n" + _lines(map(_css, looks)))
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
        tag("a", "Skip to the report", class_="skip", href="#main"),
        tag("header", NEW_LINE, _wide(_header(document)), NEW_LINE),
        tag("nav", _wide([_contents(document)]), aria_label="Contents"),
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
    return _lines([Html("<!doctype html>"), tag("html", NEW_LINE, _lines(page), lang="en")])


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
    for name in ("report.css", "records.css"):
        _css(name)


@cache
def _css(name: str) -> Html:
    lines = (LOOKS / name).read_text(encoding="utf-8").splitlines()
    return Html("\n".join(line.strip() for line in lines if line.strip()))


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
    numbers = Table(f"{chart.name}-n", f"{chart.title}, in numbers", chart.head, chart.rows)
    inside = [
        tag("figcaption", chart.title),
        Html(chart.svg),
        tag("p", chart.note or chart.description, class_="small"),
        _folded(_escaped(f"Numbers of “{chart.title}”"), _lines([_table(numbers)])),
    ]
    return tag("figure", NEW_LINE, _lines(inside), class_="chart")


# --- tables -------------------------------------------------------------------------------------


def _scroll(
    name: str, caption: str, head: Iterable[Html], rows: Iterable[Html], style: str
) -> Html:
    inside = [
        tag("caption", caption, id=name),
        tag("thead", tag("tr", NEW_LINE, *head, NEW_LINE)),
        tag("tbody", NEW_LINE, _lines(rows)),
    ]
    table = tag("table", NEW_LINE, _lines(inside), class_=style)
    return tag(
        "div",
        NEW_LINE,
        table,
        NEW_LINE,
        class_="scroll",
        role="group",
        aria_labelledby=name,
        tabindex="0",
    )


def _table(table: Table) -> Html:
    def style(place: int) -> str:
        return "n" if place in table.numbers else ""

    def row(cells: tuple[Cell, ...]) -> Html:
        name = tag("th", tag("bdi", cells[0]), scope="row")
        rest = enumerate(cells[1:], 1)
        return tag("tr", name, *(tag("td", cell, class_=style(place)) for place, cell in rest))

    head = (
        tag("th", title, scope="col", class_=style(place)) for place, title in enumerate(table.head)
    )
    return _scroll(table.name, table.caption, head, map(row, table.rows), "")


def _figures(table: FigureTable) -> Html:
    width = len(table.head)
    style = "packed" if width > BLOCKS else "tight" if width > TIGHT else ""
    head = (
        tag(
            "th",
            _breakable(column.name),
            scope="col",
            class_="n" if column.number else "",
            title=column.description,
        )
        for column in table.head
    )
    rows = (tag("tr", *_figure_cells(table, row)) for row in table.rows)
    return _scroll(table.name, table.caption, head, rows, style)


def _figure_cells(table: FigureTable, row: Iterable[Figure]) -> Iterator[Html]:
    named = len(table.head) > BLOCKS
    for place, (column, cell) in enumerate(zip(table.head, row, strict=True)):
        name = column.name if named else ""
        figure = _escaped(cell.figure) if column.number else tag("bdi", cell.figure)
        if place < table.keys:
            yield tag("th", tag("bdi", cell.figure), scope="row", data_name=name)
        else:
            style = "n" if column.number else ""
            yield tag("td", figure, *_remarks(cell), class_=style, data_name=name)


def _remarks(cell: Figure) -> Iterator[Cell]:
    for style, text in (("moe", cell.noise), ("flag", cell.flag)):
        if text:
            yield from (" ", tag("span", text, class_=style))
