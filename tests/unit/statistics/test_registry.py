"""A statistic is a file and a line of the registry, and is defined once more to certification."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from product_source import FILES, get_module_name, list_nodes, parse_module, write_dotted

import dprelease
from dprelease.kernel.chapters.figures.definitions import (
    DEFINITIONS,
    OF_COLUMN,
    Content,
    Definition,
)
from dprelease.kernel.distributions.laws import find_halfwidth
from dprelease.language import load_catalogue
from dprelease.model import Form, Measure, MeasureKind, OutputColumn, Query, Sensitivity, Step
from dprelease.model.sentences import Sentence
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.privacy.sensitivity import Scalar
from dprelease.specfile.schema.json_schema import build_spec_schema
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import (
    Hazard,
    Neighbours,
    Released,
    SpecKeys,
    Statistic,
    bound_change,
    build_quantity,
)
from dprelease.statistics.statistic_registry import STATISTICS

# The certifier derives a loss from what a statistic is by its definition. Expressions over
# published figures have functions sum and mean.
MAY_NAME_STATISTICS = (
    "statistics/",
    "kernel/chapters/figures/",
    "kernel/chapters/strategies/",
    "combination/expression.py",
)
# Names that are no other words of the product's: found anywhere, they are a statistic's.
PLAIN = {"count_units", "count_distinct", "variance", "stddev", "proportion", "histogram", "top_k"}
LOOKUPS = {"get_statistic", "STATISTICS"}


def names_of_statistics(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Literals that stand for a statistic's name, by what is done with them.

    Compared, alone or in a collection; a collection or the keys of a dict that are nothing but
    such names; looked up; or a name that can't be another word.
    """

    def literal(node: ast.AST | None) -> bool:
        return isinstance(node, ast.Constant) and node.value in names

    def members(node: ast.AST) -> Sequence[ast.AST | None]:
        if isinstance(node, ast.Tuple | ast.Set | ast.List):
            return node.elts
        return node.keys if isinstance(node, ast.Dict) else ()

    types = {id(node) for node in in_types(tree)}
    for node in list_nodes(tree):
        if id(node) in types:
            continue
        suspects: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            suspects = [*sides, *(each for side in sides for each in members(side))]
        elif isinstance(node, ast.MatchValue):
            suspects = [node.value]
        elif isinstance(node, ast.Subscript) and write_dotted(node.value) in LOOKUPS:
            suspects = [node.slice]
        elif isinstance(node, ast.Call) and write_dotted(node.func) in LOOKUPS:
            suspects = [*node.args]
        elif members(node) and all(map(literal, members(node))):
            suspects = [*members(node)]
        elif isinstance(node, ast.Constant) and node.value in PLAIN:
            suspects = [node]
        for suspect in suspects:
            if isinstance(suspect, ast.Constant) and literal(suspect):
                yield f"{suspect.lineno}: {suspect.value!r}"


