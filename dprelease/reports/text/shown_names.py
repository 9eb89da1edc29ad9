"""What people read of a published table: titles for columns, labels for keys, bins in words.

The files hold names and keys as the spec writes them; these stand in reports, charts and on
terminals.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import NamedTuple

from dprelease.language import number_text, say
from dprelease.model import ColumnNames, ColumnType, OutputColumn, Release
from dprelease.model.queries import name_column
from dprelease.model.sentences import Text
from dprelease.postprocess.intervals.number_text import join_few_names

_BIN = re.compile(r"\[([^,]+), ([^,]+)([\])])")
_MIDNIGHT = " 00:00:00"


def write_key(column: OutputColumn, key: str | int | None) -> str:
    """Write a key for people: its label, its bin in words, or the key itself."""
    return say("names.none") if key is None else get_key_name(column.names, str(key))


def get_key_name(names: ColumnNames, key: str) -> str:
    """Write a key that is not missing for people, by the names of its column."""
    label = names.labels.get(key)
    if label is not None:
        return label
    return key if names.bins is None else write_bin(names.bins, key)


def get_column_title(column: OutputColumn) -> str:
    """Write the title or name of a column; of one beside a figure, what it states of the figure."""
    title, part = column.names.title, column.suffix
    if title is None:
        return column.name
    if part in _BESIDE:
        return say(_BESIDE[part], title=title)
    if not part:
        return title
    return say("names.part", title=title, part=part.replace("_", " ").strip())


_BESIDE = {
    "_noise_moe": "names.column.noise_moe",
    "_rank_moe": "names.column.rank_moe",
    "_flag": "names.column.flag",
    "_low": "names.column.low",
    "_high": "names.column.high",
    "_count": "names.column.count",
    "_mean": "names.column.mean",
}


def join_columns(queries: Iterable[str]) -> Text:
    """Join the names of the columns of queries, each once; of many only the first ones."""
    return join_few_names(list(dict.fromkeys(map(name_column, queries))))


def join_by_semicolons(texts: Sequence[str]) -> str:
    """Join texts, of which some may have commas."""
    joined, *others = texts
    for text in others:
        joined = say("words.remark", text=joined, remark=text)
    return joined


def title_with_unit(column: OutputColumn) -> str:
    """Add the unit of its figures to the title of a column."""
    title, unit = get_column_title(column), column.names.unit
    if unit is None or column.kind not in {"integer", "number"} or column.suffix.endswith("_count"):
        return title
    return say("names.with_unit", title=title, unit=unit)


class StatedName(NamedTuple):
    """A name for people that a spec states: its key there, whose name it is, and the name."""

    key: str
    of: str
    name: str | int | tuple[str, ...]


def iter_stated_names(release: Release) -> Iterator[StatedName]:
    """Iterate over the names for people that a spec states, each with its key in the spec."""
    names = release.names
    for table, title in names.tables.items():
        yield StatedName(f"output.titles.{table}", say("names.title_of_table", table=table), title)
    for column, column_names in names.columns.items():
        if column_names.title is not None:
            yield StatedName(
                f"columns.{column}.label", say("names.label_of", column=column), column_names.title
            )
        if column_names.labels:
            labels = tuple(f"{key} = {label}" for key, label in column_names.labels.items())
            yield StatedName(
                f"columns.{column}.labels", say("names.labels_of", column=column), labels
            )
    for query, column_names in names.queries.items():
        for part in ("title", "unit", "decimals", "description"):
            value = getattr(column_names, part)
            if value is not None:
                yield StatedName(
                    f"query.{query}.{part}",
                    say("names.part_of_query", part=part, query=query),
                    value,
                )


# --- bins -----------------------------------------------------------------------------------------


def write_bin(kind: ColumnType, key: str) -> str:
    """Write a bin in words: integers as "18 to 39", others as "0 to under 0.5", days as a month."""
    bounds = _BIN.fullmatch(key)
    try:
        return (
            key
            if bounds is None
            else _write_numeric_bin(kind, bounds[1], bounds[2], closed=bounds[3] == "]")
        )
    except (ValueError, OverflowError):  # the label of other values, or no file of ours
        return key


def have_equal_widths(keys: Iterable[str]) -> bool:
    """Tell whether all keys that are bins are equally wide; whole months are.

    True when there are no bins. The last bin, which holds its upper end too, is as wide as its
    ends are apart.
    """
    widths = {_measure_bin(bounds[1], bounds[2]) for key in keys if (bounds := _BIN.fullmatch(key))}
    return len(widths) <= 1


def _measure_bin(low: str, high: str) -> tuple[str, object]:
    try:
        return "", Fraction(high) - Fraction(low)
    except ValueError:
        return _measure_span(low, high)


def _measure_span(low: str, high: str) -> tuple[str, object]:
    try:
        first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
    except ValueError:  # a label of other values, or no file of ours
        return low, high
    if (first.day, first.time()) == (last.day, last.time()) == (1, time()):
        return "months", 12 * (last.year - first.year) + last.month - first.month
    return "", last - first


def _write_numeric_bin(kind: ColumnType, low: str, high: str, *, closed: bool) -> str:
    if kind in {ColumnType.DATE, ColumnType.TIMESTAMP}:
        return _write_time_bin(kind, low, high, closed=closed)
    if kind is ColumnType.INTEGER:
        last = int(high) - (not closed)
        if last == int(low):
            return _number(low)
        return _write_span(_number(low), _number(str(last)))
    if closed:
        return _write_span(_number(low), _number(high))
    return say("names.bin.to_under", low=_number(low), high=_number(high))


def _number(text: str) -> str:
    """Write a canonical number for people; years and other short ones are not grouped."""
    sign = "\u2212" if text.startswith("-") else ""
    whole, point, rest = text.removeprefix("-").partition(".")
    grouped = f"{int(whole):,}" if len(whole) > 4 else whole
    return sign + number_text(f"{grouped}{point}{rest}")


def _write_time_bin(kind: ColumnType, low: str, high: str, *, closed: bool) -> str:
    if kind is ColumnType.TIMESTAMP:
        if closed:
            return _write_span(low, high)
        if not (low.endswith(_MIDNIGHT) and high.endswith(_MIDNIGHT)):
            return say("names.bin.to_before", low=low, high=high)
        low, high = low.removesuffix(_MIDNIGHT), high.removesuffix(_MIDNIGHT)
    last = date.fromisoformat(high)
    return _write_days(date.fromisoformat(low), last if closed else last - timedelta(days=1))


def _write_days(first: date, last: date) -> str:
    """Write a span of days as years, months or days, whichever are whole."""
    if first.day > 1 or last.day < monthrange(last.year, last.month)[1]:
        return (
            _write_day(first) if first == last else _write_span(_write_day(first), _write_day(last))
        )
    years = str(first.year), str(last.year)
    if (first.month, last.month) == (1, 12):
        return years[0] if first.year == last.year else _write_span(*years)
    if first.year != last.year:
        return _write_span(_write_month(first), _write_month(last))
    if first.month == last.month:
        return _write_month(first)
    months = _name_month(first), _name_month(last)
    return say("names.date.range_in_year", first=months[0], last=months[1], year=years[0])


def _write_span(first: str, last: str) -> str:
    return say("names.date.range", first=first, last=last)


def _write_day(day: date) -> str:
    month, year = _name_month(day), str(day.year)
    return say("names.date.day", day=str(day.day), month=month, year=year)


def _write_month(day: date) -> str:
    return say("names.date.month", month=_name_month(day), year=str(day.year))


def _name_month(day: date) -> str:
    return say(_MONTHS[day.month - 1])


_MONTHS = (
    "names.month.jan", "names.month.feb", "names.month.mar", "names.month.apr",
    "names.month.may", "names.month.jun", "names.month.jul", "names.month.aug",
    "names.month.sep", "names.month.oct", "names.month.nov", "names.month.dec",
)  # fmt: skip
