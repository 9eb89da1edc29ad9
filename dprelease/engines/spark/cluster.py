"""What the engine wants of a cluster: stages of tasks, with messages dealt between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from dprelease.engines.spark.spark_messages import Message

if TYPE_CHECKING:
    from dprelease.sources.shared.data_failures import Share


class Stage(Struct, frozen=True):
    """A number of tasks, each of which gets all messages of its buckets and no others."""

    partitions: int
    task: Callable[[Iterable[Message]], Iterator[Message]]


class ClusterError(Exception):
    """The cluster did not do what it was asked, for reasons that are not the tasks' own."""


class Cluster(Protocol):
    """Runs tasks, each perhaps more than once, and passes on the messages of one run of each."""

    def check(self, paths: Sequence[str]) -> None:
        """Check that all executors have the same versions and can open the files.

        Args:
            paths: Files of the source; only the first byte of any is read.

        Raises:
            Failure: Exit code 4.
        """
        ...

    def run(
        self,
        tasks: int,
        first: Callable[[int], Iterator[Message]],
        later: Sequence[Stage],
        share: Share,
    ) -> Sequence[Message]:
        """Run a first stage of tasks and the stages after it.

        Args:
            tasks: Number of tasks of the first stage.
            first: The first task; it gets numbers from 0.
            later: Stages that get the messages of the one before.
            share: Is told which part of the tasks is done.

        Returns:
            The messages of the last stage.

        Raises:
            ClusterError: The cluster failed for reasons that are not the tasks' own.
        """
        ...

    def answers(self) -> bool:
        """Tell if the cluster still runs the smallest of tasks."""
        ...
