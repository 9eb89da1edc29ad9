r"""What tasks do, each with a DuckDB of its own: read a split, bound units, add up, count.

::

    read a split --> rows by the unit's bucket --> bound --> sums by the cell's bucket --> add up
                \-- without a bound: sums by the cell's bucket ------------------------/

Sums add up over records and units. Numbers of distinct values don't: rows that are alike in cell
and value go by the bucket of the value, and are counted where all of that value are.

No task raises anything for what is in the data, or for what it is read with: Spark would write the
text of an exception to logs. A code goes to the driver instead. Nothing here imports Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dprelease.engines.duckdb.duckdb_errors import Stream, translate_after_charge
from dprelease.engines.duckdb.duckdb_session import open_session
from dprelease.engines.duckdb.execute import Execution
from dprelease.engines.duckdb.field_reader import FieldReader, read_stream
from dprelease.engines.duckdb.group_keys import put_labels
from dprelease.engines.duckdb.hash_parts import Part, run_in_parts
from dprelease.engines.duckdb.measures import count_joined_at_once, merge_alike_rows, sum_measures
from dprelease.engines.duckdb.record_cells import Cells, locate
from dprelease.engines.duckdb.typed_rows import Rows, build_rows
from dprelease.engines.spark.partial_results import Answer
from dprelease.engines.spark.spark_messages import (
    BATCH,
    BUCKET,
    DONE,
    FAILED,
    ROWS,
    Message,
    deal_rows,
    read_rows,
)
from dprelease.engines.spark.versions import list_versions
from dprelease.errors import Failure, name_kind
from dprelease.expressions.sqltext import STAR, Sql, call, col, literal
from dprelease.model import AggregateRequest, Measure
from dprelease.sources.shared.data_failures import build_data_failure, build_memory_failure
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.record_stream import RECORDS, RecordStream
from dprelease.sources.shared.request_content import (
    count_held_integers,
    find_additive_places,
    find_distinct_places,
)
from dprelease.sources.shared.source_format import Table

LARGEST = 1 << 30  # bytes of rows that a task holds; with more there must be more buckets


class Work(Struct, frozen=True):
    """State that every task of a request is given.

    ``buckets`` is how many there are to deal rows to. ``list_versions`` are those of the driver:
    with others a unit's rows could have other hashes, and be dealt to two tasks.
    """

    request: AggregateRequest
    table: Table
    splits: tuple[Split, ...]
    buckets: int
    versions: Mapping[str, str]

    def check_versions(self) -> None:
        """Refuse to work on a machine that is not like the driver's; raises Failure(DATA)."""
        if list_versions() != self.versions:
            raise build_data_failure("E416", "executors have other versions")


# --- the tasks -----------------------------------------------------------------------------------


def read(work: Work, place: int) -> Iterator[Message]:
    """Read a split: send its rows in cells if units are bounded, else its answers."""
    report = Told("read", (place,), bucket=place % work.buckets)
    return report.around(work, lambda: _read(work, work.splits[place]))


