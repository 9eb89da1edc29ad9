"""The one function that turns exact integers into what may be published.

Guarantee: for each step of noisy integers, what comes out is ``transform @ measures``, mixed along
axes where the step has any, plus an independent draw of the step's noise for every released integer
of every cell, in integer arithmetic of any size; for a choice or a quantile, a candidate drawn by
exactly the law of the step; of private keys those whose noisy count reaches the threshold, and
nothing of the others.
With a step's sensitivities as certified, that is the step's declared privacy loss: the
chapter on private keys says why for these, whose cells are those that another step has selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import repeat
from operator import add, mul
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dprelease.kernel.core.engine_requests import Job
from dprelease.kernel.core.entropy import Entropy
from dprelease.kernel.core.joined_tables import add_up_cells, shape_cells
from dprelease.kernel.core.sample import draw_each
from dprelease.model import ExactTable, Form, Noise, NoiseFamily, Step

if TYPE_CHECKING:
    import numpy.typing as npt

Integers = Sequence[int]
Values = tuple[tuple[int, ...], ...]
Key = tuple[str, ...]  # a private key: a label for each group
Keys = Mapping[str, tuple[Key, ...]]


class Drawn(Struct, frozen=True):
    """Released integers by query name, ``[released integer][cell]``, and the keys selected."""

    values: Mapping[str, Values]
    keys: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


def _refuse(*_: Any) -> Any:
    raise ValueError("what a chapter would draw is not drawn without it")


class Drawing(Struct, frozen=True):
    """How the chapters draw what goes beyond noise on integers; what none is for is refused.

    Attributes:
        sample: Independent draws of a noise, so many of them.
        choices: From a step, its scores cell by cell and how many a cell has to candidates.
        quantiles: From a step, its measures and the cells' numbers in the answer to grid integers.
        points: From a step, its measures and the cells' numbers to counts by value.
        together: The released integers of a step, with noise that is drawn together for each cell.
        mixed: One released integer of every cell, mixed along the step's axes of these sizes.
        private_keys: A whole job on a table whose keys are private.
    """

    sample: Callable[[Noise, int, Entropy], npt.NDArray[Any]] = draw_each
    choices: Callable[[Step, Integers, int, Entropy], Values] = _refuse
    quantiles: Callable[[Step, Sequence[Integers], Sequence[int], Entropy], Values] = _refuse
    points: Callable[[Step, Sequence[Integers], Sequence[int]], Integers] = _refuse
    together: Callable[[Sequence[Integers], Step, Entropy], Values] = _refuse
    mixed: Callable[[Integers, list[int], Step], Integers] = _refuse
    private_keys: Callable[[ExactTable, Job, Entropy, Keys], Drawn] = _refuse


def privatize(
    exact: ExactTable,
    job: Job,
    entropy: Entropy,
    keys: Mapping[str, tuple[Key, ...]],
    drawing: Drawing,
) -> Drawn:
    """Release each step of a job. Empty cells get a draw of their own like all others.

    Args:
        exact: The exact answer to the job's request, which nothing else may reveal.
        job: A request, and the certified steps that are answered from it.
        entropy: Where random bytes come from.
        keys: The private keys selected so far, by table: the cells of that table's other steps.
        drawing: How the chapters draw what is not noise on integers.

    Returns:
        Grid integers by query name, ``[released integer][cell]``: each exact one plus an
        independent draw of its step's noise; and the keys that were selected.

    Raises:
        ValueError: A cell is missing or spare, or no chapter draws what a step asks for.
    """
    if job.request.private:
        return drawing.private_keys(exact, job, entropy, keys)
    measures = exact.reveal()
    sizes = [len(group.labels) for group in job.request.groups]
    shape = cache(lambda at: shape_cells(measures[at], sizes))  # once for all sums of its cells
    values = {}
    for step, where, places in zip(job.steps, job.positions, job.places, strict=True):
        if places is None:
            own = collect_measures(measures, where)
        else:
            labels = [len(group.labels) for group in step.query.groups]
            asked = where or range(len(measures))
            own = [add_up_cells(shape(at), places, labels) for at in asked]
        values[step.query.name] = release_cells(
            step, own, range(step.query.cells), entropy, drawing
        )
    return Drawn(values)


def collect_measures(measures: Sequence[Integers], where: Sequence[int]) -> list[Integers]:
    """Collect the measures of a step; of one that asked for itself the whole answer."""
    return [measures[at] for at in where] or list(measures)


def release_cells(
    step: Step,
    measures: Sequence[Integers],
    cells: Sequence[int],
    entropy: Entropy,
    drawing: Drawing,
) -> Values:
    """Release the cells in order. Measures and scores have these, in this order, and no others.

    Points are looked up by ``cells``: the number of each in the answer, -1 where it has none.
    """
    if step.form is Form.QUANTILES:
        return drawing.quantiles(step, measures, cells, entropy)
    axis, candidates = step.query.axis, step.query.candidates
    width = len(axis.labels) if axis is not None else 1
    if step.points is not None:
        rows, width = [drawing.points(step, measures, cells)], step.sizes[-1]
    elif candidates is None:
        rows = [combine_measures(row, measures) for row in step.transform]
    else:
        rows, width = list(measures), len(candidates.texts)
    if any(len(row) != len(cells) * width for row in rows):
        raise ValueError("a table with a missing or spare cell is not released")
    if step.form is Form.CHOICE:
        (scores,) = rows
        return drawing.choices(step, scores, width, entropy)
    if step.axes:
        rows = [drawing.mixed(row, step.sizes, step) for row in rows]
    if step.noise.family is NoiseFamily.CUBE:
        return drawing.together(rows, step, entropy)
    return tuple(add_noise(row, step, entropy, drawing) for row in rows)


def combine_measures(row: Integers, measures: Sequence[Integers]) -> Integers:
    """Combine measures to one released integer of every cell, before noise."""
    totals: list[int] | None = None
    for factor, measure in zip(row, measures, strict=True):
        integers = measure if set(map(type, measure)) <= {int} else list(map(int, measure))
        scaled = list(integers) if factor == 1 else list(map(mul, repeat(factor), integers))
        if totals is not None and len(scaled) != len(totals):
            raise ValueError("a table with a missing or spare cell is not released")
        totals = scaled if totals is None else list(map(add, totals, scaled))
    return totals or []


def add_noise(exact: Integers, step: Step, entropy: Entropy, drawing: Drawing) -> tuple[int, ...]:
    """Add a fresh draw to each integer."""
    draws: list[int] = drawing.sample(step.noise, len(exact), entropy).tolist()
    return tuple(map(add, draws, exact))
