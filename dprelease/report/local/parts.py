"""Record-level tables in a report: their own part, and what they add to the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from dprelease.model import Mechanism, Plan, RecordStep, StoredTable
from dprelease.report.local.columns import column_words
from dprelease.report.local.facts import perturb_facts, planned_perturb_facts
from dprelease.report.local.wording import Row
from dprelease.report.numbers import text, upward, written

Facts = dict[str, Any]

MECHANISM_WORDS = {
    Mechanism.RANDOMIZED_RESPONSE: "randomised response: a label for the label of each record",
    Mechanism.SUBSET_SELECTION: "subset selection: a set of labels for the label of each record",
    Mechanism.LAPLACE: "discrete Laplace noise on the number of each record",
    Mechanism.PIECEWISE: "piecewise response: a random level for the number of each record",
}


def perturb_parts(plan: Plan, records: Mapping[str, StoredTable] | None = None) -> list[Facts]:
    """State every record-level table; with what was drawn of it, its estimates too."""
    return [_part(plan, step, records) for step in plan.records]


def _part(plan: Plan, step: RecordStep, records: Mapping[str, StoredTable] | None) -> Facts:
    interval = plan.release.output.interval
    found: Facts = planned_perturb_facts(step, interval)
    if records is not None:
        kept = records[step.perturb.name]
        published = replace(kept, path=f"{step.perturb.name}.{kept.format}")
        found |= perturb_facts(step, published, interval)
    found["explained"] = list(_table_words(plan, step))
    for column in cast("list[Facts]", found["columns"]):
        column["explained"] = column_words(column)
    return found


def mechanism_words(plan: Plan) -> tuple[str, ...]:
    """Name the mechanisms of records."""
    used = {each.mechanism for step in plan.records for each in step.responses}
    return tuple(sorted(MECHANISM_WORDS[each] for each in used))


def _table_words(plan: Plan, step: RecordStep) -> Iterator[str]:
    """How what one unit's cells lose adds up."""
    cells = "that of its one answer"
    if len(step.responses) > 1:
        cells = f"the sum of the losses of its {len(step.responses)} answers"
    total = f"epsilon {_loss(step.loss.epsilon)}"
    if step.loss.delta:
        total += f" and delta {_loss(step.loss.delta)}"
    if plan.release.privacy.unit_column is None:
        yield f"A record of the data is one row of the table. Its loss is {cells}: {total}."
    elif step.rows == 1:
        yield f"One row of each person is in the table. A person's loss is {cells}: {total}."
    else:
        yield (
            f"At most {step.rows:,} rows of one person are in the table. A row's loss is {cells}, "
            f"and a person's at most {step.rows:,} times that: {total}."
        )
    if step.perturb.truth is not None:
        yield (
            f"The spec asks for the true answer with a chance of {text(step.perturb.truth)} in "
            "every column; the losses follow from that."
        )
    weights = {each.column.weight for each in step.responses}
    if step.perturb.truth is None and len(weights) > 1:
        shares = ", ".join(
            f"{each.column.name} {written(upward(each.column.weight))}" for each in step.responses
        )
        yield f"The columns share epsilon and delta by the weights of the spec: {shares}."


def guarantee_words(plan: Plan) -> str:
    """Say under which model the guarantee of record-level tables holds, and for which neighbours.

    People who are replaced bring as many rows where one row of each is kept, and else need not.
    """
    said = f" In {_tables(plan)} each record is perturbed on its own (local model)"
    if not _many_rows(plan):
        return f"{said}."
    return (
        f"{said}; there it is the guarantee between tables in which that person has as many rows, "
        f"of the {_rows(plan):,} that are kept at most."
    )


def unprotected_words(plan: Plan) -> Iterator[str]:
    """Say what record-level tables show of themselves."""
    tables, has = _tables(plan), "has" if len(plan.records) == 1 else "have"
    cut = "" if plan.release.privacy.unit_column is None else " but by the limit of rows per person"
    yield f"How many records {tables} {has}: one row each, and none is added or left out{cut}."
    if _many_rows(plan):
        yield (
            f"How many rows each person has in {tables}, up to that limit: whoever knows the "
            "numbers of all others can tell it from the number of rows."
        )


