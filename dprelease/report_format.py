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
        marks: Texts of which one is in the first 4000 or the last 100 characters of every such
            file, in whatever language, and in no file of another format. A file with a mark is
            known as written by dprelease, and may be replaced.
        by_default: True if it is written where a spec names no formats.
        extra: True if it needs packages of an extra.
        of_tables: True if it has the figures alone: [output] asks for it, not [report].
    """

    name: str
    file: str
    media_type: str
    module: str
    marks: tuple[str, ...]
    by_default: bool = True
    extra: bool = False
    of_tables: bool = False


_HTML_MARKS = ('<meta name="generator" content="dprelease">',)
# The first sentence of a report, in each language, now and in files of older versions.
_MARKDOWN_MARKS = (
    "\nPrivacy report of a release of noisy statistics.\n",
    "\nBegleitbericht zum Datenschutz bei einer Veröffentlichung verrauschter Statistiken.\n",
    "\nDatenschutzbericht einer Veröffentlichung verrauschter Statistiken.\n",
    "\nRapport de confidentialité d'une publication de statistiques bruitées.\n",
)
_YAML_MARKS = ("\nurl_slug: ",)
_JSON_MARKS = ('\n  "schema": "dprelease/report/1",\n',)
_DCAT_MARKS = ('\n    "dcat": "http://www.w3.org/ns/dcat#",\n',)
_PDF_MARKS = ("\n% report of dprelease\n",)
_WORKBOOK_MARKS = ("\nworkbook of dprelease\n",)
_LONG_MARKS = ("\ntable,keys,figure,value,low,high,flag\n",)
REPORT_FORMATS = {
    form.name: form
    for form in (
        ReportFormat("html", "report.html", "text/html", "renderers.html_page", _HTML_MARKS),
        ReportFormat(
            "md", "report.md", "text/markdown", "renderers.markdown_page", _MARKDOWN_MARKS
        ),
        ReportFormat("json", "report.json", "application/json", "model.json_form", _JSON_MARKS),
        ReportFormat(
            "pdf", "report.pdf", "application/pdf", "renderers.pdf_page", _PDF_MARKS, False, True
        ),
        ReportFormat(
            "registry",
            "registry.yaml",
            "application/yaml",
            "renderers.opendp_registry",
            _YAML_MARKS,
            False,
        ),
        ReportFormat(
            "dcat", "dcat.jsonld", "application/ld+json", "renderers.dcat", _DCAT_MARKS, False
        ),
        ReportFormat(
            "xlsx",
            "tables.xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "renderers.tables_workbook",
            _WORKBOOK_MARKS,
            by_default=False,
            extra=True,
            of_tables=True,
        ),
        ReportFormat(
            "long",
            "all-figures.csv",
            "text/csv",
            "renderers.long_table",
            _LONG_MARKS,
            by_default=False,
            of_tables=True,
        ),
    )
}
DEFAULT_REPORT_FORMATS = tuple(form.name for form in REPORT_FORMATS.values() if form.by_default)


def list_stated_formats() -> tuple[str, ...]:
    """List the formats that ``[report] formats`` may name."""
    return tuple(form.name for form in REPORT_FORMATS.values() if not form.of_tables)
