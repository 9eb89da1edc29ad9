"""The report as one HTML file: no network, no script; light, dark and paper.

A document is laid out here, with the looks of ``report.css``; nothing is worded but the way to the
report. ``build_tag`` escapes every text on its way into the page, and charts escape theirs
(``charts.svg``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dprelease.language import get_language, say
from dprelease.reports.charts.svg import Chart, HeatCell, HeatTable, VegaLite, clean, count_letters
from dprelease.reports.sections.document import (
    Bullets,
    Cell,
    Definitions,
    Details,
    Document,
    FactsLabel,
    Figure,
    FigureColumn,
    FigureTable,
    Group,
    Heading,
    Link,
    Meter,
    Paragraph,
    Part,
    Section,
    Status,
    Table,
    Tile,
    Tiles,
)
from dprelease.reports.text.shown_numbers import format_number

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import PlanFacts

LOOKS = Path(__file__).parent
WIDTHS = {25: 22, 34: 30, 44: 44, 61: 61, 80: 73}
"""By the room that a table needs, in rem: the width below which its rows become cards.

Small type lets some fit that need more than there is.
"""
SMALL, LETTER, GAP = 15.0, 0.53, 0.9  # fits everywhere; width of a letter, and between columns
PAGE, BROAD = 73, 80  # the width of all that stands on a page, and what fits there in small type
PAPER = 52
WORD = 16
FEW = 4  # a table of so many columns stays one on a phone

_CODE, _AS_CODE = re.compile(r"`([^`]*)`"), r"<code>\1</code>"
_CSS_SPACE = re.compile(r"(?<=[{;:,]) | (?=\{)|;? (?=\})")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Html(str):
    """HTML that is not escaped again: made by ``build_tag``, or written here or by charts."""

    __slots__ = ()


NONE = Html()
NEW_LINE = Html("\n")


def build_tag(name: str, *inside: Cell, **attributes: str) -> Html:
    """Build an element around texts, which are escaped, and HTML, which stays; "" is no attribute.

    The name of an attribute may end in an underscore, and those inside it stand for hyphens.
    """
    written_attributes = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Html(f"<{name}{written_attributes}>{_join(inside)}</{name}>")


def _escape(value: Cell) -> Html:
    """Escape a text, write a number for people, - for nothing; HTML stays as it is."""
    if value is None:
        return Html("-")
    if isinstance(value, Html):
        return value
    if isinstance(value, Status):
        return build_tag("span", value.text, class_=f"status {value.name.replace(' ', '-')}")
    if isinstance(value, Link):
        return build_tag("a", value.text, href=value.address)
    return Html(clean(value if isinstance(value, str) else format_number(value)))


def _join(parts: Iterable[Cell]) -> Html:
    return Html("".join(map(_escape, parts)))


def _join_lines(parts: Iterable[Html]) -> Html:
    """Join elements, each on lines of its own."""
    return Html("".join(f"{part}\n" for part in parts))


def _format_card_name(name: str) -> str:
    """Format a name for a style sheet, which takes text alone."""
    return name.replace("_", "_\u200b")


# --- the page -----------------------------------------------------------------------------------


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document as an HTML page; the same document gives the same bytes."""
    looks = _render_css(any(section.name == "records" for section in document.sections))
    style = Html(f"\n{looks}{_write_margins(document)}")
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        Html('<meta name="generator" content="dprelease">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        build_tag("title", document.title, " \u2013 ", document.form),
        build_tag("style", style),
    ]
    links = (
        build_tag("a", section.short, href=f"#{section.name}")
        for section in document.sections
        if section.short
    )
    body = [
        build_tag("a", say("page.skip_to_report"), class_="skip", href="#main"),
        *([build_tag("aside", document.mark, class_="mark")] if document.mark else []),
        build_tag("header", NEW_LINE, _render_wide(_render_header(document)), NEW_LINE),
        build_tag("nav", _render_wide([_list(links)]), aria_label=say("page.contents")),
        build_tag(
            "main",
            Html("\n\n"),
            *(Html(f"{_render_section(section)}\n\n") for section in document.sections),
            id="main",
            class_="wide",
            tabindex="-1",
        ),
        build_tag("footer", build_tag("div", build_tag("p", document.origin), class_="wide")),
        *_render_linked_data(document.linked_data),
    ]
    page = [
        build_tag("head", NEW_LINE, _join_lines(head)),
        build_tag("body", NEW_LINE, _join_lines(body)),
    ]
    return _join_lines(
        [
            Html("<!doctype html>"),
            build_tag("html", NEW_LINE, _join_lines(page), lang=get_language()),
        ]
    )


