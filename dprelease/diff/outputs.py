"""Changes of what is published: queries, their groups and errors, columns, data and output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from dprelease.diff.changes import Change, Kind, Pair, Value, elsewhere, listed
from dprelease.diff.local_tables import perturb_changes
from dprelease.model import Accuracy, Column, Part, Plan, Query
from dprelease.report.numbers import text
from dprelease.report.query_json import query_facts
from dprelease.statistics.registry import statistic_of

_CLAIM = "public, and not taken from the data?"
_ASKED = ("statistic", "column", "by", "where", "table")


def figure_changes(pair: Pair) -> Iterator[Change]:
    """Every change that leaves the guarantee as it is."""
    yield from _data(pair)
    yield from _columns(pair)
    yield from _queries(pair)
    yield from perturb_changes(pair)
    yield from _output(pair)


def _data(pair: Pair) -> Iterator[Change]:
    old, new = (release.data for release in pair.releases)
    path = old.written_path, new.written_path
    if path[0] != path[1]:
        yield Change(Kind.OTHER, "data", *path, "is it still the same dataset?", "data.path")
    if old.snapshot != new.snapshot:
        why = "a version of the data of its own, charged anew"
        yield Change(Kind.OTHER, "snapshot", old.snapshot, new.snapshot, why, "data.snapshot")
    if old.source.format != new.source.format:
        formats = old.source.format, new.source.format
        yield Change(Kind.OTHER, "format of the data", *formats, "", "data")
    for each in fields(old.source.dialect):
        was, now = (getattr(data.source.dialect, each.name) for data in (old, new))
        if was != now:
            key = f"data.{each.name}"
            yield Change(Kind.OTHER, f"data: {each.name}", _option(was), _option(now), "", key)


def _option(value: object) -> str | None:
    """An option of CSV as TOML writes it."""
    if isinstance(value, tuple):
        return f"[{listed([_option(each) or '' for each in value], 12)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _columns(pair: Pair) -> Iterator[Change]:
    old, new = (release.columns for release in pair.releases)
    for name in dict.fromkeys((*old, *new)):
        key = f"columns.{name}"
        if name not in new:
            yield Change(Kind.OTHER, f"column {name}", "declared", None, "", "columns")
        elif name not in old:
            yield Change(Kind.OTHER, f"column {name}", None, "declared", "", key)
        else:
            for what, was, now in _differences(_column_facts(old[name]), _column_facts(new[name])):
                why = _CLAIM if what == "bounds" else ""
                yield Change(Kind.OTHER, f"column {name}: {what}", was, now, why, key)
            yield from _list(f"column {name}: keys", old[name].keys, new[name].keys, key)
            yield from _list(f"column {name}: bins", old[name].edges, new[name].edges, key)


def _column_facts(column: Column) -> dict[str, Value]:
    grid = column.grid
    return {
        "type": str(column.type),
        "bounds": None
        if grid is None
        else f"{text(grid.lower * grid.step)} to {text(grid.upper * grid.step)}",
        "step": None if grid is None else grid.step,
        "other": column.other,
        "nulls": "drop" if _dropped(column) else column.null_value,
        "expression": None if column.expression is None else column.expression.text,
        "source": column.source,
    }


def _dropped(column: Column) -> bool:
    return column.nulls_stated and column.null_value is None


def _list(
    what: str, old: tuple[str, ...] | None, new: tuple[str, ...] | None, key: str
) -> Iterator[Change]:
    """A public list, by its length; what it is of, and what came to it, stands beside."""
    if old == new:
        return
    before, after = old or (), new or ()
    known, kept = set(before), set(after)
    added = [each for each in after if each not in known]
    gone = [each for each in before if each not in kept]
    said = [
        *([f"new: {listed(added)}"] if added else []),
        *([f"gone: {listed(gone)}"] if gone else []),
    ]
    why = "; ".join(said) if said else "in another order"
    if added:
        why += f"; {_CLAIM}"
    sizes: tuple[Value, Value] = len(before), len(after)
    if what.endswith("bins"):  # of edges the number says little
        sizes = listed(list(before), 12) or None, listed(list(after), 12) or None
    yield Change(Kind.OTHER, what, *sizes, why, key)


def _queries(pair: Pair) -> Iterator[Change]:
    old, new = _facts(pair.old), _facts(pair.new)
    asking, wanting = ({each.name: each for each in plan.queries} for plan in pair.releases)
    places = {query.name: query.number for query in pair.new.release.queries}
    for name in dict.fromkeys((*old, *new)):
        key = f"query[{places[name]}]" if name in places else "query"
        if name not in new:
            yield Change(Kind.OTHER, f"query {name}", _summary(old[name]), None, "removed", "query")
        elif name not in old:
            yield Change(Kind.OTHER, f"query {name}", None, _summary(new[name]), "added", key)
        else:
            for what, was, now in _differences(old[name], new[name]):
                yield Change(Kind.OTHER, f"query {name}: {what}", was, now, "", key)
            own = lists(asking[name], pair.old.release.columns)
            for what, entries in lists(wanting[name], pair.new.release.columns).items():
                yield from _list(f"query {name}: {what}", own[what], entries, key)
    before, after = [name for name in old if name in new], [name for name in new if name in old]
    if before != after:
        orders = listed(before, 12), listed(after, 12)
        yield Change(Kind.OTHER, "order of the queries", *orders, "", "query")


def _facts(plan: Plan) -> dict[str, dict[str, Value]]:
    return {
        read.query.name: _query(query_facts(plan, read), plan.step(read).loss.epsilon, read.query)
        for read in plan.reads
    }


def _query(facts: Mapping[str, Any], epsilon: Fraction, query: Query) -> dict[str, Value]:
    """The facts that are compared, as texts and numbers, in the order of telling."""
    sensitivity = facts["sensitivity"]
    norms = [f"L1 {sensitivity['l1']}"]
    if sensitivity["l2"] is not None:
        norms.append(f"L2 {sensitivity['l2']:.5g}")
    told: dict[str, Value] = {name: facts[name] for name in _ASKED}
    told |= {
        "by": ", ".join(facts["by"]) or None,
        **asked(query),
        "number of groups": "private" if facts["cells"] is None else facts["cells"],
        "mechanism": facts["mechanism"],
        "epsilon": epsilon,
        "delta": Fraction(str(facts["delta"])),
        "sensitivity": ", ".join(norms),
        "expected error": facts["expected_error"],
        "threshold": _threshold(facts["threshold"]),
    }
    return told


def _threshold(facts: Mapping[str, Any] | None) -> str | None:
    """From what noisy count on a private key is shown."""
    return None if facts is None else f"at least {facts['at_least']:,} {facts['counts']}"


def _summary(query: Mapping[str, Value]) -> str:
    by = f" by {query['by']}" if query["by"] else ""
    of = f" of {query['column']}" if query["column"] else ""
    return f"{query['statistic']}{of}{by}, expected error {query['expected error']}"


def _output(pair: Pair) -> Iterator[Change]:
    before, after = pair.releases
    old, new = before.output, after.output
    if old.interval != new.interval:
        yield Change(
            Kind.OTHER, "interval", old.interval, new.interval, "noise does not change",
            "output.interval",
        )  # fmt: skip
    if old.format != new.format:
        yield Change(Kind.OTHER, "format of the tables", old.format, new.format, "", "output")
    if paths := elsewhere(pair, old.path, new.path):
        yield Change(Kind.OTHER, "output", *paths, "", "output.path")
    if set(before.report_formats) != set(after.report_formats):
        formats = listed(list(before.report_formats)), listed(list(after.report_formats))
        yield Change(Kind.OTHER, "formats of the report", *formats, "", "report.formats")
    for each in fields(before.about):
        was, now = getattr(before.about, each.name), getattr(after.about, each.name)
        if was != now:
            yield Change(Kind.OTHER, each.name, was, now, "", f"release.{each.name}")


def _differences(
    old: Mapping[str, Value], new: Mapping[str, Value]
) -> Iterator[tuple[str, Value, Value]]:
    for what in dict.fromkeys((*old, *new)):
        was = old.get(what)
        if was != new.get(what):
            yield what, was, new.get(what)


def asked(query: Query) -> dict[str, Value]:
    """What is asked beside statistic, column, groups and filter, in the order of telling."""
    chosen = query.candidates
    told: dict[str, Value] = {
        "quantiles": ", ".join(map(text, query.quantiles)) or None,
        "k": query.picks if "k" in statistic_of(query.statistic).keys.needs else None,
        "numerator": _part(query.numerator),
        "denominator": _part(query.denominator),
        "score": None if chosen is None else chosen.score.text,
        "score_upper": None if chosen is None else chosen.grid.upper * chosen.grid.step,
        "score_step": None if chosen is None else chosen.grid.step,
        "budget asked for": _budget(query),
        "mechanism asked for": query.mechanism,
    }
    if query.key_selection is not None:
        told["partition_selection"] = _amounts(
            delta=query.key_selection.delta, epsilon=query.key_selection.epsilon
        )
    return told


def lists(query: Query, columns: Mapping[str, Column]) -> dict[str, tuple[str, ...] | None]:
    """The public lists that the query has for itself: its candidates, and bins of its own."""
    candidates: tuple[str, ...] | None = None
    if query.candidates is not None:
        candidates = query.candidates.texts
    elif query.points is not None and query.column is not None and query.column.grid is not None:
        step = query.column.grid.step
        candidates = tuple(text(point * step) for point in query.points)
    bins = None
    for group in (*query.groups, query.axis):
        if group is not None and group.edges is not None:
            known = columns.get(group.column)
            bins = group.edges if known is None or known.edges != group.edges else bins
    return {"candidates": candidates, "bins": bins}


def _part(part: Part | None) -> str | None:
    if part is None:
        return None
    counted = f"sum of {part.column.name}" if part.column is not None else "records"
    return f"{counted} where {part.where.text}" if part.where is not None else counted


def _budget(query: Query) -> str:
    if query.accuracy is not None:
        return _accuracy(query.accuracy)
    if query.epsilon is None and query.rho is None:
        return f"weight {text(query.weight)}"
    return _amounts(epsilon=query.epsilon, delta=query.delta, rho=query.rho)


def _accuracy(wanted: Accuracy) -> str:
    records = f", at {wanted.records} records" if wanted.records is not None else ""
    return f"within {text(wanted.within)} with confidence {text(wanted.confidence)}{records}"


def _amounts(**amounts: Fraction | None) -> str:
    """Name the amounts that are stated, exactly."""
    return ", ".join(f"{name} {text(each)}" for name, each in amounts.items() if each is not None)
