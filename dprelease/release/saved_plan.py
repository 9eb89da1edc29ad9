"""Plans that were saved, to be approved, and are then executed exactly or not at all.

A saved plan holds a digest of all that decides what a run does, spends and publishes: the spec's
meaning, the data, snapshot and period it is for, each step's mechanism with its exact parameters,
how each query is read, the composed loss; ledger, data set and caps it is charged under; where and
in which form it is published. ``report.approved`` says what is left open. A run that is given the
file plans anew and compares: the digest, and then every line of the file, so that what people have
read and approved is what is run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.atomic import save_text
from dprelease.ledger import run_id
from dprelease.ledger.identity import canonical_json
from dprelease.local.exact_json import record_detail
from dprelease.model import Plan, Read
from dprelease.report.facts.release_facts import approval_facts, list_facts
from dprelease.report.query_json import step_detail

SCHEMA = "dprelease/plan/1"
_LARGEST = 64 * 1024 * 1024


def digest_of(plan: Plan) -> str:
    """SHA-256 of what a run of the plan does, spends and publishes, as 64 hex digits."""
    body = {
        "schema": SCHEMA,
        "run": run_id(plan.release),
        "approved": approval_facts(plan.release)["holds"],
        "method": plan.method,
        "epsilon": str(plan.loss.epsilon),
        "delta": str(plan.loss.delta),
        "steps": [
            step_detail(step) | {"transform": [list(map(str, row)) for row in step.transform]}
            for step in plan.steps
        ],
        "reads": [_read(read) for read in plan.reads],
        **({"records": list(map(record_detail, plan.records))} if plan.records else {}),
        **list_facts(plan.release),
    }
    return hashlib.sha256(canonical_json(body).encode("ascii")).hexdigest()


def _read(read: Read) -> dict[str, object]:
    return {
        "query": read.query.name,
        "step": read.step,
        "rows": list(read.rows),
        "reading": str(read.reading),
        "factors": [str(factor) for factor in read.factors],
        "merged": list(read.merged),
        "screened": read.screened,
    }


def save(file: str, described: Mapping[str, object]) -> None:
    """Write a described plan with its digest, whole or not at all. Raises Failure (exit 2)."""
    content = {name: value for name, value in described.items() if name != "ledger"}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    problem = save_text(file, text, _is_plan)
    if problem is not None:
        raise _refused(f"the plan {file} can't be written: {problem}", "choose another FILE")


def _is_plan(text: str) -> bool:
    content = json.loads(text)
    return isinstance(content, dict) and content.get("schema") == SCHEMA


def check_approved(plan: Plan, file: str, *, new_noise: bool = False) -> None:
    """Refuse a plan that isn't the saved one, and ``new_noise``. Raises Failure (exit code 2)."""
    saved = _saved(file)
    if new_noise:
        raise _refused(
            f"{file} approves one release, and new noise is another one, which is charged again",
            "leave out --new-noise, or have a plan with another snapshot approved",
        )
    if saved["digest"] == digest_of(plan):
        edited = _edited(plan, saved)
        if not edited:
            return
        raise _refused(
            f"{file} was edited since it was saved, or saved by another version "
            f"(differs in {', '.join(edited[:5])})",
            "have the plan approved as it is saved: dprelease plan -o",
        )
    raise _refused(
        f"what would be run now is not what {file} holds{_differences(plan, saved)}",
        "have the new plan approved (dprelease plan -o), or restore spec, options and version",
    )


def _saved(file: str) -> Mapping[str, Any]:
    path = Path(file)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ValueError("no file, or too large for a plan")
        content = json.loads(path.read_bytes(), object_pairs_hook=_once)
    except OSError as problem:
        reason = problem.strerror or "it can't be read"
        raise _refused(f"the plan {file} can't be read: {reason}", "see --plan") from None
    except (ValueError, RecursionError):
        raise _refused(f"{file} is no saved plan", "save one with dprelease plan -o") from None
    known = isinstance(content, dict) and content.get("schema") == SCHEMA
    if not known or not isinstance(content.get("digest"), str):
        raise _refused(f"{file} is no saved plan", "save one with dprelease plan -o")
    saved: Mapping[str, Any] = content
    return saved


def _edited(plan: Plan, saved: Mapping[str, Any]) -> list[str]:
    """The parts of a saved plan that don't read as they would now."""
    now, names = described(plan), saved.keys() - {"digest"}
    return sorted(
        (now.keys() ^ names)
        | {name for name in now.keys() & names if _told(now, name) != _told(saved, name)}
    )


def _told(content: Mapping[str, Any], name: str) -> str:
    """One part as text: 1 is not true. Where the spec's file is, and its lines, don't matter."""
    part = content[name]
    if name == "warnings" and isinstance(part, list):
        part = [
            {key: value for key, value in each.items() if key not in _PLACE}
            if isinstance(each, dict)
            else each
            for each in part
        ]
    return json.dumps(part, sort_keys=True)


_PLACE = {"file", "line", "column"}


def described(plan: Plan) -> Mapping[str, Any]:
    """All that is said of a plan, as it is read back from a file; without the ledger."""
    from dprelease.report.plan_json import describe, what_if_facts

    said = {**describe(plan), "what_if": what_if_facts(plan)}
    said.pop("ledger")
    read: Mapping[str, Any] = json.loads(json.dumps(said))
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: of two values people could read the wrong one."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _differences(plan: Plan, saved: Mapping[str, Any]) -> str:
    """Name what differs as far as the file tells; it may have been written by anybody."""
    from dprelease.report.plan_json import describe

    now = json.loads(json.dumps(describe(plan)))
    held, before = now["approval"]["holds"], _held(saved)
    parts = [name for name in held if before is not None and held[name] != before.get(name)]
    parts += [
        name
        for name in ("release", "unit", "unit_column", "adjacency", "bounding", "declared", "lists")
        if saved.get(name) != now.get(name)
    ]
    steps = {str(each.get("name")): each for each in _tables(saved.get("steps"))}
    after = {str(each.get("name")): each for each in _tables(now.get("steps"))}
    parts += [
        f'query "{name}"' for name in after if name not in steps or steps[name] != after[name]
    ]
    parts += [f"a query that is gone: {len(steps.keys() - after.keys())}"] * bool(
        steps.keys() - after.keys()
    )
    return f" (differs in {', '.join(parts[:5])})" if parts else ""


def _held(saved: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the file holds a run to; None of an early version, which did not say."""
    approval = saved.get("approval")
    held = approval.get("holds") if isinstance(approval, dict) else None
    return held if isinstance(held, dict) else None


def _tables(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _refused(message: str, hint: str) -> Failure:
    return Failure(ExitCode.SPEC, Complaint("E320", message, hint))
