"""Fewer cases and examples by default than in a run of all tests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")


def is_thorough() -> bool:
    """Whether all tests run, with all of their examples."""
    return settings().max_examples >= 100


def examples(count: int, share: int = 10) -> int:
    """So many examples in a run of all tests; by default one in ``share``, and at least three."""
    return count if is_thorough() else max(min(count, 3), count // share)


def some(cases: Sequence[Case], step: int) -> list[Case]:
    """All cases in a run of all tests; by default one in ``step``, the first among them."""
    if is_thorough():
        return list(cases)
    return [case for position, case in enumerate(cases) if is_in_diagonal(position, step)]


def is_in_diagonal(position: int, step: int) -> bool:
    """One position in each row of ``step``, at a place that moves by the golden ratio.

    So every value of every parameter takes part sooner or later, whatever the number of values of
    the inner parameters.
    """
    row, column = divmod(position, step)
    return column == (row * 0x9E3779B9 % (1 << 32)) * step >> 32


@cache
def names_with_more(module: str) -> set[str]:
    """Names of a module whose definitions mention what it has from here, or one another of them.

    They may do more in a run of all tests. A test mentions fixtures too.
    """
    names: set[str] = set()
    definitions: list[tuple[set[str], set[str]]] = []
    for statement in ast.parse(module).body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "thorough":
            names |= {alias.asname or alias.name for alias in statement.names}
        nodes = list(ast.walk(statement))
        mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
        mentioned |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        is_named = isinstance(statement, ast.FunctionDef | ast.ClassDef)
        definitions.append(({statement.name} if is_named else mentioned, mentioned))
    before = None
    while names != before:
        before = set(names)
        names.update(*(defined for defined, mentioned in definitions if mentioned & before))
    return names


Test = Callable[..., None]


def for_each(names: str | Sequence[str], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Try a test on each of some values, as ``parametrize`` does, but as one test.

    For cases that are so many and small that to collect and report each takes longer than to try
    it. Several are stacked, below ``one_in`` if there is one. A failure names its case.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(keys, row if len(keys) > 1 else [row], strict=True)) for row in values]

    def decorate(test: Test) -> Test:
        inner = vars(test).get("tables", [])
        plain = vars(test).get("plain", test)

        def run() -> None:
            marks = {mark.name: mark for mark in vars(run).get("pytestmark", [])}
            step = marks["one_in"].args[0] if "one_in" in marks else 1
            for parts in some(list(product(*run_tables)), step):
                case = {name: value for part in parts for name, value in part.items()}
                try:
                    plain(**case)
                except pytest.skip.Exception:
                    continue
                except BaseException as error:
                    error.add_note(f"in the case {case}")
                    raise

        run_tables = [rows, *inner]
        vars(run).update(tables=run_tables, plain=plain, __doc__=test.__doc__)
        run.__name__, run.__module__ = test.__name__, test.__module__
        return run

    return decorate
