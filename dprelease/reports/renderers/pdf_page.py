"""The report as a PDF: the HTML page, laid out on A4 by WeasyPrint.

The page's own style sheet says how paper looks. The one beside this file says what is different
here: page numbers, the run on each page, and no word that is broken. Nothing is loaded, and the
same report gives the same bytes on a machine with the same fonts and versions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.renderers.html_page import LOOKS
from dprelease.reports.renderers.html_page import render as render_html

if TYPE_CHECKING:
    from dprelease.reports.model.report_model import ReportFacts
    from dprelease.reports.sections.document import Document

_VARIABLE = re.compile(r"(--[\w-]+)\s*:\s*([^;}]+)")
_USE = re.compile(r"var\((--[\w-]+)\)")
_SVG = re.compile(r"<svg\b[^>]*>")
_DRAWING = re.compile(r'(<svg viewBox="0 0 (\S+) (\S+)">)(.*?</svg>)', re.DOTALL)
_TEXT = re.compile(
    r'<text class="([^"]*)" x="([^"]*)" y="([^"]*)"(?: text-anchor="(\w+)")?>([^<]*)</text>'
)
_SHAPED = re.compile(
    "[\u0300-\u036f\u0590-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff"
    "\u3099\u309a\ua800-\uabff\ud7b0-\ud7ff\ufb1d-\ufeff\U00010000-\U0001ffff]"
)
_CELL = re.compile(r"(?<=<t[dh])\b.*?(?=</t[dh]>)", re.DOTALL)
_WHOLE = re.compile(r"(<[^>]*>|^[^>]*>|\b[0-9a-f]{64}\b)")
_HASH = re.compile(r"\b[0-9a-f]{64}\b(?![^<]*>)")
_LONG = re.compile(r"[^\s&;]{40}(?=[^\s&;]{24})")


def prepare() -> None:
    """Import what takes long. Raises Failure (exit 2) unless this machine can make a PDF."""
    _import_weasyprint()


def render(document: Document, facts: ReportFacts) -> bytes:
    """Render a document. Raises Failure (exit 2) where the extra is missing."""
    weasyprint = _import_weasyprint()
    pdf_looks = (LOOKS / "pdf.css").read_text(encoding="utf-8")
    page = render_html(document).replace("</style>", f"{pdf_looks}\n</style>", 1)
    chart_looks = f"<style>{_chart_looks()}</style>"
    page = _DRAWING.sub(_adapt_drawing, _CELL.sub(_break_cell, page))
    page = _SVG.sub(lambda svg: svg[0] + chart_looks, page)
    # The style sheet writes the run on each sheet, and takes no tags.
    head, style_end, body = page.partition("</style>")
    page = head + style_end + _HASH.sub(r'<span class="hash">\g<0></span>', body)
    content: bytes = weasyprint.HTML(string=page, url_fetcher=_load_nothing).write_pdf(
        pdf_identifier=facts.provenance.run_id.encode(), pdf_tags=True
    )
    return content + REPORT_FORMATS["pdf"].marks[0].encode()


def _import_weasyprint() -> Any:
    try:
        import weasyprint
    except (ImportError, OSError):  # OSError: Pango, which is no Python package
        raise Failure(
            ExitCode.SPEC,
            Complaint(
                "E824",
                "a report as PDF needs WeasyPrint and Pango, which are not completely installed",
                key="report.formats",
            ),
        ) from None
    return weasyprint


def _load_nothing(url: str, *_: object, **__: object) -> NoReturn:
    raise ValueError(f"a report loads nothing: {url[:80]}")


def _adapt_drawing(drawing: re.Match[str]) -> str:
    """Move letters that join or run to the left from a drawing into HTML above it."""
    # WeasyPrint sets the letters of an SVG one by one, from the left.
    start, width, height, inside = drawing.groups()
    labels: list[str] = []

    def lift(text: re.Match[str]) -> str:
        style, x, y, anchor, label = text.groups()
        if not _SHAPED.search(label):
            return text[0]
        place = f"left: {_write_percent(x, width)}; top: {_write_percent(y, height)}"
        labels.append(f'<span class="{style} {anchor or ""}" style="{place}">{label}</span>')
        return ""

    inside = _TEXT.sub(lift, inside)
    if not labels:
        return drawing[0]
    return f'<div class="drawn">{start}{inside}{"".join(labels)}</div>'


def _write_percent(part: str, whole: str) -> str:
    return f"{100 * float(part) / float(whole):.2f}%"


def _break_cell(cell: re.Match[str]) -> str:
    """Let a cell end its lines after underscores, and in a word that is longer than any hash."""
    parts = _WHOLE.split(cell[0])
    for place in range(0, len(parts), 2):  # what stands between tags and hashes
        parts[place] = _LONG.sub(r"\g<0><wbr>", parts[place]).replace("_", "_<wbr>")
    return "".join(parts)


def _chart_looks() -> str:
    """Return the looks of charts: an SVG has its own style sheet here, which knows no variables."""
    css = (LOOKS / "report.css").read_text(encoding="utf-8")
    screen, _, paper = css.partition("@media print {")
    colours = dict(_VARIABLE.findall(screen.partition("@media")[0])) | dict(
        _VARIABLE.findall(paper)
    )
    return _USE.sub(lambda use: colours.get(use[1], "#000000").strip(), screen)
