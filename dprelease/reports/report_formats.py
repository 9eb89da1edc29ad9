"""The formats of a report: one line each, and one file that renders it.

The file has ``render(document, facts)``, which gives a text or bytes: the same document and facts
give the same. It may have ``prepare()``, which does beforehand what takes long, and refuses where
an extra is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dprelease.model import OutputTable
    from dprelease.reports.model.report_model import ReportFacts
    from dprelease.reports.sections.document import Document


class ReportFormat(NamedTuple):
    """A format by its name in a spec: its file, media type, module of this package, and mark.

    By the mark, a text near the beginning or at the end, a file of ours is known, which may be
    replaced. ``by_default``: it is written where a spec names no formats. ``extra``: it needs
    packages that are not always there.
    """

    name: str
    file: str
    media_type: str
    module: str
    mark: str
    by_default: bool = True
    extra: bool = False


_HTML_MARK = '<meta name="generator" content="dprelease">'
_MARKDOWN_MARK = "\nPrivacy report of a release of noisy statistics.\n"
_YAML_MARK = "\nurl_slug: "
_JSON_MARK = '\n  "schema": "dprelease/report/1",\n'
VEGA_LITE = "application/vnd.vegalite.v5+json"
_DCAT_MARK = '\n    "dcat": "http://www.w3.org/ns/dcat#",\n'
_PDF_MARK = "\n% report of dprelease\n"
FORMATS = {
    form.name: form
    for form in (
        ReportFormat("html", "report.html", "text/html", "html.html_page", _HTML_MARK),
        ReportFormat("md", "report.md", "text/markdown", "markdown.markdown_page", _MARKDOWN_MARK),
        ReportFormat("json", "report.json", "application/json", "model.json_form", _JSON_MARK),
        ReportFormat(
            "pdf", "report.pdf", "application/pdf", "pdf.pdf_page", _PDF_MARK, False, True
        ),
        ReportFormat(
            "registry",
            "registry.yaml",
            "application/yaml",
            "metadata.opendp_registry",
            _YAML_MARK,
            False,
        ),
        ReportFormat(
            "dcat", "dcat.jsonld", "application/ld+json", "metadata.dcat", _DCAT_MARK, False
        ),
    )
}
DEFAULT_FORMATS = tuple(form.name for form in FORMATS.values() if form.by_default)


def name_report_file(name: str) -> str:
    """Name the file of a format."""
    return FORMATS[name].file


def list_media_types(files: Iterable[str]) -> dict[str, str]:
    """Give the media type of each file: of a format, or of a chart beside a page."""
    types = {form.file: form.media_type for form in FORMATS.values()}
    return {file: types.get(file, VEGA_LITE) for file in files}


def render_report(
    facts: ReportFacts, tables: Mapping[str, OutputTable], names: Iterable[str]
) -> dict[str, bytes]:
    """Render a report in formats, by file; ``tables`` are the published ones by file name."""
    from dprelease.reports.sections.contents import build_report_document

    return _render(build_report_document(facts, tables), facts, names)


def render_with_charts(
    facts: ReportFacts, tables: Mapping[str, OutputTable], names: Sequence[str]
) -> dict[str, bytes]:
    """Render a report in formats; beside the HTML page stand its charts of figures in Vega-Lite."""
    import json

    from dprelease.language import say
    from dprelease.reports.sections.contents import build_report_document
    from dprelease.reports.sections.document import iter_charts

    document = build_report_document(facts, tables)
    files = _render(document, facts, names)
    for chart in iter_charts(document) if "html" in names else ():
        if chart.vega is not None:
            content = chart.vega.content
            if facts.rehearsal:
                content = {**content, "title": say("words.rehearsal_of", title=content["title"])}
            text = json.dumps(content, indent=1, ensure_ascii=False)
            files[chart.vega.file] = f"{text}\n".encode()
    return files


def _render(document: Document, facts: ReportFacts, names: Iterable[str]) -> dict[str, bytes]:
    files = {
        name_report_file(name): _import_renderer(name).render(document, facts) for name in names
    }
    return {
        file: text if isinstance(text, bytes) else text.encode() for file, text in files.items()
    }


def require(names: Iterable[str]) -> None:
    """Raise Failure (exit 2) where a format needs an extra that is missing."""
    for name in names:
        if FORMATS[name].extra:
            _import_renderer(name).prepare()


def prepare(names: Iterable[str]) -> None:
    """Import what formats need, and let them prepare, while there is time."""
    for name in names:
        getattr(_import_renderer(name), "prepare", bool)()


def is_rendered(text: str) -> bool:
    """Whether a text is a report or a page of ours, in whatever format."""
    return any(form.mark in f"\n{text[:4000]}\n{text[-100:]}" for form in FORMATS.values())


def _import_renderer(name: str) -> Any:
    return import_module(f"dprelease.reports.{FORMATS[name].module}")
