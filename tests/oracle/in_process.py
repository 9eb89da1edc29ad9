"""A cluster in this process: it deals messages to tasks as Spark does, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from dprelease.engines.spark import spark_engine, splits
from dprelease.engines.spark.cluster import Stage
from dprelease.engines.spark.spark_engine import Spark
from dprelease.engines.spark.spark_messages import Message
from dprelease.model import AggregateRequest, ExactTable
from dprelease.sources.shared.data_failures import Share
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.source_format import Table


class InProcess:
    """Runs tasks one after the other, each stage's messages in an order that is not theirs."""

    def check(self, paths: Sequence[str]) -> None:
        """All is as here."""

    def answers(self) -> bool:
        """It always does."""
        return True

    def run(
        self,
        tasks: int,
        first: Callable[[int], Iterator[Message]],
        later: Sequence[Stage],
        share: Callable[[float], None],
    ) -> Sequence[Message]:
        """See ``Cluster``."""
        messages = [message for number in range(tasks) for message in first(number)]
        for done, stage in enumerate(later, 1):
            dealt: list[list[Message]] = [[] for _ in range(stage.partitions)]
            for message in reversed(messages):
                dealt[7 * message.bucket % stage.partitions].append(message)
            messages = [message for part in dealt for message in stage.task(iter(part))]
            share(done / (len(later) + 1))
        return messages


class SmallSplits(Spark):
    """Spark's engine without Spark, with few small splits and two partitions of a shuffle."""

    def __init__(self, cluster: InProcess | None = None) -> None:
        super().__init__(cluster or InProcess())

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """See ``Engine``."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(splits, "SMALLEST", 41)
            patch.setattr(splits, "WANTED", 2)
            patch.setattr(spark_engine, "plan_splits", _as_if_large)
            patch.setattr(spark_engine, "FEW", 50)
            return super().aggregate(request, share)


def _as_if_large(table: Table, finer: int) -> tuple[tuple[Split, ...], int]:
    return splits.plan_splits(table, finer)[0], 2 * spark_engine.PARTITION
