"""Modules and sentences that a run needs after the charge, read before it.

A module is a file: one that can't be read, on a failing disk or in a damaged installation, must be
found out before the budget is charged and before noise is drawn. Only libraries that some data
needs, such as pyarrow for a CSV file with odd lines, are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from dprelease.language import load_catalogue
from dprelease.model import Form, Plan

_FOR_ALL = (
    "dprelease.sources.csv.multiline",
    "dprelease.sources.csv.csv_reader",
    "dprelease.engines.duckdb.execute",
    "dprelease.kernel.chapters.many_draws",
    "dprelease.reports.charts",
    "dprelease.combination",
    "dprelease.reports.renderers.dcat",
    "dprelease.reports.renderers.facts_label_svg",
    "dprelease.reports.renderers.html_page",
    "dprelease.reports.renderers.markdown_page",
    "dprelease.reports.contents",
    "dprelease.reports.sections",
    "numpy.fft",
    "statistics",
)
_FOR_CHOICES = ("dprelease.kernel.chapters.choices", "dprelease.mechanisms.quantile_error")
_FOR_PRIVATE_KEYS = ("dprelease.kernel.chapters.private_keys",)
_FOR_MIXED_CELLS = ("dprelease.kernel.chapters.strategies.mixed_cells",)
_FOR_ADJUSTED_FIGURES = (
    "dprelease.postprocess.finishing.agreement",
    "dprelease.postprocess.finishing.projection",
)
_FOR_RECORDS = (
    "dprelease.engines.duckdb.record_codes",
    "dprelease.files.prefetch",
    "dprelease.kernel.chapters.record_tables",
    "dprelease.local.record_release",
    "dprelease.local.report",
    "dprelease.local.store.read_table",
)


def load_modules(plan: Plan) -> None:
    """Import what a run of the plan needs after its charge, and read its catalogue."""
    for name in _iter_needed(plan):
        module = import_module(name)
        if name.startswith("dprelease."):  # a package of ours with all modules inside of it
            for inside in iter_modules(getattr(module, "__path__", ())):
                import_module(f"{name}.{inside.name}")
    load_catalogue(plan.release.report_language)


def _iter_needed(plan: Plan) -> Iterator[str]:
    """Name the modules that every run needs, and those that this plan needs."""
    # Loading is most of a small run, so other plans' modules are left out.
    yield from _FOR_ALL
    if any(step.form is not Form.NUMBERS for step in plan.steps):
        yield from _FOR_CHOICES
    if any(step.query.private for step in plan.steps):
        yield from _FOR_PRIVATE_KEYS
    if any(step.axes for step in plan.steps):
        yield from _FOR_MIXED_CELLS
    if any(read.query.finish.is_adjusted for read in plan.reads):
        yield from _FOR_ADJUSTED_FIGURES
    if plan.records:
        yield from _FOR_RECORDS
