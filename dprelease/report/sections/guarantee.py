"""The guarantee, and what it means for a person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dprelease.language import counted, say
from dprelease.model.queries import column_name
from dprelease.postprocess.number_text import few
from dprelease.report.charts.beliefs import band_chart, people_chart
from dprelease.report.document import (
    Bullets,
    Details,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
    Tile,
    Tiles,
)
from dprelease.report.facts.meaning_model import Beliefs, GroupLoss
from dprelease.report.facts.model import PlanFacts
from dprelease.report.facts.record_level.model import Number
from dprelease.report.numbers import belief_text, headline, shortened, written
from dprelease.report.sections.hazards import status_of
from dprelease.report.sections.summary import at_half, total_label


def guarantee_section(facts: PlanFacts) -> Section:
    """State the guarantee, its parameters, and what is not protected."""
    return Section(
        "guarantee",
        say("The guarantee"),
        say("Guarantee"),
        (
            Paragraph(facts.guarantee, "lead"),
            Tiles(tuple(_tiles(facts))),
            Paragraph(" ".join(_fixed(facts))),
            Heading(say("Not protected")),
            Bullets(facts.not_protected),
        ),
    )


def _fixed(facts: PlanFacts) -> Iterator[str]:
    """Say what is fixed before any data is read, and which half-widths are not."""
    yield say("The size of the noise is fixed before any data is read. The noise is drawn once.")
    if any(query.threshold for query in facts.queries):
        yield say("The groups are fixed too, but for private keys.")
    elif any(query.by for query in facts.queries):
        yield say("The groups are fixed too.")
    fixed = [query.name for query in facts.queries if query.noise_halfwidth is not None]
    computed = [
        query.name
        for query in facts.queries
        if query.noise_halfwidth is None and query.example_halfwidth is not None
    ]
    if fixed:
        yield say("The half-widths of {names} are fixed too.", names=few(_columns(fixed)))
    if computed:
        yield say(
            "The half-widths of {names} are computed from noisy figures.",
            names=few(_columns(computed)),
        )


def _columns(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(column_name, names)))


def _tiles(facts: PlanFacts) -> Iterator[Tile]:
    """The loss, of all releases too, and the most that a belief can change about any of it."""
    loss, last = facts.accounting, facts.meaning.beliefs[-1]
    yield Tile(headline(loss.epsilon), say("epsilon, the privacy loss of this release"))
    for total in facts.meaning.totals:
        label = say("epsilon of all releases of the data set so far")
        if total.of == "cap":
            label = say("epsilon if the cap is used up")
        yield Tile(headline(total.epsilon), label)
    slack = say("delta, slack in the chance of every outcome")
    yield Tile(headline(loss.delta), slack if loss.delta else say("delta: no outcome has a slack"))
    odds = written(shortened(math.exp(min(float(last.epsilon), 700.0)), 3))
    yield Tile(f"\u00d7 {odds}", say("most that odds change: {about}", about=last.about))
    statuses = [status_of(row.status) for row in facts.hazards]
    if unchecked := statuses.count("not checked"):
        yield Tile(unchecked, say("The tool cannot check these:"), (say("checklist"), "hazards"))
    if attention := statuses.count("attention"):
        label = counted(attention, "hazard asks for a", "hazards ask for a")
        yield Tile(attention, label, (say("second look"), "hazards"))


def meaning_section(facts: PlanFacts) -> Section:
    """Say what somebody may come to believe, and what several people together lose."""
    meaning, delta = facts.meaning, facts.accounting.delta
    title = say("What that means for one person")
    loss, together = say("Privacy loss for several people together"), say("people together")
    several = say("Several people, such as a family, are protected together by less.")
    if meaning.of == "row":
        title = say("What that means for one row")
        loss, together = say("Privacy loss for several rows together"), say("rows together")
        several = say(
            "A person with several rows is protected less, and so is a family: by the bound for as "
            "many rows."
        )
    slack = ""
    if delta:
        slack = say(
            "That holds up to a slack of delta in the chance of every set of outcomes: rare ones "
            "can move a belief further, and bounds over several steps have a larger slack, given "
            "below them."
        )
    charts = tuple(people_chart(table, at) for at, table in enumerate(meaning.beliefs, 1))
    parts: tuple[Part, ...] = (
        Paragraph(" ".join(filter(None, (_unit(facts), _belief(meaning.of), slack)))),
        Group("pair", (Group("stack", charts), band_chart(meaning.beliefs))),
        Group("pair", tuple(_beliefs(table, at) for at, table in enumerate(meaning.beliefs, 1))),
        *((_totals(facts),) if meaning.totals else ()),
        Heading(say("Several together")),
        Paragraph(several),
        Table(
            "groups",
            loss,
            (
                together,
                say("epsilon"),
                say("delta"),
                say("a belief of 50% becomes at most"),
                say("protection"),
            ),
            tuple(map(_group, meaning.groups)),
            (1, 2, 3),
        ),
        Details(
            say("The mathematics"),
            (
                Paragraph(
                    say(
                        "A mechanism M is (ε, δ)-differentially private if for all neighbouring "
                        "tables x and y and every set S of results, P(M(x) ∈ S) ≤ exp(ε) P(M(y) ∈ "
                        "S) + δ. With δ = 0, Bayes' rule turns a belief π into one between π / (π "
                        "+ (1 - π) exp(ε)) and π / (π + (1 - π) exp(-ε)): odds change at most by "
                        "the factor exp(ε). For k together ε becomes k ε, and δ becomes δ (exp(k "
                        "ε) - 1) / (exp(ε) - 1)."
                    )
                ),
            ),
        ),
    )
    return Section("meaning", title, say("What it means"), parts)


def _unit(facts: PlanFacts) -> str:
    """Say what a row is, as the spec describes it."""
    described = facts.deployment.privacy_unit.description
    if facts.meaning.of == "row" and described:
        return say("A row is {described}.", described=described)
    return ""


def _belief(of: str) -> str:
    if of == "row":
        return say(
            "Somebody believes something of a row before the release. After it, whatever else they "
            "know, the odds of their belief change by a bounded factor, and the belief stays "
            "within the bounds below."
        )
    return say(
        "Somebody believes something of a person before the release. After it, whatever else they "
        "know, the odds of their belief change by a bounded factor, and the belief stays within "
        "the bounds below."
    )


def _group(row: GroupLoss) -> tuple[str | int, ...]:
    high = "" if row.posterior_high is None else belief_text(row.posterior_high)
    protection = say("no protection") if row.protected is False else ""
    return row.units, headline(row.epsilon), written(shortened(row.delta)), high, protection


def _totals(facts: PlanFacts) -> Table:
    """What this release, all releases so far and a used-up cap mean for a belief of one half."""
    meaning, loss = facts.meaning, facts.accounting
    rows: list[tuple[str, Number, Number | None, tuple[Beliefs, ...]]] = [
        (say("This release"), loss.epsilon, loss.delta, meaning.beliefs),
        *((total_label(of), of.epsilon, of.delta, of.beliefs) for of in meaning.totals),
    ]
    return Table(
        "totals",
        say("All releases of the data set: a belief of 50% becomes at most"),
        (say("what"), say("epsilon"), say("delta"), *(table.about for table in meaning.beliefs)),
        tuple(
            (
                label,
                headline(epsilon),
                say("no cap") if delta is None else headline(delta),
                *(belief_text(at_half(table).posterior_high) for table in tables),
            )
            for label, epsilon, delta, tables in rows
        ),
        tuple(range(1, 3 + len(meaning.beliefs))),
    )


def _beliefs(table: Beliefs, number: int) -> Table:
    epsilon = headline(table.epsilon)
    title = say("Belief about {about} (epsilon {epsilon})", about=table.about, epsilon=epsilon)
    if table.delta:
        title = say(
            "Belief about {about} (epsilon {epsilon}, slack {delta})",
            about=table.about,
            epsilon=epsilon,
            delta=written(shortened(table.delta, 2)),
        )
    return Table(
        f"beliefs-{number}",
        title,
        (say("belief before"), say("least belief after"), say("greatest belief after")),
        tuple(
            tuple(map(belief_text, (row.prior, row.posterior_low, row.posterior_high)))
            for row in table.rows
        ),
        (1, 2),
    )
