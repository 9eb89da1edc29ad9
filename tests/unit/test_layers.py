"""Who may import whom. One table; every import of the package is held against it.

Imports are read from the source, inside functions and under ``TYPE_CHECKING`` too, so nothing
hides by being late. What the table protects: only engines see rows, only ``noise`` draws
randomness, and ``certify`` shares no code with the planner that it checks.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import dprelease

PACKAGE = Path(dprelease.__file__).parent
API = "dprelease"

MODEL, ERRORS = "dprelease.model", "dprelease.errors"
VOCABULARY = (MODEL, ERRORS)

# Layer -> what it may import of the package besides itself. A module belongs to the layer with
# the longest name that fits, so "dprelease.noise.laws" has a rule of its own. An import is allowed
# when its target is one of the names listed, or lies below one. The bare package is the public
# API, and allowed only where it is listed.
LAYERS: dict[str, tuple[str, ...]] = {
    # Vocabulary: the standard library and nothing else.
    ERRORS: (),
    MODEL: (ERRORS,),
    # What never sees a row, an exact figure or randomness.
    "dprelease.expressions": VOCABULARY,
    "dprelease.spec": (*VOCABULARY, "dprelease.expressions", "dprelease.statistics.registry"),
    "dprelease.privacy": VOCABULARY,
    "dprelease.noise.laws": (
        *VOCABULARY,
        "dprelease.noise.interval",
        "dprelease.noise.series",
        "dprelease.noise.tails",
    ),
    "dprelease.statistics": (
        *VOCABULARY,
        "dprelease.finish",
        "dprelease.noise.laws",
        "dprelease.privacy.contribution",
        # How far a choice may err is a matter of its mechanism, and a function of the plan alone.
        "dprelease.mechanisms.choice_errors",
        "dprelease.mechanisms.quantile_errors",
        "dprelease.mechanisms.top",
    ),
    "dprelease.finish": VOCABULARY,
    "dprelease.layout": (*VOCABULARY, "dprelease.statistics.reading"),
    "dprelease.mechanisms": (*VOCABULARY, "dprelease.privacy"),
    # Record-level tables. Which law perturbs a column, and how far that errs.
    "dprelease.local.calibrate": (*VOCABULARY, "dprelease.privacy"),
    "dprelease.local.errors": (*VOCABULARY, "dprelease.privacy"),
    # What is exact about them, in JSON values.
    "dprelease.local.detail": VOCABULARY,
    # What their cells say and what they tell, in which order and where they are kept. Never a true
    # value: all of this sees perturbed cells.
    "dprelease.local": (
        *VOCABULARY,
        "dprelease.ahead",
        "dprelease.finish.decimals",
        "dprelease.noise.laws",
        "dprelease.writers",
    ),
    "dprelease.planning": (
        *VOCABULARY,
        "dprelease.finish.text",
        "dprelease.local.calibrate",
        "dprelease.local.cells",  # whether answers can be written
        "dprelease.mechanisms",
        "dprelease.noise.laws",
        "dprelease.privacy",
        "dprelease.statistics",
    ),
    # By another path than the planner: nothing of its code but the type that says how far
    # neighbours can be apart.
    "dprelease.certify": (*VOCABULARY, "dprelease.certifying"),
    "dprelease.certifying": (
        *VOCABULARY,
        "dprelease.privacy.composition_witness",
        "dprelease.privacy.events",
        "dprelease.privacy.local_witness",
        "dprelease.privacy.quantile_witness",
        "dprelease.privacy.shift",
        "dprelease.privacy.threshold_witness",
        "dprelease.privacy.witness",
    ),
    "dprelease.requests": VOCABULARY,
    # Which rows are one unit, so that losses of two releases can be told apart.
    "dprelease.units": (*VOCABULARY, "dprelease.expressions.canonical"),
    # Sums of losses, and rho turned into epsilon.
    "dprelease.ledger": (*VOCABULARY, "dprelease.privacy.zcdp", "dprelease.units"),
    "dprelease.writers": (*VOCABULARY, "dprelease.finish.decimals"),
    "dprelease.report": (
        *VOCABULARY,
        "dprelease.finish",
        "dprelease.local",
        "dprelease.planning.whatif",
        "dprelease.statistics.reading",
        "dprelease.statistics.registry",
    ),
    # A saved plan, and whether what would be run is that.
    "dprelease.approval": (
        *VOCABULARY,
        "dprelease.ledger",
        "dprelease.local.detail",
        "dprelease.report",
        "dprelease.saving",
    ),
    "dprelease.saving": (),
    # Sees rows and exact figures; draws nothing.
    "dprelease.engines": (*VOCABULARY, "dprelease.csv_line", "dprelease.expressions"),
    # How one line of CSV falls into fields; knows of no file.
    "dprelease.csv_line": (),
    # Draws randomness; sees nothing.
    "dprelease.noise": VOCABULARY,
    # The one place where exact becomes noisy.
    "dprelease.selected": VOCABULARY,
    "dprelease.privatize": (
        *VOCABULARY,
        "dprelease.requests",
        "dprelease.selected",
        "dprelease.noise",
    ),
    # The same for tables of records.
    "dprelease.perturbing": (*VOCABULARY, "dprelease.ahead", "dprelease.noise"),
    # Streams in threads, whatever they hold.
    "dprelease.ahead": (),
    # From exact records to a stored table.
    "dprelease.recording": (
        *VOCABULARY,
        "dprelease.ahead",
        "dprelease.drawing",
        "dprelease.local",
        "dprelease.noise.entropy",
        "dprelease.perturbing",
        "dprelease.requests",
        "dprelease.sealed",
        "dprelease.writers",
    ),
    # Sealed noisy integers, and the files made of them.
    "dprelease.sealed": (*VOCABULARY, "dprelease.local.detail"),
    "dprelease.results": (*VOCABULARY, "dprelease.local", "dprelease.writers"),
    "dprelease.versions": (),
    # Names every code; nothing needs it but tests and people.
    "dprelease.codes": (),
    # What a run is charged for if it fails by itself. Hands entropy on, and draws nothing.
    "dprelease.drawing": (*VOCABULARY, "dprelease.ledger"),
    "dprelease.publication": (
        *VOCABULARY,
        "dprelease.finish.blank",
        "dprelease.layout",
        "dprelease.ledger",
        "dprelease.local.description",
        "dprelease.report",
        "dprelease.sealed",
        "dprelease.writers",
    ),
    # A published directory, and its report rendered again.
    "dprelease.republish": (
        *VOCABULARY,
        "dprelease.published.opening",
        "dprelease.report",
        "dprelease.writers",
    ),
    "dprelease.confirmed": (
        *VOCABULARY,
        "dprelease.certify",
        "dprelease.planning",
        "dprelease.privacy.accounting",
    ),
    # Reads what was released, from its files alone.
    "dprelease.published": VOCABULARY,
    # Reads the names of columns, and no value.
    "dprelease.starting": (*VOCABULARY, "dprelease.csv_line"),
    # The plans of two specs side by side.
    "dprelease.comparing": (*VOCABULARY, "dprelease.report", "dprelease.units"),
    # The calls of the public API, and the command line.
    "dprelease.api": (
        *VOCABULARY,
        "dprelease.confirmed",
        "dprelease.report",
        "dprelease.spec",
    ),
    "dprelease.pipeline": (
        *VOCABULARY,
        "dprelease.approval",
        "dprelease.certify",
        "dprelease.confirmed",
        "dprelease.drawing",
        "dprelease.engines",
        "dprelease.ledger",
        "dprelease.local.detail",
        "dprelease.local.store",
        "dprelease.noise.entropy",
        "dprelease.privatize",
        "dprelease.publication",
        "dprelease.recording",
        "dprelease.report",
        "dprelease.requests",
        "dprelease.results",
        "dprelease.sealed",
        "dprelease.spec",
        "dprelease.versions",
        "dprelease.writers",
    ),
    API: (*VOCABULARY, "dprelease.api", "dprelease.pipeline", "dprelease.results"),
    "dprelease.cli": (
        *VOCABULARY,
        API,
        "dprelease.approval",
        "dprelease.comparing",
        "dprelease.ledger",
        "dprelease.local",
        "dprelease.published",
        "dprelease.report",
        "dprelease.republish",
        "dprelease.saving",
        "dprelease.spec.json_schema",
        "dprelease.spec.sources",  # the name of a warning
        "dprelease.starting",
    ),
    "dprelease.__main__": ("dprelease.cli",),
}

SAMPLERS = ("dprelease.noise.entropy", "dprelease.noise.sample")
# The command line imports its commands by name, one when it is asked for: see test_house_rules.
PIPELINE = {"dprelease.pipeline", API, "dprelease.cli"}
MAY_REACH_ENGINES = {*PIPELINE, "dprelease.engines"}
MAY_REACH_SAMPLERS = {
    *PIPELINE,
    "dprelease.noise",
    "dprelease.privatize",
    "dprelease.perturbing",
    "dprelease.recording",
}

# Of the code below the planner the certifier shares the types of shifts and of events, not what
# computes one.
COMMON_TO_PLANNER_AND_CERTIFIER = {
    *VOCABULARY,
    "dprelease.privacy.events",
    "dprelease.privacy.shift",
}
COMMON_NAMES = {"Shift", "MAX_SHAPES"}


def sources() -> dict[str, str]:
    """Every module of the package by its dotted name; a package is named without __init__."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = [API, *file.relative_to(PACKAGE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = file.read_text(encoding="utf-8")
    return found


