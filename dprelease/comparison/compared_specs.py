"""What a change of spec does to the guarantee, and to what is released."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from dprelease.comparison.guarantee_changes import find_guarantee_changes
from dprelease.comparison.output_changes import find_figure_changes
from dprelease.comparison.spec_changes import Change, Kind, Pair
from dprelease.errors import ExitCode
from dprelease.ledger.identity import run_id
from dprelease.model import Plan, Release
from dprelease.release.plan import plan
from dprelease.reports.text.notebook import render_table
from dprelease.reports.text.shown_numbers import to_json_number
from dprelease.specfile import load

Spec = str | os.PathLike[str] | Mapping[str, Any] | Release


class Comparison(Struct, frozen=True):
    """What is different between two specs.

    ``weaker``: the guarantee of the new one is weaker in some way. ``same_release``: a run of it
    costs nothing where the old one was run. ``changes`` are weaker ones first; each has its kind,
    what changed, the old and new value, and why it matters.
    """

    weaker: bool
    same_release: bool
    changes: tuple[Change, ...]
    plans: Pair

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON values of ``dprelease diff --json``, less the files' names.

        ``exit_code`` is what the command ends with.
        """
        return {
            "schema": "dprelease/diff/1",
            "exit_code": int(ExitCode.FINDINGS if self.weaker else ExitCode.DONE),
            "weaker": self.weaker,
            "same_release": self.same_release,
            "changes": [_encode_facts(self.plans.new, change) for change in self.changes],
        }

    def __repr__(self) -> str:
        """Say whether it is weaker, and how many changes there are."""
        verdict = "weaker" if self.weaker else "not weaker"
        return f"<Comparison: the guarantee is {verdict}; {len(self.changes)} changes>"

    def _repr_html_(self) -> str:
        rows = [
            (
                str(change.kind),
                change.what,
                _encode_value(change.old),
                _encode_value(change.new),
                change.why,
            )
            for change in self.changes
        ]
        heads = ("kind", "what", "old", "new", "why")
        return render_table(repr(self).strip("<>"), heads, rows)


def diff(
    old: Spec, new: Spec, *, period: str | None = None, allow_outside_lists: bool = False
) -> Comparison:
    """Compare two specs; see ``dprelease.diff``, which takes the same arguments."""
    releases = (
        spec
        if isinstance(spec, Release)
        else load(spec, period=period, allow_outside_lists=allow_outside_lists)
        for spec in (old, new)
    )
    return compare_plans(*map(plan, releases))


def compare_plans(old: Plan, new: Plan) -> Comparison:
    """Compare two plans.

    Args:
        old: The plan before the change.
        new: The plan after the change.

    Returns:
        Every change, weaker ones first.
    """
    pair = Pair(old, new)
    changed = [*find_guarantee_changes(pair), *find_figure_changes(pair)]
    changes = [change for kind in Kind for change in changed if change.kind is kind]
    weaker = any(change.kind is Kind.WEAKER for change in changes)
    again = run_id(old.release) == run_id(new.release)
    # The identity of a run covers more than the changes found above: never report "no change".
    if not again and not changes:
        changes = [Change(Kind.OTHER, "the spec", "as it was", "as it is")]
    # Another ledger does not know the run, and would charge it.
    again = again and all(change.what != "ledger" for change in changes)
    return Comparison(weaker, again, tuple(changes), pair)


def _encode_value(value: str | int | Fraction | None) -> object:
    return to_json_number(value) if isinstance(value, Fraction) else value


def _encode_facts(new: Plan, change: Change) -> dict[str, object]:
    place = new.release.place(change.key)
    return {
        "kind": str(change.kind),
        "mark": change.mark,
        "what": change.what,
        "old": _encode_value(change.old),
        "new": _encode_value(change.new),
        "why": change.why or None,
        "key": change.key or None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }
