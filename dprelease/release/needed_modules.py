"""Modules that a run needs after the charge, imported before it.

A module is a file: one that can't be read, on a failing disk or in a damaged installation, must be
found out before the budget is charged and before noise is drawn. Only libraries that some data
needs, such as pyarrow for a CSV file with odd lines, are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from dprelease.model import Plan

_FOR_ALL = (
    "dprelease.engines.csv.multiline",
    "dprelease.engines.csv.reader",
    "dprelease.engines.duckdb.execute",
    "dprelease.finishing.agreement",
    "dprelease.finishing.projection",
    "dprelease.kernel.noise.additive",
    "dprelease.kernel.noise.selection",
    "dprelease.kernel.privatize.choices",
    "dprelease.kernel.privatize.mixed_cells",
    "dprelease.mechanisms.quantile_error",
    "dprelease.report.charts",
    "dprelease.report.combine",
    "dprelease.report.dcat",
    "dprelease.report.html.page",
    "dprelease.report.markdown.page",
    "dprelease.report.sections",
    "numpy.fft",
    "statistics",
)
_FOR_RECORDS = (
    "dprelease.engines.duckdb.record_codes",
    "dprelease.files.prefetch",
    "dprelease.kernel.noise.local",
    "dprelease.kernel.privatize.record_tables",
    "dprelease.local.estimates",
    "dprelease.local.read_table",
    "dprelease.release.record_tables",
    "dprelease.report.facts.record_level.tables",
)


def load_modules(plan: Plan) -> None:
    """Import what a run of the plan needs after its charge."""
    for name in (*_FOR_ALL, *(_FOR_RECORDS if plan.records else ())):
        for module in _with_modules(name):
            import_module(module)


def _with_modules(name: str) -> Iterator[str]:
    """The module, and those inside of it if it is a package of ours."""
    yield name
    if name.startswith("dprelease."):
        inside = getattr(import_module(name), "__path__", ())
        yield from (f"{name}.{module.name}" for module in iter_modules(inside))
