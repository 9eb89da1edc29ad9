"""The files of a published release, read back: tables, reports, and combinations of figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec import Struct

from dprelease.combination.combination_wording import write_interval
from dprelease.combination.combined_intervals import Interval
from dprelease.combination.expression import combine as combined
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.output.released_tables import (
    NUMBER,
    Described,
    Field,
    Rows,
    is_rehearsal,
    list_tables,
    read_rows,
)
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.rerender import read_release, rerender
from dprelease.reports.text.notebook import render_table

NUMBERS = ("integer", "number")


class ReleasedTable(Struct, frozen=True, dict=True):
    """A published table, as its file is now. ``rehearsal``: its records were made up.

    ``warning`` is None where the file is the one that was released.
    """

    described: Described
    rehearsal: bool
    warning: Complaint | None
    most: int | None = None

    @property
    def name(self) -> str:
        """Name of the table: that of its file without the ending."""
        return self.described.name

    @property
    def title(self) -> str:
        """Title for people."""
        return self.described.title

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(field.name for field in self.described.fields)

    @cached_property
    def read(self) -> Rows:
        """Read rows as texts, and the number of all rows. Raises Failure (exit code 2)."""
        return read_rows(self.described, self.most)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows that were asked for, by the names of columns; an empty cell is None."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._list_values()]

    def to_dict(self) -> dict[str, Any]:
        """Return the table in JSON values, as ``dprelease show --json`` prints it."""
        return {
            "name": self.name,
            "title": self.title or None,
            "file": str(self.described.file),
            "rows": self.read.total,
            "columns": [
                {"name": field.name, "type": field.type, "description": field.description or None}
                for field in self.described.fields
            ],
            "values": self._list_values(),
            "unchanged": self.warning is None,
        }

    def _list_values(self) -> list[list[Any]]:
        fields = self.described.fields
        return [
            [_convert_value(field, text) for field, text in zip(fields, row, strict=True)]
            for row in self.read.rows
        ]

    def __repr__(self) -> str:
        """Name the table and its columns."""
        return f"<ReleasedTable {self.name}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        mark = "REHEARSAL: " if self.rehearsal and not self.title.startswith("REHEARSAL") else ""
        return render_table(f"{mark}{self.title or self.name}", self.columns, self.read.rows)


class RenderedReport(Struct, frozen=True):
    """A report in a format of ``[report] formats``: the bytes that the run wrote, or would have."""

    format: str
    media_type: str
    content: bytes

    @property
    def text(self) -> str:
        """Content as text; raises UnicodeDecodeError for a PDF."""
        return self.content.decode("utf-8")

    def __repr__(self) -> str:
        """State the format and the size."""
        return f"<RenderedReport {self.format}: {len(self.content):,} bytes>"


def show(
    directory: str | os.PathLike[str], *, tables: Sequence[str] = (), rows: int | None = None
) -> dict[str, ReleasedTable]:
    """Do what the package's ``show`` says."""
    if rows is not None and rows < 0:
        raise ValueError("rows are at least 0")
    folder = os.fspath(directory)
    rehearsal = is_rehearsal(folder) is True
    by_name = {table.name: table for table in list_tables(folder)}
    for name in tables:
        if name not in by_name:
            hint = f"the tables are: {', '.join(by_name)}"
            raise Failure(ExitCode.SPEC, Complaint("E014", f'{folder} has no table "{name}"', hint))
    return {
        name: ReleasedTable(by_name[name], rehearsal, by_name[name].find_change(), rows)
        for name in tables or by_name
    }


def report(directory: str | os.PathLike[str], *, format: str = "md") -> RenderedReport:
    """Do what the package's ``report`` says."""
    if format not in REPORT_FORMATS:
        raise ValueError(f"unknown format {format!r}; known: {', '.join(REPORT_FORMATS)}")
    content = rerender(os.fspath(directory), format)
    return RenderedReport(format, REPORT_FORMATS[format].media_type, content)


def _convert_value(field: Field, text: str | None) -> object:
    if field.type == "boolean":
        return {"true": True, "false": False}.get(text or "", text)
    # The file may have been edited since.
    if text is None or field.type not in NUMBERS or not NUMBER.fullmatch(text):
        return text  # not what was released: say what is there
    return int(text) if field.type == "integer" and text.lstrip("-").isdigit() else float(text)


class Combination(Struct, frozen=True):
    """A value, and the ends of the interval that holds the one without noise at a ``level``.

    It is of so many published ``cells``. ``as_released`` names the figures that were changed after
    the noise: the value is of them as they were published, the interval of them before, so that it
    need not have the value in its middle.
    """

    expression: str
    value: Fraction
    low: Fraction
    high: Fraction
    level: Fraction
    cells: int
    as_released: tuple[str, ...]

    @property
    def interval(self) -> Interval:
        """Value with both ends of its interval."""
        return Interval(self.value, self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the value in JSON values, as ``dprelease combine --json`` prints it."""
        return {
            "schema": "dprelease/combination/1",
            "expression": self.expression,
            "value": float(self.value),
            "low": float(self.low),
            "high": float(self.high),
            "noise_halfwidth": float(self.interval.half),
            "interval": str(self.level),
            "cells": self.cells,
            "as_released": list(self.as_released),
        }

    def __repr__(self) -> str:
        """State the value and half of the interval, rounded."""
        value, half, _, _ = write_interval(self.interval)
        return f"<{self.expression}: {value} ± {half}>"


def combine(
    directory: str | os.PathLike[str], expression: str, *, interval: str | Fraction | None = None
) -> Combination:
    """Do what the package's ``combine`` says."""
    facts, published = read_release(os.fspath(directory))
    level = _parse_level(facts.provenance.interval if interval is None else interval)
    total, result = combined(published, expression, 1 - level)
    figures = [figures for figures, _ in (*total.weighted, *total.divisor)]
    figures += [pooled.figures for pooled, _ in total.means]
    changed = tuple(dict.fromkeys(member.name for member in figures if member.raw))
    return Combination(
        expression, result.value, result.low, result.high, level, total.cells, changed
    )


def _parse_level(confidence: str | Fraction) -> Fraction:
    try:
        level = Fraction(confidence)
    except (ValueError, ZeroDivisionError):
        level = Fraction(0)
    if not 0 < level < 1 or level > 1 - Fraction(1, 10**9):
        message = f"no level of an interval: {confidence}"
        raise Failure(ExitCode.SPEC, Complaint("E846", message))
    return level
