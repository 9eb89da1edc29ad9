"""Docstrings and comments that name a module, or something in one, name what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from product_source import FILES, name_of, source_of, tree_of
from thorough import for_each

REFERENCE = re.compile(r"``([a-z_]+(?:\.[A-Za-z_]+)+)``")
PUBLISHED = {"report.json", "report.css", "pdf.css"}  # files, not modules
MODULES = {
    tuple(
        f"dprelease/{name_of(file)}".removesuffix(".py").removesuffix("/__init__").split("/")
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
    return any(last in defined(tree_of(MODULES[module])) for module in ends(*parts))


def defined(tree: ast.Module) -> set[str]:
    """What a module binds at its top."""
    bound = {name.id for node in tree.body for name in ast.walk(node) if isinstance(name, ast.Name)}
    definitions = (ast.FunctionDef, ast.ClassDef)
    bound |= {node.name for node in tree.body if isinstance(node, definitions)}
    aliases = (
        alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    )
    return bound | {alias.asname or alias.name for alias in aliases}


@for_each("file", FILES)
def test_references_are_there(file: Path) -> None:
    references = REFERENCE.findall(source_of(file))
    modules = [name for name in references if name.split(".")[0] in PLACES]
    assert [name for name in modules if name not in PUBLISHED and not is_there(name)] == []
