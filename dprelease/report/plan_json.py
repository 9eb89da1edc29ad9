"""A plan in JSON values."""

from __future__ import annotations

from collections.abc import Mapping

from dprelease.model import Plan
from dprelease.report.local.wording import record_facts, record_words
from dprelease.report.numbers import text
from dprelease.report.query_json import accounting_facts, query_facts
from dprelease.report.wording.approved_plan import approval_facts
from dprelease.report.wording.extremes import plan_warnings
from dprelease.report.wording.list_files import list_facts
from dprelease.report.wording.units import unit_facts


def describe(plan: Plan, ledger: Mapping[str, object] | None = None) -> dict[str, object]:
    """State all that a run would do and spend; ``ledger`` is where the ledger stands now."""
    release = plan.release
    privacy = release.privacy
    shown = record_words(plan).unprotected
    return {
        "schema": "dprelease/plan/1",
        "release": release.about.name,
        "dataset": release.ledger.dataset,
        **{key: fact for key, fact in unit_facts(release).items() if key != "description"},
        "interval": text(release.output.interval),
        "approval": approval_facts(release),
        "declared": {
            "epsilon": None if privacy.epsilon is None else text(privacy.epsilon),
            "delta": text(privacy.delta),
            "rho": None if privacy.rho is None else text(privacy.rho),
        },
        "total": accounting_facts(plan),
        "steps": [query_facts(plan, read) for read in plan.reads],
        **record_facts(plan),
        **list_facts(release),
        **({"not_protected": list(shown)} if shown else {}),
        "notes": list(plan.notes),
        "warnings": [warning.to_dict() for warning in (*release.warnings, *plan_warnings(plan))],
        "ledger": None if ledger is None else dict(ledger),
    }
