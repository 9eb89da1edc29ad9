"""The noisy integers of a run as bytes, and back: what the ledger seals.

The bytes name the noise they were drawn with, so that a plan that has changed since can't dress
old numbers in new intervals. Record-level tables are too large to be kept there: what is sealed of
them is their digest and what was counted of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from types import MappingProxyType

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.local.exact_json import record_detail, stored_content, stored_from
from dprelease.model import Form, NoisyTable, Plan, Step, StoredTable

PACKAGES = ("dprelease", "duckdb", "numpy")


@cache
def versions() -> Mapping[str, str]:
    """Name the versions of the tool, of Python and of what counted and drew, in order of name."""
    import platform
    from importlib.metadata import version

    found = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    return MappingProxyType(dict(sorted(found.items())))


FORM = "dprelease/sealed/1"


@dataclass(frozen=True, slots=True)
class Sealed:
    """A run's noisy integers and the versions that drew them; ``records`` by name of the table."""

    noisy: NoisyTable
    versions: Mapping[str, str]
    records: Mapping[str, StoredTable] = field(default_factory=dict)


def to_bytes(plan: Plan, drawn: Sealed) -> bytes:
    """Write the noisy integers of a plan; the same input gives the same bytes.

    ``from_bytes`` gives back what was written. Raises TypeError for a figure that is no integer.
    """
    keys = drawn.noisy.keys
    content = {
        "form": FORM,
        "versions": dict(drawn.versions),
        "steps": _laws(plan),
        "values": {
            step.query.name: list(map(_integers, drawn.noisy.values[step.query.name]))
            for step in plan.steps
        },
        **({"records": _records(plan, drawn)} if plan.records else {}),
        **({"keys": {table: list(map(list, keys[table])) for table in keys}} if keys else {}),
    }
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def from_bytes(plan: Plan, payload: bytes) -> Sealed:
    """Read them back. Raises Failure (exit code 6) when they are not of this plan.

    Raises TypeError for a figure that is no integer.
    """
    content = json.loads(payload)
    if content.get("form") != FORM or content["steps"] != _laws(plan):
        raise Failure(
            ExitCode.LEDGER,
            Complaint(
                "E610",
                f'"{plan.release.about.name}" was released with other noise than is planned now',
                "use the version that released it, or spend again with --new-noise",
            ),
        )
    values = {name: tuple(map(_integers, rows)) for name, rows in content["values"].items()}
    keys = {name: tuple(map(_texts, rows)) for name, rows in content.get("keys", {}).items()}
    records = {name: stored_from(each) for name, each in content.get("records", {}).items()}
    return Sealed(NoisyTable(values, keys), content["versions"], records)


def _records(plan: Plan, drawn: Sealed) -> dict[str, object]:
    names = [step.perturb.name for step in plan.records]
    return {name: stored_content(drawn.records[name]) for name in names}


def _integers(row: Sequence[object]) -> tuple[int, ...]:
    """Refuse whatever is no integer: a text or a decimal is no noisy figure of ours."""
    if not set(map(type, row)) <= {int}:
        raise TypeError("a noisy figure is an integer")
    return tuple(row)  # type: ignore[arg-type]


def _texts(key: Sequence[object]) -> tuple[str, ...]:
    if not set(map(type, key)) <= {str}:
        raise TypeError("a key is made of labels")
    return tuple(key)  # type: ignore[arg-type]


def _laws(plan: Plan) -> list[list[object]]:
    """State every step's noise, by name: the order of queries in a spec means nothing."""
    records: list[list[object]] = [
        [step.perturb.name, record_detail(step)] for step in plan.records
    ]
    return sorted([*(_law(step) for step in plan.steps), *records], key=lambda law: str(law[0]))


def _law(step: Step) -> list[object]:
    more: list[object] = []
    if step.form is not Form.NUMBERS or step.threshold is not None:
        scheme = step.scheme.steps if step.scheme is not None else ()
        more = [str(step.form), step.threshold, [_exact(each.rate) for each in scheme]]
    return [
        step.query.name,
        str(step.noise.family),
        _exact(step.noise.parameter),
        [list(row) for row in step.transform],
        None if step.query.private else step.query.cells,
        *more,
    ]


def _exact(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
