"""An HTML page taken apart, as far as tests ask."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dprelease.errors import Failure
from dprelease.ledger.identity import run_id
from dprelease.model import OutputTable, Plan
from dprelease.release.bundle import Publication
from dprelease.report_format import REPORT_FORMATS
from dprelease.reports.charts.svg import Chart
from dprelease.reports.contents import plan_document
from dprelease.reports.facts.approval import build_approval
from dprelease.reports.facts.release_facts import collect_plan_facts
from dprelease.reports.model.json_form import read_report_json, to_json
from dprelease.reports.renderers.html_page import render
from dprelease.reports.report_formats import render_report, require

LINKED_DATA = "application/ld+json"
REQUIRED = "DPRELEASE_REQUIRE_PDF"  # 1: a PDF that can't be made here is a failure


def no_pdf() -> str | None:
    """Why no PDF can be made here, if so."""
    try:
        require(["pdf"])
    except Failure as failure:
        return failure.complaints[0].message
    return None


NO_PDF = no_pdf()
needs_pdf = pytest.mark.skipif(
    NO_PDF is not None and os.environ.get(REQUIRED) != "1", reason=f"{NO_PDF}"
)
ALL_FORMATS = [
    pytest.param(name, marks=needs_pdf) if name == "pdf" else name
    for name, form in REPORT_FORMATS.items()
]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;{{ 7*7 }}\x00\u202e"
VOID = {"meta", "line", "rect", "circle", "path", "br", "link", "input", "img", "wbr"}


@dataclass
class Page(HTMLParser):
    """Tags with their attributes, texts, and what doesn't nest."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    unnested: list[str] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)  # of each open tag: said, or hidden, as a whole
    untold: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        is_told = attributes.get("aria-hidden") == "true" or (
            attributes.get("role") == "img" and bool(attributes.get("aria-label"))
        )
        self.untold += tag == "svg" and not (is_told or any(self.told))
        if tag not in VOID:
            self.open.append(tag)
            self.told.append(is_told)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if self.told:
            self.told.pop()
        if not self.open or self.open.pop() != tag:
            self.unnested.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    def all(self, *names: str) -> list[tuple[str, dict[str, str]]]:
        return [each for each in self.tags if each[0] in names]


def parse_page(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    return page


def find_problems(html: str) -> list[str]:
    """What is wrong with a page: nesting, ids, headings, alternatives, loads from elsewhere."""
    page, found = parse_page(html), []
    found += [f"</{tag}> closes something else" for tag in page.unnested]
    found += [f"<{tag}> is left open" for tag in page.open]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    found += [f"id {each} stands twice" for each in set(ids) if ids.count(each) > 1]
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            found += [
                f"no id {each}" for each in attributes.get(name, "").split() if each not in ids
            ]
        link = attributes.get("href", "")
        if link.startswith("#") and link[1:] not in ids:
            found.append(f"no place {link}")
        found += [f"loads {attributes[name]}" for name in ("src", "srcset") if name in attributes]
        found += [f"handler {name}" for name in attributes if name.startswith("on")]
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    if levels.count(1) != 1 or levels[:1] != [1]:
        found.append("not one h1, first")
    found += [
        f"h{after} after h{before}" for before, after in pairwise(levels) if after > before + 1
    ]
    found += ["a picture that is neither told as a whole nor hidden"] * page.untold
    for _, attributes in page.tags:
        if attributes.get("tabindex") == "0" and "scroll" not in attributes.get("class", ""):
            found.append("a stop for the keyboard where nothing scrolls")
    for name in ("main", "header", "nav", "footer"):
        if len(page.all(name)) != 1:
            found.append(f"not one {name}")
    unnamed = sum("aria-labelledby" not in attributes for _, attributes in page.all("table"))
    if len(page.all("caption")) < unnamed:
        found.append("a table without a caption or a heading")
    found += ["a heading of a table without a scope" for _, attributes in page.all("th")
              if attributes.get("scope") not in {"row", "col"}]  # fmt: skip
    found += [f"<{tag}>" for tag, _ in page.all("iframe", "link", "img", "object")]
    kinds = [attributes.get("type") for _, attributes in page.all("script")]
    if kinds != [LINKED_DATA] * len(kinds) or len(kinds) > 1:  # which no browser runs
        found.append("<script>")
    if re.search(r"url\(|@import", html):
        found.append("a style that loads something")
    return found


def render_html(report: Mapping[str, Any], tables: Mapping[str, OutputTable]) -> str:
    """The page of a report in JSON values."""
    return render_as(report, tables, "html").decode()


def render_as(report: Mapping[str, Any], tables: Mapping[str, OutputTable], form: str) -> bytes:
    """A report in JSON values, in a format."""
    (content,) = render_report(read_report_json(report), tables, [form]).values()
    return content


def shapes(chart: Chart, kind: str, style: str) -> list[ElementTree.Element]:
    """The shapes of a chart that have a style."""
    root = ElementTree.fromstring(chart.svg)
    return [each for each in root.iter(kind) if each.get("class") == style]


def list_texts(chart: Chart) -> list[str]:
    """All that is written in a chart, in the order of drawing."""
    return [each.text or "" for each in ElementTree.fromstring(chart.svg).iter("text")]


def read_points(path: ElementTree.Element) -> list[tuple[float, ...]]:
    """The corners of a path of straight lines."""
    return [tuple(map(float, pair.split())) for pair in path.attrib["d"].strip("MZ").split("L")]


def get_tables(made: Publication) -> dict[str, OutputTable]:
    """The published tables by file."""
    return {
        each["file"]: table for each, table in zip(made.report["tables"], made.tables, strict=True)
    }


def render_page(made: Publication, tables: Mapping[str, OutputTable] | None = None) -> str:
    """The page of a release, or of its facts with other tables."""
    return render_html(made.report, get_tables(made) if tables is None else tables)


def forge_report(folder: Path, content: bytes) -> None:
    """Write another report.json, and its hash where a release lists it."""
    (folder / "report.json").write_bytes(content)
    package = json.loads((folder / "datapackage.json").read_bytes())
    for each in package["resources"]:
        if each["path"] == "report.json":
            each["hash"] = f"sha256:{hashlib.sha256(content).hexdigest()}"
    (folder / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")


def write_files(publication: Publication, folder: Path) -> None:
    """Write the files of a release, and those of its charts in a folder of their own."""
    for name, content in publication.files.items():
        if isinstance(content, bytes):  # a file of records is a stream
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)


def describe_in_json(plan: Plan) -> dict[str, Any]:
    """What is known of a release before any data is opened, in JSON values."""
    facts: dict[str, Any] = to_json(collect_plan_facts(plan))
    return facts


def plan_page(plan: Plan) -> str:
    """The page of a plan for approval."""
    return render(
        plan_document(
            collect_plan_facts(plan), build_approval(plan, run_id(plan.release), None, None)
        )
    )
