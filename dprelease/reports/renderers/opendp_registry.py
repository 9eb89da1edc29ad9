"""An entry for the registry of deployments of differential privacy, as YAML.

The registry (https://registry.opendp.org) takes one file for each deployment, with these fields
and no others, and has lists of words for some of them: schemas/deployments-schema.yaml of its
repository. A curator completes the entry: what the spec doesn't say stands as "Not stated".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dprelease.local.report.record_wording import format_expected_errors
from dprelease.model.release import SECTORS
from dprelease.reports.model.report_model import ReportFacts
from dprelease.reports.text.shown_numbers import format_number
from dprelease.reports.text.spec_words import write_title

UNSAID = "Not stated"
_LOCAL = (
    "record by record. The curator held the true records: the trust is that of the local model "
    "for readers and keepers of the published table only."
)
MODELS = {
    "local": {"model_name": "Local", "model_name_details": f"Noise is added {_LOCAL}"},
    "central": {"model_name": "Central"},
    "central and local": {
        "model_name": "Central",
        "model_name_details": f"Noise is added to statistics, and in tables of records {_LOCAL}",
    },
}
"""Where noise is added. The registry has one name for each; of two it is the less private."""


def render(_document: object, facts: ReportFacts) -> str:
    """Write the entry, in English whatever the language of the report."""
    entry = build_entry(facts) if facts.registry is None else facts.registry
    return "".join(f"{line}\n" for line in _iter_lines(entry, 0))


def build_entry(report: ReportFacts) -> dict[str, Any]:
    """State the release in the registry's terms."""
    deployment = report.deployment
    basic, unit = deployment.basic, deployment.privacy_unit
    curator, sector = basic.data_curator or UNSAID, (basic.sector or "").capitalize()
    notes = {}
    if basic.sector and sector not in SECTORS:
        notes["notes"] = f"The curator states the sector {basic.sector}."
    rows = unit.unit_column is None
    columns = ", ".join(f"{column.name} ({column.type})" for column in report.columns)
    described = f", where a row stands for {unit.description}" if rows and unit.description else ""
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", basic.name.lower()).strip("-") or "release",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": basic.title,
                "data_curators": [curator],
                "intended_use": basic.intended_use or UNSAID,
                "data_product_type": "Dataset" if report.perturb else "Summary statistics",
                "data_product_region": basic.region or UNSAID,
                "description": " ".join(_describe(report)),
                "publication_date": report.provenance.released_at[:10],
                **({"data_product_sector": sector} if sector in SECTORS else {}),
            },
            "dp_variant": {
                "variant_name": _name_variant(report),
                "data_domain": f"Tables with the columns {columns}{described}.",
                "unprotected_quantities": _list(report.not_protected),
            },
            "privacy_loss": {
                "privacy_unit": unit.description
                or f"One {'row' if rows else f'value of {unit.unit_column}'}",
                "privacy_unit_details": report.guarantee,
                **_list_parameters(report),
            },
            "deployment_model": {
                **MODELS.get(deployment.model, MODELS["central and local"]),
                "actors": _list(
                    [
                        f"Curator ({curator}): trusted with the private table.",
                        "Readers: see the published files only, and need not be trusted.",
                    ]
                ),
                **_describe_timing(report),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": _list(report.processing),
                "composition": _describe_composition(report),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _list(
                    [
                        "Bounds, groups and budgets were read from a spec; the tool can't know how "
                        "they were chosen. Their sources, as the curator states them:",
                        *(f"{col.name}: {col.source}" for col in report.columns if col.source),
                        *report.bounding,
                    ]
                ),
                "mechanisms": _list(_iter_mechanisms(report)),
            },
            "administrative": {**notes, "registry_authors": [curator]},
        },
    }


def _name_variant(report: ReportFacts) -> str:
    """Name the variant: that of the total, or by which the losses of all queries were added up."""
    concentrated = report.deployment.dp_variant.endswith("zero-concentrated")
    if concentrated or report.accounting.method == "zcdp":
        return "Zero-concentrated DP"
    return "Approximate DP" if report.deployment.privacy_loss.delta else "Pure DP"


def _list_parameters(report: ReportFacts) -> dict[str, Any]:
    """State the loss; with zCDP it is rho, and epsilon and delta are what follows of it."""
    loss = report.deployment.privacy_loss
    parameters = {"epsilon": loss.epsilon, **({"delta": loss.delta} if loss.delta else {})}
    if _name_variant(report) != "Zero-concentrated DP":
        return {"privacy_parameters": parameters}
    details = f"rho is the loss. It means epsilon at delta = {format_number(loss.delta)}."
    if report.deployment.dp_variant.startswith("approximate"):
        details += " It holds but for the chance, part of that delta, that a private key is shown."
    return {
        "privacy_parameters": {"rho": loss.rho, **parameters},
        "privacy_parameters_details": details,
    }


