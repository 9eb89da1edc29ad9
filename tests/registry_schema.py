"""What the registry of deployments takes, as a JSON Schema: its facts as of 2026, written anew.

The registry's own is schemas/deployments-schema.yaml of opendp/deployments-registry-data.
"""

from __future__ import annotations

from typing import Any

import jsonschema

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}


def allow_one(*words: str | int) -> dict[str, Any]:
    return {"enum": list(words)}


def fields(needed: tuple[str, ...] = (), **allowed: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(needed),
        "properties": {name: TEXT if kind is str else kind for name, kind in allowed.items()},
    }


BASIC = fields(
    ("name", "data_curators", "description", "intended_use", "data_product_type",
     "data_product_region", "publication_date"),
    name=str,
    data_curators=TEXTS,
    description=str,
    intended_use=str,
    data_product_type=allow_one(
        "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
        "Interactive API", "SQL queries",
    ),
    data_product_region=str,
    publication_date=TEXT | {"format": "date"},
    data_product_sector=allow_one(
        "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"
    ),
)  # fmt: skip
VARIANT = fields(
    variant_name=allow_one(
        "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
    ),
    data_domain=str,
    unprotected_quantities=str,
)  # fmt: skip
LOSS = fields(
    privacy_unit=str,
    privacy_unit_details=str,
    privacy_parameters=fields(
        epsilon={"type": "number"},
        delta={"type": ["number", "string"]},
        rho={"type": "number"},
    ),
    privacy_parameters_details={},
)
MODEL = fields(
    model_name=allow_one("Local", "Central", "Shuffle", "Federated", "Varies"),
    model_name_details=str,
    actors=str,
    release_type=allow_one("One release", "Many releases"),
    release_type_details=str,
    data_source_type=allow_one("Static", "Dynamic"),
    data_source_type_details={},
    access_type=allow_one("Interactive", "Non-interactive"),
    access_type_details=str,
)
SCHEMA = fields(
    ("url_slug", "status", "tier", "deployment"),
    url_slug=str,
    status=allow_one(
        "Converted", "Draft", "Pending", "Changes Required", "Approved",
        "Approved (Update Requested)", "Approved (Pending)",
    ),
    tier=allow_one(1, 2, 3),
    deployment=fields(
        ("basic",),
        basic=BASIC,
        dp_variant=VARIANT,
        privacy_loss=LOSS,
        deployment_model=MODEL,
        accounting=fields(post_processing=str, composition=str),
        implementation=fields(
            preprocessing_and_hyperparameter_tuning=str, mechanisms=str, justification=str
        ),
        administrative=fields(
            ("registry_authors",), sources=str, notes=str, registry_authors=TEXTS
        ),
    ),
)  # fmt: skip


def find_refusals(entry: object) -> list[str]:
    """Say what the registry would refuse of an entry."""
    checker = jsonschema.Draft7Validator(
        SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
    )
    return [
        f"{'.'.join(map(str, error.path))}: {error.message}" for error in checker.iter_errors(entry)
    ]
