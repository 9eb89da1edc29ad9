"""The Spark engine: what tasks are asked, that all of them answered once, and the exact table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from dprelease.engines.duckdb.duckdb_errors import translate_after_charge
from dprelease.engines.duckdb.duckdb_session import check_memory, check_zones
from dprelease.engines.spark.cluster import Cluster, ClusterError, Stage
from dprelease.engines.spark.partial_results import build_exact_table
from dprelease.engines.spark.spark_messages import DONE, FAILED, Message
from dprelease.engines.spark.splits import plan_splits
from dprelease.engines.spark.tasks import Work, bound, merge, read
from dprelease.engines.spark.versions import list_versions
from dprelease.errors import Complaint, Failure, InternalError
from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)
from dprelease.sources.shared.data_failures import (
    OUT_OF_MEMORY,
    Share,
    build_cluster_failure,
    build_lost_failure,
    build_memory_failure,
    build_unended_failure,
)
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.request_content import count_held_integers, find_distinct_places
from dprelease.sources.shared.source_format import Table, lay_out, warn_about_zones

PARTITION = 1 << 26  # bytes of the table for each partition of a shuffle
BUCKETS = 4  # for each partition: a hash deals them, and would deal few unevenly
FEW = 1 << 18  # integers that one task adds up
TASK_MEMORY = "spark.executorEnv.DPRELEASE_MEMORY"  # a setting of Spark
ATTEMPTS = 4  # each with twice as many partitions, and with splits of half the size


class Spark:
    """See ``Engine``. Tasks read the files by themselves, and hand on packed rows."""

    name = "spark"

    def __init__(self, cluster: Cluster | None = None) -> None:
        self._cluster = self._given = cluster

    def open_in(self, session: object) -> Spark:
        """Return the engine in a Spark session of the caller's."""
        from dprelease.engines.spark.spark_session import SparkCluster

        return Spark(SparkCluster(session))

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        """See ``Engine``; also checks that all executors can do the work."""
        check_memory()
        check_zones(inputs)
        table = lay_out(source, inputs)
        self._get_cluster().check(table.paths)
        return warn_about_zones(table, inputs)

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """See ``Engine``."""
        with translate_after_charge(request.source):
            table, cluster = lay_out(request.source, request.inputs), self._get_cluster()
            problem: Failure = build_memory_failure(TASK_MEMORY)
            progress = ReadShare(share)
            for attempt in range(ATTEMPTS):
                progress.begin(1)
                try:
                    messages = collect_messages(
                        cluster, request, table, 1 << attempt, progress.read
                    )
                except ClusterError:
                    problem = build_cluster_failure()
                    if not cluster.answers():
                        self._cluster = self._given  # another run looks for another session
                        break
                    continue
                codes = {word.body.decode() for word in messages if word.kind == FAILED}
                if not codes:
                    answer = build_exact_table(request, messages)
                    progress.finish()
                    return answer
                problem = build_failure(codes)
                if problem.complaints[0].code != OUT_OF_MEMORY:
                    break
            raise problem

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """Raise InternalError: a spec with record-level tables is refused."""
        raise InternalError("records")

    def _get_cluster(self) -> Cluster:
        if self._cluster is not None:
            return self._cluster
        # Not kept: whoever has begun the machine's session may have stopped it since.
        from dprelease.engines.spark.spark_session import find_cluster

        return find_cluster()


ENGINE = Spark()


def build_failure(codes: set[str]) -> Failure:
    """Build the failure for the codes of tasks; raises InternalError for an unknown code."""
    of_tasks = (build_memory_failure(TASK_MEMORY), build_lost_failure(), build_unended_failure())
    failures = {failure.complaints[0].code: failure for failure in of_tasks}
    failures["E416"] = build_cluster_failure()
    for code in sorted(codes - set(failures)):
        raise InternalError(code)
    return failures[max(codes)]


def collect_messages(
    cluster: Cluster,
    request: AggregateRequest,
    table: Table,
    finer: int,
    share: Share,
) -> Sequence[Message]:
    """Run the stages of a request.

    Args:
        cluster: Runs the tasks.
        request: The request.
        table: The laid-out source.
        finer: Factor by which there are more and smaller tasks.
        share: Is told which part of the tasks is done.

    Returns:
        The messages of the last stage, without the reports of tasks.

    Raises:
        ClusterError: The cluster failed, or a task was not done or done twice.
    """
    splits, size = plan_splits(table, finer)
    if not splits:
        return ()
    partitions = finer * -(-size // PARTITION)
    integers = count_held_integers(request) * (len(splits) if request.bound is None else partitions)
    is_small = request.points is None and not request.private and not find_distinct_places(request)
    adding = 1 if is_small and integers <= FEW else partitions
    work = Work(request, table, splits, BUCKETS * partitions, list_versions())
    answering = replace(work, buckets=1 if adding == 1 else BUCKETS * adding)
    later = [Stage(adding, partial(merge, answering))]
    if request.bound is not None:
        later.insert(0, Stage(partitions, partial(bound, answering)))
    reading = answering if request.bound is None else work
    messages = cluster.run(len(splits), partial(read, reading), later, share)
    if not any(message.kind == FAILED for message in messages):
        check_complete(messages, len(splits))
    return [message for message in messages if message.kind != DONE]


def check_complete(messages: Sequence[Message], splits: int) -> None:
    """Check that every split was read once, and every message arrived once.

    Args:
        messages: All messages of the last stage.
        splits: Number of splits.

    Raises:
        ClusterError: Something is missing or doubled.
    """
    reports = [json.loads(message.body) for message in messages if message.kind == DONE]
    places = Counter((task["stage"], place) for task in reports for place in task["places"])
    moved: Counter[str] = Counter()
    for task in reports:
        moved["sent"] += task["sent"]
        moved["received"] += task["received"]
    last = sum(message.kind not in (DONE, FAILED) for message in messages)
    complete = {("read", place) for place in range(splits)} <= set(places)
    once = set(places.values()) == {1}
    if not (complete and once and moved["sent"] == moved["received"] + last):
        raise ClusterError("incomplete")
