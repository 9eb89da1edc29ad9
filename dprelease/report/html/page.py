"""The report as one HTML file: no network, no script; light, dark and paper.

Lays out a document; words nothing but the way to the report. The frame is in ``page.html.j2``, the
looks in ``report.css``. Every text is escaped here, and charts escape theirs (``charts.drawing``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprelease.report.charts.svg import Chart
from dprelease.report.document import (
    Bullets,
    Cell,
    Definitions,
    Details,
    Document,
    FigureTable,
    Group,
    Heading,
    Paragraph,
    Part,
    Status,
    Table,
    Tile,
    Tiles,
)
from dprelease.report.numbers import written

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from dprelease.report.facts.model import PlanFacts

PAGE = Path(__file__).with_name("templates")
_CODE = re.compile(r"`([^`]*)`")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    names = {section.name for section in document.sections}
    page = _template().render(
        document=document,
        css=_css("report.css"),
        records_css=_css("records.css") if "records" in names else "",
        sections=[(section, _trusted(_parts(section.parts))) for section in document.sections],
    )
    return page + "\n"


def prepare() -> None:
    """Read and compile the frame, which takes longer than to fill it."""
    _template()
    for name in ("report.css", "records.css"):
        _css(name)


def _parts(parts: Iterable[Part]) -> str:
    return "".join(_DRAWN[type(part)](part) for part in parts)


def _heading(part: Heading) -> str:
    return f"<h3>{_text(part.text)}</h3>\n"


def _paragraph(part: Paragraph) -> str:
    style = f' class="{part.style}"' if part.style else ""
    return f"<p{style}>{_text(part.text)}</p>\n"


def _bullets(part: Bullets) -> str:
    line = _code if part.code else _text
    lines = "".join(f"<li>{line(text)}</li>\n" for text in part.lines)
    return f"<ul>\n{lines}</ul>\n"


def _tiles(part: Tiles) -> str:
    return f'<ul class="tiles">\n{"".join(map(_tile, part.tiles))}</ul>\n'


def _tile(tile: Tile) -> str:
    label = _text(tile.label)
    if tile.link is not None:
        text, section = tile.link
        label += f' <a href="#{_text(section)}">{_text(text)}</a>'
    return f"<li><b>{_text(tile.figure)}</b> <span>{label}</span></li>\n"


def _table(part: Table) -> str:
    def cells(row: Sequence[Cell]) -> str:
        first = f'<th scope="row"><bdi>{_text(row[0])}</bdi></th>'
        return first + "".join(
            f"<td{_number(place in part.numbers)}>{_text(cell)}</td>"
            for place, cell in enumerate(row[1:], 1)
        )

    head = "".join(
        f'<th scope="col"{_number(place in part.numbers)}>{_text(title)}</th>'
        for place, title in enumerate(part.head)
    )
    return _grid(part.name, part.caption, "", head, map(cells, part.rows))


def _figure_table(part: FigureTable) -> str:
    width = len(part.head)
    # above nine columns paper shows each row as a block of named figures
    style = ' class="packed"' if width > 9 else ' class="tight"' if width > 6 else ""
    head = "".join(
        f'<th scope="col"{_number(column.number)} title="{_text(column.description)}">'
        f"{_text(column.name).replace('_', '_<wbr>')}</th>"
        for column in part.head
    )
    rows = []
    for row in part.rows:
        cells = ""
        for place, (column, cell) in enumerate(zip(part.head, row, strict=True)):
            named = f' data-name="{_text(column.name)}"' if width > 9 else ""
            figure = _text(cell.figure)
            if place < part.keys or not column.number:
                figure = f"<bdi>{figure}</bdi>"
            if place < part.keys:
                cells += f'<th scope="row"{named}>{figure}</th>'
                continue
            noise = f' <span class="moe">{_text(cell.noise)}</span>' if cell.noise else ""
            flag = f' <span class="flag">{_text(cell.flag)}</span>' if cell.flag else ""
            cells += f"<td{_number(column.number)}{named}>{figure}{noise}{flag}</td>"
        rows.append(cells)
    return _grid(part.name, part.caption, style, head, rows)


def _grid(name: str, caption: str, style: str, head: str, rows: Iterable[str]) -> str:
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return (
        f'<div class="scroll" role="group" aria-labelledby="{name}" tabindex="0">\n'
        f'<table{style}>\n<caption id="{name}">{_text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def _number(is_number: bool) -> str:
    return ' class="n"' if is_number else ""


def _definitions(part: Definitions) -> str:
    rows = "".join(
        f"<div><dt>{_text(label)}</dt><dd>{_text(text)}</dd></div>\n" for label, text in part.rows
    )
    return f'<dl class="list">\n{rows}</dl>\n'


def _details(part: Details) -> str:
    name = f"<b>{_text(part.name)}</b> \u2013 " if part.name else ""
    return (
        f"<details><summary>{name}{_text(part.title)}</summary>\n{_parts(part.parts)}</details>\n"
    )


def _group(part: Group) -> str:
    style = f' class="{part.layout}"' if part.layout else ""
    return f"<div{style}>\n{_parts(part.parts)}</div>\n"


def _chart(part: Chart) -> str:
    numbers = Table(f"{part.name}-n", f"{part.title}, in numbers", part.head, part.rows)
    title = _text(part.title)
    return (
        f'<figure class="chart">\n<figcaption>{title}</figcaption>\n{part.svg}\n'
        f'<p class="small">{_text(part.note or part.description)}</p>\n'
        f"<details><summary>Numbers of “{title}”</summary>\n{_table(numbers)}</details>\n"
        "</figure>\n"
    )


_DRAWN: dict[type[Any], Callable[[Any], str]] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Bullets: _bullets,
    Tiles: _tiles,
    Table: _table,
    FigureTable: _figure_table,
    Definitions: _definitions,
    Details: _details,
    Group: _group,
    Chart: _chart,
}


def _text(value: Cell) -> str:
    """Escape a text, write a number for people, and - for nothing."""
    if value is None:
        return "-"
    if isinstance(value, Status):
        text = _text(value.text)
        return f'<span class="status {text}">{text}</span>'
    from markupsafe import escape

    text = value if isinstance(value, str) else written(value)
    return str(escape(_CONTROL.sub("\ufffd", text)))


def _code(text: str) -> str:
    """Escape a sentence of ours, and set what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _trusted(html: str) -> Markup:
    from markupsafe import Markup

    return Markup(html)  # noqa: S704 - every text in it is escaped


@cache
def _css(name: str) -> Markup:
    lines = (PAGE / name).read_text(encoding="utf-8").splitlines()
    return _trusted("\n".join(line.strip() for line in lines if line.strip()))


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: (
            type(value)(_CONTROL.sub("\ufffd", value)) if isinstance(value, str) else value
        ),
    )
    return environment.from_string((PAGE / "page.html.j2").read_text(encoding="utf-8"))
