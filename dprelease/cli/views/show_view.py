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

from msgspec.structs import replace

from dprelease.cli.views.console import printable
from dprelease.cli.views.text_layout import GAP, WITHIN_RANKS, counted, padded, ruled, shortened
from dprelease.model.outputs import BOUNDED, OK, SUPPRESSED, UNRELIABLE, split_flag
from dprelease.output.released_tables import (
    NUMBER,
    Described,
    Field,
    Figure,
    Row,
    Rows,
    list_figures,
    list_keys,
)
from dprelease.postprocess.intervals.number_text import Rounding, choose_decimals, write_rounded
from dprelease.reports.text.shown_names import get_key_name

EMPTY = "-"
MARKS = ("*", "†", "‡", "§")
_MEANINGS = {
    UNRELIABLE: ": the noise is large beside the figure, or beside its count",
    SUPPRESSED: ": the spec has the figure hidden",
}
# The first percentage in what a half-width is said to be, in any language.
_LEVEL = re.compile(r"([0-9]+)(?:[.,]([0-9]+))?\s?%")


def page_of(table: Described, read: Rows) -> str:
    """The table with its heading, and below it what its marks mean."""
    figures = list_figures(table.fields)
    keys = list_keys(table.fields, figures)
    table, read = _in_words(table, read)
    flags = _flags(figures, read.rows)
    width = max(40, get_terminal_size((80, 24)).columns)
    columns = [
        _key_column(table.fields, figure, read.rows, width // 2)
        if figure in keys
        else _column(table.fields, figure, read.rows, flags, width // 2)
        for figure in figures
    ]
    lines = [printable(f"{table.name}: {table.title}" if table.title else table.name)]
    for part in _parts(columns[: len(keys)], columns[len(keys) :], width):
        lines += ["", *ruled(part)]
    if read.total > len(read.rows):
        more = read.total - len(read.rows)
        lines += ["", f"... and {counted(more, 'row')} more, of {read.total:,}; --rows N shows N"]
    if read.total == 0:
        lines += ["", "no rows"]
    notes = [*_notes(table.fields, figures, read.rows)]
    bounded = [figure.name for figure in figures if _is_bounded(figure, read.rows)]
    if bounded:
        names = printable(", ".join(bounded))
        notes.append(f"bounded: rows of a unit beyond the limits do not count in {names}")
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


def _key_column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], most: int
) -> list[str]:
    """Keys as they are written: a year is no number to be grouped."""
    field = fields[figure.value]
    texts = [_label(row[figure.value], most) for row in rows]
    return padded([_short(field.name, most), *texts], number=_is_number(field))


def _column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], flags: dict[str, str], most: int
) -> list[str]:
    field = fields[figure.value]
    halves = [] if figure.moe is None else [_scaled(row[figure.moe]) for row in rows]
    decimals = max((half.decimals for half in halves if half is not None), default=0)
    scaled = [half.value * 10 ** (decimals - half.decimals) for half in halves if half is not None]
    places = choose_decimals(scaled, decimals) if any(scaled) else None
    if (stated := field.words.decimals) is not None and _is_number(field):
        own = [number.decimals for row in rows if (number := _scaled(row[figure.value]))]
        places = min(stated, max(own, default=0))
    texts = [_cell(fields, figure, row, most, places) for row in rows]
    if figure.flag is not None:
        marks = [flags.get(_mark(row[figure.flag]), " ") for row in rows]
        if any(mark != " " for mark in marks):
            texts = [f"{text} {mark}" for text, mark in zip(texts, marks, strict=True)]
    return padded([_short(field.name, most), *texts], number=_is_number(field))


def _cell(fields: Sequence[Field], figure: Figure, row: Row, most: int, places: int | None) -> str:
    """A label may be cut, a figure and how exact it is never."""
    field, value = fields[figure.value], row[figure.value]
    moe, ranks, low, high = (
        None if place is None else row[place]
        for place in (figure.moe, figure.ranks, figure.low, figure.high)
    )
    ends_shown = _shows_ends(fields, figure, row)
    if not _is_number(field):
        text = _label(value, most)
        if ends_shown:
            return f"{text} ({_label(low, most)} to {_label(high, most)})"
        return text if moe is None else f"{text} ({_number(moe, most, None)})"
    text = _number(value, most, places)
    if ends_shown:
        ends = _number(low, most, places, Rounding.DOWN), _number(high, most, places, Rounding.UP)
        return f"{text} ({ends[0]} to {ends[1]})"
    if moe is not None:
        return f"{text} ± {_number(moe, most, places, Rounding.UP)}"
    return text if ranks is None else f"{text} (within {_ranks(ranks, most)} ranks)"


