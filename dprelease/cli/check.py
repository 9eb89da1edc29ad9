"""``dprelease check``: is the spec sound? Opens no data."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import FORM, OUTSIDE, PERIOD, QUIET, SAME_AS_JSON
from dprelease.cli.console import answer, answer_json, complain, paint, remark
from dprelease.cli.views.formats import marked
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.model import Plan


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one spec: a plan or complaints, and the warnings in any case."""

    file: str
    plan: Plan | None
    exit_code: int
    errors: tuple[Complaint, ...] = ()
    warnings: tuple[Complaint, ...] = ()


EPILOG = """\b
Example:
  dprelease check release_specs/*.toml
  dprelease check --strict --format github release_specs/clinic_visits.toml"""


@click.command(epilog=EPILOG)
@click.argument("specs", type=click.Path(), nargs=-1, required=True, metavar="SPEC...")
@PERIOD
@FORM
@SAME_AS_JSON
@click.option("--strict", is_flag=True, help="Exit with 1 when there is a warning.")
@OUTSIDE
@QUIET
def check(  # noqa: PLR0913, PLR0917 - one parameter for each option
    specs: tuple[str, ...],
    period: str | None,
    form: str,
    as_json: bool,
    strict: bool,
    outside: bool,
    quiet: bool,
) -> int:
    """Check specs and plan them, without opening any data.

    Says everything that is wrong at once, each with its place and what to do.
    """
    findings = [_examine(spec, period, outside) for spec in specs]
    if any(finding.plan is not None and finding.plan.release.period for finding in findings):
        # A period that one spec takes is not a mistake beside the others.
        from dprelease.spec.checks.data_source import USELESS_PERIOD

        findings = [
            replace(
                finding,
                warnings=tuple(
                    warning for warning in finding.warnings if warning.code != USELESS_PERIOD
                ),
            )
            for finding in findings
        ]
    code = max(finding.exit_code for finding in findings)
    if code == ExitCode.DONE and strict and any(finding.warnings for finding in findings):
        code = int(ExitCode.FINDINGS)
    FORMS["json" if as_json else form](findings, code, quiet)
    return code


def _examine(spec: str, period: str | None, outside: bool) -> Finding:
    from dprelease.report.facts.explanations import plan_warnings

    warnings: tuple[Complaint, ...] = ()
    try:
        release = dprelease.load(spec, period=period, allow_outside_lists=outside)
        warnings = release.warnings
        planned = dprelease.plan(release)
        warnings += plan_warnings(planned)
        return Finding(spec, planned, int(ExitCode.DONE), (), warnings)
    except Failure as failure:
        return Finding(spec, None, int(failure.exit_code), tuple(failure.complaints), warnings)


def _tell_text(findings: list[Finding], _code: int, quiet: bool) -> None:
    for finding in findings:
        complain(finding.errors)
        if not quiet:
            complain(finding.warnings, "warning")
        if finding.plan is not None and not quiet:
            good = paint("ok", "good", sys.stdout)
            answer(f"{finding.file}: {good} ({_summary(finding.plan)})")
    failed = sum(1 for finding in findings if finding.errors)
    if failed and len(findings) > 1 and not quiet:
        remark(f"{failed} of {len(findings)} specs have errors")


def _summary(plan: Plan) -> str:
    from dprelease.cli.views.formats import rounded_up
    from dprelease.report.numbers import upward

    tables = len({query.table for query in plan.release.queries}) + len(plan.records)
    delta = f", delta {rounded_up(upward(plan.loss.delta))}" if plan.loss.delta else ""
    queries = len({query.number for query in plan.release.queries if not query.implied})
    parts = [_counted(queries, "query", "queries")] if queries or not plan.records else []
    if plan.records:
        columns = sum(len(step.responses) for step in plan.records)
        parts.append(_counted(columns, "perturbed column", "perturbed columns"))
    return (
        f"{', '.join(parts)}, {_counted(tables, 'table', 'tables')}, "
        f"epsilon {rounded_up(upward(plan.loss.epsilon))}{delta}"
    )


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _tell_json(findings: list[Finding], code: int, _quiet: bool) -> None:
    answer_json(
        {
            "schema": "dprelease/check/1",
            "exit_code": code,
            "specs": [
                {
                    "file": finding.file,
                    "ok": not finding.errors,
                    "errors": [complaint.to_dict() for complaint in finding.errors],
                    "warnings": [complaint.to_dict() for complaint in finding.warnings],
                }
                for finding in findings
            ],
        }
    )


def _tell_github(findings: list[Finding], _code: int, _quiet: bool) -> None:
    for finding in findings:
        for kind, complaints in (("error", finding.errors), ("warning", finding.warnings)):
            for complaint in complaints:
                answer(marked(kind, finding.file, complaint))


FORMS: dict[str, Callable[[list[Finding], int, bool], None]] = {
    "text": _tell_text,
    "json": _tell_json,
    "github": _tell_github,
}
