"""Execution of a request: one or several statements, each in as many parts as memory wants.

The statements come from ``measures``, over rows that are bounded where the request has a bound;
their answers are added up in ``results``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dprelease.engines.duckdb.bounding.by_arrays import Packing, listed, packing_for
from dprelease.engines.duckdb.bounding.by_windows import CountedBounding, windowed
from dprelease.engines.duckdb.cells import Cells, locate
from dprelease.engines.duckdb.group_keys import put_labels
from dprelease.engines.duckdb.hash_parts import Part, first_parts, in_parts
from dprelease.engines.duckdb.measures import (
    candidates_table,
    gathered,
    grouped_by_keys,
    measures_of,
    points_of,
    probe,
    scores_of,
)
from dprelease.engines.duckdb.results import Tallies, tallies_of
from dprelease.engines.duckdb.sources import FieldReader
from dprelease.engines.duckdb.typed_rows import build_rows
from dprelease.expressions.sqltext import Sql, col
from dprelease.model import AggregateRequest, ColumnType, ExactTable, Measure, MeasureKind

SAMPLE = 20_000  # records looked at to choose how keys are looked up
MANY = 10_000  # distinct keys among them from which records are looked up one by one
FRUGAL = 16  # from so many times more parts on, one is thought to be too large for a single unit
VERY_FRUGAL = 64  # from so many times more on, for a single cell of it
BOUNDED = "bounded"  # the table of a bounded sample


class Answer(NamedTuple):
    """How many records were read (None if answers differ), and the exact table."""

    records: int | None
    table: ExactTable


def exact_answer(request: AggregateRequest, reader: FieldReader) -> Answer:
    """The exact answer; raises duckdb.Error."""
    return Execution(request, reader).answer()


def bounded_sample(
    request: AggregateRequest,
    reader: FieldReader,
    packing: Packing | None,
    cells: Cells,
    effort: int,
) -> Cells:
    """The sample of each unit's rows in a part, in ``effort`` times more parts than at first.

    If the reader wants everything, rows of no cell account for those outside the sample.
    """
    bound = request.bound
    if bound is None:
        return cells
    if effort >= FRUGAL:
        counted = CountedBounding(request, bound, cells, reader.everything)
        return counted.sample(reader.rows, many=effort >= VERY_FRUGAL)
    if packing is not None:
        return listed(request, bound, cells, packing, reader.everything)
    return windowed(request, bound, cells, reader.everything)


class Execution:
    """One request over one reader: its rows, its parts, and what the answers add up to."""

    def __init__(self, request: AggregateRequest, reader: FieldReader) -> None:
        self.request = request
        self.reader = reader
        put_labels(reader.connection, request.groups)
        if request.scores is not None:
            texts = list(request.scores.texts)
            reader.connection.execute(candidates_table(request.scores), [texts])
        self.rows = build_rows(request, reader.fields)
        self.packing = packing_for(request, self.rows)
        bounded = request.bound is not None
        self.parts = first_parts(request, reader, self.rows, self.packing) if bounded else 1
        self.tallies: Tallies = tallies_of(request)
        self.counts: set[int] = set()  # of records, one for each statement

    def answer(self) -> Answer:
        """Everything that was asked; raises duckdb.Error."""
        request = self.request
        additive = [
            place
            for place, measure in enumerate(request.measures)
            if measure.kind is not MeasureKind.DISTINCT
        ]
        others = [place for place in range(len(request.measures)) if place not in additive]
        grouped_first = self._probe()
        if request.points is not None:
            self._in_parts(lambda part: points_of(request, self._cells(part)))
        elif request.scores is not None:
            self._in_parts(lambda part: scores_of(request, self._cells(part)), [0])
        elif additive or not others:
            self._additive(additive, grouped_first)
        if others:
            self._distinct(others)
        records = self.counts.pop() if len(self.counts) == 1 else None
        return Answer(records, self.tallies.table())

    # --- the statements --------------------------------------------------------------------------

    def _additive(self, places: Sequence[int], grouped_first: bool) -> None:
        """The measures that are sums over records."""
        request, measures = self.request, [self.request.measures[place] for place in places]
        whole = len(measures) == len(request.measures)
        quick = grouped_first and whole and request.bound is None and not request.private
        if quick and self._quick():
            return
        self._in_parts(lambda part: measures_of(request, self._cells(part), measures), places)

    def _quick(self) -> bool:
        """Answer by keys first, if there is memory for them."""
        import duckdb

        request = self.request
        try:
            answer = self.reader.run(grouped_by_keys(request, self.rows, self.reader.everything))
            self.counts.add(self.tallies.add(answer, range(len(request.measures))))
        except duckdb.OutOfMemoryException:
            if not self.reader.cheap:
                raise
            # more distinct keys than the first records promised: look each record up instead
            return False
        return True

    def _distinct(self, places: Sequence[int]) -> None:
        """The numbers of distinct values: they don't add up over units, but over values."""
        request, rows = self.request, self.rows
        bounded: Cells | None = None
        if request.bound is not None:
            wanted = [rows.values[request.measures[place].column or ""] for place in places]
            wanted += rows.conditions.values()
            like = self._cells(Part())
            held = replace(rows, quantities={})
            bounded = replace(like, relation=col(BOUNDED), rows=held, weight="n", firsts={})
            self._store_sample(list(dict.fromkeys(wanted)))
        for place in places:
            measure = request.measures[place]
            value = rows.values[measure.column or ""]

            def made(part: Part, measure: Measure = measure, value: str = value) -> Sql:
                if bounded is None:
                    return measures_of(request, self._located(part, value), [measure])
                return measures_of(request, bounded.within(part.holds(value)), [measure])

            self._in_parts(made, [place])

    def _store_sample(self, wanted: Sequence[str]) -> None:
        """Put the bounded sample into a table, those alike in what is wanted as one."""
        stored: list[Part] = []

        def store(part: Part) -> None:
            query = gathered(self.request, self._cells(part), wanted)
            self.reader.run(query.insert(BOUNDED) if stored else query.create(BOUNDED))
            stored.append(part)

        for _ in in_parts(store, self.parts):
            pass

    # --- their rows ------------------------------------------------------------------------------

    def _located(self, part: Part, *columns: str) -> Cells:
        """The rows of a part, by the hash of these columns."""
        rows = replace(self.rows, relation=self.rows.relation.only(part.holds(*columns)))
        return locate(self.request, rows, self.reader.everything)

    def _cells(self, part: Part) -> Cells:
        """The rows of a part, no more of each unit than its bound."""
        if self.request.bound is None:
            return self._located(part, *self._grouped())
        cells, effort = self._located(part, "u"), part.of // self.parts
        return bounded_sample(self.request, self.reader, self.packing, cells, effort)

    def _grouped(self) -> tuple[str, ...]:
        """What rows are grouped by."""
        rows = self.rows
        points = () if self.request.points is None else (rows.quantities[self.request.points],)
        return (*rows.groups, *points, *rows.values.values())

    # --- how they are run ------------------------------------------------------------------------

    def _in_parts(self, made: Callable[[Part], Sql], places: Sequence[int] = ()) -> None:
        """Take the answers of statements, each over the rows of a part."""

        def add(part: Part) -> int:
            return self.tallies.add(self.reader.run(made(part)), places)

        self.counts.add(sum(in_parts(add, self.parts)))

    def _probe(self) -> bool:
        """Whether keys repeat, by the first records."""
        # whether the data can hold any number of distinct values of a key
        is_open = any(
            group.edges is None and group.type is not ColumnType.BOOLEAN
            for group in self.request.groups
        )
        if not (self.reader.cheap and is_open):
            return not is_open
        ((keys,),) = self.reader.rows(probe(self.rows, SAMPLE))
        return bool(keys < MANY)