def _render_linked_data(content: str) -> Iterator[Html]:
    """Render what the page says to programs: a block of data, which no browser runs."""
    # Escapes of JSON stand for what could end the block.
    if content:
        ends = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&"}
        yield build_tag("script", Html(content.translate(ends)), type_="application/ld+json")


def _render_wide(parts: Iterable[Html]) -> Html:
    return build_tag("div", NEW_LINE, _join_lines(parts), class_="wide")


def _render_header(document: Document) -> list[Html]:
    return [
        build_tag("p", document.kind, class_="kind"),
        build_tag("h1", document.title),
        _render_definitions(document.basics, "facts"),
    ]


def _render_section(section: Section) -> Html:
    title = build_tag("h2", section.title, id=section.name)
    parts = _render_parts(section.parts)
    inside = [_render_folded(title, parts)] if section.folded else [title, NEW_LINE, parts]
    return build_tag("section", NEW_LINE, *inside, aria_labelledby=section.name)


def prepare() -> None:
    """Read the looks, which needs files, beforehand."""
    _render_css(True)


@cache
def _render_css(records: bool) -> Html:
    """Give the looks; those of cards once for each width below which a table has them."""
    cards = _look("cards.css")
    fitting = [cards.replace("WIDTH", str(width)) for width in WIDTHS.values()]
    # a renderer of paper may know no containers
    too_wide = ", ".join(f".w{width}" for width in WIDTHS.values() if width > PAPER)
    on_paper = cards.partition("@container (min")[0].replace(
        "@container (max-width: WIDTHrem)", "@media print"
    )
    on_paper = on_paper.replace(".wWIDTH", f":is({too_wide})")
    # WeasyPrint gives what spans both columns its full width in the first, if that fits content.
    on_paper = on_paper.replace("max-content minmax", "22rem minmax")
    looks = _look("report.css").replace("/* cards */", "\n".join([*fitting, on_paper]))
    if records:
        looks += f"\n{_look('records.css')}"
    lines = (_CSS_SPACE.sub("", line.strip()) for line in looks.splitlines() if line.strip())
    return Html("\n".join(lines) + "\n")


def _write_margins(document: Document) -> Html:
    """Write what stands above and below each sheet of paper, but for a title above the title."""
    page = say("page.number", page="\0page\0", pages="\0pages\0").split("\0")
    number = " ".join(
        f"counter({part})" if part in ("page", "pages") else _write_string(part)
        for part in page
        if part
    )
    run = _write_string(say("page.run", run=document.run)) if document.run else "none"
    return Html(
        f"@page {{ @top-left {{ content: {_write_string(document.title)} }} "
        f"@bottom-left {{ content: {run} }} @bottom-right {{ content: {number} }} }}\n"
        "@page :first { @top-left { content: none } }\n"
    )


def _write_string(text: str) -> str:
    """Write a text as a string of CSS: what is no letter, digit or space of ASCII by its code."""
    return '"{}"'.format(
        "".join(
            char if char == " " or (char.isascii() and char.isalnum()) else f"\\{ord(char):x} "
            for char in text
        )
    )


@cache
def _look(name: str) -> str:
    return (LOOKS / name).read_text(encoding="utf-8")


# --- its parts ----------------------------------------------------------------------------------


def _render_parts(parts: Iterable[Part]) -> Html:
    return _join_lines(map(_render_part, parts))


