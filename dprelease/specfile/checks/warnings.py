"""Warnings: what works but deserves a second look.

Bounds on a unit's rows can contradict each other, do nothing, or cost a great deal. None of that
could harm anybody: noise is made for what a unit can bring under all bounds together. But who
writes a number that has no effect expects another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from dprelease.model import Data, Dialect, Query
from dprelease.model.release import SECTORS
from dprelease.model.source_registry import SOURCES
from dprelease.specfile.complaints.complaint_wording import join_quoted, show
from dprelease.specfile.complaints.reporter import Spot
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import ColumnSection, PrivacySection
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.statistic_registry import get_statistic

LARGE_DELTA = Fraction(1, 10**5)


def check_usage(parts: Parts, data: Data | None) -> None:
    """Warn of what is not described, and of keys that no record can match."""
    sector = parts.release.model.sector
    in_registry = "registry" in (parts.report.model.formats or ())
    if sector and in_registry and sector.capitalize() not in SECTORS:
        message = f"the registry of deployments does not list the sector {show(sector)}"
        hint = f"use {join_quoted(SECTORS)}; otherwise the entry states yours in a note"
        parts.release.warn("W217", message, "sector", hint=hint)
    privacy = parts.privacy
    if privacy.model.unit_description is None and privacy.is_sound("unit_description"):
        people = privacy.model.unit == "column"
        message = f"the spec does not say what one {'unit' if people else 'row'} stands for"
        privacy.warn("W202", message, at="key")
    unit_column = parts.columns.get(privacy.model.unit_column or "")
    if unit_column is not None and unit_column.model.type in ("float", "decimal"):
        # Units are compared as doubles, of some 15 digits.
        message = (
            "units are compared as doubles: values that differ only after the 15th digit count as "
            "one unit"
        )
        privacy.warn("W218", message, "unit_column")
    for part in parts.columns.values():
        _check_source(part)
    _check_deltas(parts)
    if data is not None and "null_values" in SOURCES[data.source.format].options:
        for part in parts.columns.values():
            _check_keys(part, data.source.dialect)


def _check_deltas(parts: Parts) -> None:
    sections: list[Part[Any]] = [parts.privacy, *parts.queries, *parts.perturbs]
    deltas: list[tuple[Part[Any], Fraction | None, tuple[str, ...]]]
    deltas = [(part, part.model.delta, ("delta",)) for part in sections]
    deltas += [
        (part, part.model.partition_selection.delta, ("partition_selection", "delta"))
        for part in parts.queries
        if part.model.partition_selection is not None
    ]
    for part, delta, keys in deltas:
        if delta and delta > LARGE_DELTA:
            message = "delta is large: with that probability nothing is promised"
            part.warn("W207", message, *keys)
    capped = parts.ledger.model.delta_cap is not None or not parts.ledger.is_sound("delta_cap")
    if any(delta for _, delta, _ in deltas) and not capped:
        message = "the spec has no delta_cap: the deltas of this dataset are not limited"
        parts.ledger.warn("W206", message, at="key")


def _check_source(part: Part[ColumnSection]) -> None:
    model = part.model
    declared = part.list_given("lower", "keys", "keys_file", "bins")
    exempt = model.type == "boolean" or model.expression is not None
    if declared and model.source is None and not exempt and part.is_sound("source"):
        noun = {"lower": "bounds", "keys_file": "keys"}.get(declared[0], declared[0])
        message = f"the spec does not say where the {noun} of {show(part.path[-1])} come from"
        part.warn("W203", message, at="key")


def _check_keys(part: Part[ColumnSection], dialect: Dialect) -> None:
    model = part.model
    if model.expression is not None or model.type != "string":
        return
    for number, key in enumerate(model.keys or ()):
        if not isinstance(key, str):
            continue
        if key in dialect.null_values and model.nulls != key:
            why, hint = "null_values makes it a null", f"nulls = {show(key)} counts the nulls there"
        elif dialect.strip and key != key.strip():
            why, hint = "strip removes its blanks", "remove the blanks from the key"
        else:
            continue
        part.warn(
            "W205", f"no record can match the key {show(key)}: {why}", "keys", number, hint=hint
        )


LARGE = 1_000
"""More rows (or groups) of one unit than this are worth a word: 1 to 5 are usual."""


_ROWS, _GROUPS = "max_rows_per_unit", "max_groups_per_unit"
_WITHIN = "max_rows_per_unit_per_group"


class _Bounds(NamedTuple):
    """The bounds as written, and what the queries make of them.

    ``cells`` is the largest number of cells that a table has, None where keys are private.
    ``within`` is the bound on rows in one group, if one is written.
    """

    part: Part[PrivacySection]
    rows: int
    groups: int
    within: int | None
    cells: int | None
    records: bool  # there are record-level tables, with as many rows of a unit
    counts_rows: bool  # some query does more than to count each unit once

    def count_groups_in(self, cells: int | None) -> int:
        """Count the most groups of one unit in a table of so many cells."""
        return self.groups if cells is None else min(self.groups, cells)

    def reach(self, cells: int | None) -> int:
        """Count the most rows of one unit that can enter a table of so many cells."""
        return min(
            self.rows, self.count_groups_in(cells) * min(self.within or self.rows, self.rows)
        )

    def warn(self, code: str, message: str, *keys: str, hint: str = "", at: Spot = "value") -> None:
        """Warn of a bound, or of all."""
        self.part.warn(code, message, "bounding", *keys, hint=hint, at=at)


def warn_about_bounding(parts: Parts, queries: Sequence[Query]) -> None:
    """Warn of each bound that is not what it seems; one warning for each."""
    part, records = parts.privacy, bool(parts.perturbs)
    every, queries = queries, [query for query in queries if query.clip is None]
    section = part.model.bounding
    if part.model.unit != "column" or section is None:
        return
    rows, groups = section.max_rows_per_unit, section.max_groups_per_unit
    if records and rows is not None and rows > LARGE:
        message = (
            f"{rows:,} rows of one unit can be in a table of records: each has 1/{rows:,} of the "
            "table's epsilon, which leaves almost no information"
        )
        part.warn("W213", message, "bounding", _ROWS)
    if not every:
        for key in (_GROUPS, _WITHIN) if records else ():
            if getattr(section, key) is not None:
                message = f"{key} has no effect: without a [[query]] the spec has no groups"
                part.warn("W216", message, "bounding", key)
        return
    if rows is None or groups is None or not queries:
        return
    cells = None if any(query.private for query in queries) else max(q.cells for q in queries)
    counts_rows = any(_is_row_count(query) for query in queries)
    within = section.max_rows_per_unit_per_group
    bounds = _Bounds(part, rows, groups, within, cells, records, counts_rows)
    if _does_nothing(bounds):
        return
    _warn_about_groups(bounds)
    if counts_rows:
        _warn_about_rows(bounds)
    _warn_about_large(bounds, queries)


def _is_row_count(query: Query) -> bool:
    return not get_statistic(query.statistic).counts_units


def _does_nothing(bounds: _Bounds) -> bool:
    """Tell whether each unit counts once in each group, or once in all."""
    if bounds.counts_rows:
        return False
    if bounds.cells == 1 and max(bounds.rows, bounds.groups) > 1 and not bounds.records:
        message = "no query is affected by these bounds: each counts a unit once, in a single group"
        bounds.warn("W214", message, at="key")
        return True
    if bounds.within is not None:
        message = f"{_WITHIN} has no effect: every query counts a unit once in each group"
        bounds.warn("W214", message, _WITHIN, hint="leave it out")
    return False


def _warn_about_groups(bounds: _Bounds) -> None:
    """More groups than the rows can lie in, or than any table has: the smaller one is said."""
    rows = bounds.rows if bounds.cells is None else min(bounds.rows, bounds.cells)
    if bounds.groups <= rows:
        return
    message = f"{_GROUPS} = {bounds.groups:,} can't be reached"
    hint = f"write {_GROUPS} = {rows}, which has the same effect"
    if rows == bounds.rows:
        message = f"{message}: {_count(rows, 'row')} can't be in more than {_count(rows, 'group')}"
        bounds.warn(
            "W209", message, _GROUPS, hint=f"{hint}; or raise {_ROWS}, which needs more noise"
        )
    else:
        message = f"{message}: no table has more than {_count(rows, 'group')}"
        bounds.warn("W212", message, _GROUPS, hint=hint)


def _warn_about_rows(bounds: _Bounds) -> None:
    if bounds.within is None:
        return
    if bounds.within > bounds.rows:
        message = (
            f"{_WITHIN} = {bounds.within:,} can't be reached: at most "
            f"{_count(bounds.rows, 'row')} of one unit count in total"
        )
        bounds.warn("W210", message, _WITHIN)
        return
    reach = bounds.reach(bounds.cells)
    if reach < bounds.rows and not bounds.records:
        groups = _count(bounds.count_groups_in(bounds.cells), "group")
        message = (
            f"{_ROWS} = {bounds.rows:,} can't be reached: {groups} with at most "
            f"{_count(bounds.within, 'row')} hold {reach:,}, and the noise covers that many"
        )
        hint = f"{_ROWS} = {reach} needs the same noise; or raise {_WITHIN}, which needs more"
        bounds.warn("W211", message, _ROWS, hint=hint)


def _warn_about_large(bounds: _Bounds, queries: Sequence[Query]) -> None:
    """Warn about what one unit can bring to the table where it can bring most."""
    cells = [(_is_row_count(query), None if query.private else query.cells) for query in queries]
    rows = max((bounds.reach(size) for by_rows, size in cells if by_rows), default=0)
    groups = max(
        (min(bounds.rows, bounds.count_groups_in(size)) for by_rows, size in cells if not by_rows),
        default=0,
    )
    if rows > LARGE:
        message = (
            f"{rows:,} rows of one unit can count in a table, and the noise has to hide all of them"
        )
        bounds.warn("W213", f"{message}: {_describe_noise(rows, bounds)}", _ROWS)
    elif groups > LARGE:
        message = (
            f"one unit can count in {groups:,} groups, and the noise has to hide it in all of them"
        )
        bounds.warn("W213", f"{message}: {_describe_noise(groups, bounds)}", _GROUPS)


def _describe_noise(size: int, bounds: _Bounds) -> str:
    """Describe it for a count: 95% of Laplace noise lie within ln 20, about 3, scales."""
    # With replace-one, a unit that comes takes the place of another one: twice that.
    code = 6 if bounds.part.model.adjacency == "replace-one" else 3
    return f"with Laplace noise of epsilon 1 a count is off by ± {code * size:,}, not by ± {code}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
