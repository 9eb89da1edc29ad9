"""What an approved plan holds a run to beside its queries, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dprelease.model import Release
from dprelease.report.numbers import text

LEFT_OPEN = (
    "what the data hold, and what is charged to the ledger until then",
    "the machine and the folder: relative paths start at the spec, so that a copy of the spec "
    "elsewhere has another ledger",
    "when it is run, and that a charge which a failure has used up is charged again",
    "[release] approved_by, comments, and the order of keys in the spec",
)


def approval_facts(release: Release) -> dict[str, object]:
    """State both in JSON values. What is held has the names of the spec's keys.

    Paths are as the spec writes them, or as they were given instead: the same on every machine.
    """
    about, data, privacy = release.about, release.data, release.privacy
    ledger, output = release.ledger, release.output
    path = ledger.path if ledger.written_path is None else ledger.written_path
    witness = ledger.witness if ledger.written_witness is None else ledger.written_witness
    caps = {"epsilon_cap": ledger.epsilon_cap, "delta_cap": ledger.delta_cap}
    texts = ("title", "curator", "contact", "purpose", "region", "sector")
    return {
        "holds": {
            "ledger.path": path,
            "ledger.witness": f"{path}.witness" if witness is None else witness,
            "ledger.dataset": ledger.dataset,
            **{f"ledger.{name}": None if cap is None else text(cap) for name, cap in caps.items()},
            "ledger.disjoint_periods": ledger.disjoint_periods,
            "data.path": data.written_path,
            "data.snapshot": data.snapshot,
            "data.engine": data.engine,
            "period": release.period,
            "output.path": output.path if output.written_path is None else output.written_path,
            "output.format": output.format,
            "output.interval": text(output.interval),
            "report.formats": list(release.report_formats),
            "privacy.unit_description": privacy.unit_description,
            **{f"release.{name}": getattr(about, name) for name in texts},
            **{
                f"columns.{name}.source": column.source
                for name, column in release.columns.items()
                if column.source is not None
            },
        },
        "leaves_open": list(LEFT_OPEN),
    }


def held_rows(held: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give what is held for people, without texts that the spec does not have."""
    named = {**held, **{name: "none" for name in _CAPS if held[name] is None}}
    return [(name, _shown(value)) for name, value in named.items() if value is not None]


_CAPS = ("ledger.epsilon_cap", "ledger.delta_cap")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