def _render_part(part: Part) -> Html:  # noqa: PLR0911 - one for each kind
    match part:
        case Heading():
            link = _join((" ", part.link)) if part.link else NONE
            return build_tag("h3", part.text, link, id=part.name)
        case Paragraph():
            style = "small" if part.style == "looks" else part.style
            link = _join((part.link, ": ")) if part.link else NONE
            return build_tag("p", link, part.text, class_=style)
        case Bullets():
            lines = map(_escape, part.lines)
            return _list(Html(_CODE.sub(_AS_CODE, line)) if part.code else line for line in lines)
        case Tiles():
            return _list(map(_render_tile, part.tiles), "tiles")
        case Table():
            return _render_table(part)
        case FigureTable():
            return _render_figures(part)
        case Definitions():
            return _render_definitions(part.rows, "list")
        case FactsLabel():
            return _render_label(part)
        case Details():
            name = _join((build_tag("b", part.name), " \u2013 ")) if part.name else NONE
            return _render_folded(_join((name, part.title)), _render_parts(part.parts))
        case Group():
            return build_tag("div", NEW_LINE, _render_parts(part.parts), class_=part.layout)
        case Chart():
            return _chart(part)
        case HeatTable():
            return _heat(part)


def _list(items: Iterable[Html], style: str = "") -> Html:
    return build_tag(
        "ul", NEW_LINE, _join_lines(build_tag("li", item) for item in items), class_=style
    )


def _render_definitions(rows: Iterable[tuple[str, Cell]], style: str) -> Html:
    items = (
        build_tag("div", build_tag("dt", label), build_tag("dd", text)) for label, text in rows
    )
    return build_tag("dl", NEW_LINE, _join_lines(items), class_=style)


def _render_folded(title: Html, inside: Html) -> Html:
    return build_tag("details", build_tag("summary", title), NEW_LINE, inside)


def _render_label(label: FactsLabel) -> Html:
    inside = [build_tag("h3", label.title, id="privacy-facts")]
    for row in label.rows:
        match row:
            case Heading():
                inside.append(build_tag("h4", row.text))
            case Paragraph():
                inside.append(build_tag("p", row.text))
            case Meter():
                inside += [_render_meter(row), build_tag("p", row.text, class_="small")]
            case (name, value):
                inside.append(build_tag("p", build_tag("span", name), build_tag("b", value)))
    if label.file:
        link = build_tag("a", say("page.label_as_picture"), href=label.file)
        inside.append(build_tag("p", link, class_="small vega"))
    return build_tag(
        "aside", NEW_LINE, _join_lines(inside), class_="label", aria_labelledby="privacy-facts"
    )


def _render_meter(meter: Meter) -> Html:
    """Draw the shares of a cap; what stands beside it says them."""
    before, now = (round(100 * share, 1) for share in (meter.before, meter.now))
    return Html(
        '<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" class="meter">'
        '<rect class="track" width="100" height="4"/>'
        f'<rect class="quiet" width="{before}" height="4"/>'
        f'<rect class="bar" x="{before}" width="{now}" height="4"/></svg>'
    )


def _render_tile(tile: Tile) -> Html:
    meter = _render_meter(tile.meter) if tile.meter else NONE
    figure: list[Cell] = [build_tag("b", tile.figure), " "]
    if tile.noise:
        figure = [build_tag("b", tile.figure, " ", build_tag("i", tile.noise)), " "]
    return _join((*figure, build_tag("span", tile.label), meter))


def _chart(chart: Chart) -> Html:
    inside = [
        build_tag("figcaption", chart.title),
        Html(chart.svg),
        build_tag("p", chart.note or chart.description, class_="small"),
    ]
    if chart.rows:
        caption = say("page.in_numbers", title=chart.title)
        numbers = Table(f"{chart.name}-n", caption, chart.head, chart.rows)
        title = say("page.numbers_of", title=chart.title)
        inside.append(_render_folded(_escape(title), _join_lines([_render_table(numbers)])))
    if chart.vega is not None:
        inside.append(_render_vega(chart.vega))
    has_panels = chart.svg.count("<svg") > 1
    style = "chart full" if has_panels else "chart"
    return build_tag("figure", NEW_LINE, _join_lines(inside), class_=style, id=chart.name)


