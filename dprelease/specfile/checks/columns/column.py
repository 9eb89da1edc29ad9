"""Declared columns, made of their sections, with all checks within one column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from typing import NamedTuple, NoReturn

from msgspec.structs import replace

from dprelease.model import Column, ColumnType, Source
from dprelease.model.date_formats import (
    DateFormatError,
    DatePattern,
    list_zones,
    parse_date_format,
)
from dprelease.specfile.checks.columns.domains import (
    ENCODED,
    UNPRINTABLE,
    find_bin_label,
    normalize,
    read_bins,
    read_keys,
    read_keys_file,
    write_bin_labels,
    write_canonical,
)
from dprelease.specfile.checks.columns.expression_checks import read_expression
from dprelease.specfile.checks.columns.grids import read_grid
from dprelease.specfile.checks.columns.list_files import Lists
from dprelease.specfile.complaints.complaint_wording import show, suggest_word
from dprelease.specfile.complaints.places import format_path
from dprelease.specfile.complaints.reporter import Refused, Spot
from dprelease.specfile.keys.section_reader import Part, SectionType
from dprelease.specfile.schema.sections import ColumnSection

_TIMES = (ColumnType.DATE, ColumnType.TIMESTAMP)


class DeclaredColumn(NamedTuple):
    """A declared column, as far as it could be read.

    ``unbounded`` and ``keyless`` say that it surely declares no bounds, or no public groups.
    """

    column: Column
    unbounded: bool
    keyless: bool


def resolve_columns(
    parts: Mapping[str, Part[ColumnSection]], base_types: Mapping[str, ColumnType], lists: Lists
) -> dict[str, DeclaredColumn | None]:
    """Make every declared column; None stands for a column whose type isn't known.

    ``base_types`` holds the types of the columns that are in the data.
    """
    _check_names(parts)
    return {
        name: _build_column(name, ColumnType(part.model.type), part, base_types, lists)
        if part.model.type is not None
        else None
        for name, part in parts.items()
    }


def _build_column(
    name: str,
    kind: ColumnType,
    part: Part[ColumnSection],
    base_types: Mapping[str, ColumnType],
    lists: Lists,
) -> DeclaredColumn:
    model = part.model
    grid, chosen = read_grid(kind, part)
    keys, edges = _read_keys(kind, part, lists), None
    if model.bins is not None:
        if part.list_given("keys", "keys_file"):
            part.complain(
                "E111", "the column has both keys and bins", "bins", hint="keep one of them"
            )
        edges = attempt_bins(kind, model.bins, part)
    groups = part.list_given("keys", "keys_file", "bins")
    keyless = not groups and part.is_sound("keys", "keys_file", "bins")
    column = Column(name, kind, grid, chosen, keys, edges)
    column = replace(column, other=_read_other(column, part, keyless))
    column = replace(
        column,
        null_value=part.attempt(lambda: _read_null_value(column, model.nulls), "nulls"),
        expression=read_expression(model.expression, base_types, "value", part, "expression"),
        source=model.source,
        nulls_stated=model.nulls is not None,
        format=model.format,
        zone=model.zone,
    )
    half = model.lower is None or model.upper is None
    unbounded = column.grid is None and half and part.is_sound("lower", "upper")
    return DeclaredColumn(column, unbounded, keyless)


def _read_keys(kind: ColumnType, part: Part[ColumnSection], lists: Lists) -> tuple[str, ...] | None:
    inline, file = part.model.keys, part.model.keys_file
    if inline is not None and file is not None:
        part.complain(
            "E111", "the column has both keys and keys_file", "keys_file", hint="keep one of them"
        )

    def complain(position: int, refused: Refused) -> None:
        part.reporter.refuse(refused, (*part.path, "keys", position))

    def read() -> tuple[str, ...] | None:
        if kind is ColumnType.FLOAT and (inline is not None or file is not None):
            hint = 'use bins, or type = "decimal"'
            raise Refused("a float column can't be grouped by keys", hint, "E210")
        if inline is not None and not inline:
            raise Refused("keys is empty", "list every group to publish", "E210")
        if inline is not None:
            return read_keys(kind, inline, complain)
        if file is None:
            return None
        return read_keys_file(kind, lists.read("keys_file", str(part.path[-1]), file, "E222"))

    return part.attempt(read, "keys_file" if inline is None else "keys")


_MONTH_BEGINS = re.compile("[0-9]{4}-[0-9]{2}-01(?: 00:00:00)?")


def attempt_bins(
    kind: ColumnType, values: Sequence[object], part: Part[SectionType]
) -> tuple[str, ...] | None:
    """Read the edges in ``bins``; complain and give None where they can't be read.

    It warns where bins are months or years, for the last bin holds the first day of the next.
    """
    edges = part.attempt(lambda: read_bins(kind, values), "bins")
    if edges is None or kind not in _TIMES or not all(map(_MONTH_BEGINS.fullmatch, edges)):
        return edges
    last_day = date.fromisoformat(edges[-1][:10]) - timedelta(days=1)
    last_edge = f"{last_day}{' 23:59:59.999999' if kind is ColumnType.TIMESTAMP else ''}"
    message = f"the last bin, {write_bin_labels(edges)[-1]}, contains {edges[-1]} too"
    hint = f"write {show(last_edge)} if the last bin is to end with its month"
    part.warn("W219", message, "bins", len(edges) - 1, hint=hint)
    return edges


def _read_other(column: Column, part: Part[ColumnSection], keyless: bool) -> str | None:
    other = part.model.other
    if other is not None and column.keys is None and column.edges is None:
        if keyless:
            hint = "declare keys, keys_file or bins, or leave other out"
            part.complain("E212", "other needs keys or bins", "other", hint=hint)
        return None
    if not other:
        return other
    if column.keys is not None:
        # It may be a key: where a list is complete, what is not in it is a mistake of some record,
        # and needs no group of its own. Any fixed map of values to keys has sensitivity 1.
        return _find_spelling(other, column.keys) or other
    alike = _find_spelling(other, write_bin_labels(column.edges or ()))
    if alike is None:
        return other
    same = "" if alike == other else f" ({ENCODED})"
    part.complain("E212", f"other {show(other)} is also the label of a bin{same}", "other")
    return None


def _read_null_value(column: Column, value: object) -> str | None:
    """Give what nulls count as: a canonical text, or the label ``other``. Raises ``Refused``."""
    if value is None or value == "drop":
        return None
    kind, keys, edges, grid = column.type, column.keys, column.edges, column.grid
    grouped = keys is not None or edges is not None
    if grouped and isinstance(value, str) and normalize(value) == normalize(column.other or ""):
        return column.other
    try:
        text = write_canonical(kind, value)
    except Refused as refused:
        raise Refused(refused.message, f'{refused.hint}, or "drop"', "E214") from None
    text = _find_spelling(text, keys or ()) or text
    if keys is not None and text not in keys:
        _refuse_null(text, "not one of the keys", "declare it as a key, or name `other`")
    if edges is not None and find_bin_label(kind, edges, text) is None:
        _refuse_null(text, "not in any of the bins", "choose a value in a bin, or name `other`")
    if grid is None or kind is ColumnType.BOOLEAN:
        return text
    if not grid.lower * grid.step <= Fraction(text) <= grid.upper * grid.step:
        _refuse_null(text, "outside the bounds", "choose a value between them")
    return text


def _find_spelling(text: str, labels: Sequence[str]) -> str | None:
    """Find the label that a text is, in its own spelling; None if it is none."""
    if text in labels:
        return text
    compared = normalize(text)
    return next((label for label in labels if normalize(label) == compared), None)


def _refuse_null(text: str, problem: str, hint: str) -> NoReturn:
    raise Refused(f"nulls {show(text)} is {problem}", hint, "E214")


_LONGEST_NAME = 200


def _check_names(parts: Mapping[str, Part[ColumnSection]]) -> None:
    """Complain of names that no table could have, and of names that differ only in case."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        if not name.strip() or UNPRINTABLE.search(name) or len(name) > _LONGEST_NAME:
            message = f"{show(name)} can't be the name of a column"
            hint = f"use 1 to {_LONGEST_NAME} characters, none of them a control character"
            part.complain("E107", message, hint=hint, at="key")
        first = seen.setdefault(name.casefold(), name)
        if first != name:
            message = f"columns {show(first)} and {show(name)} differ only in case"
            hint = "rename one in the data: databases treat them as the same name"
            part.complain("E231", message, hint=hint, at="key")


