"""The definition of a figure, made from the spec: every key that changes a figure changes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import builders
import pytest
from report_specs import EVERY

import dprelease
from dprelease.cli.guard import execute
from dprelease.language import LANGUAGES, use_language
from dprelease.ledger.identity import run_id
from dprelease.model import Release
from dprelease.reports.facts.approval import list_held_facts
from dprelease.reports.facts.figure_definitions import define_figure, define_groups, define_outside
from dprelease.reports.facts.spelled_expressions import COMPARISONS
from dprelease.specfile.schema.sections import QuerySection
from dprelease.statistics.statistic_registry import STATISTICS

COLUMNS: Mapping[str, Any] = {
    "region": {"type": "string", "keys": ["north", "south"]},
    "town": {"type": "string", "keys": ["a", "b", "c"], "other": "c"},
    "days": {"type": "integer", "lower": 0, "upper": 180, "bins": [0, 30, 181]},
    "age": {"type": "integer", "lower": 0, "upper": 100, "bins": [0, 18, 101]},
    "score": {"type": "decimal", "lower": 0, "upper": 10, "step": Decimal("0.5")},
    "weeks": {"type": "float", "lower": 0, "upper": 26, "step": 1, "expression": "days / 7"},
    "urgent": {"type": "boolean"},
    "weighting": {"type": "decimal", "lower": 0, "upper": 4, "step": Decimal("0.5")},
}
QUERIES: Mapping[str, Mapping[str, Any]] = {
    **EVERY,
    "ratio": {"numerator": {"column": "days", "where": "urgent"}, "denominator": {}},
    "histogram": {"column": "age"},
    "density": {"column": "days", "bandwidth": 9, "points": 10},
    "marginals": {"attributes": [["region"], ["town"]]},
    "quality": {"columns": ["days"]},
    "cumulative": {"column": "age", "q": [0.5]},
    "mode": {"column": "town"},
    "top_k": {"column": "town", "k": 2},
    "best": {"candidates": [20, 50], "score": "IF", "score_upper": 50, "score_step": 1},
}
SCORE = "CASE WHEN days >= candidate THEN candidate ELSE 0 END"
CHANGES: Mapping[str, Any] = {
    "where": "age >= 18",
    "by": ["region"],
    "numerator": {"column": "score"},
    "denominator": {"where": "urgent"},
    "bandwidth": 12,
    "points": 12,
    "q": [0.25],
    "candidates": [10, 20],
    "k": 1,
    "score": "CASE WHEN days > candidate THEN candidate ELSE 0 END",
    "score_upper": 40,
    "score_step": 2,
    "column": {"days": "score", "town": "region", "age": "days"},
    "bins": [0, 50, 101],
    "bounding": {"clip": "l1", "bound": 500},
}
NOT_OF_A_FIGURE = {
    # names, for people or files
    *("name", "table", "title", "unit", "description", "decimals"),
    # noise alone
    *("epsilon", "delta", "rho", "weight", "accuracy", "mechanism", "weigh", "max_unreadable"),
    # said of all that is done after the noise
    *("consistent", "nonnegative", "integer", "publish_if", "hide_below", "round_to"),
    "flag_unreliable_at",
    # which tables there are, each of which is a query with its `by`; a file as its list
    *("levels", "columns", "attributes", "ways", "candidates_file"),
}
TESTED_APART = {"statistic", "partition_selection", "weight_by_survey"}


def define(
    query: Mapping[str, Any],
    *,
    columns: Mapping[str, Any] = COLUMNS,
    language: str = "en",
    **others: Any,
) -> str:
    """All that is said of the figures of a query, of each of its tables."""
    own = {"name": "q", "epsilon": 1} | dict(query)
    if own.get("score") == "IF":
        own["score"] = SCORE
    spec = builders.spec(
        release={"name": "small"}, columns=deepcopy(dict(columns)), query=[own], **others
    )
    release = dprelease.load(spec)
    with use_language(language):
        return "\n".join(
            " ".join(
                sentence
                for define_part in (define_figure, define_groups, define_outside)
                for sentence in define_part(release, query)
            )
            for query in release.queries
        )


def takes(statistic: str, key: str) -> bool:
    """Whether a query of the statistic may have the key."""
    keys = STATISTICS[statistic].keys
    if key in {"by", "where"}:
        return not keys.tables_of or key == "where"
    if key == "column":
        return "column" in QUERIES[statistic]
    return keys.column.has_bins if key == "bins" else keys.has_key(key)


CASES = [(name, key) for name in STATISTICS for key in CHANGES if takes(name, key)]
PEOPLE: Mapping[str, Any] = {
    "privacy": {
        "unit": "column",
        "unit_column": "person",
        "adjacency": "add-remove",
        "bounding": {"max_rows_per_unit": 4, "max_groups_per_unit": 2},
    }
}


def test_every_key_of_a_query_is_tested_or_none_of_a_figure() -> None:
    assert set(QUERIES) == set(STATISTICS)
    assert {*CHANGES, *NOT_OF_A_FIGURE, *TESTED_APART} == set(QuerySection.KEYS)


@pytest.mark.parametrize(("statistic", "key"), CASES)
def test_a_key_that_changes_a_figure_changes_its_definition(statistic: str, key: str) -> None:
    query = {"statistic": statistic, **QUERIES[statistic]}
    if key == "bins":
        query["column"] = "age"
    change = CHANGES[key]
    if key == "column":
        change = change[query["column"]]
    changed = query | {key: change}
    privacy: Mapping[str, Any] = {}
    if key == "bounding":
        privacy = PEOPLE
    assert define(query, **privacy) != define(changed, **privacy)


def test_each_statistic_has_a_definition_of_its_own() -> None:
    said = [define({"statistic": name, **query}) for name, query in QUERIES.items()]
    assert all(said)
    # a histogram, and each table of these, is a count by the values of a column
    counts = {"histogram", "marginals", "quality", "count"}
    apart = [STATISTICS[name].definition for name in STATISTICS if name not in counts]
    quantiles = {"median", "min", "max"}
    assert len(set(apart)) == len(apart) - len(quantiles)


@pytest.mark.parametrize(
    ("column", "key", "value"),
    [
        ("days", "lower", 1),
        ("days", "upper", 200),
        ("score", "step", Decimal("0.25")),
        ("days", "nulls", 7),
        ("weeks", "expression", "days / 8"),
    ],
)
def test_bounds_nulls_and_expressions_of_a_column_are_said(
    column: str, key: str, value: object
) -> None:
    query = {"statistic": "mean", "column": column}
    columns = {name: dict(entry) for name, entry in COLUMNS.items()}
    columns[column].pop("bins", None)
    before = define(query, columns=columns)
    columns[column][key] = value
    assert define(query, columns=columns) != before


def test_a_computed_column_is_said_wherever_it_is_read() -> None:
    computed = "weeks is computed from each record: days / 7."
    ratio = {"statistic": "ratio", "numerator": {"column": "weeks"}, "denominator": {}}
    assert computed in define(ratio)
    density = {"statistic": "density", "column": "weeks", "bandwidth": 2, "points": 5}
    assert computed in define(density)
    columns = {**COLUMNS, "weeks": COLUMNS["weeks"] | {"bins": [0, 9, 26]}}
    assert computed in define({"statistic": "count", "by": ["weeks"]}, columns=columns)
    assert computed in define({"statistic": "mode", "column": "weeks"}, columns=columns)


@pytest.mark.parametrize(("key", "value"), [("other", "c"), ("nulls", "c")])
def test_the_group_of_other_values_and_of_none_is_said(key: str, value: str) -> None:
    query = {"statistic": "count", "by": ["town"]}
    columns = {name: dict(entry) for name, entry in COLUMNS.items()}
    del columns["town"]["other"]
    before = define(query, columns=columns)
    assert "in no group" in before
    columns["town"][key] = value
    assert "is in the group “c”" in define(query, columns=columns)


DESCRIBED = {"statistic": "mean", "column": "days", "description": "Days from call to visit."}


def build_release(query: Mapping[str, Any]) -> Release:
    own = {"name": "q", "epsilon": 1} | dict(query)
    spec = builders.spec(
        release={"name": "small"},
        report={"formats": ["md", "json"]},
        columns=deepcopy(dict(COLUMNS)),
        query=[own],
    )
    return dprelease.load(spec)


def test_a_description_is_held_by_an_approval_and_changes_no_run() -> None:
    described = build_release(DESCRIBED)
    bare = build_release({key: text for key, text in DESCRIBED.items() if key != "description"})
    assert list_held_facts(described)["query.q.description"] == DESCRIBED["description"]
    assert run_id(described) == run_id(bare)


@pytest.mark.parametrize("stop", [".", ""])
def test_what_is_published_says_what_a_figure_is(stop: str, tmp_path: Path, capsys: Any) -> None:
    release = build_release(DESCRIBED | {"description": f"Days from call to visit{stop}"})
    folder = tmp_path / "out"
    dprelease.rehearse(release, rows=20, output=folder)
    definition = " ".join((DESCRIBED["description"], *define_figure(release, release.queries[0])))
    figure, *beside = json.loads((folder / "datapackage.json").read_bytes())["resources"][0][
        "schema"
    ]["fields"]
    assert figure["description"].endswith(f". {definition}")
    assert not any("The mean of days" in field["description"] for field in beside)
    facts = json.loads((folder / "report.json").read_bytes())["queries"][0]
    assert [facts["description"], *facts["definition"]] == definition.replace(
        ". ", ".\n"
    ).splitlines()
    report = (folder / "report.md").read_text()
    assert definition in report
    assert execute(["show", "--long", str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert definition in shown
    assert execute(["show", str(folder)]) == 0
    assert "The mean of days" not in capsys.readouterr().out


def test_private_keys_are_said() -> None:
    columns = {**COLUMNS, "street": {"type": "string"}}
    query = {
        "statistic": "count",
        "by": ["street"],
        "partition_selection": {"delta": Decimal("1e-8")},
    }
    said = define(query, columns=columns, ledger={"epsilon_cap": 9, "delta_cap": Decimal("1e-5")})
    assert "each value of street that is in the data often enough, judged with noise" in said


def test_a_weight_is_said_unless_the_query_takes_none() -> None:
    query = {"statistic": "count"}
    data = {"data": {"path": "data.csv", "weight": "weighting"}}
    said = "counts as often as its weight in weighting says"
    assert said in define(query, **data)
    assert said not in define({**query, "weight_by_survey": False}, **data)


def test_limits_on_the_rows_of_a_person_are_said() -> None:
    said = define({"statistic": "count"}, **PEOPLE)
    assert "Of the rows with the same person at most 4 rows count, in at most 2 groups" in said


@pytest.mark.parametrize("bounding", [None, {"clip": "l1", "bound": 500}])
def test_rows_without_a_person_are_told_apart(bounding: Mapping[str, Any] | None) -> None:
    query = {"statistic": "count"} | ({"bounding": bounding} if bounding else {})
    columns = {**COLUMNS, "person": {"type": "string"}}
    left_out = 'Rows without a value in "person" are left out.'
    assert left_out in define(query, columns=columns, **PEOPLE)
    assert left_out not in define({"statistic": "count"}, columns=columns)
    columns["person"]["nulls"] = "nobody"
    of_one = 'Rows without a value in "person" are taken for those of one person.'
    assert of_one in define(query, columns=columns, **PEOPLE)


def test_a_record_without_a_value_may_still_count_in_the_other_part_of_a_ratio() -> None:
    said = define({"statistic": "ratio", **QUERIES["ratio"]})
    assert "A record without a value of days adds nothing to its sum." in said
    assert "A record without a value of days does not count." not in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_definitions_are_whole_sentences_in_every_language(language: str) -> None:
    for name, query in QUERIES.items():
        text = define({"statistic": name, "where": "urgent", **query}, language=language)
        assert not any(mark in text for mark in ("{", "}", "..", "  ")), text
        assert all(line.endswith(".") for line in text.splitlines()), text
    assert define({"statistic": "count", "where": "days > 2.5"}, language=language).count(
        "2.5" if language == "en" else "2,5"
    )


CONDITIONS = {
    "urgent": "urgent is true",
    "NOT urgent": "urgent is false",
    "urgent = TRUE": "urgent is yes",
    "days IS NULL": "days is missing",
    "days IS NOT NULL": "days is present",
    "days BETWEEN 3 AND 9": "days is from 3 to 9",
    "NOT days BETWEEN 3 AND 9": "days has a value that is not from 3 to 9",
    "region IN ('a', 'b', 'c')": "region is “a”, “b” or “c”",
    "region NOT IN ('a', 'b')": "region has another value than “a” or “b”",
    "region LIKE 'a%'": "region has the pattern “a%” (% is any text, _ any character)",
    "days = 2 AND (age < 3 OR urgent)": "days is 2 and (age is less than 3 or urgent is true)",
    "days = 2 AND age < 3 AND urgent": "days is 2 and age is less than 3 and urgent is true",
    "NOT (days = 2 OR urgent)": "days has another value than 2 and urgent is false",
    "NOT (days = 2) AND age < 3": "days has another value than 2 and age is less than 3",
    "NOT (days > 2 AND NOT urgent)": "days is at most 2 or urgent is true",
    "NOT (NOT urgent)": "urgent is true",
    "region NOT LIKE 'a%'": "region has a value without the pattern “a%” "
    "(% is any text, _ any character)",
    "COALESCE(days > 2, FALSE) AND urgent": "days is more than 2 (unknown counts as no) "
    "and urgent is true",
    "NOT COALESCE(days > 2 OR urgent, FALSE)": "(days is at most 2 and urgent is false) "
    "(unknown counts as yes)",
    "urgent AND CASE WHEN days > 2 THEN TRUE ELSE urgent END": "urgent is true and "
    "(yes if days is more than 2; otherwise urgent) is true",
    "NOT NULLIF(urgent, FALSE)": "(urgent, or no value if it is no) is false",
    "TRUE": "yes is true",
    "days <> NULL": "days has another value than no value, which is never so",
    "(days + 2) * age >= 4": "(days + 2) \u00d7 age is at least 4",
    "days - (age - 1) <= 4": "days \u2212 (age \u2212 1) is at most 4",
    "ROUND(score / 3, 1) <> 2": "((score / 3) rounded to 1 decimals) has another value than 2",
    "DATE '2026-01-31' < day": "31 January 2026 is before day",
    "YEAR(day) = 2026": "(the year of day) is 2026",
    "ISODOW(day) > 5": "(the weekday of day (1 is Monday)) is more than 5",
    "MAKE_DATE(days, 1, 1) < day": "(the date of year days, month 1, day 1) is before day",
    "COALESCE(days, 0) > 1": "(the first that is present of days; 0) is more than 1",
    "SUBSTRING(region, 1, 2) = 'ab'": "(2 characters of region, from number 1 on) is “ab”",
    "SUBSTRING(region, 3) = 'ab'": "(the characters of region from number 3 on) is “ab”",
    "NULLIF(days, 9) > 1": "(days, or no value if it is 9) is more than 1",
    "-days < 0": "\u2212days is less than 0",
    "days = NULL": "days is no value, which is never so",
}


@pytest.mark.parametrize(("written", "spelled"), CONDITIONS.items())
def test_a_condition_reads_without_sql(written: str, spelled: str) -> None:
    columns = {**COLUMNS, "day": {"type": "date"}}
    said = define({"statistic": "count", "where": written}, columns=columns)
    assert f"Only records count for which {spelled}." in said


def test_every_comparison_of_days_is_said_of_time() -> None:
    columns = {**COLUMNS, "day": {"type": "date"}}
    said = [
        define(
            {"statistic": "count", "where": f"day {sign} DATE '2026-01-31'"}, columns=columns
        ).split(".")[1]
        for sign in COMPARISONS
    ]
    assert len(set(said)) == len(COMPARISONS)
    assert not any("less" in text or "more" in text or "at " in text for text in said)
