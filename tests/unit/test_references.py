"""Docstrings and comments that name something of the package name what is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from product_source import (
    FILES,
    get_module_name,
    list_nodes,
    parse_module,
    parse_source,
    read_source,
)
from thorough import for_each

REFERENCE = re.compile(r"``([a-z_]+(?:\.[A-Za-z_]+)+)``")
PUBLISHED = {"report.json", "report.css", "pdf.css"}  # files, not modules
MODULES = {
    tuple(
        f"dprelease/{get_module_name(file)}".removesuffix(".py")
        .removesuffix("/__init__")
        .split("/")
    ): file
    for file in FILES
}
PLACES = {part for module in MODULES for part in module[:-1]}


def ends(*parts: str) -> list[tuple[str, ...]]:
    """The modules whose dotted names end so."""
    return [module for module in MODULES if module[-len(parts) :] == parts]


def is_there(reference: str) -> bool:
    *parts, last = reference.split(".")
    packages = {module[: len(module) - cut] for module in MODULES for cut in range(len(module))}
    if any(package[-len(parts) - 1 :] == (*parts, last) for package in packages):
        return True
    return any(last in defined(parse_module(MODULES[module])) for module in ends(*parts))


def defined(tree: ast.Module) -> set[str]:
    """What a module binds at its top."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    bound = {node.name for node in tree.body if isinstance(node, definitions)}
    lines = [node for node in tree.body if not isinstance(node, definitions)]
    bound |= {name.id for node in lines for name in ast.walk(node) if isinstance(name, ast.Name)}
    aliases = (
        alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    )
    return bound | {alias.asname or alias.name for alias in aliases}


@for_each("file", FILES)
def test_references_are_there(file: Path) -> None:
    references = REFERENCE.findall(read_source(file))
    modules = [name for name in references if name.split(".")[0] in PLACES]
    assert [name for name in modules if name not in PUBLISHED and not is_there(name)] == []


# --- names in backticks ---------------------------------------------------------------------------

NAMED = re.compile(r"``(_?[a-z][a-z0-9_]{2,})``")  # shorter ones are of formulas and statements
WRITTEN = {"false", "inf", "infinity", "nan"}  # in files that are read
OF_ELSEWHERE = {
    "kernel/chapters/choices/quantile_loss.py": {"left", "right"},  # of a proof
    "kernel/core/entropy.py": {"getrandom"},  # of the system
    "mechanisms/quantiles.py": {"below", "upto"},  # of a proof
    "model/queries.py": {"candidate"},  # of expressions
    "model/release.py": {"candidates_file"},  # of specs
    "sources/shared/locations.py": {"_temporary"},  # of folders
    "sources/shared/partitions.py": {"town"},  # of an example
}


@cache
def definitions() -> frozenset[str]:
    """Names of modules, functions, classes and fields, and what modules bind."""
    names = {part for module in MODULES for part in module}
    for file in FILES:
        names |= defined(parse_module(file))
        for node in list_nodes(parse_module(file)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            if isinstance(node, ast.ClassDef):
                names |= {name.id for line in node.body for name in targets(line)}
    return frozenset(names)


def targets(line: ast.stmt) -> list[ast.Name]:
    """The names that a line of a class assigns, or declares."""
    places = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
    return [place for place in places if isinstance(place, ast.Name)]


def used(node: ast.AST) -> Iterator[str]:
    """The names of what a part of a module uses: variables, parameters, attributes."""
    for each in list_nodes(node):
        for field in ("id", "arg", "attr"):
            name = getattr(each, field, None)
            if isinstance(name, str):
                yield name


def stale_names(tree: ast.Module) -> Iterator[str]:
    """Names in docstrings that neither what is described nor any definition has.

    Nor may it be a text of the module: a key of the spec, a column of a statement.
    """
    texts = {node.value for node in list_nodes(tree) if isinstance(node, ast.Constant)}
    for node in list_nodes(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            names = set(NAMED.findall(ast.get_docstring(node) or ""))
            yield from sorted(names - definitions() - WRITTEN - texts - set(used(node)))


@for_each("file", FILES)
def test_names_in_docstrings_are_there(file: Path) -> None:
    assert set(stale_names(parse_module(file))) == OF_ELSEWHERE.get(get_module_name(file), set())


def test_a_parameter_that_was_renamed_is_found() -> None:
    source = 'def count(places):\n    """Count ``{}``; see ``certify``, ``sha256``."""\n'
    assert list(stale_names(parse_source(source.format("places")))) == []
    assert list(stale_names(parse_source(source.format("paid_seats")))) == ["paid_seats"]
