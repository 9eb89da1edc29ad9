"""What the engine wants of a cluster: stages of tasks, with messages dealt between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from dprelease.engines.spark.spark_messages import Message

if TYPE_CHECKING:
    from dprelease.sources.shared.data_failures import Share


class Stage(Struct, frozen=True):
    """So many tasks, each of which gets all messages of its buckets, and those of no other task."""

    partitions: int
    task: Callable[[Iterable[Message]], Iterator[Message]]


class ClusterError(Exception):
    """The cluster did not do what it was asked, for reasons that are not the tasks' own."""


class Cluster(Protocol):
    """Runs tasks, each perhaps more than once, and hands on what one run of each has given."""

    def check(self, paths: Sequence[str]) -> None:
        """Try that all executors have the same versions, and can open the files.

        Raises Failure(DATA). Nothing is read of the files but their first byte.
        """
        ...

    def run(
        self,
        tasks: int,
        first: Callable[[int], Iterator[Message]],
        later: Sequence[Stage],
        share: Share,
    ) -> Sequence[Message]:
        """The messages of the last stage; ``first`` gets numbers from 0. Raises ClusterError."""
        ...

    def answers(self) -> bool:
        """Whether it still runs the smallest of tasks."""
        ...