# --- tables -------------------------------------------------------------------------------------


def _render_fitted_table(  # noqa: PLR0913, PLR0917 - a table, and how much room it needs
    name: str,
    caption: str,
    head: Iterable[Html],
    rows: Iterable[Html],
    need: float,
    style: str = "",
    is_titled: bool = False,
) -> Html:
    """Render a table that is never cut: without room its rows are cards, or it scrolls.

    Of one that is titled a heading has the name.
    """
    # There is a stop for the keyboard only while something scrolls.
    inside = [
        *([build_tag("caption", caption, id="" if is_titled else name)] if caption else []),
        build_tag("thead", build_tag("tr", NEW_LINE, *head, NEW_LINE)),
        build_tag("tbody", NEW_LINE, _join_lines(rows)),
    ]
    width = next((width for largest, width in WIDTHS.items() if largest >= need), None)
    cards = f"w{width or PAGE}" if need > SMALL and not style else style
    named = name if is_titled else ""
    table = build_tag("table", NEW_LINE, _join_lines(inside), class_=cards, aria_labelledby=named)
    scrolls = need > BROAD if not style else need > SMALL
    if scrolls:
        room_for = f"scroll s{width or 'all'}" if style else "scroll below"
        table = build_tag(
            "div", table, class_=room_for, role="group", aria_labelledby=name, tabindex="0"
        )
    return build_tag("div", NEW_LINE, table, NEW_LINE, class_="fit")


def _need(columns: Iterable[Iterable[str]]) -> float:
    """Estimate the room of columns, in rem, from texts that are not broken."""
    widths = [max(map(count_letters, texts), default=0) for texts in columns]
    return LETTER * sum(widths) + GAP * len(widths)


def _iter_words(text: str, has_words: bool = True) -> Iterator[str]:
    """Give what is not broken of a text: its words, and as many letters as a line should have."""
    yield from text.split()
    if has_words:
        yield text[:WORD]


def _render_table(table: Table) -> Html:
    has_words = len(table.head) > FEW
    need = _need(
        [
            *_iter_words(title, has_words and at not in table.numbers),
            *(
                word
                for row in table.rows
                for word in _iter_unbroken(row[at], has_words, at in table.numbers)
            ),
        ]
        for at, title in enumerate(table.head)
    )
    names = [_format_card_name(title) if need > SMALL else "" for title in table.head]

    def choose_style(place: int) -> str:
        return "n" if place in table.numbers else ""

    def render_row(cells: tuple[Cell, ...]) -> Html:
        name = build_tag("th", build_tag("bdi", cells[0]), scope="row")
        rest = enumerate(cells[1:], 1)
        return build_tag(
            "tr",
            name,
            *(
                build_tag("td", cell, class_=choose_style(place), data_name=names[place])
                for place, cell in rest
            ),
        )

    head = (
        build_tag("th", title, scope="col", class_=choose_style(place))
        for place, title in enumerate(table.head)
    )
    return _render_fitted_table(table.name, table.caption, head, map(render_row, table.rows), need)


def _iter_unbroken(cell: Cell, has_words: bool, is_number: bool) -> Iterator[str]:
    """Give what is not broken of a cell: all of a number, of a mark and of a link."""
    if isinstance(cell, Status | Link):
        yield f"{cell.text}   "
    elif is_number or not isinstance(cell, str):
        yield cell if isinstance(cell, str) else "-" if cell is None else format_number(cell)
    else:
        yield from _iter_words(cell, has_words)


