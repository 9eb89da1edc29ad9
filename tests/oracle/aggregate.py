"""From records to the integers of a request: its filter, cells, bounding, and what is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oracle import clipping
from oracle.bounding import Row, bounded, unit_of
from oracle.cells import Cell, cell_of, labels_of, placer_of, position
from oracle.expressions import evaluate
from oracle.key_texts import normal
from oracle.values import Record, encoded, grid_integer, on_grid

from dprelease.expressions import parse_tree
from dprelease.expressions.nodes import Value
from dprelease.model import (
    AggregateRequest,
    Candidates,
    Clip,
    ColumnType,
    ExactTable,
    Expression,
    Measure,
    MeasureKind,
    Quantity,
)
from dprelease.sources.shared.text_values import parse_value

Types = Mapping[str, ColumnType]


def answer(request: AggregateRequest, records: Iterable[Record]) -> ExactTable:
    """The exact table of all records, in any order."""
    types = {each.name: each.type for each in request.inputs}
    rows = _located(request, types, records)
    tallies = _tallies(request, types)
    if request.bound is not None and request.bound.clip is not None:
        return _clipped(request, rows, types, request.bound.clip)
    cells: dict[Cell, int] = {}  # those that occur, numbered as they do
    for row in bounded(rows, request):
        if row.cell is not None:
            cells.setdefault(row.cell, len(cells))
            for each in tallies:
                each.add(row, row.cell)
    if request.private:
        keys = [labels_of(cell, request.groups) for cell in cells]
        size = len(cells)
    else:
        keys, size = [], request.cells
        cells = {cell: position(cell, request.groups) for cell in cells}
    return ExactTable([column for each in tallies for column in each.columns(cells, size)], keys)


def _clipped(
    request: AggregateRequest, rows: Iterable[Row], types: Types, clip: Clip
) -> ExactTable:
    """The one measure, of totals of units that are scaled."""
    (measure,) = request.measures
    tally = _Tally(measure, types)
    amounts = (
        (row.unit, row.cell, tally.amount(row, row.cell)) for row in rows if row.cell is not None
    )
    column = [0] * request.cells
    for cell, total in clipping.add_up(amounts, clip).items():
        column[position(cell, request.groups)] = total
    return ExactTable([column])


def _located(request: AggregateRequest, types: Types, records: Iterable[Record]) -> Iterator[Row]:
    """The rows that pass the filter, have a unit, and lie in a cell of the leading groups."""
    condition = _Condition(request.where, types)
    bound, placers = request.bound, [placer_of(group) for group in request.groups]
    leading = len(placers) if bound is None else bound.leading
    for number, record in enumerate(records):
        lead = cell_of(record, placers[:leading])
        # without a bound every record is a unit of its own
        unit = encoded(number) if bound is None else unit_of(record, bound)
        if lead is None or unit is None or not condition.holds(record.values):
            continue
        rest = cell_of(record, placers[leading:])
        yield Row(record, unit, lead, None if rest is None else (*lead, *rest))


class _Condition:
    """A condition that holds where it is true, not where it is null; none at all holds always."""

    def __init__(self, where: Expression | None, types: Types) -> None:
        self.node = None if where is None else parse_tree(where.text, types)

    def holds(self, values: Mapping[str, Value]) -> bool:
        return self.node is None or evaluate(self.node, values) is True


# --- what is counted -----------------------------------------------------------------------------


class _Tally:
    """One measure, cell by cell."""

    def __init__(self, measure: Measure, types: Types) -> None:
        self.measure = measure
        self.where = _Condition(measure.where, types)
        self.totals: Counter[Cell] = Counter()
        self.seen: set[tuple[Cell, Value | bytes]] = set()

    def add(self, row: Row, cell: Cell) -> None:
        """Count the row in its cell."""
        self.totals[cell] += self.amount(row, cell)

    def amount(self, row: Row, cell: Cell) -> int:
        """What the row adds to its cell."""
        return self._amount(row, cell) if self.where.holds(row.record.values) else 0

    def _amount(self, row: Row, cell: Cell) -> int:
        measure = self.measure
        if measure.kind is MeasureKind.UNITS:
            return self._first(cell, row.unit)
        if measure.kind is MeasureKind.DISTINCT:
            return self._first(cell, row.record.values[measure.column or ""])
        k = 1 if measure.quantity is None else grid_integer(measure.quantity, row.record.numbers)
        if k is None:
            return 0
        if measure.survey_weight is not None:
            weight = grid_integer(measure.survey_weight, row.record.numbers)
            return 0 if weight is None else weight * (k if measure.kind is MeasureKind.SUM else 1)
        if measure.kind is MeasureKind.SQUARES:
            return k * k
        return k if measure.kind is MeasureKind.SUM else 1

    def _first(self, cell: Cell, item: Value | bytes) -> int:
        """1 for what the cell has not seen yet; nulls are nothing."""
        if item is None or (cell, item) in self.seen:
            return 0
        self.seen.add((cell, item))
        return 1

    def columns(self, cells: Mapping[Cell, int], size: int) -> list[list[int]]:
        """One sequence: an integer per cell."""
        column = [0] * size
        for cell, total in self.totals.items():
            column[cells[cell]] = total
        return [column]


class _Scores:
    """The sum of each candidate's scores, cell by cell."""

    def __init__(self, candidates: Candidates, types: Types) -> None:
        self.grid = candidates.grid
        self.node = parse_tree(candidates.score.text, {**types, "candidate": candidates.type})
        typed = (parse_value(text, candidates.type) for text in candidates.texts)
        self.candidates = [normal(value) if isinstance(value, str) else value for value in typed]
        self.totals: dict[Cell, list[int]] = {}

    def add(self, row: Row, cell: Cell) -> None:
        """Add the row's score of every candidate."""
        totals = self.totals.setdefault(cell, [0] * len(self.candidates))
        for place, candidate in enumerate(self.candidates):
            score = evaluate(self.node, {**row.record.values, "candidate": candidate})
            if score is not None:
                totals[place] += on_grid(float(score), self.grid)  # type: ignore[arg-type]

    def columns(self, cells: Mapping[Cell, int], size: int) -> list[list[int]]:
        """One sequence: an integer per cell and candidate."""
        width = len(self.candidates)
        column = [0] * (size * width)
        for cell, totals in self.totals.items():
            column[cells[cell] * width : (cells[cell] + 1) * width] = totals
        return [column]


class _Points:
    """How often each grid integer occurs, cell by cell."""

    def __init__(self, quantity: Quantity, weight: Quantity | None) -> None:
        self.quantity = quantity
        self.weight = weight
        self.counts: Counter[tuple[Cell, int]] = Counter()

    def add(self, row: Row, cell: Cell) -> None:
        """Count the row's grid integer, if it has one, as often as its weight says."""
        k, often = grid_integer(self.quantity, row.record.numbers), 1
        if self.weight is not None:
            often = grid_integer(self.weight, row.record.numbers) or 0
        if k is not None and often > 0:
            self.counts[cell, k] += often

    def columns(self, cells: Mapping[Cell, int], size: int) -> list[list[int]]:
        """Three sequences: cell, grid integer, how often; in rising order."""
        found = sorted((cells[cell], k, count) for (cell, k), count in self.counts.items())
        return [[triple[each] for triple in found] for each in range(3)]


def _tallies(
    request: AggregateRequest, types: Types
) -> Sequence[_Tally] | Sequence[_Scores] | Sequence[_Points]:
    if request.scores is not None:
        return [_Scores(request.scores, types)]
    if request.points is not None:
        return [_Points(request.points, request.survey_weight)]
    return [_Tally(measure, types) for measure in request.measures]
