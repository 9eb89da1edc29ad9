"""Record batches with the declared columns, built from the batches of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from dprelease.expressions.sqltext import col
from dprelease.sources.shared.arrow_types import name_duckdb_type
from dprelease.sources.shared.arrow_values import convert_readable
from dprelease.sources.shared.partitions import Partitions, repeat_text
from dprelease.sources.shared.record_stream import RECORDS, Columns, Fields, RecordStream


class ColumnLayout(Struct, frozen=True):
    """The columns to be read, the same in all files.

    ``types`` gives the Arrow type of each column as the reader hands it on. Texts of the columns
    ``coded`` come as places in a dictionary: faster, and the same texts. ``partitions`` has the
    columns that folders give, as texts. ``fields`` are the names of all columns in the batches.
    ``zones`` are the time zones that stored types name.
    """

    types: Mapping[str, Any]
    coded: frozenset[str]
    partitions: Partitions
    fields: Mapping[str, str]
    zones: Mapping[str, str]

    def open_stream(
        self,
        iter_batches: Callable[[Self, Any, Callable[[int], None]], Iterator[Any]],
        size: Callable[[], int],
        record_count: int | None = None,
    ) -> RecordStream:
        """Open a stream of these columns.

        Args:
            iter_batches: Reads the columns of a layout, as batches of its schema; it tells the
                function that it is given of the size of each piece read.
            size: Returns the total size of the pieces.
            record_count: The number of records, if it is known.
        """

        def open_columns(count: Callable[[int], None], only: Columns) -> tuple[Any, Iterator[Any]]:
            layout = self if only is None else self.select_columns(only)
            schema = layout.build_schema()
            return schema, iter_batches(layout, schema, count)

        columns = {name: col(field) for name, field in self.fields.items()}
        fields = Fields(col(RECORDS), columns, self.list_duckdb_types(), zones=self.zones)
        places = {name: self.fields[name] for name in (*self.coded, *self.partitions)}
        return RecordStream(
            fields, open_columns, size, cheap=True, record_count=record_count, coded=places
        )

    def list_duckdb_types(self) -> dict[str, str]:
        """List the DuckDB type of each column of the files; the others are texts."""
        return {name: name_duckdb_type(kind) for name, kind in self.types.items()}

    def select_columns(self, names: frozenset[str]) -> Self:
        """Return the layout of these columns only."""
        return replace(
            self,
            types={name: kind for name, kind in self.types.items() if name in names},
            partitions={
                name: texts for name, texts in self.partitions.items() if name in names
            },
        )  # fmt: skip

    def build_schema(self) -> Any:
        """Build the schema of the batches; without a wanted column it has one of nulls."""
        import pyarrow as pa

        coded = {name: pa.dictionary(pa.int32(), self.types[name]) for name in self.types}
        kinds = {name: coded[name] if name in self.coded else self.types[name] for name in coded}
        kinds |= dict.fromkeys(self.partitions, pa.dictionary(pa.int32(), pa.string()))
        fields = [(self.fields[name], kind) for name, kind in kinds.items()]
        return pa.schema(fields or [("f0", pa.null())])

    def build_batch(self, stored: Any, path: str, schema: Any) -> Any:
        """Build a batch of that schema with the records of a file's batch."""
        import pyarrow as pa

        columns = [
            convert_readable(stored.column(stored.schema.get_field_index(name)), kind)
            for name, kind in zip(self.types, schema.types, strict=False)
        ]
        columns += [repeat_text(of[path], stored.num_rows) for of in self.partitions.values()]
        return pa.record_batch(columns or [pa.nulls(stored.num_rows)], schema=schema)


def name_fields(*names: str) -> dict[str, str]:
    """Name columns in batches: a name of the data must not become SQL."""
    return {name: f"f{place}" for place, name in enumerate(names)}
