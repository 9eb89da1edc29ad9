"""Record-level tables in words: each column, each table, and what they add to other parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dprelease.language import counted, say, template
from dprelease.model import Mechanism, PerturbedColumn, Plan, RecordStep
from dprelease.report.numbers import loss_text, text

Row = tuple[str, ...]

MECHANISM_WORDS = {
    Mechanism.RANDOMIZED_RESPONSE: template(
        "randomised response: a label for the label of each record"
    ),
    Mechanism.SUBSET_SELECTION: template(
        "subset selection: a set of labels for the label of each record"
    ),
    Mechanism.LAPLACE: template("discrete Laplace noise on the number of each record"),
    Mechanism.PIECEWISE: template(
        "piecewise response: a random level for the number of each record"
    ),
}


class RecordWords(NamedTuple):
    """Sentences of all record-level tables, and hazards with status and note."""

    guarantee: str = ""
    mechanisms: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    bounding: tuple[str, ...] = ()
    processing: tuple[str, ...] = ()
    hazards: tuple[Row, ...] = ()


def record_words(plan: Plan) -> RecordWords:
    """Say what record-level tables add."""
    if not plan.records:
        return RecordWords()
    used = {response.mechanism for step in plan.records for response in step.responses}
    return RecordWords(
        _guarantee(plan),
        tuple(sorted(say(MECHANISM_WORDS[mechanism]) for mechanism in used)),
        tuple(_unprotected(plan)),
        tuple(_bounding(plan)),
        tuple(_processing(plan)),
        tuple(_hazards(plan)),
    )


def table_words(plan: Plan, step: RecordStep) -> Iterator[str]:
    """How what one unit's cells lose adds up."""
    cells = say("that of its one answer")
    if len(step.responses) > 1:
        cells = say(
            "the sum of the losses of its {responses} answers", responses=len(step.responses)
        )
    total = say("epsilon {epsilon}", epsilon=loss_text(step.loss.epsilon))
    if step.loss.delta:
        total += say(" and delta {delta}", delta=loss_text(step.loss.delta))
    if plan.release.privacy.unit_column is None:
        yield say(
            "A record of the data is one row of the table. Its loss is {cells}: {total}.",
            cells=cells,
            total=total,
        )
    elif step.rows == 1:
        yield say(
            "One row of each person is in the table. A person's loss is {cells}: {total}.",
            cells=cells,
            total=total,
        )
    else:
        yield say(
            "At most {rows:,} rows of one person are in the table. A row's loss is {cells}, and a "
            "person's at most {rows:,} times that: {total}.",
            rows=step.rows,
            cells=cells,
            total=total,
        )
    if step.perturb.truth is not None:
        yield say(
            "The spec asks for the true answer with a chance of {truth} in every column; the "
            "losses follow from that.",
            truth=text(step.perturb.truth),
        )
    columns = [response.column for response in step.responses]
    if step.perturb.truth is None and len({column.weight for column in columns}) > 1:
        shares = ", ".join(f"{column.name} {loss_text(column.weight)}" for column in columns)
        yield say(
            "The columns share epsilon and delta by the weights of the spec: {shares}.",
            shares=shares,
        )


def _guarantee(plan: Plan) -> str:
    """Say under which model the guarantee of record-level tables holds, and for which neighbours.

    People who are replaced bring as many rows where one row of each is kept, and else need not.
    """
    said = say(" In {plan} each record is perturbed on its own (local model)", plan=_tables(plan))
    if not _many_rows(plan):
        return f"{said}."
    return say(
        "{said}; there it is the guarantee between tables in which that person has as many rows, "
        "of the {plan:,} that are kept at most.",
        said=said,
        plan=_rows(plan),
    )


def _unprotected(plan: Plan) -> Iterator[str]:
    """Say what record-level tables show of themselves."""
    tables = _tables(plan)
    cut = (
        ""
        if plan.release.privacy.unit_column is None
        else say(" but by the limit of rows per person")
    )
    yield counted(
        len(plan.records),
        "How many records {tables} has: one row each, and none is added or left out{cut}.",
        "How many records {tables} have: one row each, and none is added or left out{cut}.",
        tables=tables,
        cut=cut,
    )
    if _many_rows(plan):
        yield say(
            "How many rows each person has in {tables}, up to that limit: whoever knows the "
            "numbers of all others can tell it from the number of rows.",
            tables=tables,
        )


