"""An entry for the registry of deployments of differential privacy, as YAML.

The registry (https://registry.opendp.org) takes one file for each deployment, with these fields
and no others: schemas/deployments-schema.yaml of its repository. A curator completes the entry:
what the spec doesn't say stands as "Not stated".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dprelease.report.facts.model import PrivacyUnit, ReportFacts
from dprelease.report.facts.record_words import error_of
from dprelease.report.numbers import written

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
UNSAID = "Not stated"


def render(_document: object, facts: ReportFacts) -> str:
    """Write the entry."""
    return "".join(f"{line}\n" for line in _lines(registry_entry(facts), 0))


def registry_entry(report: ReportFacts) -> dict[str, Any]:
    """State the release in the registry's terms."""
    deployment = report.deployment
    basic = deployment.basic
    curator = basic.data_curator or UNSAID
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", basic.name.lower()).strip("-") or "release",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(report, curator),
            "dp_variant": {
                "variant_name": "Pure DP" if deployment.dp_variant == "pure" else "Approximate DP",
                "data_domain": _domain(report),
                "unprotected_quantities": _list(report.not_protected),
            },
            "privacy_loss": _loss(report),
            "deployment_model": {
                **_model(deployment.model),
                "actors": _list(
                    [
                        f"Curator ({curator}): trusted with the private table.",
                        "Readers: see the published files only, and need not be trusted.",
                    ]
                ),
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": _list(report.processing),
                "composition": _composition(report),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _list(
                    [
                        "Bounds, groups and budgets were fixed in a spec before any data was read. "
                        "Their sources, as the curator states them:",
                        *_sources(report),
                        *report.bounding,
                    ]
                ),
                "mechanisms": _list(_mechanisms(report)),
            },
            "administrative": {"registry_authors": [curator]},
        },
    }


def _model(model: str) -> dict[str, str]:
    """Where noise is added. The registry has one name for each; of two it is the less private."""
    local = (
        "record by record. The curator held the true records: the trust is that of the local model "
        "for readers and keepers of the published table only."
    )
    if model == "local":
        return {"model_name": "Local", "model_name_details": f"Noise is added {local}"}
    if model == "central":
        return {"model_name": "Central"}
    return {
        "model_name": "Central",
        "model_name_details": "Noise is added to statistics, and in tables of records " + local,
    }


def _basic(report: ReportFacts, curator: str) -> dict[str, Any]:
    basic = report.deployment.basic
    sector = (basic.sector or "").capitalize()
    return {
        "name": basic.title,
        "data_curators": [curator],
        "intended_use": basic.intended_use or UNSAID,
        "data_product_type": _product(report),
        "data_product_region": basic.region or UNSAID,
        "description": " ".join(_described(report)),
        "publication_date": report.provenance.released_at[:10],
        **({"data_product_sector": sector} if sector in SECTORS else {}),
    }


def _product(report: ReportFacts) -> str:
    if not report.perturb:
        return "Summary statistics"
    return "Summary statistics and microdata" if report.queries else "Microdata"


def _described(report: ReportFacts) -> Iterator[str]:
    if report.queries:
        yield f"Statistics with noise: {_queries(report)}."
    for part in report.perturb:
        columns = ", ".join(column.name for column in part.columns)
        yield f"{part.name}: {part.rows:,} records, each perturbed on its own: {columns}."


def _queries(report: ReportFacts) -> str:
    return "; ".join(
        query.title + (f" by {', '.join(query.by)}" if query.by else "") for query in report.queries
    )


def _domain(report: ReportFacts) -> str:
    unit = report.deployment.privacy_unit
    columns = ", ".join(f"{column.name} ({column.type})" for column in report.columns)
    described = f", where a row stands for {unit.description}" if _rows(unit) else ""
    return f"Tables with the columns {columns}{described}."


def _rows(unit: PrivacyUnit) -> bool:
    return unit.unit_column is None and unit.description is not None


