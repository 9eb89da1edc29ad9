"""Changes of what is published: data, columns, queries, record-level tables, output and papers.

Each spec is put into facts by name; ``changes`` compares the facts of two specs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec.structs import asdict

from dprelease.comparison.spec_changes import (
    EXPECTED_ERROR,
    MOST,
    Change,
    Facts,
    Item,
    Kind,
    Pair,
    Value,
    compare_places,
    describe_change,
    describe_figure_change,
    describe_item_changes,
    describe_moves,
    join_words,
)
from dprelease.language import word
from dprelease.model import AS_RELEASED, Column, Part, Perturb, Plan, Query, Release
from dprelease.postprocess.finishing.finished_tables import name_deeds
from dprelease.reports.facts.approval import list_review_texts
from dprelease.reports.facts.finished import write_condition
from dprelease.reports.facts.query_facts import describe_queries
from dprelease.reports.model.json_form import to_json
from dprelease.reports.text.shown_names import StatedName, iter_stated_names
from dprelease.reports.text.shown_numbers import write_exact
from dprelease.statistics.statistic_registry import get_statistic


def find_figure_changes(pair: Pair) -> Iterator[Change]:
    """Find every change that keeps the guarantee, and changes of what record-level tables cost."""
    before, after = pair.releases
    yield from _compare_data(pair)
    yield from describe_item_changes(
        "columns", "column", _list_columns(before), _list_columns(after), "", ""
    )
    queries = _list_queries(pair.old), _list_queries(pair.new)
    yield from describe_item_changes("query", "query", *queries)
    # The order of queries that both specs have; those that come or go are reported above.
    orders = [[*filter(queries[1 - at].__contains__, names)] for at, names in enumerate(queries)]
    if orders[0] != orders[1]:
        was, now = (join_words(order, MOST) for order in orders)
        yield Change(Kind.OTHER, "order of the queries", was, now, "", "query")
    yield from find_perturb_changes(pair)
    yield from _compare_outputs(pair)


def _compare_data(pair: Pair) -> Iterator[Change]:
    old, new = (release.data for release in pair.releases)
    why = "check that it is still the same dataset"
    yield from describe_change("data", old.written_path, new.written_path, why, "data.path")
    why = "a version of the data of its own, charged anew"
    yield from describe_change("snapshot", old.snapshot, new.snapshot, why, "data.snapshot")
    for key in dict([*old.source.own, *new.source.own]):
        was, now = old.source.get_own(key), new.source.get_own(key)
        yield from describe_change(key, was, now, why, f"data.{key}")
    was, now = (
        None if data.design_effect is None else write_exact(data.design_effect)
        for data in (old, new)
    )
    why = "stated with weighted figures; no figure changes"
    yield from describe_change("design effect", was, now, why, "data.design_effect")
    yield from describe_change(
        "format of the data", old.source.format, new.source.format, "", "data"
    )
    for name in old.source.dialect.__struct_fields__:
        was, now = (getattr(data.source.dialect, name) for data in (old, new))
        if was != now:
            key = f"data.{name}"
            yield Change(
                Kind.OTHER, f"data: {name}", _write_option(was), _write_option(now), "", key
            )


def _write_option(value: object) -> str | None:
    """Write an option of CSV as TOML does; of a long list its beginning."""
    if isinstance(value, tuple):
        return f"[{join_words([_write_option(part) or '' for part in value], MOST)}]"
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _compare_outputs(pair: Pair) -> Iterator[Change]:
    before, after = pair.releases
    old, new = before.output, after.output
    why = "noise does not change"
    yield from describe_change("interval", old.interval, new.interval, why, "output.interval")
    yield from describe_change("format of the tables", old.format, new.format, "", "output")
    if paths := compare_places(pair, old.path, new.path):
        yield Change(Kind.OTHER, "output", *paths, "", "output.path")
    if set(before.report_formats) != set(after.report_formats):
        formats = join_words(before.report_formats), join_words(after.report_formats)
        yield Change(Kind.OTHER, "formats of the report", *formats, "", "report.formats")
    languages = before.report_language, after.report_language
    yield from describe_change("language of the report", *languages, "", "report.language")
    names = [
        {stated_name.key: stated_name for stated_name in iter_stated_names(release)}
        for release in pair.releases
    ]
    for key, entry in {**names[0], **names[1]}.items():
        was, now = (_name(of.get(key)) for of in names)
        yield from describe_change(entry.of, was, now, "for people; noise does not change", key)
    for name in before.about.__struct_fields__:
        was, now = (getattr(release.about, name) for release in pair.releases)
        yield from describe_change(name, was, now, "", f"release.{name}")
    old_texts, new_texts = (list_review_texts(release.review) for release in pair.releases)
    for key in dict.fromkeys([*old_texts, *new_texts]):
        yield from describe_change(key, old_texts.get(key), new_texts.get(key), "", key)


def _name(name: StatedName | None) -> str | None:
    if name is None:
        return None
    return join_words(name.name, MOST) if isinstance(name.name, tuple) else str(name.name)


def _list_columns(release: Release) -> dict[str, Item]:
    """List the columns that the spec declares, without those that a quality query adds."""
    return {
        name: Item(f"columns.{name}", "declared", _describe_column(column))
        for name, column in release.columns.items()
        if column.observed_column is None
    }


def _describe_column(column: Column) -> Facts:
    grid = column.grid
    dropped = column.nulls_stated and column.null_value is None
    return {
        "type": str(column.type),
        "bounds": None
        if grid is None
        else f"{write_exact(grid.lower * grid.step)} to {write_exact(grid.upper * grid.step)}",
        "step": None if grid is None else grid.step,
        "other": column.other,
        "nulls": "drop" if dropped else column.null_value,
        "expression": None if column.expression is None else column.expression.text,
        "source": column.source,
        "keys": column.keys,
        "bins": column.edges,
    }


# --- queries ---


def _list_queries(plan: Plan) -> dict[str, Item]:
    numbers = {query.name: query.number for query in plan.release.queries}
    items = {}
    for read, stated_facts in zip(plan.reads, describe_queries(plan), strict=True):
        query, facts_json = read.query, to_json(stated_facts)
        facts = _query(facts_json, query, plan.release.columns)
        of = f" of {facts_json['column']}" if facts_json["column"] else ""
        by = f" by {facts['by']}" if facts["by"] else ""
        summary = f"{query.statistic}{of}{by}, {EXPECTED_ERROR} {facts_json['expected_error']}"
        items[query.name] = Item(f"query[{numbers[query.name]}]", summary, facts)
    return items


def _query(facts: Mapping[str, Any], query: Query, columns: Mapping[str, Column]) -> Facts:
    """List the facts of a query that are compared, in the order in which they are shown."""
    sensitivity, threshold = facts["sensitivity"], facts["threshold"]
    candidates, selection = query.candidates, query.key_selection
    norms = [f"L1 {sensitivity['l1']}"]
    norms += [f"L2 {sensitivity['l2']:.5g}"] if sensitivity["l2"] is not None else []
    return {
        "statistic": facts["statistic"],
        "column": facts["column"],
        "by": ", ".join(facts["by"]) or None,
        "where": facts["where"],
        "table": facts["table"],
        "quantiles": ", ".join(map(write_exact, query.quantiles)) or None,
        "bandwidth": ", ".join(write_exact(axis.bandwidth) for axis in query.curve) or None,
        "k": query.picks if get_statistic(query.statistic).keys.has_key("k") else None,
        **({} if query.own is None else asdict(query.own)),
        "bounding": None
        if query.clip is None
        else f"{query.clip.norm.upper()} norm {query.clip.bound} steps",
        "survey weight": facts.get("survey_weight"),
        "numerator": _write_part(query.numerator),
        "denominator": _write_part(query.denominator),
        "score": None if candidates is None else candidates.score.text,
        "score_upper": None if candidates is None else candidates.grid.upper * candidates.grid.step,
        "score_step": None if candidates is None else candidates.grid.step,
        "budget asked for": _describe_budget(query),
        "mechanism asked for": query.mechanism,
        "partition_selection": None
        if selection is None
        else _write_amounts(delta=selection.delta, epsilon=selection.epsilon),
        "number of groups": "private" if facts["cells"] is None else facts["cells"],
        "planned together": "yes" if facts.get("together") else None,
        "mechanism": facts["mechanism"],
        "epsilon": Fraction(facts["epsilon_exact"]),
        "delta": Fraction(str(facts["delta"])),
        "sensitivity": ", ".join(norms),
        EXPECTED_ERROR: facts["expected_error"],
        "threshold": None  # from what noisy count on a private key is shown
        if threshold is None
        else f"at least {threshold['at_least']:,} {threshold['counts']}",
        **_list_own_lists(query, columns),
        **_describe_finish(query),
    }


def _describe_finish(query: Query) -> Facts:
    """List what is done to figures after the noise, except defaults."""
    share = query.finish.flag_unreliable_at
    return {
        "figures are": ", ".join(map(word, name_deeds(query.finish))) or None,
        "shown if": write_condition(query.finish),
        "flagged beyond": None if share == AS_RELEASED.flag_unreliable_at else share,
    }


def _list_own_lists(
    query: Query, columns: Mapping[str, Column]
) -> dict[str, tuple[str, ...] | None]:
    """List the public lists of the query itself: candidates, bins, points of a curve."""
    candidates: tuple[str, ...] | None = None
    if query.candidates is not None:
        candidates = query.candidates.texts
    elif query.points is not None and query.column is not None and query.column.grid is not None:
        step = query.column.grid.step
        candidates = tuple(write_exact(point * step) for point in query.points)
    bins = None
    points = tuple(write_exact(point) for axis in query.curve for point in axis.points) or None
    for group in (*get_statistic(query.statistic).list_published_groups(query), query.axis):
        if group is not None and group.edges is not None:
            column = columns.get(group.column)
            bins = group.edges if column is None or column.edges != group.edges else bins
    return {"candidates": candidates, "bins": bins, "points": points}


def _write_part(part: Part | None) -> str | None:
    if part is None:
        return None
    counted = f"sum of {part.column.name}" if part.column is not None else "records"
    return f"{counted} where {part.where.text}" if part.where is not None else counted


def _describe_budget(query: Query) -> str:
    target = query.accuracy
    if target is not None:
        records = f", at {target.records} records" if target.records is not None else ""
        confidence = write_exact(target.confidence)
        return f"within {write_exact(target.within)} with confidence {confidence}{records}"
    amounts = _write_amounts(epsilon=query.epsilon, delta=query.delta, rho=query.rho)
    no_amount = query.epsilon is None and query.rho is None
    return f"weight {write_exact(query.weight)}" if no_amount else amounts


def _write_amounts(**amounts: Fraction | None) -> str:
    """Name the amounts that are stated, exactly."""
    return ", ".join(
        f"{name} {write_exact(amount)}" for name, amount in amounts.items() if amount is not None
    )


# --- record-level tables ---


def find_perturb_changes(pair: Pair) -> Iterator[Change]:
    """Find every change of a record-level table; weaker where a unit's loss in the table grows.

    Another mechanism, other weights or other columns at the same epsilon change errors and
    figures, not the guarantee.
    """
    old, new = ({table.name: table for table in release.perturbs} for release in pair.releases)
    items = _list_tables(old, new), _list_tables(new, old)
    why = "added: each record is published, perturbed, and how many there are"
    for name in dict.fromkeys((*old, *new)):
        if name in old and name in new:
            yield from _compare_tables(pair, old[name], new[name])
        was, now = ({name: side[name]} if name in side else {} for side in items)
        yield from describe_item_changes("perturb", "table", was, now, why)


def _compare_tables(pair: Pair, old: Perturb, new: Perturb) -> Iterator[Change]:
    """Compare the cost of a table, how often its answers are true, and its columns."""
    subject, key = f"table {new.name}", f"perturb[{new.number}]"
    losses = _compute_loss(pair.old, old), _compute_loss(pair.new, new)
    for part, was, now in zip(("epsilon", "delta"), *losses, strict=True):
        why = "what the whole table costs one unit"
        yield from describe_figure_change(f"{subject}: {part}", was, now, key, why)
    yield from describe_change(f"{subject}: truth", old.truth, new.truth, "see its epsilon", key)
    before, after = (list(_list_weights(version)) for version in (old, new))
    if before != after:
        why = describe_moves(before, after, ": more of each record is published")
        words = join_words(before, MOST), join_words(after, MOST)
        yield Change(Kind.OTHER, f"{subject}: columns", *words, why, key)


def _compute_loss(plan: Plan, perturb: Perturb) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta that the spec states, or that a chance of the truth implies."""
    # The certified losses are slightly smaller, because chances are rounded to the private side.
    if perturb.truth is not None:
        loss = next(step.loss for step in plan.records if step.perturb.name == perturb.name)
        return loss.epsilon, loss.delta
    if perturb.epsilon is not None:
        return perturb.epsilon, perturb.delta
    total = plan.release.privacy
    return total.epsilon or Fraction(0), total.delta


def _list_weights(perturb: Perturb) -> dict[str, Fraction]:
    return {column.name: column.weight for column in perturb.columns}


def _list_tables(tables: Mapping[str, Perturb], others: Mapping[str, Perturb]) -> dict[str, Item]:
    """List tables with the facts of columns that both versions have.

    Columns that come or go are reported elsewhere. Only the ratios of weights matter.
    """
    items = {}
    for name, table in tables.items():
        facts: dict[str, Value] = {}
        columns = {column.name: column for column in table.columns}
        weights, others_weights = _list_weights(table), _list_weights(others.get(name, table))
        for column_name in others_weights:
            if (column := columns.get(column_name)) is not None:
                share, before = (
                    version[column.name] / sum(version.values(), Fraction(0))
                    for version in (weights, others_weights)
                )
                facts |= {
                    f"{column.name}: mechanism": str(column.mechanism),
                    f"{column.name}: published as": "labels" if column.group else "numbers",
                    f"{column.name}: weight": column.weight if share != before else None,
                }
        summary = f"records perturbed, with {join_words(list(weights), MOST)}"
        items[name] = Item(f"perturb[{table.number}]", summary, facts)
    return items
