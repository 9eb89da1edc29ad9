"""Result of a run: the plan, the report and the published tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

# `help` resolves the types of the fields.
from dprelease.errors import Complaint
from dprelease.model import OutputTable
from dprelease.output.table_files import RecordFile
from dprelease.release.plan import ReleasePlan

if TYPE_CHECKING:
    import pyarrow as pa

REHEARSED = "REHEARSAL_"  # begins the names of tables of a rehearsal


class Result(Struct, frozen=True, eq=False, dict=True):
    """Published files and tables of a run. ``report`` is the dict of report.json."""

    plan: ReleasePlan
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
        tables = [table.name for table in self.output_tables]
        tables += [file.table.name for file in self.records]
        release = self.plan.release
        mark = "REHEARSAL of" if release.rehearsal else "Result of"
        return f"<{mark} {release.about.name}: {', '.join(tables)} in {self.output}>"

    def _repr_html_(self) -> str:
        from dprelease.reports.text.notebook import MOST_ROWS, render_table

        parts = []
        for name, table in self.tables.items():
            rows = table.slice(0, MOST_ROWS).to_pylist()
            title = f"{self.plan.release.about.name}: {name}, {table.num_rows:,} rows"
            mark = "REHEARSAL: " if self.plan.release.rehearsal else ""
            cells = [list(row.values()) for row in rows]
            parts.append(render_table(mark + title, table.column_names, cells))
        return "".join(parts)

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """Published tables by name, as pyarrow tables."""
        from dprelease.output.parquet_table import to_arrow

        tables = {table.name: to_arrow(table) for table in self.output_tables}
        if self.records:
            from dprelease.local.store.read_table import read_arrow_table

            steps = {step.perturb.name: step for step in self.plan.records}
            tables |= {file.table.name: read_arrow_table(file, steps) for file in self.records}
        if self.plan.release.rehearsal:  # what is tried on it works on a run
            return {name.removeprefix(REHEARSED): table for name, table in tables.items()}
        return tables
