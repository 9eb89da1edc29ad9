"""The guarantee, and what it means for a person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dprelease.language import say, say_count
from dprelease.reports.charts.beliefs import draw_band_chart, draw_people_chart
from dprelease.reports.facts.privacy_facts import is_bounding
from dprelease.reports.facts.unit_facts import PLANNED
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import Beliefs, GroupLoss, PlanFacts
from dprelease.reports.sections.document import (
    Bullets,
    Details,
    Group,
    Heading,
    Meter,
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
            *_iter_own_rows(facts),
        ),
    )


def _iter_own_rows(facts: PlanFacts) -> Iterator[Part]:
    """Tell a person in the data what may be learnt of them at most, by how many rows are theirs.

    The larger bound counts, that of what rows say. Nothing if version 0.2 left it out.
    """
    meaning, column = facts.meaning, facts.deployment.privacy_unit.unit_column
    if not meaning.groups[0].beliefs:
        return
    if column is None:
        lead = say("guarantee.own_rows.rows")
        bounds = [
            _word_bound(group, say_count(group.units, "words.rows_counted"))
            for group in meaning.groups
        ]
    else:
        lead = say("guarantee.own_rows.person", column=column)
        bounds = [_word_bound(meaning.groups[0], say("guarantee.own_rows.all"))]
    parts: list[Part] = [
        Paragraph(f"{lead} {say('guarantee.own_rows.note')}"),
        Bullets(tuple(bounds)),
    ]
    if facts.accounting.delta:
        parts.append(Paragraph(say("guarantee.own_rows.slack")))
    yield Details(say("guarantee.own_rows.title"), tuple(parts))


def _word_bound(group: GroupLoss, rows: str) -> str:
    """Say what a belief of 50% about so many units together becomes at most."""
    high = group.beliefs[-1]
    if high is None:
        return say("guarantee.own_rows.no_bound", rows=rows)
    words = {"rows": rows, "belief": write_belief(high)}
    if group.protected is False:
        return say("guarantee.own_rows.no_protection", **words)
    return say("guarantee.own_rows.at_most", **words)


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
    totals = {total.of: total for total in facts.meaning.totals}
    cap = totals.pop("cap", None)
    for total in totals.values():
        label = say("guarantee.numbers.epsilon_so_far")
        if total.of == PLANNED:
            label = say("guarantee.numbers.epsilon_planned")
        used = write_headline(total.epsilon)
        if cap is None:
            yield Tile(used, label)
        else:
            used = say("privacy_facts.of_cap", used=used, cap=format_number(cap.epsilon))
            yield Tile(used, label, meter=build_meter(loss.epsilon, total.epsilon, cap.epsilon))
    if loss.delta:
        yield Tile(write_headline(loss.delta), say("guarantee.numbers.delta"))
    odds = format_number(shorten(math.exp(min(float(last.epsilon), 700.0)), 3))
    yield Tile(f"\u00d7 {odds}", say("guarantee.numbers.odds", about=last.about))


def build_meter(epsilon: Number, of_all: Number, cap: Number) -> Meter:
    """Build a meter of a cap: what was used before, by this release, and what is left."""
    limit, used = float(cap) or 1.0, float(of_all)
    # Losses that are composed can add up to less than their sum.
    now = min(float(epsilon), used)
    remaining = max(0.0, limit - used)
    text = say(
        "privacy_facts.meter",
        before=write_headline(float(f"{used - now:.12g}")),
        now=write_headline(float(f"{now:.12g}")),
        left=format_number(float(f"{remaining:.3g}")),
    )
    return Meter(min(1.0, (used - now) / limit), min(1.0, now / limit), text)


def build_meaning_section(facts: PlanFacts) -> Section:
    """Say what somebody may come to believe, and what several people together lose."""
    meaning, delta = facts.meaning, facts.accounting.delta
    title = say("guarantee.person.title")
    loss, together_word = say("guarantee.people.title"), say("guarantee.people.column")
    note, lead = say("guarantee.people.note"), say("guarantee.meaning.belief_of_person")
    if meaning.of == "row":
        title = say("guarantee.row.title")
        loss, together_word = say("guarantee.rows.title"), say("guarantee.rows.column")
        note, lead = say("guarantee.rows.note"), say("guarantee.meaning.belief_of_row")
        if described := facts.deployment.privacy_unit.description:
            lead = f"{say('guarantee.meaning.row', described=described)} {lead}"
    if delta:
        lead = f"{lead} {say('guarantee.delta.slack')}"
    # Version 0.2 told of several together only the first.
    told = meaning.beliefs if meaning.groups[0].beliefs else meaning.beliefs[:1]
    charts = tuple(draw_people_chart(table, at) for at, table in enumerate(meaning.beliefs, 1))
    beliefs = Group("", (Group("charts", charts), _build_beliefs_table(meaning.beliefs)))
    together = Table(
        "groups",
        loss,
        (
            together_word,
            say("words.epsilon"),
            say("words.delta"),
            *(say("guarantee.beliefs.half_becomes_about", about=table.about) for table in told),
            say("guarantee.several.protection"),
        ),
        tuple(_write_group(row, len(told)) for row in meaning.groups),
        tuple(range(1, 3 + len(told))),
    )
    several = Heading(say("guarantee.several.title")), Paragraph(note), together
    parts: tuple[Part, ...] = (
        Paragraph(lead),
        Group("overview", (beliefs, draw_band_chart(meaning.beliefs))),
        *((_build_totals_table(facts),) if meaning.totals else ()),
        *several,
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
                *(
                    write_belief(table.get_row(0.5).posterior_high)
                    if is_bounding(table, delta)
                    else say("guarantee.several.no_bound")
                    for table in tables
                ),
            )
            for label, epsilon, delta, tables in rows
        ),
        tuple(range(1, 3 + len(meaning.beliefs))),
    )


def _build_beliefs_table(beliefs: Sequence[Beliefs]) -> Table:
    """Build a table: for each belief before, what it stays between, of each thing believed."""
    head = [say("guarantee.beliefs.before")]
    for table in beliefs:
        words = {"about": table.about, "epsilon": write_headline(table.epsilon)}
        if table.delta:
            delta = format_number(shorten(table.delta, 2))
            head.append(say("guarantee.beliefs.caption_with_delta", **words, delta=delta))
        else:
            head.append(say("guarantee.beliefs.caption", **words))
    rows = zip(*(table.rows for table in beliefs), strict=True)
    return Table(
        "beliefs",
        say("charts.beliefs.title"),
        tuple(head),
        tuple(
            (
                write_belief(ranges[0].prior),
                *(
                    say(
                        "privacy_facts.between",
                        low=write_belief(row.posterior_low),
                        high=write_belief(row.posterior_high),
                    )
                    for row in ranges
                ),
            )
            for ranges in rows
        ),
        tuple(range(1, 1 + len(beliefs))),
    )