def check_declared(parts: Mapping[str, Part[ColumnSection]], source: Source | None) -> None:
    """Complain of columns that are not among ``names``, where the file has no header."""
    for name, part in parts.items():
        if part.model.expression is None and "expression" not in part.bad:
            check_in_file(name, source, part, at="key")


def check_in_file(
    name: str, source: Source | None, part: Part[SectionType], *keys: str, at: Spot = "value"
) -> None:
    """Complain of a column that is not among the names of a file without a header."""
    names = source.dialect.names if source is not None else None
    if names and name not in names:
        message = f"column {show(name)} is not among the names of [data]"
        hint = suggest_word(name, names, "add it there in its place")
        part.complain("E216", message, *keys, hint=hint, at=at)


_LONGEST = 80  # of a header that is shown


def find_column(
    name: str,
    columns: Mapping[str, DeclaredColumn | None],
    part: Part[SectionType],
    *keys: str | int,
) -> DeclaredColumn | None:
    """Look a declared column up; complain and give None when there is none."""
    if name not in columns:
        header = format_path(("columns", name))
        declare = f"declare it: [{header if len(header) <= _LONGEST else 'columns.NAME'}]"
        hint = suggest_word(name, columns, declare)
        part.complain("E216", f"column {show(name)} is not declared", *keys, hint=hint)
    return columns.get(name)


