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

from dprelease.engines.duckdb.duckdb_errors import Stream, after_charge
from dprelease.engines.duckdb.duckdb_session import session
from dprelease.engines.duckdb.execute import Execution
from dprelease.engines.duckdb.field_reader import RECORDS, FieldReader, RecordStream
from dprelease.engines.duckdb.group_keys import put_labels
from dprelease.engines.duckdb.hash_parts import Part, in_parts
from dprelease.engines.duckdb.measures import count_joined_at_once, gathered, measures_of
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
    dealt,
    rows_in,
)
from dprelease.engines.spark.versions import versions
from dprelease.errors import Failure, kind_of
from dprelease.expressions.sqltext import STAR, Sql, call, col, literal
from dprelease.model import AggregateRequest, Measure
from dprelease.sources.shared.data_failures import bad_data, out_of_memory
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.request_content import additive_places, distinct_places, held_at_once
from dprelease.sources.source_format import Table

LARGEST = 1 << 30  # bytes of rows that a task holds; with more there must be more buckets


class Work(Struct, frozen=True):
    """What every task of a request knows.

    ``buckets`` is how many there are to deal rows to. ``versions`` are those of the driver: with
    others a unit's rows could have other hashes, and be dealt to two tasks.
    """

    request: AggregateRequest
    table: Table
    splits: tuple[Split, ...]
    buckets: int
    versions: Mapping[str, str]

    def check_versions(self) -> None:
        """Refuse to work on a machine that is not like the driver's; raises Failure(DATA)."""
        if versions() != self.versions:
            raise bad_data("E416", "executors have other versions", "install the same ones")


# --- the tasks -----------------------------------------------------------------------------------


def read(work: Work, place: int) -> Iterator[Message]:
    """Of one split: its rows that lie in cells if units are bounded, else its answers."""
    report = Told("read", (place,), bucket=place % work.buckets)
    return report.around(work, lambda: _read(work, work.splits[place]))


