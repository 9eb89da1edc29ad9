"""The JSON Schema (2020-12) of a spec, made of the sections that read it and the words on them.

Editors complete and check a spec by it. It says what a schema can say: keys, types, words, ranges,
and which keys a statistic needs. ``dprelease check`` says the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from dprelease.local import perturb_section
from dprelease.local.perturb_section import PerturbSection
from dprelease.model.source_registry import SOURCES
from dprelease.report_format import list_stated_formats
from dprelease.specfile.keys import fields, number_texts
from dprelease.specfile.keys.section_reader import Choice, Key, Section
from dprelease.specfile.schema import query_tables, review, sections
from dprelease.specfile.schema.sections import SECTIONS
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import SpecKeys
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "dprelease spec"
Fragment = dict[str, Any]

_NUMBER: Fragment = {
    "type": "number",
    "exclusiveMinimum": -number_texts.LARGEST,
    "exclusiveMaximum": number_texts.LARGEST,
}
_REFUSED: Fragment = {"not": {}}
_VALUE: Fragment = {"type": ["string", "number", "boolean"]}
_NAMES: Fragment = {"type": "array", "items": {"type": "string"}}
_WAY: Fragment = {"type": "integer", "minimum": 0, "maximum": fields.MAX_WAYS}
_QUANTILE: Fragment = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}

_LABEL: Fragment = {
    "type": "string",
    "pattern": r"^[^\n\t]*[^\s][^\n\t]*$",
    "maxLength": fields.LONGEST_LABEL,
}
_POSITIVE: Fragment = {"type": "number", "exclusiveMinimum": 0}
_WEIGHT: Fragment = {"type": "number", "exclusiveMinimum": 0, "maximum": number_texts.MAX_EPSILON}
_GROUPED: Fragment = {"required": ["max_groups_per_unit"]}
_MECHANISM: Fragment = {"enum": list(perturb_section.MECHANISMS)}


def _build_ref(section: type[Section]) -> Fragment:
    return {"$ref": f"#/$defs/{_name(section)}"}


def _name(section: type[Section]) -> str:
    return section.__name__.removesuffix("Section").lower()


def _build_array(items: Fragment) -> Fragment:
    return {"type": "array", "items": items, "minItems": 1}


# What each reading function takes. Dates are texts to editors, which is why they pass for values.
KINDS: Mapping[Callable[[object], object], Fragment] = {
    fields.read_text: {"type": "string", "pattern": r"\S"},
    fields.read_line: {"type": "string", "pattern": r"^[^\n\t]*[^\s][^\n\t]*$"},
    fields.read_safe_name: {
        "type": "string",
        "pattern": rf"^(?!.*\.\.){fields.SAFE_NAME.pattern}$",
    },
    fields.label: _LABEL,
    fields.read_labels: {"type": "object", "additionalProperties": _LABEL},
    fields.read_decimals: {"type": "integer", "minimum": 0, "maximum": number_texts.PLACES},
    fields.read_licence: {"type": "string", "pattern": f"^({fields.LICENCE})$"},
    fields.read_option: {"type": "string"},
    fields.read_variable: {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,99}$"},
    fields.read_day: {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    fields.flag: {"type": "boolean"},
    fields.read_texts: {"type": "array", "items": {"type": "string"}},
    fields.read_names: _NAMES | {"minItems": 1},
    fields.read_sets: {"type": "array", "items": _NAMES, "minItems": 1},
    fields.read_ways: {
        "oneOf": [
            _WAY | {"minimum": 1},
            {"type": "array", "items": _WAY, "minItems": 1, "uniqueItems": True},
        ]
    },
    fields.read_weighed_alike: {"enum": list(fields.WEIGHED_ALIKE)},
    fields.read_scalars: {"type": "array", "items": _VALUE},
    fields.read_scalar: _VALUE,
    number_texts.read_exact: _NUMBER,
    number_texts.read_budget: _WEIGHT,
    number_texts.weight: _WEIGHT,
    number_texts.read_design_effect: _POSITIVE | {"maximum": number_texts.MAX_DESIGN_EFFECT},
    number_texts.read_probability: {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    number_texts.read_selection_delta: _WEIGHT
    | {"maximum": float(number_texts.MAX_SELECTION_DELTA)},
    number_texts.read_halfwidth: _POSITIVE,
    number_texts.display_step: _POSITIVE,
    number_texts.read_confidence: {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1},
    number_texts.read_interval: {
        **_NUMBER,
        "minimum": float(number_texts.LEAST_INTERVAL),
        "maximum": float(number_texts.MOST_INTERVAL),
    },
    number_texts.read_bandwidth: {"oneOf": [_POSITIVE, _build_array(_POSITIVE)]},
    number_texts.read_points: {
        "oneOf": [
            {"type": "integer", "minimum": 1, "maximum": 10**6},
            _build_array({"oneOf": [_NUMBER, _build_array(_NUMBER)]}),
        ]
    },
    number_texts.bound: {"type": "integer", "minimum": 1, "maximum": number_texts.MAX_BOUND},
    number_texts.read_record_number: {
        "type": "integer",
        "minimum": 1,
        "maximum": number_texts.MAX_BOUND,
    },
    number_texts.read_skipped_rows: {"type": "integer", "minimum": 1, "maximum": 10_000},
    number_texts.record_lines: {
        "type": "integer",
        "minimum": 2,
        "maximum": number_texts.MAX_RECORD_LINES,
    },
    number_texts.read_population: {"type": "integer", "minimum": 1, "maximum": 10**12},
    number_texts.read_whole_number: {"type": "integer", "minimum": 1, "maximum": 10**6},
    number_texts.read_picks: {"type": "integer", "minimum": 1, "maximum": 10**6},
    fields.read_quantiles: {
        "oneOf": [
            _QUANTILE,
            {
                "type": "array",
                "items": _QUANTILE,
                "minItems": 1,
                "maxItems": fields.MAX_QUANTILES,
                "uniqueItems": True,
            },
        ]
    },
    perturb_section.read_mechanisms: {
        "oneOf": [_MECHANISM, {"type": "object", "additionalProperties": _MECHANISM}],
    },
    perturb_section.read_weights: {"type": "object", "additionalProperties": _WEIGHT},
    perturb_section.read_truth: _QUANTILE,
    review.read_attestations: _build_ref(review.AttestationsSection),
    sections.read_bounding: _build_ref(sections.BoundingSection),
    query_tables.read_accuracy: _build_ref(query_tables.AccuracySection),
    query_tables.read_clip: _build_ref(query_tables.ClipSection),
    query_tables.read_selection: _build_ref(query_tables.SelectionSection),
    query_tables.read_half: {
        "oneOf": [{"type": "string", "pattern": r"\S"}, _build_ref(query_tables.PartSection)],
    },
}


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
            "release": _build_ref(sections.ReleaseSection),
            "data": _build_ref(sections.DataSection),
            "privacy": _build_ref(sections.PrivacySection),
            "ledger": _build_ref(sections.LedgerSection),
            "columns": {
                "type": "object",
                "description": _strip_markdown(sections.ColumnSection.WORDS),
                "additionalProperties": _build_ref(sections.ColumnSection),
            },
            "query": _build_table_array(sections.QuerySection),
            "postprocess": _build_ref(sections.PostprocessSection),
            "review": _build_ref(review.ReviewSection),
            "perturb": _build_table_array(PerturbSection),
            "output": _build_ref(sections.OutputSection),
            "report": _build_ref(sections.ReportSection),
        },
        "required": ["release", "data", "privacy", "output"],
        "anyOf": [{"required": ["query"]}, {"required": ["perturb"]}],
        "if": {"required": ["query"]},
        "then": {"properties": {"privacy": {"properties": {"bounding": _GROUPED}}}},
        "additionalProperties": False,
        "$defs": {_name(section): _build_section(section) for section in SECTIONS},
    }


def _build_table_array(section: type[Section]) -> Fragment:
    words = {"description": _strip_markdown(section.WORDS)}
    return {"type": "array", **words, "minItems": 1, "items": _build_ref(section)}


def schema_text() -> str:
    """Write the JSON Schema of specs.

    Returns:
        The text that ``dprelease schema`` prints.
    """
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
    return KINDS[key.read] | _NARROWER.get((section, name), {})


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
