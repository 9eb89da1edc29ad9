"""One way to build what many tests need: a spec, its plan, a plan that was changed."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dprelease import ExitCode, Failure, load
from dprelease.kernel.certification import certify
from dprelease.model import Plan
from dprelease.planning.planner import make_plan


def spec(*, privacy: dict[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """Give a spec as a mapping: these sections, and the usual ones in the place of others.

    ``privacy`` says in what it differs from rows that are added or removed; without it the total
    is epsilon = 1.
    """
    rows = {"unit": "row", "adjacency": "add-remove"}
    usual: dict[str, Any] = {
        "release": {"name": "r"},
        "data": {"path": "t.csv"},
        "privacy": rows | ({"epsilon": 1} if privacy is None else privacy),
        "output": {"path": "out"},
    }
    return usual | sections


def edit(text: str, *edits: tuple[str, str]) -> str:
    """Replace pieces of a text; each stands in it once."""
    for before, after in edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def plan(**sections: Any) -> Plan:
    """Plan a spec, see ``spec``; it is not certified."""
    return make_plan(load(spec(**sections)))


def with_step(made: Plan, asked: dict[str, Any] | None = None, at: int = 0, **changes: Any) -> Plan:
    """Change a step, and its query as well in the release and where it is read."""
    steps, old = list(made.steps), made.steps[at].query
    query = replace(old, **(asked or {}))
    steps[at] = replace(steps[at], query=query, **changes)
    reads = [replace(read, query=query) if read.query == old else read for read in made.reads]
    release = replace(made.release, queries=tuple(read.query for read in reads))
    return replace(made, steps=tuple(steps), reads=tuple(reads), release=release)


def is_refused(made: Plan) -> bool:
    """Whether certification refuses a plan, as a fault of ours."""
    try:
        certify(made)
    except Failure as failure:
        return failure.exit_code == ExitCode.INTERNAL
    return False
