"""The product can be run as ``python -O`` has it, while tests keep their asserts."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dprelease

PACKAGE = Path(dprelease.__file__).parent
TESTS = Path(__file__).parents[1]

PROGRAM = """
import sys
sys.path[:0] = [{tests!r}, {folder!r}]
from product_optimized import optimize
finder = optimize("frail")
import frail, frail.part
print(frail.answer(), frail.part.answer(), finder.loaded)
try:
    assert False
except AssertionError:
    print("alive")
"""


@pytest.mark.parametrize("cached", [False, True])
def test_asserts_of_the_package_alone_are_stripped(tmp_path: Path, cached: bool) -> None:
    package = tmp_path / "frail"
    package.mkdir()
    for name in ("__init__.py", "part.py"):
        (package / name).write_text(
            "def answer():\n    assert False, 'not stripped'\n    return __debug__\n"
        )
    if cached:  # compiled with its asserts: that must not be used
        compiled = [sys.executable, "-m", "compileall", "-q", str(package)]
        subprocess.run(compiled, check=True, env={**os.environ, "PYTHONOPTIMIZE": ""})
    program = PROGRAM.format(tests=str(TESTS), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONOPTIMIZE": ""},
    )
    assert done.stdout.splitlines() == ["False False ['frail', 'frail.part']", "alive"], done.stderr


def test_the_switch_works_for_this_process() -> None:
    """With the switch every module of the product that is loaded came through the finder."""
    loaders = {
        type(module.__spec__.loader).__name__
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "dprelease" and module.__spec__ is not None
    }
    asked = bool(os.environ.get("DPRELEASE_TEST_OPTIMIZED"))
    assert loaders == {"OptimizedLoader" if asked else "SourceFileLoader"}
    assert bool(os.environ.get("PYTHONOPTIMIZE")) is asked


def test_the_asserts_of_tests_are_alive() -> None:
    assert sys.flags.optimize == 0
    with pytest.raises(AssertionError):
        assert not TESTS


def test_nothing_depends_on_debug() -> None:
    """Neither on ``__debug__`` nor on docstrings, which ``-OO`` strips."""
    found = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}"
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id in ("__debug__", "__doc__"))
        or (isinstance(node, ast.Attribute) and node.attr == "__doc__")
    ]
    assert found == []
