"""Rules that hold for the tests: no private names of the product, and what runs by default."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from product_source import write_dotted
from thorough import for_each, is_in_diagonal, is_thorough, names_with_more

TESTS = Path(__file__).parents[1]


def is_private(path: str) -> bool:
    """Whether a part of a dotted name is private. (``__file__`` and its like are not.)"""
    return any(part.startswith("_") and not part.startswith("__") for part in path.split("."))


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """Line, full name, and name here of all that is imported from the product."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names = [(f"{node.module}.{alias.name}", alias) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [(alias.name, alias) for alias in node.names]
        else:
            continue
        for full, alias in names:
            if full.split(".")[0] == "dprelease":
                yield node.lineno, full, alias.asname or alias.name.split(".")[0]


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private names of the product that are imported, touched, or patched by their text."""
    ours, every = set(), list(ast.walk(tree))
    for line, full, name in imported(every):
        ours.add(name)
        if is_private(full):
            yield f"{line}: {full}"
    for node in every:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in ours:
                yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Call):
            function = write_dotted(node.func).rpartition(".")[2]
            for text in node.args[:2]:
                if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                    continue
                patched = function in {"setattr", "getattr", "delattr"}
                if is_private(text.value) and (patched or text.value.startswith("dprelease.")):
                    yield f"{node.lineno}: {text.value}"


@pytest.mark.parametrize(
    "source",
    [
        "from dprelease.cli.app import _x",
        "import dprelease._x",
        "from dprelease.cli import app\napp._x",
        "import dprelease.cli.app as a\na.Thing._x()",
        "patch.setattr(app, '_x', 1)",
        "patch.setattr('dprelease.cli.app._x', 1)",
        "later(patch, 'dprelease.cli.app._x', 1)",
    ],
)
def test_a_private_name_is_seen(source: str) -> None:
    assert len(list(private_names(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source", ["from dprelease.cli.app import x\nx.__name__", "self._x", "from oracle import _x"]
)
def test_other_names_are_none_of_the_product(source: str) -> None:
    assert list(private_names(ast.parse(source))) == []


def test_no_test_touches_a_private_name_of_the_product() -> None:
    touched = {
        file.relative_to(TESTS).as_posix(): names
        for file in sorted(TESTS.rglob("*.py"))
        if (names := list(private_names(ast.parse(file.read_text(encoding="utf-8")))))
    }
    assert touched == {}


INNER = [1, 2, 5, 8, 24]


@pytest.mark.parametrize("step", [1, 2, 3, 8])
@pytest.mark.parametrize("inner", INNER)
def test_one_case_in_n_runs_with_every_value_of_both_parameters(step: int, inner: int) -> None:
    outer = 10 * step
    chosen = [position for position in range(outer * inner) if is_in_diagonal(position, step)]
    assert len(chosen) == 10 * inner
    assert chosen[0] == 0  # a single case runs
    assert {position % inner for position in chosen} == set(range(inner))


def test_each_case_is_tried_and_a_failure_names_its_own() -> None:
    tried = []

    @for_each("a", [1, 2])
    @for_each(("b", "c"), [(3, 4), (5, 6)])
    def check(a: int, b: int, c: int) -> None:
        tried.append((a, b, c))
        if a == 2:
            pytest.skip("none")
        assert b == 3

    with pytest.raises(AssertionError) as caught:
        check()
    assert tried == [(1, 3, 4), (1, 5, 6)]
    assert caught.value.__notes__[-1] == "in the case {'a': 1, 'b': 5, 'c': 6}"


def test_one_case_in_n_is_tried_by_default() -> None:
    tried = []

    @pytest.mark.one_in(1000)
    @for_each("a", range(1000))
    def check(a: int) -> None:
        tried.append(a)

    check()
    assert tried == ([0] if not is_thorough() else [*range(1000)])


MODULE = """
from thorough import some as few

ROWS = few([1, 2], 2)
OTHERS = [1, 2]

def helper(): return list(ROWS)

@pytest.fixture
def row(): return helper()

@pytest.mark.parametrize("one", ROWS)
def test_by_its_cases(one): pass

def test_by_a_fixture(row): pass

@few([], 1)
def test_by_its_decorator(): pass

@pytest.mark.parametrize("one", OTHERS)
def test_the_same(one): pass
"""


def test_tests_that_may_do_more_are_found_by_what_they_reach() -> None:
    tests = {name for name in names_with_more(MODULE) if name.startswith("test_")}
    assert tests == {"test_by_its_cases", "test_by_a_fixture", "test_by_its_decorator"}
