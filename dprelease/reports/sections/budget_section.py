"""The budget: what is paid for, how it is composed, and where the ledger stands."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import say
from dprelease.reports.charts.budget_chart import (
    draw_budget_chart,
    draw_ledger_chart,
    draw_spending_chart,
)
from dprelease.reports.facts.unit_facts import describe_accounting
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import Ledger, LedgerStanding, PlanFacts
from dprelease.reports.sections.document import Group, Paragraph, Section, Table
from dprelease.reports.text.shown_numbers import format_number, shorten


def build_budget_section(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Section:
    """Say what was spent, how it adds up, and where the ledger stands, if that is known."""
    charts = []
    if ledger is not None:
        charts.append(draw_ledger_chart(ledger))
    if isinstance(ledger, Ledger) and (spending := draw_spending_chart(ledger)) is not None:
        charts.append(spending)
    bars = draw_budget_chart(facts.queries, facts.accounting, facts.perturb)
    disjoint = ledger is not None and ledger.disjoint_periods
    people = facts.meaning.of == "person"
    unit, costs = say("words.person" if people else "words.row"), []
    if facts.queries:
        costs.append(say("budget.cells_are_disjoint", unit=unit))
    if facts.perturb:
        of_tables = "budget.record_tables_of_people" if people else "budget.record_tables"
        costs.append(say(of_tables, unit=unit))
    sentence = say(
        "budget.how_added",
        method=describe_accounting(facts.accounting.method),
        periods=" ".join(costs),
    )
    return Section(
        "budget",
        say("budget.title"),
        say("budget.short_title"),
        (
            Paragraph(sentence),
            Group("pair", (bars, Group("stack", tuple(charts)))),
            _build_table(facts, ledger),
            *((Paragraph(say("budget.disjoint_periods", unit=unit)),) if disjoint else ()),
        ),
    )


def _build_table(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Table:
    """Tell what was spent, in rho too where that has a cap."""
    head = (say("words.what"), say("words.epsilon"), say("words.delta"), say("words.rho"))
    width = len(head) if ledger is not None and ledger.cap.rho is not None else len(head) - 1
    rows = tuple(row[:width] for row in _iter_rows(facts, ledger))
    numbers = tuple(range(1, width))
    return Table("accounting", say("budget.table.title"), head[:width], rows, numbers)


def _iter_rows(
    facts: PlanFacts, ledger: Ledger | LedgerStanding | None
) -> Iterator[tuple[str, ...]]:
    """Give epsilon, delta and rho of this release, by plain addition, and of the ledger."""
    accounting = facts.accounting
    yield _build_row(
        say("words.this_release"), accounting.epsilon, accounting.delta, accounting.rho
    )
    yield _build_row(
        say("budget.table.plain_sum"), accounting.basic_epsilon, accounting.basic_delta
    )
    if ledger is None:
        return
    before, after = say("budget.table.before"), say("budget.table.after")
    for when, loss in ((before, ledger.before), (after, ledger.after)):
        yield _build_row(when, loss.epsilon, loss.delta, loss.rho)
    if ledger.composed is not None:
        before, after = say("budget.table.before_composed"), say("budget.table.after_composed")
        for when, total in ((before, ledger.composed.before), (after, ledger.composed.after)):
            yield _build_row(when, total.epsilon, total.delta)
    yield _build_row(say("budget.table.cap"), ledger.cap.epsilon, ledger.cap.delta, ledger.cap.rho)


def _build_row(
    label: str, epsilon: Number | None, delta: Number | None, rho: Number | None = None
) -> tuple[str, ...]:
    return label, _write_loss(epsilon), _write_loss(delta), "" if rho is None else _write_loss(rho)


def _write_loss(value: Number | None) -> str:
    return say("words.no_cap") if value is None else format_number(shorten(value, 6))
