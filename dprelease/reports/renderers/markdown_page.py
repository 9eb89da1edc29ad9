"""The report as Markdown: the document without its charts. No value can break its markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from dprelease.language import say
from dprelease.reports.sections.document import (
    Bullets,
    Cell,
    Definitions,
    Details,
    Document,
    FactsLabel,
    Figure,
    FigureTable,
    Group,
    Heading,
    Link,
    Meter,
    Paragraph,
    Part,
    Status,
    Table,
    Tile,
    Tiles,
)
from dprelease.reports.text.shown_numbers import format_number

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import PlanFacts

_MARKUP = re.compile(r"[\\|*`<>\[\]#~]")
# Controls, and what turns the direction of a line: a page may be read on a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    blocks = [
        f"# {render_cell(document.title)}",
        *([f"**{render_cell(document.mark)}**"] if document.mark else []),
        f"{document.kind}.",
        _render_grid((say("page.about"), say("words.this_release")), document.basics),
    ]
    for section in document.sections:
        blocks += [f"## {render_cell(section.title)}", *_iter_blocks(section.parts)]
    return "\n\n".join([*blocks, document.origin]) + "\n"


def render_cell(value: Cell) -> str:
    """Write a number, or a text so that it can't break a Markdown table or smuggle markup in."""
    if value is None:
        return "-"
    if isinstance(value, Status):
        value = value.text
    if isinstance(value, Link):
        return f"[{render_cell(value.text)}]({quote(value.address, safe='/:@?#&=%+,;~')})"
    if isinstance(value, int | float):
        return format_number(value)
    text = _MARKUP.sub(r"\\\g<0>", value)
    # an underscore inside a word is no markup, and names are full of them
    text = _UNDERSCORE.sub(r"\\_", text)
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def _iter_blocks(parts: Iterable[Part]) -> Iterator[str]:
    """Write parts as blocks, which an empty line stands between; charts are left out."""
    for part in parts:
        match part:
            case Heading():
                yield f"### {render_cell(part.text)}{_render_link(' ({})', part.link)}"
            case Paragraph() if part.style != "looks":
                text = f"{_render_link('{}: ', part.link)}{render_cell(part.text)}"
                yield f"**{text}**" if part.style == "lead" else text
            case Bullets():
                yield "\n".join(
                    f"- {line if part.code else render_cell(line)}" for line in part.lines
                )
            case Tiles():
                yield "\n".join(map(_render_tile, part.tiles))
            case Table():
                yield f"#### {render_cell(part.caption)}"
                yield _render_grid(part.head, part.rows)
            case FigureTable():
                yield from (f"#### {render_cell(part.caption)}" for _ in part.caption[:1])
                rows = (tuple(map(_render_figure, row)) for row in part.rows)
                yield _render_grid(
                    [f"{column.name} {column.remark}".strip() for column in part.head], rows
                )
            case Definitions():
                definitions = [tuple(map(render_cell, row)) for row in part.rows]
                yield "\n".join(
                    f"- {say('words.labelled', label=label, text=text)}"
                    for label, text in definitions
                )
            case FactsLabel():
                yield f"### {render_cell(part.title)}"
                yield "\n".join(map(_render_label_row, part.rows))
            case Details():
                # A table has a caption, which says as much.
                first = part.parts[0]
                is_table = isinstance(first, Table) and len(part.parts) == 1
                if part.name or not (is_table or isinstance(first, FigureTable)):
                    titles = [render_cell(title) for title in (part.name, part.title) if title]
                    yield "#### " + " \u2013 ".join(titles)
                yield from _iter_blocks(part.parts)
            case Group():
                yield from _iter_blocks(part.parts)


def _render_label_row(row: tuple[str, str] | Heading | Paragraph | Meter) -> str:
    if isinstance(row, Heading | Paragraph | Meter):
        return f"- {render_cell(row.text)}"
    name, value = map(render_cell, row)
    return f"- {say('words.labelled', label=name, text=value)}"


def _render_link(form: str, link: Link | None) -> str:
    """Write a link in a form, "" for none."""
    return "" if link is None else form.format(render_cell(link))


def _render_tile(tile: Tile) -> str:
    noise = f" {render_cell(tile.noise)}" if tile.noise else ""
    return f"- **{render_cell(tile.figure)}**{noise} {render_cell(tile.label)}"


def _render_figure(figure: Figure) -> str:
    flag = f" ({figure.flag})" if figure.flag else ""
    return f"{figure.figure} {figure.noise}{flag}" if figure.noise else f"{figure.figure}{flag}"


def _render_grid(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    lines = ["| " + " | ".join(map(render_cell, head)) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(map(render_cell, row)) + " |" for row in rows]
    return "\n".join(lines)
