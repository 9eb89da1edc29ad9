"""What plans and reports say of counts planned together: enough to compute every variance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Any

import builders
import jsonschema
import pytest

import dprelease
from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import Noise, NoiseFamily
from dprelease.reports.model.json_form import build_report_schema, from_json, to_json
from dprelease.reports.model.strategy_model import StrategyFacts, compute_saving
from dprelease.reports.plan_facts import describe
from dprelease.reports.rerender import rerender

SIZES = {"a": 3, "b": 2, "c": 5}
Json = dict[str, Any]
Place = tuple[int, ...]


def specify(queries: Sequence[Json], privacy: Json) -> Json:
    columns: Json = {"x": {"type": "integer", "lower": 0, "upper": 9}}
    for name, size in SIZES.items():
        columns[name] = {"type": "string", "keys": [f"{name}{place}" for place in range(size)]}
    return builders.spec(
        data={"path": "t.csv"},
        privacy=privacy,
        columns=columns,
        query=[
            {"name": f"q{place}", "statistic": "count"} | query
            for place, query in enumerate(queries)
        ],
    )


def describe_values(queries: Sequence[Json], **privacy: float) -> Json:
    """A plan in JSON values, read back from text."""
    spec = specify(queries, privacy or {"rho": 0.5})
    plan: Json = json.loads(json.dumps(describe(dprelease.plan(dprelease.load(spec)))))
    return plan


PAIRS = [{"by": list(pair)} for pair in combinations(SIZES, 2)]
CONDITIONS: list[Json] = [{}, *({"where": f"x > {place}"} for place in range(6))]
IN_CELLS = [query | {"by": ["b"]} for query in CONDITIONS]
TREE = [{}, {"by": ["c"]}, {"by": ["b", "c"]}, {"by": ["a", "b", "c"]}]
SPECS = {
    "pairs": (PAIRS, {}),
    "pairs of a pure loss": ([*PAIRS, *CONDITIONS], {"epsilon": 1.0}),
    "conditions": (CONDITIONS, {}),
    "in cells": (IN_CELLS, {}),
    "drawn together": (CONDITIONS, {"epsilon": 1.0, "delta": 1e-6}),
    "drawn together in cells": (IN_CELLS, {"epsilon": 1.0}),
    "one condition": (CONDITIONS[:2], {"epsilon": 1.0}),
    "one condition in cells": (IN_CELLS[:2], {"epsilon": 1.0}),
    "tree": (TREE, {}),
}


# --- figures as linear forms, from the JSON values alone -----------------------------------------


def figure(strategy: Json, query: Json, cell: dict[str, int]) -> dict[tuple[str, int, Place], Any]:
    """The factor of every released integer in a figure: of the cell with these labels."""
    form: dict[tuple[str, int, Place], Fraction] = {}
    for term in query["terms"]:
        step = next(step for step in strategy["steps"] if step["name"] == term["step"])
        groups = [strategy["groups"][place] for place in step["groups"]]
        sizes = [len(group["labels"]) for group in groups]
        for place in product(*map(range, sizes)):
            if any(place[at] != cell[groups[at]["column"]] for at in term["groups"]):
                continue
            # the integer at this place, centred once more: of each other one along these axes
            for other in product(*map(range, sizes)):
                factor = Fraction(term["factor"])
                for at, axis in enumerate(step["axes"]):
                    if axis["kind"] == "centred":
                        factor *= sizes[at] * (other[at] == place[at]) - 1
                    else:
                        factor *= other[at] == place[at]
                if factor:
                    key = step["name"], term["row"], other
                    form[key] = form.get(key, Fraction(0)) + factor
    return form


def compute_covariance(
    strategy: Json, one: dict[Any, Fraction], other: dict[Any, Fraction]
) -> float:
    laws = {}
    for step in strategy["steps"]:
        together = len(step["rows"]) if step["family"] == "cube" else 0
        noise = Noise(NoiseFamily(step["family"]), Fraction(step["parameter"]), integers=together)
        laws[step["name"]] = compute_noise_variance(noise)
    return sum(
        float(factor * other[key]) * laws[key[0]] for key, factor in one.items() if key in other
    )


def cells(strategy: Json, by: Sequence[str]) -> list[dict[str, int]]:
    sizes = {group["column"]: len(group["labels"]) for group in strategy["groups"]}
    return [
        dict(zip(by, place, strict=True)) for place in product(*(range(sizes[name]) for name in by))
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPECS)
def test_deviations_follow_from_the_terms(name: str) -> None:
    queries, privacy = SPECS[name]
    plan = describe_values(queries, **privacy)
    bys = {step["name"]: step["by"] for step in plan["steps"]}
    combined = [(each, query) for each in plan["strategies"] for query in each["queries"]]
    assert len(combined) == len(queries)
    for strategy, query in combined:
        form = figure(strategy, query, cells(strategy, bys[query["name"]])[0])
        assert query["deviation"] == pytest.approx(sqrt(compute_covariance(strategy, form, form)))
        assert query["deviation"] <= query["alone"] * 1.001


def test_tables_that_add_up_have_the_same_linear_forms() -> None:
    """The sum over one axis is the same combination of integers in both tables."""
    plan = describe_values(PAIRS)
    (strategy,) = plan["strategies"]
    named = {query["name"]: query for query in strategy["queries"]}
    sums = []
    for name, other in (("q0", "b"), ("q1", "c")):
        total: dict[Any, Fraction] = {}
        for cell in cells(strategy, ["a", other]):
            if cell["a"] == 1:
                for key, factor in figure(strategy, named[name], cell).items():
                    total[key] = total.get(key, Fraction(0)) + factor
        sums.append({key: factor for key, factor in total.items() if factor})
    assert sums[0] == sums[1]
    assert compute_covariance(strategy, sums[0], sums[1]) > 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPECS)
def test_strategies_are_of_the_schema_and_read_back(name: str) -> None:
    queries, privacy = SPECS[name]
    plan = describe_values(queries, **privacy)
    schema = build_report_schema()
    part = {**schema["properties"]["strategies"], "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator(part).validate(plan["strategies"])
    for strategy in plan["strategies"]:
        assert to_json(from_json(StrategyFacts, strategy)) == strategy
        assert strategy["epsilon"] <= sum(step["epsilon"] for step in strategy["steps"]) * 1.001


def test_nothing_is_said_where_nothing_is_planned_together() -> None:
    plan = describe_values([{"by": ["a"]}])
    assert "strategies" not in plan
    assert "together" not in plan["steps"][0]


# --- in sentences --------------------------------------------------------------------------------

LEFT = "what is left of the cells without the means along every axis (in whole numbers)"
SAID = {
    "pairs": "the number of records and from the tables by a, b, a x b, c, a x c and b x c "
    f"{LEFT}.",
    "conditions": "the number of records and for each of 6 conditions twice its count less the "
    "number of records.",
    "in cells": "the table by b and for each of 6 conditions twice its count less the number of "
    "records, by b.",
    "drawn together": "for each of 6 conditions twice its count less the number of records, and "
    "the number of records, all with noise that is drawn together.",
    "drawn together in cells": "for each of 6 conditions twice its count less the number of "
    "records, and the number of records, by b, those of a cell with noise that is drawn together.",
    "one condition": "the number of records that meet the condition, and of all others.",
    "one condition in cells": "the number of records that meet the condition, and of all others, "
    "by b.",
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_released_is_said_in_a_sentence(name: str) -> None:
    queries, privacy = SPECS[name]
    (strategy,) = describe_values(queries, **privacy)["strategies"]
    said = strategy["explained"]
    assert said[0].endswith(f"Released in their place: {SAID[name]}")
    least, *_ = sorted(compute_saving(q["deviation"], q["alone"]) for q in strategy["queries"])
    assert f"is {least}%" in said[2]
    assert "at most epsilon" in said[3]


def test_rows_say_what_an_integer_counts() -> None:
    def list_rows(name: str) -> list[str]:
        queries, privacy = SPECS[name]
        (strategy,) = describe_values(queries, **privacy)["strategies"]
        return [row for step in strategy["steps"] for row in step["rows"]]

    first = "2 x records where x > 0 less records"
    assert list_rows("conditions")[:2] == ["records", first]
    assert list_rows("drawn together")[::6] == [first, "records"]
    split = ["records where x > 0", "records less records where x > 0"]
    assert list_rows("one condition") == split


def test_hidden_labels_are_among_those_of_the_groups() -> None:
    (strategy,) = describe_values(PAIRS)["strategies"]
    for group in strategy["groups"]:
        assert len(group["labels"]) == SIZES[group["column"]] + 1
        assert group["labels"][-1] == "(in no group)"


def test_every_query_names_the_first_one_and_the_cost_of_all() -> None:
    plan = describe_values(PAIRS)
    (strategy,) = plan["strategies"]
    assert {step["together"] for step in plan["steps"]} == {strategy["queries"][0]["name"]}
    assert {step["rho"] for step in plan["steps"]} == {strategy["rho"]}
    assert all(step["shares"] is None for step in plan["steps"])
    for step, query in zip(plan["steps"], strategy["queries"], strict=True):
        assert step["scale"] == pytest.approx(query["deviation"], rel=1e-6)
        assert "Planned together with other queries" in " ".join(step["explained"])


def test_many_queries_are_named_by_the_first_of_them() -> None:
    queries: list[Json] = [{}, *({"where": f"x > {place / 100}"} for place in range(40))]
    (strategy,) = describe_values(queries, epsilon=1.0)["strategies"]
    assert strategy["explained"][0].startswith(
        "Planned together: q0, q1, q2, q3, q4, q5 and 35 more."
    )


def test_a_deviation_is_saved_in_whole_percents() -> None:
    assert [
        compute_saving(76, 100),
        compute_saving(76.5, 100),
        compute_saving(100, 100),
        compute_saving(101, 100),
    ] == [24, 23, 0, 0]


# --- a release -----------------------------------------------------------------------------------


def test_a_release_tells_it_in_every_format(tmp_path: Path, monkeypatch: Any) -> None:
    """And report.json is enough to write the others again."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"a{k % 3},b{k % 2},c{k % 5},{k % 10}\n" for k in range(60))
    (tmp_path / "t.csv").write_text(f"a,b,c,x\n{rows}", encoding="utf-8")
    spec = specify(PAIRS, {"rho": 0.5}) | {
        "output": {"path": "out"},
        "report": {"formats": ["html", "md", "json"]},
    }
    dprelease.run(dprelease.load(spec))
    out = tmp_path / "out"
    markdown = (out / "report.md").read_text(encoding="utf-8")
    assert "### Planned together" in markdown
    assert "Their noise is not independent" in markdown
    assert "Cells do not add up" not in markdown
    assert "times the square root of n" not in markdown
    row = "| together 1: a x b | records, centred along a and b | gaussian, sigma squared"
    assert row in markdown
    assert "Planned together" in (out / "report.html").read_text(encoding="utf-8")
    written = json.loads((out / "report.json").read_text(encoding="utf-8"))
    schema = build_report_schema()
    jsonschema.Draft202012Validator(schema).validate(written)
    for form in ("md", "html", "json"):
        assert rerender(str(out), form) == (out / f"report.{form}").read_bytes()
    for table in written["tables"]:
        text = (out / table["file"]).read_text(encoding="utf-8")
        assert "(in no group)" not in text