def _render_figures(table: FigureTable) -> Html:
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    # What the noise does to a figure, and its mark, stand in a cell of their own beside it.
    beside = [any(cell.noise or cell.flag for cell in column) for column in columns]
    has_words = len(table.head) > FEW
    need = _need(
        [
            *_iter_words(column.name.replace("_", "_ "), has_words),
            *_iter_words(column.remark, has_words),
            *(
                text
                for cell in cells
                for text in (
                    [_join_noise(cell), cell.flag]
                    if cell.number
                    else _iter_words(_join_noise(cell), has_words)
                )
            ),
        ]
        for column, cells in zip(table.head, columns, strict=True)
    )
    short = all(
        count_letters(cell.figure) <= WORD for column in columns[: table.keys] for cell in column
    )
    names = [_name_in_cards(column) if need > SMALL else "" for column in table.head]

    def render_head() -> Iterator[Html]:
        for column, is_wide in zip(table.head, beside, strict=True):
            name = Html(_escape(column.name).replace("_", "_<wbr>"))  # lines may end there
            remark = [" ", build_tag("small", column.remark)] if column.remark else []
            yield build_tag(
                "th",
                name,
                *remark,
                scope="col",
                colspan="2" if is_wide else "",
                class_="n" if column.number else "",
                title=column.description,
            )

    def render_cells(row: Sequence[Figure]) -> Iterator[Html]:
        for place, cell in enumerate(row):
            if place < table.keys:
                key = build_tag("bdi", cell.figure)
                yield build_tag("th", key, scope="row", class_="k" if short else "")
                continue
            figure = (
                _split_pale(cell.figure, cell.pale)
                if cell.number
                else [build_tag("bdi", cell.figure)]
            )
            style = "n" if table.head[place].number else ""
            yield build_tag("td", *figure, class_=style, data_name=names[place])
            if beside[place]:
                noise = cell.noise.replace("± ", "±\u00a0")
                flag = [" ", build_tag("span", cell.flag, class_="flag")] if cell.flag else []
                yield build_tag("td", noise, *flag, class_="m")

    rows = (build_tag("tr", *render_cells(row)) for row in table.rows)
    head = render_head()
    return _render_fitted_table(table.name, table.caption, head, rows, need, is_titled=True)


def _name_in_cards(column: FigureColumn) -> str:
    name = _format_card_name(column.name)
    return say("words.remark", text=name, remark=column.remark) if column.remark else name


def _join_noise(cell: Figure) -> str:
    return f"{cell.figure} {cell.noise}" if cell.noise else cell.figure


def _split_pale(figure: str, pale: int) -> list[Cell]:
    """Make the last letters of a figure paler; to copy or to hear they are no others."""
    firm = len(figure) - pale
    return [figure[:firm], build_tag("i", figure[firm:])] if pale else [figure]


def _heat(table: HeatTable) -> Html:
    def render_cell(cell: HeatCell) -> Html:
        marks = (("hollow", cell.flagged), ("low", cell.size < 0))
        style = " ".join(["n", *(mark for mark, is_set in marks if is_set)])
        width = f"--w:{abs(cell.size)}%" if cell.size else ""
        return build_tag("td", *_split_pale(cell.text, cell.pale), class_=style, style=width)

    need = _need(
        [head, *(row[0] if not place else row[1][place - 1].text for row in table.rows)]
        for place, head in enumerate(table.head)
    )
    head = (build_tag("th", build_tag("bdi", key), scope="col") for key in table.head)
    rows = (
        build_tag(
            "tr",
            build_tag("th", build_tag("bdi", key), scope="row"),
            *map(render_cell, cells),
        )
        for key, cells in table.rows
    )
    table_html = _render_fitted_table(f"{table.name}-n", table.title, head, rows, need, "heat")
    caption = build_tag("p", table.description, class_="small")
    beside = [] if table.vega is None else [_render_vega(table.vega)]
    style = "chart full"
    return build_tag(
        "figure", NEW_LINE, _join_lines([table_html, caption, *beside]), class_=style, id=table.name
    )


def _render_vega(vega: VegaLite) -> Html:
    title = say("page.vega_lite")
    return build_tag("p", build_tag("a", title, href=vega.file), class_="small vega")
