"""Record-level tables in words: each column, each table, and what they add to other parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.language import say
from dprelease.model import Mechanism, PerturbedColumn, Plan, RecordStep
from dprelease.postprocess.number_text import listing
from dprelease.report.facts.record_level.model import (
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
from dprelease.report.numbers import loss_text, percent, shortened, text, upward, written

Row = tuple[str, ...]

MECHANISM_WORDS = {
    Mechanism.RANDOMIZED_RESPONSE: "randomised response: a label for the label of each record",
    Mechanism.SUBSET_SELECTION: "subset selection: a set of labels for the label of each record",
    Mechanism.LAPLACE: "discrete Laplace noise on the number of each record",
    Mechanism.PIECEWISE: "piecewise response: a random level for the number of each record",
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
        tuple(sorted(MECHANISM_WORDS[mechanism] for mechanism in used)),
        tuple(_unprotected(plan)),
        tuple(_bounding(plan)),
        tuple(_processing(plan)),
        tuple(_hazards(plan)),
    )


def table_words(plan: Plan, step: RecordStep) -> Iterator[str]:
    """How what one unit's cells lose adds up."""
    cells = "that of its one answer"
    if len(step.responses) > 1:
        cells = f"the sum of the losses of its {len(step.responses)} answers"
    total = f"epsilon {loss_text(step.loss.epsilon)}"
    if step.loss.delta:
        total += f" and delta {loss_text(step.loss.delta)}"
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
    columns = [response.column for response in step.responses]
    if step.perturb.truth is None and len({column.weight for column in columns}) > 1:
        shares = ", ".join(f"{column.name} {loss_text(column.weight)}" for column in columns)
        yield f"The columns share epsilon and delta by the weights of the spec: {shares}."


def _guarantee(plan: Plan) -> str:
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


def _unprotected(plan: Plan) -> Iterator[str]:
    """Say what record-level tables show of themselves."""
    tables, has = _tables(plan), "has" if len(plan.records) == 1 else "have"
    cut = "" if plan.release.privacy.unit_column is None else " but by the limit of rows per person"
    yield f"How many records {tables} {has}: one row each, and none is added or left out{cut}."
    if _many_rows(plan):
        yield (
            f"How many rows each person has in {tables}, up to that limit: whoever knows the "
            "numbers of all others can tell it from the number of rows."
        )


def _bounding(plan: Plan) -> Iterator[str]:
    """Say which rows of one person a record-level table has; nothing for rows."""
    if plan.release.privacy.unit_column is not None:
        most = _rows(plan)
        yield (
            f"A record-level table has at most {'1 row' if most == 1 else f'{most:,} rows'} of one "
            "person. Which ones is drawn by lot, pseudo-randomly: it depends on the person's own "
            "rows and a secret number that is new in every run, and on nobody else; each row is "
            "picked with the same chance. Estimates are those of the rows that are kept."
        )


