"""A statistic is named in its own file alone, and defined once more to certification."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import pytest
from product_source import FILES, get_module_name, list_nodes, parse_module, write_dotted

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
