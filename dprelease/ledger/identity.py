"""Identity of a run: a hash of everything in the spec that determines the released numbers.

Two specs have the same identity exactly when a second run may hand out the numbers of the first:
the run id is what makes a repeated run free, so it must change whenever the numbers would, and
must not change with comments, titles, file places, output settings or the clock.

A field at its default is left out of the hash, so that a later version with one more optional
field gives an old spec its old identity. Changing what a default means, on the other hand, needs
a new ``FORMAT``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from msgspec import NODEFAULT, Struct
from msgspec.structs import asdict, fields, replace

from dprelease.model import (
    About,
    Column,
    CurveAxis,
    Data,
    Database,
    Expression,
    Perturb,
    PerturbedColumn,
    Privacy,
    Query,
    Release,
    Source,
)
from dprelease.model.plan_json import exact

FORMAT = "dprelease/run/1"

LEFT_OUT: Mapping[type, frozenset[str]] = {
    # Of the ledger only the dataset counts; of the output nothing: other formats, other places
    # and other interval levels show the same numbers. Of files with lists their values count.
    Release: frozenset(
        {
            "file",
            "ledger",
            "output",
            "report_formats",
            "report_language",
            "warnings",
            "places",
            "lists",
            "review",
            "names",
        }
    ),
    About: frozenset(
        {
            "title",
            "curator",
            "contact",
            "purpose",
            "region",
            "sector",
            "approved_by",
            "licence",
            "previous",
        }
    ),
    # Engines must return the same integers, so which one ran is no part of the identity.
    Data: frozenset({"engine", "design_effect"}),
    # What the neighbours and the rest of the source make of it.
    Source: frozenset({"pattern", "must_end"}),
    # Its table is the written path.
    Database: frozenset({"uri_env", "table"}),
    Privacy: frozenset({"unit_description", "population", "has_fixed_records"}),
    # The grid itself counts, whoever chose its step.
    Column: frozenset({"source", "step_chosen"}),
    # Queries are told apart by their unique names, not by their order in the file. What is done to
    # noisy figures afterwards, and what is made of them, leaves the noise as it is.
    # What a share is among follows from its condition. Version 0.2 took it among all
    # records; which it was is told by the transform that sealed integers name.
    Query: frozenset({"number", "finish", "max_unreadable", "among"}),
    # A curve is smooth in all releases since 0.2: the noise that integers were sealed with tells.
    CurveAxis: frozenset({"smooth"}),
    # Record-level tables too, but the order of their columns is that of what is published.
    Perturb: frozenset({"number"}),
    # What stands for a null counts, whoever chose it.
    PerturbedColumn: frozenset({"null_chosen"}),
    Expression: frozenset({"columns"}),
}


def run_id(release: Release, attempt: int = 0) -> str:
    """Compute the identity of a run of the release.

    Args:
        release: The checked spec.
        attempt: 0 for the first run; one more for each further run with new noise, which is
            charged again.

    Returns:
        SHA-256 of ``build_canonical_form``, as 64 hexadecimal digits.
    """
    return hashlib.sha256(build_canonical_form(release, attempt).encode("ascii")).hexdigest()


def build_canonical_form(release: Release, attempt: int = 0) -> str:
    """Write what determines the released numbers as canonical JSON."""
    perturbs = tuple(map(_normalize_weights, release.perturbs))
    body = _make_plain(replace(release, perturbs=perturbs))
    if not isinstance(body, dict):
        raise TypeError("a release is a struct")
    body["dataset"] = release.ledger.dataset
    body["queries"] = sorted(body.get("queries", []), key=write_canonical_json)
    if perturbs:
        body["perturbs"] = sorted(body["perturbs"], key=write_canonical_json)
    again = {"attempt": attempt} if attempt else {}
    return write_canonical_json({"format": FORMAT, "release": body, **again})


def _normalize_weights(perturb: Perturb) -> Perturb:
    """Scale the weights of a record-level table to a sum of 1."""
    # Only the ratios of weights count.
    whole = sum((column.weight for column in perturb.columns), Fraction(0))
    columns = (replace(column, weight=column.weight / whole) for column in perturb.columns)
    return replace(perturb, columns=tuple(columns))


def write_canonical_json(value: object) -> str:
    """Write JSON with sorted keys, no blanks and ASCII only: one text for one value.

    Args:
        value: JSON values; tuples are written as lists.

    Raises:
        TypeError: The value holds a float, which has no canonical text.
    """
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _make_plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Fraction):
        return exact(value)
    if isinstance(value, tuple | list):
        # Candidates and keys can be a million.
        return (
            list(value) if _PLAIN.issuperset(map(type, value)) else [_make_plain(v) for v in value]
        )
    if isinstance(value, Mapping):
        return {str(key): _make_plain(item) for key, item in value.items()}
    if isinstance(value, Struct):
        left_out, defaults = LEFT_OUT.get(type(value), frozenset()), _list_defaults(type(value))
        plain = {
            name: _make_plain(content)
            for name, content in asdict(value).items()
            if name not in left_out and not (name in defaults and content == defaults[name])
        }
        if isinstance(value, Source):
            # Keys of one format count by their names, as if all sources had them.
            plain.pop("own", None)
            plain |= dict(value.own)
        return plain
    raise TypeError(f"a {type(value).__name__} can't be part of a run's identity")


@cache
def _list_defaults(kind: type[Struct]) -> dict[str, object]:
    defaults = {}
    for field in fields(kind):
        if field.default is not NODEFAULT:
            defaults[field.name] = field.default
        elif field.default_factory is not NODEFAULT:
            defaults[field.name] = field.default_factory()
    return defaults


def _refuse_floats(value: object) -> None:
    if type(value) in _PLAIN:
        return
    if isinstance(value, float):
        raise TypeError("floats have no canonical text")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, list | tuple) and not _PLAIN.issuperset(map(type, value)):
        for item in value:
            _refuse_floats(item)


_PLAIN = frozenset({str, int, bool, type(None)})
