"""``dprelease estimate``: what a record-level table tells. Opens no data and no ledger."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from io import BufferedReader
from typing import TYPE_CHECKING, Any

import click

from dprelease.cli.app import JSON
from dprelease.cli.console import answer, answer_json, remark
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.local.estimates import Estimates
    from dprelease.model.record_tables import RecordStep
    from dprelease.report.facts.record_level.laws import Stated

SHOWN_UNASKED = 3
MOST_CELLS = 1_000_000
_AGAIN = "running the release again, at no cost, restores it"

EPILOG = """Every answer of the table is perturbed; what is shown is free of that on average,
with an interval of what the noise leaves open. Nothing of it costs any budget.

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
    with opened(table) as source:
        table_facts = stated(table, report)
        pairs = [_pair(cross, table_facts.step) for cross in crosses]
        check_digest(source, table, table_facts)
        from dprelease.local.estimates import estimates
        from dprelease.local.read_table import read_columns
        from dprelease.local.tally import Tallier, usual_pairs

        cross_pairs = dict.fromkeys(pairs or usual_pairs(table_facts.step))
        counted = Tallier(table_facts.step, tuple(cross_pairs))
        for columns in read_columns(source, table, table_facts.format, table_facts.step):
            counted.add(columns)
    tally = counted.tally()
    if tally.rows != table_facts.rows:
        message = f"{table} has {tally.rows:,} records, and its report says {table_facts.rows:,}"
        raise _refusal("E833", message)
    figures = estimates(table_facts.step, tally, table_facts.interval)
    if as_json:
        from dprelease.local.estimates import estimate_facts

        answer_json({"schema": "dprelease/estimates/1", "table": table, **estimate_facts(figures)})
        return int(ExitCode.DONE)
    _show(table, table_facts, figures, only_crosses=bool(pairs))
    return int(ExitCode.DONE)


def _show(table: str, table_facts: Stated, figures: Estimates, *, only_crosses: bool) -> None:
    from dprelease.cli.views.estimate import heading, notes, sections

    if figures.rows == 0:
        remark(f"{table} holds no records: there is nothing to estimate")
        return
    crosses = figures.crosses if only_crosses or len(figures.crosses) <= SHOWN_UNASKED else ()
    parts = sections(figures, crosses, only_crosses=only_crosses)
    remarks = notes(table_facts.step, figures, only_crosses=only_crosses)
    answer("\n\n".join([heading(table_facts, figures), *parts, remarks]))
    if len(crosses) < len(figures.crosses):
        remark(f"{len(figures.crosses)} pairs of columns have small cross tables: --cross A,B")


def _pair(text: str, step: RecordStep) -> tuple[str, str]:
    """The two columns of ``A,B``: names may hold commas themselves."""
    columns = [response.column for response in step.responses]
    labelled = [column.name for column in columns if column.group is not None]
    names = [column.name for column in columns]
    commas = [place for place, char in enumerate(text) if char == ","]
    if not commas:
        raise _refusal("E835", f'--cross needs two columns, and "{text}" is one', "--cross A,B")
    tries = [(text[:place].strip(), text[place + 1 :].strip()) for place in commas]
    first, second = next((pair for pair in tries if set(pair) <= set(names)), tries[0])
    for name in (first, second):
        if name not in names:
            raise _refusal("E835", f'the table has no column "{name}"', _nearest(name, labelled))
        if name not in labelled:
            hint = f"those with labels are: {', '.join(labelled)}" if labelled else "none has any"
            raise _refusal("E835", f'column "{name}" has no labels to be crossed', hint)
    if first == second:
        raise _refusal("E835", f'column "{first}" is crossed with itself', "name two columns")
    groups = {column.name: column.group for column in columns}
    sizes = [len(group.labels) for name in (first, second) if (group := groups[name])]
    if sizes[0] * sizes[1] > MOST_CELLS:
        raise _refusal(
            "E835", f"{sizes[0]:,} x {sizes[1]:,} cells are too many", "cross smaller columns"
        )
    return first, second


def _nearest(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"those with labels are: {', '.join(names)}" if names else "no column has labels"


def _refusal(code: str, message: str, hint: str = _AGAIN) -> Failure:
    return Failure(ExitCode.SPEC, Complaint(code, message, hint))


REPORT = "report.json"
_LARGEST = 256 * 1024 * 1024


def opened(path: str, code: str = "E830") -> BufferedReader:
    """Open a plain file. Raises Failure (exit code 2)."""
    reason = "it is no plain file"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return open(handle, "rb")
        os.close(handle)
    except OSError as problem:
        reason = os.strerror(problem.errno or 0)
    except ValueError:
        reason = "no file has such a name"
    hint = "name a table of records in the output folder of a run"
    if code == "E831":
        hint = f'the table of a run has its {REPORT} beside it, if its spec asks for "json"'
    raise Failure(ExitCode.SPEC, Complaint(code, f"{path} can't be read: {reason}", hint))


def stated(table: str, report: str | None) -> Stated:
    """What the report says of the table. Raises Failure (exit code 2)."""
    from dprelease.report.facts.record_level.laws import steps_from_report

    path = report if report is not None else os.path.join(os.path.dirname(table), REPORT)
    facts = _report(path)
    name = os.path.basename(table)
    try:
        return steps_from_report(facts, name)
    except LookupError:
        raise Failure(ExitCode.SPEC, _unknown(table, name, facts, path)) from None
    except ValueError:
        message = f"{path} is not a report of a release that tells of {name}"
        raise _refusal("E831", message) from None


def _report(path: str) -> Mapping[str, Any]:
    message = f"{path} is not a report of a release"
    try:
        with opened(path, "E831") as source:
            content = source.read(_LARGEST + 1)
        facts = json.loads(content) if len(content) <= _LARGEST else None
        if isinstance(facts, dict):
            return facts
    except (ValueError, RecursionError):
        pass
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
    raise _refusal("E831", message)


def _unknown(table: str, name: str, facts: Mapping[str, Any], path: str) -> Complaint:
    """The table is not among the record-level ones: say what it is, and which there are."""
    if name in _files(facts, "tables"):
        message = f"{table} is a table of statistics, with its noise beside it: nothing to estimate"
        folder = os.path.dirname(table) or "."
        return Complaint("E832", message, f"dprelease show {folder}")
    there = _files(facts, "perturb")
    hint = f"there are: {', '.join(there)}" if there else "such tables come of [[perturb]]"
    return Complaint("E832", f"{path} knows no record-level table {name}", hint)


def _files(facts: Mapping[str, Any], part: str) -> list[str]:
    listed = facts.get(part)
    if not isinstance(listed, list):
        return []
    files = [entry.get("file") for entry in listed if isinstance(entry, dict)]
    return [entry for entry in files if isinstance(entry, str)]


def check_digest(source: BufferedReader, path: str, table_facts: Stated) -> None:
    """Refuse a file that is not the one of the report, and go back to its begin."""
    try:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
        source.seek(0)
    except OSError as problem:
        message = f"{path} can't be read: {os.strerror(problem.errno or 0)}"
        raise _refusal("E830", message) from None
    if digest != table_facts.sha256:
        message = f"{path} is not the file that was released: its SHA-256 is another"
        raise _refusal("E833", message)
