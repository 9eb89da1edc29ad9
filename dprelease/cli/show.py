"""``dprelease show``: released tables for people. Opens no data and no ledger."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dprelease.cli.app import JSON
from dprelease.cli.console import answer, answer_json, folded, remark
from dprelease.cli.views.complaints import complain
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.output.released_tables import Described

MOST_ROWS = 50
MOST_RECORDS = 10

EPILOG = """\b
Example:
  dprelease show out/clinic-visits
  dprelease show out/clinic-visits --table by_region --rows 10
  dprelease show --json out/clinic-visits | jq '.tables[].name'"""


@click.command(epilog=EPILOG)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.option("--table", "names", multiple=True, metavar="T", help="Show this table; repeatable.")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show the first N rows of a table.  [default: {MOST_ROWS}; with --json all; of records "
    f"{MOST_RECORDS}]",
)
@JSON
def show(directory: str, names: tuple[str, ...], rows: int | None, as_json: bool) -> int:
    """Show released tables with their noise intervals.

    DIR is the output of a run. Only what was published is read: its tables and datapackage.json.
    """
    from dprelease.output.released_tables import described_tables, holds_rehearsal, read_rows

    tables = _chosen(described_tables(directory), names, directory)
    rehearsal = {"rehearsal": True} if holds_rehearsal(directory) else {}
    if rehearsal:
        remark("REHEARSAL: all records are made up, and no figure here is released")
    warnings = [table.changed() for table in tables]
    complain([warning for warning in warnings if warning is not None], "warning")
    if as_json:
        from dprelease.cli.views.show import facts_of

        shown = [
            facts_of(table, read_rows(table, _most(table, rows, None)))
            | {"unchanged": warning is None}
            for table, warning in zip(tables, warnings, strict=True)
        ]
        answer_json({"schema": "dprelease/tables/1", **rehearsal, "tables": shown})
        return int(ExitCode.DONE)
    from dprelease.cli.views.show import page_of

    for place, table in enumerate(tables):
        if place:
            answer("")
        answer(page_of(table, read_rows(table, _most(table, rows, MOST_ROWS))))
        if table.records is not None:
            answer("")
            answer("each row is one record, perturbed on its own")
            advice = f"what they tell together: dprelease estimate {table.file}"
            answer(folded(advice, sys.stdout, 2))
    if not tables:
        remark(f"{directory} holds no tables")
    return int(ExitCode.DONE)


def _most(table: Described, rows: int | None, usual: int | None) -> int | None:
    if rows is not None:
        return rows
    return usual if table.records is None else MOST_RECORDS


def _chosen(tables: list[Described], names: tuple[str, ...], folder: str) -> list[Described]:
    by_name = {table.name: table for table in tables}
    for name in names:
        if name not in by_name:
            hint = f"there are: {', '.join(by_name)}"
            raise Failure(ExitCode.SPEC, Complaint("E014", f'no table "{name}" in {folder}', hint))
    return [by_name[name] for name in names] if names else tables
