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
    Figure,
    FigureTable,
    Group,
    Heading,
    Link,
    Paragraph,
    Part,
    Status,
    Table,
    Tile,
    Tiles,
)
from dprelease.reports.text.shown_numbers import written

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import PlanFacts

_MARKUP = re.compile(r"[\\|*`<>\[\]#~]")
# Controls, and what turns the direction of a line: a page may be read on a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    blocks = [
        f"# {cell(document.title)}",
        *([f"**{cell(document.mark)}**"] if document.mark else []),
        f"{document.kind}.",
        _grid((say("page.about"), say("words.this_release")), document.basics),
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
    if isinstance(value, Link):
        return f"[{cell(value.text)}]({quote(value.address, safe='/:@?#&=%+,;~')})"
    if isinstance(value, int | float):
        return written(value)
    text = _MARKUP.sub(r"\\\g<0>", value)
    # an underscore inside a word is no markup, and names are full of them
    text = _UNDERSCORE.sub(r"\\_", text)
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def _blocks(parts: Iterable[Part]) -> Iterator[str]:
    """Write parts as blocks, which an empty line stands between; charts are left out."""
    for part in parts:
        match part:
            case Heading():
                yield f"### {cell(part.text)}"
            case Paragraph():
                yield f"**{cell(part.text)}**" if part.style == "lead" else cell(part.text)
            case Bullets():
                yield "\n".join(f"- {line if part.code else cell(line)}" for line in part.lines)
            case Tiles():
                yield "\n".join(map(_tile, part.tiles))
            case Table():
                yield f"#### {cell(part.caption)}"
                yield _grid(part.head, part.rows)
            case FigureTable():
                yield f"#### {cell(part.caption)}"
                rows = (tuple(map(_figure, row)) for row in part.rows)
                yield _grid([column.name for column in part.head], rows)
            case Definitions():
                yield "\n".join(f"- {_labelled(label, text)}" for label, text in part.rows)
            case Details():
                only_table = len(part.parts) == 1 and isinstance(part.parts[0], Table)
                if not only_table or part.name:
                    titles = [cell(title) for title in (part.name, part.title) if title]
                    yield "#### " + " \u2013 ".join(titles)
                yield from _blocks(part.parts)
            case Group():
                yield from _blocks(part.parts)


def _labelled(label: str, text: Cell) -> str:
    return say("words.labelled", label=cell(label), text=cell(text))


def _tile(tile: Tile) -> str:
    link = "" if tile.link is None else f" {cell(tile.link[0])}"
    return f"- **{cell(tile.figure)}** {cell(tile.label)}{link}"


def _figure(figure: Figure) -> str:
    flag = f" ({figure.flag})" if figure.flag else ""
    return f"{figure.figure} {figure.noise}{flag}" if figure.noise else f"{figure.figure}{flag}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    lines = ["| " + " | ".join(map(cell, head)) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines)
