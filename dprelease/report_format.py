"""The formats of a report: one line each.

A spec names them, a command offers them and the report renders them, so they are vocabulary.
They are not in ``dprelease.model``, which imports msgspec: ``dprelease report --help`` lists them
and must start quickly.
"""

from __future__ import annotations

from typing import NamedTuple


class ReportFormat(NamedTuple):
    """A format of a report.

    Attributes:
        name: The name by which a spec asks for it.
        file: The name of the file in the output folder.
        media_type: The media type that the data package and DCAT state.
        module: The module that renders it, below ``dprelease.reports``.
        mark: A text in the first 4000 or the last 100 characters of every such file. A file
            with a mark is known as written by dprelease, and may be replaced.
        by_default: True if it is written where a spec names no formats.
        extra: True if it needs packages of an extra.
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
_DCAT_MARK = '\n    "dcat": "http://www.w3.org/ns/dcat#",\n'
_PDF_MARK = "\n% report of dprelease\n"
REPORT_FORMATS = {
    form.name: form
    for form in (
        ReportFormat("html", "report.html", "text/html", "renderers.html_page", _HTML_MARK),
        ReportFormat("md", "report.md", "text/markdown", "renderers.markdown_page", _MARKDOWN_MARK),
        ReportFormat("json", "report.json", "application/json", "model.json_form", _JSON_MARK),
        ReportFormat(
            "pdf", "report.pdf", "application/pdf", "renderers.pdf_page", _PDF_MARK, False, True
        ),
        ReportFormat(
            "registry",
            "registry.yaml",
            "application/yaml",
            "renderers.opendp_registry",
            _YAML_MARK,
            False,
        ),
        ReportFormat(
            "dcat", "dcat.jsonld", "application/ld+json", "renderers.dcat", _DCAT_MARK, False
        ),
    )
}
DEFAULT_REPORT_FORMATS = tuple(form.name for form in REPORT_FORMATS.values() if form.by_default)
