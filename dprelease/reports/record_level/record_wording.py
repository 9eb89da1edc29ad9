"""Record-level tables in words: each column, each table, and what they add to other parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dprelease.language import say, say_count
from dprelease.model import Mechanism, PerturbedColumn, Plan, RecordStep
from dprelease.reports.text.shown_numbers import write_exact, write_loss

Row = tuple[str, ...]

MECHANISM_WORDS = {
    Mechanism.RANDOMIZED_RESPONSE: "records.mechanism.randomised_response",
    Mechanism.SUBSET_SELECTION: "records.mechanism.subset_selection",
    Mechanism.LAPLACE: "records.mechanism.laplace",
    Mechanism.PIECEWISE: "records.mechanism.piecewise",
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
    mechanisms = {response.mechanism for step in plan.records for response in step.responses}
    return RecordWords(
        _word_guarantee(plan),
        tuple(sorted(say(MECHANISM_WORDS[mechanism]) for mechanism in mechanisms)),
        tuple(_explain_unprotected(plan)),
        tuple(_word_bounding(plan)),
        tuple(_word_processing(plan)),
        tuple(_word_hazards(plan)),
    )


def word_table(plan: Plan, step: RecordStep) -> Iterator[str]:
    """Word how the losses of one unit's cells add up."""
    cells = say("records.loss.one_answer")
    if len(step.responses) > 1:
        cells = say("records.loss.all_answers", answers=len(step.responses))
    epsilon, delta = write_loss(step.loss.epsilon), write_loss(step.loss.delta)
    total = say("words.epsilon_of", epsilon=epsilon)
    if step.loss.delta:
        total = say("words.epsilon_and_delta", epsilon=epsilon, delta=delta)
    if plan.release.privacy.unit_column is None:
        yield say(
            "records.loss.row",
            parts=cells,
            loss=total,
        )
    elif step.rows == 1:
        yield say(
            "records.loss.person_of_one_row",
            parts=cells,
            loss=total,
        )
    else:
        yield say(
            "records.loss.person_of_rows",
            rows=step.rows,
            parts=cells,
            loss=total,
        )
    if step.perturb.truth is not None:
        yield say(
            "records.budget.true_answers",
            chance=write_exact(step.perturb.truth),
        )
    columns = [response.column for response in step.responses]
    if step.perturb.truth is None and len({column.weight for column in columns}) > 1:
        shares = ", ".join(f"{column.name} {write_loss(column.weight)}" for column in columns)
        yield say(
            "records.budget.weights",
            shares=shares,
        )


def _word_guarantee(plan: Plan) -> str:
    """Say under which model the guarantee of record-level tables holds, and for which neighbours.

    People who are replaced bring as many rows where one row of each is kept, and else need not.
    """
    if not _has_many_rows(plan):
        return say("records.guarantee.local", tables=_list_tables(plan))
    return say("records.guarantee.same_rows", tables=_list_tables(plan), rows=_count_rows(plan))


def _explain_unprotected(plan: Plan) -> Iterator[str]:
    """Say what record-level tables show of themselves."""
    tables = _list_tables(plan)
    limited = plan.release.privacy.unit_column is not None
    yield say_count(
        len(plan.records),
        "records.exact.number_up_to_limit" if limited else "records.exact.number",
        tables=tables,
    )
    if _has_many_rows(plan):
        yield say(
            "records.exact.rows_of_person",
            tables=tables,
        )


def _word_bounding(plan: Plan) -> Iterator[str]:
    """Say which rows of one person a record-level table has; nothing for rows."""
    if plan.release.privacy.unit_column is not None:
        row_limit = _count_rows(plan)
        yield say(
            "records.bounding.by_lot",
            rows=say("records.bounding.one_row")
            if row_limit == 1
            else say("records.bounding.rows", rows=row_limit),
        )


def _word_processing(plan: Plan) -> Iterator[str]:
    """Say what happens to a record before and after its answers are drawn."""
    if not plan.reads and any(column.quantity is not None for column in _list_columns(plan)):
        yield say("records.processing.clamped")
    yield say("records.processing.drawn")
    yield say("records.processing.none_left_out")
    yield say("records.processing.estimates")


def _word_hazards(plan: Plan) -> Iterator[Row]:
    """Give hazard, status and note of what record-level tables have, and its key."""
    tables = _list_tables(plan)
    yield (
        say("records.trust.title"),
        "not checked",
        say(
            "records.trust.note",
            tables=tables,
        ),
        "trust_in_the_local_model",
    )
    yield (
        say("records.shuffle.title"),
        "checked",
        say("records.shuffle.note"),
    )
    rows_text = _has_many_rows(plan)
    equal = say("records.exact.because_equal")
    if rows_text:
        equal = say("records.exact.because_same_rows")
    yield (
        say("words.number_of_records"),
        "attention" if rows_text else "checked",
        say("records.exact.note", tables=tables, reason=equal),
    )
    if plan.release.privacy.unit_column is not None:
        yield (
            say("records.bounding.title"),
            "attention",
            say(
                "records.bounding.note",
                rows=_count_rows(plan),
                tables=tables,
            ),
        )
    yield from _explain_missing_labels(plan)


def _explain_missing_labels(plan: Plan) -> Iterator[Row]:
    columns = _list_columns(plan)
    sentences = [
        column.name
        for column in columns
        if (group := column.group) is not None
        and len(group.labels) > 1
        and (group.null_label is None or (group.other is None and str(group.type) != "boolean"))
    ]
    if sentences:
        yield (
            say("records.missing.title"),
            "attention",
            say("records.missing.note", columns=_join_names(sentences)),
        )
    filled = [column.name for column in columns if column.null_chosen]
    if filled:
        yield (
            say("records.nulls.title"),
            "attention",
            say("records.nulls.note", columns=_join_names(filled)),
        )


def _join_names(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _list_tables(plan: Plan) -> str:
    names = [step.perturb.name for step in plan.records]
    return (
        say("records.tables.single", names=", ".join(names))
        if len(names) == 1
        else say("records.tables.several", names=", ".join(names))
    )


def _list_columns(plan: Plan) -> list[PerturbedColumn]:
    return [response.column for step in plan.records for response in step.responses]


def _count_rows(plan: Plan) -> int:
    """So many rows of one unit are kept at most."""
    return max(step.rows for step in plan.records)


def _has_many_rows(plan: Plan) -> bool:
    return plan.release.privacy.unit_column is not None and _count_rows(plan) > 1
