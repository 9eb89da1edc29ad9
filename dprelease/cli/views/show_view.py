"""A released table as text, each figure with its half-width, and in JSON values.

Text is as wide as the terminal: a table with more columns than fit is shown in parts, each with the
grouping columns again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from shutil import get_terminal_size
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.cli.views.console import fold_line, make_printable
from dprelease.cli.views.text_layout import (
    GAP,
    WITHIN_RANKS,
    format_count,
    pad_cells,
    rule_lines,
    shorten_text,
)
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
    SUPPRESSED: ": the spec hides the figure",
}
# The first percentage in what a half-width is said to be, in any language.
_LEVEL = re.compile(r"([0-9]+)(?:[.,]([0-9]+))?\s?%")


def build_page(table: Described, read: Rows, *, long: bool = False) -> str:
    """Write a table with its heading and, below it, the meaning of its marks.

    Args:
        table: The table as the package describes it.
        read: Its rows.
        long: Write below it what each figure is, too.

    Returns:
        The text.
    """
    figures = list_figures(table.fields)
    keys = list_keys(table.fields, figures)
    table, read = _translate_keys(table, read)
    flags = _number_flags(figures, read.rows)
    width = max(40, get_terminal_size((80, 24)).columns)
    columns = [
        _format_key_column(table.fields, figure, read.rows, width // 2)
        if figure in keys
        else _format_column(table.fields, figure, read.rows, flags, width // 2)
        for figure in figures
    ]
    lines = [make_printable(f"{table.name}: {table.title}" if table.title else table.name)]
    for part in _iter_parts(columns[: len(keys)], columns[len(keys) :], width):
        lines += ["", *rule_lines(part)]
    if read.total > len(read.rows):
        hidden_rows = read.total - len(read.rows)
        lines += [
            "",
            f"... and {format_count(hidden_rows, 'row')} more, of {read.total:,}; --rows N shows N",
        ]
    if read.total == 0:
        lines += ["", "no rows"]
    notes = [*_iter_notes(table.fields, figures, read.rows)]
    bounded = [figure.name for figure in figures if _is_bounded(figure, read.rows)]
    if bounded:
        names = make_printable(", ".join(bounded))
        notes.append(f"bounded: rows of a unit beyond the limits do not count in {names}")
    notes += [
        f"{mark} {make_printable(flag)}{_MEANINGS.get(flag, '')}" for flag, mark in flags.items()
    ]
    if long:
        described = (table.fields[figure.value] for figure in figures)
        notes += [
            fold_line(make_printable(f"{field.name}: {field.description}"), sys.stdout, 2)
            for field in described
            if field.description
        ]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _iter_parts(
    keys: list[list[str]], columns: list[list[str]], width: int
) -> Iterator[list[list[str]]]:
    """Split columns into parts that fit the width; each has at least one besides the keys."""
    from rich.cells import cell_len

    start = sum(cell_len(column[0]) + len(GAP) for column in keys)
    part, width_used = list(keys), start
    for column in columns:
        wide = cell_len(column[0])
        if len(part) > len(keys) and width_used + wide > width:
            yield part
            part, width_used = list(keys), start
        part.append(column)
        width_used += wide + len(GAP)
    if part:
        yield part


def _format_key_column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], limit: int
) -> list[str]:
    """Format keys as they are written: a year has no thousands separator."""
    field = fields[figure.value]
    texts = [_label(row[figure.value], limit) for row in rows]
    return pad_cells([_shorten(field.name, limit), *texts], number=_is_number(field))


def _format_column(
    fields: Sequence[Field], figure: Figure, rows: Sequence[Row], flags: dict[str, str], limit: int
) -> list[str]:
    field = fields[figure.value]
    # Half-widths decide how many digits of the figures are worth showing.
    halves = [] if figure.moe is None else [_parse_scaled(row[figure.moe]) for row in rows]
    decimals = max((half.decimals for half in halves if half is not None), default=0)
    scaled = [half.value * 10 ** (decimals - half.decimals) for half in halves if half is not None]
    places = choose_decimals(scaled, decimals) if any(scaled) else None
    if (digits := field.words.decimals) is not None and _is_number(field):
        own = [number.decimals for row in rows if (number := _parse_scaled(row[figure.value]))]
        places = min(digits, max(own, default=0))
    texts = [_format_cell(fields, figure, row, limit, places) for row in rows]
    if figure.flag is not None:
        marks = [flags.get(_mark(row[figure.flag]), " ") for row in rows]
        if any(mark != " " for mark in marks):
            texts = [f"{text} {mark}" for text, mark in zip(texts, marks, strict=True)]
    return pad_cells([_shorten(field.name, limit), *texts], number=_is_number(field))


def _format_cell(
    fields: Sequence[Field], figure: Figure, row: Row, limit: int, places: int | None
) -> str:
    """Format a cell: a label may be cut, a figure and its precision never."""
    field, value = fields[figure.value], row[figure.value]
    moe, ranks, low, high = (
        None if place is None else row[place]
        for place in (figure.moe, figure.ranks, figure.low, figure.high)
    )
    ends_shown = _has_ends(fields, figure, row)
    if not _is_number(field):
        text = _label(value, limit)
        if ends_shown:
            return f"{text} ({_label(low, limit)} to {_label(high, limit)})"
        return text if moe is None else f"{text} ({_number(moe, limit, None)})"
    text = _number(value, limit, places)
    if ends_shown:
        ends = _number(low, limit, places, Rounding.DOWN), _number(high, limit, places, Rounding.UP)
        return f"{text} ({ends[0]} to {ends[1]})"
    if moe is not None:
        return f"{text} ± {_number(moe, limit, places, Rounding.UP)}"
    return text if ranks is None else f"{text} (within {_format_ranks(ranks, limit)} ranks)"


def _format_ranks(text: str, limit: int) -> str:
    """Format ranks as they are; ranks of weight, which have decimals, with two digits."""
    scaled = _parse_scaled(text)
    places = None
    if scaled is not None and scaled.decimals:
        places = choose_decimals([scaled.value], scaled.decimals)
    return _number(text, limit, places, Rounding.UP)


def _has_ends(fields: Sequence[Field], figure: Figure, row: Row) -> bool:
    """Check whether a cell shows the ends of its interval in place of a half-width."""
    value, moe, low, high = (
        None if place is None else row[place]
        for place in (figure.value, figure.moe, figure.low, figure.high)
    )
    if not _is_number(fields[figure.value]):
        return low is not None and high is not None
    return low is not None and not _is_even(value, moe, low, high)


def _is_even(value: str | None, moe: str | None, low: str | None, high: str | None) -> bool:
    """Check whether an interval reaches as far below the figure as above it."""
    numbers = [part for part in (value, moe, low, high) if part and NUMBER.fullmatch(part)]
    if len(numbers) < 4:
        return False
    middle, half, lowest, highest = map(Decimal, numbers)
    return (lowest, highest) == (middle - half, middle + half)


def _is_number(field: Field) -> bool:
    return field.type in {"integer", "number"}


class _Scaled(NamedTuple):
    value: int
    decimals: int


def _parse_scaled(text: str | None) -> _Scaled | None:
    """Parse a number of the files as a fixed-point integer."""
    if text is None or not NUMBER.fullmatch(text):
        return None
    whole, _, rest = text.partition(".")
    return _Scaled(int(whole + rest), len(rest))


def _number(
    text: str | None, limit: int, places: int | None, rounding: Rounding = Rounding.NEAREST
) -> str:
    """Format a number with at most ``places`` decimals; None keeps all of them."""
    number = _parse_scaled(text)
    if number is None:  # not what was released: say what is there
        return _label(text, limit)
    decimals = number.decimals if places is None else places
    return f"{Decimal(write_rounded(*number, decimals, rounding)):,f}"


def _label(text: str | None, limit: int) -> str:
    return EMPTY if text is None else _shorten(text, limit) or '""'


def _shorten(text: str, limit: int) -> str:
    return shorten_text(make_printable(text), limit)


def _is_bounded(figure: Figure, rows: Sequence[Row]) -> bool:
    place = figure.flag
    return place is not None and any(BOUNDED in split_flag(row[place]) for row in rows)


def _mark(flag: str | None) -> str:
    """Join the flags to mark: all but ``ok``, and ``bounded``, which holds for the whole column."""
    return " ".join(sorted(split_flag(flag) - {OK, BOUNDED}))


def _number_flags(figures: Sequence[Figure], rows: Sequence[Row]) -> dict[str, str]:
    """Assign a mark to each combination of flags that occurs."""
    flags = dict.fromkeys(
        flag
        for figure in figures
        if figure.flag is not None
        for row in rows
        if (flag := _mark(row[figure.flag]))
    )
    return {flag: MARKS[min(place, len(MARKS) - 1)] for place, flag in enumerate(flags)}


def _iter_notes(
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
        yield f"± half-width of the {' or '.join(sorted(levels))} noise interval: noise only"
    if any(_has_ends(fields, figure, row) for figure in figures for row in rows):
        yield "(a to b) an interval from a to b, where ± would include impossible values"
    if any(figure.ranks is not None for figure in figures):
        yield WITHIN_RANKS
    if any(not _is_number(fields[figure.value]) and figure.ranks is None for figure in moes):
        yield "(n) after a name: its score is at most n below the best score"


def _translate_keys(table: Described, read: Rows) -> tuple[Described, Rows]:
    """Replace names by titles, keys by labels and bins by words."""
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
