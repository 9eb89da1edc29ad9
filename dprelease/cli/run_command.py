"""``dprelease run``: publish."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON, OUTPUT, OUTSIDE, PERIOD, QUIET, REPLACE, SPEC
from dprelease.cli.views.complaints_view import complain
from dprelease.cli.views.console import abandon_stdout, write_remark
from dprelease.errors import REPORT, Complaint, ExitCode, Failure, name_kind

if TYPE_CHECKING:
    from dprelease import Result

EPILOG = """\b
Example:
  dprelease run release_specs/clinic_visits.toml
  dprelease run --period 2026-q1 --output out/q1 visits.toml
  dprelease run --plan approved.json visits.toml"""

AGAIN = (
    "run it again with --quality-first, at no cost; a plain run is another release, and is charged"
)


def _check_finite(_context: click.Context, _parameter: click.Parameter, seconds: float) -> float:
    if not math.isfinite(seconds):
        raise click.BadParameter("a number of seconds is needed")
    return seconds


@click.command(epilog=EPILOG)
@SPEC
@OUTPUT
@PERIOD
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    callback=_check_finite,
    metavar="SECONDS",
    help="How long to wait while another run holds the ledger.",
)
@click.option(
    "--plan",
    "approved",
    type=click.Path(),
    metavar="FILE",
    help="Run exactly this saved plan; refuse any other.",
)
@click.option("--new-noise", is_flag=True, help="Release again with new noise, and spend again.")
@click.option(
    "--fresh-ledger",
    is_flag=True,
    help="Charge a ledger that lacks the charge of the report in the output folder.",
)
@REPLACE
@click.option(
    "--quality-first",
    is_flag=True,
    help="Release the quality queries first, and the rest if not too many fields are unreadable.",
)
@OUTSIDE
@JSON
@QUIET
def run(  # noqa: PLR0913, PLR0917 - one parameter for each option
    spec: str,
    output: str | None,
    period: str | None,
    wait: float,
    approved: str | None,
    new_noise: bool,
    fresh_ledger: bool,
    replace_output: bool,
    quality_first: bool,
    outside: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Publish: charge the budget, add noise, write tables, report.

    A second run of the same release gives the same files and spends nothing. --quality-first makes
    two releases, the first of them beside [output] with -quality at its end. Where it shows too
    many unreadable fields, the second is not made, and the exit code is 1.
    """
    if quality_first and approved is not None:
        raise click.UsageError(
            "--plan approves one release, but --quality-first makes two; put the quality queries "
            "into a spec of their own, have both plans approved, and run that one first"
        )
    # Imported here for start-up: other commands, and the help, show no progress.
    from dprelease.cli.status_line import StatusLine

    release = dprelease.load(spec, period=period, allow_outside_lists=outside)
    if not quiet:
        complain(release.warnings, "warning")
    with StatusLine(is_on=not quiet) as watcher:
        if quality_first:
            from dprelease.release.quality_first import run_quality_first

            checked, result = run_quality_first(
                release,
                output=output,
                wait=wait,
                new_noise=new_noise,
                fresh_ledger=fresh_ledger,
                replace_output=replace_output,
                watcher=watcher,
            )
            if not quiet:
                write_remark(f"quality  {checked.output}: released first")
                write_remark(f"note: {AGAIN}")
            _tell(result, as_json, quiet)
            return
        result = dprelease.run(
            release,
            output=output,
            wait=wait,
            new_noise=new_noise,
            fresh_ledger=fresh_ledger,
            replace_output=replace_output,
            approved=approved,
            watcher=watcher,
        )
    _tell(result, as_json, quiet)


def _tell(result: Result, as_json: bool, quiet: bool) -> None:
    """Say what happened. That it can't be said doesn't undo it: something was released."""
    from dprelease.cli.views.run_view import tell_json, tell_text
    from dprelease.reports.facts.explanations import plan_warnings

    try:
        if not quiet:
            complain((*plan_warnings(result.plan), *result.warnings), "warning")
            for note in result.report["notes"]:
                write_remark(f"note: {note}")
        if as_json:
            tell_json(result)
        elif not quiet:
            tell_text(result)
    except BrokenPipeError:
        raise
    except (OSError, Failure):
        abandon_stdout()
        raise Failure(
            ExitCode.AFTER_CHARGE,
            Complaint(
                "E590",
                f"the release is complete in {result.output}, but standard output can't be written",
            ),
        ) from None
    except Exception as problem:
        raise Failure(
            ExitCode.AFTER_CHARGE,
            Complaint(
                "E591",
                f"the release is complete in {result.output}, but what is left of the budget can't "
                f"be told: internal error ({name_kind(problem)})",
                f"running again is free; {REPORT}",
            ),
        ) from None