def bound(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
    """Bound the units in these buckets, and send the answers over their rows."""
    return _pass_on(work, "bound", messages, lambda bodies: _bound(work, bodies[ROWS]))


def merge(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
    """Add up the answers of these buckets, or count distinct values."""
    return _pass_on(work, "merge", messages, lambda bodies: _merge(work, bodies))


class Told(Struct):
    """Report of a task: its stage, the splits or buckets it did, and what it moved."""

    stage: str
    places: tuple[int, ...] = ()
    received: int = 0
    sent: int = 0
    bucket: int = 0

    def around(self, work: Work, make: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        """Send the messages of ``make``, then a report, or a code if it failed."""
        try:
            work.check_versions()
            with translate_after_charge(work.request.source):
                for message in make():
                    self.sent += 1
                    yield message
        except Failure as failure:
            code = failure.complaints[0].code
        except Exception as problem:
            code = name_kind(problem)  # the name of its class: its text may quote the data
        else:
            words = {"stage": self.stage, "places": self.places}
            moved = {"received": self.received, "sent": self.sent}
            yield Message(self.bucket, DONE, json.dumps(words | moved).encode())
            return
        yield Message(self.bucket, FAILED, code.encode())


Bodies = dict[int, list[bytes]]


def _pass_on(
    work: Work, stage: str, messages: Iterable[Message], make: Callable[[Bodies], Iterable[Message]]
) -> Iterator[Message]:
    """Send what is made of all messages, and pass earlier reports on."""
    bodies: Bodies = {}
    buckets: set[int] = set()
    size = received = 0
    for message in messages:
        if message.kind in (DONE, FAILED):
            yield message
            continue
        size += len(message.body)
        received += 1
        buckets.add(message.bucket)
        if size <= LARGEST:
            bodies.setdefault(message.kind, []).append(message.body)

    def make_messages() -> Iterable[Message]:
        if size > LARGEST:
            raise build_memory_failure()
        return make(bodies) if bodies else ()

    yield from Told(stage, tuple(sorted(buckets)), received).around(work, make_messages)


# --- what they are made of ------------------------------------------------------------------------


def _read(work: Work, split: Split) -> Iterator[Message]:
    request = work.request
    with _open_reader(work, work.table.stream([split])) as reader:
        if request.bound is None:
            yield from _iter_answers(work, reader)
            return
        put_labels(reader.connection, request.groups)
        cells = locate(request, build_rows(request, reader.fields), everything=False)
        columns = [col(name) for name in dict.fromkeys(["u", *cells.content])]
        query = cells.relation.select([*columns, _compute_bucket(work, ["u"])])
        yield from deal_rows(_iter_batches(reader, query), ROWS)


def _bound(work: Work, bodies: Sequence[bytes]) -> Iterator[Message]:
    with _open_reader(work, _receive_rows(work, bodies)) as reader:
        yield from _iter_answers(work, reader, partial(_wrap_cells, work.request))


def _iter_answers(
    work: Work, reader: FieldReader, cells: Callable[[Rows], Cells] | None = None
) -> Iterator[Message]:
    """Answer over these records: sums, and rows alike in cell and value."""
    request = work.request
    others = find_distinct_places(request)
    messages: list[Message] = []

    def take(sql: Sql, places: Sequence[int]) -> int:
        kind = places[0] if places and places[0] in others else ROWS
        if kind == ROWS:
            answer = Answer(request, places)
            query = answer.hand_on(sql, _compute_bucket(work, answer.own))
        else:
            value = execution.rows.values[request.measures[kind].column or ""]
            query = sql.subquery("alike").select([STAR, _compute_bucket(work, [value])])
        messages.extend(deal_rows(list(_iter_batches(reader, query)), kind))
        return 0  # the records of no cell are left out, so that their number says nothing

    def alike(cells: Cells, place: int) -> Sql:
        measure = request.measures[place]
        rows = _drop_unmeasured(measure, cells.rows)
        return merge_alike_rows(request, cells, [*rows.values.values(), *rows.conditions.values()])

    execution = Execution(request, reader, take, cells)
    execution.take_sums()
    execution.take_distinct(others, alike)
    yield from messages


def _merge(work: Work, bodies: Bodies) -> Iterator[Message]:
    request = work.request
    for kind, blobs in bodies.items():
        with _open_reader(work, _receive_rows(work, blobs)) as reader:
            if kind == ROWS:
                answer = Answer(request, find_additive_places(request) or ())
                combine = partial(_add_up, answer)
            else:
                cells = _wrap_cells(request, build_rows(request, reader.fields))
                combine = partial(_count_distinct, request, replace(cells, weight="n"), kind)

            def fetch_tables(part: Part, combine: Callable[[Part], Sql] = combine) -> list[Any]:
                return list(_iter_batches(reader, combine(part)))

            for answers in run_in_parts(fetch_tables):
                yield from deal_rows(answers, kind)


def _add_up(answer: Answer, part: Part) -> Sql:
    return answer.add_up(col(RECORDS).only(part.build_condition(*answer.own)))


def _count_distinct(request: AggregateRequest, cells: Cells, place: int, part: Part) -> Sql:
    """Write SQL of the number of distinct values among rows that are alike in cell and value."""
    measure = request.measures[place]
    cells = replace(cells, rows=_drop_unmeasured(measure, cells.rows))
    cells = cells.filter(part.build_condition(*cells.rows.values.values()))
    sql = sum_measures(request, cells, [measure])
    return Answer(request, [place]).hand_on(sql, literal(0).alias(BUCKET))


def _drop_unmeasured(measure: Measure, rows: Rows) -> Rows:
    """Drop what a number of distinct values is not counted of."""
    values = {name: key for name, key in rows.values.items() if name == measure.column}
    conditions = {where: key for where, key in rows.conditions.items() if where == measure.where}
    return replace(rows, quantities={}, values=values, conditions=conditions)


def _wrap_cells(request: AggregateRequest, rows: Rows) -> Cells:
    """Describe rows that were located in another task."""
    return replace(locate(request, rows, everything=False), relation=col(RECORDS))


def _receive_rows(work: Work, bodies: Sequence[bytes]) -> RecordStream:
    """Receive rows that came through Spark, of records of the same fields."""
    table = read_rows(bodies)
    return RecordStream(
        work.table.stream().fields,
        lambda _count, _only: (table.schema, iter(table.to_batches())),
        lambda: len(table),
    )


@contextmanager
def _open_reader(work: Work, records: RecordStream) -> Iterator[FieldReader]:
    """Open the records in a DuckDB of one thread: a task has one core."""
    stream = Stream()
    integers, joined = count_held_integers(work.request), count_joined_at_once(work.request)
    with open_session((), integers, threads=1, joined=joined) as connection, stream.raise_cause():
        yield read_stream(records, connection, stream)


def _iter_batches(reader: FieldReader, query: Sql) -> Iterator[Any]:
    """Iterate over the rows of a query as Arrow tables."""
    import pyarrow as pa

    reader.renew({}, None)
    with reader.connection.sql(str(query)).to_arrow_reader(BATCH) as batches:
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _compute_bucket(work: Work, columns: Sequence[str]) -> Sql:
    """Compute the bucket of a row: rows alike in these columns share one."""
    return (call("HASH", *map(col, columns)) % work.buckets).cast("BIGINT").alias(BUCKET)