def _bounding(plan: Plan) -> Iterator[str]:
    """Say which rows of one person a record-level table has; nothing for rows."""
    if plan.release.privacy.unit_column is not None:
        most = _rows(plan)
        yield say(
            "A record-level table has at most {most} of one person. Which ones is drawn by lot, "
            "pseudo-randomly: it depends on the person's own rows and a secret number that is new "
            "in every run, and on nobody else; each row is picked with the same chance. Estimates "
            "are those of the rows that are kept.",
            most=say("1 row") if most == 1 else say("{most:,} rows", most=most),
        )


def _processing(plan: Plan) -> Iterator[str]:
    """Say what happens to a record before and after its answers are drawn."""
    if not plan.reads and any(column.quantity is not None for column in _columns(plan)):
        yield say(
            "Values outside a column's bounds count as the nearest bound, and values are rounded "
            "to the column's step, before they are perturbed."
        )
    yield say(
        "Each cell of a record-level table is drawn from the true value of that cell alone, with "
        "fresh randomness. Rows are put in a random order, every order as likely."
    )
    yield say(
        "No record is left out of a record-level table for what it lacks: a cell that a query "
        "would drop is answered all the same, as is said of its column."
    )
    yield say(
        "Estimates from a record-level table are post-processing: from counts and sums of its "
        "answers, without looking at the data again."
    )


def _hazards(plan: Plan) -> Iterator[Row]:
    """Give hazard, status and note of what record-level tables have, and its key."""
    tables = _tables(plan)
    yield (
        say("trust in the local model"),
        "not checked",
        say(
            "{tables}: noise is added record by record, so that readers and keepers of the table "
            "need not be trusted; but the true table was in the hands of whoever ran dprelease, as "
            "in the central model",
            tables=tables,
        ),
        "trust_in_the_local_model",
    )
    yield (
        say("amplification by shuffling"),
        "checked",
        say("rows are in a random order, and no smaller epsilon is claimed for that"),
    )
    many = _many_rows(plan)
    equal = say("it is equal in all neighbouring tables")
    if many:
        equal = say(
            "only tables in which each person has as many rows are neighbours here; it can tell "
            "how many rows a person has, which is not protected"
        )
    yield (
        say("number of records"),
        "attention" if many else "checked",
        say("{tables}: published without noise, as {equal}", tables=tables, equal=equal),
    )
    if plan.release.privacy.unit_column is not None:
        yield (
            say("records left out by bounding"),
            "attention",
            say(
                "of one person at most {plan:,} rows are in {tables}: the others are missing from "
                "it; the bound comes from the spec, and must not be taken from the data",
                plan=_rows(plan),
                tables=tables,
            ),
        )
    yield from _without_label(plan)


def _without_label(plan: Plan) -> Iterator[Row]:
    columns = _columns(plan)
    drawn = [
        column.name
        for column in columns
        if (group := column.group) is not None
        and len(group.labels) > 1
        and (group.null_label is None or (group.other is None and str(group.type) != "boolean"))
    ]
    if drawn:
        yield (
            say("values without a label"),
            "attention",
            say(
                "answered with labels drawn evenly, and counted so in estimates: many of them make "
                "shares look more even than they are; `other` and `nulls` of a column tell them "
                "apart: "
            )
            + _listed(drawn),
        )
    filled = [column.name for column in columns if column.null_chosen]
    if filled:
        yield (
            say("nulls taken for a number"),
            "attention",
            say("they count as the middle of the bounds, and move means there: ") + _listed(filled),
        )


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _tables(plan: Plan) -> str:
    names = [step.perturb.name for step in plan.records]
    return (
        say("the record-level table {names}", names=", ".join(names))
        if len(names) == 1
        else say("the record-level tables {names}", names=", ".join(names))
    )


def _columns(plan: Plan) -> list[PerturbedColumn]:
    return [response.column for step in plan.records for response in step.responses]


def _rows(plan: Plan) -> int:
    """So many rows of one unit are kept at most."""
    return max(step.rows for step in plan.records)


def _many_rows(plan: Plan) -> bool:
    return plan.release.privacy.unit_column is not None and _rows(plan) > 1
