"""Record batches with the declared columns, built from the batches of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from dprelease.sources.shared.arrow_types import name_duckdb_type
from dprelease.sources.shared.arrow_values import convert_readable
from dprelease.sources.shared.partitions import Partitions, repeat_text


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

    def list_places(self) -> dict[str, str]:
        """List the names in batches of columns that come as places in dictionaries."""
        return {name: self.fields[name] for name in (*self.coded, *self.partitions)}

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
