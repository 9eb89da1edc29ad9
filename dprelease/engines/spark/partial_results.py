"""Answers on their way: which columns they have, how they are added up, and the exact table.

An answer has the columns that ``measures`` writes. Sums can be wider than 64 bits, and Arrow has no
integers of 128: they cross as texts of decimal digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dprelease.engines.duckdb.duckdb_session import open_session
from dprelease.engines.duckdb.results import build_tallies
from dprelease.engines.spark.spark_messages import BUCKET, ROWS, Message, read_rows
from dprelease.expressions.sqltext import Sql, call, col, literal
from dprelease.model import AggregateRequest, ExactTable
from dprelease.sources.shared.request_content import find_additive_places


class Answer:
    """The columns of an answer to the measures at ``places``, to scores or to points.

    ``names`` are all in order, ``own`` those that tell one row from another, ``wide`` sums.
    """

    def __init__(self, request: AggregateRequest, places: Sequence[int]) -> None:
        keys = [f"g{place}" for place, group in enumerate(request.groups) if group.private]
        self.own = ["cell", *keys]
        self.wide = [f"m{place}" for place in places]
        self.names = ["cell", "records", *self.wide, *keys]
        if request.points is not None:
            self.own.append("point")
            self.names = ["cell", "records", "point", "often", *keys]
        elif request.scores is not None:
            self.own.append("j")
            self.names = ["cell", "records", *self.wide, "j", *keys]

    def hand_on(self, sql: Sql, bucket: Sql) -> Sql:
        """Write SQL that reads the answer to a statement, cells only, for sending."""
        source = sql.subquery("answer", self.names)
        columns = [
            col(name).cast("VARCHAR").alias(name) if name in self.wide else col(name)
            for name in self.names
        ]
        return source.select([*columns, bucket], where=col("cell") >= 0)

    def add_up(self, source: Sql) -> Sql:
        """Write SQL that adds up rows that were sent, for sending to the driver."""
        columns = []
        for name in self.names:
            if name in self.own:
                columns.append(col(name))
            elif name in self.wide:
                total = call("SUM", col(name).cast("HUGEINT"))
                columns.append(total.cast("VARCHAR").alias(name))
            else:
                columns.append(call("SUM", col(name)).cast("BIGINT").alias(name))
        return source.select([*columns, literal(0).alias(BUCKET)], [col(name) for name in self.own])

    def read_received(self, relation: str) -> Sql:
        """Write SQL that reads rows that were sent, as ``measures`` writes them."""
        return col(relation).select(
            [
                col(name).cast("HUGEINT").alias(name) if name in self.wide else col(name)
                for name in self.names
            ]
        )


def build_exact_table(request: AggregateRequest, messages: Iterable[Message]) -> ExactTable:
    """Add up the answers of all buckets."""
    tallies = build_tallies(request)
    with open_session((), threads=1) as connection:
        for message in messages:
            places = (
                (find_additive_places(request) or ()) if message.kind == ROWS else (message.kind,)
            )
            connection.register("answer", read_rows([message.body]))
            sql = Answer(request, places).read_received("answer")
            tallies.add(connection.execute(str(sql)), places)
    return tallies.build_table()
