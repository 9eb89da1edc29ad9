"""Who may import whom. One table; every import of the package is held against it.

Imports are read from the source, inside functions and under ``TYPE_CHECKING`` too, so nothing
hides by being late. What the table protects: only engines see rows, only ``noise`` draws
randomness, and ``certify`` shares no code with the planner that it checks.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import pytest
from product_source import FILES, find_modules, list_nodes, parse_source

import dprelease

API = "dprelease"
CORE, CERTIFIER = "dprelease.kernel.core", "dprelease.kernel.certification"

MODEL, ERRORS = "dprelease.model", "dprelease.errors"
LANGUAGE = "dprelease.language"
REPORT_FORMAT = "dprelease.report_format"
VOCABULARY = (MODEL, ERRORS, REPORT_FORMAT)

# Layer -> what it may import of the package besides itself. A module belongs to the layer with
# the longest name that fits, so "dprelease.kernel.distributions.laws" has a rule of its own.
# An import is allowed when its target is one of the names listed, or lies below one. The bare
# package is the public API, and allowed only where it is listed.
LAYERS: dict[str, tuple[str, ...]] = {
    # Vocabulary: the standard library and msgspec, nothing else.
    ERRORS: (),
    REPORT_FORMAT: (),
    MODEL: (ERRORS,),
    "dprelease.files": (),
    # Sentences of reports, and their catalogues.
    LANGUAGE: (MODEL,),
    # What a privacy reviewer must trust. It imports the vocabulary and a stream in a thread.
    "dprelease.kernel.core": VOCABULARY,
    "dprelease.kernel.distributions": VOCABULARY,
    "dprelease.kernel.chapters.many_draws": (
        *VOCABULARY,
        "dprelease.kernel.core",
        "dprelease.kernel.distributions",
    ),
    "dprelease.kernel.chapters.clipped_people": (*VOCABULARY, "dprelease.kernel.core"),
    "dprelease.kernel.chapters.strategies": (
        *VOCABULARY,
        "dprelease.expressions",  # what filters mean, as engines compile them
        "dprelease.kernel.chapters.clipped_people",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel.chapters.together": (
        *VOCABULARY,
        "dprelease.kernel.chapters.many_draws",
        "dprelease.kernel.core",
        "dprelease.kernel.distributions",
    ),
    "dprelease.kernel.chapters.private_keys": (*VOCABULARY, "dprelease.kernel.core"),
    "dprelease.kernel.chapters.figures": (
        *VOCABULARY,
        "dprelease.kernel.chapters.strategies",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel.chapters.choices": (
        *VOCABULARY,
        "dprelease.kernel.chapters.many_draws.uniforms",
        "dprelease.kernel.core",
        "dprelease.kernel.distributions",
    ),
    "dprelease.kernel.chapters.record_tables": (
        *VOCABULARY,
        "dprelease.files.prefetch",
        "dprelease.kernel.chapters.many_draws",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel.chapters.composition": (
        *VOCABULARY,
        "dprelease.kernel.chapters.choices.choice_rules",
        "dprelease.kernel.chapters.strategies",
        "dprelease.kernel.chapters.together.joint_noise",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel.chapters": (),
    # The core with all chapters: of a plan, and of exact figures.
    "dprelease.kernel.certification": (
        *VOCABULARY,
        "dprelease.kernel.chapters",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel.privatization": (
        *VOCABULARY,
        "dprelease.kernel.chapters",
        "dprelease.kernel.core",
    ),
    "dprelease.kernel": (),
    # Record-level tables, a slice: each file belongs to the stage that reaches it, and has that
    # stage's rule. What the kernel certifies and draws of them is a chapter there. Only
    # record_release sees a true value, which it hands on; all else sees perturbed cells or none.
    "dprelease.local.perturb_section": (
        *VOCABULARY,
        "dprelease.specfile.complaints",
        "dprelease.specfile.keys",
    ),
    "dprelease.local.record_table_checks": (
        *VOCABULARY,
        "dprelease.engines.engine_registry",
        "dprelease.local.perturb_section",
        "dprelease.specfile.checks.columns",
        "dprelease.specfile.checks.queries",
        "dprelease.specfile.complaints",
        "dprelease.specfile.keys.section_reader",
    ),
    "dprelease.local.randomizers": (*VOCABULARY, "dprelease.privacy"),
    "dprelease.local.record_table_plan": (
        *VOCABULARY,
        "dprelease.local.randomizers.calibrate",
        "dprelease.local.store.answer_cells",  # whether answers can be written
        "dprelease.privacy.zcdp",
    ),
    "dprelease.local.store": (
        *VOCABULARY,
        "dprelease.files.prefetch",
        "dprelease.files.system",
        "dprelease.output",
        "dprelease.postprocess.intervals.fixed_point",
    ),
    # From exact records to a stored table. Hands entropy on, and draws nothing.
    "dprelease.local.record_release": (
        *VOCABULARY,
        "dprelease.files.atomic",
        "dprelease.files.prefetch",
        "dprelease.files.system",
        "dprelease.kernel.chapters.record_tables.record_draws",
        "dprelease.kernel.core.engine_requests",
        "dprelease.kernel.core.entropy",
        "dprelease.ledger.single_draw",
        "dprelease.local.store",
        "dprelease.output",
    ),
    # From a published table to estimates, by what its report says.
    "dprelease.local.estimation": (
        *VOCABULARY,
        "dprelease.files.system",
        "dprelease.kernel.distributions",
        "dprelease.local.randomizers.window_response",
        "dprelease.local.store",
        "dprelease.postprocess.intervals.combined_noise",
        "dprelease.reports.model",
        "dprelease.reports.text",
    ),
    "dprelease.local.report": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.local.estimation",
        "dprelease.local.randomizers.expected_error",
        "dprelease.local.store.answer_cells",
        "dprelease.postprocess.intervals.number_text",
        "dprelease.reports.charts",
        "dprelease.reports.model",
        "dprelease.reports.sections.document",
        "dprelease.reports.text",
    ),
    # A command as those of dprelease.cli.
    "dprelease.local.estimate_command": (
        *VOCABULARY,
        API,
        "dprelease.cli",
        "dprelease.local",
        "dprelease.reports.text",
    ),
    "dprelease.local.estimate_view": (
        *VOCABULARY,
        "dprelease.cli.views",
        "dprelease.local.estimation",
        "dprelease.reports.text",
    ),
    "dprelease.local": (),
    # What never sees a row, an exact figure or randomness.
    "dprelease.expressions": VOCABULARY,
    "dprelease.privacy": (*VOCABULARY, "dprelease.kernel.distributions.intervals"),
    "dprelease.mechanisms": (
        *VOCABULARY,
        "dprelease.kernel.distributions",
        "dprelease.privacy",
    ),
    "dprelease.postprocess.intervals": (
        *VOCABULARY,
        "dprelease.kernel.distributions",
    ),
    "dprelease.statistics": (
        *VOCABULARY,
        "dprelease.kernel.distributions",
        "dprelease.mechanisms",
        "dprelease.postprocess.intervals",
        "dprelease.privacy.curve_matrices",
        "dprelease.privacy.sensitivity",
        "dprelease.privacy.strategy_sensitivity",
    ),
    # Noisy figures made fit to be published.
    "dprelease.postprocess.finishing": (
        *VOCABULARY,
        "dprelease.expressions",
        "dprelease.postprocess.intervals",
        "dprelease.statistics.statistic_registry",
        "dprelease.statistics.read_release",
    ),
    "dprelease.postprocess": (),
    "dprelease.specfile": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.engines.engine_registry",
        "dprelease.expressions",
        "dprelease.files.packed",
        "dprelease.files.system",
        "dprelease.files.uris",
        "dprelease.local.perturb_section",
        "dprelease.local.record_table_checks",
        "dprelease.postprocess.finishing.conditions",
        "dprelease.postprocess.finishing.lattice",
        "dprelease.postprocess.intervals.fixed_point",
        "dprelease.postprocess.intervals.number_text",
        "dprelease.statistics",
    ),
    "dprelease.output": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.files.atomic",
        "dprelease.files.system",
        "dprelease.postprocess.intervals.fixed_point",
    ),
    "dprelease.planning": (
        *VOCABULARY,
        "dprelease.expressions",
        "dprelease.kernel.distributions",
        "dprelease.local.record_table_plan",
        "dprelease.mechanisms",
        "dprelease.postprocess.intervals.combined_figure",
        "dprelease.postprocess.intervals.figure_terms",
        "dprelease.postprocess.intervals.number_text",
        "dprelease.privacy",
        "dprelease.statistics",
    ),
    # See rows and exact figures; draw nothing.
    "dprelease.engines": (
        *VOCABULARY,
        "dprelease.expressions",
        "dprelease.files.system",
        "dprelease.files.uris",
        "dprelease.sources",
    ),
    "dprelease.sources": (
        *VOCABULARY,
        "dprelease.engines.duckdb",
        "dprelease.expressions",
        "dprelease.files.csv_line",
        "dprelease.files.packed",
        "dprelease.files.system",
        "dprelease.files.uris",
    ),
    # Sums of losses, and rho turned into epsilon; which rows are one unit; what is charged to a run
    # that fails by itself, which hands entropy on and draws nothing.
    "dprelease.ledger": (
        *VOCABULARY,
        "dprelease.expressions.canonical",
        "dprelease.files.atomic",
        "dprelease.files.system",
        "dprelease.privacy.zcdp",
    ),
    # Published figures combined to one; sections of the report show how.
    "dprelease.combination": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.postprocess.finishing.agreement",
        "dprelease.postprocess.intervals.combined_noise",
        "dprelease.reports.model",
        "dprelease.reports.text",
        "dprelease.statistics.statistic_registry",
    ),
    "dprelease.reports": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.combination",
        "dprelease.expressions",  # definitions spell them in words
        "dprelease.files.uris",
        "dprelease.local.report",
        "dprelease.planning.planner",
        "dprelease.postprocess",
        "dprelease.mechanisms.mechanism_registry",
        "dprelease.output.csv_table",  # how a file names what a chart reads
        "dprelease.output.key_types",  # a workbook has numbers and dates as such
        "dprelease.statistics.shared.statistic",
        "dprelease.statistics.statistic_registry",
        "dprelease.statistics.read_release",
    ),
    # A published directory, and its report rendered again.
    "dprelease.reports.rerender": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.combination",
        "dprelease.files.system",
        "dprelease.output",
        "dprelease.reports",
    ),
    # The last release, verified.
    "dprelease.reports.previous": (
        *VOCABULARY,
        "dprelease.reports",
    ),
    # Reads the names of columns, and no value: sources list their own columns.
    "dprelease.scaffold": (
        *VOCABULARY,
        "dprelease.sources.shared.source_format",
        "dprelease.files.csv_line",
        "dprelease.files.packed",
        "dprelease.files.system",
    ),
    # The plans of two specs side by side.
    "dprelease.comparison": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.postprocess.finishing.finished_tables",
        "dprelease.ledger.guarantee",
        "dprelease.reports",
        "dprelease.statistics.statistic_registry",
    ),
    # A plan with its second opinion; no engine, no randomness.
    "dprelease.release.plan": (
        *VOCABULARY,
        "dprelease.kernel.certification",
        "dprelease.kernel.core.certify",
        "dprelease.planning",
        "dprelease.privacy.composition",
        "dprelease.reports",
        "dprelease.specfile",
    ),
    "dprelease.release.saved_plan": (
        *VOCABULARY,
        "dprelease.files.atomic",
        "dprelease.ledger",
        "dprelease.reports",
    ),
    # Sealed noisy integers, and the files made of them.
    "dprelease.release.payload": VOCABULARY,
    "dprelease.release.result": (
        *VOCABULARY,
        "dprelease.local.store.read_table",
        "dprelease.output",
        "dprelease.release.plan",
        "dprelease.reports.text.notebook",
    ),
    "dprelease.release.bundle": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.postprocess.finishing.flags",
        "dprelease.postprocess.finishing.shares_together",
        "dprelease.postprocess.finishing.finished_tables",
        "dprelease.ledger",
        "dprelease.local.store.answer_cells",
        "dprelease.output",
        "dprelease.release.saved_plan",
        "dprelease.postprocess.intervals.estimate_columns",
        "dprelease.postprocess.intervals.fitted_count",
        "dprelease.postprocess.intervals.fixed_point",
        "dprelease.release.payload",
        "dprelease.reports",
        "dprelease.statistics.statistic_registry",
        "dprelease.statistics.read_release",
    ),
    "dprelease.release.run": (
        *VOCABULARY,
        "dprelease.engines",
        "dprelease.kernel.certification",
        "dprelease.kernel.core",
        "dprelease.kernel.privatization",
        "dprelease.ledger",
        "dprelease.local.record_release",
        "dprelease.local.store.table_store",
        "dprelease.output",
        "dprelease.release",
        "dprelease.reports",
        "dprelease.specfile",
    ),
    # A run on made-up records, which an engine of its own reads.
    "dprelease.release.made_up_table": (
        *VOCABULARY,
        "dprelease.expressions",
        "dprelease.kernel.core.engine_requests",
    ),
    "dprelease.release.rehearse": (
        *VOCABULARY,
        LANGUAGE,
        "dprelease.engines",
        "dprelease.kernel.core.entropy",
        "dprelease.output.released_tables",
        "dprelease.release",
        "dprelease.sources.shared.data_failures",
        "dprelease.specfile",
    ),
    # Two runs, of which the second depends on what the first has published.
    "dprelease.release.quality_first": (
        *VOCABULARY,
        "dprelease.ledger",
        "dprelease.release.plan",
        "dprelease.release.progress",
        "dprelease.release.result",
        "dprelease.release.run",
        "dprelease.specfile.complaints.spec_paths",
        "dprelease.specfile.complaints.places",
    ),
    # What a ledger and published releases tell, as values for Python and the command line.
    "dprelease.release.budget_status": (
        *VOCABULARY,
        "dprelease.ledger",
        "dprelease.reports.text",
        "dprelease.specfile",
    ),
    "dprelease.release.published": (
        *VOCABULARY,
        "dprelease.combination",
        "dprelease.output.released_tables",
        "dprelease.reports",
    ),
    "dprelease.comparison.compared_specs": (
        *VOCABULARY,
        "dprelease.comparison",
        "dprelease.ledger.identity",
        "dprelease.release.plan",
        "dprelease.reports.text",
        "dprelease.specfile",
    ),
    # Imports by name, before the charge, what the run imports after it.
    "dprelease.release.needed_modules": (MODEL, LANGUAGE),
    "dprelease.release": (),
    # The calls of the public API, and the command line.
    API: (
        *VOCABULARY,
        "dprelease.comparison.compared_specs",
        "dprelease.kernel.core.entropy",  # the type of what tests hand over
        "dprelease.release.budget_status",
        "dprelease.release.plan",
        "dprelease.release.progress",
        "dprelease.release.published",
        "dprelease.release.rehearse",
        "dprelease.release.result",
        "dprelease.release.run",
        "dprelease.local.estimation.table_estimates",
        "dprelease.scaffold.new_spec",
        "dprelease.specfile",
    ),
    "dprelease.cli": (
        *VOCABULARY,
        LANGUAGE,
        API,
        "dprelease.combination.combination_wording",
        "dprelease.comparison",
        "dprelease.files.atomic",
        "dprelease.files.system",
        "dprelease.ledger",
        "dprelease.local.report",
        "dprelease.local.store.table_store",
        "dprelease.output.released_tables",
        "dprelease.postprocess.intervals.number_text",
        "dprelease.release.budget_status",
        "dprelease.release.published",
        "dprelease.release.quality_first",
        "dprelease.release.saved_plan",
        "dprelease.reports",
        "dprelease.scaffold",
        "dprelease.specfile.checks.data_source",  # the name of a warning
        "dprelease.specfile.complaints.reporter",  # the name of a complaint
        "dprelease.specfile.schema.json_schema",
        "dprelease.specfile.keys.number_texts",  # a cap's amount is written as in a spec
    ),
    "dprelease.__main__": ("dprelease.cli",),
}

SAMPLERS = ("dprelease.kernel.core.entropy", "dprelease.kernel.core.sample")
# The command line imports its commands by name, one when it is asked for: see test_house_rules.
PIPELINE = {
    "dprelease.release.run",
    "dprelease.release.rehearse",
    "dprelease.release.quality_first",
    API,
    "dprelease.cli",
    "dprelease.local.estimate_command",
}
# Names of engines, and nothing else.
REGISTRIES = {"dprelease.engines.engine_registry"}
ROOMS_WITH_ROWS = ("dprelease.engines", "dprelease.sources")
# A new spec begins with the columns that a source lists of its own.
MAY_REACH_ROWS = {*PIPELINE, *ROOMS_WITH_ROWS, "dprelease.scaffold"}
MAY_REACH_SAMPLERS = {
    *PIPELINE,
    "dprelease.kernel.chapters.choices",
    "dprelease.kernel.chapters.many_draws",
    "dprelease.kernel.chapters.private_keys",
    "dprelease.kernel.chapters.record_tables",
    "dprelease.kernel.chapters.together",
    "dprelease.kernel.core",
    "dprelease.kernel.privatization",
    "dprelease.local.record_release",
}

# Of the code below the planner the certifier shares the types of shifts and of events, not what
# computes one. What conditions mean is one for planner, certifier and engines.
COMMON_TO_PLANNER_AND_CERTIFIER = {
    *VOCABULARY,
    "dprelease.model.privacy_events",
    "dprelease.model.shift",
    "dprelease.expressions",
    "dprelease.expressions.expression_wording",
    "dprelease.expressions.grammar",
    "dprelease.expressions.growth",
    "dprelease.expressions.nodes",
    "dprelease.expressions.normal_form",
    "dprelease.expressions.sqltext",
    "dprelease.expressions.whitelist",
}
COMMON_NAMES = {"Shift", "MAX_SHAPES"}


def sources() -> dict[str, str]:
    """Every module of the package by its dotted name; a package is named without __init__."""
    return {f"{API}.{name}".removesuffix("."): source for name, source in find_modules().items()}


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
    return tuple(
        node
        for node in list_nodes(parse_source(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


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
    return follow([start], modules, lambda module: imports(module, modules[module], modules))


def follow(
    start: Iterable[str],
    modules: Mapping[str, str],
    list_targets: Callable[[str], Iterable[str]],
) -> set[str]:
    seen: set[str] = set()
    ahead = list(start)
    while ahead:
        module = ahead.pop()
        if module not in seen and module in modules:
            seen.add(module)
            ahead.extend(list_targets(module))
    return seen


def circles(modules: Mapping[str, str]) -> list[set[str]]:
    """Modules that import each other, directly or through others."""
    targets = {module: set(imports(module, source, modules)) for module, source in modules.items()}
    reached = {
        module: follow(of_module, modules, targets.__getitem__)
        for module, of_module in targets.items()
    }
    found = {
        frozenset(other for other in others if module in reached[other])
        for module, others in reached.items()
        if module in others
    }
    return [set(circle & set(modules)) for circle in found]


def folder_of(module: str, modules: Mapping[str, str]) -> str:
    """The folder that a module's file is in; a file beside ``__init__`` at the top is its own."""
    is_package = any(name.startswith(f"{module}.") for name in modules)
    folder = module if is_package else module.rpartition(".")[0]
    return module if folder == API else folder


