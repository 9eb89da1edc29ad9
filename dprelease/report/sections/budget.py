"""The budget: what is paid for, how it is composed, and where the ledger stands."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.language import say
from dprelease.report.charts.budget import budget_chart, ledger_chart, spending_chart
from dprelease.report.document import Group, Paragraph, Section, Table
from dprelease.report.facts.model import Ledger, LedgerStanding, PlanFacts
from dprelease.report.facts.record_level.model import Number
from dprelease.report.facts.units import added
from dprelease.report.numbers import shortened, written


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
        "How losses were added: {method}. {facts}",
        method=added(facts.accounting.method),
        facts=" ".join(_costs(facts)),
    )
    declared = say(
        "Declared: each {of} has records in one period only. The dataset's figures are those of "
        "the periods that cost most together.",
        of=say(facts.meaning.of),
    )
    return Section(
        "budget",
        say("The budget"),
        say("Budget"),
        (
            Paragraph(said),
            Group("pair", (bars, Group("stack", tuple(charts)))),
            _table(facts, ledger),
            *((Paragraph(declared),) if disjoint else ()),
        ),
    )


def _costs(facts: PlanFacts) -> Iterator[str]:
    """Say what a query costs, and a record-level table."""
    one = say(facts.meaning.of)
    if facts.queries:
        yield say(
            "The cells of a table are disjoint: a query costs what one {one} can change in them, "
            "not a sum over the cells.",
            one=one,
        )
    if facts.perturb:
        yield say(
            "A record-level table costs what all answers about one {one} lose together: those of "
            "its columns{one_2} add up, those of others don't.",
            one=one,
            one_2=say(" and rows") if facts.meaning.of == "person" else "",
        )


def _table(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Table:
    """Tell what was spent, in rho too where that has a cap."""
    head = (say("what"), say("epsilon"), say("delta"), say("rho"))
    width = len(head) if ledger is not None and ledger.cap.rho is not None else len(head) - 1
    rows = tuple(row[:width] for row in _rows(facts, ledger))
    numbers = tuple(range(1, width))
    return Table("accounting", say("Privacy loss, composed"), head[:width], rows, numbers)


def _rows(facts: PlanFacts, ledger: Ledger | LedgerStanding | None) -> Iterator[tuple[str, ...]]:
    """Give epsilon, delta and rho of this release, by plain addition, and of the ledger."""
    spent = facts.accounting
    yield _row(say("this release"), spent.epsilon, spent.delta, spent.rho)
    yield _row(say("plain addition would say"), spent.basic_epsilon, spent.basic_delta)
    if ledger is None:
        return
    before, after = say("dataset before this release"), say("dataset after this release")
    for when, loss in ((before, ledger.before), (after, ledger.after)):
        yield _row(when, loss.epsilon, loss.delta, loss.rho)
    if ledger.composed is not None:
        before, after = say("dataset before, composed"), say("dataset after, composed")
        for when, total in ((before, ledger.composed.before), (after, ledger.composed.after)):
            yield _row(when, total.epsilon, total.delta)
    yield _row(say("cap"), ledger.cap.epsilon, ledger.cap.delta, ledger.cap.rho)


def _row(
    label: str, epsilon: Number | None, delta: Number | None, rho: Number | None = None
) -> tuple[str, ...]:
    return label, _loss(epsilon), _loss(delta), "" if rho is None else _loss(rho)


def _loss(value: Number | None) -> str:
    return say("no cap") if value is None else written(shortened(value, 6))
