"""Facts as JSON values and back: report.json, and its JSON Schema.

Written, a value is a dict of its fields in their order. Read, anybody may have written it: a key
that is missing, or of another type, is a ValueError; keys that are not known are those of a later
version, and are left out.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from dprelease.reports.model.report_model import ReportFacts

SCHEMA = "dprelease/report/1"
REHEARSED = "dprelease/rehearsed-report/1"
TITLE = "dprelease report"
T = TypeVar("T")


def render(_document: object, facts: ReportFacts) -> str:
    """Write report.json."""
    return json.dumps(build_report_json(facts), indent=2, ensure_ascii=False) + "\n"


def build_report_json(facts: ReportFacts) -> dict[str, Any]:
    """Build the content of report.json.

    A rehearsal has another schema, so that no program takes it for a release.
    """
    content = to_json(facts)
    if facts.language == "en":  # msgspec tells a default by its identity, not by its value
        content.pop("language", None)
    return {"schema": REHEARSED if facts.rehearsal else SCHEMA, **content}


def read_report_json(content: object) -> ReportFacts:
    """Read what ``build_report_json`` wrote. Raises ValueError for anything else."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"not of the schema {SCHEMA}")
    return from_json(ReportFacts, content)


def to_json(value: Any) -> Any:
    """Convert a value of ``report_model``, or containers of them, to JSON values.

    Raises:
        ValueError: A number is infinite or NaN.
    """
    # msgspec.json writes such a number as null: facts with a gap in place of a loss or an error.
    return json.loads(json.dumps(msgspec.to_builtins(value), allow_nan=False))


def from_json(kind: type[T], content: object) -> T:
    """Convert JSON values to a value of a class.

    Raises:
        ValueError: The content has another form.
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError:
        raise ValueError(f"not facts of the form {kind.__name__}") from None


def build_report_schema() -> dict[str, Any]:
    """Build the JSON Schema of report.json from the types of its facts."""
    (_, parts) = msgspec.json.schema_components([ReportFacts], ref_template="#/$defs/{name}")
    report = parts.pop("ReportFacts")
    del report["properties"]["rehearsal"]  # one of a rehearsal is of another schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **report,
        "title": TITLE,
        "description": "report.json, version 1. Later versions of the tool may add keys; those "
        "that are here stay and keep their meaning.",
        "required": ["schema", *report["required"]],
        "properties": {"schema": {"const": SCHEMA}, **report["properties"]},
        "$defs": parts,
    }


def schema_text() -> str:
    """Write the JSON Schema of report.json, as ``dprelease schema --report`` prints it."""
    return json.dumps(build_report_schema(), indent=2, ensure_ascii=False) + "\n"
