"""Provenance: what made the release, or what a plan is approved for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dprelease.language import say
from dprelease.reports.model.report_model import Approval, ReportFacts, Scalar
from dprelease.reports.sections.document import Bullets, Heading, Section, Table

_CAPS = ("ledger.epsilon_cap", "ledger.delta_cap")


def build_provenance_section(facts: ReportFacts) -> Section:
    """Say what made the release, with versions and hashes."""
    origins = Table(
        "origins",
        say("provenance.title"),
        (say("words.what"), say("provenance.which")),
        tuple(_iter_origins(facts)),
    )
    notes = (*facts.notes, *facts.warnings)
    return Section(
        "provenance",
        say("provenance.short_title"),
        say("provenance.short_title"),
        (origins, *_list_notes(notes)),
    )


def build_approval_section(approval: Approval) -> Section:
    """Say what a run of the approved plan is held to, and what an approval leaves open."""
    digest = ((say("provenance.digest"), approval.digest),) if approval.digest is not None else ()
    origins = Table(
        "origins",
        say("provenance.approved.title"),
        (say("words.what"), say("provenance.which")),
        (*digest, *_iter_held(approval.holds)),
    )
    return Section(
        "provenance",
        say("provenance.short_title"),
        say("provenance.short_title"),
        (
            origins,
            Heading(say("provenance.open.title")),
            Bullets(approval.leaves_open),
            *_list_notes(approval.notes),
        ),
    )


def _list_notes(notes: tuple[str, ...]) -> tuple[Heading | Bullets, ...]:
    return (Heading(say("provenance.notes")), Bullets(notes)) if notes else ()


def _iter_origins(facts: ReportFacts) -> Iterator[tuple[str, str]]:
    provenance, ledger = facts.provenance, facts.ledger
    yield say("provenance.run"), provenance.run_id
    for name, value in (
        (say("provenance.snapshot"), provenance.snapshot),
        (say("provenance.period"), provenance.period),
    ):
        if value:
            yield name, value
    if provenance.plan is not None:
        yield say("provenance.digest"), provenance.plan
    if provenance.held_to_plan is not None:
        held = "words.yes" if provenance.held_to_plan else "words.no"
        yield say("summary.held.title"), say(held)
    yield say("provenance.dataset"), ledger.dataset
    yield say("provenance.entry"), str(ledger.entry)
    if ledger.hash is not None:
        yield say("provenance.hash"), ledger.hash
    for name, version in provenance.versions.items():
        yield say("provenance.version", name=name), version
    for name, digest in provenance.files.items():
        yield say("provenance.sha", name=name), digest


def _iter_held(holds: Mapping[str, Scalar | tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Give what is held for people, without texts that the spec does not have."""
    for name, value in holds.items():
        if value is None:
            if name in _CAPS:
                yield name, say("provenance.none")
        elif isinstance(value, bool):
            yield name, str(value).lower()
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
