"""Parquet files as a source of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dprelease.engines.common.files import Split
from dprelease.engines.duckdb.sources import RECORDS, RecordStream
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.engines.parquet.reader import opened
from dprelease.engines.parquet.schema import ParquetLayout, lay_out_parquet
from dprelease.expressions.sqltext import col
from dprelease.model import InputColumn, Source


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """See ``Table``."""

    layout: ParquetLayout

    @property
    def paths(self) -> tuple[str, ...]:
        """See ``Table``."""
        return self.layout.paths

    def stream(self, splits: Sequence[Split] = ()) -> RecordStream:
        """See ``Table``."""
        layout = self.layout
        parts = splits or [Split(path) for path in layout.paths]
        columns = {name: col(field) for name, field in layout.fields.items()}
        return RecordStream(
            Fields(col(RECORDS), columns, layout.duckdb_types()),
            lambda count, only: opened(layout, parts, count, only),
            lambda: layout.records,
            cheap=True,
            record_count=None if splits else layout.records,
            coded=layout.places(),
        )

    def fast(self) -> None:
        """One reader reads all Parquet files."""

    def pieces(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """The row groups, by the bytes of the columns that are read, before compression."""
        return list(zip(self.layout.paths, self.layout.row_groups, strict=True))


class Parquet:
    """See ``SourceFormat``."""

    def lay_out(self, source: Source, inputs: Sequence[InputColumn]) -> ParquetTable:
        """See ``SourceFormat``; raises Failure(DATA)."""
        return ParquetTable(lay_out_parquet(source, inputs))


SOURCE = Parquet()