def bound(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
    """The answers over all rows of the units in these buckets, no more of each than its bound."""
    return _passed_on(work, "bound", messages, lambda bodies: _bound(work, bodies[ROWS]))


def merge(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
    """The answers of these buckets, added up, or counted where values are distinct."""
    return _passed_on(work, "merge", messages, lambda bodies: _merge(work, bodies))


class Told(Struct):
    """What a task says when it is done: its stage, the splits or buckets it did, what it moved."""

    stage: str
    places: tuple[int, ...] = ()
    received: int = 0
    sent: int = 0
    bucket: int = 0

    def around(self, work: Work, make: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        """The messages that are made, and at last that they were, or a code that says why not."""
        try:
            work.check_versions()
            with after_charge(work.request.source):
                for message in make():
                    self.sent += 1
                    yield message
        except Failure as failure:
            code = failure.complaints[0].code
        except Exception as problem:
            code = kind_of(problem)  # the name of its class: its text may quote the data
        else:
            words = {"stage": self.stage, "places": self.places}
            moved = {"received": self.received, "sent": self.sent}
            yield Message(self.bucket, DONE, json.dumps(words | moved).encode())
            return
        yield Message(self.bucket, FAILED, code.encode())


Bodies = dict[int, list[bytes]]


def _passed_on(
    work: Work, stage: str, messages: Iterable[Message], make: Callable[[Bodies], Iterable[Message]]
) -> Iterator[Message]:
    """What is made of all messages, and those that tell what was done before."""
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

    def made() -> Iterable[Message]:
        if size > LARGEST:
            raise out_of_memory()
        return make(bodies) if bodies else ()

    yield from Told(stage, tuple(sorted(buckets)), received).around(work, made)


# --- what they are made of ------------------------------------------------------------------------


def _read(work: Work, split: Split) -> Iterator[Message]:
    request = work.request
    with _reader(work, work.table.stream([split])) as reader:
        if request.bound is None:
            yield from _answers(work, reader)
            return
        put_labels(reader.connection, request.groups)
        cells = locate(request, build_rows(request, reader.fields), everything=False)
        columns = [col(name) for name in dict.fromkeys(["u", *cells.content])]
        query = cells.relation.select([*columns, _bucket(work, ["u"])])
        yield from dealt(_batches(reader, query), ROWS)


def _bound(work: Work, bodies: Sequence[bytes]) -> Iterator[Message]:
    with _reader(work, _moved(work, bodies)) as reader:
        yield from _answers(work, reader, partial(_cells_of, work.request))


def _answers(
    work: Work, reader: FieldReader, cells: Callable[[Rows], Cells] | None = None
) -> Iterator[Message]:
    """What is asked for of these records: sums, and rows that are alike in cell and value."""
    request = work.request
    others = distinct_places(request)
    messages: list[Message] = []

    def take(sql: Sql, places: Sequence[int]) -> int:
        kind = places[0] if places and places[0] in others else ROWS
        if kind == ROWS:
            answer = Answer(request, places)
            query = answer.handed_on(sql, _bucket(work, answer.own))
        else:
            value = execution.rows.values[request.measures[kind].column or ""]
            query = sql.subquery("alike").select([STAR, _bucket(work, [value])])
        messages.extend(dealt(list(_batches(reader, query)), kind))
        return 0  # the records of no cell are left out, so that their number says nothing

    def alike(cells: Cells, place: int) -> Sql:
        measure = request.measures[place]
        rows = _counted_in(measure, cells.rows)
        return gathered(request, cells, [*rows.values.values(), *rows.conditions.values()])

    execution = Execution(request, reader, take, cells)
    execution.additive()
    execution.distinct(others, alike)
    yield from messages


def _merge(work: Work, bodies: Bodies) -> Iterator[Message]:
    request = work.request
    for kind, blobs in bodies.items():
        with _reader(work, _moved(work, blobs)) as reader:
            if kind == ROWS:
                answer = Answer(request, additive_places(request) or ())
                made = partial(_added_up, answer)
            else:
                cells = _cells_of(request, build_rows(request, reader.fields))
                made = partial(_counted, request, replace(cells, weight="n"), kind)

            def tables(part: Part, made: Callable[[Part], Sql] = made) -> list[Any]:
                return list(_batches(reader, made(part)))

            for answers in in_parts(tables):
                yield from dealt(answers, kind)


def _added_up(answer: Answer, part: Part) -> Sql:
    return answer.added_up(col(RECORDS).only(part.holds(*answer.own)))


def _counted(request: AggregateRequest, cells: Cells, place: int, part: Part) -> Sql:
    """SQL of the number of distinct values among rows that are alike in cell and value."""
    measure = request.measures[place]
    cells = replace(cells, rows=_counted_in(measure, cells.rows))
    cells = cells.within(part.holds(*cells.rows.values.values()))
    sql = measures_of(request, cells, [measure])
    return Answer(request, [place]).handed_on(sql, literal(0).alias(BUCKET))


def _counted_in(measure: Measure, rows: Rows) -> Rows:
    """The rows with nothing but what a number of distinct values is counted of."""
    values = {name: key for name, key in rows.values.items() if name == measure.column}
    conditions = {where: key for where, key in rows.conditions.items() if where == measure.where}
    return replace(rows, quantities={}, values=values, conditions=conditions)


def _cells_of(request: AggregateRequest, rows: Rows) -> Cells:
    """Rows that were located in another task."""
    return replace(locate(request, rows, everything=False), relation=col(RECORDS))


def _moved(work: Work, bodies: Sequence[bytes]) -> RecordStream:
    """Rows that came through Spark, of records of the same fields."""
    table = rows_in(bodies)
    return RecordStream(
        work.table.stream().fields,
        lambda _count, _only: (table.schema, iter(table.to_batches())),
        lambda: len(table),
    )


@contextmanager
def _reader(work: Work, records: RecordStream) -> Iterator[FieldReader]:
    """The records in a DuckDB of one thread: a task has one core."""
    stream = Stream()
    held, joined = held_at_once(work.request), count_joined_at_once(work.request)
    with session((), held, threads=1, joined=joined) as connection, stream.explained():
        yield records.read_by(connection, stream)


def _batches(reader: FieldReader, query: Sql) -> Iterator[Any]:
    """The rows of a query as Arrow tables."""
    import pyarrow as pa

    reader.renew({}, None)
    with reader.connection.sql(str(query)).to_arrow_reader(BATCH) as batches:
        for batch in batches:
            yield pa.Table.from_batches([batch])


def _bucket(work: Work, columns: Sequence[str]) -> Sql:
    """The bucket of a row: all that are alike in these columns are in one."""
    return (call("HASH", *map(col, columns)) % work.buckets).cast("BIGINT").alias(BUCKET)
