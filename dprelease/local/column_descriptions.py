"""The columns of a record-level table in words and types, for packages and Parquet files."""

from __future__ import annotations

from dprelease.local.cells import LabelCells, cells_of
from dprelease.model import About, OutputColumn, OutputTable, RecordStep, Response


def described(step: RecordStep, about: About) -> OutputTable:
    """Describe the table: its columns, and for values the labels that they can hold."""
    columns = tuple(_column(each) for each in step.responses)
    return OutputTable(step.perturb.name, columns, about.title or about.name)


def _column(response: Response) -> OutputColumn:
    name, cells = response.column.name, cells_of(response)
    if not isinstance(cells, LabelCells):
        words = f"{name} of one record, with noise of its own ({response.mechanism})"
        kind = "number" if cells.places else "integer"
        return OutputColumn(name, kind, (), words, decimals=cells.places)
    if cells.numbered:
        words = (
            f"numbers of {cells.size} of the {len(cells.labels)} labels of {name}, counted from 1 "
            "in declared order: the true one is more often among them than any other"
        )
        return OutputColumn(name, "text", (), words)
    if cells.size > 1:
        words = (
            f'{cells.size} of the {len(cells.labels)} labels of {name}, with "{cells.separator}" '
            "between them: the true one is more often among them than any other"
        )
        return OutputColumn(name, "text", cells.labels, words)
    words = f"{name} of one record, or another label in its place ({response.mechanism})"
    return OutputColumn(name, "label", cells.labels, words, type=cells.type)