def mutual_folders(modules: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pairs of folders of which each imports the other. The public API belongs to none."""
    pairs = {
        (folder_of(module, modules), folder_of(target, modules))
        for module, source in modules.items()
        for target in imports(module, source, modules)
        if API not in {module, target}
    }
    return {(one, other) for one, other in pairs if one < other and (other, one) in pairs}


def in_layer(layer: str, modules: Mapping[str, str]) -> list[str]:
    return [module for module in modules if layer_of(module) == layer]


def test_every_import_is_allowed_by_the_table() -> None:
    assert violations(sources()) == []


def test_no_file_imports_itself_through_others() -> None:
    """Inside functions and under TYPE_CHECKING too. A package's __init__ is a file like others."""
    assert [sorted(circle) for circle in circles(sources())] == []


def test_a_circle_is_seen() -> None:
    modules = {
        "dprelease.a": "from dprelease.b import x",
        "dprelease.b": "def late():\n    from dprelease import c",
        "dprelease.c": "if TYPE_CHECKING:\n    from dprelease.a import y",
        "dprelease.d": "import dprelease.a",
    }
    assert circles(modules) == [{"dprelease.a", "dprelease.b", "dprelease.c"}]


def test_the_table_names_nothing_that_is_not_there() -> None:
    modules = sources()
    named = {*LAYERS, *(target for allowed in LAYERS.values() for target in allowed)}
    assert sorted(name for name in named if name not in modules) == []


def test_only_the_pipeline_reaches_rows() -> None:
    modules = sources()
    reaching = {
        layer_of(module)
        for module in modules.keys() - REGISTRIES
        for target in reach(module, modules) - REGISTRIES
        if any(below(target, room) for room in ROOMS_WITH_ROWS)
    }
    assert reaching == MAY_REACH_ROWS
    assert not any(list(imports(name, modules[name], modules)) for name in REGISTRIES)


def test_only_privatize_and_the_pipeline_reach_randomness() -> None:
    modules = sources()
    reaching = {
        layer_of(module)
        for module in modules
        if any(below(target, sampler) for sampler in SAMPLERS for target in reach(module, modules))
    }
    assert reaching == MAY_REACH_SAMPLERS


def test_certification_reaches_no_randomness() -> None:
    modules = sources()
    reached = reach(CERTIFIER, modules)
    assert reached & {*SAMPLERS, "dprelease.kernel.privatization"} == set()


def test_planner_and_certifier_share_no_code() -> None:
    modules = sources()
    planner = set().union(
        *(reach(module, modules) for module in in_layer("dprelease.planning", modules))
    )
    certifier = reach(CERTIFIER, modules)
    common = {module for module in planner & certifier if not below(module, MODEL)}
    assert common <= COMMON_TO_PLANNER_AND_CERTIFIER
    assert planner
    assert certifier


def test_the_core_of_the_kernel_imports_the_vocabulary_and_itself_only() -> None:
    """It can be read by itself: not even through others does it reach anything else."""
    modules = sources()
    core = [module for module in modules if below(module, CORE)]
    reached = set().union(*(reach(module, modules) for module in core))
    assert len(core) > 10
    assert {
        name for name in reached if not any(below(name, x) for x in (CORE, *VOCABULARY))
    } == set()


def test_no_two_folders_import_each_other() -> None:
    assert mutual_folders(sources()) == set()


def test_folders_that_import_each_other_are_seen() -> None:
    modules = {
        "dprelease.a": "",
        "dprelease.a.one": "from dprelease.b.two import x",
        "dprelease.b": "",
        "dprelease.b.two": "",
        "dprelease.b.three": "def late():\n    from dprelease.a import one",
    }
    assert mutual_folders(modules) == {("dprelease.a", "dprelease.b")}


def test_no_two_files_have_one_name() -> None:
    """A search by file name finds one."""
    names = Counter(file.name for file in FILES if file.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_folder_has_the_name_of_a_public_function() -> None:
    """Or the folder would take the function's place when it is imported."""
    folders = {name.split(".")[1] for name in sources() if name.count(".") > 1}
    assert folders & set(dprelease.__all__) == set()


def test_the_certifier_takes_only_the_type_of_a_shift() -> None:
    modules = sources()
    taken = {
        alias.name
        for module in reach(CERTIFIER, modules)
        for node in list_nodes(parse_source(modules[module]))
        if isinstance(node, ast.ImportFrom) and node.module == "dprelease.model.shift"
        for alias in node.names
    }
    assert taken
    assert taken <= COMMON_NAMES


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        (
            "dprelease.engines.late",
            "def draw():\n    from dprelease.kernel.core import entropy\n",
            "dprelease.engines.late imports dprelease.kernel.core.entropy",
        ),
        (
            "dprelease.reports.facts.release_facts",
            "if TYPE_CHECKING:\n    import dprelease.engines as e",
            "dprelease.reports.facts.release_facts imports dprelease.engines",
        ),
        (
            "dprelease.kernel.distributions.laws",
            "from ..core.sample import draw_each",
            "dprelease.kernel.distributions.laws imports dprelease.kernel.core.sample",
        ),
        (
            "dprelease.kernel.core.certify",
            "from dprelease.statistics.statistic_registry import statistic_of",
            "dprelease.kernel.core.certify imports dprelease.statistics.statistic_registry",
        ),
        ("dprelease.model", "import dprelease", "dprelease.model imports dprelease"),
        ("dprelease.utils", "", "dprelease.utils is in no layer"),
    ],
)
def test_a_bad_import_is_caught(module: str, source: str, complaint: str) -> None:
    others = dict.fromkeys(
        ("dprelease.kernel.core.entropy", "dprelease.kernel.core.sample",
         "dprelease.engines", "dprelease.statistics.statistic_registry"), "",
    )  # fmt: skip
    assert violations({**others, module: source}) == [complaint]


def test_reaching_through_a_third_module_is_seen() -> None:
    modules = {
        "dprelease.reports": "from dprelease.postprocess import number_text",
        "dprelease.postprocess.number_text": "def late():\n    import dprelease.engines",
        "dprelease.engines": "",
    }
    assert "dprelease.engines" in reach("dprelease.reports", modules)
