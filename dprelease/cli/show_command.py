"""``dprelease show``: released tables for people. Opens no data and no ledger."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON
from dprelease.cli.views.complaints_view import complain
from dprelease.cli.views.console import answer, answer_json, fold_line, write_remark
from dprelease.errors import ExitCode

if TYPE_CHECKING:
    from dprelease.release.published import ReleasedTable

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
@click.option("--long", "long", is_flag=True, help="Say below a table what each figure is.")
@JSON
def show(
    directory: str, names: tuple[str, ...], rows: int | None, long: bool, as_json: bool
) -> int:
    """Show released tables with their noise intervals.

    DIR is the output of a run. Only what was published is read: its tables and datapackage.json.
    """
    from msgspec.structs import replace

    tables = list(dprelease.show(directory, tables=names).values())
    rehearsal = {"rehearsal": True} if any(table.rehearsal for table in tables) else {}
    if rehearsal:
        write_remark("REHEARSAL: all records are made up, and no figure here is released")
    complain([table.warning for table in tables if table.warning is not None], "warning")
    if as_json:
        tables_json = [
            replace(table, most=_choose_limit(table, rows, None)).to_dict() for table in tables
        ]
        answer_json({"schema": "dprelease/tables/1", **rehearsal, "tables": tables_json})
        return int(ExitCode.DONE)
    from dprelease.cli.views.show_view import build_page

    for place, table in enumerate(tables):
        if place:
            answer("")
        answer(
            build_page(
                table.described,
                replace(table, most=_choose_limit(table, rows, MOST_ROWS)).read,
                long=long,
            )
        )
        if table.described.records is not None:
            answer("")
            answer("each row is one record, perturbed on its own")
            advice = f"estimates from all records: dprelease estimate {table.described.file}"
            answer(fold_line(advice, sys.stdout, 2))
    if not tables:
        write_remark(f"{directory} contains no tables")
    return int(ExitCode.DONE)


def _choose_limit(table: ReleasedTable, rows: int | None, usual: int | None) -> int | None:
    if rows is not None:
        return rows
    return usual if table.described.records is None else MOST_RECORDS
