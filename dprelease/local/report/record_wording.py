"""Record-level tables in words: each table and column, and what they add to other parts.

Columns are worded by their facts: answers, errors, and what delta means of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.language import say, say_count, word
from dprelease.model import Mechanism, PerturbedColumn, Plan, RecordStep
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.model.record_model import (
    Labels,
    LaplaceResponse,
    NumberGrid,
    RecordColumn,
    RecordTable,
    ResponseWindow,
    SubsetResponse,
    Truth,
    WindowsResponse,
)
from dprelease.reports.text.shown_numbers import (
    format_number,
    shorten,
    to_json_number,
    write_exact,
    write_loss,
    write_percent,
)

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
        yield say("records.loss.row", parts=cells, loss=total)
    elif step.rows == 1:
        yield say("records.loss.person_of_one_row", parts=cells, loss=total)
    else:
        yield say("records.loss.person_of_rows", rows=step.rows, parts=cells, loss=total)
    if step.perturb.truth is not None:
        yield say("records.budget.true_answers", chance=write_exact(step.perturb.truth))
    columns = [response.column for response in step.responses]
    if step.perturb.truth is None and len({column.weight for column in columns}) > 1:
        shares = ", ".join(f"{column.name} {write_loss(column.weight)}" for column in columns)
        yield say("records.budget.weights", shares=shares)


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
        yield say("records.exact.rows_of_person", tables=tables)


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
        say("records.trust.note", tables=tables),
        "trust_in_the_local_model",
    )
    yield (say("records.shuffle.title"), "checked", say("records.shuffle.note"))
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
            say("records.bounding.note", rows=_count_rows(plan), tables=tables),
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


def explain_column(column: RecordColumn) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    grid, law = column.grid, column.law
    if column.labels is not None and column.truth is not None:
        return [
            *_explain_labels(column, column.labels, column.truth),
            *_explain_missing_label(column.labels),
        ]
    if grid is None:
        raise ValueError("a column has labels or a grid")
    value = _format_roughly((grid.null_fill or 0) * Fraction(grid.step))
    nulls = say(
        "records.nulls.count_as_middle" if column.null_chosen else "records.nulls.count_as",
        value=value,
    )
    if isinstance(law, LaplaceResponse):
        return [*_explain_laplace(column, grid, law), nulls]
    if isinstance(law, WindowsResponse):
        return [*_explain_windows(column, grid, law), nulls]
    raise ValueError("an answer of labels to a number")


def describe_answer(column: RecordColumn) -> str:
    """Describe the kind of an answer.

    Args:
        column: A column of a record-level table.

    Returns:
        A phrase in the language used now.
    """
    if column.labels is None or not isinstance(column.law, SubsetResponse):
        return (
            say("records.answer.number")
            if isinstance(column.law, LaplaceResponse)
            else say("records.answer.level")
        )
    size, labels = column.law.size, len(column.labels.labels)
    return say_count(size, "records.answer.labels", labels=labels)


def format_error(column: RecordColumn, value: float) -> str:
    """Word an error of an answer.

    Args:
        column: The column.
        value: A chance, or a distance in the unit of the column.

    Returns:
        A phrase in the language used now.
    """
    text = format_amount(column, value)
    return (
        say("records.error.wrong", share=text)
        if column.error.of == "chance"
        else say("records.error.off", distance=text)
    )


def format_expected_errors(column: RecordColumn) -> tuple[str, str]:
    """Say the expected error of an answer, and the least that one can have."""
    return format_error(column, column.error.expected), format_error(column, column.error.floor)


def format_amount(column: RecordColumn, value: float) -> str:
    """Write an error of a column without words.

    Args:
        column: The column.
        value: A chance, or a distance in the unit of the column.

    Returns:
        The number in few digits; a chance in percent.
    """
    return (
        write_percent(value)
        if column.error.of == "chance"
        else format_number(float(f"{value:.5g}"))
    )


def list_halfwidth_heads(table: RecordTable) -> tuple[str, ...]:
    """Name the columns of ``list_halfwidth_rows``.

    Args:
        table: A record-level table.

    Returns:
        Column, estimate, and one number of records for each half-width.
    """
    sizes = [half.records for half in table.columns[0].error.halfwidths]
    return (
        say("words.column"),
        say("records.columns.estimate"),
        *(f"n = {size:,}" for size in sizes),
    )


def list_halfwidth_rows(table: RecordTable) -> Iterator[tuple[str, ...]]:
    """List the half-widths of estimates by the number of records.

    Args:
        table: A record-level table.

    Yields:
        A row of texts for each column.
    """
    for column in table.columns:
        is_share = column.error.of == "chance"
        write = write_percent if is_share else format_number
        halves = [shorten(half.halfwidth, 3) for half in column.error.halfwidths]
        estimate = say("records.columns.share_of_label") if is_share else say("words.mean")
        yield column.name, estimate, *(f"± {write(half)}" for half in halves)


def _explain_labels(column: RecordColumn, domain: Labels, truth: Truth) -> Iterator[str]:
    labels = domain.labels
    own_chance, other_chance = write_percent(truth.own), write_percent(truth.given_other)
    size, delta = truth.labels_in_answer, Fraction(column.delta_exact)
    if len(labels) == 1:
        yield say("records.law.one_label")
        return
    if size == 1:
        yield say(
            "records.law.randomised_response",
            labels=len(labels),
            own=own_chance,
            other=other_chance,
        )
        if delta:
            yield say("records.law.delta_of_response", delta=_format_bound(delta))
        return
    between = domain.separator
    form = (
        say("records.law.set.separated", separator=between)
        if between is not None
        else say("records.law.set.numbers")
    )
    yield say(
        "records.law.subset_selection",
        size=size,
        labels=len(labels),
        form=form,
        own=own_chance,
        other=other_chance,
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield say("records.law.delta_of_subset", delta=_format_bound(within))


def _explain_laplace(column: RecordColumn, grid: NumberGrid, law: LaplaceResponse) -> Iterator[str]:
    step, scale = Fraction(grid.step), Fraction(law.scale)
    yield say(
        "records.law.laplace",
        scale=_format_roughly(scale * step),
        step=_format_roughly(step),
        grid=_format_bounds(grid),
    )
    classical = column.error.classical_scale
    if classical is not None:
        yield say("records.law.classical_scale", classical=format_number(shorten(classical, 6)))
    yield from _explain_delta(column, (grid.upper - grid.lower) / scale)


def _explain_windows(column: RecordColumn, grid: NumberGrid, law: WindowsResponse) -> Iterator[str]:
    windows = law.windows
    levels, *rest = map(_explain_window, windows)
    if rest:
        share = write_percent(float(Fraction(law.share)))
        levels = say("records.law.piecewise.levels", share=share, levels=levels, others=rest[0])
    ratio = max(Fraction(window.ratio) for window in windows)
    # an upper bound of the natural logarithm
    pure = math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9
    yield say(
        "records.law.piecewise.answer",
        levels=levels,
        grid=_format_bounds(grid),
        range=_describe_ends(windows, grid),
    )
    yield from _explain_delta(column, pure)


def _explain_window(window: ResponseWindow) -> str:
    ratio = _format_roughly(Fraction(window.ratio))
    return say_count(
        window.width, "records.law.piecewise.likelier", levels=window.levels, ratio=ratio
    )


def _describe_ends(windows: Sequence[ResponseWindow], grid: NumberGrid) -> str:
    """Describe what the outermost levels stand for."""
    step = Fraction(grid.step)
    middle = Fraction(grid.lower + grid.upper, 2)
    reach = max(
        (window.levels - 1) * Fraction(window.gap) * (grid.upper - grid.lower) / 4
        for window in windows
    )
    return say(
        "records.law.piecewise.two_ends",
        low=_format_roughly((middle - reach) * step),
        high=_format_roughly((middle + reach) * step),
    )


def _explain_delta(column: RecordColumn, pure: Fraction | float) -> Iterator[str]:
    """Explain delta for noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column.delta_exact), Fraction(column.epsilon_exact)
    if not delta or pure <= epsilon:
        return
    yield say(
        "records.law.delta_of_piecewise",
        epsilon=_format_bound(epsilon),
        pure=_format_bound(Fraction(pure)),
        delta=_format_bound(delta),
    )


def _explain_missing_label(labels: Labels) -> Iterator[str]:
    """Say what stands for a record without a label."""
    without = []
    if labels.other is None and labels.type != "boolean":
        without.append(
            say("records.missing.outside_bins")
            if labels.bins
            else say("records.missing.undeclared")
        )
    if labels.null_label is None:
        without += [say("words.nulls"), say("records.missing.unreadable")]
    if without and len(labels.labels) > 1:
        names = word(join_names(without))
        yield say("records.missing.drawn_evenly", upper=names[0].upper(), said=names[1:])


def _format_bounds(grid: NumberGrid) -> str:
    step = Fraction(grid.step)
    return say(
        "records.law.range",
        low=_format_roughly(grid.lower * step),
        high=_format_roughly(grid.upper * step),
    )


def _format_roughly(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return format_number(float(f"{float(value):.6g}"))


def _format_bound(value: Fraction) -> str:
    return format_number(shorten(to_json_number(value), 4))
