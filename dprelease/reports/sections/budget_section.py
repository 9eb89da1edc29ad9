"""The budget: what is paid for, how it is composed, and where the ledger stands."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import say
from dprelease.reports.charts.budget_chart import budget_chart, ledger_chart, spending_chart
from dprelease.reports.facts.unit_facts import added
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import Ledger, LedgerStanding, PlanFacts
from dprelease.reports.sections.document import Group, Paragraph, Section, Table
from dprelease.reports.text.shown_numbers import shortened, written


def budget_section(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Section:
    """Say what was spent, how it adds up, and where the ledger stands, if that is known."""
    charts = []
    if ledger is not None:
        charts.append(ledger_chart(ledger))
    if isinstance(ledger, Ledger) and (spending := spending_chart(ledger)) is not None:
        charts.append(spending)
    bars = budget_chart(facts.queries, facts.accounting, facts.perturb)
    disjoint = ledger is not None and ledger.disjoint_periods
    said = say(
        "budget.how_added",
        method=added(facts.accounting.method),
        periods=" ".join(_costs(facts)),
    )
    declared = say(
        "budget.disjoint_periods",
        unit=say("words.person" if facts.meaning.of == "person" else "words.row"),
    )
    return Section(
        "budget",
        say("budget.title"),
        say("budget.short_title"),
        (
            Paragraph(said),
            Group("pair", (bars, Group("stack", tuple(charts)))),
            _table(facts, ledger),
            *((Paragraph(declared),) if disjoint else ()),
        ),
    )


def _costs(facts: PlanFacts) -> Iterator[str]:
    """Say what a query costs, and a record-level table."""
    one = say("words.person" if facts.meaning.of == "person" else "words.row")
    if facts.queries:
        yield say(
            "budget.cells_are_disjoint",
            unit=one,
        )
    if facts.perturb:
        yield say(
            "budget.record_tables",
            unit=one,
            and_rows=say("budget.and_rows") if facts.meaning.of == "person" else "",
        )


def _table(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Table:
    """Tell what was spent, in rho too where that has a cap."""
    head = (say("words.what"), say("words.epsilon"), say("words.delta"), say("words.rho"))
    width = len(head) if ledger is not None and ledger.cap.rho is not None else len(head) - 1
    rows = tuple(row[:width] for row in _rows(facts, ledger))
    numbers = tuple(range(1, width))
    return Table("accounting", say("budget.table.title"), head[:width], rows, numbers)


def _rows(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Iterator[tuple[str, ...]]:
    """Give epsilon, delta and rho of this release, by plain addition, and of the ledger."""
    spent = facts.accounting
    yield _row(say("words.this_release"), spent.epsilon, spent.delta, spent.rho)
    yield _row(say("budget.table.plain_sum"), spent.basic_epsilon, spent.basic_delta)
    if ledger is None:
        return
    before, after = say("budget.table.before"), say("budget.table.after")
    for when, loss in ((before, ledger.before), (after, ledger.after)):
        yield _row(when, loss.epsilon, loss.delta, loss.rho)
    if ledger.composed is not None:
        before, after = say("budget.table.before_composed"), say("budget.table.after_composed")
        for when, total in ((before, ledger.composed.before), (after, ledger.composed.after)):
            yield _row(when, total.epsilon, total.delta)
    yield _row(say("budget.table.cap"), ledger.cap.epsilon, ledger.cap.delta, ledger.cap.rho)


def _row(
    label: str, epsilon: Number | None, delta: Number | None, rho: Number | None = None
) -> tuple[str, ...]:
    return label, _loss(epsilon), _loss(delta), "" if rho is None else _loss(rho)


def _loss(value: Number | None) -> str:
    return say("words.no_cap") if value is None else written(shortened(value, 6))
