"""Rules that hold for every file of the package, read from its source.

Each rule is a function from a syntax tree to complaints, and each is shown to catch what it is
for, so that a rule can't go silent.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from product_source import (
    FILES,
    PACKAGE,
    find_modules,
    get_module_name,
    list_nodes,
    parse_module,
    parse_source,
    read_source,
    write_dotted,
)

import dprelease
from dprelease.cli.app import COMMANDS, MODULES
from dprelease.engines import ENGINES
from dprelease.model.source_registry import SOURCES
from dprelease.report_format import REPORT_FORMATS

# No float from a record to its noisy figure. Paths are files or folders below the package; what
# they show people afterwards may use floats, function by function. Not here: expressions, which
# compute a record's value before it is put on the grid; the calibration in privacy/ and planning/,
# which searches with floats and then proves what it found with exact bounds.
EXACT = (
    "kernel/certification.py",
    "kernel/chapters/choices",
    "kernel/chapters/figures",
    "kernel/chapters/many_draws",
    "kernel/chapters/private_keys",
    "kernel/chapters/record_tables",
    "kernel/chapters/strategies",
    "kernel/core",
    "kernel/distributions/intervals.py",
    "kernel/distributions/tails.py",
    "kernel/privatization.py",
    "ledger",
    "mechanisms",
    "model",
    "privacy/bounded_range.py",
    "release/payload.py",
    "statistics",
)
FOR_PEOPLE = {
    "ledger/store.py:WAIT",
    "statistics/density.py:compute_halfwidth_at",
    "statistics/ratio.py:compute_halfwidth_at",
    "statistics/spread.py:compute_halfwidth_at",
    "statistics/spread.py:mean_half",
    "statistics/read_release.py:compute_example",
    "statistics/shared/two_sums.py:compute_halfwidth_at",
}
# A float picks where a bound is taken; the bound itself is exact.
PICKED_BY_FLOATS = {
    "kernel/core/additive_loss.py:_log",
    "kernel/core/additive_loss.py:find_stationary_order",
    "kernel/core/additive_loss.py:bound_zcdp_delta",
    "kernel/core/numerics.py:enclose_ln",
}
FLOAT_FUNCTIONS = {"exp", "log", "log1p", "expm1", "sqrt", "pow", "fsum", "erf", "erfc"}


def prints(tree: ast.AST) -> Iterator[str]:
    for node in list_nodes(tree):
        if isinstance(node, ast.Call) and write_dotted(node.func) in {
            "print", "breakpoint", "input", "eval", "exec", "warnings.warn",
            "sys.stdout.write", "sys.stderr.write",
        }:  # fmt: skip
            yield f"{node.lineno}: {write_dotted(node.func)}()"


def floats(tree: ast.AST) -> Iterator[str]:
    for scope, node in scoped(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"{scope}: float literal {node.value}"
        elif isinstance(node, ast.Call):
            function = write_dotted(node.func)
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
    for node in list_nodes(tree):
        if isinstance(node, ast.Call):
            name = write_dotted(node.func).rpartition(".")[2]
            if name in {"import_module", "__import__", "spec_from_file_location"}:
                yield f"{node.lineno}: {name}() hides an import from the table of layers"


def found(rule: Callable[[ast.AST], Iterator[str]], files: list[Path]) -> list[str]:
    return [
        f"{get_module_name(file)}:{complaint}"
        for file in files
        for complaint in rule(parse_module(file))
    ]


def test_values_are_frozen() -> None:
    found = [
        f"{get_module_name(file)}:{node.name}"
        for file in FILES
        for node in list_nodes(parse_module(file))
        if isinstance(node, ast.ClassDef) and "Struct" in map(ast.unparse, node.bases)
        if "frozen=True" not in {f"{key.arg}={ast.unparse(key.value)}" for key in node.keywords}
    ]
    assert found == ["engines/spark/tasks.py:Told"]  # it counts what its task moves


def test_only_the_command_line_writes_to_streams() -> None:
    assert (
        found(prints, [file for file in FILES if not get_module_name(file).startswith("cli/")])
        == []
    )


def test_only_the_lazy_doors_import_by_name() -> None:
    doors = {
        "__init__.py",
        "cli/app.py",
        "engines/__init__.py",
        "sources/shared/source_format.py",
        "release/needed_modules.py",
        "reports/report_formats.py",
    }
    assert (
        found(hidden_imports, [file for file in FILES if get_module_name(file) not in doors]) == []
    )
    homes = {home.split(".")[0] for home in dprelease.CLASSES.values()}
    assert homes == {"comparison", "local", "model", "release"}
    registered = [*ENGINES.values(), *(form.module for form in SOURCES.values())]
    assert all(
        module.startswith(("dprelease.engines.", "dprelease.sources.")) for module in registered
    )


def test_no_float_on_the_privacy_path() -> None:
    assert [path for path in EXACT if not (PACKAGE / path).exists()] == []
    exact = [
        file
        for file in FILES
        if any(
            get_module_name(file) == path or get_module_name(file).startswith(f"{path}/")
            for path in EXACT
        )
    ]
    used = {complaint.rsplit(": ", 1)[0] for complaint in found(floats, exact)}
    assert used == FOR_PEOPLE | PICKED_BY_FLOATS


def test_nothing_is_left_to_do() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplementedError", "/home/", "/root/")
    left = [
        f"{get_module_name(file)}: {mark}"
        for file in FILES
        for mark in marks
        if mark in read_source(file)
    ]
    assert left == []


# --- nothing that only tests reach ---------------------------------------------------------------

# What is reached otherwise than by its name in the product's code.
REACHED_OTHERWISE = {
    *(
        f"reports.{form.module}.{'render_tables' if form.of_tables else 'render'}"
        for form in REPORT_FORMATS.values()
    ),
    *(
        f"ledger.{kind}.{name}"  # of a DatabaseKind
        for kind in ("connection", "server")
        for name in ("exists", "open_for_reading", "open_for_writing")
    ),
    "reports.renderers.html_page.prepare",
    "reports.renderers.pdf_page.prepare",
    "reports.renderers.tables_workbook.prepare",
    "language._InLanguage.format_field",  # of Formatter
    "files.packed._Unpacked.readable",  # io.BufferedReader's
    "cli.app.LazyGroup.get_command", "cli.app.LazyGroup.list_commands",
    "cli.app.LazyGroup.resolve_command",
    *(f"cli.{name}_command.{name}" for name in COMMANDS if name not in MODULES),  # click's
    *(f"{module}.{name}".removeprefix("dprelease.") for name, module in MODULES.items()),
    *(f"cli.budget_command.{name}" for name in ("cap", "export", "move", "show", "verify")),
    *(f".{name}" for name in dprelease.__all__),  # for users
    "release.published.ReleasedTable.rows",
    "release.published.RenderedReport.text",
}  # fmt: skip


def unreached(sources: dict[str, str]) -> list[str]:
    """Definitions that no code of the product uses outside themselves.

    A function or class of a module is used where its own module loads its name, another one
    imports it by name (a package's ``__init__`` hands on, and does not use), or takes it of the
    imported module. A method is used where any attribute has its name.
    """
    trees = {module: parse_source(source) for module, source in sources.items()}
    loads = {module: Counter(loaded(tree)) for module, tree in trees.items()}
    attributes: Counter[str] = Counter()
    imported: set[tuple[str, str]] = set()
    for module, tree in trees.items():
        attributes.update(node.attr for node in list_nodes(tree) if isinstance(node, ast.Attribute))
        imported |= set(taken(tree, loads[module], trees))
    lonely = []
    for module, tree in trees.items():
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            if node.name.startswith("__"):
                continue
            if (module, node.name) not in imported and loads[module][node.name] == Counter(
                loaded(node)
            )[node.name]:
                lonely.append(f"{module}.{node.name}")
            if isinstance(node, ast.ClassDef):
                lonely += [
                    f"{module}.{node.name}.{method.name}"
                    for method in node.body
                    if isinstance(method, ast.FunctionDef)
                    and not method.name.startswith("__")
                    and method.name != "_repr_html_"  # which notebooks call
                    and attributes[method.name]
                    == sum(
                        isinstance(inner, ast.Attribute) and inner.attr == method.name
                        for inner in ast.walk(method)
                    )
                ]
    return lonely


def loaded(tree: ast.AST) -> Iterator[str]:
    for node in list_nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def taken(
    tree: ast.AST, loads: Counter[str], modules: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """Names that a module uses of other ones, with these modules."""
    attributes = {
        (node.value.id, node.attr)
        for node in list_nodes(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in list_nodes(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("dprelease"):
            continue
        base = (node.module or "").removeprefix("dprelease").removeprefix(".")
        for alias in node.names:
            here = alias.asname or alias.name
            module = f"{base}.{alias.name}".removeprefix(".")
            if module in modules:
                yield from ((module, attr) for name, attr in attributes if name == here)
            elif loads[here]:
                yield base, alias.name
                yield from of_package(base, alias.name, modules)


def of_package(package: str, name: str, modules: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Where a package has the name from that it hands on."""
    tree = modules.get(package)
    for node in tree.body if isinstance(tree, ast.Module) else ():
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            yield (node.module or "").removeprefix("dprelease."), name


def test_nothing_is_there_for_tests_alone() -> None:
    lonely = {name for name in unreached(find_modules()) if name not in REACHED_OTHERWISE}
    assert lonely == set()


def test_what_only_tests_would_reach_is_seen() -> None:
    sources = {
        "a": "def used(): ...\n\ndef again(): return again()\n\nclass C:\n    def m(self): ...",
        "b": "from dprelease.a import used\nused()",
    }
    assert unreached(sources) == ["a.again", "a.C", "a.C.m"]


@pytest.mark.parametrize(
    ("rule", "source"),
    [
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
        (floats, "from fractions import Fraction\nx = Fraction(1, 2)"),
    ],
)
def test_a_rule_lets_good_code_pass(rule: Callable[[ast.AST], Iterator[str]], source: str) -> None:
    assert list(rule(ast.parse(source))) == []
