"""Record-level tables as facts: their laws exactly, what an answer errs, and what they tell.

Numbers that laws are made of stand exactly, as texts "p/q"; beside them stand numbers for
people and programs, losses rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from dprelease.local.cells import LabelCells, cells_of
from dprelease.local.errors import Expected, expected
from dprelease.local.estimates import chances, estimate_facts, estimates, rounded
from dprelease.local.intervals import quantile
from dprelease.model import Grid, Loss, PerturbedColumn, RecordStep, Response
from dprelease.model.local_tables import Law, StoredTable, SubsetLaw
from dprelease.model.plan_json import exact, law_json
from dprelease.report.numbers import upward

Facts = dict[str, object]


def perturb_facts(step: RecordStep, stored: StoredTable, interval: Fraction) -> Facts:
    """Describe a table that was drawn: its laws, its file, and what it tells."""
    return {
        **planned_perturb_facts(step, interval),
        "file": stored.path.rpartition("/")[2],
        "format": stored.format,
        "sha256": stored.sha256,
        "bytes": stored.size,
        "rows": stored.tally.rows,
        "estimates": estimate_facts(estimates(step, stored.tally, interval)),
    }


def planned_perturb_facts(step: RecordStep, interval: Fraction) -> Facts:
    """What is known of a table before any data is opened."""
    asked = step.perturb
    errors = error_facts(step, interval)
    return {
        "name": asked.name,
        "model": "local",
        "rows_per_unit": step.rows,
        **loss_facts(step.loss),
        "asked": {
            "epsilon": None if asked.epsilon is None else exact(asked.epsilon),
            "delta": exact(asked.delta),
            "truth": None if asked.truth is None else exact(asked.truth),
        },
        "columns": [column_facts(each, errors[each.column.name]) for each in step.responses],
    }


def column_facts(response: Response, error: Mapping[str, object]) -> Facts:
    """One column: how it is perturbed, exactly, how its cells are written, and what they err."""
    column = response.column
    return {
        "name": column.name,
        "mechanism": str(response.mechanism),
        **loss_facts(response.loss),
        "weight": exact(column.weight),
        "null_chosen": column.null_chosen,
        "labels": _labels(response),
        "grid": _grid(column),
        "law": law_json(response.law),
        "truth": _truth(response.law),
        "error": dict(error),
    }


def loss_facts(loss: Loss) -> Facts:
    """A loss: rounded up, and exactly."""
    return {
        "epsilon": upward(loss.epsilon),
        "epsilon_exact": exact(loss.epsilon),
        "delta": upward(loss.delta),
        "delta_exact": exact(loss.delta),
    }


def _labels(response: Response) -> Facts | None:
    group, cells = response.column.group, cells_of(response)
    if group is None or not isinstance(cells, LabelCells):
        return None
    return {
        "type": str(group.type),
        "labels": list(group.labels),
        "keys": None if group.keys is None else len(group.keys),
        "bins": None if group.edges is None else list(group.edges),
        "other": group.other,
        "null_label": group.null_label,
        "separator": cells.separator,
    }


def _grid(column: PerturbedColumn) -> Facts | None:
    if column.quantity is None:
        return None
    grid: Grid = column.quantity.grid
    return {
        "step": exact(grid.step),
        "lower": grid.lower,
        "upper": grid.upper,
        "null_fill": column.quantity.null_fill,
    }


def _truth(law: Law) -> Facts | None:
    """Of an answer with labels: the chance that it holds the true one, and a given other one."""
    if not isinstance(law, SubsetLaw):
        return None
    own, other = chances(law)
    return {"own": float(own), "given_other": float(other), "labels_in_answer": law.size}


SIZES = (100, 1_000, 10_000, 100_000)
"""Numbers of records at which the half-width of an estimate's interval is stated."""


def error_facts(step: RecordStep, interval: Fraction) -> dict[str, Facts]:
    """State of each column, by name, what its answers err, and what estimates from them do.

    ``expected`` and ``floor`` are of one answer, the worst over all true values: with "chance" the
    chance of a wrong label, with "distance" the mean distance from the truth, in units of the
    column. ``floor`` is below what any mechanism of the same epsilon and delta has of it.
    ``deviation`` is that of an estimate from one record, of a label's share or of the mean, the
    worst over all records; from n records it is that over the square root of n. ``halfwidths`` are
    those of its interval, about.
    """
    return {each.column.name: _column(each, interval) for each in step.responses}


def _column(response: Response, interval: Fraction) -> Facts:
    known: Expected = expected(response)
    deviation = math.sqrt(known.variance)
    z = quantile(interval)
    return {
        "of": "chance" if response.column.group is not None else "distance",
        "expected": rounded(known.error),
        "floor": rounded(known.floor),
        "deviation": rounded(deviation),
        "typical_deviation": rounded(math.sqrt(known.typical)),
        "halfwidths": [
            {"records": size, "halfwidth": rounded(z * deviation / math.sqrt(size))}
            for size in SIZES
        ],
        "scale": None if known.scale is None else rounded(known.scale),
        "classical_scale": None if known.classical is None else rounded(known.classical),
    }
