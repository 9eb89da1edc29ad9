"""Declared columns, made of their sections, with all checks within one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, NoReturn

from dprelease.model import Column, ColumnType, Expression, Grid, Source
from dprelease.spec.checks.columns.domains import (
    ENCODED,
    UNPRINTABLE,
    bin_label,
    bin_labels,
    canonical,
    normal,
    read_bins,
    read_keys,
    read_keys_file,
)
from dprelease.spec.checks.columns.grids import read_grid
from dprelease.spec.checks.columns.list_files import Lists
from dprelease.spec.checks.expressions import read_expression
from dprelease.spec.complaints.places import Path, dotted
from dprelease.spec.complaints.reporter import Refused, Reporter
from dprelease.spec.complaints.wording import meant, show
from dprelease.spec.schema.models import ColumnSection
from dprelease.spec.schema.structure import Part


class DeclaredColumn(NamedTuple):
    """A declared column, as far as it could be read.

    ``unbounded`` and ``keyless`` say that it surely declares no bounds, or no public groups.
    """

    column: Column
    unbounded: bool
    keyless: bool


def resolve_columns(
    parts: Mapping[str, Part[ColumnSection]], lists: Lists, reporter: Reporter
) -> dict[str, DeclaredColumn | None]:
    """Make every declared column; None stands for a column whose type isn't known."""
    check_names(parts, reporter)
    types = {
        name: ColumnType(part.model.type)
        for name, part in parts.items()
        if part.model.type is not None
    }
    base_types = {name: types[name] for name in types if parts[name].model.expression is None}
    return {
        name: _Resolver(part, types[name], lists, reporter).resolve(base_types)
        if name in types
        else None
        for name, part in parts.items()
    }


class _Resolver:
    def __init__(
        self, part: Part[ColumnSection], kind: ColumnType, lists: Lists, reporter: Reporter
    ) -> None:
        self.name = str(part.path[-1])
        self.kind = kind
        self.part = part
        self.model = part.model
        self.lists = lists
        self.reporter = reporter

    def resolve(self, base_types: Mapping[str, ColumnType]) -> DeclaredColumn:
        grid, chosen = read_grid(self.kind, self.part, self.reporter)
        keys, edges = self._keys(), self._edges()
        other = self._other(keys, edges)
        column = Column(
            self.name,
            self.kind,
            grid,
            chosen,
            keys,
            edges,
            other,
            self._nulls(grid, keys, edges, other),
            self._expression(base_types),
            self.model.source,
            nulls_stated=self.model.nulls is not None,
        )
        half = self.model.lower is None or self.model.upper is None
        return DeclaredColumn(
            column,
            column.grid is None and half and self.part.sound("lower", "upper"),
            not self._declares_groups() and self.part.sound("keys", "keys_file", "bins"),
        )

    def _complain(self, key: str, code: str, message: str, hint: str = "") -> None:
        self.reporter.complain(code, message, (*self.part.path, key), hint)

    def _refuse(self, key: str, refused: Refused) -> None:
        self.reporter.refuse(refused, (*self.part.path, key))

    def _keys(self) -> tuple[str, ...] | None:
        inline, file = self.model.keys, self.model.keys_file
        if inline is None and file is None:
            return None
        if inline is not None and file is not None:
            self._complain("keys_file", "E111", "both keys and keys_file", "keep one of them")
        if self.kind is ColumnType.FLOAT:
            key = "keys" if inline is not None else "keys_file"
            hint = 'use bins, or type = "decimal"'
            self._complain(key, "E210", "a float column can't be grouped by keys", hint)
            return None
        if inline is None:
            return self._keys_of_file(str(file))
        if not inline:
            self._complain("keys", "E210", "keys is empty", "list every group to publish")
            return None

        def complain(position: int, refused: Refused) -> None:
            self.reporter.refuse(refused, (*self.part.path, "keys", position))

        return read_keys(self.kind, inline, complain)

    def _keys_of_file(self, file: str) -> tuple[str, ...] | None:
        try:
            lines = self.lists.read("keys_file", self.name, file, "E222")
            return read_keys_file(self.kind, lines)
        except Refused as refused:
            self._refuse("keys_file", refused)
            return None

    def _edges(self) -> tuple[str, ...] | None:
        if self.model.bins is None:
            return None
        if self.model.keys is not None or self.model.keys_file is not None:
            self._complain("bins", "E111", "both keys and bins", "keep one of them")
        try:
            return read_bins(self.kind, self.model.bins)
        except Refused as refused:
            self._refuse("bins", refused)
            return None

    def _other(self, keys: tuple[str, ...] | None, edges: tuple[str, ...] | None) -> str | None:
        other = self.model.other
        if other is None:
            return None
        if keys is None and edges is None:
            if not self._declares_groups() and self.part.sound("keys", "keys_file", "bins"):
                hint = "declare keys, keys_file or bins, or leave other out"
                self._complain("other", "E212", "other without keys or bins", hint)
            return None
        alike = _spelt_like(other, keys or bin_labels(edges or ()))
        if alike is not None:
            hint = "choose a label that is not a key"
            same = "" if alike == other else f" ({ENCODED})"
            self._complain("other", "E212", f"other {show(other)} is also a key{same}", hint)
            return None
        return other

    def _declares_groups(self) -> bool:
        model = self.model
        return model.keys is not None or model.keys_file is not None or model.bins is not None

    def _nulls(
        self,
        grid: Grid | None,
        keys: tuple[str, ...] | None,
        edges: tuple[str, ...] | None,
        other: str | None,
    ) -> str | None:
        value = self.model.nulls
        if value is None or value == "drop":
            return None
        grouped = keys is not None or edges is not None
        if grouped and isinstance(value, str) and normal(value) == normal(other or ""):
            return other
        try:
            text = canonical(self.kind, value)
        except Refused as refused:
            self._complain("nulls", "E214", refused.message, f'{refused.hint}, or "drop"')
            return None
        text = _spelt_like(text, keys or ()) or text
        try:
            self._check_null(text, grid, keys, edges)
        except Refused as refused:
            self._refuse("nulls", refused)
            return None
        return text

    def _check_null(
        self,
        text: str,
        grid: Grid | None,
        keys: tuple[str, ...] | None,
        edges: tuple[str, ...] | None,
    ) -> None:
        if keys is not None and text not in keys:
            _refuse_null(text, "none of the keys", "declare it as a key, or name `other`")
        if edges is not None and bin_label(self.kind, edges, text) is None:
            _refuse_null(text, "in none of the bins", "choose a value in a bin, or name `other`")
        if grid is not None and self.kind is not ColumnType.BOOLEAN:
            number = Fraction(text)
            if not grid.lower * grid.step <= number <= grid.upper * grid.step:
                _refuse_null(text, "outside of the bounds", "choose a value between them")

    def _expression(self, base_types: Mapping[str, ColumnType]) -> Expression | None:
        text = self.model.expression
        if text is None:
            return None
        path = (*self.part.path, "expression")
        return read_expression(text, base_types, "value", path, self.reporter)


