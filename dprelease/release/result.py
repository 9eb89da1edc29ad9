"""Result of a run: the plan, the report and the published tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dprelease.errors import Complaint
from dprelease.model import OutputTable, Plan
from dprelease.output.tables import RecordFile

if TYPE_CHECKING:
    import pyarrow as pa

REHEARSED = "REHEARSAL_"  # begins the names of tables of a rehearsal


@dataclass(frozen=True)
class Result:
    """What a run published. ``report`` is the dict of report.json."""

    plan: Plan
    report: dict[str, Any]
    output: str
    files: tuple[str, ...]
    already_released: bool
    charged: bool  # by this call: of several that run at once, one is
    released_at: str
    output_tables: tuple[OutputTable, ...]
    records: tuple[RecordFile, ...] = ()
    warnings: tuple[Complaint, ...] = ()  # what the ledger has to say of the dataset

    def __repr__(self) -> str:
        """Name the release and its tables; all else would fill a screen."""
        tables = ", ".join(
            [
                *(table.name for table in self.output_tables),
                *(file.table.name for file in self.records),
            ]
        )
        return f"<Result of {self.plan.release.about.name}: {tables} in {self.output}>"

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The published tables by name, as pyarrow tables."""
        from dprelease.output.parquet_table import to_arrow

        tables = {table.name: to_arrow(table) for table in self.output_tables}
        if self.records:
            from dprelease.local.read_table import arrow_of

            steps = {step.perturb.name: step for step in self.plan.records}
            tables |= {file.table.name: arrow_of(file, steps) for file in self.records}
        if self.plan.release.rehearsal:  # what is tried on it works on a run
            return {name.removeprefix(REHEARSED): table for name, table in tables.items()}
        return tables