def in_types(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands in ``Literal[...]``."""
    for node in list_nodes(tree):
        if isinstance(node, ast.Subscript) and write_dotted(node.value) == "Literal":
            yield from ast.walk(node.slice)


@pytest.mark.parametrize(
    "source",
    [
        'query.statistic == "sum"',
        'step["statistic"] in {"min", "max"}',
        '"best" in used',
        'RANKS = ("count", "sum", "mean")',
        'ENDS = {"min": "minimum", "max": "maximum"}',
        'get_statistic("mean")',
        'STATISTICS["mode"]',
        'match statistic:\n    case "ratio":\n        pass',
        'label = "stddev"',
    ],
)
def test_a_name_is_found(source: str) -> None:
    assert list(names_of_statistics(ast.parse(source), set(STATISTICS)))


@pytest.mark.parametrize(
    "source",
    [
        'heads = ["column", "mean", "sum"]',
        'facts["ratio"]',
        'window = {"ratio": 1, "gap": 2}',
        'Part = Literal["sum", "count"]',
        'kind: str = "sum"',
    ],
)
def test_another_word_is_not(source: str) -> None:
    assert not list(names_of_statistics(ast.parse(source), set(STATISTICS)))


def test_no_statistic_is_named_outside_its_file() -> None:
    found = {}
    for file in FILES:
        name = get_module_name(file)
        text = file.read_text(encoding="utf-8")
        if name.startswith(MAY_NAME_STATISTICS) or not any(
            f'"{key}"' in text for key in STATISTICS
        ):
            continue
        if named := sorted(names_of_statistics(parse_module(file), set(STATISTICS))):
            found[name] = named
    assert not found


# --- a statistic of one file and one line -------------------------------------------------------


class CountTwice(Statistic):
    """A column's values, each counted twice: by no other statistic's rules."""

    name = "count_twice"
    what = "statistics.count_twice.what"
    keys = SpecKeys(column=ColumnUse.NUMBERS)
    counts = "statistics.count_twice.counts"
    one_number = True
    processing = "statistics.count_twice.processing"
    explained = "statistics.count_twice.explained"
    definition = "statistics.count_twice.definition"

    def explain_reading(self, level: str) -> str:
        return f"Halve a number of pairs: its interval holds with {level}%."

    def iter_hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        yield Hazard(9, "pairs", "no value makes one by itself", step.query.name)

    def define_release(self, query: Query) -> Released:
        measure = Measure(MeasureKind.VALUES, build_quantity(query.column), query.where)
        return Released((measure,), ((2,),), (Fraction(1),))

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        return bound_change(query, neighbours, Scalar(2, 2, "words.count"), outside=True)

    def build_columns(
        self, step: Step, noisy: Sequence[Sequence[int]], interval: Fraction
    ) -> list[OutputColumn]:
        layout = Layout(step.query.name, 0, Sentence(self.what), interval)
        return estimate_columns(layout, noisy[0], find_halfwidth(step.noise, 1 - interval))

    def describe_expected_error(self, step: Step, interval: Fraction) -> str:
        return f"± {find_halfwidth(step.noise, 1 - interval)} pairs"

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        return Fraction(find_halfwidth(step.noise, 1 - interval))


WORDS = {
    "what": "twice the number of values, with noise",
    "counts": "pairs",
    "processing": "Each value is counted twice.",
    "explained": "A value counts twice.",
    "definition": "Twice the number of values of {column}.",
}
SPEC = """
[release]
name = "toy"
[data]
path = "data.csv"
[privacy]
unit = "row"
adjacency = "add-remove"
epsilon = 200
[ledger]
path = "ledger.jsonl"
dataset = "toy"
epsilon_cap = 1000
[columns.v]
type = "integer"
lower = 0
upper = 9
[columns.g]
type = "string"
keys = ["a", "b"]
[[query]]
name = "pairs"
statistic = "count_twice"
by = ["g"]
column = "v"
[output]
path = "out"
[report]
formats = ["html", "md", "json"]
"""


def twice(query: Query, step: Step) -> Iterator[Content]:
    values = Measure(MeasureKind.VALUES, build_quantity(query.column), query.where)
    yield Content(Form.NUMBERS, (values,), ((2,),))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in WORDS.items():
        monkeypatch.setitem(load_catalogue("en"), f"statistics.count_twice.{name}", text)
    monkeypatch.setitem(STATISTICS, "count_twice", CountTwice())
    monkeypatch.setitem(DEFINITIONS, "count_twice", Definition(OF_COLUMN, twice))


@pytest.fixture
def toy(tmp_path: Path, registered: None) -> Path:
    (tmp_path / "data.csv").write_text("v,g\n" + "1,a\n" * 40 + "2,b\n" * 15 + ",b\n" * 5)
    (tmp_path / "toy.toml").write_text(SPEC)
    return tmp_path / "toy.toml"


def test_a_new_statistic_is_planned_certified_run_and_reported(toy: Path) -> None:
    """The certifier derives the loss by its own rules: epsilon 200 of an L1 change of 2."""
    planned = dprelease.plan(toy)
    (step,) = planned.steps
    assert (step.sensitivity.l1, step.loss.epsilon) == (2, 200)
    dprelease.run(toy)
    rows = next((toy.parent / "out").rglob("*.csv")).read_text().splitlines()
    assert rows[0] == "g,pairs,pairs_noise_moe,pairs_flag"
    assert [row.split(",")[1] for row in rows[1:]] == ["80", "30"]
    report = json.loads((toy.parent / "out" / "report.json").read_text())
    (query,) = report["queries"]
    assert query["statistic"] == "count_twice"
    assert query["expected_error"].endswith("pairs")
    for file in ("report.html", "report.md"):
        text = (toy.parent / "out" / file).read_text()
        for words in (
            "count_twice",
            "Each value is counted twice",
            "A value counts twice",
            "Twice the number of values of v.",
            "no value makes one by itself: pairs",
            "Halve a number of pairs",
        ):
            assert words in text


def test_the_schema_of_the_spec_has_a_new_statistic(registered: None) -> None:
    query = build_spec_schema()["$defs"]["query"]
    assert "count_twice" in query["properties"]["statistic"]["enum"]
    (rule,) = [each for each in query["allOf"] if "count_twice" in json.dumps(each["if"])]
    assert rule["then"]["required"] == ["column"]
