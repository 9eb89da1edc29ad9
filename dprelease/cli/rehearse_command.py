"""``dprelease rehearse``: the whole release on made-up records. Opens no data, charges nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON, OUTSIDE, PERIOD, QUIET, REPLACE, SPEC
from dprelease.cli.views.complaints_view import complain
from dprelease.cli.views.console import answer, answer_json, write_remark
from dprelease.errors import ExitCode

if TYPE_CHECKING:
    from dprelease import Result

ROWS, MOST_ROWS = 10_000, 10_000_000

EPILOG = """\b
Example:
  dprelease rehearse release_specs/clinic_visits.toml
  dprelease rehearse --rows 200 --distribution skewed --output try visits.toml"""


@click.command(epilog=EPILOG)
@SPEC
@click.option(
    "--rows",
    type=click.IntRange(1, MOST_ROWS),
    default=ROWS,
    show_default=True,
    metavar="N",
    help="The number of made-up records.",
)
@click.option(
    "--distribution",
    type=click.Choice(["uniform", "skewed"]),
    default="uniform",
    show_default=True,
    help="Make all values equally likely, or the first keys and low values more likely.",
)
@click.option(
    "--output",
    type=click.Path(),
    metavar="DIR",
    help="Write to this folder.  [default: the output path with -rehearsal appended]",
)
@REPLACE
@PERIOD
@OUTSIDE
@JSON
@QUIET
def rehearse(  # noqa: PLR0913, PLR0917 - one parameter for each option
    spec: str,
    rows: int,
    distribution: str,
    output: str | None,
    replace_output: bool,
    period: str | None,
    outside: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Try the whole release on made-up records; open no data.

    Records are made up from the keys, bins and bounds of the spec alone. They go through a run with
    the noise that it would have, and a ledger of its own. Tables and reports are marked REHEARSAL.
    Nothing is charged, and [data] need not be there.
    """
    # Imported here for start-up: other commands, and the help, show no progress.
    from dprelease.cli.status_line import StatusLine
    from dprelease.reports.facts.explanations import plan_warnings

    release = dprelease.load(spec, period=period, allow_outside_lists=outside)
    if not quiet:
        complain(release.warnings, "warning")
    with StatusLine(is_on=not quiet) as watcher:
        result = dprelease.rehearse(
            release,
            rows=rows,
            distribution=distribution,
            output=output,
            replace_output=replace_output,
            watcher=watcher,
        )
    if not quiet:
        complain(plan_warnings(result.plan), "warning")
        for note in result.report["notes"]:
            write_remark(f"note: {note}")
    if as_json:
        _tell_json(result, rows, distribution)
    elif not quiet:
        _tell_text(result, rows)
    return int(ExitCode.DONE)


def _tell_json(result: Result, rows: int, distribution: str) -> None:
    from dprelease.reports.facts.query_facts import describe_composition
    from dprelease.reports.model.json_form import to_json

    answer_json(
        {
            "schema": "dprelease/rehearse/1",
            "exit_code": 0,
            "rehearsal": True,
            "release": result.plan.release.about.name,
            "rows": rows,
            "distribution": distribution,
            "output": result.output,
            "files": list(result.files),
            "loss": to_json(describe_composition(result.plan)),
        }
    )


def _tell_text(result: Result, rows: int) -> None:
    from dprelease.cli.views.run_view import describe_files, describe_loss

    for line in (
        f"REHEARSAL of {result.plan.release.about.name} on {rows:,} made-up records",
        *describe_files(result),
        f"a run would spend {describe_loss(result)}",
        "no data was opened, nothing was charged, and no figure is released",
    ):
        answer(line)
