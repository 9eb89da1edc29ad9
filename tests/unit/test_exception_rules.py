"""How the package may treat exceptions: none swallowed, none shown.

The text of a foreign exception, and the chain of exceptions behind one of ours, can hold values of
the private data. Each rule is shown to catch what it is for.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from product_source import FILES, get_module_name, list_nodes, parse_module


def swallowed(tree: ast.AST) -> Iterator[str]:
    """Handlers without a class, and those that do nothing where nothing is raised afterwards."""
    raising = {
        id(step)
        for node in list_nodes(tree)
        for body in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(body, list)
        for step, after in pairwise(body)
        if isinstance(after, ast.Raise)
    }
    for node in list_nodes(tree):
        if not isinstance(node, ast.Try):
            continue
        for handler in node.handlers:
            if handler.type is None:
                yield f"{handler.lineno}: except without a class"
            idle = all(isinstance(step, ast.Pass) or is_text(step) for step in handler.body)
            if idle and id(node) not in raising:
                yield f"{handler.lineno}: an exception is swallowed"


def is_text(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


def chained(tree: ast.AST) -> Iterator[str]:
    """Raises inside a handler whose traceback would show the exception that was handled."""
    for handler in list_nodes(tree):
        if not isinstance(handler, ast.ExceptHandler):
            continue
        for node in ast.walk(handler):
            if isinstance(node, ast.Raise) and node.exc is not None:
                severed = isinstance(node.cause, ast.Constant) and node.cause.value is None
                again = ast.unparse(node.exc) == handler.name
                if not severed and not again:
                    yield f"{node.lineno}: raise in a handler without `from None`"


def exception_texts(tree: ast.AST) -> Iterator[str]:
    """Uses of the text of a caught exception that isn't one of ours."""
    for handler in list_nodes(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        if is_ours(handler.type):
            continue
        for node in ast.walk(handler):
            if shows(node, handler.name):
                yield f"{node.lineno}: the text of {handler.name} is passed on"


OUR_EXCEPTIONS = {"Failure", "ExpressionError", "BrokenChain", "click.UsageError"}


def is_ours(kind: ast.expr | None) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(each is not None and ast.unparse(each) in OUR_EXCEPTIONS for each in kinds)


def shows(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(node.value) == name
    if isinstance(node, ast.Call):
        shown = any(ast.unparse(argument) == name for argument in node.args)
        return shown and ast.unparse(node.func) in {"str", "repr", "format"}
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {
        f"{name}.args", f"{name}.__traceback__", f"{name}.__notes__",
    }  # fmt: skip


RULES: list[Callable[[ast.AST], Iterator[str]]] = [swallowed, chained, exception_texts]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_about_exceptions(rule: Callable[[ast.AST], Iterator[str]]) -> None:
    found = [
        f"{get_module_name(file)}:{complaint}"
        for file in FILES
        for complaint in rule(parse_module(file))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (swallowed, "try:\n    f()\nexcept ValueError:\n    pass"),
        (swallowed, "try:\n    f()\nexcept:\n    g()"),
        (chained, "try:\n    f()\nexcept ValueError as e:\n    raise Failure(1, c) from e"),
        (chained, "try:\n    f()\nexcept ValueError:\n    raise Failure(1, c)"),
        (exception_texts, "try:\n    f()\nexcept ValueError as e:\n    g(str(e))"),
        (exception_texts, "try:\n    f()\nexcept (ValueError, OSError) as e:\n    g(f'no {e}')"),
        (exception_texts, "try:\n    f()\nexcept Exception as e:\n    g(e.args[0])"),
    ],
)
def test_bad_code_is_caught(rule: Callable[[ast.AST], Iterator[str]], source: str) -> None:
    assert list(rule(ast.parse(source)))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (swallowed, "try:\n    f()\nexcept ValueError:\n    return None"),
        (swallowed, "try:\n    f()\nexcept ValueError:\n    pass\nraise Failure(1, c)"),
        (chained, "try:\n    f()\nexcept ValueError:\n    raise Failure(1, c) from None"),
        (chained, "try:\n    f()\nexcept ValueError:\n    g()\n    raise"),
        (exception_texts, "try:\n    f()\nexcept OSError as e:\n    g(type(e).__name__, e.errno)"),
        (exception_texts, "try:\n    f()\nexcept Failure as e:\n    g(str(e))"),
    ],
)
def test_good_code_passes(rule: Callable[[ast.AST], Iterator[str]], source: str) -> None:
    assert list(rule(ast.parse(source))) == []
