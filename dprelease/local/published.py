"""A published table of records as Arrow has it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from dprelease.local.reading import read_columns
from dprelease.local.writing import empty, to_arrow
from dprelease.model import RecordStep
from dprelease.output.tables import RecordFile


def arrow_of(file: RecordFile, steps: Mapping[str, RecordStep]) -> pa.Table:
    """A published table of records as one Arrow table, all in memory."""
    step = steps[file.table.name]
    with open(file.stored.path, "rb") as source:
        rows = read_columns(source, file.stored.path, file.format, step)
        parts = list(to_arrow(step, file.table, rows))
    return pa.concat_tables(parts) if parts else empty(step, file.table)