def _ranks(text: str, most: int) -> str:
    """Ranks as they are; of weight, which has decimals, two digits."""
    scaled = _scaled(text)
    places = None
    if scaled is not None and scaled.decimals:
        places = choose_decimals([scaled.value], scaled.decimals)
    return _number(text, most, places, Rounding.UP)


def _shows_ends(fields: Sequence[Field], figure: Figure, row: Row) -> bool:
    """Whether a cell has the ends of its interval in place of a half-width."""
    value, moe, low, high = (
        None if place is None else row[place]
        for place in (figure.value, figure.moe, figure.low, figure.high)
    )
    if not _is_number(fields[figure.value]):
        return low is not None and high is not None
    return low is not None and not _is_even(value, moe, low, high)


def _is_even(value: str | None, moe: str | None, low: str | None, high: str | None) -> bool:
    """Whether an interval reaches as far below the figure as above it."""
    numbers = [part for part in (value, moe, low, high) if part and NUMBER.fullmatch(part)]
    if len(numbers) < 4:
        return False
    middle, half, least, most = map(Decimal, numbers)
    return (least, most) == (middle - half, middle + half)


def _is_number(field: Field) -> bool:
    return field.type in {"integer", "number"}


class _Scaled(NamedTuple):
    value: int
    decimals: int


def _scaled(text: str | None) -> _Scaled | None:
    """A number of the files as a fixed-point integer."""
    if text is None or not NUMBER.fullmatch(text):
        return None
    whole, _, rest = text.partition(".")
    return _Scaled(int(whole + rest), len(rest))


def _number(
    text: str | None, most: int, places: int | None, rounding: Rounding = Rounding.NEAREST
) -> str:
    """A number with no more than so many decimals, None for all that it has."""
    number = _scaled(text)
    if number is None:  # not what was released: say what is there
        return _label(text, most)
    shown = number.decimals if places is None else places
    return f"{Decimal(write_rounded(*number, shown, rounding)):,f}"


def _label(text: str | None, most: int) -> str:
    return EMPTY if text is None else _short(text, most) or '""'


def _short(text: str, most: int) -> str:
    return shortened(printable(text), most)


def _is_bounded(figure: Figure, rows: Sequence[Row]) -> bool:
    place = figure.flag
    return place is not None and any(BOUNDED in split_flag(row[place]) for row in rows)


def _mark(flag: str | None) -> str:
    """What is marked of a flag: all but that it is ok, or that limits cut the whole column."""
    return " ".join(sorted(split_flag(flag) - {OK, BOUNDED}))


def _flags(figures: Sequence[Figure], rows: Sequence[Row]) -> dict[str, str]:
    """The flags other than ok that occur, each with its mark."""
    flags = dict.fromkeys(
        flag
        for figure in figures
        if figure.flag is not None
        for row in rows
        if (flag := _mark(row[figure.flag]))
    )
    return {flag: MARKS[min(place, len(MARKS) - 1)] for place, flag in enumerate(flags)}


def _notes(
    fields: Sequence[Field], figures: Sequence[Figure], rows: Sequence[Row]
) -> Iterator[str]:
    moes = [figure for figure in figures if figure.moe is not None]
    levels = {
        f"{'.'.join(filter(None, level.groups()))}%"
        for figure in moes
        if figure.moe is not None
        and _is_number(fields[figure.value])
        and (level := _LEVEL.search(fields[figure.moe].description))
    }
    if levels:
        yield f"± half-width of the {' or '.join(sorted(levels))} noise interval: the noise alone"
    if any(_shows_ends(fields, figure, row) for figure in figures for row in rows):
        yield "(a to b) an interval from a to b, where ± would reach beyond what is possible"
    if any(figure.ranks is not None for figure in figures):
        yield WITHIN_RANKS
    if any(not _is_number(fields[figure.value]) and figure.ranks is None for figure in moes):
        yield "(n) of a name: its score falls short of the best by at most n"


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
            get_key_name(worded[place], text) if place in worded and text is not None else text
            for place, text in enumerate(row)
        )
        for row in read.rows
    ]
    return replace(table, fields=fields), Rows(rows, read.total)


def _title(field: Field) -> str:
    title, unit = field.words.title or field.name, field.words.unit
    return title if unit is None else f"{title} ({unit})"
