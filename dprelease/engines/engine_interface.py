"""What an engine is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dprelease.model import (
    AggregateRequest,
    ExactRecords,
    ExactTable,
    InputColumn,
    RecordRequest,
    Source,
)
from dprelease.sources.shared.data_failures import Share


class Engine(Protocol):
    """Answers one request with exact integers.

    ``inspect`` looks at structure only (names, types, headers) and fails with exit code 4.
    ``aggregate`` and ``records`` run after the charge. No value in the data makes them fail; they
    fail, with exit code 5, only when the files can't be read at all, or memory runs out. What is a
    bug of ours is an InternalError, before and after the charge.

    Both call ``share``, if there is one, from any thread and a few times a second, with how much
    of the request's reading is done: bytes, records or row groups, of all readings that the engine
    knows it will take. It never falls, and is 1 at the end only. Nobody waiting, it is None.
    """

    @property
    def name(self) -> str:
        """The name in ``[data] engine``."""
        ...

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> None:
        """Check that the source has the declared columns; raises Failure(DATA)."""
        ...

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """The exact integers of every cell; raises Failure(AFTER_CHARGE)."""
        ...

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """The codes of every record, in batches and in any order, in bounded memory.

        Nothing is read before the first batch is asked for; taking a batch raises
        Failure(AFTER_CHARGE), also after the last one: only a stream that has ended by itself was
        read from files that did not change meanwhile. A stream that is dropped is closed.
        """
        ...
