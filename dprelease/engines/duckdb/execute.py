"""Execution of a request: one or several statements, each in as many parts as memory requires.

``measures`` writes the statements, over bounded rows where the request has a bound; ``results``
adds up their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.engines.duckdb.bound_by_arrays import Packing, SortedBounding, forget, plan_packing
from dprelease.engines.duckdb.bound_by_windows import CountedBounding, bound_by_windows
from dprelease.engines.duckdb.field_reader import FieldReader
from dprelease.engines.duckdb.group_keys import compute_key, put_labels
from dprelease.engines.duckdb.hash_parts import (
    Part,
    choose_part_count,
    run_in_parts,
    select_unit_rows,
    select_units,
)
from dprelease.engines.duckdb.measures import (
    build_candidates_table,
    finish_key_cells,
    group_by_keys,
    merge_alike_rows,
    probe,
    sum_measures,
    sum_request,
)
from dprelease.engines.duckdb.record_cells import Cells, locate
from dprelease.engines.duckdb.results import build_tallies
from dprelease.engines.duckdb.scaled_totals import sum_clipped
from dprelease.engines.duckdb.text_numbers import TextNumbers, find_group_columns
from dprelease.engines.duckdb.typed_rows import Rows, build_rows, read_field
from dprelease.expressions.sqltext import Sql, col
from dprelease.model import AggregateRequest, ColumnType, ExactTable, InputColumn
from dprelease.sources.shared.request_content import find_additive_places, find_distinct_places

SAMPLE = 20_000  # first records that are read to choose how to look up keys
MANY = 10_000  # with so many distinct keys among them, records are looked up one by one
FRUGAL = 16  # with so many times more parts than at first, a unit counts as too large
VERY_FRUGAL = 64  # with so many times more, a single cell of a unit counts as too large
BOUNDED = "bounded"  # the table of a bounded sample
PARTIAL = "partial"  # the table of partial answers by keys


class Answer(NamedTuple):
    """Number of records read (None if answers differ), and the exact table."""

    records: int | None
    table: ExactTable


def compute_exact_answer(
    request: AggregateRequest,
    reader: FieldReader,
    find_rest: Callable[[], FieldReader | None] = lambda: None,
) -> Answer:
    """Compute the exact answer of a request; raises duckdb.Error.

    Args:
        request: What is asked for. With a rest it ``is_sum_of_records``.
        reader: Reads the records.
        find_rest: Returns a reader of records that the first one left out; is called after it.
    """
    tallies = build_tallies(request)

    def add_records(reader: FieldReader, *, is_rest: bool = False) -> int | None:
        def take(sql: Sql, places: Sequence[int]) -> int:
            return tallies.add(reader.run(sql), places)

        return Execution(request, reader, take, has_tables=is_rest).answer()

    records = add_records(reader)
    rest = find_rest()
    if rest is not None:
        further = add_records(rest, is_rest=True)
        records = None if records is None or further is None else records + further
    return Answer(records, tallies.build_table())


def is_sum_of_records(request: AggregateRequest) -> bool:
    """Tell if the answer for two sets of records is the sum of the answers for each of them."""
    return request.bound is None and not find_distinct_places(request)


def sample_units(
    request: AggregateRequest,
    reader: FieldReader,
    packing: Packing | None,
    cells: Cells,
    effort: int,
) -> Cells:
    """Sample each unit's rows in a part; ``effort`` is how many times more parts than at first.

    If the reader wants everything, rows in no cell account for the rows outside the sample.
    """
    bound = request.bound
    if bound is None:
        return cells
    forget(reader.connection)
    if effort >= FRUGAL:
        counted = CountedBounding(request, bound, cells, reader.everything)
        return counted.sample(reader.fetch_rows, is_large=effort >= VERY_FRUGAL)
    if packing is not None:
        return SortedBounding(request, bound, cells, packing, reader).sample()
    return bound_by_windows(request, bound, cells, reader.everything)


Take = Callable[[Sql, Sequence[int]], int]
"""A function that adds the answer of a part to the measures at these places; returns its records.

