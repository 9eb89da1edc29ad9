"""Published tables as files, in the format that the spec asks for."""

from __future__ import annotations

import hashlib

from msgspec import Struct

from dprelease.model import OutputTable, StoredTable
from dprelease.output.csv_table import write_csv
from dprelease.output.parquet_table import write_parquet

WRITERS = {"csv": write_csv, "parquet": write_parquet}


class WrittenTable(Struct, frozen=True):
    """A table and the file made of it."""

    table: OutputTable
    format: str
    file: str
    content: bytes
    sha256: str  # of the content, in hex: large tables are hashed once

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.content)


class RecordFile(Struct, frozen=True):
    """A table of records, whose rows stay in the stored file; ``table`` describes its columns."""

    table: OutputTable
    stored: StoredTable

    @property
    def format(self) -> str:
        """Of the file: "csv" or "parquet"."""
        return self.stored.format

    @property
    def file(self) -> str:
        """The name under which it is published."""
        return name_table_file(self.table.name, self.format)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.stored.size

    @property
    def sha256(self) -> str:
        """Of the content, in hex."""
        return self.stored.sha256


def write_table(table: OutputTable, format: str) -> WrittenTable:
    """Write a table as a file; the same table gives the same bytes.

    Args:
        table: A published table.
        format: "csv" or "parquet".

    Returns:
        The file with its name, content and SHA-256.
    """
    content = WRITERS[format](table)
    digest = hashlib.sha256(content).hexdigest()
    return WrittenTable(table, format, name_table_file(table.name, format), content, digest)


def name_table_file(table: str, format: str) -> str:
    """Name the file of a table.

    Args:
        table: The name of the table.
        format: "csv" or "parquet".

    Returns:
        The name, relative to the output folder.
    """
    return f"{table}.{format}"