def bounding_lines(plan: Plan) -> list[str]:
    """Say which rows of one person a record-level table has; empty for rows."""
    if plan.release.privacy.unit_column is None:
        return []
    most = _rows(plan)
    rows = "1 row" if most == 1 else f"{most:,} rows"
    return [
        f"A record-level table has at most {rows} of one person. Which ones is drawn by lot, "
        "pseudo-randomly: it depends on the person's own rows and a secret number that is new in "
        "every run, and on nobody else; each row is picked with the same chance. Estimates are "
        "those of the rows that are kept.",
    ]


def processing_words(plan: Plan) -> Iterator[str]:
    """Say what happens to a record before and after its answers are drawn."""
    numeric = [
        each for step in plan.records for each in step.responses if each.column.quantity is not None
    ]
    if numeric and not plan.reads:
        yield (
            "Values outside a column's bounds count as the nearest bound, and values are rounded "
            "to the column's step, before they are perturbed."
        )
    yield (
        "Each cell of a record-level table is drawn from the true value of that cell alone, with "
        "fresh randomness. Rows are put in a random order, every order as likely."
    )
    yield (
        "No record is left out of a record-level table for what it lacks: a cell that a query "
        "would drop is answered all the same, as is said of its column."
    )
    yield (
        "Estimates from a record-level table are post-processing: from counts and sums of its "
        "answers, without looking at the data again."
    )


def record_hazards(plan: Plan) -> Iterator[Row]:
    """Give hazard, status and note of what record-level tables have."""
    tables = _tables(plan)
    yield (
        "trust in the local model",
        "attested",
        f"{tables}: noise is added record by record, so that readers and keepers of the table need "
        "not be trusted; but the true table was in the hands of whoever ran dprelease, as in the "
        "central model",
    )
    yield (
        "amplification by shuffling",
        "pass",
        "rows are in a random order, and no smaller epsilon is claimed for that",
    )
    many = _many_rows(plan)
    equal = "it is equal in all neighbouring tables"
    if many:
        equal = (
            "only tables in which each person has as many rows are neighbours here; it can tell "
            "how many rows a person has, which is not protected"
        )
    yield (
        "number of records",
        "attention" if many else "pass",
        f"{tables}: published without noise, as {equal}",
    )
    if plan.release.privacy.unit_column is not None:
        yield (
            "records left out by bounding",
            "attention",
            f"of one person at most {_rows(plan):,} rows are in {tables}: the others are missing "
            "from it; the bound comes from the spec, and must not be taken from the data",
        )
    yield from _without_label(plan)


def _without_label(plan: Plan) -> Iterator[Row]:
    columns = [each.column for step in plan.records for each in step.responses]
    drawn = [
        column.name
        for column in columns
        if (group := column.group) is not None
        and len(group.labels) > 1
        and (group.null_label is None or (group.other is None and str(group.type) != "boolean"))
    ]
    if drawn:
        yield (
            "values without a label",
            "attention",
            "answered with labels drawn evenly, and counted so in estimates: many of them make "
            "shares look more even than they are; `other` and `nulls` of a column tell them apart: "
            + _listed(drawn),
        )
    filled = [column.name for column in columns if column.null_chosen]
    if filled:
        yield (
            "nulls taken for a number",
            "attention",
            "they count as the middle of the bounds, and move means there: " + _listed(filled),
        )


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _tables(plan: Plan) -> str:
    names = [step.perturb.name for step in plan.records]
    return f"the record-level {'table' if len(names) == 1 else 'tables'} {', '.join(names)}"


def _rows(plan: Plan) -> int:
    """So many rows of one unit are kept at most."""
    return max(step.rows for step in plan.records)


def _many_rows(plan: Plan) -> bool:
    return plan.release.privacy.unit_column is not None and _rows(plan) > 1


def _loss(value: Fraction) -> str:
    return written(upward(value))
