"""``python -O`` changes nothing: no check of the product is an assert."""

from __future__ import annotations

import ast
import marshal
import subprocess
import sys
from pathlib import Path

import pytest
from product_source import FILES, get_module_name, list_nodes, parse_module, read_source


def compiled(source: str, optimize: int) -> bytes:
    """The code of a module, byte for byte."""
    return marshal.dumps(compile(source, "module", "exec", dont_inherit=True, optimize=optimize))


@pytest.mark.parametrize("source", ["assert x", "if __debug__:\n    x = 1", "x = __debug__"])
def test_what_the_option_changes_is_seen(source: str) -> None:
    assert compiled(source, 0) != compiled(source, 1)


@pytest.mark.thorough
def test_every_module_compiles_to_the_same_code_with_the_option_and_without() -> None:
    """The option acts on compilation alone, so the same code is the same product."""
    assert len(FILES) > 100
    assert [
        get_module_name(file)
        for file in FILES
        if compiled(read_source(file), 0) != compiled(read_source(file), 1)
    ] == []


def test_nothing_reads_docstrings_but_the_help() -> None:
    """``-OO`` strips them as well."""
    found = [
        f"{get_module_name(file)}:{node.lineno}"
        for file in FILES
        for node in list_nodes(parse_module(file))
        if (isinstance(node, ast.Name) and node.id == "__doc__")
        or (isinstance(node, ast.Attribute) and node.attr == "__doc__")
    ]
    assert found == []


@pytest.mark.thorough
def test_a_run_under_the_option(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n\n1\n2\n")
    (tmp_path / "spec.toml").write_text(
        '[release]\nname = "r"\n[data]\npath = "t.csv"\n'
        '[privacy]\nunit = "row"\nadjacency = "add-remove"\nepsilon = 1\n'
        '[ledger]\nepsilon_cap = 1\n[output]\npath = "out"\n'
        '[[query]]\nname = "records"\nstatistic = "count"\n'
    )
    for expected in (0, 0, 3):  # released, given again, and refused: the cap is reached
        command = [sys.executable, "-O", "-m", "dprelease", "run", str(tmp_path / "spec.toml")]
        more = ["--new-noise"] if expected else []
        done = subprocess.run([*command, *more], check=False, capture_output=True, cwd=tmp_path)
        assert done.returncode == expected, done.stderr
    assert (tmp_path / "out" / "report.json").exists()