def imports(module: str, source: str, known: Mapping[str, str]) -> Iterator[str]:
    """Modules of the package that the source imports, as precisely as the import names them."""
    for node in import_statements(source):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                is_package = any(name.startswith(f"{module}.") for name in known)
                up = module.split(".")[: len(module.split(".")) - node.level + is_package]
                base = ".".join([*up, *([base] if base else [])])
            names = [
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base
                for alias in node.names
            ]
        yield from (name for name in names if name.split(".")[0] == API)


@cache
def import_statements(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Parsing is what takes time: each source is parsed once."""
    nodes = ast.walk(ast.parse(source))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def below(name: str, layer: str) -> bool:
    if layer == API:
        return name == API
    return name == layer or name.startswith(f"{layer}.")


def layer_of(module: str) -> str | None:
    return max((layer for layer in LAYERS if below(module, layer)), key=len, default=None)


def violations(modules: Mapping[str, str]) -> list[str]:
    """Every import that the table doesn't allow, and every module it doesn't know."""
    found = []
    for module, source in modules.items():
        layer = layer_of(module)
        if layer is None:
            found.append(f"{module} is in no layer")
            continue
        for target in imports(module, source, modules):
            own = layer_of(target) == layer
            if not own and not any(below(target, allowed) for allowed in LAYERS[layer]):
                found.append(f"{module} imports {target}")
    return found


def reach(start: str, modules: Mapping[str, str]) -> set[str]:
    """Every module that the start imports, directly or not."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        module = ahead.pop()
        if module not in seen and module in modules:
            seen.add(module)
            ahead.extend(imports(module, modules[module], modules))
    return seen


def in_layer(layer: str, modules: Mapping[str, str]) -> list[str]:
    return [module for module in modules if layer_of(module) == layer]


def test_every_import_is_allowed_by_the_table() -> None:
    assert violations(sources()) == []


def test_the_table_names_nothing_that_is_not_there() -> None:
    modules = sources()
    named = {*LAYERS, *(target for allowed in LAYERS.values() for target in allowed)}
    assert sorted(name for name in named if name not in modules) == []


def test_only_the_pipeline_reaches_engines() -> None:
    modules = sources()
    reaching = {
        layer_of(module)
        for module in modules
        if any(below(target, "dprelease.engines") for target in reach(module, modules))
    }
    assert reaching == MAY_REACH_ENGINES


def test_only_privatize_and_the_pipeline_reach_randomness() -> None:
    modules = sources()
    reaching = {
        layer_of(module)
        for module in modules
        if any(below(target, sampler) for sampler in SAMPLERS for target in reach(module, modules))
    }
    assert reaching == MAY_REACH_SAMPLERS


def test_planner_and_certifier_share_no_code() -> None:
    modules = sources()
    planner, certifier = (
        set().union(*(reach(module, modules) for module in in_layer(layer, modules)))
        for layer in ("dprelease.planning", "dprelease.certify")
    )
    common = {module for module in planner & certifier if not below(module, MODEL)}
    assert common <= COMMON_TO_PLANNER_AND_CERTIFIER
    assert planner
    assert certifier


def test_the_certifier_takes_only_the_type_of_a_shift() -> None:
    modules = sources()
    taken = {
        alias.name
        for module in reach("dprelease.certify", modules)
        for node in ast.walk(ast.parse(modules[module]))
        if isinstance(node, ast.ImportFrom) and node.module == "dprelease.privacy.shift"
        for alias in node.names
    }
    assert taken
    assert taken <= COMMON_NAMES


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "dprelease.engines.late",
            "def draw():\n    from dprelease.noise import entropy\n",
            "dprelease.engines.late imports dprelease.noise.entropy",
        ),
        (
            "dprelease.report.facts",
            "if TYPE_CHECKING:\n    import dprelease.engines as e",
            "dprelease.report.facts imports dprelease.engines",
        ),
        (
            "dprelease.noise.laws",
            "from .sample import sample",
            "dprelease.noise.laws imports dprelease.noise.sample",
        ),
        (
            "dprelease.certify",
            "from dprelease.statistics.registry import statistic_of",
            "dprelease.certify imports dprelease.statistics.registry",
        ),
        ("dprelease.model", "import dprelease", "dprelease.model imports dprelease"),
        ("dprelease.utils", "", "dprelease.utils is in no layer"),
    ],
)
def test_a_bad_import_is_caught(module: str, source: str, complaint: str) -> None:
    others = dict.fromkeys(
        ("dprelease.noise.entropy", "dprelease.noise.sample", "dprelease.engines",
         "dprelease.statistics.registry"), "",
    )  # fmt: skip
    assert violations({**others, module: source}) == [complaint]


def test_reaching_through_a_third_module_is_seen() -> None:
    modules = {
        "dprelease.report": "from dprelease.finish import columns",
        "dprelease.finish.columns": "def late():\n    import dprelease.engines",
        "dprelease.engines": "",
    }
    assert "dprelease.engines" in reach("dprelease.report", modules)
