"""Changes of what is published: queries, columns, data, record-level tables and output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from dprelease.diff.changes import (
    Change,
    Kind,
    Pair,
    Value,
    changed,
    elsewhere,
    facts_changed,
    listed,
    moves,
)
from dprelease.model import Accuracy, Column, Part, Perturb, Plan, Query
from dprelease.report.facts.json_form import to_json
from dprelease.report.facts.queries import query_facts
from dprelease.report.numbers import text
from dprelease.statistics.registry import statistic_of

_CLAIM = "public, and not taken from the data?"
_ASKED = ("statistic", "column", "by", "where", "table")
_MORE = "more of each record is published"
_ROWS = "each record is published, perturbed, and how many there are"


def figure_changes(pair: Pair) -> Iterator[Change]:
    """Every change that leaves the guarantee as it is, and of what record-level tables cost."""
    yield from _data(pair)
    yield from _columns(pair)
    yield from _queries(pair)
    yield from perturb_changes(pair)
    yield from _output(pair)


# --- data and columns ---


def _data(pair: Pair) -> Iterator[Change]:
    old, new = (release.data for release in pair.releases)
    why = "is it still the same dataset?"
    yield from changed("data", old.written_path, new.written_path, why, "data.path")
    why = "a version of the data of its own, charged anew"
    yield from changed("snapshot", old.snapshot, new.snapshot, why, "data.snapshot")
    yield from changed("format of the data", old.source.format, new.source.format, "", "data")
    for option in fields(old.source.dialect):
        was, now = (getattr(data.source.dialect, option.name) for data in (old, new))
        if was != now:
            what, key = f"data: {option.name}", f"data.{option.name}"
            yield Change(Kind.OTHER, what, _option(was), _option(now), "", key)


def _option(value: object) -> str | None:
    """An option of CSV as TOML writes it."""
    if isinstance(value, tuple):
        return f"[{listed([_option(part) or '' for part in value], 12)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _columns(pair: Pair) -> Iterator[Change]:
    old, new = (release.columns for release in pair.releases)
    for name in dict.fromkeys((*old, *new)):
        what, key = f"column {name}", f"columns.{name}"
        if name not in new:
            yield Change(Kind.OTHER, what, "declared", None, "", "columns")
        elif name not in old:
            yield Change(Kind.OTHER, what, None, "declared", "", key)
        else:
            facts = _column_facts(old[name]), _column_facts(new[name])
            yield from facts_changed(what, *facts, key, bounds=_CLAIM)
            yield from _list(f"{what}: keys", old[name].keys, new[name].keys, key)
            yield from _list(f"{what}: bins", old[name].edges, new[name].edges, key)


def _column_facts(column: Column) -> dict[str, Value]:
    grid = column.grid
    dropped = column.nulls_stated and column.null_value is None
    return {
        "type": str(column.type),
        "bounds": None
        if grid is None
        else f"{text(grid.lower * grid.step)} to {text(grid.upper * grid.step)}",
        "step": None if grid is None else grid.step,
        "other": column.other,
        "nulls": "drop" if dropped else column.null_value,
        "expression": None if column.expression is None else column.expression.text,
        "source": column.source,
    }


def _list(
    what: str, old: tuple[str, ...] | None, new: tuple[str, ...] | None, key: str
) -> Iterator[Change]:
    """A public list, by its length; what it is of, and what came to it, stands beside."""
    if old == new:
        return
    before, after = old or (), new or ()
    claim = f"; {_CLAIM}" if set(after) - set(before) else ""
    sizes: tuple[Value, Value] = len(before), len(after)
    if what.endswith("bins"):  # of edges the number says little
        sizes = listed(before, 12) or None, listed(after, 12) or None
    yield Change(Kind.OTHER, what, *sizes, moves(before, after) + claim, key)


# --- queries ---


def _queries(pair: Pair) -> Iterator[Change]:
    old, new = _query_facts(pair.old), _query_facts(pair.new)
    before, after = ({query.name: query for query in plan.queries} for plan in pair.releases)
    for name in dict.fromkeys((*old, *new)):
        what = f"query {name}"
        if name not in new:
            yield Change(Kind.OTHER, what, _summary(old[name]), None, "removed", "query")
            continue
        key = f"query[{after[name].number}]"
        if name not in old:
            yield Change(Kind.OTHER, what, None, _summary(new[name]), "added", key)
            continue
        yield from facts_changed(what, old[name], new[name], key)
        lists = _own_lists(before[name], pair.old.release.columns)
        for part, entries in _own_lists(after[name], pair.new.release.columns).items():
            yield from _list(f"{what}: {part}", lists[part], entries, key)
    orders = [name for name in old if name in new], [name for name in new if name in old]
    if orders[0] != orders[1]:
        words = listed(orders[0], 12), listed(orders[1], 12)
        yield Change(Kind.OTHER, "order of the queries", *words, "", "query")


def _query_facts(plan: Plan) -> dict[str, dict[str, Value]]:
    return {
        read.query.name: _query(
            to_json(query_facts(plan, read)), plan.step(read).loss.epsilon, read.query
        )
        for read in plan.reads
    }


def _query(facts: Mapping[str, Any], epsilon: Fraction, query: Query) -> dict[str, Value]:
    """The facts that are compared, as texts and numbers, in the order of telling."""
    sensitivity, threshold = facts["sensitivity"], facts["threshold"]
    norms = [f"L1 {sensitivity['l1']}"]
    if sensitivity["l2"] is not None:
        norms.append(f"L2 {sensitivity['l2']:.5g}")
    values: dict[str, Value] = {name: facts[name] for name in _ASKED}
    values |= {
        "by": ", ".join(facts["by"]) or None,
        **_stated(query),
        "number of groups": "private" if facts["cells"] is None else facts["cells"],
        "mechanism": facts["mechanism"],
        "epsilon": epsilon,
        "delta": Fraction(str(facts["delta"])),
        "sensitivity": ", ".join(norms),
        "expected error": facts["expected_error"],
        "threshold": None  # from what noisy count on a private key is shown
        if threshold is None
        else f"at least {threshold['at_least']:,} {threshold['counts']}",
    }
    return values


def _summary(query: Mapping[str, Value]) -> str:
    by = f" by {query['by']}" if query["by"] else ""
    of = f" of {query['column']}" if query["column"] else ""
    return f"{query['statistic']}{of}{by}, expected error {query['expected error']}"


def _stated(query: Query) -> dict[str, Value]:
    """What a spec states beside statistic, column, groups and filter, in the order of telling."""
    candidates, selection = query.candidates, query.key_selection
    values: dict[str, Value] = {
        "quantiles": ", ".join(map(text, query.quantiles)) or None,
        "k": query.picks if "k" in statistic_of(query.statistic).keys.needs else None,
        "numerator": _part(query.numerator),
        "denominator": _part(query.denominator),
        "score": None if candidates is None else candidates.score.text,
        "score_upper": None if candidates is None else candidates.grid.upper * candidates.grid.step,
        "score_step": None if candidates is None else candidates.grid.step,
        "budget asked for": _budget(query),
        "mechanism asked for": query.mechanism,
    }
    if selection is not None:
        amounts = _amounts(delta=selection.delta, epsilon=selection.epsilon)
        values["partition_selection"] = amounts
    return values


def _own_lists(query: Query, columns: Mapping[str, Column]) -> dict[str, tuple[str, ...] | None]:
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
            column = columns.get(group.column)
            bins = group.edges if column is None or column.edges != group.edges else bins
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


def _accuracy(target: Accuracy) -> str:
    records = f", at {target.records} records" if target.records is not None else ""
    return f"within {text(target.within)} with confidence {text(target.confidence)}{records}"


def _amounts(**amounts: Fraction | None) -> str:
    """Name the amounts that are stated, exactly."""
    stated = {name: amount for name, amount in amounts.items() if amount is not None}
    return ", ".join(f"{name} {text(amount)}" for name, amount in stated.items())


# --- record-level tables ---


def perturb_changes(pair: Pair) -> Iterator[Change]:
    """Every change of a record-level table; weaker where a unit's loss in the table grows.

    Another mechanism, other weights or other columns at the same epsilon change errors and what is
    published, not the guarantee.
    """
    old, new = ({table.name: table for table in release.perturbs} for release in pair.releases)
    for name in dict.fromkeys((*old, *new)):
        what = f"table {name}"
        if name not in new:
            yield Change(Kind.OTHER, what, _columns_of(old[name]), None, "removed", "perturb")
            continue
        key = f"perturb[{new[name].number}]"
        if name not in old:
            yield Change(Kind.OTHER, what, None, _columns_of(new[name]), f"added: {_ROWS}", key)
            continue
        losses = _loss(pair.old, old[name]), _loss(pair.new, new[name])
        for part, was, now in zip(("epsilon", "delta"), *losses, strict=True):
            kind = Kind.WEAKER if now > was else Kind.STRONGER
            why = "what the whole table costs one unit"
            yield from changed(f"{what}: {part}", was, now, why, key, kind)
        yield from _table(what, old[name], new[name], key)


def _loss(plan: Plan, perturb: Perturb) -> tuple[Fraction, Fraction]:
    """Epsilon and delta as the spec states them; of a chance of the truth, what that comes to.

    The losses of the laws themselves are a hair smaller, by how their chances are rounded.
    """
    if perturb.truth is not None:
        loss = next(step.loss for step in plan.records if step.perturb.name == perturb.name)
        return loss.epsilon, loss.delta
    if perturb.epsilon is not None:
        return perturb.epsilon, perturb.delta
    total = plan.release.privacy
    return total.epsilon or Fraction(0), total.delta


def _table(what: str, old: Perturb, new: Perturb, key: str) -> Iterator[Change]:
    yield from changed(f"{what}: truth", old.truth, new.truth, "see its epsilon", key)
    before, after = ([column.name for column in table.columns] for table in (old, new))
    if before != after:
        why = moves(before, after, f": {_MORE}")
        words = listed(before, 12), listed(after, 12)
        yield Change(Kind.OTHER, f"{what}: columns", *words, why, key)
    was, now = _cells(old), _cells(new)
    for name in after:
        if name in was:
            yield from facts_changed(f"{what}: {name}", was[name], now[name], key)
            # Other columns change every share, and are told; weights in the same ratio change none.
            weights, shares = zip(_weight(old, name), _weight(new, name), strict=True)
            if shares[0] != shares[1]:
                yield from changed(f"{what}: {name}: weight", *weights, "", key)


def _cells(perturb: Perturb) -> dict[str, dict[str, Value]]:
    """What is stated of each column; what is declared of it is told of the column itself."""
    return {
        column.name: {
            "mechanism": str(column.mechanism),
            "published as": "labels" if column.group is not None else "numbers",
        }
        for column in perturb.columns
    }


def _weight(perturb: Perturb, name: str) -> tuple[Fraction, Fraction]:
    """The weight of a column, and its share in all of them."""
    weights = {column.name: column.weight for column in perturb.columns}
    return weights[name], weights[name] / sum(weights.values(), Fraction(0))


def _columns_of(perturb: Perturb) -> str:
    return f"records perturbed, with {listed([column.name for column in perturb.columns], 12)}"


# --- output ---


def _output(pair: Pair) -> Iterator[Change]:
    before, after = pair.releases
    old, new = before.output, after.output
    why = "noise does not change"
    yield from changed("interval", old.interval, new.interval, why, "output.interval")
    yield from changed("format of the tables", old.format, new.format, "", "output")
    if paths := elsewhere(pair, old.path, new.path):
        yield Change(Kind.OTHER, "output", *paths, "", "output.path")
    if set(before.report_formats) != set(after.report_formats):
        formats = listed(before.report_formats), listed(after.report_formats)
        yield Change(Kind.OTHER, "formats of the report", *formats, "", "report.formats")
    for field in fields(before.about):
        was, now = (getattr(release.about, field.name) for release in pair.releases)
        yield from changed(field.name, was, now, "", f"release.{field.name}")
