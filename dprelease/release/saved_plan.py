"""Plans that were saved, to be approved, and are then executed exactly or not at all.

A saved plan is the plan in JSON as people read it, with a digest of all that decides what a run
does, spends and publishes: the spec's meaning, the data, snapshot and period it is for, each step's
mechanism with its exact parameters, how each query is read, the composed loss; ledger, data set and
caps it is charged under; where and in which form it is published. What is left
open stands in ``reports.facts.approval``. A run that is given the file plans anew and compares:
the digest, and then every line of the file, so that what people have read and approved is what is
run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any

from dprelease.errors import Complaint, ExitCode, Failure, build_write_failure
from dprelease.files.atomic import LARGEST_TEXT, UnwrittenError, save_file
from dprelease.ledger.identity import run_id, write_canonical_json
from dprelease.model import Plan, Release
from dprelease.model.plan_json import plan_json, step_json
from dprelease.reports.facts.approval import list_held_facts
from dprelease.reports.facts.release_facts import list_files
from dprelease.reports.model.json_form import from_json, to_json
from dprelease.reports.model.report_model import Spent

SCHEMA = "dprelease/plan/1"
Parts = dict[str, Any]
"""A plan in JSON, without ledger and digest."""

TOTAL = "total_with_this_release"
"""What all releases of the dataset came to, this one included, when the plan was saved. No run is
held to it: others may be charged before."""


def compute_plan_digest(plan: Plan) -> str:
    """Compute SHA-256 of what a run of the plan does, spends and publishes."""
    steps = []
    for step in plan.steps:
        content = step_json(step)
        del content["cells"]
        steps.append(content | {"transform": [list(map(str, row)) for row in step.transform]})
    body = {
        "schema": SCHEMA,
        "run": run_id(plan.release),
        "approved": to_json(list_held_facts(plan.release)),
        **plan_json(plan),
        "epsilon": str(plan.loss.epsilon),
        "delta": str(plan.loss.delta),
        "steps": steps,
        **({"lists": to_json(list_files(plan.release))} if plan.release.lists else {}),
    }
    return hashlib.sha256(write_canonical_json(body).encode("ascii")).hexdigest()


UNSAVED = ("ledger", "definitions")
"""Parts of a described plan that a saved one has not: they stand elsewhere, or follow from it."""


def save(file: str, described: Mapping[str, object]) -> None:
    """Write a described plan with its digest, whole or not at all.

    Args:
        file: Path; an existing file is only replaced if it is a saved plan.
        described: The plan in JSON values.

    Raises:
        Failure: Exit code 2 or 6 if the file can't be written.
    """
    content = {name: value for name, value in described.items() if name not in UNSAVED}
    ledger = described.get("ledger")
    if isinstance(ledger, dict):
        after = ledger["composed"]["after"]
        content[TOTAL] = {"epsilon": after["epsilon"], "delta": after["delta"]}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    try:
        save_file(file, text.encode(), _is_plan)
    except UnwrittenError as problem:
        message = f"the plan {file} can't be written: {problem.reason}"
        hint = "choose another FILE"
        raise build_write_failure("E320", message, hint, is_of_disk=problem.is_of_disk) from None


REFUSED = "refused"
"""The decision of a reviewer that no run follows."""


def check_decision(release: Release) -> None:
    """Raise Failure (exit 2) if the spec says that its reviewer refused the release."""
    if release.review.decision == REFUSED:
        key = "review.decision"
        message = "[review] says that the reviewer refused the release"
        complaint = Complaint("E322", message, place=release.place(key), key=key)
        raise Failure(ExitCode.SPEC, complaint)


def check_approved(plan: Plan, file: str, *, new_noise: bool = False) -> Spent | None:
    """Refuse a plan that is not the saved one.

    Args:
        plan: The plan as made now.
        file: Path of the saved plan.
        new_noise: New noise is asked for, which no saved plan approves.

    Returns:
        What all releases came to with this one when the plan was saved; None if it does not say.

    Raises:
        Failure: Exit code 2 if the plan differs, the file was edited, or new noise is asked for.
    """
    digest, saved = read_saved_plan(file)
    if new_noise:
        raise _build_refusal(
            f"{file} approves one release, but --new-noise makes another, which is charged again",
            "leave out --new-noise, or have a plan with another snapshot approved",
        )
    from dprelease.reports.plan_facts import describe, describe_alternatives

    now: Parts = json.loads(json.dumps({**describe(plan), "what_if": describe_alternatives(plan)}))
    for name in UNSAVED:
        del now[name]
    total = saved.pop(TOTAL, None)
    if digest != compute_plan_digest(plan):
        names = ", ".join(_list_differences(saved, now)[:5])
        raise _build_refusal(
            f"the present plan is not the one in {file}"
            + (f" (differs in {names})" if names else ""),
            "have the new plan approved (dprelease plan -o), or restore spec, options and version",
        )
    edited = sorted(
        name for name in {*saved, *now} if _format_line(saved, name) != _format_line(now, name)
    )
    if edited:
        raise _build_refusal(
            f"{file} was edited since it was saved, or saved by another version "
            f"(differs in {', '.join(edited[:5])})",
            "have the plan approved as it is saved: dprelease plan -o",
        )
    try:
        return None if total is None else from_json(Spent, total)
    except ValueError:
        raise _build_refusal(
            f"{file} was edited since it was saved (differs in {TOTAL})",
            "have the plan approved as it is saved: dprelease plan -o",
        ) from None


def read_saved_plan(file: str) -> tuple[str, Parts]:
    """Read a saved plan.

    Returns:
        Its digest, and all other parts.

    Raises:
        Failure: Exit code 2 if the file is not a saved plan.
    """
    path = Path(file)
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
            raise ValueError("it does not exist, or is too large for a plan")
        content = json.loads(path.read_bytes(), object_pairs_hook=_require_unique_keys)
        if content["schema"] != SCHEMA or not isinstance(content["digest"], str):
            raise ValueError("no plan")
        return content.pop("digest"), content
    except OSError as problem:
        reason = problem.strerror or "it can't be read"
        raise _build_refusal(f"the plan {file} can't be read: {reason}", "see --plan") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _build_refusal(
            f"{file} is not a saved plan", "save one with dprelease plan -o"
        ) from None


def _list_differences(saved: Parts, now: Parts) -> list[str]:
    """Name what differs between two plans, as far as their JSON tells."""
    (old_terms, old_queries), (terms, queries) = map(_split_parts, (saved, now))
    changed = [name for name in terms if old_terms and terms[name] != old_terms.get(name)]
    changed += [name for name in _NAMED if saved.get(name) != now.get(name)]
    changed += [f'query "{name}"' for name in queries if old_queries.get(name) != queries[name]]
    gone = len(old_queries.keys() - queries.keys())
    return [*changed, *([f"a query that is gone: {gone}"] if gone else [])]


def _split_parts(parts: Parts) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Collect what a run is held to, and the queries by name; be lenient with any content."""
    # Anybody may have written the file, so nothing is taken for granted.
    approval, steps = parts.get("approval"), parts.get("steps")
    terms = approval.get("holds") if isinstance(approval, dict) else None
    queries = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    by_name = {str(query.get("name")): query for query in queries}
    return terms if isinstance(terms, dict) else {}, by_name


_NAMED = ("release", "unit", "unit_column", "adjacency", "bounding", "declared", "lists")
_PLACE = {"file", "line", "column"}


def _format_line(parts: Parts, name: str) -> str | None:
    """Format one part as text, without the spec's place and lines; None if missing."""
    part = parts.get(name)
    if name == "warnings" and isinstance(part, list):
        part = [
            {key: warning[key] for key in warning if key not in _PLACE}
            if isinstance(warning, dict)
            else warning
            for warning in part
        ]
    # As text, 1 differs from true.
    return json.dumps(part, sort_keys=True) if name in parts else None


def _is_plan(text: str) -> bool:
    content = json.loads(text)
    return isinstance(content, dict) and content.get("schema") == SCHEMA


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise ValueError if a key is repeated."""
    # Of two values of one key people could read the wrong one.
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is there twice")
    return content


def _build_refusal(message: str, hint: str) -> Failure:
    return Failure(ExitCode.SPEC, Complaint("E320", message, hint))
