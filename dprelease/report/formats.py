"""The renderers by the name of their format. The same facts and tables give the same bytes."""

from __future__ import annotations

import json

from dprelease.report.markdown.page import render as render_markdown
from dprelease.report.public import PublicReport

FILES = {
    "html": "report.html",
    "md": "report.md",
    "json": "report.json",
    "registry": "registry.yaml",
}
FORMATS = tuple(FILES)


def file_of(form: str) -> str:
    """Name the file of a format."""
    return FILES[form]


def render(public: PublicReport, form: str) -> bytes:
    """Render a report in one of ``FORMATS``."""
    return _text(public, form).encode()


def _text(public: PublicReport, form: str) -> str:
    if form == "html":
        from dprelease.report.html.page import render_html

        return render_html(public)
    if form == "registry":
        from dprelease.report.opendp_registry import registry_yaml

        return registry_yaml(public.facts)
    if form == "json":
        return json.dumps(public.facts, indent=2, ensure_ascii=False) + "\n"
    return render_markdown(public.facts, public.tables)


def ready() -> None:
    """Import and compile what HTML needs, while there is time."""
    from dprelease.report.html.page import ready_template

    ready_template()