def reading_words(spec: Json, folder: Path) -> str:
    """What the report of a run says on how to read its figures."""
    (folder / "t.csv").write_text("a,b,c,x\na0,b0,c0,1\n", encoding="utf-8")
    spec["ledger"] = {"dataset": str(len(spec["query"]))}
    dprelease.run(dprelease.load(spec), replace_output=True)
    text = (folder / "out" / "report.md").read_text(encoding="utf-8")
    return text.partition("## How to read the figures")[2].partition("\n## ")[0]


def test_what_agrees_is_not_said_to_disagree_and_what_is_0_or_more_not_to_be_negative(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    queries: list[Json] = [{"by": ["a"], "nonnegative": True}, {"statistic": "sum", "column": "x"}]
    alone = reading_words(specify(queries[:1], {"epsilon": 1.0}), tmp_path)
    assert "totals released by another query: each has noise of its own" in alone
    assert "A count can be negative" not in alone
    some = reading_words(specify(queries, {"epsilon": 1.0}), tmp_path)
    assert "A count can be negative" not in some
    assert "A sum of positive values can be negative: noise was added" in some
    mixed = [{"by": ["a"], "nonnegative": True}, {"where": "x > 0"}]
    some = reading_words(specify(mixed, {"epsilon": 1.0}), tmp_path)
    assert "A count can be negative, unless it was moved to 0 or more: noise" in some
    agree: list[Json] = [{"by": ["a"], "mechanism": "laplace"}, {"mechanism": "gaussian"}]
    agree = [query | {"consistent": True} for query in agree]
    privacy = {"epsilon": 1.0, "delta": 1e-6}
    some = reading_words(specify([*agree, queries[1]], privacy), tmp_path)
    assert "by another query, unless both were made to agree: each has noise of its own" in some
