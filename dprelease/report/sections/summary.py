"""The first page: what a signer has to know, and a line to sign.

It puts together what the other sections say at length. What changed since the last release comes
in as ``changes``.
"""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import say
from dprelease.report.document import Definitions, Heading, Part, Section
from dprelease.report.facts.meaning_model import Belief, Beliefs, TotalLoss
from dprelease.report.facts.model import PlanFacts, ReviewFacts
from dprelease.report.facts.record_level.model import Number
from dprelease.report.facts.units import added
from dprelease.report.numbers import belief_text, headline
from dprelease.report.sections.hazards import status_of

LINE = "_" * 30
USELESS = 0.999
"""A belief above this, which was one half before, is no protection."""
STATUSES = ("checked", "stated", "not checked", "attention")


def summary_section(
    facts: PlanFacts, digest: str | None, changes: tuple[Part, ...] = ()
) -> Section:
    """Sum up a release or a plan; ``digest`` is that of the plan, None where it is not known."""
    stands = Definitions(tuple(_rows(facts, digest)))
    sign = Definitions(
        tuple((label, LINE) for label in (say("Name and role"), say("Date"), say("Signature")))
    )
    return Section(
        "summary",
        say("Summary"),
        say("Summary"),
        (stands, *changes, Heading(say("To sign")), sign),
    )


def _rows(facts: PlanFacts, digest: str | None) -> Iterator[tuple[str, str]]:
    yield say("What is protected"), _protected(facts)
    loss, beliefs = facts.accounting, facts.meaning.beliefs
    yield say("How strong: this release"), _strength(loss.epsilon, loss.delta, beliefs)
    for total in facts.meaning.totals:
        yield total_label(total), _strength(total.epsilon, total.delta, total.beliefs)
    yield say("How losses were added"), added(loss.method)
    yield say("What is not protected"), " ".join(facts.not_protected)
    labels = (
        say("Checked by the tool"),
        say("Stated in the spec: the tool can't know"),
        say("Not checked"),
        say("To be looked at"),
    )
    for label, status in zip(labels, STATUSES, strict=True):
        names = [hazard.hazard for hazard in facts.hazards if status_of(hazard.status) == status]
        if names:
            yield label, say("{label}: {text}", label=len(names), text=", ".join(names))
    yield say("Reviewed by, as the spec states"), _reviewed(facts.review)
    if facts.review is not None:
        if facts.review.legal_basis:
            yield say("Legal basis"), facts.review.legal_basis
        if facts.review.necessity:
            yield say("Necessity"), facts.review.necessity
    if digest is not None:
        yield (
            say("Digest of the plan (SHA-256)"),
            say(
                "{digest}. A signed plan with this digest is the one that is released.",
                digest=digest,
            ),
        )


def _protected(facts: PlanFacts) -> str:
    unit = facts.deployment.privacy_unit
    if unit.unit_column is None:
        if unit.description:
            return say("one row: {described}", described=unit.description)
        return say("one row; the spec does not say what a row is")
    if unit.description:
        return say(
            'one person: {described} (all rows with the same value of "{column}")',
            described=unit.description,
            column=unit.unit_column,
        )
    return say('one person: all rows with the same value of "{column}"', column=unit.unit_column)


def total_label(total: TotalLoss) -> str:
    """Name a total of the dataset."""
    if total.of == "cap":
        return say("If the cap is used up")
    return say("All releases of the data set so far")


def _strength(epsilon: Number, delta: Number | None, beliefs: tuple[Beliefs, ...]) -> str:
    """Say a loss, and what it means for a belief of one half about what matters most."""
    high = at_half(beliefs[-1]).posterior_high
    if delta is None:
        loss = say(
            "epsilon {epsilon}; delta has no cap: what follows is for releases without a delta.",
            epsilon=headline(epsilon),
        )
    else:
        loss = say(
            "epsilon {epsilon}, delta {delta}.", epsilon=headline(epsilon), delta=headline(delta)
        )
    belief = say(
        "A belief of 50% becomes at most {high}. It is about {about}.",
        high=belief_text(high),
        about=beliefs[-1].about,
    )
    useless = say("That is no protection.") if high > USELESS else ""
    return " ".join(filter(None, (loss, belief, useless)))


def at_half(table: Beliefs) -> Belief:
    """Give the row of a belief of one half."""
    return next(row for row in table.rows if row.prior == 0.5)


def _reviewed(review: ReviewFacts | None) -> str:
    if review is None or not review.reviewer:
        return say("Nobody: the spec names no reviewer.")
    who = review.reviewer if not review.role else f"{review.reviewer}, {review.role}"
    parts = [who]
    if review.decision is None:
        parts.append(say("no decision is stated"))
    elif review.date:
        parts.append(say("{decision} on {date}", decision=review.decision, date=review.date))
    else:
        parts.append(review.decision)
    if review.reference:
        parts.append(say("reference: {reference}", reference=review.reference))
    return "; ".join(parts)
