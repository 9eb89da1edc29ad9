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

from dprelease.reports.report_formats import FORMATS
from dprelease.sources.source_registry import SOURCES
from dprelease.specfile.schema import fields, number_texts, query_tables, review, sections
from dprelease.specfile.schema.query_tables import PerturbSection
from dprelease.specfile.schema.section_reader import Choice, Key, Section
from dprelease.specfile.schema.sections import SECTIONS
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import SpecKeys
from dprelease.statistics.statistic_registry import STATISTICS, own_keys

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
_MECHANISM: Fragment = {"enum": list(fields.MECHANISMS)}


def _ref(section: type[Section]) -> Fragment:
    return {"$ref": f"#/$defs/{_name(section)}"}


def _name(section: type[Section]) -> str:
    return section.__name__.removesuffix("Section").lower()


def _several_of(items: Fragment) -> Fragment:
    return {"type": "array", "items": items, "minItems": 1}


# What each reading function takes. Dates are texts to editors, which is why they pass for values.
KINDS: Mapping[Callable[[object], object], Fragment] = {
    fields.text: {"type": "string", "pattern": r"\S"},
    fields.line: {"type": "string", "pattern": r"^[^\n\t]*[^\s][^\n\t]*$"},
    fields.safe_name: {
        "type": "string",
        "pattern": rf"^(?!.*\.\.){fields.SAFE_NAME.pattern}$",
    },
    fields.label: _LABEL,
    fields.labels: {"type": "object", "additionalProperties": _LABEL},
    fields.decimals: {"type": "integer", "minimum": 0, "maximum": number_texts.PLACES},
    fields.licence: {"type": "string", "pattern": f"^({fields.LICENCE})$"},
    fields.option: {"type": "string"},
    fields.variable: {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,99}$"},
    fields.day: {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    fields.flag: {"type": "boolean"},
    fields.texts: {"type": "array", "items": {"type": "string"}},
    fields.names: _NAMES | {"minItems": 1},
    fields.sets: {"type": "array", "items": _NAMES, "minItems": 1},
    fields.ways: {
        "oneOf": [
            _WAY | {"minimum": 1},
            {"type": "array", "items": _WAY, "minItems": 1, "uniqueItems": True},
        ]
    },
    fields.scalars: {"type": "array", "items": _VALUE},
    fields.scalar: _VALUE,
    number_texts.exact: _NUMBER,
    number_texts.budget: _WEIGHT,
    number_texts.weight: _WEIGHT,
    number_texts.design_effect: _POSITIVE | {"maximum": number_texts.MAX_DESIGN_EFFECT},
    number_texts.probability: {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    number_texts.selection_delta: _WEIGHT | {"maximum": float(number_texts.MAX_SELECTION_DELTA)},
    number_texts.within: _POSITIVE,
    number_texts.display_step: _POSITIVE,
    number_texts.confidence: {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1},
    number_texts.interval: {
        **_NUMBER,
        "minimum": float(number_texts.LEAST_INTERVAL),
        "maximum": float(number_texts.MOST_INTERVAL),
    },
    number_texts.bandwidth: {"oneOf": [_POSITIVE, _several_of(_POSITIVE)]},
    number_texts.points: {
        "oneOf": [
            {"type": "integer", "minimum": 1, "maximum": 10**6},
            _several_of({"oneOf": [_NUMBER, _several_of(_NUMBER)]}),
        ]
    },
    number_texts.bound: {"type": "integer", "minimum": 1, "maximum": number_texts.MAX_BOUND},
    number_texts.record_lines: {
        "type": "integer",
        "minimum": 2,
        "maximum": number_texts.MAX_RECORD_LINES,
    },
    number_texts.population: {"type": "integer", "minimum": 1, "maximum": 10**12},
    number_texts.whole_number: {"type": "integer", "minimum": 1, "maximum": 10**6},
    number_texts.picks: {"type": "integer", "minimum": 1, "maximum": 10**6},
    fields.quantiles: {
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
    fields.mechanisms: {
        "oneOf": [_MECHANISM, {"type": "object", "additionalProperties": _MECHANISM}],
    },
    fields.weights: {"type": "object", "additionalProperties": _WEIGHT},
    fields.truth: _QUANTILE,
    review.read_attestations: _ref(review.AttestationsSection),
    sections.read_bounding: _ref(sections.BoundingSection),
    query_tables.read_accuracy: _ref(query_tables.AccuracySection),
    query_tables.read_selection: _ref(query_tables.SelectionSection),
    query_tables.read_half: {
        "oneOf": [{"type": "string", "pattern": r"\S"}, _ref(query_tables.PartSection)],
    },
}


def spec_schema() -> Fragment:
    """The whole schema."""
    return {
        "$schema": DIALECT,
        "title": TITLE,
        "description": "What a differentially private release publishes, of which data, and what "
        "it may cost.",
        "type": "object",
        "properties": {
            "schema": {"const": 1, "description": "version of the format: 1"},
            "release": _ref(sections.ReleaseSection),
            "data": _ref(sections.DataSection),
            "privacy": _ref(sections.PrivacySection),
            "ledger": _ref(sections.LedgerSection),
            "columns": {
                "type": "object",
                "description": _plain(sections.ColumnSection.WORDS),
                "additionalProperties": _ref(sections.ColumnSection),
            },
            "query": _several(sections.QuerySection),
            "postprocess": _ref(sections.PostprocessSection),
            "review": _ref(review.ReviewSection),
            "perturb": _several(PerturbSection),
            "output": _ref(sections.OutputSection),
            "report": _ref(sections.ReportSection),
        },
        "required": ["release", "data", "privacy", "output"],
        "anyOf": [{"required": ["query"]}, {"required": ["perturb"]}],
        "if": {"required": ["query"]},
        "then": {"properties": {"privacy": {"properties": {"bounding": _GROUPED}}}},
        "additionalProperties": False,
        "$defs": {_name(section): _section(section) for section in SECTIONS},
    }


def _several(section: type[Section]) -> Fragment:
    words = {"description": _plain(section.WORDS)}
    return {"type": "array", **words, "minItems": 1, "items": _ref(section)}


def schema_text() -> str:
    """The schema as it is committed and printed."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


def _section(section: type[Section]) -> Fragment:
    made: Fragment = {
        "type": "object",
        "description": _plain(section.WORDS),
        "properties": {name: _key(section, name, key) for name, key in section.KEYS.items()},
        "additionalProperties": False,
    }
    if section.REQUIRED:
        made["required"] = list(section.REQUIRED)
    if rules := _rules(section):
        made["allOf"] = rules
    return made


def _key(section: type[Section], name: str, key: Key[Any]) -> Fragment:
    made = dict(_kind(section, name, key))
    left_out = f" (if left out: {_plain(key.absent)})"
    with suppress(ValueError):  # the default, where the words state it literally
        made["default"], left_out = json.loads(key.absent), ""
    made["description"] = _plain(key.meaning)
    if key.absent not in {"-", "required"}:
        made["description"] += left_out
    return made


def _kind(section: type[Section], name: str, key: Key[Any]) -> Fragment:
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
        "items": {"enum": list(FORMATS)},
        "uniqueItems": True,
    },
}


def _plain(text: str) -> str:
    """Words without Markdown's backticks."""
    return re.sub(r"`([^`]*)`", r"\1", text)


_OF_ONE_TABLE = ("table", "partition_selection")
_TOGETHER = {"columns": ["ways"], "ways": ["columns"]}


def _takes(keys: SpecKeys) -> Fragment:
    made: Fragment = {}
    needed = ["column"] if keys.column.needs_column else []
    if plain := needed + [key.name for key in keys.needs if not key.instead]:
        made["required"] = plain
    if either := [key for key in keys.needs if key.instead]:
        made["anyOf"] = [{"required": [name]} for name in (either[0].name, either[0].instead)]
    if keys.column is ColumnUse.CURVE:
        made["oneOf"] = [{"required": [name]} for name in ("column", "columns")]
    taken = {key.name for key in keys.own}
    if set(_TOGETHER) <= taken:
        made["dependentRequired"] = _TOGETHER
    refused = [name for name in own_keys() if name not in taken]
    if keys.column is ColumnUse.NONE:
        refused.append("column")
    if not keys.column.has_bins:
        refused.append("bins")
    if keys.tables_of:
        refused += ["by", *_OF_ONE_TABLE]
    properties: Fragment = dict.fromkeys(refused, _REFUSED)
    properties["mechanism"] = {"enum": list(keys.mechanisms)}
    return {**made, "properties": properties}


def _when(condition: Fragment, then: Fragment) -> Fragment:
    return {"if": {"properties": condition, "required": list(condition)}, "then": then}


def _rules(section: type[Section]) -> list[Fragment]:
    if section is sections.DataSection:
        places = {form.place for form in SOURCES.values()}
        return [{"anyOf": [{"required": list(place)} for place in sorted(places)]}]
    if section is sections.PrivacySection:
        both = ("unit_column", "bounding")
        return [
            _when({"unit": {"const": "column"}}, {"required": list(both)}),
            _when({"unit": {"const": "row"}}, {"properties": dict.fromkeys(both, _REFUSED)}),
        ]
    if section is sections.QuerySection:
        of_several = {"properties": dict.fromkeys(_OF_ONE_TABLE, _REFUSED)}
        return [
            *(
                _when({"statistic": {"const": name}}, _takes(statistic.keys))
                for name, statistic in STATISTICS.items()
            ),
            {"if": {"required": ["levels"]}, "then": of_several},
            {"if": {"required": ["attributes"]}, "then": {"properties": {"columns": _REFUSED}}},
        ]
    if section is PerturbSection:
        refused = dict.fromkeys(("epsilon", "weights"), _REFUSED)
        return [{"if": {"required": ["truth"]}, "then": {"properties": refused}}]
    return []
