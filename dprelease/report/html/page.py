"""The report as one HTML file: no network, no script; light, dark and paper.

A document is laid out by ``page.html.j2`` and ``parts.html.j2``, with the looks of ``report.css``;
they word nothing but the way to the report. Every text is escaped on its way into them, and charts
escape theirs (``charts.svg``).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from dprelease.report.document import Cell, Document, Status
from dprelease.report.numbers import written

if TYPE_CHECKING:
    from dprelease.report.facts.model import PlanFacts

PAGE = Path(__file__).with_name("templates")
_CODE = re.compile(r"`([^`]*)`")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render(document: Document, _facts: PlanFacts | None = None) -> str:
    """Render a document."""
    names = {section.name for section in document.sections}
    page = _template().render(
        document=document,
        css=_css("report.css"),
        records_css=_css("records.css") if "records" in names else "",
    )
    return page + "\n"


def prepare() -> None:
    """Read and compile the frame, which takes longer than to fill it."""
    _template()
    for name in ("report.css", "records.css"):
        _css(name)


def _text(value: Cell) -> str:
    """Clean a text, write a number for people, and - for nothing; what is escaped stays so."""
    if value is None:
        return "-"
    if isinstance(value, Status):
        return Markup('<span class="status {0}">{0}</span>').format(_text(value.text))
    if isinstance(value, Markup):
        return value
    return _CONTROL.sub("\ufffd", value) if isinstance(value, str) else written(value)


def _code(text: str) -> Markup:
    """Escape a sentence of ours, and set what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_text(text)))))  # noqa: S704 - escaped


def _breakable(name: str) -> Markup:
    """Escape a name that may be broken after each underscore."""
    return escape(_text(name)).replace("_", Markup("_<wbr>"))


@cache
def _css(name: str) -> Markup:
    lines = (PAGE / name).read_text(encoding="utf-8").splitlines()
    return Markup("\n".join(line.strip() for line in lines if line.strip()))  # noqa: S704 - ours


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_text,
        auto_reload=False,
    )
    environment.filters |= {
        "kind": lambda part: type(part).__name__,
        "code": _code,
        "breakable": _breakable,
    }
    environment.get_template("parts.html.j2")  # compiled now, as the page needs it later
    return environment.get_template("page.html.j2")
