"""Render a report in the formats of ``dprelease.report_format``.

Each format has one module with ``render(document, facts)``, which returns a text or bytes; one that
has the figures alone has ``render_tables(facts, tables)`` instead. The
same document and facts must give the same bytes: a report is rendered again from its files. The
module may have ``prepare()``, which does beforehand what takes long, and raises Failure (exit code
2) if the packages of an extra are missing. ``require`` calls it before the budget is charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dprelease.report_format import REPORT_FORMATS

if TYPE_CHECKING:
    from dprelease.model import OutputTable
    from dprelease.reports.model.report_model import ReportFacts
    from dprelease.reports.sections.document import Document


VEGA_LITE = "application/vnd.vegalite.v5+json"


def name_report_file(name: str) -> str:
    """Name the file of a format, a key of ``REPORT_FORMATS``, in the output folder."""
    return REPORT_FORMATS[name].file


def list_media_types(files: Iterable[str]) -> dict[str, str]:
    """List the media types of report files and charts; a file of no format is a chart."""
    from dprelease.reports.renderers.facts_label_svg import MEDIA_TYPE
    from dprelease.reports.sections.overview_section import LABEL_FILE

    types = {form.file: form.media_type for form in REPORT_FORMATS.values()}
    types[LABEL_FILE] = MEDIA_TYPE
    return {file: types.get(file, VEGA_LITE) for file in files}


def render_report(
    facts: ReportFacts, tables: Mapping[str, OutputTable], names: Iterable[str]
) -> dict[str, bytes]:
    """Render a report in formats, by file; ``tables`` are the published ones by file name."""
    from dprelease.reports.contents import build_report_document

    return _render(build_report_document(facts, tables), facts, tables, names)


def render_with_charts(
    facts: ReportFacts, tables: Mapping[str, OutputTable], names: Sequence[str]
) -> dict[str, bytes]:
    """Render a report in formats; beside the HTML page stand its charts and its label.

    The charts are in Vega-Lite, the label of privacy facts is a picture.

    Args:
        facts: The report.
        tables: The published tables by file name.
        names: Keys of ``REPORT_FORMATS``.

    Returns:
        Contents by file name.
    """
    import json

    from dprelease.language import say
    from dprelease.reports.contents import build_report_document
    from dprelease.reports.renderers.facts_label_svg import render_label
    from dprelease.reports.sections.document import iter_charts
    from dprelease.reports.sections.overview_section import LABEL_FILE, build_facts_label

    document = build_report_document(facts, tables)
    files = _render(document, facts, tables, names)
    if "html" in names and not facts.rehearsal:
        files[LABEL_FILE] = render_label(build_facts_label(facts)).encode()
    for chart in iter_charts(document) if "html" in names else ():
        if chart.vega is not None:
            content = chart.vega.content
            if facts.rehearsal:
                content = {**content, "title": say("words.rehearsal_of", title=content["title"])}
            text = json.dumps(content, indent=1, ensure_ascii=False)
            files[chart.vega.file] = f"{text}\n".encode()
    return files


def _render(
    document: Document,
    facts: ReportFacts,
    tables: Mapping[str, OutputTable],
    names: Iterable[str],
) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in names:
        renderer = _import_renderer(name)
        of_tables = REPORT_FORMATS[name].of_tables
        text = (
            renderer.render_tables(facts, tables) if of_tables else renderer.render(document, facts)
        )
        files[name_report_file(name)] = text if isinstance(text, bytes) else text.encode()
    return files


def require(names: Iterable[str]) -> None:
    """Check that the extras of formats are installed.

    Raises:
        Failure: Exit code 2, if one is missing.
    """
    for name in names:
        if REPORT_FORMATS[name].extra:
            _import_renderer(name).prepare()


def prepare(names: Iterable[str]) -> None:
    """Import what formats need, and let them prepare, before noise is drawn."""
    for name in names:
        getattr(_import_renderer(name), "prepare", bool)()


def is_rendered(text: str) -> bool:
    """Check for the mark of a file that a renderer wrote: such a file may be replaced."""
    ends = f"\n{text[:4000]}\n{text[-100:]}"
    return any(mark in ends for form in REPORT_FORMATS.values() for mark in form.marks)


def _import_renderer(name: str) -> Any:
    return import_module(f"dprelease.reports.{REPORT_FORMATS[name].module}")
