"""``dprelease plan``: what a run would do, how noisy, at what cost. Opens no data."""

from __future__ import annotations

import click

import dprelease
from dprelease.cli.app import JSON, OUTPUT, OUTSIDE, PERIOD, QUIET, SPEC
from dprelease.cli.views.complaints_view import complain
from dprelease.cli.views.console import answer_json, write_remark
from dprelease.errors import ExitCode

EPILOG = """\b
Example:
  dprelease plan release_specs/clinic_visits.toml
  dprelease plan --json release_specs/clinic_visits.toml | jq .total
  dprelease plan -o approved.json visits.toml
  dprelease plan --html plan.html visits.toml"""


@click.command(epilog=EPILOG)
@SPEC
@OUTPUT
@PERIOD
@click.option(
    "-o", "--out", type=click.Path(), metavar="FILE", help="Save the plan for run --plan."
)
@click.option(
    "--html", type=click.Path(), metavar="FILE", help="Write the plan as a page, for approval."
)
@click.option("--why", is_flag=True, help="Explain noise and losses too.")
@OUTSIDE
@JSON
@QUIET
def plan(  # noqa: PLR0913, PLR0917 - one parameter for each option
    spec: str,
    output: str | None,
    period: str | None,
    out: str | None,
    html: str | None,
    why: bool,
    outside: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Show noise, expected errors and budget; open no data.

    First the total and what the ledger would say; then of each query mechanism, sensitivity, scale
    of the noise, the error to expect and what it costs. Exits with 3 when the ledger would refuse a
    run.
    """
    from dprelease.cli.views.ledger_view import read_standing
    from dprelease.language import word
    from dprelease.release.saved_plan import compute_plan_digest, save
    from dprelease.reports.facts.explanations import plan_warnings
    from dprelease.reports.plan_facts import describe, describe_alternatives

    release = dprelease.load(spec, period=period, allow_outside_lists=outside)
    planned = dprelease.plan(release, output=output)
    ledger, refusals, warnings = read_standing(planned)
    described = describe(planned, ledger)
    described["digest"] = digest = compute_plan_digest(planned)
    described["what_if"] = describe_alternatives(planned)
    if not quiet:
        complain((*release.warnings, *plan_warnings(planned), *warnings), "warning")
    if out is not None:
        save(out, described)
        if not quiet:
            write_remark(f"saved    {out}")
    if html is not None:
        from dprelease.cli.report_command import write_file
        from dprelease.ledger.identity import run_id
        from dprelease.reports.contents import plan_document
        from dprelease.reports.facts.approval import build_approval
        from dprelease.reports.facts.release_facts import collect_plan_facts
        from dprelease.reports.renderers.html_page import render

        approval = build_approval(planned, run_id(planned.release), digest, ledger)
        facts = collect_plan_facts(planned, standing=approval.ledger)
        write_file(html, render(plan_document(facts, approval)).encode())
        if not quiet:
            write_remark(f"written  {html}")
    if as_json:
        answer_json({**described, "warnings": [warning.to_dict() for warning in warnings]})
    elif not quiet:
        from dprelease.cli.views.plan_view import write_plan

        write_plan(described, ledger, why=why)
        for note in map(word, planned.notes):
            write_remark(f"note: {note}")
    if not refusals:
        return int(ExitCode.DONE)
    if not (as_json and quiet):
        complain(refusals)
    return int(ExitCode.BUDGET)
