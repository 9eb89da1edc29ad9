"""The product's source and its syntax trees, each parsed once: what rules about the code read."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import dprelease

PACKAGE = Path(dprelease.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def list_nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a syntax tree that stays: walked once for all rules."""
    return tuple(ast.walk(tree))


def get_module_name(file: Path) -> str:
    """The path of a file below the package."""
    return file.relative_to(PACKAGE).as_posix()


@cache
def read_source(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def parse_source(source: str) -> ast.Module:
    """The syntax tree of a source. No rule may change it."""
    return ast.parse(source)


def parse_module(file: Path) -> ast.Module:
    return parse_source(read_source(file))


def write_dotted(node: ast.AST) -> str:
    """The dotted name that an expression is, as ``a.b.c``; empty at its start where it is none."""
    if isinstance(node, ast.Attribute):
        return f"{write_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def find_modules() -> dict[str, str]:
    """The source of every module by its dotted name below the package; a package by its folder."""
    sources = {}
    for file in FILES:
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = read_source(file)
    return sources
