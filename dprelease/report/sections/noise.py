"""How the noise is made: each query's mechanism, sensitivity, scale and error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.language import counted, number_text, say, template
from dprelease.postprocess.number_text import listing
from dprelease.report.charts.noises import dots_chart, error_chart
from dprelease.report.document import (
    Definitions,
    Details,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.report.facts.model import Accuracy, PlanFacts, Query, Sensitivity
from dprelease.report.facts.strategy_model import StrategyFacts, StrategyGroup, StrategyStep
from dprelease.report.numbers import shortened, written

HEAD = (
    template("query"),
    template("statistic"),
    template("by"),
    template("cells"),
    template("noise"),
    template("expected error"),
)

MOST_ROWS = 4


def noise_section(facts: PlanFacts, level: float, released: bool) -> Section:
    """Say how large the noise of each query is, and why."""
    units = say("people") if facts.meaning.of == "person" else say("rows")
    drawn = (dots_chart(facts.queries, level), error_chart(facts.queries, facts.columns, units))
    charts = tuple(chart for chart in drawn if chart is not None)
    choices = (
        say(
            " Of a choice it is the scores that move, of quantiles the number of values. Their "
            "scale is how far a score, or a rank, must fall behind to become less likely by a "
            "factor of e (2.718)."
        )
        if any(query.form != "numbers" for query in facts.queries)
        else ""
    )
    ranks = (
        say(
            " Within 10 ranks: of all that can be published, the figure is the nearest to a value "
            "which stands at most 10 places from the true quantile, all values being put in order."
        )
        if any(query.form == "quantiles" for query in facts.queries)
        else ""
    )
    if any(query.form == "quantiles" and query.survey_weight for query in facts.queries):
        weighted = say("Of a weighted quantile, a record takes as many ranks as its weight says.")
        ranks = f"{ranks} {weighted}"
    parts: tuple[Part, ...] = (
        Paragraph(
            say(
                "The expected error is the half-width of the {level:g}% noise interval.",
                level=level,
            )
            + ranks
        ),
        _queries(facts),
        *_together(facts.strategies),
        *((Group("pair", charts),) if charts else ()),
        Heading(say("Sensitivity, mechanism and scale of each query")),
        Paragraph(
            say(
                "How far one {of} can move all released figures of a query together, and "
                "why.{choices}",
                of=say(facts.meaning.of),
                choices=choices,
            )
        ),
        *(
            Details(
                query.title,
                (Definitions(tuple(_detail(query))), *map(Paragraph, _sentences(query))),
                query.name,
            )
            for query in facts.queries
        ),
    )
    return Section(
        "noise",
        say("How the noise was made") if released else say("How the noise is made"),
        say("Noise"),
        parts,
    )


def _together(strategies: Sequence[StrategyFacts]) -> Iterator[Part]:
    """Say what is planned together, what is released for it, and how much less that errs."""
    if strategies:
        yield Heading(say("Planned together"))
    for number, strategy in enumerate(strategies, start=1):
        yield Paragraph(" ".join(strategy.explained))
        rows = tuple(
            (
                query.name,
                *(written(shortened(size)) for size in sizes),
                say("{share}%", share=query.saved),
            )
            for query in strategy.queries
            for sizes in [(query.deviation, query.alone)]
        )
        yield Table(
            f"together-{number}",
            say("Standard deviation of the noise"),
            (say("query"), say("planned together"), say("alone"), say("less")),
            rows,
            (1, 2, 3),
        )
        yield Details(
            say("released for strategy {number}", number=number),
            (
                Table(
                    f"together-{number}-released",
                    say("What is released in their place"),
                    (say("released"), say("each cell"), say("noise"), say("epsilon"), say("delta")),
                    tuple(_released(step, strategy.groups) for step in strategy.steps),
                    (3, 4),
                ),
            ),
        )


def _released(step: StrategyStep, groups: Sequence[StrategyGroup]) -> tuple[str, ...]:
    """Name what a strategy releases, how its cells are mixed, and its noise and cost."""
    columns = [groups[place].column for place in step.groups]
    mixed: dict[str, list[str]] = {}
    for axis, column in zip(step.axes, columns, strict=True):
        if axis.kind != "each":
            mixed.setdefault(axis.kind, []).append(column)
    what = (
        "; ".join(step.rows)
        if len(step.rows) < MOST_ROWS
        else say("{rows} integers", rows=len(step.rows))
    )
    what += "".join(
        say(", {kind} along {names}", kind=kind, names=listing(names))
        for kind, names in mixed.items()
    )
    parameter = written(shortened(float(Fraction(step.parameter))))
    law = say("sigma squared") if step.family == "gaussian" else say("scale")
    losses = (written(shortened(step.epsilon)), written(shortened(step.delta)))
    return step.name, what, f"{step.family}, {law} {parameter}", *losses


def _sentences(query: Query) -> tuple[str, ...]:
    """What a table of scales can't explain, and what is done after the noise."""
    return query.explained + (query.finishing.explained if query.finishing else ())


