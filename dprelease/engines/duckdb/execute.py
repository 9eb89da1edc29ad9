"""Execution of a request: one or several statements, each in as many parts as memory wants.

The statements come from ``measures``, over rows that are bounded where the request has a bound;
their answers are added up in ``results``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from dprelease.engines.duckdb.bounding_lists import Packing, listed, packing_for
from dprelease.engines.duckdb.bounding_windows import CountedBounding, windowed
from dprelease.engines.duckdb.cells import Cells, locate
from dprelease.engines.duckdb.group_keys import put_labels
from dprelease.engines.duckdb.measures import (
    candidates_table,
    fits_narrow,
    gathered,
    grouped_by_keys,
    measures_of,
    points_of,
    probe,
    scores_of,
)
from dprelease.engines.duckdb.partitions import Part, first_parts, in_parts
from dprelease.engines.duckdb.results import Dense, Row, Tallies, tallies_of
from dprelease.engines.duckdb.session import memory_of
from dprelease.engines.duckdb.typed_rows import Fields, build_rows
from dprelease.expressions.sqltext import Sql, create, identifier, insert, only
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    ExactTable,
    Group,
    Measure,
    MeasureKind,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SAMPLE = 20_000  # records looked at to choose how keys are looked up
MANY = 10_000  # distinct keys among them from which records are looked up one by one
FRUGAL = 16  # from so many times more parts on, one is thought to be too large for a single unit
VERY_FRUGAL = 64  # from so many times more on, for a single cell of it
KEPT = "kept"


class Answer(NamedTuple):
    """How many records were read (None if answers differ), and the exact table."""

    records: int | None
    table: ExactTable


@dataclass(frozen=True, slots=True)
class Reading:
    """The fields, and how they are read.

    With ``everything`` the records of no cell are wanted too, for their number; ``cheap`` fields
    can be read twice, and there are ``record_count`` records, if the footers tell. ``renew`` is
    called before a reading.
    """

    fields: Fields
    everything: bool
    cheap: bool
    renew: Callable[[], None] = lambda: None
    record_count: int | None = None


def ask(connection: DuckDBPyConnection, request: AggregateRequest, reading: Reading) -> Answer:
    """The exact answer; raises duckdb.Error."""
    return Execution(connection, request, reading).answer()


@dataclass(frozen=True, slots=True)
class Keeping:
    """How the rows that are kept of each unit are found; ``run`` runs a statement at once.

    With ``everything`` rows of no cell account for those that aren't kept.
    """

    request: AggregateRequest
    packing: Packing | None
    run: Callable[[Sql], object]
    everything: bool

    def of(self, cells: Cells, effort: int) -> Cells:
        """The rows that are kept of a part, asked in ``effort`` times more parts than at first."""
        request, bound = self.request, self.request.bound
        if bound is None:
            return cells
        if effort >= FRUGAL:
            counted = CountedBounding(request, bound, cells, self.everything)
            return counted.sample(self.run, many=effort >= VERY_FRUGAL)
        if self.packing is not None:
            return listed(request, bound, cells, self.packing, self.everything)
        return windowed(request, bound, cells, self.everything)


class Execution:
    """One request over one reading: its rows, its parts, and what the answers add up to."""

    def __init__(
        self, connection: DuckDBPyConnection, request: AggregateRequest, reading: Reading
    ) -> None:
        self.connection = connection
        self.request = request
        self.reading = reading
        put_labels(connection, request.groups)
        if request.scores is not None:
            texts = list(request.scores.texts)
            connection.execute(candidates_table(request.scores), [texts])
        self.rows = build_rows(request, reading.fields)
        self.packing = packing_for(request, self.rows)
        self.parts = 1
        records = reading.record_count
        if request.bound is not None and records is not None:
            memory = memory_of(connection)
            self.parts = first_parts(
                self._fetched, request, self.rows, self.packing, records, memory
            )
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
        quick = grouped_first and whole and request.bound is None
        if quick and isinstance(self.tallies, Dense) and self._quick(self.tallies):
            return
        self._in_parts(lambda part: measures_of(request, self._cells(part), measures), places)

    def _quick(self, dense: Dense) -> bool:
        """Answer by keys first, if there is memory for them."""
        import duckdb

        request, rows, places = self.request, self.rows, range(len(self.request.measures))
        everything = self.reading.everything
        try:
            # By the bounds alone, not by the data: a sum that leaves 64 bits may wrap, or raise.
            if self.reading.cheap and fits_narrow(request):
                answer = self._narrow(grouped_by_keys(request, rows, everything, narrow=True))
                records = sum(row[1] or 0 for row in answer or ())
                if answer is not None and fits_narrow(request, records):
                    dense.add_rows(answer, places)
                    self.counts.add(records)
                    return True
            self._take(grouped_by_keys(request, rows, everything, narrow=False), places)
        except duckdb.OutOfMemoryException:
            if not self.reading.cheap:
                raise
            # more distinct keys than the first records promised: look each record up instead
            return False
        return True

    def _narrow(self, sql: Sql) -> list[Row] | None:
        """The rows, or None where DuckDB lacks the sum that its own optimizer uses.

        That is found before anything is read.
        """
        import duckdb

        try:
            return self._fetched(sql)
        except duckdb.CatalogException:
            return None

    def _distinct(self, places: Sequence[int]) -> None:
        """The numbers of distinct values: they don't add up over units, but over values."""
        request, rows = self.request, self.rows
        bounded: Cells | None = None
        if request.bound is not None:
            wanted = [rows.values[request.measures[place].column or ""] for place in places]
            wanted += rows.conditions.values()
            like = self._cells(Part())
            held = replace(rows, quantities={})
            bounded = replace(like, relation=identifier(KEPT), rows=held, weight="n", firsts={})
            self._keep(list(dict.fromkeys(wanted)))
        for place in places:
            measure = request.measures[place]
            value = rows.values[measure.column or ""]

            def made(part: Part, measure: Measure = measure, value: str = value) -> Sql:
                if bounded is None:
                    return measures_of(request, self._located(part, value), [measure])
                return measures_of(request, bounded.within(part.holds(value)), [measure])

            self._in_parts(made, [place])

    def _keep(self, wanted: Sequence[str]) -> None:
        """Put the rows that are kept into a table, those alike in what is wanted as one."""
        write = create

        def run(part: Part) -> None:
            nonlocal write
            self.run(write(KEPT, gathered(self.request, self._cells(part), wanted)))
            write = insert

        in_parts(run, self.parts)

    # --- their rows ------------------------------------------------------------------------------

    def _located(self, part: Part, *columns: str) -> Cells:
        """The rows of a part, by the hash of these columns."""
        rows = replace(self.rows, relation=only(self.rows.relation, part.holds(*columns)))
        return locate(self.request, rows, self.reading.everything)

    def _cells(self, part: Part) -> Cells:
        """The rows of a part, no more of each unit than may be kept."""
        if self.request.bound is None:
            return self._located(part, *self._grouped())
        keeping = Keeping(self.request, self.packing, self.run, self.reading.everything)
        return keeping.of(self._located(part, "u"), part.of // self.parts)

    def _grouped(self) -> tuple[str, ...]:
        """What rows are grouped by."""
        rows = self.rows
        points = () if self.request.points is None else (rows.quantities[self.request.points],)
        return (*rows.groups, *points, *rows.values.values())

    # --- how they are run ------------------------------------------------------------------------

    def _in_parts(self, made: Callable[[Part], Sql], places: Sequence[int] = ()) -> None:
        """Take the answers of statements, each over the rows of a part."""
        records = 0

        def run(part: Part) -> None:
            nonlocal records
            answer = self.run(made(part))
            records += self.tallies.add(answer, places)

        in_parts(run, self.parts)
        self.counts.add(records)

    def _take(self, sql: Sql, places: Sequence[int]) -> None:
        self.counts.add(self.tallies.add(self.run(sql), places))

    def run(self, sql: Sql) -> DuckDBPyConnection:
        """The answer to a statement."""
        self.reading.renew()
        return self.connection.execute(sql)

    def _fetched(self, sql: Sql) -> list[Row]:
        return self.run(sql).fetchall()

    def _probe(self) -> bool:
        """Whether keys repeat, by the first records."""
        grouped_first = not any(_open(group) for group in self.request.groups)
        if self.reading.cheap and not grouped_first:
            ((keys,),) = self._fetched(probe(self.rows, SAMPLE))
            grouped_first = bool(keys < MANY)
        return grouped_first


def _open(group: Group) -> bool:
    """Whether the data can hold any number of distinct values of the key."""
    return group.edges is None and group.type is not ColumnType.BOOLEAN
