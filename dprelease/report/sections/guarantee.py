"""The guarantee, and what it means for a person."""

from __future__ import annotations

import math

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
from dprelease.report.facts.model import Beliefs, PlanFacts
from dprelease.report.numbers import percent, shortened, written


def guarantee_section(facts: PlanFacts, released: bool) -> Section:
    """State the guarantee, its parameters, and what is not protected."""
    but = " (but for private keys)" if any(query.threshold for query in facts.queries) else ""
    fixed = "were fixed before any data was read; the noise was then drawn once."
    if not released:
        fixed = "are fixed before any data is read; the noise is then drawn once."
    return Section(
        "guarantee",
        "The guarantee",
        "Guarantee",
        (
            Paragraph(facts.guarantee, "lead"),
            Tiles(_tiles(facts)),
            Paragraph(f"The size of the noise, the groups{but} and the intervals {fixed}"),
            Heading("Not protected"),
            Bullets(facts.not_protected),
        ),
    )


def _tiles(facts: PlanFacts) -> tuple[Tile, ...]:
    loss, first = facts.accounting, facts.meaning.beliefs[0]
    slack = "slack in the chance of every outcome" if loss.delta else "no failure chance"
    odds = written(shortened(math.exp(min(float(first.epsilon), 700.0)), 3))
    tiles = (
        Tile(loss.epsilon, "epsilon, the privacy loss"),
        Tile(loss.delta, f"delta, {slack}"),
        Tile(f"\u00d7 {odds}", f"most that odds change: {first.about}"),
    )
    attention = sum(row.status == "attention" for row in facts.hazards)
    if not attention:
        return tiles
    ask = "hazard asks" if attention == 1 else "hazards ask"
    return (*tiles, Tile(attention, f"{ask} for a", ("second look", "hazards")))


def meaning_section(facts: PlanFacts) -> Section:
    """Say what somebody may come to believe, and what several people together lose."""
    meaning, delta = facts.meaning, facts.accounting.delta
    many = "rows" if meaning.of == "row" else "people"
    several = "Several people, such as a family,"
    if meaning.of == "row":
        several = "Several rows of one person, or of one family,"
    slack = (
        ", up to a slack of delta in the chance of every set of outcomes: rare ones can move a "
        "belief further, and bounds over several steps have a larger slack, given below them"
        if delta
        else ""
    )
    charts = tuple(people_chart(table, at) for at, table in enumerate(meaning.beliefs, 1))
    parts: tuple[Part, ...] = (
        Paragraph(
            f"Somebody believes something of a {meaning.of} before the release. After it, whatever "
            "else they know, the odds of their belief change by a bounded factor, and the belief "
            f"stays within the bounds below{slack}."
        ),
        Group("pair", (Group("stack", charts), band_chart(meaning.beliefs))),
        Group("pair", tuple(_beliefs(table, at) for at, table in enumerate(meaning.beliefs, 1))),
        Heading("Several together"),
        Paragraph(f"{several} are protected together by less."),
        Table(
            "groups",
            f"Privacy loss for several {many} together",
            (f"{many} together", "epsilon", "delta"),
            tuple(
                (row.units, written(row.epsilon), written(shortened(row.delta)))
                for row in meaning.groups
            ),
            (1, 2),
        ),
        Details(
            "The mathematics",
            (
                Paragraph(
                    "A mechanism M is (ε, δ)-differentially private if for all neighbouring tables "
                    "x and y and every set S of results, P(M(x) ∈ S) ≤ exp(ε) P(M(y) ∈ S) + δ. "
                    "With δ = 0, Bayes' rule turns a belief π into one between "
                    "π / (π + (1 - π) exp(ε)) and π / (π + (1 - π) exp(-ε)): odds change at most "
                    f"by the factor exp(ε). For k {many} together ε becomes k ε, and δ becomes "
                    "δ (exp(k ε) - 1) / (exp(ε) - 1)."
                ),
            ),
        ),
    )
    return Section("meaning", "What that means for a person", "What it means", parts)


def _beliefs(table: Beliefs, number: int) -> Table:
    slack = f", slack {written(shortened(table.delta, 2))}" if table.delta else ""
    return Table(
        f"beliefs-{number}",
        f"Belief about {table.about} (epsilon {written(table.epsilon)}{slack})",
        ("belief before", "least belief after", "greatest belief after"),
        tuple(
            (percent(row.prior), percent(row.posterior_low), percent(row.posterior_high))
            for row in table.rows
        ),
        (1, 2),
    )