def _queries(facts: PlanFacts) -> Table:
    """List the queries with their costs: rho where that adds up to the total, else epsilon."""
    in_rho = facts.accounting.method == "zcdp" and all(q.rho is not None for q in facts.queries)
    costs = ("rho",) if in_rho else ("epsilon", "delta")
    rows = tuple(_row(query, in_rho) for query in facts.queries)
    return Table(
        "queries", say("Queries"), (*map(say, HEAD), *costs), rows, (3, 6, 7)[: len(costs) + 1]
    )


def _row(query: Query, in_rho: bool) -> tuple[str, ...]:
    """What, in how many cells, how noisy, at what cost."""
    return (
        query.name,
        query.title,
        ", ".join(query.by) or say("overall"),
        say("private") if query.cells is None else number_text(f"{query.cells:,}"),
        query.mechanism,
        query.expected_error,
        *_paid(query, in_rho),
    )


def _paid(query: Query, in_rho: bool) -> tuple[str, ...]:
    """The cost; of a shared release it is told once, with the query that lends it."""
    if query.lender not in {None, query.name}:
        lent = say("as {query}", query=query.lender)
        return (lent,) if in_rho else (lent, "")
    if in_rho and query.rho is not None:
        return (written(shortened(query.rho)),)
    return written(shortened(query.epsilon)), written(shortened(query.delta))


def _detail(query: Query) -> Iterator[tuple[str, str]]:
    """List the mathematics of a query."""
    if query.where:
        yield say("condition"), query.where
    yield say("mechanism"), query.mechanism
    yield say("sensitivity"), _sensitivity(query.sensitivity)
    yield say("because"), query.sensitivity.derivation
    yield say("scale of the noise"), written(query.scale)
    yield say("granularity"), written(query.granularity)
    if query.denominator:
        yield say("scale of the denominator"), written(query.denominator.scale)
    yield say("expected error"), query.expected_error
    yield say("epsilon, exactly"), number_text(query.epsilon_exact)
    if query.delta:
        yield "delta", written(query.delta)
    if query.rho is not None:
        yield "rho", written(query.rho)
    if query.accuracy:
        target = query.accuracy
        yield say("asked for"), _asked(target, weighted=query.survey_weight is not None)
    if query.threshold:
        yield say("shown from a noisy count of"), number_text(f"{query.threshold.at_least:,}")


def _asked(target: Accuracy, *, weighted: bool) -> str:
    values = {"within": written(target.within), "confidence": target.confidence}
    if target.records is None:
        return say("± {within} with {confidence} certainty", **values)
    if weighted:
        return say(
            "± {within} at a weighted count of {records:,} with {confidence} certainty",
            records=target.records,
            **values,
        )
    return say(
        "± {within} at {records:,} values with {confidence} certainty",
        records=target.records,
        **values,
    )


def _sensitivity(sensitivity: Sensitivity) -> str:
    if sensitivity.l2 is None:
        if sensitivity.of == "weight":
            return say("a weight of {l1}", l1=written(sensitivity.l1))
        if sensitivity.of == "rows":
            return counted(int(sensitivity.l1), "{n:,} value", "{n:,} values")
        size = written(sensitivity.l1)
        return say("a score moves by {size}", size=size) if sensitivity.of == "score" else size
    return f"L1 {written(sensitivity.l1)}, L2 {written(sensitivity.l2)}"
