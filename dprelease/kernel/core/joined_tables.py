"""Few tables for many steps, in the cells of which those of each step are parts.

Of groups that are completed, every row has a label. So the cells of a table with the groups of
several steps are parts of the cells of each, and the data is read once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dprelease.kernel.core.step_forms import OF_SETS
from dprelease.model import Expression, Form, Group, MeasureKind, Step

MOST_CELLS = 1 << 15
"""Of a table with the groups of several steps."""

Groups = tuple[Group, ...]
Cells = NDArray[np.object_]


def plan_joined_groups(steps: Iterable[Step], *, people: bool) -> Mapping[str, Groups]:
    """Give for each step that adds up over cells, by name, the groups of the table it is a part of.

    Larger tables take in smaller ones while they hold at most ``MOST_CELLS``, or if they need no
    more integers for it; a table that takes in none has the groups of its steps. Of ``people``
    which rows are kept depends on the filter and the cells. So only steps of strategies are joined
    there, and all of them that have one filter are parts of one table, so that they count the same
    rows.
    """
    alike: dict[Expression | None, list[Step]] = {}
    for step in _iter_joinable(list(steps), people=people):
        alike.setdefault(step.query.where if people else None, []).append(step)
    groups_by_step: dict[str, Groups] = {}
    for members in alike.values():
        tables = _build_tables(dict.fromkeys(map(_complete_groups, members)), whole=people)
        parts: dict[Groups, list[Step]] = {table: [] for table in tables}
        for step in members:
            own = set(_complete_groups(step))
            parts[next(table for table in tables if own <= set(table))].append(step)
        for table, fitting in parts.items():
            inside = fitting if people else _join_steps(table, fitting)
            whole = len({step.query.groups for step in inside}) == 1
            groups_by_step |= {
                step.query.name: step.query.groups if whole else table for step in inside
            }
    return groups_by_step


def _build_tables(sets: Iterable[Groups], *, whole: bool) -> list[Groups]:
    """Build tables that have the groups of each set; ``whole``: one, however large."""
    tables: list[Groups] = []
    for groups in sorted(sets, key=_count_cells, reverse=True):
        fitting = (at for at, table in enumerate(tables) if whole or _is_within_size(table, groups))
        place = next(fitting, None)
        if place is None:
            tables.append(groups)
        else:
            tables[place] = _unite(tables[place], groups)
    return tables


def _iter_joinable(steps: Sequence[Step], *, people: bool) -> Iterator[Step]:
    """Iterate steps that may be parts of a larger table, unless their own is asked for anyway."""
    if people:
        yield from filter(_is_of_strategy, steps)
        return
    # Distinct values of cells together are not the sums of those in each.
    distinct = {
        step.query.groups
        for step in steps
        if any(measure.kind is MeasureKind.DISTINCT for measure in step.measures)
    }
    for step in steps:
        plain = step.form is Form.NUMBERS and not (step.query.private or step.query.axis)
        filtered = step.query.numerator is not None and step.query.where is not None
        if not plain or filtered or step.points or step.query.groups in distinct:
            continue
        # Twenty groups of two labels each have three thousand times as many cells when completed.
        most = max(MOST_CELLS, _count_cells(step.query.groups) * 5 // 4)
        if _count_cells(_complete_groups(step)) <= most:
            yield step


def _join_steps(table: Groups, steps: Sequence[Step]) -> Sequence[Step]:
    """Join steps to parts of a table: a large one counts nothing just for smaller ones.

    Each cell of it would have an integer more for each condition of a total.
    """
    if _count_cells(table) <= MOST_CELLS:
        return steps
    measures = {
        measure for step in steps if _complete_groups(step) == table for measure in step.measures
    }
    return [step for step in steps if measures.issuperset(step.measures)]


def _is_of_strategy(step: Step) -> bool:
    """Tell whether a step adds up for a strategy, in cells that hold every record."""
    query, kinds = step.query, {measure.kind for measure in step.measures}
    is_plain = query.implied and not query.private and not kinds & OF_SETS
    return is_plain and all(group.total for group in query.groups)


def _complete_groups(step: Step) -> Groups:
    return tuple(group.complete() for group in step.query.groups)


def _is_within_size(groups: Groups, extra: Groups) -> bool:
    """Tell whether a table may have the groups of both, or has them all as it is."""
    union = _unite(groups, extra)
    return len(union) == len(groups) or _count_cells(union) <= MOST_CELLS


def _unite(groups: Groups, extra: Groups) -> Groups:
    return tuple(dict.fromkeys((*groups, *extra)))


def _count_cells(groups: Groups) -> int:
    return prod(len(group.labels) for group in groups)


def add_up_cells(cells: Cells, places: Sequence[int], labels: Sequence[int]) -> list[int]:
    """Add up exact cells over all axes but ``places``.

    These become the axes of the sums, in their order, each with its first ``labels`` alone.
    """
    others = [place for place in range(cells.ndim) if place not in places]
    ordered = np.transpose(cells, (*places, *others))[tuple(map(slice, labels))]
    rows = np.reshape(ordered, (prod(labels), -1))
    return [int(cell) for cell in rows.sum(axis=1)]


def shape_cells(exact: Sequence[int], sizes: Sequence[int]) -> Cells:
    """Give exact cells, row-major, as an array of these sizes.

    Raises ValueError where cells are missing or spare.
    """
    if len(exact) != prod(sizes):
        raise ValueError("a table with a missing or spare cell is not released")
    cells: Cells = np.array(list(map(int, exact)), dtype=object).reshape(sizes)
    return cells
