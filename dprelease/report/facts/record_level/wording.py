"""Record-level tables in words: each column, each table, and what they add to other parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.language import counted, say, template
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
        yield (
            say(
                "At most {rows:,} rows of one person are in the table. A row's loss is "
                "{cells}, and a person's at most {rows:,} times that: {total}.",
                rows=step.rows,
                cells=cells,
                total=total,
            )
        )
    if step.perturb.truth is not None:
        yield (
            say(
                "The spec asks for the true answer with a chance of {truth} in every column; "
                "the losses follow from that.",
                truth=text(step.perturb.truth),
            )
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
        "{said}; there it is the guarantee between tables in which that person has "
        "as many rows, of the {plan:,} that are kept at most.",
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
        yield (
            say(
                "How many rows each person has in {tables}, up to that limit: whoever knows "
                "the numbers of all others can tell it from the number of rows.",
                tables=tables,
            )
        )


def _bounding(plan: Plan) -> Iterator[str]:
    """Say which rows of one person a record-level table has; nothing for rows."""
    if plan.release.privacy.unit_column is not None:
        most = _rows(plan)
        yield (
            say(
                "A record-level table has at most {most} of one person. Which ones is drawn "
                "by lot, pseudo-randomly: it depends on the person's own rows and a secret "
                "number that is new in every run, and on nobody else; each row is picked "
                "with the same chance. Estimates are those of the rows that are kept.",
                most=say("1 row") if most == 1 else say("{most:,} rows", most=most),
            )
        )


def _processing(plan: Plan) -> Iterator[str]:
    """Say what happens to a record before and after its answers are drawn."""
    if not plan.reads and any(column.quantity is not None for column in _columns(plan)):
        yield (
            say(
                "Values outside a column's bounds count as the nearest bound, and values are "
                "rounded to the column's step, before they are perturbed."
            )
        )
    yield (
        say(
            "Each cell of a record-level table is drawn from the true value of that cell "
            "alone, with fresh randomness. Rows are put in a random order, every order "
            "as likely."
        )
    )
    yield (
        say(
            "No record is left out of a record-level table for what it lacks: a cell "
            "that a query would drop is answered all the same, as is said of its column."
        )
    )
    yield (
        say(
            "Estimates from a record-level table are post-processing: from counts and "
            "sums of its answers, without looking at the data again."
        )
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
            "only tables in which each person has as many rows are neighbours here; it "
            "can tell how many rows a person has, which is not protected"
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
                "of one person at most {plan:,} rows are in {tables}: the others are missing "
                "from it; the bound comes from the spec, and must not be taken from the data",
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
                "answered with labels drawn evenly, and counted so in estimates: many of "
                "them make shares look more even than they are; `other` and `nulls` of a "
                "column tell them apart: "
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


def column_words(column: RecordColumn) -> list[str]:
    """Explain one column: the answer, what delta means of it, and what stands for no value."""
    grid, law = column.grid, column.law
    if column.labels is not None and column.truth is not None:
        return [*_labels(column, column.labels, column.truth), *_unlabelled(column.labels)]
    if grid is None:
        raise ValueError("a column has labels or a grid")
    chosen = say(", the middle of the bounds, as the spec says nothing of them")
    value = _rough((grid.null_fill or 0) * Fraction(grid.step))
    nulls = say(
        "Nulls count as {value}{chosen}.", value=value, chosen=chosen if column.null_chosen else ""
    )
    if isinstance(law, LaplaceResponse):
        return [*_laplace(column, grid, law), nulls]
    if isinstance(law, WindowsResponse):
        return [*_windows(column, grid, law), nulls]
    raise ValueError("an answer of labels to a number")


def answer_of(column: RecordColumn) -> str:
    """Say what kind of thing an answer is."""
    if column.labels is None or not isinstance(column.law, SubsetResponse):
        return say("a number") if isinstance(column.law, LaplaceResponse) else say("a level")
    size, labels = column.law.size, len(column.labels.labels)
    return counted(size, "one of {labels:,} labels", "{n} of {labels:,} labels", labels=labels)


def error_of(column: RecordColumn, value: float) -> str:
    """Say an error of an answer: a chance, or a distance."""
    said = amount(column, value)
    return (
        say("wrong in {said}", said=said)
        if column.error.of == "chance"
        else say("{said} off", said=said)
    )


def expected_and_floor(column: RecordColumn) -> tuple[str, str]:
    """Say the expected error of an answer, and the least that one can have."""
    return error_of(column, column.error.expected), error_of(column, column.error.floor)


def amount(column: RecordColumn, value: float) -> str:
    """Write an error of a column without words, in few digits."""
    return percent(value) if column.error.of == "chance" else written(float(f"{value:.5g}"))


def halfwidth_head(table: RecordTable) -> tuple[str, ...]:
    """Name the columns of ``halfwidth_rows``."""
    sizes = [half.records for half in table.columns[0].error.halfwidths]
    return (say("column"), say("estimate"), *(f"n = {size:,}" for size in sizes))


def halfwidth_rows(table: RecordTable) -> Iterator[tuple[str, ...]]:
    """Say for each column how far estimates are off, by the number of records."""
    for column in table.columns:
        is_share = column.error.of == "chance"
        write = percent if is_share else written
        halves = [shortened(half.halfwidth, 3) for half in column.error.halfwidths]
        estimate = say("share of a label") if is_share else say("mean")
        yield column.name, estimate, *(f"± {write(half)}" for half in halves)


def _labels(column: RecordColumn, domain: Labels, truth: Truth) -> Iterator[str]:
    labels = domain.labels
    own, other = percent(truth.own), percent(truth.given_other)
    size, delta = truth.labels_in_answer, Fraction(column.delta_exact)
    if len(labels) == 1:
        yield say("There is one label, so that every answer is that one and tells nothing.")
        return
    if size == 1:
        yield (
            say(
                "Randomised response among {labels:,} labels (Warner 1965; Kairouz, Oh and "
                "Viswanath 2016): an answer is the true label with a chance of {own}, and "
                "each other one with a chance of {other}.",
                labels=len(labels),
                own=own,
                other=other,
            )
        )
        if delta:
            yield (
                say(
                    "What delta means here: with a chance of at most {delta} the answer is the "
                    "true label outright, and else what it would be with a delta of 0.",
                    delta=_upto(delta),
                )
            )
        return
    between = domain.separator
    form = (
        say('in the order of the spec with "{between}" between them', between=between)
        if between is not None
        else say("written as their numbers, counted from 1 in the order of the spec")
    )
    yield (
        say(
            "Subset selection (Ye and Barg 2018): an answer is a set of {size} of the "
            "{labels:,} labels, {form}. The true label is among them with a chance of "
            "{own}, any given other one with a chance of {other}. The record has at most "
            "one of them: the set is no list of what is true of it.",
            size=size,
            labels=len(labels),
            form=form,
            own=own,
            other=other,
        )
    )
    if delta:
        within = min(Fraction(1), delta * (len(labels) - 1) / (len(labels) - size))
        yield (
            say(
                "What delta means here: with a chance of at most {within} the true label is "
                "in the set for certain, and else with the chance that it would have with a "
                "delta of 0.",
                within=_upto(within),
            )
        )


def _laplace(column: RecordColumn, grid: NumberGrid, law: LaplaceResponse) -> Iterator[str]:
    step, scale = Fraction(grid.step), Fraction(law.scale)
    yield (
        say(
            "Discrete Laplace noise of scale {scale} on the record's number, which is "
            "rounded to a multiple of {step} and held within {grid} first. The answer "
            "isn't held there: it may lie far outside.",
            scale=_rough(scale * step),
            step=_rough(step),
            grid=_bounds(grid),
        )
    )
    classical = column.error.classical_scale
    if classical is not None:
        yield (
            say(
                "The classical bound, the distance of the bounds over epsilon - ln(1 - "
                "delta), would take a scale of {classical}.",
                classical=written(shortened(classical, 6)),
            )
        )
    yield from _no_outright(column, (grid.upper - grid.lower) / scale)


def _windows(column: RecordColumn, grid: NumberGrid, law: WindowsResponse) -> Iterator[str]:
    windows = law.windows
    levels, *others = map(_window, windows)
    if others:
        share = percent(float(Fraction(law.share)))
        levels = say(
            "with a chance of {share} {levels}; else {others}",
            share=share,
            levels=levels,
            others=others[0],
        )
    ratio = max(Fraction(window.ratio) for window in windows)
    # an upper bound of the natural logarithm
    pure = math.log(ratio.numerator) - math.log(ratio.denominator) + 1e-9
    yield (
        say(
            "Piecewise response (Duchi, Jordan and Wainwright 2018; Wang et al. 2019): "
            "an answer is "
        )
        + levels
        + say(
            ". The record's number is held within {grid} and picks which levels are the "
            "likelier ones, so that the answer is right on average. Answers lie between "
            "{windows}.",
            grid=_bounds(grid),
            windows=_ends(windows, grid),
        )
    )
    yield from _no_outright(column, pure)


def _window(window: ResponseWindow) -> str:
    ratio = _rough(Fraction(window.ratio))
    return counted(
        window.width,
        "one of {levels} levels, of which one is {ratio} times as likely as the others",
        "one of {levels} levels, of which {n} neighbours are {ratio} times as likely as the others",
        levels=window.levels,
        ratio=ratio,
    )


def _ends(windows: Sequence[ResponseWindow], grid: NumberGrid) -> str:
    """What the outermost levels stand for."""
    step = Fraction(grid.step)
    middle = Fraction(grid.lower + grid.upper, 2)
    reach = max(
        (window.levels - 1) * Fraction(window.gap) * (grid.upper - grid.lower) / 4
        for window in windows
    )
    return say(
        "{middle} and {middle_2}",
        middle=_rough((middle - reach) * step),
        middle_2=_rough((middle + reach) * step),
    )


def _no_outright(column: RecordColumn, pure: Fraction | float) -> Iterator[str]:
    """What delta means of noise that never shows a number: ``pure`` is the epsilon without it."""
    delta, epsilon = Fraction(column.delta_exact), Fraction(column.epsilon_exact)
    if not delta or pure <= epsilon:
        return
    yield (
        say(
            "What delta means here: no answer shows the number outright. But some "
            "answers are likelier from one number than from another by more than the "
            "factor e^{epsilon} that epsilon allows, up to e^{pure}: what their chance "
            "has beyond that factor comes to at most {delta}.",
            epsilon=_upto(epsilon),
            pure=_upto(Fraction(pure)),
            delta=_upto(delta),
        )
    )


def _unlabelled(labels: Labels) -> Iterator[str]:
    """Say what stands for a record without a label."""
    without = []
    if labels.other is None and labels.type != "boolean":
        without.append(say("values outside the bins") if labels.bins else say("undeclared values"))
    if labels.null_label is None:
        without += [say("nulls"), say("unreadable values")]
    if without and len(labels.labels) > 1:
        said = listing(without)
        yield (
            say(
                "{upper}{said} are answered as if they had one of the labels, each with the "
                "same chance; estimates count them so, spread evenly over all labels.",
                upper=said[0].upper(),
                said=said[1:],
            )
        )


def _bounds(grid: NumberGrid) -> str:
    step = Fraction(grid.step)
    return say(
        "{lower} to {upper}", lower=_rough(grid.lower * step), upper=_rough(grid.upper * step)
    )


def _rough(value: Fraction) -> str:
    """Write a number in at most six digits."""
    return written(float(f"{float(value):.6g}"))


def _upto(value: Fraction) -> str:
    return written(shortened(upward(value), 4))
