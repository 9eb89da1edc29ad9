"""Record-level tables in ``report.json``, and read back from it: all that estimates are made of.

Numbers that laws are made of stand exactly, as texts "p/q"; beside them stand numbers for
people and programs, losses rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dprelease.local.cells import LabelCells, cells_of
from dprelease.local.estimates import chances, estimate_facts, estimates
from dprelease.model import Grid, Loss, PerturbedColumn
from dprelease.model.local_tables import (
    Law,
    RecordStep,
    Response,
    StoredTable,
    SubsetLaw,
)
from dprelease.model.plan_json import exact, law_json
from dprelease.report.local.errors import error_facts
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
