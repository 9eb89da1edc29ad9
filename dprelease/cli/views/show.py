"""A released table as text, each figure with its half-width, and in JSON values.

Text is as wide as the terminal: a table with more columns than fit is shown in parts, each with the
grouping columns again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from shutil import get_terminal_size

from dprelease.cli.console import printable
from dprelease.cli.views.formats import GAP, counted, padded, ruled, shortened
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
from dprelease.report.names import named_key

EMPTY = "-"
MARKS = ("*", "†", "‡", "§")
_FINE = ("ok", None)
_MEANINGS = {
    "low_reliability": ": the noise is large beside the figure",
    "suppressed": ": the spec has the figure hidden",
}
_LEVEL = re.compile(r"half-width of the ([0-9.]+%) noise interval")


def page_of(table: Described, read: Rows) -> str:
    """The table with its heading, and below it what its marks mean."""
    figures = figures_of(table.fields)
    keys = keys_of(table.fields, figures)
    table, read = _in_words(table, read)
    flags = _flags(figures, read.rows)
    width = max(40, get_terminal_size((80, 24)).columns)
    columns = [_column(table.fields, figure, read.rows, flags, width // 2) for figure in figures]
    lines = [printable(f"{table.name}: {table.title}" if table.title else table.name)]
    for part in _parts(columns[: len(keys)], columns[len(keys) :], width):
        lines += ["", *ruled(part)]
    if read.total > len(read.rows):
        more = read.total - len(read.rows)
        lines += ["", f"... and {counted(more, 'row')} more, of {read.total:,}; --rows N shows N"]
    if read.total == 0:
        lines += ["", "no rows"]
    notes = [*_notes(table.fields, figures)]
    notes += [f"{mark} {printable(flag)}{_MEANINGS.get(flag, '')}" for flag, mark in flags.items()]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _parts(keys: list[list[str]], others: list[list[str]], width: int) -> Iterator[list[list[str]]]:
    """Columns that fit side by side; at least one besides the keys."""
    from rich.cells import cell_len

    start = sum(cell_len(column[0]) + len(GAP) for column in keys)
    part, used = list(keys), start
    for column in others:
        wide = cell_len(column[0])
        if len(part) > len(keys) and used + wide > width:
            yield part
            part, used = list(keys), start
        part.append(column)
        used += wide + len(GAP)
    if part:
        yield part


def _column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], flags: dict[str, str], most: int
) -> list[str]:
    field = fields[figure.value]
    texts = [_cell(fields, figure, row, most) for row in rows]
    if figure.flag is not None:
        marks = [flags.get(row[figure.flag] or "", " ") for row in rows]
        if any(mark != " " for mark in marks):
            texts = [f"{text} {mark}" for text, mark in zip(texts, marks, strict=True)]
    return padded([_short(field.name, most), *texts], number=_is_number(field))


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
    return shortened(printable(text), most)


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
    if field.type == "boolean":
        return {"true": True, "false": False}.get(text or "", text)
    if text is None or not _is_number(field) or not NUMBER.fullmatch(text):
        return text  # not what was released: say what is there
    return int(text) if field.type == "integer" and text.lstrip("-").isdigit() else float(text)


def _in_words(table: Described, read: Rows) -> tuple[Described, Rows]:
    """The table with titles for names, labels for keys, and bins in words."""
    fields = tuple(replace(field, name=_title(field)) for field in table.fields)
    worded = {
        place: field.words
        for place, field in enumerate(fields)
        if field.words.labels or field.words.bins is not None
    }
    rows = [
        tuple(
            named_key(worded[place], text) if place in worded and text is not None else text
            for place, text in enumerate(row)
        )
        for row in read.rows
    ]
    return replace(table, fields=fields), Rows(rows, read.total)


def _title(field: Field) -> str:
    title, unit = field.words.title or field.name, field.words.unit
    return title if unit is None else f"{title} ({unit})"
