"""``dprelease estimate``: what a record-level table tells. Opens no data and no ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dprelease.cli.console import answer, answer_json, remark
from dprelease.cli.options import JSON
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.local.estimates import Estimates
    from dprelease.model.local_tables import RecordStep
    from dprelease.report.facts.record_laws import Stated

SHOWN_UNASKED = 3
MOST_CELLS = 1_000_000

EPILOG = """\b
Every answer of the table is perturbed; what is shown is free of that on average,
with an interval of what the noise leaves open. Nothing of it costs any budget.

\b
Example:
  dprelease estimate out/survey/answers.parquet
  dprelease estimate out/survey/answers.csv --cross region,smoker
  dprelease estimate --json out/survey/answers.csv | jq '.frequencies[].column'"""


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
    from dprelease.cli.estimate_source import check_digest, check_rows, opened, stated

    with opened(table) as source:
        known = stated(table, report)
        pairs = [_pair(each, known.step) for each in crosses]
        check_digest(source, table, known)
        from dprelease.local.estimates import estimates
        from dprelease.local.read_table import read_columns
        from dprelease.local.tally import Tallier, usual_pairs

        asked = dict.fromkeys(pairs or usual_pairs(known.step))
        counted = Tallier(known.step, tuple(asked))
        for columns in read_columns(source, table, known.format, known.step):
            counted.add(columns)
    tally = counted.tally()
    check_rows(tally.rows, table, known)
    found = estimates(known.step, tally, known.interval)
    if as_json:
        from dprelease.local.estimates import estimate_facts

        answer_json({"schema": "dprelease/estimates/1", "table": table, **estimate_facts(found)})
        return int(ExitCode.DONE)
    _show(table, known, found, asked=bool(pairs))
    return int(ExitCode.DONE)


def _show(table: str, known: Stated, found: Estimates, *, asked: bool) -> None:
    from dprelease.cli.views.estimate_tables import heading, notes, sections

    if found.rows == 0:
        remark(f"{table} holds no records: there is nothing to estimate")
        return
    crosses = found.crosses if asked or len(found.crosses) <= SHOWN_UNASKED else ()
    parts = sections(found, crosses, only_crosses=asked)
    answer(
        "\n\n".join([heading(known, found), *parts, notes(known.step, found, only_crosses=asked)])
    )
    if len(crosses) < len(found.crosses):
        remark(f"{len(found.crosses)} pairs of columns have small cross tables: --cross A,B")


def _pair(text: str, step: RecordStep) -> tuple[str, str]:
    """The two columns of ``A,B``: names may hold commas themselves."""
    labelled = [each.column.name for each in step.responses if each.column.group is not None]
    names = [each.column.name for each in step.responses]
    commas = [place for place, char in enumerate(text) if char == ","]
    if not commas:
        raise _no_cross(f'--cross needs two columns, and "{text}" is one', "--cross A,B")
    tries = [(text[:place].strip(), text[place + 1 :].strip()) for place in commas]
    first, second = next((pair for pair in tries if set(pair) <= set(names)), tries[0])
    for name in (first, second):
        if name not in names:
            raise _no_cross(f'the table has no column "{name}"', _nearest(name, labelled))
        if name not in labelled:
            hint = f"those with labels are: {', '.join(labelled)}" if labelled else "none has any"
            raise _no_cross(f'column "{name}" has no labels to be crossed', hint)
    if first == second:
        raise _no_cross(f'column "{first}" is crossed with itself', "name two columns")
    groups = {each.column.name: each.column.group for each in step.responses}
    sizes = [len(group.labels) for name in (first, second) if (group := groups[name])]
    if sizes[0] * sizes[1] > MOST_CELLS:
        raise _no_cross(f"{sizes[0]:,} x {sizes[1]:,} cells are too many", "cross smaller columns")
    return first, second


def _nearest(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"those with labels are: {', '.join(known)}" if known else "no column has labels"


def _no_cross(message: str, hint: str) -> Failure:
    return Failure(ExitCode.SPEC, Complaint("E835", message, hint))
