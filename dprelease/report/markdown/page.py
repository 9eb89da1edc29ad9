"""The report as Markdown: the document without its charts. No value can break its markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dprelease.report.charts.svg import Chart
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
    Paragraph,
    Part,
    Status,
    Table,
    Tiles,
)
from dprelease.report.numbers import written

if TYPE_CHECKING:
    from dprelease.report.facts.model import PlanFacts

_MARKUP = re.compile(r"[\\|*`<>\[\]#~]")
# Controls, and what turns the direction of a line: a page may be read on a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    blocks = [
        f"# {cell(document.title)}",
        f"{document.kind}.",
        _grid(("about", "this release"), document.basics),
    ]
    for section in document.sections:
        blocks += [f"## {cell(section.title)}", *_blocks(section.parts)]
    return "\n\n".join([*blocks, document.origin]) + "\n"


def cell(value: Cell) -> str:
    """Write a number, or a text so that it can't break a Markdown table or smuggle markup in."""
    if value is None:
        return "-"
    if isinstance(value, Status):
        value = value.text
    if isinstance(value, int | float):
        return written(value)
    text = _MARKUP.sub(r"\\\g<0>", value)
    # an underscore inside a word is no markup, and names are full of them
    text = _UNDERSCORE.sub(r"\\_", text)
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def _blocks(parts: Iterable[Part]) -> Iterator[str]:
    """Write parts as blocks, which an empty line stands between."""
    for part in parts:
        yield from _WRITTEN[type(part)](part)


def _heading(part: Heading) -> Iterator[str]:
    yield f"### {cell(part.text)}"


def _paragraph(part: Paragraph) -> Iterator[str]:
    yield f"**{cell(part.text)}**" if part.style == "lead" else cell(part.text)


def _bullets(part: Bullets) -> Iterator[str]:
    yield "\n".join(f"- {line if part.code else cell(line)}" for line in part.lines)


def _tiles(part: Tiles) -> Iterator[str]:
    lines = []
    for tile in part.tiles:
        link = "" if tile.link is None else f" {cell(tile.link[0])}"
        lines.append(f"- **{cell(tile.figure)}** {cell(tile.label)}{link}")
    yield "\n".join(lines)


def _table(part: Table) -> Iterator[str]:
    yield f"#### {cell(part.caption)}"
    yield _grid(part.head, part.rows)


def _figure_table(part: FigureTable) -> Iterator[str]:
    yield f"#### {cell(part.caption)}"
    rows = (tuple(map(_figure, row)) for row in part.rows)
    yield _grid([column.name for column in part.head], rows)


def _figure(figure: Figure) -> str:
    flag = f" ({figure.flag})" if figure.flag else ""
    return f"{figure.figure} {figure.noise}{flag}" if figure.noise else f"{figure.figure}{flag}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    lines = ["| " + " | ".join(map(cell, head)) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def _definitions(part: Definitions) -> Iterator[str]:
    yield "\n".join(f"- {cell(label)}: {cell(text)}" for label, text in part.rows)


def _details(part: Details) -> Iterator[str]:
    titles = [cell(title) for title in (part.name, part.title) if title]
    alone = len(part.parts) == 1 and isinstance(part.parts[0], Table)
    if not alone or part.name:
        yield "#### " + " \u2013 ".join(titles)
    yield from _blocks(part.parts)


def _group(part: Group) -> Iterator[str]:
    yield from _blocks(part.parts)


def _chart(_part: Chart) -> Iterator[str]:
    yield from ()


_WRITTEN: dict[type[Any], Callable[[Any], Iterator[str]]] = {
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
