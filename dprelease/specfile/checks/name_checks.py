"""Names for people: labels of columns and keys, titles and units of queries, titles of tables.

They change what is read of a release, never its files' keys, its noise or its identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dprelease.model import Column, ColumnNames, ColumnType, Names, Query
from dprelease.specfile.checks.columns.domains import normalize, write_canonical_line
from dprelease.specfile.checks.queries.groups import make_group
from dprelease.specfile.complaints.complaint_wording import format_count, show, suggest_word
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.complaints.spec_paths import fill_period
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import ColumnSection, QuerySection
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.statistic_registry import STATISTICS


def read_names(
    parts: Parts, columns: Mapping[str, Column], queries: Sequence[Query], period: str | None
) -> Names:
    """Give the names for people that a spec states; complain of those that fit nothing.

    Titles of queries and tables have the period filled in.
    """
    columns_named = {
        name: ColumnNames(part.model.label, labels=_read_labels(part, columns.get(name)))
        for name, part in parts.columns.items()
        if part.list_given("label", "labels")
    }
    figures = dict(filter(None, (_read_figure(part, period) for part in parts.queries)))
    tables = {
        name: fill_period(title, period) for name, title in _read_tables(parts, queries).items()
    }
    return Names(columns_named, figures, tables)


def _read_labels(part: Part[ColumnSection], column: Column | None) -> dict[str, str]:
    """Read labels by the keys as they are published."""
    labels = part.model.labels or {}
    if column is None or not labels:
        return {}
    group = make_group(column)
    keys = () if group is None else group.labels
    spelt = {normalize(key): key for key in keys}
    by_key: dict[str, str] = {}
    for text, label in labels.items():
        key = _read_key(text, column.type, spelt)
        if keys and normalize(key) not in spelt:
            hint = suggest_word(text, keys, f"there are {format_count(len(keys), 'key')}")
            message = f"{show(text)} is not a key of the column"
            part.complain("E280", message, "labels", text, hint=hint, at="key")
        by_key[key] = label
    _check_apart(part, by_key, keys or tuple(by_key))
    return by_key


def _read_key(key_text: str, kind: ColumnType, spelt: Mapping[str, str]) -> str:
    """Read a key of a spec in the spelling that is published."""
    if normalize(key_text) in spelt:
        return spelt[normalize(key_text)]
    try:
        text = write_canonical_line(kind, key_text)
    except Refused:
        return key_text
    return spelt.get(normalize(text), text)


def _check_apart(part: Part[ColumnSection], labels: Mapping[str, str], keys: Iterable[str]) -> None:
    """Complain of two keys that people would read as one."""
    read: dict[str, str] = {}
    for key in dict.fromkeys(keys):
        label = labels.get(key, key)
        first = read.setdefault(normalize(label).casefold(), key)
        if first != key:
            message = f"keys {show(first)} and {show(key)} would both be shown as {show(label)}"
            part.complain("E280", message, "labels", hint="give each its own label")
            return


def _read_figure(part: Part[QuerySection], period: str | None) -> tuple[str, ColumnNames] | None:
    """Read the names of one query; None if it states none."""
    model, keys = part.model, part.list_given("title", "unit", "decimals", "description")
    statistic = STATISTICS.get(model.statistic or "")
    by_state = statistic is not None and statistic.keys.states
    if model.name is None or not (keys or by_state):
        return None
    for key in keys if statistic is not None and statistic.names else ():
        if key in {"unit", "decimals"}:
            message = f"a {model.statistic} can't have `{key}`: it publishes names, not numbers"
            part.complain("E281", message, key, hint="leave it out")
    title = None if model.title is None else fill_period(model.title, period)
    decimals = 0 if by_state and model.decimals is None else model.decimals  # counts of fields
    return model.name, ColumnNames(title, model.unit, decimals, description=model.description)


def _read_tables(parts: Parts, queries: Sequence[Query]) -> dict[str, str]:
    """Read titles by table."""
    titles = dict(parts.output.model.titles or {})
    tables = {query.table: None for query in queries}
    tables |= {part.model.name: None for part in parts.perturbs if part.model.name is not None}
    for name in titles if tables else ():
        if name not in tables:
            hint = suggest_word(
                name, tables, f"tables are named by_<column>, or as table = {show('...')} says"
            )
            message = f"the release has no table {show(name)}"
            parts.output.complain("E280", message, "titles", name, hint=hint, at="key")
    return titles
