"""``dprelease check``: is the spec sound? Opens no data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

import dprelease
from dprelease.cli.app import FORM, OUTSIDE, PERIOD, QUIET, SAME_AS_JSON
from dprelease.cli.views.complaints_view import MOST_BYTES, complain, count_errors
from dprelease.cli.views.console import answer, answer_json, fold_line, paint, write_remark
from dprelease.cli.views.text_layout import format_mark
from dprelease.errors import Complaint, ExitCode

if TYPE_CHECKING:
    from dprelease.model import Plan


class Finding(NamedTuple):
    """What came of one spec: a plan or complaints, and the warnings in any case."""

    file: str
    plan: Plan | None
    exit_code: int
    errors: tuple[Complaint, ...] = ()
    warnings: tuple[Complaint, ...] = ()
    text: str | None = None  # of standard input, which can't be read again


STDIN = "-"
EPILOG = """\b
Example:
  dprelease check release_specs
  git show main:visits.toml | dprelease check -
  dprelease check --strict --format github release_specs/clinic_visits.toml"""


@click.command(epilog=EPILOG)
@click.argument("specs", type=click.Path(), nargs=-1, required=True, metavar="SPEC...")
@PERIOD
@FORM
@SAME_AS_JSON
@click.option("--strict", is_flag=True, help="Exit with 1 if there is a warning.")
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

    Says everything that is wrong at once, each with its place and what to do. Of a folder every
    file NAME.toml in it and below is checked; - is standard input.
    """
    findings = [_examine(spec, period, outside) for spec in _list_files(specs)]
    if any(finding.plan is not None and finding.plan.release.period for finding in findings):
        # --period may be meant for some of the specs: no warning if one of them takes it.
        from dprelease.specfile.checks.data_source import USELESS_PERIOD

        findings = [
            finding._replace(
                warnings=tuple(
                    warning for warning in finding.warnings if warning.code != USELESS_PERIOD
                )
            )
            for finding in findings
        ]
    code = max(finding.exit_code for finding in findings)
    if code == ExitCode.DONE and strict and any(finding.warnings for finding in findings):
        code = int(ExitCode.FINDINGS)
    FORMS["json" if as_json else form](findings, code, quiet)
    return code


def _list_files(specs: Sequence[str]) -> list[str]:
    """List the named specs and those in named folders, each once."""
    files: list[str] = []
    for spec in specs:
        if spec != STDIN and os.path.isdir(spec):
            inside = [
                path
                for path in Path(spec).rglob("*.toml")
                if not any(part.startswith(".") for part in path.relative_to(spec).parts)
            ]
            if not inside:
                raise click.UsageError(f"{spec} holds no file NAME.toml")
            files += sorted(map(str, inside))
        else:
            files.append(spec)
    return list(dict.fromkeys(files))


def _examine(spec: str, period: str | None, outside: bool) -> Finding:
    stream = BytesIO(sys.stdin.buffer.read(MOST_BYTES + 1)) if spec == STDIN else None
    text = None if stream is None else stream.getvalue().decode(errors="replace")
    name = spec if stream is None else "<stdin>"
    found = dprelease.check(stream or spec, period=period, allow_outside_lists=outside)
    return Finding(name, found.plan, int(found.exit_code), found.errors, found.warnings, text)


def _tell_text(findings: list[Finding], _code: int, quiet: bool) -> None:
    for finding in findings:
        texts = None if finding.text is None else {finding.file: finding.text}
        complain(finding.errors, texts=texts)
        if not quiet:
            complain(finding.warnings, "warning", texts)
        if finding.plan is not None and not quiet:
            line = fold_line(f"{finding.file}: ok ({_summarize(finding.plan)})", sys.stdout, 4)
            answer(line.replace(": ok", f": {paint('ok', 'good', sys.stdout)}", 1))
    if not quiet and any(finding.errors for finding in findings):
        write_remark(count_errors({finding.file: finding.errors for finding in findings}))
        write_remark("What a code means: dprelease explain CODE", "quiet")


def _summarize(plan: Plan) -> str:
    from dprelease.cli.views.text_layout import round_up
    from dprelease.reports.text.shown_numbers import to_json_number

    tables = len({query.table for query in plan.release.queries}) + len(plan.records)
    delta = f", delta {round_up(to_json_number(plan.loss.delta))}" if plan.loss.delta else ""
    queries = len({query.number for query in plan.release.queries if not query.implied})
    parts = [_format_count(queries, "query", "queries")] if queries or not plan.records else []
    if plan.records:
        columns = sum(len(step.responses) for step in plan.records)
        parts.append(_format_count(columns, "perturbed column", "perturbed columns"))
    return (
        f"{', '.join(parts)}, {_format_count(tables, 'table', 'tables')}, "
        f"epsilon {round_up(to_json_number(plan.loss.epsilon))}{delta}"
    )


def _format_count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


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
                answer(format_mark(kind, finding.file, complaint))


FORMS: dict[str, Callable[[list[Finding], int, bool], None]] = {
    "text": _tell_text,
    "json": _tell_json,
    "github": _tell_github,
}
