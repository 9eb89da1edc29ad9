"""The JSON Schema (2020-12) of a spec, made of the sections that read it and the words on them.

Editors complete and check a spec by it. It says what a schema can say: keys, types, words, ranges,
and which keys a statistic needs. ``dprelease check`` says the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dprelease.local.perturb_section import PerturbSection
from dprelease.model.source_registry import SOURCES
from dprelease.report_format import list_stated_formats
from dprelease.specfile.keys.section_reader import (
    TAKES,
    Choice,
    Fragment,
    Key,
    Section,
    build_schema_ref,
    name_section,
)
from dprelease.specfile.schema import sections
from dprelease.specfile.schema.sections import SECTIONS
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import SpecKeys
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "dprelease spec"

_REFUSED: Fragment = {"not": {}}
_GROUPED: Fragment = {"required": ["max_groups_per_unit"]}


def build_spec_schema() -> Fragment:
    """Build the JSON Schema of specs."""
    return {
        "$schema": DIALECT,
        "title": TITLE,
        "description": "What a differentially private release publishes, of which data, and what "
        "it may cost.",
        "type": "object",
        "properties": {
            "schema": {"const": 1, "description": "version of the format: 1"},
            "release": build_schema_ref(sections.ReleaseSection),
            "data": build_schema_ref(sections.DataSection),
            "privacy": build_schema_ref(sections.PrivacySection),
            "ledger": build_schema_ref(sections.LedgerSection),
            "columns": {
                "type": "object",
                "description": _strip_markdown(sections.ColumnSection.WORDS),
                "additionalProperties": build_schema_ref(sections.ColumnSection),
            },
            "query": _build_table_array(sections.QuerySection),
            "postprocess": build_schema_ref(sections.PostprocessSection),
            "review": build_schema_ref(sections.ReviewSection),
            "perturb": _build_table_array(PerturbSection),
            "output": build_schema_ref(sections.OutputSection),
            "report": build_schema_ref(sections.ReportSection),
        },
        "required": ["release", "data", "privacy", "output"],
        "anyOf": [{"required": ["query"]}, {"required": ["perturb"]}],
        "if": {"required": ["query"]},
        "then": {"properties": {"privacy": {"properties": {"bounding": _GROUPED}}}},
        "additionalProperties": False,
        "$defs": {name_section(section): _build_section(section) for section in SECTIONS},
    }


def _build_table_array(section: type[Section]) -> Fragment:
    words = {"description": _strip_markdown(section.WORDS)}
    return {"type": "array", **words, "minItems": 1, "items": build_schema_ref(section)}


def schema_text() -> str:
    """Write the JSON Schema of specs, as ``dprelease schema`` prints it."""
    return json.dumps(build_spec_schema(), indent=2, ensure_ascii=False) + "\n"


def _build_section(section: type[Section]) -> Fragment:
    schema: Fragment = {
        "type": "object",
        "description": _strip_markdown(section.WORDS),
        "properties": {name: _build_key(section, name, key) for name, key in section.KEYS.items()},
        "additionalProperties": False,
    }
    if section.REQUIRED:
        schema["required"] = list(section.REQUIRED)
    if rules := _build_rules(section):
        schema["allOf"] = rules
    return schema


def _build_key(section: type[Section], name: str, key: Key[Any]) -> Fragment:
    schema = dict(_build_kind(section, name, key))
    left_out = f" (if left out: {_strip_markdown(key.absent)})"
    with suppress(ValueError):  # the default, where the words state it literally
        schema["default"], left_out = json.loads(key.absent), ""
    schema["description"] = _strip_markdown(key.meaning)
    if key.absent not in {"-", "required"}:
        schema["description"] += left_out
    return schema


def _build_kind(section: type[Section], name: str, key: Key[Any]) -> Fragment:
    if isinstance(key, Choice):
        return {"enum": list(key.words)}
    if (section, name) == (sections.QuerySection, "statistic"):
        return {"enum": list(STATISTICS)}
    return TAKES[key.read].schema | _NARROWER.get((section, name), {})


# What a key takes that its reading function doesn't know of.
_NARROWER: Mapping[tuple[type[Section], str], Fragment] = {
    (sections.ColumnSection, "keys"): {"minItems": 1},
    (sections.ColumnSection, "bins"): {"minItems": 2},
    (sections.QuerySection, "bins"): {"minItems": 2},
    (sections.ReportSection, "formats"): {
        "items": {"enum": list(list_stated_formats())},
        "uniqueItems": True,
    },
}


def _strip_markdown(text: str) -> str:
    """Strip Markdown's backticks."""
    return re.sub(r"`([^`]*)`", r"\1", text)


_OF_ONE_TABLE = ("table", "partition_selection")
_TOGETHER = {"columns": ["ways"], "ways": ["columns"]}


def _build_takes(keys: SpecKeys) -> Fragment:
    schema: Fragment = {}
    needed = ["column"] if keys.column.needs_column else []
    if plain := needed + [key.name for key in keys.needs if not key.instead]:
        schema["required"] = plain
    if either := [key for key in keys.needs if key.instead]:
        schema["anyOf"] = [{"required": [name]} for name in (either[0].name, either[0].instead)]
    if keys.column is ColumnUse.CURVE:
        schema["oneOf"] = [{"required": [name]} for name in ("column", "columns")]
    taken = {key.name for key in keys.own}
    if set(_TOGETHER) <= taken:
        schema["dependentRequired"] = _TOGETHER
    refused = [name for name in list_own_keys() if name not in taken]
    if keys.column is ColumnUse.NONE:
        refused.append("column")
    if not keys.column.has_bins:
        refused.append("bins")
    if keys.tables_of:
        refused += ["by", *_OF_ONE_TABLE]
    properties: Fragment = dict.fromkeys(refused, _REFUSED)
    properties["mechanism"] = {"enum": list(keys.mechanisms)}
    return {**schema, "properties": properties}


def _build_condition(condition: Fragment, consequence: Fragment) -> Fragment:
    return {"if": {"properties": condition, "required": list(condition)}, "then": consequence}


def _build_rules(section: type[Section]) -> list[Fragment]:
    if section is sections.DataSection:
        places = {form.place for form in SOURCES.values()}
        return [{"anyOf": [{"required": list(place)} for place in sorted(places)]}]
    if section is sections.PrivacySection:
        keys = ("unit_column", "bounding")
        return [
            _build_condition({"unit": {"const": "column"}}, {"required": list(keys)}),
            _build_condition(
                {"unit": {"const": "row"}}, {"properties": dict.fromkeys(keys, _REFUSED)}
            ),
        ]
    if section is sections.QuerySection:
        of_several = {"properties": dict.fromkeys(_OF_ONE_TABLE, _REFUSED)}
        return [
            *(
                _build_condition({"statistic": {"const": name}}, _build_takes(statistic.keys))
                for name, statistic in STATISTICS.items()
            ),
            {"if": {"required": ["levels"]}, "then": of_several},
            {"if": {"required": ["attributes"]}, "then": {"properties": {"columns": _REFUSED}}},
        ]
    if section is PerturbSection:
        refused = dict.fromkeys(("epsilon", "weights"), _REFUSED)
        return [{"if": {"required": ["truth"]}, "then": {"properties": refused}}]
    return []