def _spelt_like(text: str, labels: Sequence[str]) -> str | None:
    """The label that a text is, in its own spelling, or None."""
    if text in labels:
        return text
    compared = normal(text)
    return next((label for label in labels if normal(label) == compared), None)


def _refuse_null(text: str, what: str, hint: str) -> NoReturn:
    raise Refused(f"nulls {show(text)} is {what}", hint, "E214")


_LONGEST_NAME = 200


def check_names(parts: Mapping[str, Part[ColumnSection]], reporter: Reporter) -> None:
    """Complain of names that no table could have, and of names that differ only in case."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        if not name.strip() or UNPRINTABLE.search(name) or len(name) > _LONGEST_NAME:
            message = f"{show(name)} can't be the name of a column"
            hint = f"1 to {_LONGEST_NAME} characters, no control characters"
            reporter.complain("E107", message, part.path, hint, "key")
        folded = name.casefold()
        if folded in seen:
            message = f"columns {show(seen[folded])} and {show(name)} differ only in case"
            hint = "rename one in the data: databases take them for the same"
            reporter.complain("E231", message, part.path, hint, "key")
        seen.setdefault(folded, name)


def check_declared(
    parts: Mapping[str, Part[ColumnSection]], data: Source | None, reporter: Reporter
) -> None:
    """Without a header the columns of the file are those of ``names``: complain of others."""
    names = data.dialect.names if data is not None else None
    for name, part in parts.items():
        derived = part.model.expression is not None or "expression" in part.bad
        if names and name not in names and not derived:
            message = f"column {show(name)} is not among the names of [data]"
            hint = meant(name, names, "add it there in its place")
            reporter.complain("E216", message, part.path, hint, "key")


_LONGEST = 80  # of a header that is shown


def find_column(
    name: str, columns: Mapping[str, DeclaredColumn | None], path: Path, reporter: Reporter
) -> DeclaredColumn | None:
    """Look a declared column up; complain and give None when there is none."""
    if name not in columns:
        header = dotted(("columns", name))
        declare = f"declare it: [{header if len(header) <= _LONGEST else 'columns.NAME'}]"
        hint = meant(name, columns, declare)
        reporter.complain("E216", f"column {show(name)} is not declared", path, hint)
        return None
    return columns[name]