def _processing(plan: Plan) -> Iterator[str]:
    """Say what happens to a record before and after its answers are drawn."""
    if not plan.reads and any(column.quantity is not None for column in _columns(plan)):
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
    equal = "it is equal in all neighbouring tables"
    if many:
        equal = (
            "only tables in which each person has as many rows are neighbours here; it can tell "
            "how many rows a person has, which is not protected"
        )
    yield (
        "number of records",
        "attention" if many else "checked",
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


def _columns(plan: Plan) -> list[PerturbedColumn]:
    return [response.column for step in plan.records for response in step.responses]


def _rows(plan: Plan) -> int:
    """So many rows of one unit are kept at most."""
    return max(step.rows for step in plan.records)


def _many_rows(plan: Plan) -> bool:
    return plan.release.privacy.unit_column is not None and _rows(plan) > 1


def column_words(column: RecordColumn) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    grid, law = column.grid, column.law
    if column.labels is not None and column.truth is not None:
        return [*_labels(column, column.labels, column.truth), *_unlabelled(column.labels)]
    if grid is None:
        raise ValueError("a column has labels or a grid")
    chosen = ", the middle of the bounds, as the spec says nothing of them"
    value = _rough((grid.null_fill or 0) * Fraction(grid.step))
    nulls = f"Nulls count as {value}{chosen if column.null_chosen else ''}."
    if isinstance(law, LaplaceResponse):
        return [*_laplace(column, grid, law), nulls]
    if isinstance(law, WindowsResponse):
        return [*_windows(column, grid, law), nulls]
    raise ValueError("an answer of labels to a number")


def answer_of(column: RecordColumn) -> str:
    """Say what kind of thing an answer is."""
    if column.labels is None or not isinstance(column.law, SubsetResponse):
        return "a number" if isinstance(column.law, LaplaceResponse) else "a level"
    size, labels = column.law.size, len(column.labels.labels)
    return f"{'one' if size == 1 else size} of {labels:,} labels"


def error_of(column: RecordColumn, value: float) -> str:
    """Say an error of an answer: a chance, or a distance."""
    said = amount(column, value)
    return f"wrong in {said}" if column.error.of == "chance" else f"{said} off"


def expected_and_floor(column: RecordColumn) -> tuple[str, str]:
    """Say the expected error of an answer, and the least that one can have."""
    return error_of(column, column.error.expected), error_of(column, column.error.floor)


def amount(column: RecordColumn, value: float) -> str:
    """Write an error of a column without words, in few digits."""
    return percent(value) if column.error.of == "chance" else written(float(f"{value:.5g}"))


def halfwidth_head(table: RecordTable) -> tuple[str, ...]:
    """Name the columns of ``halfwidth_rows``."""
    sizes = [half.records for half in table.columns[0].error.halfwidths]
    return ("column", "estimate", *(f"n = {size:,}" for size in sizes))


def halfwidth_rows(table: RecordTable) -> Iterator[tuple[str, ...]]:
    """Say for each column how far estimates are off, by the number of records."""
    for column in table.columns:
        is_share = column.error.of == "chance"
        write = percent if is_share else written
        halves = [shortened(half.halfwidth, 3) for half in column.error.halfwidths]
        estimate = "share of a label" if is_share else "mean"
        yield column.name, estimate, *(f"± {write(half)}" for half in halves)


def _labels(column: RecordColumn, domain: Labels, truth: Truth) -> Iterator[str]:
    labels = domain.labels
    own, other = percent(truth.own), percent(truth.given_other)
    size, delta = truth.labels_in_answer, Fraction(column.delta_exact)
    if len(labels) == 1:
        yield "There is one label, so that every answer is that one and tells nothing."
        return
    if size == 1:
        yield (
            f"Randomised response among {len(labels):,} labels (Warner 1965; Kairouz, Oh and "
            f"Viswanath 2016): an answer is the true label with a chance of {own}, and each other "
            f"one with a chance of {other}."
        )
        if delta:
            yield (
                f"What delta means here: with a chance of at most {_upto(delta)} the answer is "
                "the true label outright, and else what it would be with a delta of 0."
            )
        return
    between = domain.separator
    form = (
        f'in the order of the spec with "{between}" between them'
        if between is not None
        else "written as their numbers, counted from 1 in the order of the spec"
    )
    yield (
        f"Subset selection (Ye and Barg 2018): an answer is a set of {size} of the "
        f"{len(labels):,} labels, {form}. The true label is among them with a chance of {own}, any "
        f"given other one with a chance of {other}. The record has at most one of them: the set is "
        "no list of what is true of it."
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield (
            f"What delta means here: with a chance of at most {_upto(within)} the true label is in "
            "the set for certain, and else with the chance that it would have with a delta of 0."
        )


def _laplace(column: RecordColumn, grid: NumberGrid, law: LaplaceResponse) -> Iterator[str]:
    step, scale = Fraction(grid.step), Fraction(law.scale)
    yield (
        f"Discrete Laplace noise of scale {_rough(scale * step)} on the record's number, which is "
        f"rounded to a multiple of {_rough(step)} and held within {_bounds(grid)} first. The "
        "answer isn't held there: it may lie far outside."
    )
    classical = column.error.classical_scale
    if classical is not None:
        yield (
            "The classical bound, the distance of the bounds over epsilon - ln(1 - delta), would "
            f"take a scale of {written(shortened(classical, 6))}."
        )
    yield from _no_outright(column, (grid.upper - grid.lower) / scale)


def _windows(column: RecordColumn, grid: NumberGrid, law: WindowsResponse) -> Iterator[str]:
    windows = law.windows
    levels, *others = map(_window, windows)
    if others:
        share = percent(float(Fraction(law.share)))
        levels = f"with a chance of {share} {levels}; else {others[0]}"
    ratio = max(Fraction(window.ratio) for window in windows)
    # an upper bound of the natural logarithm
    pure = math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9
    yield (
        "Piecewise response (Duchi, Jordan and Wainwright 2018; Wang et al. 2019): an answer is "
        + levels
        + f". The record's number is held within {_bounds(grid)} and picks which levels are the "
        "likelier ones, so that the answer is right on average. Answers lie between "
        f"{_ends(windows, grid)}."
    )
    yield from _no_outright(column, pure)


def _window(window: ResponseWindow) -> str:
    ratio = _rough(Fraction(window.ratio))
    some = "one" if window.width == 1 else f"{window.width} neighbours"
    return (
        f"one of {window.levels} levels, of which {some} {'is' if some == 'one' else 'are'} "
        f"{ratio} times as likely as the others"
    )


def _ends(windows: Sequence[ResponseWindow], grid: NumberGrid) -> str:
    """What the outermost levels stand for."""
    step = Fraction(grid.step)
    middle = Fraction(grid.lower + grid.upper, 2)
    reach = max(
        (window.levels - 1) * Fraction(window.gap) * (grid.upper - grid.lower) / 4
        for window in windows
    )
    return f"{_rough((middle - reach) * step)} and {_rough((middle + reach) * step)}"


def _no_outright(column: RecordColumn, pure: Fraction | float) -> Iterator[str]:
    """What delta means of noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column.delta_exact), Fraction(column.epsilon_exact)
    if not delta or pure <= epsilon:
        return
    yield (
        "What delta means here: no answer shows the number outright. But some answers are likelier "
        f"from one number than from another by more than the factor e^{_upto(epsilon)} that "
        f"epsilon allows, up to e^{_upto(Fraction(pure))}: what their chance has beyond that "
        f"factor comes to at most {_upto(delta)}."
    )


def _unlabelled(labels: Labels) -> Iterator[str]:
    """Say what stands for a record without a label."""
    without = []
    if labels.other is None and labels.type != "boolean":
        without.append("values outside the bins" if labels.bins else "undeclared values")
    if labels.null_label is None:
        without += ["nulls", "unreadable values"]
    if without and len(labels.labels) > 1:
        said = listing(without)
        yield (
            f"{said[0].upper()}{said[1:]} are answered as if they had one of the labels, each with "
            "the same chance; estimates count them so, spread evenly over all labels."
        )


def _bounds(grid: NumberGrid) -> str:
    step = Fraction(grid.step)
    return f"{_rough(grid.lower * step)} to {_rough(grid.upper * step)}"


def _rough(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return written(float(f"{float(value):.6g}"))


def _upto(value: Fraction) -> str:
    return written(shortened(upward(value), 4))
