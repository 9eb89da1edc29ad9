"""A release for catalogues of data: as DCAT-AP, and as a data set of schema.org inside the page.

See https://semiceu.github.io/DCAT-AP and https://schema.org/Dataset. Both are JSON-LD; addresses of
files are relative, so that they hold wherever the folder is published.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from dprelease.language import say
from dprelease.model.release import find_contact_address, find_licence_address
from dprelease.reports.model.report_model import Basic, ReportFacts

Node = dict[str, Any]

_MEDIA = "https://www.iana.org/assignments/media-types/"
_TYPES = {
    "csv": ("text/csv", "CSV"),
    "parquet": ("application/vnd.apache.parquet", "PARQUET"),
}
_FILE_TYPES = "http://publications.europa.eu/resource/authority/file-type/"
_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def render(_document: object, facts: ReportFacts) -> str:
    """Write the release as a data set of DCAT-AP 3."""
    return json.dumps(_build_dcat(facts), indent=2, ensure_ascii=False) + "\n"


def _build_dcat(facts: ReportFacts) -> Node:
    basic, run = facts.deployment.basic, facts.provenance
    licence = (
        {}
        if basic.licence is None
        else {"dct:license": _build_address(find_licence_address(basic.licence))}
    )
    return _drop_missing(
        {
            "@context": _CONTEXT,
            "@id": "#dataset",
            "@type": "dcat:Dataset",
            "dct:title": basic.title,
            "dct:description": _write_description(facts),
            "dct:identifier": run.run_id,
            "dct:issued": _build_day(run.released_at, "xsd:date"),
            "dct:publisher": basic.data_curator
            and {"@type": "foaf:Agent", "foaf:name": basic.data_curator},
            "dcat:contactPoint": _build_contact(basic),
            "dct:spatial": basic.region and {"@type": "dct:Location", "rdfs:label": basic.region},
            "dcat:keyword": [word for word in (basic.sector, "differential privacy") if word],
            "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": facts.guarantee},
            "dcat:distribution": [
                {
                    "@id": f"#{quote(name)}",
                    "@type": "dcat:Distribution",
                    "dct:title": title,
                    "dcat:accessURL": _build_address(quote(file)),
                    "dcat:downloadURL": _build_address(quote(file)),
                    "dcat:mediaType": _build_address(_MEDIA + _TYPES[form][0]),
                    "dct:format": _build_address(_FILE_TYPES + _TYPES[form][1]),
                    **licence,
                    "spdx:checksum": {
                        "@type": "spdx:Checksum",
                        "spdx:algorithm": _build_address("spdx:checksumAlgorithm_sha256"),
                        "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": run.files[file]},
                    },
                }
                for name, title, file, form in _iter_files(facts)
            ],
        }
    )


def build_dataset(facts: ReportFacts) -> Node:
    """State the release as a data set of schema.org."""
    basic, run = facts.deployment.basic, facts.provenance
    publisher = basic.data_curator and {"@type": "Organization", "name": basic.data_curator}
    return _drop_missing(
        {
            "@context": "https://schema.org",
            "@type": "Dataset",
            "name": basic.title,
            "description": _write_description(facts),
            "identifier": run.run_id,
            "license": basic.licence and find_licence_address(basic.licence),
            "creditText": write_citation(facts),
            "publisher": publisher,
            "creator": publisher,
            "datePublished": _build_day(run.released_at),
            "spatialCoverage": basic.region,
            "measurementTechnique": facts.guarantee,
            "variableMeasured": list(_iter_variables(facts)),
            "distribution": [
                {
                    "@type": "DataDownload",
                    "name": title,
                    "contentUrl": quote(file),
                    "encodingFormat": _TYPES[form][0],
                    "sha256": run.files[file],
                }
                for _, title, file, form in _iter_files(facts)
            ],
        }
    )


def write_citation(facts: ReportFacts) -> str:
    """Say how to name the release where its figures are used."""
    basic, run = facts.deployment.basic, facts.provenance
    values = {"year": run.released_at[:4], "title": basic.title, "run": run.run_id[:16]}
    if basic.data_curator is None:
        return say("citation.without_author", **values)
    return say("citation.with_author", author=basic.data_curator, **values)


def _iter_variables(facts: ReportFacts) -> Iterator[Node]:
    """Iterate over queries, each once, in the words of the spec."""
    of_queries: dict[str, Node] = {}
    for table in facts.tables:
        for column in table.columns:
            if column.query is None:
                continue
            # The first column of a query is its figure: of a choice that is a text.
            names = column.names
            variable = {
                "@type": "PropertyValue",
                "name": (names and names.title) or column.name,
                "unitText": names and names.unit,
                "description": column.description,
            }
            of_queries.setdefault(column.query.partition(":")[0], _drop_missing(variable))
    yield from of_queries.values()


def _iter_files(facts: ReportFacts) -> Iterator[tuple[str, str, str, str]]:
    """Name, title, file and format of each table."""
    for table in facts.tables:
        yield table.name, table.title, table.file, table.file.rpartition(".")[2]
    for records in facts.perturb:
        if records.file is not None:
            yield records.name, records.name, records.file, records.file.rpartition(".")[2]


def _write_description(facts: ReportFacts) -> str:
    purpose = facts.deployment.basic.intended_use
    if purpose is None:
        return facts.guarantee
    end = "" if purpose.endswith((".", "!", "?")) else "."
    return f"{purpose}{end} {facts.guarantee}"


def _build_contact(basic: Basic) -> Node | None:
    address = find_contact_address(basic.contact or "")
    if address is None:
        return None
    way = "vcard:hasEmail" if address.startswith("mailto:") else "vcard:hasURL"
    return {
        "@type": "vcard:Kind",
        "vcard:fn": basic.data_curator or basic.contact,
        way: _build_address(address),
    }


def _build_day(moment: str, kind: str | None = None) -> Node | str | None:
    day = _DAY.match(moment)
    if day is None:
        return None
    return day[0] if kind is None else {"@type": kind, "@value": day[0]}


def _build_address(address: str) -> Node:
    return {"@id": address}


def _drop_missing(node: Node) -> Node:
    """Drop what is not stated."""
    return {key: value for key, value in node.items() if value}
