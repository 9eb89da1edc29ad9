"""Rules that hold for every file of the package, read from its source.

Each rule is a function from a syntax tree to complaints, and each is shown to catch what it is
for, so that a rule can't go silent.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dprelease
from dprelease.engines import ENGINES

PACKAGE = Path(dprelease.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 500

BANNED_IMPORTS = {
    "random": "noise comes from dprelease.kernel.noise",
    "secrets": "noise comes from dprelease.kernel.noise",
    "numpy.random": "noise comes from dprelease.kernel.noise",
    "pickle": "exact figures are never serialised",
    "logging": "what is said goes through the command line",
    "traceback": "tracebacks can hold values of the data",
    "subprocess": "no other program sees the data",
}
ENTROPY_NAMES = {"urandom", "getrandom", "SystemRandom", "uuid1", "uuid4", "token_bytes"}
ENTROPY_FILE = "kernel/noise/entropy.py"

# No float from a record to its noisy figure. Paths are files or folders below the package; what
# they show people afterwards may use floats, function by function. Not here: expressions, which
# compute a record's value before it is put on the grid; the calibration in privacy/ and planning/,
# which searches with floats and then proves what it found with exact bounds.
EXACT = (
    "kernel/certify",
    "kernel/privatize",
    "kernel/noise/additive",
    "kernel/noise/distributions/interval_arithmetic.py",
    "kernel/noise/distributions/survival.py",
    "kernel/noise/entropy.py",
    "kernel/noise/local",
    "kernel/noise/selection",
    "kernel/noise/uniforms.py",
    "ledger",
    "mechanisms",
    "model",
    "privacy/bounded_range.py",
    "release/payload.py",
    "statistics",
)
FOR_PEOPLE = {
    "ledger/opened.py:WAIT",
    "statistics/shared/three_sums.py:mean_example",
    "statistics/ratio.py:example",
    "statistics/shared/read_release.py:example",
    "statistics/shared/three_sums.py:_example",
    "statistics/shared/three_sums.py:example",
    "statistics/shared/two_sums.py:example",
}
FLOAT_FUNCTIONS = {"exp", "log", "log1p", "expm1", "sqrt", "pow", "fsum", "erf", "erfc"}


def name_of(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def banned_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node).replace("np.", "numpy.", 1)]
        for banned, reason in BANNED_IMPORTS.items():
            if any(name == banned or name.startswith(f"{banned}.") for name in names):
                yield f"{node.lineno}: {banned}: {reason}"


def entropy(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = set()
        if isinstance(node, ast.Attribute):
            names = {node.attr}
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
        for name in names & ENTROPY_NAMES:
            yield f"{node.lineno}: {name}: only {ENTROPY_FILE} asks for entropy"


def asserts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield f"{node.lineno}: assert vanishes under -O: raise instead"


def prints(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {
            "print", "breakpoint", "input", "eval", "exec", "warnings.warn",
            "sys.stdout.write", "sys.stderr.write",
        }:  # fmt: skip
            yield f"{node.lineno}: {ast.unparse(node.func)}()"


def floats(tree: ast.AST) -> Iterator[str]:
    for scope, node in scoped(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"{scope}: float literal {node.value}"
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            module, _, name = function.rpartition(".")
            if function == "float" or (module in {"math", "np"} and name in FLOAT_FUNCTIONS):
                yield f"{scope}: {function}()"
        elif isinstance(node, ast.ImportFrom) and node.module == "math":
            for name in sorted({alias.name for alias in node.names} & FLOAT_FUNCTIONS):
                yield f"{scope}: math.{name}"


def scoped(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node with the innermost function, or the constant, that it belongs to."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.FunctionDef):
            inner = node.name
        elif isinstance(node, ast.Assign) and not scope:
            inner = ast.unparse(node.targets[0])
        yield inner, node
        yield from scoped(node, inner)


def hidden_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in {"import_module", "__import__", "spec_from_file_location"}:
                yield f"{node.lineno}: {name}() hides an import from the table of layers"


EVERYWHERE: list[Callable[[ast.AST], Iterator[str]]] = [banned_imports, asserts]


def found(rule: Callable[[ast.AST], Iterator[str]], files: list[Path]) -> list[str]:
    return [
        f"{name_of(file)}:{complaint}"
        for file in files
        for complaint in rule(ast.parse(file.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("rule", EVERYWHERE, ids=lambda rule: rule.__name__)
def test_a_rule_for_every_file(rule: Callable[[ast.AST], Iterator[str]]) -> None:
    assert found(rule, FILES) == []


def test_entropy_is_asked_for_in_one_file() -> None:
    assert found(entropy, [file for file in FILES if name_of(file) != ENTROPY_FILE]) == []
    assert list(entropy(ast.parse((PACKAGE / ENTROPY_FILE).read_text(encoding="utf-8"))))


def test_only_the_command_line_writes_to_streams() -> None:
    assert found(prints, [file for file in FILES if not name_of(file).startswith("cli/")]) == []


def test_only_the_lazy_doors_import_by_name() -> None:
    doors = {"__init__.py", "cli/app.py", "engines/__init__.py", "report/formats.py"}
    assert found(hidden_imports, [file for file in FILES if name_of(file) not in doors]) == []
    homes = {home.split(".")[0] for home in dprelease._HOMES.values()}
    assert homes == {"release"}
    assert all(
        module.startswith("dprelease.engines.")
        for name, module in ENGINES.items()
        if name != "reference"  # the oracle of the tests
    )


def test_no_float_on_the_privacy_path() -> None:
    exact = [
        file
        for file in FILES
        if any(name_of(file) == path or name_of(file).startswith(f"{path}/") for path in EXACT)
    ]
    used = {complaint.rsplit(": ", 1)[0] for complaint in found(floats, exact)}
    assert used - FOR_PEOPLE == set()
    assert FOR_PEOPLE - used == set()


def test_files_stay_small() -> None:
    long = {
        name_of(file)
        for file in FILES
        if len(file.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    }
    assert long == set()


def test_nothing_is_left_to_do() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplementedError", "/home/", "/root/")
    left = [
        f"{name_of(file)}: {mark}"
        for file in FILES
        for mark in marks
        if mark in file.read_text(encoding="utf-8")
    ]
    assert left == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (banned_imports, "import random"),
        (banned_imports, "def f():\n    from numpy.random import default_rng"),
        (banned_imports, "from numpy import random"),
        (banned_imports, "import numpy as np\nnp.random.default_rng()"),
        (banned_imports, "import secrets as s"),
        (entropy, "import os\nos.urandom(8)"),
        (entropy, "from os import getrandom"),
        (asserts, "assert x"),
        (prints, "print(x)"),
        (prints, "import sys\nsys.stderr.write(x)"),
        (hidden_imports, "importlib.import_module(name)"),
        (floats, "x = 0.5"),
        (floats, "x = float(y)"),
        (floats, "x = math.exp(y)"),
        (floats, "from math import exp"),
    ],
)
def test_a_rule_catches_what_it_is_for(
    rule: Callable[[ast.AST], Iterator[str]], source: str
) -> None:
    assert list(rule(ast.parse(source)))


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (banned_imports, "from dprelease.kernel.noise import sample"),
        (floats, "from fractions import Fraction\nx = Fraction(1, 2)"),
    ],
)
def test_a_rule_lets_good_code_pass(rule: Callable[[ast.AST], Iterator[str]], source: str) -> None:
    assert list(rule(ast.parse(source))) == []
