"""All figures of a release in one CSV file, a line for each: the long layout.

Programs for charts and statistics read it without knowing the columns of each table. Its bytes are
written as those of the tables are: UTF-8, LF, exact decimals, formulas disarmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dprelease.model import OutputColumn, OutputTable
from dprelease.model.outputs import BOUNDED, place_columns, split_flag
from dprelease.output.csv_table import escape_formula, write_field
from dprelease.postprocess.intervals.fixed_point import write_fixed_point

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)

HEADER = ("table", "keys", "figure", "value", "low", "high", "flag")


def render_tables(_facts: object, tables: Mapping[str, OutputTable]) -> str:
    """Write the figures of all tables, by file name, table by table and row by row.

    Returns:
        CSV with the columns of ``HEADER``. ``keys`` names the cell, as "region=north; sex=f".
        ``low`` and ``high`` are the ends of the noise interval; both are empty where the table
        states none, as for quantiles, whose interval is in ranks.
    """
    lines = [",".join(HEADER)]
    for table in tables.values():
        # what is missing is no empty text
        lines += (
            ",".join(write_field(text) if text else "" for text in line)
            for line in _iter_lines(table)
        )
    return "".join(f"{line}\n" for line in lines)


def _iter_lines(table: OutputTable) -> Iterator[tuple[str, ...]]:
    columns = table.columns
    keys = [column for column in columns if column.kind == "key"]
    figures = [
        (columns[place], {ending: columns[at] for ending, at in beside.items()})
        for place, beside in place_columns([(each.name, each.query) for each in columns]).items()
        if columns[place].kind not in {"key", "edge"}
    ]
    flags = {column.query: column for column in columns if column.aspect == "_flag"}
    for row in range(table.rows):
        cell = "; ".join(f"{key.name}={_write(key, row)}" for key in keys)
        for figure, beside in figures:
            flag = _write(beside["_flag"], row) if "_flag" in beside else ""
            # What limits on a unit's rows cut, they cut in all figures of the query.
            of_query = _write(flags[figure.query], row) if figure.query in flags else ""
            if not flag and BOUNDED in split_flag(of_query):
                flag = BOUNDED
            ends = _list_ends(figure, beside, row)
            texts = (cell, figure.name, _write(figure, row), *ends, flag)
            yield table.name, *map(_disarm, texts)


def _list_ends(
    figure: OutputColumn, beside: Mapping[str, OutputColumn], row: int
) -> tuple[str, str]:
    if "_low" in beside and "_high" in beside:
        return _write(beside["_low"], row), _write(beside["_high"], row)
    half, value = beside.get("_noise_moe"), figure.values[row]
    moe = None if half is None else half.values[row]
    if half is None or not isinstance(value, int) or not isinstance(moe, int):
        return "", ""
    places = max(figure.decimals, half.decimals)
    value *= 10 ** (places - figure.decimals)
    moe *= 10 ** (places - half.decimals)
    return write_fixed_point(value - moe, places), write_fixed_point(value + moe, places)


def _write(column: OutputColumn, row: int) -> str:
    value = column.values[row]
    if value is None:
        return ""
    is_number = column.kind in {"number", "integer"} and isinstance(value, int)
    return write_fixed_point(value, column.decimals) if is_number else str(value)  # type: ignore[arg-type]


def _disarm(text: str) -> str:
    # A negative number is no formula, and the files of tables have it as it is.
    return text if _NUMBER.fullmatch(text) else escape_formula(text)