def _describe_timing(report: ReportFacts) -> dict[str, str]:
    """Say whether this is one release of many, and of data that come in over time."""
    period, ledger = report.provenance.period, report.ledger
    before = f"epsilon {format_number(ledger.before.epsilon)}"
    earlier_releases = f"The ledger of the dataset holds {before} of earlier releases."
    if period:
        details = f"One release for each period; this one is of {period}. {earlier_releases}"
        return {
            "release_type": "Many releases",
            "release_type_details": details,
            "data_source_type": "Dynamic",
        }
    if not ledger.before.epsilon:
        earlier_releases = "The ledger of the dataset holds no earlier release."
    return {
        "release_type": "One release",
        "release_type_details": earlier_releases,
        "data_source_type": "Static",
    }


def _describe(report: ReportFacts) -> Iterator[str]:
    if report.queries:
        queries = (
            write_title(query) + (f" by {', '.join(by)}" if by else "")
            for query in report.queries
            for by in [[name for name in query.by if name != query.column]]
        )
        yield f"Statistics with noise: {'; '.join(queries)}."
    for part in report.perturb:
        columns = ", ".join(column.name for column in part.columns)
        yield f"{part.name}: {part.rows:,} records, each perturbed on its own: {columns}."


def _describe_composition(report: ReportFacts) -> str:
    accounting, ledger = report.accounting, report.ledger
    parts = ["the cells of a table are disjoint"] if report.queries else []
    if report.perturb:
        parts.append("the answers about one unit in a record-level table add up")
    return (
        f"Composition: {accounting.method}; {', and '.join(parts)}. By plain addition "
        f"epsilon would be {format_number(accounting.basic_epsilon)}. "
        "A ledger adds up all releases of the "
        f"dataset: epsilon {format_number(ledger.before.epsilon)} before this release, "
        f"{format_number(ledger.after.epsilon)} after it."
    )


def _iter_mechanisms(report: ReportFacts) -> Iterator[str]:
    yield from report.deployment.implementation.mechanisms
    in_rho = _name_variant(report) == "Zero-concentrated DP"
    for query in report.queries:
        cost = f"epsilon {format_number(query.epsilon)}"
        if in_rho and query.rho is not None:
            cost = f"rho {format_number(query.rho)}"
        if query.lender not in {None, query.name}:
            from_it = "planned together with" if query.together else "read from the release of"
            cost = f"{from_it} {query.lender} at no further cost"
        yield (
            f"{query.name}: {write_title(query)}, {query.mechanism}, {cost}, "
            f"{query.sensitivity.derivation}"
        )
    for part in report.perturb:
        for column in part.columns:
            cost = f"epsilon {format_number(column.epsilon)}"
            if column.delta:
                cost += f", delta {format_number(column.delta)}"
            yield (
                f"{part.name}.{column.name}: {column.mechanism}, {cost} for one answer, "
                f"expected error {', least possible '.join(format_expected_errors(column))}. "
                + " ".join(column.explained)
            )
    yield "Floating point: integer noise on a public grid, integer sums."
    version = report.provenance.versions.get("dprelease")
    yield f"Tool: dprelease{f' {version}' if version else ''}"


def _list(lines: Iterable[str]) -> str:
    """Write sentences as a list of Markdown, which the registry shows texts as.

    What stands between backticks is code, in our sentences too; the registry gets plain text.
    """
    plain = (" ".join(line.replace("`", "'").split()) for line in lines)
    texts = (re.sub(r"[\\<>$]", r"\\\g<0>", line) for line in plain)
    return "\n".join(f"- {text}" for text in texts)


def _iter_lines(value: Mapping[str, object], depth: int) -> Iterator[str]:
    """Write nested mappings as YAML; every text is quoted as in JSON, which YAML 1.2 includes."""
    margin = "  " * depth
    for key, member in value.items():
        if isinstance(member, dict):
            yield f"{margin}{key}:"
            yield from _iter_lines(member, depth + 1)
        elif isinstance(member, list):
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {_write_scalar(item)}" for item in member)
        else:
            yield f"{margin}{key}: {_write_scalar(member)}"


def _write_scalar(value: object) -> str:
    if isinstance(value, str):
        # ASCII: no character that a reader of YAML might refuse
        return "".join(map(_write_character, value)).join('""')
    if isinstance(value, float):
        # 1e-05 is a text to readers of YAML 1.1: they want the dot
        mantissa, mark, exponent = repr(value).partition("e")
        return f"{mantissa}{'' if '.' in mantissa else '.0'}{mark}{exponent}"
    return json.dumps(value)


def _write_character(char: str) -> str:
    """Write a character between quotes: JSON's notation, but for what YAML has one of its own."""
    return f"\\U{ord(char):08x}" if ord(char) > 0xFFFF else json.dumps(char)[1:-1]
