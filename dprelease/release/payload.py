"""Payload of a seal: the noisy integers of a run as bytes, and back.

The bytes name the noise they were drawn with, so that a plan that has changed since can't dress
old numbers in new intervals. Record-level tables are too large to be kept there: what is sealed of
them is their digest and what was counted of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import TypedDict

from msgspec import Struct, field

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Form, NoisyTable, Plan, Step, StoredTable, Tally
from dprelease.model.plan_json import exact, record_json, step_json

PACKAGES = ("dprelease", "duckdb", "numpy")


@cache
def list_versions() -> Mapping[str, str]:
    """List the versions of dprelease, of Python and of the packages that count and draw.

    Returns:
        Versions by name, in order of name.

    Raises:
        Failure: Exit code 2 if a package has no metadata.
    """
    import platform
    from importlib.metadata import PackageNotFoundError, version

    try:
        numbers = {name: version(name) for name in PACKAGES}
    except PackageNotFoundError as missing:
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E321",
                f"the installation has no metadata of the package {missing.name}, so that a report "
                "could not state its version",
            ),
        ) from None
    numbers["python"] = platform.python_version()
    return MappingProxyType(dict(sorted(numbers.items())))


FORM = "dprelease/sealed/1"
LAYOUT = 4
"""What is made of the integers. 1 had no ends of intervals. 2 had no empty cells for empty groups,
flags of quantiles by any count of records, and ``bounded`` in place of ``ok`` alone. 3 had no ends
of intervals of counts and sums that are moved or hidden."""


class Sealed(Struct, frozen=True):
    """A run's noisy integers and the versions that drew them; ``records`` by name of the table.

    ``layout`` says which columns are made of them, of a run that is published again as well.
    """

    noisy: NoisyTable
    versions: Mapping[str, str]
    records: Mapping[str, StoredTable] = field(default_factory=dict)
    layout: int = LAYOUT


def to_bytes(plan: Plan, sealed: Sealed) -> bytes:
    """Encode the noisy integers of a plan for a seal.

    Args:
        plan: The plan, whose noise is named in the bytes.
        sealed: The noisy integers, and digests of record-level tables.

    Returns:
        Canonical bytes, which ``from_bytes`` decodes.

    Raises:
        TypeError: A figure is not an integer.
    """
    keys = sealed.noisy.keys
    tables = [step.perturb.name for step in plan.records]
    records = {name: _encode_table(sealed.records[name]) for name in tables}
    content = {
        "form": FORM,
        "layout": sealed.layout,
        "versions": dict(sealed.versions),
        "steps": describe_laws(plan),
        "values": {
            step.query.name: list(map(_read_integers, sealed.noisy.values[step.query.name]))
            for step in plan.steps
        },
        **({"records": records} if records else {}),
        **({"keys": {table: list(map(list, keys[table])) for table in keys}} if keys else {}),
    }
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def is_of(plan: Plan, payload: bytes | None) -> bool:
    """Tell if sealed integers were drawn with the noise of a plan; True if none are sealed."""
    if payload is None:
        return True
    content = json.loads(payload)
    return bool(content.get("form") == FORM and content["steps"] == describe_laws(plan))


def from_bytes(plan: Plan, payload: bytes) -> Sealed:
    """Decode what ``to_bytes`` encoded.

    Args:
        plan: The plan of the run now.
        payload: The sealed bytes.

    Raises:
        Failure: Exit code 6 if the integers were drawn with other noise than the plan's.
        TypeError: A figure is not an integer.
    """
    if not is_of(plan, payload):
        raise Failure(
            ExitCode.LEDGER,
            Complaint(
                "E610",
                f'"{plan.release.about.name}" was released with other noise than the present plan '
                "has",
            ),
        )
    # Payloads without a layout are those of version 0.2.
    content = json.loads(payload)
    values = {name: tuple(map(_read_integers, rows)) for name, rows in content["values"].items()}
    keys = {name: tuple(map(_read_texts, rows)) for name, rows in content.get("keys", {}).items()}
    records = {name: _read_stored(table) for name, table in content.get("records", {}).items()}
    layout = content.get("layout", 1)
    return Sealed(NoisyTable(values, keys), content["versions"], records, layout)


def _read_integers(row: Sequence[object]) -> tuple[int, ...]:
    """Check that a row has integers only; raise TypeError otherwise."""
    if not set(map(type, row)) <= {int}:
        raise TypeError("a noisy figure is an integer")
    return tuple(row)  # type: ignore[arg-type]


def _read_texts(key: Sequence[object]) -> tuple[str, ...]:
    if not set(map(type, key)) <= {str}:
        raise TypeError("a key is made of labels")
    return tuple(key)  # type: ignore[arg-type]


def describe_laws(plan: Plan) -> list[list[object]]:
    """Describe the noise of every step, in order of name."""
    laws = [_describe_law(step) for step in plan.steps]
    laws += [[step.perturb.name, record_json(step)] for step in plan.records]
    # The order of queries in a spec means nothing.
    return sorted(laws, key=lambda law: str(law[0]))


def _describe_law(step: Step) -> list[object]:
    step_content = step_json(step)
    law = [step_content[name] for name in ("query", "mechanism", "parameter", "transform", "cells")]
    if "stairs" in step_content:
        law.append(step_content["stairs"])
    if "axes" in step_content:  # by digest: a matrix may have many entries
        mixing = json.dumps([step_content["groups"], step_content["axes"]], sort_keys=True)
        law.append(hashlib.sha256(mixing.encode()).hexdigest())
    if "form" in step_content or "threshold" in step_content:
        rates = [exact(selection.rate) for selection in step.scheme.steps] if step.scheme else []
        law += [step_content.get("form", str(Form.NUMBERS)), step.threshold, rates]
    return law


class StoredJson(TypedDict):
    """A stored table in JSON values, without its path; sums are texts "p/q"."""

    format: str
    sha256: str
    size: int
    rows: int
    labels: dict[str, list[int]]
    sums: dict[str, str]
    pairs: list[tuple[str, str, list[list[int]]]]


def _encode_table(table: StoredTable) -> StoredJson:
    tally = table.tally
    return {
        "format": table.format,
        "sha256": table.sha256,
        "size": table.size,
        "rows": tally.rows,
        "labels": {name: list(counts) for name, counts in tally.labels.items()},
        "sums": {name: exact(total) for name, total in tally.sums.items()},
        "pairs": [
            (first, second, [list(row) for row in counts])
            for (first, second), counts in tally.pairs.items()
        ],
    }


def _read_stored(content: StoredJson) -> StoredTable:
    """Decode what ``_encode_table`` encoded; the path is empty."""
    tally = Tally(
        content["rows"],
        {name: tuple(counts) for name, counts in content["labels"].items()},
        {name: Fraction(total) for name, total in content["sums"].items()},
        {(first, second): tuple(map(tuple, counts)) for first, second, counts in content["pairs"]},
    )
    return StoredTable("", content["format"], content["sha256"], content["size"], tally)
