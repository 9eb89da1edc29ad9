"""What an approval of a plan holds a run to, what it leaves open, and what a plan's page has."""

from __future__ import annotations

from msgspec.structs import asdict

from dprelease.language import ENGLISH, say, word
from dprelease.model import AS_RELEASED, Expression, Plan, Release, Review
from dprelease.reports.facts.explanations import word_warnings
from dprelease.reports.model.report_model import (
    Approval,
    Cap,
    ComposedTotals,
    LedgerStanding,
    PlannedLedger,
    Scalar,
    Spent,
)
from dprelease.reports.text.shown_names import iter_stated_names
from dprelease.reports.text.shown_numbers import write_exact

LEFT_OPEN = (
    "approval.open.data",
    "approval.open.machine",
    "approval.open.time",
    "approval.open.spec_keys",
)


def list_left_open(release: Release) -> tuple[str, ...]:
    """Say what an approval leaves open, where the spec has it."""
    if release.review == Review():
        return tuple(map(say, LEFT_OPEN))
    return (*map(say, LEFT_OPEN), say("approval.open.review"))


def list_held_facts(release: Release) -> dict[str, Scalar | tuple[str, ...]]:
    """List what an approval of a plan binds a run to, by the names of the spec's keys.

    Paths are as the spec writes them, or as they were given instead, so that they are the same on
    every machine.
    """
    about, data, privacy = release.about, release.data, release.privacy
    ledger, output, database = release.ledger, release.output, data.source.database
    path = ledger.path if ledger.written_path is None else ledger.written_path
    witness = ledger.witness if ledger.written_witness is None else ledger.written_witness
    caps = {"epsilon_cap": ledger.epsilon_cap, "delta_cap": ledger.delta_cap}
    texts = ("title", "curator", "contact", "purpose", "region", "sector")
    language = release.report_language
    return {
        "ledger.path": path,
        "ledger.witness": f"{path}.witness" if witness is None else witness,
        "ledger.dataset": ledger.dataset,
        **{
            f"ledger.{name}": None if cap is None else write_exact(cap)
            for name, cap in caps.items()
        },
        **({} if ledger.rho_cap is None else {"ledger.rho_cap": write_exact(ledger.rho_cap)}),
        "ledger.disjoint_periods": ledger.disjoint_periods,
        "data.path": data.written_path,
        "data.snapshot": data.snapshot,
        **(
            {}
            if database is None
            else {"data.uri_env": database.uri_env, "data.table": database.table}
        ),
        "data.engine": data.engine,
        **(
            {}
            if data.design_effect is None
            else {"data.design_effect": write_exact(data.design_effect)}
        ),
        "period": release.period,
        "output.path": output.path if output.written_path is None else output.written_path,
        "output.format": output.format,
        "output.interval": write_exact(output.interval),
        "report.formats": tuple(release.report_formats),
        **({"report.language": language} if language != ENGLISH else {}),
        "privacy.unit_description": privacy.unit_description,
        **({} if privacy.population is None else {"privacy.population": privacy.population}),
        **{f"release.{name}": getattr(about, name) for name in texts},
        **({} if about.licence is None else {"release.licence": about.licence}),
        **({} if about.previous is None else {"release.previous": about.previous}),
        **{
            # what is written before the signature
            key: text
            for key, text in list_review_texts(release.review).items()
            if key not in {"review.decision", "review.date", "review.reference"}
        },
        **_list_finish_facts(release),
        **{
            f"query.{query.name}.max_unreadable": write_exact(query.max_unreadable)
            for query in release.queries
            if query.max_unreadable is not None
        },
        **{entry.key: entry.name for entry in iter_stated_names(release)},
        **{
            f"columns.{name}.source": column.source
            for name, column in release.columns.items()
            if column.source is not None
        },
    }


def list_review_texts(review: Review) -> dict[str, str]:
    """List what is written in ``[review]``, by the keys of the spec."""
    texts = asdict(review)
    del texts["attestations"]
    texts |= {f"attestations.{key}": text for key, text in review.attestations.items()}
    return {f"review.{key}": text for key, text in texts.items() if text is not None}


def _list_finish_facts(release: Release) -> dict[str, Scalar]:
    """State what is done to noisy figures, where they are not published as they are."""
    conditions: dict[str, Scalar] = {}
    for query in release.queries:
        for name, value in asdict(AS_RELEASED).items():
            now = getattr(query.finish, name)
            if now != value:
                entry = now.text if isinstance(now, Expression) else now
                key = f"query.{query.name}.{name}"
                conditions[key] = entry if isinstance(entry, bool | str) else write_exact(entry)
    return conditions


def build_approval(
    plan: Plan, run: str, digest: str | None, ledger: PlannedLedger | None
) -> Approval:
    """Build what the page of a plan shows beside its facts.

    Args:
        plan: The plan.
        run: Identity of the run that it is a plan of.
        digest: Digest of the saved plan.
        ledger: The ledger's standing; None if it was not read.
    """
    release = plan.release
    return Approval(
        interval=write_exact(release.output.interval),
        run=run,
        digest=digest,
        holds=list_held_facts(release),
        leaves_open=list_left_open(release),
        ledger=None
        if ledger is None
        else LedgerStanding(
            before=Spent(
                epsilon=ledger.epsilon_spent,
                delta=ledger.delta_spent,
                rho=None if ledger.rho is None else ledger.rho.spent,
            ),
            after=Spent(
                epsilon=ledger.epsilon_after,
                delta=ledger.delta_after,
                rho=None if ledger.rho is None else ledger.rho.after,
            ),
            composed=ComposedTotals(before=ledger.composed.now, after=ledger.composed.after),
            cap=Cap(
                epsilon=ledger.epsilon_cap,
                delta=ledger.delta_cap,
                rho=None if ledger.rho is None else ledger.rho.cap,
            ),
        ),
        notes=(*map(word, plan.notes), *word_warnings(plan)),
    )
