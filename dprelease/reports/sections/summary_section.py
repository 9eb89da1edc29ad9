"""The first page: what a signer has to know, and a line to sign.

It puts together what the other sections say at length. What changed since the last release comes
in as ``changes``.
"""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import say
from dprelease.reports.facts.unit_facts import describe_accounting
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import Beliefs, PlanFacts, ReviewFacts, TotalLoss
from dprelease.reports.sections.document import Definitions, Heading, Part, Section
from dprelease.reports.sections.hazards_section import translate_status
from dprelease.reports.text.shown_numbers import write_belief, write_headline

LINE = "_" * 30
USELESS = 0.999
"""A belief above this, which was one half before, is no protection."""
STATUSES = ("checked", "stated", "not checked", "attention")


def build_summary_section(
    facts: PlanFacts, digest: str | None, changes: tuple[Part, ...] = ()
) -> Section:
    """Sum up a release or a plan; ``digest`` is that of the plan, None where it is not known."""
    stands = Definitions(tuple(_iter_rows(facts, digest)))
    sign = Definitions(
        tuple(
            (label, LINE)
            for label in (
                say("summary.sign.name"),
                say("summary.sign.date"),
                say("summary.sign.signature"),
            )
        )
    )
    return Section(
        "summary",
        say("summary.title"),
        say("summary.title"),
        (stands, *changes, Heading(say("summary.sign.title")), sign),
    )


def _iter_rows(facts: PlanFacts, digest: str | None) -> Iterator[tuple[str, str]]:
    yield say("summary.protected"), _describe_protection(facts)
    loss, beliefs = facts.accounting, facts.meaning.beliefs
    yield say("summary.how_strong"), _describe_strength(loss.epsilon, loss.delta, beliefs)
    for total in facts.meaning.totals:
        yield name_total(total), _describe_strength(total.epsilon, total.delta, total.beliefs)
    yield say("summary.how_added"), describe_accounting(loss.method)
    yield say("summary.not_protected"), " ".join(facts.not_protected)
    labels = (
        say("summary.hazards.checked"),
        say("summary.hazards.stated"),
        say("summary.hazards.not_checked"),
        say("summary.hazards.attention"),
    )
    for label, status in zip(labels, STATUSES, strict=True):
        names = [
            hazard.hazard for hazard in facts.hazards if translate_status(hazard.status) == status
        ]
        if names:
            yield label, say("words.labelled", label=len(names), text=", ".join(names))
    yield say("summary.review.by"), _describe_review(facts.review)
    if facts.review is not None:
        if facts.review.legal_basis:
            yield say("summary.review.legal_basis"), facts.review.legal_basis
        if facts.review.necessity:
            yield say("summary.review.necessity"), facts.review.necessity
    if digest is not None:
        yield (
            say("summary.digest.title"),
            say("summary.digest.note", digest=digest),
        )


def _describe_protection(facts: PlanFacts) -> str:
    unit = facts.deployment.privacy_unit
    if unit.unit_column is None:
        if unit.description:
            return say("summary.unit.row", described=unit.description)
        return say("summary.unit.row_not_described")
    if unit.description:
        return say("summary.unit.person", described=unit.description, column=unit.unit_column)
    return say("summary.unit.person_not_described", column=unit.unit_column)


def name_total(total: TotalLoss) -> str:
    """Name a total of the dataset."""
    if total.of == "cap":
        return say("summary.strength.of_cap")
    return say("summary.strength.of_dataset")


def _describe_strength(epsilon: Number, delta: Number | None, beliefs: tuple[Beliefs, ...]) -> str:
    """Say a loss, and what it means for a belief of one half about what matters most."""
    high = beliefs[-1].get_row(0.5).posterior_high
    if delta is None:
        loss = say("summary.strength.no_cap_of_delta", epsilon=write_headline(epsilon))
    else:
        loss = say(
            "summary.strength.loss", epsilon=write_headline(epsilon), delta=write_headline(delta)
        )
    belief = say("summary.strength.belief", greatest=write_belief(high), about=beliefs[-1].about)
    useless = say("summary.strength.no_protection") if high > USELESS else ""
    return " ".join(filter(None, (loss, belief, useless)))


def _describe_review(review: ReviewFacts | None) -> str:
    if review is None or not review.reviewer:
        return say("summary.review.nobody")
    reviewer = review.reviewer if not review.role else f"{review.reviewer}, {review.role}"
    parts = [reviewer]
    if review.decision is None:
        parts.append(say("summary.review.no_decision"))
    elif review.date:
        parts.append(say("summary.review.decision", decision=review.decision, date=review.date))
    else:
        parts.append(review.decision)
    if review.reference:
        parts.append(say("summary.review.reference", reference=review.reference))
    return "; ".join(parts)
