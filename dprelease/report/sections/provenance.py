"""Provenance: what made the release, or what a plan is approved for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dprelease.language import say
from dprelease.report.document import Bullets, Heading, Section, Table
from dprelease.report.facts.model import Approval, ReportFacts, Scalar

_CAPS = ("ledger.epsilon_cap", "ledger.delta_cap")


def provenance_section(facts: ReportFacts) -> Section:
    """Say what made the release, with versions and hashes."""
    origins = Table(
        "origins", say("What made the release"), (say("what"), say("which")), tuple(_origins(facts))
    )
    notes = (*facts.notes, *facts.warnings)
    return Section("provenance", say("Provenance"), say("Provenance"), (origins, *_notes(notes)))


def approval_section(approval: Approval) -> Section:
    """Say what a run of the approved plan is held to, and what an approval leaves open."""
    digest = ((say("digest of the plan"), approval.digest),) if approval.digest is not None else ()
    origins = Table(
        "origins",
        say("What a run of the approved plan is held to, beside its queries"),
        (say("what"), say("which")),
        (*digest, *_held(approval.holds)),
    )
    return Section(
        "provenance",
        say("Provenance"),
        say("Provenance"),
        (
            origins,
            Heading(say("What an approval leaves open")),
            Bullets(approval.leaves_open),
            *_notes(approval.notes),
        ),
    )


def _notes(notes: tuple[str, ...]) -> tuple[Heading | Bullets, ...]:
    return (Heading(say("Notes")), Bullets(notes)) if notes else ()


def _origins(facts: ReportFacts) -> Iterator[tuple[str, str]]:
    provenance, ledger = facts.provenance, facts.ledger
    yield say("run"), provenance.run_id
    for name, value in (
        (say("snapshot"), provenance.snapshot),
        (say("period"), provenance.period),
    ):
        if value:
            yield name, value
    if provenance.plan is not None:
        yield say("digest of the plan"), provenance.plan
    yield say("dataset in the ledger"), ledger.dataset
    yield say("entry in the ledger"), str(ledger.entry)
    if ledger.hash is not None:
        yield say("hash of the entry"), ledger.hash
    for name, version in provenance.versions.items():
        yield say("version of {name}", name=name), version
    for name, digest in provenance.files.items():
        yield say("SHA-256 of {name}", name=name), digest


def _held(holds: Mapping[str, Scalar | tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Give what is held for people, without texts that the spec does not have."""
    for name, value in holds.items():
        if value is None:
            if name in _CAPS:
                yield name, say("none")
        elif isinstance(value, bool):
            yield name, str(value).lower()
        else:
            yield name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
