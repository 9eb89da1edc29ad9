"""Warnings: what works but deserves a second look.

Bounds on a unit's rows can contradict each other, do nothing, or cost a great deal. None of that
could harm anybody: noise is made for what a unit can bring under all bounds together. But who
writes a number that has no effect expects another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.model import Data, Query
from dprelease.spec.complaints.places import Path
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import show
from dprelease.spec.schema.models import BoundingSection, ColumnSection, PrivacySection
from dprelease.spec.schema.structure import Part, Parts
from dprelease.statistics.registry import statistic_of

LARGE_DELTA = Fraction(1, 10**5)


def check_usage(parts: Parts, data: Data | None, reporter: Reporter) -> None:
    """Warn of what is not described, and of keys that no record can match."""
    if parts.privacy.model.unit_description is None and parts.privacy.sound("unit_description"):
        people = parts.privacy.model.unit == "column"
        message = f"nothing says what one {'unit' if people else 'row'} stands for"
        hint = 'unit_description = "one employee"'
        reporter.warn("W202", message, ("privacy",), hint, "key")
    for part in parts.columns.values():
        _check_source(part, reporter)
    _check_deltas(parts, reporter)
    if data is not None and data.source.format == "csv":
        _check_keys(parts.columns, data, reporter)


def _check_deltas(parts: Parts, reporter: Reporter) -> None:
    sections: list[tuple[Fraction | None, Path]] = [
        (parts.privacy.model.delta, ("privacy", "delta"))
    ]
    sections += [(part.model.delta, (*part.path, "delta")) for part in parts.queries]
    sections += [(part.model.delta, (*part.path, "delta")) for part in parts.perturbs]
    sections += [
        (part.model.partition_selection.delta, (*part.path, "partition_selection", "delta"))
        for part in parts.queries
        if part.model.partition_selection is not None
    ]
    stated = [(delta, path) for delta, path in sections if delta]
    for delta, path in stated:
        if delta > LARGE_DELTA:
            message = "a large delta: with that probability nothing is promised"
            reporter.warn("W207", message, path, "choose one far below one over the number of rows")
    if stated and parts.ledger.model.delta_cap is None and parts.ledger.sound("delta_cap"):
        message = "no delta_cap: the deltas of this data set are not limited"
        reporter.warn(
            "W206", message, ("ledger",), "agree on a cap and write it in [ledger]", "key"
        )


def _check_source(part: Part[ColumnSection], reporter: Reporter) -> None:
    model = part.model
    declared = [
        what
        for what, value in (
            ("bounds", model.lower),
            ("keys", model.keys),
            ("keys", model.keys_file),
            ("bins", model.bins),
        )
        if value is not None
    ]
    exempt = model.type == "boolean" or model.expression is not None
    if declared and model.source is None and not exempt and part.sound("source"):
        message = f"nothing says where the {declared[0]} of {show(part.path[-1])} come from"
        hint = 'source = "public: ..."; what is read off the data itself would leak'
        reporter.warn("W203", message, part.path, hint, "key")


def _check_keys(columns: Mapping[str, Part[ColumnSection]], data: Data, reporter: Reporter) -> None:
    dialect = data.source.dialect
    for part in columns.values():
        if part.model.expression is not None or part.model.type != "string":
            continue
        for number, key in enumerate(part.model.keys or ()):
            path = (*part.path, "keys", number)
            if not isinstance(key, str):
                continue
            if key in dialect.null_values and part.model.nulls != key:
                message = f"no record can match the key {show(key)}: null_values makes it a null"
                hint = f"nulls = {show(key)} counts the nulls there"
                reporter.warn("W205", message, path, hint)
            elif dialect.strip and key != key.strip():
                message = f"no record can match the key {show(key)}: strip takes its blanks off"
                reporter.warn("W205", message, path, "take the blanks off the key")


LARGE = 1_000
"""More rows (or groups) of one unit than this are worth a word: 1 to 5 are usual."""


_PATH: Path = ("privacy", "bounding")
_ROWS, _GROUPS = "max_rows_per_unit", "max_groups_per_unit"
_WITHIN = "max_rows_per_unit_per_group"
_USUAL = "1 to 5 are usual, and what is beyond is left out; never choose by looking at the data"


class _Bounds(NamedTuple):
    """The bounds as written, and what the queries make of them.

    ``cells`` is the largest number of cells that a table has, None where keys are private.
    ``within`` is the bound on rows in one group, if one is written.
    """

    rows: int
    groups: int
    within: int | None
    cells: int | None
    records: bool  # there are record-level tables, with as many rows of a unit
    counts_rows: bool  # some query does more than to count each unit once
    both_ways: bool  # a unit that comes takes the place of another one

    def reach(self, cells: int | None) -> int:
        """The most rows of one unit that can count in a table of so many cells."""
        groups = self.groups if cells is None else min(self.groups, cells)
        return min(self.rows, groups * min(self.within or self.rows, self.rows))


def warn_of_bounding(
    part: Part[PrivacySection], queries: Sequence[Query], records: bool, reporter: Reporter
) -> None:
    """Warn of each bound that is not what it seems; one warning for each.

    ``records``: there are record-level tables.
    """
    section = part.model.bounding
    if part.model.unit != "column" or section is None:
        return
    if records:
        _many_records(section, reporter)
    if not queries:
        if records:
            _no_groups(section, reporter)
        return
    bounds = _bounds(part.model, section, queries, records)
    if bounds is None or _does_nothing(bounds, reporter):
        return
    _groups_out_of_reach(bounds, reporter)
    if bounds.counts_rows:
        _rows_out_of_reach(bounds, reporter)
    _large(bounds, queries, reporter)


def _bounds(
    privacy: PrivacySection, section: BoundingSection, queries: Sequence[Query], records: bool
) -> _Bounds | None:
    if section.max_rows_per_unit is None or section.max_groups_per_unit is None:
        return None
    private = any(query.private for query in queries)
    return _Bounds(
        section.max_rows_per_unit,
        section.max_groups_per_unit,
        section.max_rows_per_unit_per_group,
        None if private else max(query.cells for query in queries),
        records,
        any(_counts_rows(query) for query in queries),
        privacy.adjacency == "replace-one",
    )


def _many_records(section: BoundingSection, reporter: Reporter) -> None:
    rows = section.max_rows_per_unit
    if rows is not None and rows > LARGE:
        message = (
            f"{rows:,} rows of one unit can be in a table of records: each has 1/{rows:,} of the "
            "table's epsilon, which leaves next to nothing of what it says"
        )
        reporter.warn("W213", message, (*_PATH, _ROWS), _USUAL)


def _no_groups(section: BoundingSection, reporter: Reporter) -> None:
    for key in (_GROUPS, _WITHIN):
        if getattr(section, key) is not None:
            message = f"{key} has no effect: there is no [[query]], so there are no groups"
            reporter.warn("W216", message, (*_PATH, key), "leave it out")


def _counts_rows(query: Query) -> bool:
    return not statistic_of(query.statistic).counts_units


def _does_nothing(bounds: _Bounds, reporter: Reporter) -> bool:
    """Where each unit counts once in each group, or once in all."""
    if bounds.counts_rows:
        return False
    if bounds.cells == 1 and max(bounds.rows, bounds.groups) > 1 and not bounds.records:
        message = "no query is affected by these bounds: each counts a unit once, in a single group"
        hint = "write 1 for both, as nothing more can count; raise them when a query needs it"
        reporter.warn("W214", message, _PATH, hint, "key")
        return True
    if bounds.within is not None:
        message = f"{_WITHIN} has no effect: every query counts a unit once in each group"
        reporter.warn("W214", message, (*_PATH, _WITHIN), "leave it out")
    return False


def _groups_out_of_reach(bounds: _Bounds, reporter: Reporter) -> None:
    """More groups than the rows can lie in, or than any table has: the smaller one is said."""
    used = bounds.rows if bounds.cells is None else min(bounds.rows, bounds.cells)
    if bounds.groups <= used:
        return
    path, said = (*_PATH, _GROUPS), f"{_GROUPS} = {bounds.groups:,} can't be reached"
    hint = f"{_GROUPS} = {used} does the same"
    if used == bounds.rows:
        message = f"{said}: {_some(used, 'row')} can't lie in more than {_some(used, 'group')}"
        reporter.warn("W209", message, path, f"{hint}; or raise {_ROWS}, which needs more noise")
    else:
        message = f"{said}: no table has more than {_some(used, 'group')}"
        reporter.warn("W212", message, path, hint)


def _rows_out_of_reach(bounds: _Bounds, reporter: Reporter) -> None:
    if bounds.within is None:
        return
    if bounds.within > bounds.rows:
        message = (
            f"{_WITHIN} = {bounds.within:,} can't be reached: of one unit no more than "
            f"{_some(bounds.rows, 'row')} count in all"
        )
        hint = f"leave it out, which does the same; or write less than {_ROWS}"
        reporter.warn("W210", message, (*_PATH, _WITHIN), hint)
        return
    most = bounds.reach(bounds.cells)
    if most < bounds.rows and not bounds.records:
        groups = bounds.groups if bounds.cells is None else min(bounds.groups, bounds.cells)
        message = (
            f"{_ROWS} = {bounds.rows:,} can't be reached: {_some(groups, 'group')} with at most "
            f"{_some(bounds.within, 'row')} hold {most:,}, which is what noise is made for"
        )
        hint = f"{_ROWS} = {most} needs the same noise; or raise {_WITHIN}, which needs more"
        reporter.warn("W211", message, (*_PATH, _ROWS), hint)


def _large(bounds: _Bounds, queries: Sequence[Query], reporter: Reporter) -> None:
    """What one unit can bring to the table where it can bring most."""
    sizes = [0] + [
        bounds.reach(None if query.private else query.cells)
        for query in queries
        if _counts_rows(query)
    ]
    if max(sizes) > LARGE:
        message = f"{max(sizes):,} rows of one unit can count in a table, and noise has to hide all"
        said = f"{message}: {_noise(max(sizes), bounds.both_ways)}"
        reporter.warn("W213", said, (*_PATH, _ROWS), _USUAL)
        return
    reached = [
        min(bounds.rows, bounds.groups, bounds.rows if query.private else query.cells)
        for query in queries
        if not _counts_rows(query)
    ]
    if max(reached, default=0) > LARGE:
        message = f"one unit can count in {max(reached):,} groups, and noise has to hide it in all"
        said = f"{message}: {_noise(max(reached), bounds.both_ways)}"
        reporter.warn("W213", said, (*_PATH, _GROUPS), _USUAL)


def _noise(size: int, both_ways: bool) -> str:
    """What that is for a count: 95% of Laplace noise lie within ln 20, that is 3, scales."""
    one = 6 if both_ways else 3
    return f"with Laplace noise of epsilon 1 a count is off by ± {one * size:,}, not by ± {one}"


def _some(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
