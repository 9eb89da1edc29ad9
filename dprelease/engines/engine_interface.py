"""What an engine is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dprelease.errors import Complaint
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
    """Answers requests with exact integers.

    No value of the data makes an engine fail: after the charge it fails only if files can't be read
    or memory runs out (exit code 5). A bug of the engine is an InternalError, before and after the
    charge.
    """

    @property
    def name(self) -> str:
        """Name in ``[data] engine``."""
        ...

    def inspect(self, source: Source, inputs: Sequence[InputColumn]) -> tuple[Complaint, ...]:
        """Check that the source has the declared columns, by names, types and headers only.

        Args:
            source: Where the table is and how it is written.
            inputs: The columns that requests will read or compute.

        Returns:
            Warnings, with the keys of the spec that they are about.

        Raises:
            Failure: Exit code 4 if a column is missing or has another type, or a file can't be
                read.
        """
        ...

    def aggregate(self, request: AggregateRequest, share: Share | None = None) -> ExactTable:
        """Compute the exact integers of every cell.

        Args:
            request: Source, columns, groups and measures.
            share: Called from any thread, a few times a second, with the share of the reading that
                is done: it never falls, and is 1 at the end only. None if nobody waits.

        Returns:
            One sequence of integers for each measure, and the keys of private groups; see
            ``ExactTable``.

        Raises:
            Failure: Exit code 5 if files can't be read or memory runs out.
        """
        ...

    def records(self, request: RecordRequest, share: Share | None = None) -> ExactRecords:
        """Stream the codes of every record, in any order and in bounded memory.

        Nothing is read before the first batch is asked for. Only a stream that has ended by itself
        was read from files that did not change meanwhile. A stream that is dropped is closed.

        Args:
            request: Source and columns.
            share: As for ``aggregate``.

        Returns:
            Batches of one array for each column; see ``ExactRecords``.

        Raises:
            Failure: Exit code 5, while a batch is taken, also after the last one.
        """
        ...
