"""Plans that were saved, to be approved, and are then executed exactly or not at all.

A saved plan is the plan in JSON as people read it, with a digest of all that decides what a run
does, spends and publishes: the spec's meaning, the data, snapshot and period it is for, each step's
mechanism with its exact parameters, how each query is read, the composed loss; ledger, data set and
caps it is charged under; where and in which form it is published. ``wording.approved_plan`` says
what is left open. A run that is given the file plans anew and compares: the digest, and then every
line of the file, so that what people have read and approved is what is run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.files.atomic import LARGEST_TEXT, save_text
from dprelease.ledger.identity import canonical_json, run_id
from dprelease.model import Plan
from dprelease.model.plan_json import plan_json, step_json
from dprelease.report.facts.json_form import to_json
from dprelease.report.facts.release_facts import approval_facts, list_files

SCHEMA = "dprelease/plan/1"


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan in JSON without ledger and digest, and its digest: of a file, or as it would be now.

    Anybody may have written the file, so nothing is taken for granted of its parts.
    """

    digest: str
    parts: Mapping[str, Any]

    @property
    def held(self) -> Mapping[str, object]:
        """What a run is held to; nothing in the files of early versions, which did not say."""
        approval = self.parts.get("approval")
        held = approval.get("holds") if isinstance(approval, dict) else None
        return held if isinstance(held, dict) else {}

    @property
    def queries(self) -> Mapping[str, object]:
        """The queries by name."""
        steps = self.parts.get("steps")
        queries = steps if isinstance(steps, list) else []
        return {str(query.get("name")): query for query in queries if isinstance(query, dict)}

    def text(self, name: str) -> str | None:
        """One part as text: 1 is not true. The spec's place and its lines don't matter."""
        if name not in self.parts:
            return None
        part = self.parts[name]
        if name == "warnings" and isinstance(part, list):
            part = [_without_place(warning) for warning in part]
        return json.dumps(part, sort_keys=True)


def digest_of(plan: Plan) -> str:
    """SHA-256 of what a run of the plan does, spends and publishes, as 64 hex digits."""
    steps = []
    for step in plan.steps:
        content = step_json(step)
        del content["cells"]
        steps.append(content | {"transform": [list(map(str, row)) for row in step.transform]})
    body = {
        "schema": SCHEMA,
        "run": run_id(plan.release),
        "approved": approval_facts(plan.release)["holds"],
        **plan_json(plan),
        "epsilon": str(plan.loss.epsilon),
        "delta": str(plan.loss.delta),
        "steps": steps,
        **({"lists": to_json(list_files(plan.release))} if plan.release.lists else {}),
    }
    return hashlib.sha256(canonical_json(body).encode("ascii")).hexdigest()


def save(file: str, described: Mapping[str, object]) -> None:
    """Write a described plan with its digest, whole or not at all. Raises Failure (exit 2)."""
    content = {name: value for name, value in described.items() if name != "ledger"}
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    problem = save_text(file, text, _is_plan)
    if problem is not None:
        raise _refused(f"the plan {file} can't be written: {problem}", "choose another FILE")


def check_approved(plan: Plan, file: str, *, new_noise: bool = False) -> None:
    """Refuse a plan that isn't the saved one, and ``new_noise``. Raises Failure (exit code 2)."""
    saved = read_saved_plan(file)
    if new_noise:
        raise _refused(
            f"{file} approves one release, and new noise is another one, which is charged again",
            "leave out --new-noise, or have a plan with another snapshot approved",
        )
    now = _as_saved(plan)
    if saved.digest != now.digest:
        names = ", ".join(_differences(saved, now)[:5])
        raise _refused(
            f"what would be run now is not what {file} holds"
            + (f" (differs in {names})" if names else ""),
            "have the new plan approved (dprelease plan -o), or restore spec, options and version",
        )
    parts = saved.parts.keys() | now.parts.keys()
    if edited := sorted(name for name in parts if saved.text(name) != now.text(name)):
        raise _refused(
            f"{file} was edited since it was saved, or saved by another version "
            f"(differs in {', '.join(edited[:5])})",
            "have the plan approved as it is saved: dprelease plan -o",
        )


def _as_saved(plan: Plan) -> SavedPlan:
    """The plan as it is read back from a file."""
    from dprelease.report.plan_json import describe, what_if_facts

    parts = json.loads(json.dumps({**describe(plan), "what_if": what_if_facts(plan)}))
    del parts["ledger"]
    return SavedPlan(digest_of(plan), parts)


def read_saved_plan(file: str) -> SavedPlan:
    """Read a saved plan. Raises Failure (exit code 2) for any other file."""
    path = Path(file)
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode) or status.st_size > LARGEST_TEXT:
            raise ValueError("no file, or too large for a plan")
        content = json.loads(path.read_bytes(), object_pairs_hook=_unique_keys)
        if content["schema"] != SCHEMA or not isinstance(content["digest"], str):
            raise ValueError("no plan")
        return SavedPlan(content.pop("digest"), content)
    except OSError as problem:
        reason = problem.strerror or "it can't be read"
        raise _refused(f"the plan {file} can't be read: {reason}", "see --plan") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _refused(f"{file} is no saved plan", "save one with dprelease plan -o") from None


def _differences(saved: SavedPlan, now: SavedPlan) -> list[str]:
    """Name what differs between two plans, as far as their JSON tells."""
    held = [name for name in now.held if saved.held and now.held[name] != saved.held.get(name)]
    parts = [name for name in _NAMED if saved.parts.get(name) != now.parts.get(name)]
    queries = [
        f'query "{name}"' for name, query in now.queries.items() if saved.queries.get(name) != query
    ]
    gone = len(saved.queries.keys() - now.queries.keys())
    return [*held, *parts, *queries, *([f"a query that is gone: {gone}"] if gone else [])]


_NAMED = ("release", "unit", "unit_column", "adjacency", "bounding", "declared", "lists")
_PLACE = {"file", "line", "column"}


def _without_place(warning: object) -> object:
    if not isinstance(warning, dict):
        return warning
    return {name: value for name, value in warning.items() if name not in _PLACE}


def _is_plan(text: str) -> bool:
    content = json.loads(text)
    return isinstance(content, dict) and content.get("schema") == SCHEMA


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once: of two values people could read the wrong one."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key is there twice")
    return content


def _refused(message: str, hint: str) -> Failure:
    return Failure(ExitCode.SPEC, Complaint("E320", message, hint))
