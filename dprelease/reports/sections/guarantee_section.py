"""The guarantee, and what it means for a person."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dprelease.language import say, say_count
from dprelease.reports.charts.beliefs import draw_band_chart, draw_people_chart
from dprelease.reports.facts.hazard_facts import translate_status
from dprelease.reports.facts.unit_facts import PLANNED
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import Beliefs, GroupLoss, PlanFacts
from dprelease.reports.sections.document import (
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
from dprelease.reports.sections.summary_section import name_total
from dprelease.reports.text.shown_names import join_columns
from dprelease.reports.text.shown_numbers import (
    format_number,
    shorten,
    write_belief,
    write_headline,
)


def build_guarantee_section(facts: PlanFacts) -> Section:
    """State the guarantee, its parameters, and what is not protected."""
    return Section(
        "guarantee",
        say("guarantee.title"),
        say("guarantee.short_title"),
        (
            Paragraph(facts.guarantee, "lead"),
            Tiles(tuple(_iter_tiles(facts))),
            Paragraph(" ".join(_describe_fixed(facts))),
            Heading(say("guarantee.not_protected.title")),
            Bullets(facts.not_protected),
        ),
    )


def _describe_fixed(facts: PlanFacts) -> Iterator[str]:
    """Say what is fixed before any data is read, and which half-widths are not."""
    yield say("guarantee.fixed.noise")
    if any(query.threshold for query in facts.queries):
        yield say("guarantee.fixed.groups_but_private")
    elif any(query.by for query in facts.queries):
        yield say("guarantee.fixed.groups")
    fixed, computed = list[str](), list[str]()
    for query in facts.queries:
        if query.noise_halfwidth is not None:
            # That of a figure that is moved or hidden reaches to the end of its interval.
            (computed if query.finishing is not None else fixed).append(query.name)
        elif query.example_halfwidth is not None:
            computed.append(query.name)
    if fixed:
        yield say("guarantee.fixed.halfwidths", names=join_columns(fixed))
    if computed:
        yield say("guarantee.fixed.computed_halfwidths", names=join_columns(computed))


def _iter_tiles(facts: PlanFacts) -> Iterator[Tile]:
    """Iterate over tiles: losses, of all releases too, and the most that a belief can change."""
    loss, last = facts.accounting, facts.meaning.beliefs[-1]
    yield Tile(write_headline(loss.epsilon), say("guarantee.numbers.epsilon"))
    for total in facts.meaning.totals:
        label = say("guarantee.numbers.epsilon_so_far")
        if total.of == "cap":
            label = say("guarantee.numbers.epsilon_of_cap")
        elif total.of == PLANNED:
            label = say("guarantee.numbers.epsilon_planned")
        yield Tile(write_headline(total.epsilon), label)
    slack = say("guarantee.numbers.delta")
    yield Tile(
        write_headline(loss.delta), slack if loss.delta else say("guarantee.numbers.no_delta")
    )
    odds = format_number(shorten(math.exp(min(float(last.epsilon), 700.0)), 3))
    yield Tile(f"\u00d7 {odds}", say("guarantee.numbers.odds", about=last.about))
    statuses = [translate_status(row.status) for row in facts.hazards]
    if unchecked := statuses.count("not checked"):
        yield Tile(
            unchecked,
            say("guarantee.checklist.cannot_check"),
            (say("guarantee.checklist.link"), "hazards"),
        )
    if attention := statuses.count("attention"):
        label = say_count(attention, "guarantee.checklist.hazards_ask")
        yield Tile(attention, label, (say("guarantee.checklist.second_look"), "hazards"))


def build_meaning_section(facts: PlanFacts) -> Section:
    """Say what somebody may come to believe, and what several people together lose."""
    meaning, delta = facts.meaning, facts.accounting.delta
    title = say("guarantee.person.title")
    loss, together = say("guarantee.people.title"), say("guarantee.people.column")
    several, lead = say("guarantee.people.note"), say("guarantee.meaning.belief_of_person")
    if meaning.of == "row":
        title = say("guarantee.row.title")
        loss, together = say("guarantee.rows.title"), say("guarantee.rows.column")
        several, lead = say("guarantee.rows.note"), say("guarantee.meaning.belief_of_row")
        if described := facts.deployment.privacy_unit.description:
            lead = f"{say('guarantee.meaning.row', described=described)} {lead}"
    if delta:
        lead = f"{lead} {say('guarantee.delta.slack')}"
    # Version 0.2 told of several together only the first.
    told = meaning.beliefs if meaning.groups[0].beliefs else meaning.beliefs[:1]
    charts = tuple(draw_people_chart(table, at) for at, table in enumerate(meaning.beliefs, 1))
    parts: tuple[Part, ...] = (
        Paragraph(lead),
        Group("pair", (Group("stack", charts), draw_band_chart(meaning.beliefs))),
        Group(
            "pair",
            tuple(_build_beliefs_table(table, at) for at, table in enumerate(meaning.beliefs, 1)),
        ),
        *((_build_totals_table(facts),) if meaning.totals else ()),
        Heading(say("guarantee.several.title")),
        Paragraph(several),
        Table(
            "groups",
            loss,
            (
                together,
                say("words.epsilon"),
                say("words.delta"),
                *(say("guarantee.beliefs.half_becomes_about", about=table.about) for table in told),
                say("guarantee.several.protection"),
            ),
            tuple(_write_group(row, len(told)) for row in meaning.groups),
            tuple(range(1, 3 + len(told))),
        ),
        Details(
            say("guarantee.mathematics.title"),
            (Paragraph(say("guarantee.mathematics.definition")),),
        ),
    )
    return Section("meaning", title, say("guarantee.meaning.title"), parts)


def _write_group(row: GroupLoss, number: int) -> tuple[str | int, ...]:
    """Write the loss of several together, with so many beliefs."""
    beliefs = row.beliefs or (row.posterior_high,)
    no_bound = say("guarantee.several.no_bound") if row.beliefs else ""
    return (
        row.units,
        write_headline(row.epsilon),
        format_number(shorten(row.delta)),
        *(no_bound if high is None else write_belief(high) for high in beliefs[:number]),
        say("guarantee.several.none") if row.protected is False else "",
    )


def _build_totals_table(facts: PlanFacts) -> Table:
    """Build a table: this release, all so far and a used-up cap, for a belief of one half."""
    meaning, loss = facts.meaning, facts.accounting
    rows: list[tuple[str, Number, Number | None, tuple[Beliefs, ...]]] = [
        (say("guarantee.beliefs.this_release"), loss.epsilon, loss.delta, meaning.beliefs),
        *((name_total(of), of.epsilon, of.delta, of.beliefs) for of in meaning.totals),
    ]
    return Table(
        "totals",
        say("guarantee.beliefs.all_releases"),
        (
            say("words.what"),
            say("words.epsilon"),
            say("words.delta"),
            *(table.about for table in meaning.beliefs),
        ),
        tuple(
            (
                label,
                write_headline(epsilon),
                say("words.no_cap") if delta is None else write_headline(delta),
                *(write_belief(table.get_row(0.5).posterior_high) for table in tables),
            )
            for label, epsilon, delta, tables in rows
        ),
        tuple(range(1, 3 + len(meaning.beliefs))),
    )


def _build_beliefs_table(table: Beliefs, number: int) -> Table:
    epsilon = write_headline(table.epsilon)
    title = say("guarantee.beliefs.caption", about=table.about, epsilon=epsilon)
    if table.delta:
        title = say(
            "guarantee.beliefs.caption_with_delta",
            about=table.about,
            epsilon=epsilon,
            delta=format_number(shorten(table.delta, 2)),
        )
    return Table(
        f"beliefs-{number}",
        title,
        (
            say("guarantee.beliefs.before"),
            say("guarantee.beliefs.least"),
            say("guarantee.beliefs.greatest"),
        ),
        tuple(
            tuple(map(write_belief, (row.prior, row.posterior_low, row.posterior_high)))
            for row in table.rows
        ),
        (1, 2),
    )
