"""The first page: what a signer has to know, and a line to sign.

It puts together what the other sections say at length, and says what changed since the last
release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dprelease.language import say, say_count
from dprelease.model import OutputColumn, OutputTable
from dprelease.reports.facts.hazard_facts import translate_status
from dprelease.reports.facts.unit_facts import NO_PROTECTION, PLANNED, describe_accounting
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import (
    Approval,
    Beliefs,
    Changes,
    FigureChange,
    PlanFacts,
    ReportFacts,
    ReviewFacts,
    Spent,
    TotalLoss,
)
from dprelease.reports.sections.document import (
    Bullets,
    Definitions,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.reports.sections.hazards_section import STATUS_WORDS
from dprelease.reports.text.shown_names import write_key
from dprelease.reports.text.shown_numbers import format_number, write_belief, write_headline
from dprelease.reports.text.spec_words import DECISION_WORDS, write_date

LINE = "_" * 30
MOST_CHANGES = 24
Keys = Mapping[str, Sequence[OutputColumn]]


def build_review_section(facts: ReportFacts) -> Section:
    """Say who reviewed a release, and which plan was run.

    A published page has no line left to sign, and what a signer has to know stands above.
    """
    title = say("summary.review.title")
    rows = Definitions((*_iter_review_rows(facts.review), *_iter_plan_rows(facts)))
    return Section("summary", title, title, (rows,))


def _iter_plan_rows(facts: ReportFacts) -> Iterator[tuple[str, str]]:
    """Say whether the run was held to a saved plan, and what all releases came to then and now."""
    provenance, ledger = facts.provenance, facts.ledger
    if provenance.plan is None:
        return
    if provenance.held_to_plan is None:  # a release of before
        yield say("summary.digest.title"), provenance.plan
        return
    if not provenance.held_to_plan:
        yield say("summary.held.title"), say("summary.held.no", digest=provenance.plan)
        return
    words = [say("summary.held.yes", digest=provenance.plan)]
    now = ledger.after if ledger.composed is None else ledger.composed.after
    then = provenance.total_when_planned
    if then is not None:
        words.append(say("summary.held.total_when_planned", loss=_write_loss(then)))
    words.append(say("summary.held.total_at_run", loss=_write_loss(now)))
    yield say("summary.held.title"), " ".join(words)


def _write_loss(loss: Spent) -> str:
    epsilon, delta = write_headline(loss.epsilon), write_headline(loss.delta)
    return say("words.epsilon_and_delta", epsilon=epsilon, delta=delta)


def build_summary_section(facts: PlanFacts, approval: Approval) -> Section:
    """Sum up a plan for approval, with lines to sign; what is signed stands on the same sheet."""
    signed = [
        (say("summary.sign.plan"), facts.deployment.basic.title),
        (say("provenance.run"), approval.run),
    ]
    rows = list(_iter_rows(facts))
    if approval.digest is not None:
        title = say("summary.digest.title")
        signed.append((title, approval.digest))
        rows.append((title, say("summary.digest.note", digest=approval.digest)))
    lines = tuple(
        (label, LINE)
        for label in (
            say("summary.sign.name"),
            say("summary.sign.date"),
            say("summary.sign.signature"),
        )
    )
    sign = Heading(say("summary.sign.title")), Definitions(tuple(signed)), Definitions(lines)
    title = say("summary.title")
    return Section("summary", title, title, (Definitions(tuple(rows)), Group("sign", sign)))


def _iter_rows(facts: PlanFacts) -> Iterator[tuple[str, str]]:
    yield say("summary.protected"), _describe_protection(facts)
    loss, beliefs = facts.accounting, facts.meaning.beliefs
    yield say("summary.how_strong"), _describe_strength(loss.epsilon, loss.delta, beliefs)
    for total in facts.meaning.totals:
        words = _describe_strength(total.epsilon, total.delta, total.beliefs)
        if total.of == PLANNED:
            words = f"{words} {_describe_open_total(facts)}"
        yield name_total(total), words
    yield say("summary.how_added"), describe_accounting(loss.method)
    yield say("summary.not_protected"), " ".join(facts.not_protected)
    labels = (
        say("summary.hazards.checked"),
        say("summary.hazards.see"),
        say("summary.hazards.stated"),
        say("summary.hazards.not_checked"),
        say("summary.hazards.attention"),
    )
    for label, status in zip(labels, STATUS_WORDS, strict=True):
        names = [
            hazard.hazard for hazard in facts.hazards if translate_status(hazard.status) == status
        ]
        if names:
            yield label, say("words.labelled", label=len(names), text="; ".join(names))
    yield from _iter_review_rows(facts.review)


def _iter_review_rows(review: ReviewFacts | None) -> Iterator[tuple[str, str]]:
    yield say("summary.review.by"), _describe_review(review)
    if review is not None:
        if review.legal_basis:
            yield say("summary.review.legal_basis"), review.legal_basis
        if review.necessity:
            yield say("summary.review.necessity"), review.necessity


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
    if total.of == PLANNED:
        return say("summary.strength.planned")
    return say("summary.strength.of_dataset")


def _describe_open_total(facts: PlanFacts) -> str:
    """Say what the total may be when the plan runs: its approval leaves the ledger open."""
    caps = (total.epsilon for total in facts.meaning.totals if total.of == "cap")
    cap = next(caps, None)
    if cap is None:
        return say("summary.strength.open")
    return say("summary.strength.open_to_cap", cap=format_number(cap))


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
    useless = say("summary.strength.no_protection") if high > NO_PROTECTION[0] else ""
    return " ".join(filter(None, (loss, belief, useless)))


def _describe_review(review: ReviewFacts | None) -> str:
    if review is None or not review.reviewer:
        return say("summary.review.nobody")
    reviewer = review.reviewer if not review.role else f"{review.reviewer}, {review.role}"
    parts = [reviewer]
    if review.decision is None:
        parts.append(say("summary.review.no_decision"))
    elif review.date:
        parts.append(
            say(
                "summary.review.decision",
                decision=say(DECISION_WORDS[review.decision]),
                date=write_date(review.date),
            )
        )
    else:
        parts.append(say(DECISION_WORDS[review.decision]))
    if review.reference:
        parts.append(say("summary.review.reference", reference=review.reference))
    return "; ".join(parts)


# --- what changed since the last release ----------------------------------------------------------


def build_changes_parts(
    facts: ReportFacts, tables: Mapping[str, OutputTable], level: float
) -> tuple[Part, ...]:
    """Lay out what changed; nothing where the spec names no last release.

    ``tables`` are the published ones by file: their names for people stand in place of keys.
    """
    changes = facts.changes
    if changes is None:
        return ()
    keys = {
        described.name: [column for column in table.columns if column.kind == "key"]
        for described in facts.tables
        if (table := tables.get(described.file))
    }
    return (Heading(say("changes.title")), *_iter_changes(changes, keys, level))


def _iter_changes(changes: Changes, keys: Keys, level: float) -> Iterator[Part]:
    yield Paragraph(
        say(
            "changes.last_release",
            run=changes.run_id[:12],
            day=write_date(changes.released_at[:10]),
        )
    )
    lines = [
        say("changes.change", what=row.what, before=row.before, now=row.now)
        for row in changes.guarantee
    ]
    lines = lines or [say("changes.same_guarantee")]
    lines += [say("changes.new_table", table=table) for table in changes.new_tables]
    lines += [say("changes.table_gone", table=table) for table in changes.missing_tables]
    lines += [say("changes.other_definition", query=name) for name in changes.redefined]
    lines += [
        say("changes.halfwidth", query=row.what, before=row.before, now=row.now)
        for row in changes.noise
    ]
    yield Bullets(tuple(lines))
    if changes.compared:
        yield Paragraph(
            say_count(
                changes.compared,
                "changes.compared",
                real=changes.real,
                expected=max(1.0, changes.compared * (100 - level) / 100),
            )
        )
        figures = changes.figures[:MOST_CHANGES]
        caption = say("changes.table.title")
        if changes.compared > len(figures):
            caption = say("changes.table.first", n=len(figures), all=changes.compared)
        head = (
            say("changes.table.figure"),
            say("changes.table.difference"),
            say("changes.table.verdict"),
        )
        yield Table(
            "changes", caption, head, tuple(_build_change_row(change, keys) for change in figures)
        )


def _build_change_row(change: FigureChange, keys: Keys) -> tuple[str, str, str]:
    labels = zip(keys.get(change.table, ()), change.labels, strict=False)
    cell = ", ".join(write_key(column, label or None) for column, label in labels)
    name = f"{change.table}.{change.column}" + (f": {cell}" if cell else "")
    verdict = say("changes.more_than_noise") if change.real else say("changes.within_noise")
    return name, f"{change.difference} ± {change.noise_halfwidth}", verdict
