"""How the noise is made: each query's mechanism, sensitivity, scale and error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dprelease.language import number_text, say, say_count
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.charts.noises import draw_dots_chart, draw_error_chart
from dprelease.reports.model.report_model import Accuracy, PlanFacts, Query, Sensitivity
from dprelease.reports.model.strategy_model import StrategyFacts, StrategyGroup, StrategyStep
from dprelease.reports.sections.document import (
    Definitions,
    Details,
    Group,
    Heading,
    Paragraph,
    Part,
    Section,
    Table,
)
from dprelease.reports.text.shown_numbers import format_number, shorten
from dprelease.reports.text.spec_words import MECHANISM_WORDS, write_title

HEAD = (
    "words.query",
    "noise.columns.statistic",
    "noise.columns.by",
    "noise.columns.cells",
    "noise.columns.noise",
    "words.expected_error",
)

MOST_ROWS = 4


def build_noise_section(facts: PlanFacts, level: float, released: bool) -> Section:
    """Say how large the noise of each query is, and why."""
    units = say("words.people") if facts.meaning.of == "person" else say("words.rows")
    noise_charts = (
        draw_dots_chart(facts.queries, level),
        draw_error_chart(facts.queries, facts.columns, units),
    )
    charts = tuple(chart for chart in noise_charts if chart is not None)
    unit = say("words.person" if facts.meaning.of == "person" else "words.row")
    moved = [say("noise.sensitivity.note", unit=unit)]
    if any(query.form != "numbers" for query in facts.queries):
        moved.append(say("noise.sensitivity.choices"))
    expected = [say("noise.expected_error", level=level)]
    quantiles = [query for query in facts.queries if query.form == "quantiles"]
    if quantiles:
        expected.append(say("noise.ranks"))
    if any(query.survey_weight for query in quantiles):
        expected.append(say("reading.weighted_quantile"))
    parts: tuple[Part, ...] = (
        Paragraph(" ".join(expected)),
        _build_query_table(facts),
        *_iter_strategy_parts(facts.strategies),
        *((Group("pair", charts),) if charts else ()),
        Heading(say("noise.sensitivity.title")),
        Paragraph(" ".join(moved)),
        *(
            Details(
                write_title(query),
                (
                    *(() if released else map(Paragraph, _list_definition(query))),
                    Definitions(tuple(_iter_details(query))),
                    # what a table of scales can't explain, and what is done after the noise
                    *map(Paragraph, query.explained),
                    *map(Paragraph, query.finishing.explained if query.finishing else ()),
                ),
                query.name,
            )
            for query in facts.queries
        ),
    )
    return Section(
        "noise",
        say("noise.title_after") if released else say("noise.title_before"),
        say("noise.short_title"),
        parts,
    )


def _iter_strategy_parts(strategies: Sequence[StrategyFacts]) -> Iterator[Part]:
    """Say what is planned together, what is released for it, and how much less that errs."""
    if strategies:
        yield Heading(say("strategies.planned_together"))
    for number, strategy in enumerate(strategies, start=1):
        yield Paragraph(" ".join(strategy.explained))
        rows = tuple(
            (
                query.name,
                *(format_number(shorten(size)) for size in sizes),
                say("words.percent", share=query.saving),
            )
            for query in strategy.queries
            for sizes in [(query.deviation, query.alone)]
        )
        yield Table(
            f"together-{number}",
            say("noise.strategies.deviation"),
            (
                say("words.query"),
                say("noise.strategies.together"),
                say("noise.strategies.alone"),
                say("noise.strategies.less"),
            ),
            rows,
            (1, 2, 3),
        )
        yield Details(
            say("noise.strategies.released_for", number=number),
            (
                Table(
                    f"together-{number}-released",
                    say("noise.strategies.in_their_place"),
                    (
                        say("noise.strategies.released"),
                        say("noise.strategies.each_cell"),
                        say("noise.columns.noise"),
                        say("words.epsilon"),
                        say("words.delta"),
                    ),
                    tuple(_describe_release(step, strategy.groups) for step in strategy.steps),
                    (3, 4),
                ),
            ),
        )


def _describe_release(step: StrategyStep, groups: Sequence[StrategyGroup]) -> tuple[str, ...]:
    """Name what a strategy releases, how its cells are mixed, and its noise and cost."""
    columns = [groups[place].column for place in step.groups]
    mixed: dict[str, list[str]] = {}
    for axis, column in zip(step.axes, columns, strict=True):
        if axis.kind != "each":
            mixed.setdefault(axis.kind, []).append(column)
    noun = (
        "; ".join(step.rows)
        if len(step.rows) < MOST_ROWS
        else say("noise.strategies.integers", number=len(step.rows))
    )
    for kind, names in mixed.items():
        noun = say("noise.strategies.along", integers=noun, matrix=kind, names=join_names(names))
    parameter = format_number(shorten(float(Fraction(step.parameter))))
    law = (
        say("noise.scale.sigma_squared") if step.family == "gaussian" else say("noise.scale.scale")
    )
    losses = (format_number(shorten(step.epsilon)), format_number(shorten(step.delta)))
    return step.name, noun, f"{step.family}, {law} {parameter}", *losses


def _list_definition(query: Query) -> tuple[str, ...]:
    """Define the figure and its groups; a report does so beside the figures."""
    texts = (
        " ".join(filter(None, (query.description, *query.definition))),
        " ".join(query.groups + query.outside),
    )
    return tuple(filter(None, texts))


def _build_query_table(facts: PlanFacts) -> Table:
    """List the queries with their costs: rho where that adds up to the total, else epsilon."""
    in_rho = facts.accounting.method == "zcdp" and all(q.rho is not None for q in facts.queries)
    costs = ("rho",) if in_rho else ("epsilon", "delta")
    rows = tuple(_build_row(query, in_rho) for query in facts.queries)
    return Table(
        "queries",
        say("noise.queries.title"),
        (*map(say, HEAD), *costs),
        rows,
        (3, 6, 7)[: len(costs) + 1],
    )


def _build_row(query: Query, in_rho: bool) -> tuple[str, ...]:
    """Build a row: what, in how many cells, how noisy, at what cost."""
    return (
        query.name,
        write_title(query),
        ", ".join(query.by) or say("noise.queries.overall"),
        say("noise.queries.private") if query.cells is None else number_text(f"{query.cells:,}"),
        say(MECHANISM_WORDS[query.mechanism]),
        query.expected_error,
        *_describe_cost(query, in_rho),
    )


def _describe_cost(query: Query, in_rho: bool) -> tuple[str, ...]:
    """Describe the cost; a shared release is told once, with the query that lends it."""
    if query.lender not in {None, query.name}:
        lent = say("noise.queries.as", query=query.lender)
        return (lent,) if in_rho else (lent, "")
    if in_rho and query.rho is not None:
        return (format_number(shorten(query.rho)),)
    return format_number(shorten(query.epsilon)), format_number(shorten(query.delta))


def _iter_details(query: Query) -> Iterator[tuple[str, str]]:
    """List the mathematics of a query."""
    if query.where:
        yield say("noise.queries.condition"), query.where
    yield say("words.mechanism"), say(MECHANISM_WORDS[query.mechanism])
    yield say("words.sensitivity"), _write_sensitivity(query.sensitivity)
    yield say("noise.columns.because"), query.sensitivity.derivation
    yield say("noise.scale.title"), format_number(query.scale)
    yield say("noise.scale.granularity"), format_number(query.granularity)
    if query.denominator:
        yield say("noise.scale.denominator"), format_number(query.denominator.scale)
    yield say("words.expected_error"), query.expected_error
    yield say("noise.columns.epsilon"), number_text(query.epsilon_exact)
    if query.delta:
        yield "delta", format_number(query.delta)
    if query.rho is not None:
        yield "rho", format_number(query.rho)
    if query.accuracy:
        target = query.accuracy
        yield (
            say("noise.columns.asked_for"),
            _describe_target(target, weighted=query.survey_weight is not None),
        )
    if query.threshold:
        yield say("noise.columns.shown_from"), number_text(f"{query.threshold.at_least:,}")


def _describe_target(target: Accuracy, *, weighted: bool) -> str:
    values = {"within": format_number(target.within), "confidence": target.confidence}
    if target.records is None:
        return say("noise.target.any", **values)
    if weighted:
        return say("noise.target.weighted", records=target.records, **values)
    return say("noise.target.values", records=target.records, **values)


def _write_sensitivity(sensitivity: Sensitivity) -> str:
    if sensitivity.l2 is None:
        if sensitivity.of == "weight":
            return say("noise.sensitivity.weight", size=format_number(sensitivity.l1))
        if sensitivity.of == "rows":
            return say_count(int(sensitivity.l1), "noise.sensitivity.values")
        size = format_number(sensitivity.l1)
        return say("noise.sensitivity.score", size=size) if sensitivity.of == "score" else size
    return f"L1 {format_number(sensitivity.l1)}, L2 {format_number(sensitivity.l2)}"