It must add nothing before it has the whole answer, because the statement may run out of memory.
"""


class Execution:
    """One request over one reader: its rows, its parts, and the function that takes the answers.

    The records are those of the reader's fields, or those that ``cells`` has located before. An
    execution of the same request on the connection may have left tables of candidates and labels.
    """

    def __init__(
        self,
        request: AggregateRequest,
        reader: FieldReader,
        take: Take,
        cells: Callable[[Rows], Cells] | None = None,
        *,
        has_tables: bool = False,
    ) -> None:
        self.request = request
        self.reader = reader
        self.take = take
        if request.scores is not None and not has_tables:
            texts = list(request.scores.texts)
            reader.connection.execute(build_candidates_table(request.scores), [texts])
        self.rows = build_rows(request, reader.fields)
        self.cells = None if cells is None else cells(self.rows)
        if self.cells is None and not has_tables:
            put_labels(reader.connection, request.groups)
        self.packing = plan_packing(request, self.rows)
        bounded = request.bound is not None
        self.parts = choose_part_count(request, reader, self.rows, self.packing) if bounded else 1
        self.counts: set[int] = set()  # of records, one for each statement

    def answer(self) -> int | None:
        """Take all answers of the request.

        Returns:
            The number of records; None if the statements found different ones.

        Raises:
            duckdb.Error: A statement failed.
        """
        places = find_distinct_places(self.request)
        self.take_sums()
        self.take_distinct(places, self._count_distinct)
        return self.counts.pop() if len(self.counts) == 1 else None

    # --- the statements --------------------------------------------------------------------------

    def take_sums(self) -> None:
        """Take the answers that are sums over records, if any are asked for."""
        request, places = self.request, find_additive_places(self.request)
        if places is None:
            return
        whole = self.cells is None and request.bound is None and not request.private
        simple = request.points is None and request.scores is None
        simple = simple and len(places) == len(request.measures)
        if whole and simple and self._probe() and self._is_quick():
            return
        counted = len(find_distinct_places(request))
        later = self.parts * (counted + bool(counted and request.bound))
        self._collect_in_parts(lambda part: self._sum_part(part, places), places, later)

    def _sum_part(self, part: Part, places: Sequence[int]) -> Sql:
        clip = None if self.request.bound is None else self.request.bound.clip
        if clip is not None:
            return sum_clipped(self.request, self._select_units(part), clip)
        return sum_request(self.request, self._bound_cells(part), places)

    def _is_quick(self) -> bool:
        """Try to answer by keys first; False if there is no memory for them."""
        import duckdb

        request = self.request
        self.reader.share.begin(1)
        try:
            answer = finish_key_cells(request, self._aggregate_by_keys())
            self.counts.add(self.take(answer, range(len(request.measures))))
        except duckdb.OutOfMemoryException:
            if not self.reader.cheap:
                raise
            # There are more distinct keys than the first records suggested: look up each record.
            return False
        return True

    def _aggregate_by_keys(self) -> Sql:
        """Aggregate by the values of keys; texts are converted to keys after they are grouped."""
        request, reader = self.request, self.reader
        texts = find_group_columns(request)
        numbers = {name: TextNumbers() for name in reader.coded & texts}
        partial = self._aggregate_by_numbers(numbers, texts) if numbers else None
        if partial is None:
            numbers = {}
            partial = self._aggregate_by_texts(texts).subquery("p")
        for place, group in enumerate(request.groups):
            if group.column not in texts:
                continue
            key = text = f"g{place}"
            if group.column in numbers:
                number, text = f"number{place}", f"text{place}"
                table = numbers[group.column].build_table(number, text)
                reader.connection.register(f"texts{place}", table)
                match = col(number).equals(col(key))
                partial = partial.join("LEFT JOIN", col(f"texts{place}"), match).layer({})
            declared = InputColumn(group.column, ColumnType.STRING)
            value = read_field(col(text), declared, reader.fields)
            partial = partial.replace_column(key, compute_key(group, value))
        return partial

    def _aggregate_by_texts(self, texts: frozenset[str]) -> Sql:
        """Write SQL of partial answers by the unconverted texts of fields and by other keys."""
        rows = build_rows(self.request, replace(self.reader.fields, as_they_stand=texts))
        return group_by_keys(self.request, rows, self.reader.everything)

    def _aggregate_by_numbers(
        self, numbers: Mapping[str, TextNumbers], texts: frozenset[str]
    ) -> Sql | None:
        """Aggregate by numbers of texts; None if there are too many texts.

        The answers are stored in a table: the text of a number is known once all records are read.
        """
        import duckdb

        try:
            self.reader.run(self._aggregate_by_texts(texts).create(PARTIAL), numbers)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            if any(texts.is_exceeded for texts in numbers.values()):
                return None
            raise
        return col(PARTIAL)

    def take_distinct(self, places: Sequence[int], count: Callable[[Cells, int], Sql]) -> None:
        """Take the answers to ``count`` for measures of distinct values.

        These add up over parts of the values, not over parts of the units.
        """
        sample = self._sample(places) if places and self.request.bound is not None else None
        for number, place in enumerate(places, 1):
            value = self.rows.values[self.request.measures[place].column or ""]

            def count_part(part: Part, place: int = place, value: str = value) -> Sql:
                if sample is None:
                    return count(self._locate_rows(part, value), place)
                return count(sample.filter(part.build_condition(value)), place)

            self._collect_in_parts(count_part, [place], self.parts * (len(places) - number))

    def _count_distinct(self, cells: Cells, place: int) -> Sql:
        return sum_measures(self.request, cells, [self.request.measures[place]])

    def _sample(self, places: Sequence[int]) -> Cells:
        """Store the bounded sample in a table; rows that count alike are merged."""
        rows = self.rows
        values = [rows.values[self.request.measures[place].column or ""] for place in places]
        columns = list(dict.fromkeys([*values, *rows.conditions.values()]))
        like = self._bound_cells(Part())
        later = self.parts * len(places)  # readings that follow
        stored: list[Part] = []

        def store(part: Part) -> None:
            query = merge_alike_rows(self.request, self._bound_cells(part), columns)
            self.reader.run(query.insert(BOUNDED) if stored else query.create(BOUNDED))
            stored.append(part)

        begin = self.reader.share.begin
        for _ in run_in_parts(store, self.parts, lambda remaining: begin(remaining + later)):
            pass
        bare_rows = replace(rows, quantities={})
        return replace(like, relation=col(BOUNDED), rows=bare_rows, weight="n", firsts={})

    # --- their rows ------------------------------------------------------------------------------

    def _locate_rows(self, part: Part, *columns: str) -> Cells:
        """Locate the rows of a part, by the hash of these columns."""
        if self.cells is not None:
            return self.cells.filter(part.build_condition(*columns))
        rows = replace(self.rows, relation=self.rows.relation.only(part.build_condition(*columns)))
        return locate(self.request, rows, self.reader.everything)

    def _select_units(self, part: Part) -> Cells:
        """Locate the rows of a part's units."""
        if self.cells is not None:
            return self.cells.filter(part.build_condition("u"))
        request, reader = self.request, self.reader
        rows = select_unit_rows(
            part, request, reader.fields, lambda fields: build_rows(request, fields)
        )
        cells = locate(request, rows, reader.everything)
        return replace(cells, units=select_units(part, request, reader.fields))

    def _bound_cells(self, part: Part) -> Cells:
        """Locate the rows of a part, of each unit no more than its bound allows."""
        if self.request.bound is None:
            # The rows of a part are those that its statement may group together.
            rows = self.rows
            points = () if self.request.points is None else (rows.quantities[self.request.points],)
            return self._locate_rows(part, *rows.groups, *points, *rows.values.values())
        cells, effort = self._select_units(part), part.of // self.parts
        return sample_units(self.request, self.reader, self.packing, cells, effort)

    # --- how they are run ------------------------------------------------------------------------

    def _collect_in_parts(
        self, make: Callable[[Part], Sql], places: Sequence[int], later: int
    ) -> None:
        """Take the answers of statements, each over a part's rows; ``later`` more readings come."""

        def add(part: Part) -> int:
            return self.take(make(part), places)

        begin = self.reader.share.begin
        self.counts.add(
            sum(run_in_parts(add, self.parts, lambda remaining: begin(remaining + later)))
        )

    def _probe(self) -> bool:
        """Tell by the first records if keys repeat."""
        # whether a key may have any number of distinct values
        is_open = any(
            group.edges is None and group.type is not ColumnType.BOOLEAN
            for group in self.request.groups
        )
        if not (self.reader.cheap and is_open):
            return not is_open
        ((keys,),) = self.reader.fetch_rows(probe(self.rows, SAMPLE))
        return bool(keys < MANY)
