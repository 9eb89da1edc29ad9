"""The report as one HTML file: no network, no script; light, dark and paper; plain words first.

Layout is in ``page/report.html.j2`` and ``page/report.css``; this module says what stands in it.
Jinja escapes every text, and pictures escape theirs (``charts.drawing``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprelease.report.charts.beliefs import band_chart, people_chart, percent
from dprelease.report.charts.budget import budget_chart, ledger_chart, spending_chart
from dprelease.report.charts.noises import dots_chart, error_chart
from dprelease.report.facts.release_facts import HEAD, held_rows, list_rows
from dprelease.report.html.rows import (
    accounting_rows,
    column_rows,
    data_rows,
    provenance_rows,
    query_rows,
)
from dprelease.report.html.tables import shown_tables
from dprelease.report.markdown.review import costs, statistic_words
from dprelease.report.numbers import shortened, written
from dprelease.report.public import PublicReport
from dprelease.report.sections.how_to_read import errata_words, reading_words

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from dprelease.report.charts.drawing import Chart
    from dprelease.report.html.local_tables import RecordsSection

Facts = Mapping[str, Any]

PAGE = Path(__file__).with_name("templates")
_CODE = re.compile(r"`([^`]*)`")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render_html(public: PublicReport) -> str:
    """Render the report of a release."""
    report = public.facts
    level = float(report["provenance"]["interval"]) * 100
    tables, left_out = shown_tables(public.tables, level)
    ledger = report["ledger"]
    return _page(
        report,
        level,
        released=True,
        tables=tables,
        left_out=left_out,
        reading=list(reading_words(report)) if report["queries"] else [],
        errata=list(errata_words(report)),
        ledger_charts=_drawn(ledger_chart(ledger), spending_chart(ledger)),
        ledger=ledger,
        provenance=provenance_rows(report),
        notes=[*report["notes"], *report["warnings"]],
    )


def render_plan_html(facts: Facts, described: Facts) -> str:
    """Render a plan for approval: all of a report that needs no data.

    ``facts`` are those of ``facts.planned_facts``, ``described`` those of ``plan.describe``, with
    the ledger as it stands.
    """
    ledger = _as_it_stands(described.get("ledger"))
    return _page(
        facts,
        float(described["interval"]) * 100,
        released=False,
        tables=[],
        left_out=0,
        reading=[],
        errata=[],
        ledger_charts=_drawn(ledger_chart(ledger)) if ledger else [],
        ledger=ledger,
        provenance=([("digest of the plan", described["digest"])] if "digest" in described else [])
        + held_rows(described["approval"]["holds"]),
        left_open=described["approval"]["leaves_open"],
        notes=[*described["notes"], *(each["message"] for each in described["warnings"])],
    )


def _as_it_stands(standing: Facts | None) -> Facts | None:
    """The ledger before a run and after it, as a report tells it."""
    if standing is None:
        return None
    composed = standing["composed"]
    return {
        **{
            name: {"epsilon": standing[f"epsilon_{when}"], "delta": standing[f"delta_{when}"]}
            for name, when in (("before", "spent"), ("after", "after"))
        },
        "composed": {"before": composed["now"], "after": composed["after"]},
        "cap": {"epsilon": standing["epsilon_cap"], "delta": standing["delta_cap"]},
    }


def _page(report: Facts, level: float, **more: Any) -> str:
    meaning = report["meaning"]
    return (
        _template().render(
            report=report,
            level=f"{level:g}",
            css=_css("report.css"),
            records_css=_css("records.css"),
            odds=_odds(float(meaning["beliefs"][0]["epsilon"])),
            basics=list(_basics(report)),
            people=[people_chart(table, at) for at, table in enumerate(meaning["beliefs"], 1)],
            band=band_chart(meaning["beliefs"]),
            groups=[
                (row["units"], written(row["epsilon"]), written(shortened(row["delta"])))
                for row in meaning["groups"]
            ],
            budget=budget_chart(report["queries"], report["accounting"], report.get("perturb", ())),
            costs=" ".join(costs(report)),
            records=_records(report, f"{level:g}"),
            noise_charts=_drawn(
                dots_chart(report["queries"], level),
                error_chart(
                    report["queries"],
                    report["columns"],
                    "people" if meaning["of"] == "person" else "rows",
                ),
            ),
            queries=query_rows(report),
            details=[
                (query["name"], statistic_words(query), list(_detail(query)), query["explained"])
                for query in report["queries"]
            ],
            accounting=accounting_rows(report, more["ledger"]),
            columns=column_rows(report),
            lists=list_rows(report),
            list_head=HEAD,
            data=data_rows(report),
            statuses=_statuses(report),
            **more,
        )
        + "\n"
    )


def _records(report: Facts, level: str) -> RecordsSection | None:
    if "perturb" not in report:
        return None
    # Imported here for start-up: most releases have no table of records.
    from dprelease.report.html.local_tables import records_section

    return records_section(report, level)


def _drawn(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]


def _odds(epsilon: float) -> str:
    """Write e^epsilon, by how much odds can change."""
    return written(shortened(math.exp(min(epsilon, 700.0)), 3))


def _basics(report: Facts) -> Iterator[tuple[str, object]]:
    basic = report["deployment"]["basic"]
    for label, key in (
        ("Release", "name"),
        ("Curator", "data_curator"),
        ("Contact", "contact"),
        ("Purpose", "intended_use"),
        ("Region", "region"),
        ("Sector", "sector"),
        ("Approved by", "approved_by"),
    ):
        if basic[key]:
            yield label, basic[key]
    if "provenance" in report:
        at = str(report["provenance"]["released_at"]).replace("T", " ").replace("+00:00", " UTC")
        yield "Released at", at


def _detail(query: Facts) -> Iterator[tuple[str, object]]:
    """List the mathematics of a query."""
    known = query["sensitivity"]
    if query["where"]:
        yield "condition", query["where"]
    yield "mechanism", query["mechanism"]
    yield "sensitivity", _sensitivity(known)
    yield "because", known["derivation"]
    yield "scale of the noise", written(query["scale"])
    yield "granularity", written(query["granularity"])
    if query["denominator"]:
        yield "scale of the denominator", written(query["denominator"]["scale"])
    yield "expected error", query["expected_error"]
    yield "epsilon, exactly", query["epsilon_exact"]
    if query["delta"]:
        yield "delta", written(query["delta"])
    if query["rho"] is not None:
        yield "rho", written(query["rho"])
    if query["accuracy"]:
        target = query["accuracy"]
        yield "asked for", f"± {written(target['within'])} with {target['confidence']} certainty"
    if query["threshold"]:
        yield "shown from a noisy count of", f"{query['threshold']['at_least']:,}"


def _sensitivity(known: Facts) -> str:
    if known["l2"] is None:
        moved = {"score": "by which a score moves", "rows": "values"}.get(known["of"], "")
        return f"{written(known['l1'])} {moved}".strip()
    return f"L1 {written(known['l1'])}, L2 {written(known['l2'])}"


def _statuses(report: Facts) -> list[tuple[str, int]]:
    said = [row["status"] for row in report["hazards"]]
    return [(status, said.count(status)) for status in ("pass", "attention", "attested")]


def ready_template() -> None:
    """Read and compile all of the page, which takes longer than to fill it."""
    _template().environment.get_template("records.html.j2")
    for name in ("report.css", "records.css"):
        _css(name)


@cache
def _css(name: str) -> Markup:
    from markupsafe import Markup

    lines = (PAGE / name).read_text(encoding="utf-8").splitlines()
    return Markup("\n".join(line.strip() for line in lines if line.strip()))  # noqa: S704 - ours


@cache
def _template() -> Template:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(lambda name: (PAGE / name).read_text(encoding="utf-8")),
        finalize=_printable,
    )
    environment.filters |= {
        "breakable": _breakable,
        "code": _code,
        "picture": _picture,
        "percent": percent,
        "shortened": lambda value: written(shortened(value, 2)),
    }
    return environment.get_template("report.html.j2")


def _printable(value: object) -> object:
    """Take out what no HTML document may hold, write numbers for people, and - for nothing."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return type(value)(_CONTROL.sub("\ufffd", value))
    if isinstance(value, int | float):
        return written(value)
    return value


def _code(said: str) -> Markup:
    """Escape a sentence of ours, and set what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(said))))  # noqa: S704 - escaped


def _breakable(name: str) -> Markup:
    """Escape a name of a column, which may go on in the next line after an underscore."""
    from markupsafe import Markup, escape

    return Markup(str(escape(name)).replace("_", "_<wbr>"))  # noqa: S704 - escaped


def _picture(chart: Chart) -> Markup:
    """Trust a picture of ours: its texts are escaped as it is drawn."""
    from markupsafe import Markup

    return Markup(chart.svg)  # noqa: S704 - see above
