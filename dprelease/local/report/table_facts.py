"""Record-level tables as facts: their laws exactly, what an answer errs, and what they tell.

Numbers that laws are made of stand exactly, as texts "p/q"; beside them stand numbers for
people and programs, losses rounded up.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fractions import Fraction

from msgspec.structs import replace

from dprelease.local.estimation.answer_intervals import compute_quantile
from dprelease.local.estimation.estimates import (
    compute_chances,
    estimate_all,
    estimate_facts,
    round_figure,
)
from dprelease.local.randomizers.expected_error import compute_expected
from dprelease.local.report.record_wording import explain_column, word_table
from dprelease.local.store.answer_cells import LabelCells, choose_cells
from dprelease.model import Plan, RecordStep, Response
from dprelease.model.plan_json import describe_law, exact
from dprelease.model.record_tables import LaplaceLaw, StoredTable, SubsetLaw, WindowLaw
from dprelease.reports.model.json_form import from_json
from dprelease.reports.model.record_model import (
    AnswerError,
    Asked,
    Estimates,
    Labels,
    LaplaceResponse,
    NumberGrid,
    RecordColumn,
    RecordsHalfwidth,
    RecordTable,
    ResponseLaw,
    SubsetResponse,
    Truth,
    WindowsResponse,
)
from dprelease.reports.text.shown_numbers import to_json_number

SIZES = (100, 1_000, 10_000, 100_000)
"""Numbers of records at which the half-width of an estimate's interval is stated."""
LAWS: dict[type, type[ResponseLaw]] = {
    SubsetLaw: SubsetResponse,
    LaplaceLaw: LaplaceResponse,
    WindowLaw: WindowsResponse,
}


def describe_tables(
    plan: Plan, records: Mapping[str, StoredTable] | None = None
) -> tuple[RecordTable, ...]:
    """State the record-level tables; with what was drawn of them, their estimates too."""
    interval = plan.release.output.interval
    tables = []
    for step in plan.records:
        explained = tuple(word_table(plan, step))
        if records is None:
            tables.append(describe_planned_table(step, interval, explained))
        else:
            stored = records[step.perturb.name]
            published = replace(stored, path=f"{step.perturb.name}.{stored.format}")
            tables.append(describe_drawn_table(step, published, interval, explained))
    return tuple(tables)


def describe_drawn_table(
    step: RecordStep, stored: StoredTable, interval: Fraction, explained: tuple[str, ...] = ()
) -> RecordTable:
    """State a table that was drawn: its laws, its file, and what it tells."""
    return replace(
        describe_planned_table(step, interval, explained),
        file=os.path.basename(stored.path),
        format=stored.format,
        sha256=stored.sha256,
        bytes=stored.size,
        rows=stored.tally.rows,
        estimates=from_json(Estimates, estimate_facts(estimate_all(step, stored.tally, interval))),
    )


def describe_planned_table(
    step: RecordStep, interval: Fraction, explained: tuple[str, ...] = ()
) -> RecordTable:
    """State what is known of a table before any data is opened."""
    perturb = step.perturb
    return RecordTable(
        name=perturb.name,
        model="local",
        rows_per_unit=step.rows,
        epsilon=to_json_number(step.loss.epsilon),
        epsilon_exact=exact(step.loss.epsilon),
        delta=to_json_number(step.loss.delta),
        delta_exact=exact(step.loss.delta),
        asked_=Asked(
            epsilon=None if perturb.epsilon is None else exact(perturb.epsilon),
            delta=exact(perturb.delta),
            truth=None if perturb.truth is None else exact(perturb.truth),
        ),
        columns=tuple(_describe_column(response, interval) for response in step.responses),
        explained=explained,
    )


def _describe_column(response: Response, interval: Fraction) -> RecordColumn:
    """Describe how a column is perturbed and written, and how far its cells err."""
    column, loss, law, truth = response.column, response.loss, response.law, None
    if isinstance(law, SubsetLaw):
        own_chance, other_chance = compute_chances(law)
        truth = Truth(
            own=float(own_chance), given_other=float(other_chance), labels_in_answer=law.size
        )
    quantity = column.quantity
    facts = RecordColumn(
        name=column.name,
        mechanism=str(response.mechanism),
        epsilon=to_json_number(loss.epsilon),
        epsilon_exact=exact(loss.epsilon),
        delta=to_json_number(loss.delta),
        delta_exact=exact(loss.delta),
        weight=exact(column.weight),
        null_chosen=column.null_chosen,
        labels=_describe_labels(response),
        grid=None
        if quantity is None
        else NumberGrid(
            step=exact(quantity.grid.step),
            lower=quantity.grid.lower,
            upper=quantity.grid.upper,
            null_fill=quantity.null_fill,
        ),
        law=from_json(LAWS[type(law)], describe_law(law)),
        truth=truth,
        error=answer_error(response, interval),
        explained=(),
    )
    return replace(facts, explained=tuple(explain_column(facts)))


def _describe_labels(response: Response) -> Labels | None:
    group, cells = response.column.group, choose_cells(response)
    if group is None or not isinstance(cells, LabelCells):
        return None
    return Labels(
        type=str(group.type),
        labels=tuple(group.labels),
        keys=None if group.keys is None else len(group.keys),
        bins=group.edges,
        other=group.other,
        null_label=group.null_label,
        separator=cells.separator,
    )


def answer_error(response: Response, interval: Fraction) -> AnswerError:
    """State what the answers of a column err, and what estimates from them do.

    ``compute_expected`` and ``floor`` are of one answer, the worst over all true values: with
    "chance" the chance of a wrong label, with "distance" the mean distance from the truth, in units
    of the column. ``floor`` is below what any mechanism of the same epsilon and delta has of it.
    ``deviation`` is that of an estimate from one record, of a label's share or of the mean, the
    worst over all records; from n records it is that over the square root of n. ``halfwidths`` are
    those of its interval, about.
    """
    error = compute_expected(response)
    deviation = math.sqrt(error.variance)
    z = compute_quantile(interval)
    return AnswerError(
        of="chance" if response.column.group is not None else "distance",
        expected=round_figure(error.error),
        floor=round_figure(error.floor),
        deviation=round_figure(deviation),
        typical_deviation=round_figure(math.sqrt(error.typical)),
        halfwidths=tuple(
            RecordsHalfwidth(records=size, halfwidth=round_figure(z * deviation / math.sqrt(size)))
            for size in SIZES
        ),
        scale=None if error.scale is None else round_figure(error.scale),
        classical_scale=None if error.classical is None else round_figure(error.classical),
    )


def list_answer_errors(plan: Plan) -> dict[str, dict[str, int | float]]:
    """List the expected error of an answer, by table and column."""
    interval = plan.release.output.interval
    return {
        step.perturb.name: {
            response.column.name: answer_error(response, interval).expected
            for response in step.responses
        }
        for step in plan.records
    }
