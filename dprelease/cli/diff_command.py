"""``dprelease diff``: what a change of spec does to the guarantee. Opens no data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import FORM, OUTSIDE, PERIOD, SAME_AS_JSON
from dprelease.cli.views.console import answer, answer_json, fold_line, paint
from dprelease.cli.views.text_layout import build_annotation, format_mark, format_spent, round_up
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.comparison.spec_changes import Change, Value
    from dprelease.model import Plan

EPILOG = """Weaker is any one of: a larger epsilon, delta or cap (rho, where the budget is
one), in all or of a table of records; rows protected instead of persons, or
other persons; other neighbours; private keys declared public; periods declared
disjoint; another ledger or dataset. Nothing makes up for it.

\b
Example:
  git show main:visits.toml > old.toml
  dprelease diff old.toml visits.toml
  dprelease diff --format github old.toml visits.toml"""

STYLES = {"weaker": "error", "stronger": "good", "changed": "quiet"}
MARKS = {"weaker": "error", "stronger": "notice", "changed": "notice"}


@click.command(epilog=EPILOG)
@click.argument("old", type=click.Path(), metavar="OLD")
@click.argument("new", type=click.Path(), metavar="NEW")
@PERIOD
@FORM
@SAME_AS_JSON
@OUTSIDE
def diff(  # noqa: PLR0913, PLR0917 - one parameter for each option
    old: str, new: str, period: str | None, form: str, as_json: bool, outside: bool
) -> int:
    """Say what a change of spec does to the guarantee.

    Compares two versions of a spec, and what they would release at what cost; opens no data.
    Exits with 1 when the guarantee of NEW is weaker than that of OLD.
    """
    from dprelease.comparison.compared_specs import compare_plans

    complaints: list[tuple[str, Complaint]] = []
    plans = [plan for spec in (old, new) if (plan := _plan_spec(spec, period, outside, complaints))]
    if complaints:
        if form != "github" or as_json:
            raise Failure(ExitCode.SPEC, [complaint for _, complaint in complaints])
        for file, complaint in complaints:
            answer(format_mark("error", file, complaint))
        return int(ExitCode.SPEC)
    comparison = compare_plans(*plans)
    changes, planned = comparison.changes, comparison.plans.new
    facts = comparison.to_dict()
    if as_json or form == "json":
        first = {"schema": facts["schema"], "exit_code": facts["exit_code"]}
        answer_json({**first, "old": old, "new": new, **facts})
    elif form == "github":
        _tell_github(planned, new, changes)
    else:
        _tell_text(changes)
        summary = _summarize(planned, changes, comparison.weaker, comparison.same_release)
        answer(fold_line(summary, sys.stdout, 2))
        if changes:
            names = {"+": "added", "-": "removed"}
            kinds = [names.get(change.mark, change.kind) for change in changes]
            answer(", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)))
    return int(facts["exit_code"])


def _plan_spec(
    spec: str, period: str | None, outside: bool, complaints: list[tuple[str, Complaint]]
) -> Plan | None:
    """Plan a spec, or add what is wrong with it to the complaints."""
    try:
        release = dprelease.load(spec, period=period, allow_outside_lists=outside)
        return dprelease.plan(release)
    except Failure as failure:
        complaints += [(spec, complaint) for complaint in failure.complaints]
        return None


def _summarize(new: Plan, changes: Sequence[Change], weaker: bool, again: bool) -> str:
    verdict = "the guarantee is weaker" if weaker else "the guarantee is not weaker"
    if not changes:
        verdict = "nothing has changed"
    if again:
        return f"{verdict}; it is the same release, and costs nothing where the old one was run"
    return f"{verdict}; it is another release: a run is charged epsilon {_format(new.loss.epsilon)}"


def _tell_text(changes: Sequence[Change]) -> None:
    """Write a line for each change, and one table for the errors of all queries."""
    from dprelease.comparison.spec_changes import EXPECTED_ERROR

    errors = [change for change in changes if change.what.endswith(f": {EXPECTED_ERROR}")]
    for change in changes:
        if change not in errors:
            line = fold_line(f"{change.mark} {_describe_change(change)}", sys.stdout, 4)
            answer(paint(line[0], STYLES[change.kind], sys.stdout) + line[1:])
    if errors:
        from dprelease.cli.views.text_layout import build_table, render_tables

        table = build_table("", ("query", f"{EXPECTED_ERROR} before", "after"))
        table.title = None
        for change in errors:
            name = change.what.removeprefix("query ").removesuffix(f": {EXPECTED_ERROR}")
            table.add_row(name, _format(change.old), _format(change.new))
        answer(f"\n{render_tables([(table, '')])}")


def _describe_change(change: Change) -> str:
    """Write the old and new value and the reason; of an added or removed item only one value."""
    was, now = _format(change.old), _format(change.new)
    if was == now:  # a figure differs in a digit that is not shown
        was, now = (_format(value, format_spent) for value in (change.old, change.new))
    if was == now:
        was, now = str(change.old), str(change.new)
    kind = "" if change.kind == "changed" else str(change.kind)
    why = ": ".join(word for word in (kind, change.why) if word)
    note = f" ({why})" if why and why not in {"added", "removed"} else ""
    if change.mark != "~":
        return f"{change.what}: {now if change.mark == '+' else was}{note}"
    colon = "" if isinstance(change.new, Fraction | int) else ":"
    return f"{change.what}{colon} {was} -> {now}{note}"


def _format(value: Value, write: Callable[[object], str] = round_up) -> str:
    if value is None:
        return "none"
    if isinstance(value, Fraction):
        from dprelease.reports.text.shown_numbers import to_json_number

        return write(to_json_number(value))
    return "".join(char if char.isprintable() else " " for char in str(value))


def _tell_github(new: Plan, file: str, changes: Sequence[Change]) -> None:
    for change in changes:
        place = new.release.place(change.key)
        kind = MARKS[change.kind]
        answer(
            build_annotation(
                kind, file, f"{change.kind}: {change.what}", _describe_change(change), place
            )
        )