def _loss(report: ReportFacts) -> dict[str, Any]:
    deployment, accounting = report.deployment, report.accounting
    unit, loss = deployment.privacy_unit, deployment.privacy_loss
    named = "row" if unit.unit_column is None else f"value of {unit.unit_column}"
    parameters = {"epsilon": loss.epsilon}
    if loss.delta:
        parameters["delta"] = loss.delta
    return {
        "privacy_unit": unit.description or f"One {named}",
        "privacy_unit_details": report.guarantee,
        "privacy_parameters": parameters,
        **(
            {"privacy_parameters_details": f"rho = {written(loss.rho)} (zero-concentrated)."}
            if accounting.method == "zcdp" and loss.rho is not None
            else {}
        ),
    }


def _composition(report: ReportFacts) -> str:
    spent, ledger = report.accounting, report.ledger
    return (
        f"Composition: {spent.method}; {_parts(report)}. By plain addition "
        f"epsilon would be {written(spent.basic_epsilon)}. A ledger adds up all releases of the "
        f"dataset: epsilon {written(ledger.before.epsilon)} before this release, "
        f"{written(ledger.after.epsilon)} after it."
    )


def _parts(report: ReportFacts) -> str:
    cells = ["the cells of a table are disjoint"] if report.queries else []
    if report.perturb:
        cells.append("the answers about one unit in a record-level table add up")
    return ", and ".join(cells)


def _sources(report: ReportFacts) -> Iterator[str]:
    for column in report.columns:
        if column.source:
            yield f"{column.name}: {column.source}"


def _mechanisms(report: ReportFacts) -> Iterator[str]:
    yield from report.deployment.implementation.mechanisms
    for query in report.queries:
        shares = query.shares
        cost = f"epsilon {written(query.epsilon)}"
        if shares is not None and shares.release != query.name:
            cost = f"read from the release of {shares.release} at no further cost"
        yield (
            f"{query.name}: {query.title}, {query.mechanism}, {cost}, "
            f"{query.sensitivity.derivation}"
        )
    for part in report.perturb:
        for column in part.columns:
            cost = f"epsilon {written(column.epsilon)}"
            if column.delta:
                cost += f", delta {written(column.delta)}"
            yield (
                f"{part.name}.{column.name}: {column.mechanism}, {cost} for one answer, "
                f"expected error {error_of(column, column.error.expected)}, least possible "
                f"{error_of(column, column.error.floor)}. {' '.join(column.explained)}"
            )
    yield "Floating point: integer noise on a public grid, integer sums."
    version = report.provenance.versions.get("dprelease")
    yield f"Tool: dprelease{f' {version}' if version else ''}"


def _list(lines: Sequence[str] | Iterator[str]) -> str:
    """Write sentences as a list of Markdown, which the registry shows texts as."""
    return "\n".join(f"- {_escaped(' '.join(line.split()))}" for line in lines)


def _escaped(line: str) -> str:
    return re.sub(r"[\\`<>$]", r"\\\g<0>", line)


def _lines(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Write nested mappings as YAML; every text is quoted as in JSON, which YAML 1.2 includes."""
    margin = "  " * depth
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield f"{margin}{key}:"
            yield from _lines(each, depth + 1)
        elif isinstance(each, list):
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {_scalar(item)}" for item in each)
        else:
            yield f"{margin}{key}: {_scalar(each)}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        # ASCII: no character that a reader of YAML might refuse
        return "".join(_character(each) for each in value).join('""')
    if isinstance(value, float):
        # 1e-05 is a text to readers of YAML 1.1: they want the dot
        mantissa, mark, exponent = repr(value).partition("e")
        return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"
    return json.dumps(value)


def _character(each: str) -> str:
    """Write a character between quotes: JSON's notation, but for what YAML has one of its own."""
    return f"\\U{ord(each):08x}" if ord(each) > 0xFFFF else json.dumps(each)[1:-1]
