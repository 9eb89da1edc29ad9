"""Changes of what is published: queries, their groups and errors, columns, data and output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from dprelease.comparing.changes import Change, Kind, Pair, Value, listed, seen_from_spec
from dprelease.comparing.perturbs import perturb_changes
from dprelease.model import Column, Plan
from dprelease.report.steps import query_facts

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
    if (old.source.format, old.source.dialect) != (new.source.format, new.source.dialect):
        written = "as written before", "as written now"
        yield Change(Kind.OTHER, "how the data is read", *written, "", "data")


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
                why = "public, and not taken from the data?" if what in _CLAIMS else ""
                yield Change(Kind.OTHER, f"column {name}: {what}", was, now, why, key)
            yield from _keys(f"column {name}: ", old[name].keys, new[name].keys, key)


_CLAIMS = frozenset({"bounds", "bins"})


def _column_facts(column: Column) -> dict[str, Value]:
    grid = column.grid
    return {
        "type": str(column.type),
        "bounds": None
        if grid is None
        else f"{_plain(grid.lower * grid.step)} to {_plain(grid.upper * grid.step)}",
        "step": None if grid is None else grid.step,
        "bins": None if column.edges is None else listed(list(column.edges), 12),
        "other": column.other,
        "nulls": column.null_value,
        "expression": None if column.expression is None else column.expression.text,
        "source": column.source,
    }


def _keys(
    what: str, old: tuple[str, ...] | None, new: tuple[str, ...] | None, key: str
) -> Iterator[Change]:
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
        why += "; public, and not taken from the data?"
    yield Change(Kind.OTHER, f"{what}keys", len(before), len(after), why, key)


def _queries(pair: Pair) -> Iterator[Change]:
    old, new = _facts(pair.old), _facts(pair.new)
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


def _facts(plan: Plan) -> dict[str, dict[str, Value]]:
    return {
        read.query.name: _query(query_facts(plan, read), plan.step(read).loss.epsilon)
        for read in plan.reads
    }


def _query(facts: Mapping[str, Any], epsilon: Fraction) -> dict[str, Value]:
    """The facts that are compared, as texts and numbers, in the order of telling."""
    sensitivity = facts["sensitivity"]
    norms = [f"L1 {sensitivity['l1']}"]
    if sensitivity["l2"] is not None:
        norms.append(f"L2 {sensitivity['l2']:.5g}")
    threshold = facts["threshold"]
    told: dict[str, Value] = {name: facts[name] for name in _ASKED}
    told |= {
        "by": ", ".join(facts["by"]) or None,
        "details": _details(facts),
        "number of groups": "private" if facts["cells"] is None else facts["cells"],
        "mechanism": facts["mechanism"],
        "epsilon": epsilon,
        "delta": Fraction(str(facts["delta"])),
        "sensitivity": ", ".join(norms),
        "expected error": facts["expected_error"],
        "threshold": None if threshold is None else str(threshold),
    }
    return told


def _details(facts: Mapping[str, Any]) -> str | None:
    """What only some statistics have."""
    names = ("picks", "quantiles", "score", "numerator", "denominator_part", "candidates")
    said = [f"{name} {facts[name]}" for name in names if facts.get(name) not in (None, 1)]
    return "; ".join(said) or None


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
    paths = seen_from_spec(before, old.path), seen_from_spec(after, new.path)
    if paths[0] != paths[1]:
        yield Change(Kind.OTHER, "output", *paths, "", "output.path")
    for each in fields(before.about):
        was, now = getattr(before.about, each.name), getattr(after.about, each.name)
        if was != now:
            yield Change(Kind.OTHER, each.name, was, now, "", f"release.{each.name}")


def _differences(
    old: Mapping[str, Value], new: Mapping[str, Value]
) -> Iterator[tuple[str, Value, Value]]:
    for what, was in old.items():
        if was != new[what]:
            yield what, was, new[what]


def _plain(value: Fraction) -> str:
    return f"{value.numerator / value.denominator:.12g}" if value.denominator > 1 else str(value)
