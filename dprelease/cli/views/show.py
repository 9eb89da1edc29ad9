"""A released table as text, each figure with its half-width, and in JSON values.

Text is as wide as the terminal: a table with more columns than fit is shown in parts, each with the
grouping columns again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from shutil import get_terminal_size
from typing import NamedTuple

from dprelease.cli.console import printable
from dprelease.output.released_tables import (
    NUMBER,
    Described,
    Field,
    Figure,
    Row,
    Rows,
    figures_of,
    keys_of,
)

GAP = "  "
EMPTY = "-"
MARKS = ("*", "†", "‡", "§")
_FINE = ("ok", None)
_MEANINGS = {"low_reliability": ": the noise is large beside the figure"}
_LEVEL = re.compile(r"half-width of the ([0-9.]+%) noise interval")


class Shown(NamedTuple):
    """A column as it is shown: heading and cells, all of one width."""

    lines: Sequence[str]
    width: int


def page_of(table: Described, read: Rows) -> str:
    """The table with its heading, and below it what its marks mean."""
    figures = figures_of(table.fields)
    keys = keys_of(table.fields, figures)
    flags = _flags(figures, read.rows)
    width = max(40, get_terminal_size((80, 24)).columns)
    columns = [_column(table.fields, figure, read.rows, flags, width // 2) for figure in figures]
    lines = [printable(f"{table.name}: {table.title}" if table.title else table.name)]
    for part in _parts(columns[: len(keys)], columns[len(keys) :], width):
        lines += ["", *_text(part)]
    if read.total > len(read.rows):
        more = read.total - len(read.rows)
        lines += ["", f"... and {_counted(more)} more, of {read.total:,}; --rows N shows N"]
    if read.total == 0:
        lines += ["", "no rows"]
    notes = [*_notes(table.fields, figures), *_meanings(flags)]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _counted(rows: int) -> str:
    return f"{rows:,} row" if rows == 1 else f"{rows:,} rows"


def _parts(keys: list[Shown], others: list[Shown], width: int) -> Iterator[list[Shown]]:
    """Columns that fit side by side; at least one besides the keys."""
    start = sum(column.width + len(GAP) for column in keys)
    part, used = list(keys), start
    for column in others:
        if len(part) > len(keys) and used + column.width > width:
            yield part
            part, used = list(keys), start
        part.append(column)
        used += column.width + len(GAP)
    if part:
        yield part


def _text(part: Sequence[Shown]) -> Iterator[str]:
    heading, *rows = zip(*(column.lines for column in part), strict=True)
    yield GAP.join(heading).rstrip()
    yield GAP.join("─" * column.width for column in part)
    for row in rows:
        yield GAP.join(row).rstrip()


def _column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], flags: dict[str, str], most: int
) -> Shown:
    from rich.cells import cell_len, set_cell_size

    field = fields[figure.value]
    numeric = field.type in {"integer", "number"}
    texts = [_cell(fields, figure, row, most) for row in rows]
    if len(flags) and figure.flag is not None:
        marks = [flags.get(row[figure.flag] or "", " ") for row in rows]
        if any(mark != " " for mark in marks):
            texts = [f"{text} {mark}" for text, mark in zip(texts, marks, strict=True)]
    lines = [_short(field.name, most), *texts]
    width = max(map(cell_len, lines))
    if numeric:
        return Shown([" " * (width - cell_len(line)) + line for line in lines], width)
    return Shown([set_cell_size(line, width) for line in lines], width)


def _cell(fields: Sequence[Field], figure: Figure, row: Row, most: int) -> str:
    """A label may be cut, a figure and how exact it is never."""
    field = fields[figure.value]
    read = _number if _is_number(field) else _label
    text = read(row[figure.value], most)
    moe = None if figure.moe is None else row[figure.moe]
    ranks = None if figure.ranks is None else row[figure.ranks]
    if moe is not None and _is_number(field):
        return f"{text} ± {_number(moe, most)}"
    if moe is not None:
        return f"{text} ({_number(moe, most)})"
    return f"{text} ({_number(ranks, most)})" if ranks is not None else text


def _is_number(field: Field) -> bool:
    return field.type in {"integer", "number"}


def _number(text: str | None, most: int) -> str:
    if text is None or not NUMBER.fullmatch(text):  # not what was released: say what is there
        return _label(text, most)
    return f"{Decimal(text):,f}"


def _label(text: str | None, most: int) -> str:
    return EMPTY if text is None else _short(text, most) or '""'


def _short(text: str, most: int) -> str:
    """The text, cut to so many columns of a terminal; many characters take two."""
    from rich.cells import cell_len, chop_cells

    shown = printable(text)
    return shown if cell_len(shown) <= most else chop_cells(shown, most - 1)[0] + "…"


def _flags(figures: Sequence[Figure], rows: Sequence[Row]) -> dict[str, str]:
    """The flags other than ok that occur, each with its mark."""
    flags = dict.fromkeys(
        flag
        for figure in figures
        if figure.flag is not None
        for row in rows
        if (flag := row[figure.flag]) not in _FINE and flag is not None
    )
    return {flag: MARKS[min(place, len(MARKS) - 1)] for place, flag in enumerate(flags)}


def _meanings(flags: dict[str, str]) -> Iterator[str]:
    for flag, mark in flags.items():
        yield f"{mark} {printable(flag)}{_MEANINGS.get(flag, '')}"


def _notes(fields: Sequence[Field], figures: Sequence[Figure]) -> Iterator[str]:
    moes = [figure for figure in figures if figure.moe is not None]
    levels = {
        level[1]
        for figure in moes
        if figure.moe is not None and (level := _LEVEL.search(fields[figure.moe].description))
    }
    if levels:
        yield f"± half-width of the {' or '.join(sorted(levels))} noise interval: the noise alone"
    if any(figure.ranks is not None for figure in figures):
        yield "(n) of a quantile: within n ranks, values in order, of the true one"
    if any(not _is_number(fields[figure.value]) and figure.ranks is None for figure in moes):
        yield "(n) of a name: its score falls short of the best by at most n"


def facts_of(table: Described, read: Rows) -> dict[str, object]:
    """The table's columns and its rows; numbers as numbers, an empty cell as null."""
    return {
        "name": table.name,
        "title": table.title or None,
        "file": str(table.file),
        "rows": read.total,
        "columns": [
            {"name": field.name, "type": field.type, "description": field.description or None}
            for field in table.fields
        ],
        "values": [
            [_value(field, text) for field, text in zip(table.fields, row, strict=True)]
            for row in read.rows
        ],
    }


def _value(field: Field, text: str | None) -> object:
    if text is None or field.type not in {"integer", "number", "boolean"}:
        return text
    if field.type == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if not NUMBER.fullmatch(text):  # not what was released: say what is there
        return text
    return int(text) if field.type == "integer" and text.lstrip("-").isdigit() else float(text)