def check_written(parts: Mapping[str, Part[ColumnSection]]) -> None:
    """Complain of formats and zones that a column can't have."""
    for part in parts.values():
        keys = part.list_given("format", "zone")
        kind = part.model.type
        sound = [_may_stand(key, part) for key in keys]
        if keys and kind is not None and all(sound):
            _check_form(part, ColumnType(kind))


def _may_stand(key: str, part: Part[ColumnSection]) -> bool:
    """Check whether such a column can have the key; complain if not."""
    kind, why = part.model.type, ""
    if kind not in _TIMES:
        why = f"{key} is for dates and timestamps, but the column is {kind}"
    elif part.model.expression is not None:
        why = f"{key} is for values in the file, but the column is computed"
    if why:
        part.complain("E111", why, key, hint="leave it out", at="key")
    return not why


def _check_form(part: Part[ColumnSection], kind: ColumnType) -> None:
    form, zone = part.model.format, part.model.zone
    pattern = None if form is None else _read_pattern(part, form, kind)
    if zone is None:
        return
    if pattern is not None and not pattern.zoned:
        message = "zone needs %z in `format`: the texts don't give a time zone offset"
        hint = 'leave zone out, or write a format such as "%Y-%m-%dT%H:%M:%S%z"'
        part.complain("E111", message, "zone", hint=hint, at="key")
    zones = list_zones()
    if zones and zone not in zones:
        hint = suggest_word(zone, sorted(zones), 'for example "Europe/Berlin"')
        part.complain("E254", f"{show(zone)} is not a time zone", "zone", hint=hint)


def _read_pattern(part: Part[ColumnSection], text: str, kind: ColumnType) -> DatePattern | None:
    try:
        pattern = parse_date_format(text)
    except DateFormatError as refused:
        part.complain("E254", refused.message, "format", hint=refused.hint)
        return None
    if kind is ColumnType.TIMESTAMP and not pattern.clock:
        message = "the format of a timestamp lacks %H"
        part.complain("E254", message, "format", hint='add "%H:%M:%S", or write type = "date"')
        return None
    return pattern
