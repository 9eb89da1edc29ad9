"""``dprelease estimate``: what a record-level table tells. Opens no data and no ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON
from dprelease.cli.views.console import answer, answer_json, write_remark
from dprelease.errors import ExitCode

if TYPE_CHECKING:
    from dprelease.local.estimation.estimates import Estimates
    from dprelease.local.estimation.table_estimates import Stated

SHOWN_UNASKED = 3

EPILOG = """Every answer of the table is perturbed. The estimates are right on average, and
their intervals cover the noise. They cost no budget.

\b
Example:
  dprelease estimate out/survey/answers.parquet
  dprelease estimate out/survey/answers.csv --cross region,smoker
  dprelease estimate --json out/answers.csv | jq '.frequencies[].column'"""


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path(), metavar="TABLE")
@click.option(
    "--cross",
    "crosses",
    multiple=True,
    metavar="A,B",
    help="Show the cross table of two columns with labels; repeatable.",
)
@click.option(
    "--report",
    type=click.Path(),
    metavar="FILE",
    help="The report of the release.  [default: report.json beside TABLE]",
)
@JSON
def estimate(table: str, crosses: tuple[str, ...], report: str | None, as_json: bool) -> int:
    """Estimate frequencies and means from perturbed records.

    TABLE is a table that [[perturb]] released. Only that file and its report are read.
    """
    result = dprelease.estimate(table, crosses=crosses, report=report)
    if as_json:
        answer_json(result.to_dict())
        return int(ExitCode.DONE)
    _show(table, result.stated, result.figures, only_crosses=bool(crosses))
    return int(ExitCode.DONE)


def _show(table: str, table_facts: Stated, figures: Estimates, *, only_crosses: bool) -> None:
    from dprelease.local.estimate_view import build_heading, build_notes, build_sections

    if figures.rows == 0:
        write_remark(f"{table} holds no records, so nothing can be estimated")
        return
    crosses = figures.crosses if only_crosses or len(figures.crosses) <= SHOWN_UNASKED else ()
    parts = build_sections(figures, crosses, only_crosses=only_crosses)
    remarks = build_notes(table_facts.step, figures, only_crosses=only_crosses)
    answer("\n\n".join([build_heading(table_facts, figures), *parts, remarks]))
    if len(crosses) < len(figures.crosses):
        write_remark(
            f"{len(figures.crosses)} pairs of columns have small cross tables: --cross A,B"
        )
