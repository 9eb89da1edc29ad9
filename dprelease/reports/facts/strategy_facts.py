"""Counts planned together: what is released in their place, in sentences, and how much less errs.

Numbers are of the plan alone: no figure is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dprelease.language import say, say_count, word
from dprelease.model import (
    CENTRED,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Plan,
    Read,
    Step,
    Strategy,
)
from dprelease.postprocess.intervals.combined_figure import compute_combined_variance
from dprelease.postprocess.intervals.figure_terms import weigh_terms
from dprelease.postprocess.intervals.number_text import join_few_names, join_names
from dprelease.reports.model.strategy_model import (
    CombinedQuery,
    StrategyAxis,
    StrategyFacts,
    StrategyGroup,
    StrategyStep,
    StrategyTerm,
)
from dprelease.reports.text.shown_numbers import (
    compute_root,
    number_or_none,
    to_json_number,
    write_exact,
    write_loss,
)
from dprelease.statistics.read_release import compute_loss
from dprelease.statistics.statistic_registry import get_statistic


class Whole(NamedTuple):
    """Of a strategy the query that is named first, and the loss of all steps together."""

    first: str
    loss: Loss


def map_wholes(plan: Plan) -> dict[str, Whole]:
    """Map each query that has a strategy to it."""
    wholes: dict[str, Whole] = {}
    for strategy in plan.strategies:
        members = set(strategy.queries)
        first = next(query.name for query in plan.release.queries if query.name in members)
        wholes |= dict.fromkeys(members, Whole(first, _compute_loss(plan, strategy)))
    return wholes


def _compute_loss(plan: Plan, strategy: Strategy) -> Loss:
    own = set(strategy.steps)
    return compute_loss([step for step in plan.steps if step.query.name in own], plan.loss)


def describe_strategies(plan: Plan) -> tuple[StrategyFacts, ...]:
    """State every strategy of a plan."""
    return tuple(_describe_strategy(plan, strategy) for strategy in plan.strategies)


def _describe_strategy(plan: Plan, strategy: Strategy) -> StrategyFacts:
    members, own = set(strategy.queries), set(strategy.steps)
    reads = [read for read in plan.reads if read.query.name in members]
    steps = [step for step in plan.steps if step.query.name in own]
    loss = _compute_loss(plan, strategy)
    groups = list(dict.fromkeys(group for step in steps for group in step.query.groups))
    queries = tuple(_query(plan, read) for read in reads)
    return StrategyFacts(
        explained=tuple(_word_strategy(reads, steps, queries, loss)),
        epsilon=to_json_number(loss.epsilon),
        delta=to_json_number(loss.delta),
        rho=number_or_none(loss.rho),
        groups=tuple(StrategyGroup(column=group.column, labels=group.labels) for group in groups),
        steps=tuple(_step(step, groups) for step in steps),
        queries=queries,
    )


def _query(plan: Plan, read: Read) -> CombinedQuery:
    statistic, is_quotient = get_statistic(read.query.statistic), len(read.factors) > 1
    share = statistic.get_share_range(read.query) if is_quotient else None
    record = statistic.list_aspects(read.query)[-1][0] if share is not None else None
    return CombinedQuery(
        name=read.query.name,
        deviation=compute_root(compute_combined_variance(read, plan)),
        alone=compute_root(plan.alone[read.query.name]),
        decimals=read.decimals,
        terms=tuple(
            StrategyTerm(
                step=term.step,
                row=term.row,
                factor=str(term.factor),
                groups=term.groups,
                part=term.part,
            )
            # of a figure in its unit, or of the parts of a quotient
            for term in (
                weigh_terms(read.terms, read.factors) if len(read.factors) == 1 else read.terms
            )
        ),
        share=() if share is None else tuple(map(write_exact, share)),
        record="" if record is None else write_exact(record),
    )


def _step(step: Step, groups: Sequence[Group]) -> StrategyStep:
    places: Mapping[Group, int] = {group: place for place, group in enumerate(groups)}
    kinds = [StrategyAxis(kind=str(axis.kind), entries=axis.entries) for axis in step.axes]
    return StrategyStep(
        name=step.query.name,
        where=step.query.where.text if step.query.where is not None else None,
        groups=tuple(places[group] for group in step.query.groups),
        axes=tuple(kinds or [StrategyAxis(kind="each") for _ in step.query.groups]),
        rows=tuple(_word_integer(step, factors) for factors in step.transform),
        family=str(step.noise.family),
        parameter=str(step.noise.parameter),
        epsilon=to_json_number(step.loss.epsilon),
        delta=to_json_number(step.loss.delta),
        rho=number_or_none(step.loss.rho),
    )


def _word_integer(step: Step, factors: Sequence[int]) -> str:
    """Say what one released integer of a cell counts."""
    parts = []
    pairs = zip(factors, step.measures, strict=True)
    for factor, measure in sorted(pairs, key=lambda pair: pair[0] < 0):
        if factor:
            text = _word_measure(measure)
            parts.append(text if factor == 1 else f"{factor} x {text}")
    return " + ".join(parts).replace("+ -1 x", "less")


def _word_measure(measure: Measure) -> str:
    if measure.quantity is not None:
        if measure.kind is MeasureKind.SUM:
            return say("strategies.sum_of", column=measure.quantity.column)
        return say("strategies.values_of", column=measure.quantity.column)
    if measure.where is not None:
        return say("strategies.records_where", condition=measure.where.text)
    return say("words.records")


# --- sentences -----------------------------------------------------------------------------------


def _word_strategy(
    reads: Sequence[Read], steps: Sequence[Step], queries: Sequence[CombinedQuery], loss: Loss
) -> Iterator[str]:
    names = join_few_names(list(dict.fromkeys(read.query.column_name for read in reads)))
    together = (
        say("strategies.planned_together")
        if len(queries) > 1
        else say("strategies.read_from_other_counts")
    )
    yield say(
        "strategies.released",
        how=together,
        names=names,
        steps=join_names(list(_describe_releases(steps))),
    )
    yield say("strategies.best_estimates")
    if any(query.is_quotient for query in queries):
        yield say("strategies.quotients")
    percents = sorted(query.saving for query in queries)
    lowest, highest = percents[0], percents[-1]
    size = say("strategies.gain.from_to", least=lowest, most=highest)
    if lowest == highest:
        size = say("words.percent", share=highest)
    yield say("strategies.gain.note", gain=size)
    yield say("strategies.loss.note", cost=_write_cost(loss))
    counts = [read for read in reads if get_statistic(read.query.statistic).combines]
    if sum(read.query.where == steps[0].query.where for read in counts) > 1:
        yield say("strategies.add_up")


def _write_cost(loss: Loss) -> str:
    """Name epsilon, and delta and rho as far as there are any."""
    epsilon, delta = write_loss(loss.epsilon), write_loss(loss.delta)
    if loss.rho is None:
        if not loss.delta:
            return say("words.epsilon_of", epsilon=epsilon)
        return say("strategies.loss.epsilon_delta", epsilon=epsilon, delta=delta)
    rho = write_loss(loss.rho)
    if not loss.delta:
        return say("strategies.loss.epsilon_rho", epsilon=epsilon, rho=rho)
    return say("strategies.loss.epsilon_delta_rho", epsilon=epsilon, delta=delta, rho=rho)


def _describe_releases(steps: Sequence[Step]) -> Iterator[str]:
    """Describe what is released in place of the figures, briefly for all steps of one kind."""
    plain = [step for step in steps if CENTRED not in step.axes and len(step.measures) == 1]
    if any(not step.query.groups for step in plain):
        yield say("strategies.release.total")
    tables = [step for step in plain if step.query.groups]
    if tables:
        titles = join_few_names(list(map(_title, tables)))
        yield say_count(len(tables), "strategies.release.table", titles=titles)
    mixed: dict[str, list[str]] = {}
    for step in steps:
        if CENTRED in step.axes:
            centred = [
                group.column
                for group, axis in zip(step.query.groups, step.axes, strict=True)
                if axis == CENTRED
            ]
            whole = len(centred) == len(step.axes)
            along = say("strategies.release.every_axis") if whole else word(join_names(centred))
            mixed.setdefault(along, []).append(_title(step))
    for along, mixes in mixed.items():
        yield say_count(
            len(mixes), "strategies.release.rest", titles=join_few_names(mixes), along=along
        )
    for step in steps:
        if len(step.measures) > 1:
            yield from _describe_features(step)


CENTRED_SUMS = "strategies.release.centred", "strategies.release.centred_by"
HALVES = "strategies.release.halves", "strategies.release.halves_by"
APART = "strategies.release.apart", "strategies.release.apart_by"
SPLIT = "strategies.release.split", "strategies.release.split_by"
SPLIT_KNOWN = "strategies.release.split_known", "strategies.release.split_known_by"
TOGETHER = "strategies.release.together", "strategies.release.together_by"
"""Ids of sentences, of all records and by keys."""


def _describe_features(step: Step) -> Iterator[str]:
    """Describe what is released of features: of columns or conditions, and of records without."""
    if step.noise.integers and step.measures[-1].where == step.query.where:
        parts = join_names([*_describe_joint(step)])
        numbers = _say_by(TOGETHER, step, parts=parts)
        is_scaled = bool(_list_columns(step))
        yield say("strategies.release.factors", numbers=numbers) if is_scaled else numbers
        return
    missing = sum(_is_of_missing(step, row) for row in step.transform)
    columns = _list_columns(step)
    if columns:
        yield _say_by(CENTRED_SUMS, step, columns=join_few_names(columns))
    elif _is_split(step):
        if step.apart:
            yield _say_by(APART, step, number=len(step.transform) - 1)
        else:
            yield _say_by(SPLIT if len(step.transform) == 2 else SPLIT_KNOWN, step)
        return
    elif step.noise.integers:
        of = _say_conditions(len(step.transform))
        yield say("strategies.release.counts", condition=of)
    else:
        # A share has two measures, of which one counts the records where its condition is known.
        of = _say_conditions(len(step.transform) - missing)
        yield _say_by(HALVES, step, condition=of)
    if missing:
        yield say("strategies.release.missing", number=missing)


def _describe_joint(step: Step) -> Iterator[str]:
    """Describe what is released with the number of records, all with noise drawn together."""
    columns = _list_columns(step)
    if columns:
        yield say("strategies.release.centred", columns=join_few_names(columns))
    kinds = [measure.kind for measure in step.measures if measure.quantity is not None]
    known = kinds.count(MeasureKind.VALUES)
    if known:
        yield say("strategies.release.values", number=known)
    number = len(step.transform) - 1 - len(kinds)
    if number:
        yield say("strategies.release.halves", condition=_say_conditions(number))


def _list_columns(step: Step) -> list[str]:
    """List the columns whose values are added up."""
    quantities = (measure.quantity for measure in step.measures)
    return list(dict.fromkeys(part.column for part in quantities if part is not None))


def _say_conditions(number: int) -> str:
    if number > 1:
        return say("strategies.release.for_conditions", number=number)
    return say("strategies.release.for_condition")


def _say_by(names: tuple[str, str], step: Step, **words: Any) -> str:
    """Say what is released, of all records or by keys."""
    name, name_by_keys = names
    if step.query.groups:
        return say(name_by_keys, keys=_title(step), **words)
    return say(name, **words)


def _is_split(step: Step) -> bool:
    """Tell whether the integers of a cell add up to the number of its records."""
    sums = [sum(column) for column in zip(*step.transform, strict=True)]
    return sums == [0] * (len(sums) - 1) + [1]


def _is_of_missing(step: Step, row: Sequence[int]) -> bool:
    """Tell whether an integer is the records less those that have a number."""
    used = {measure: factor for factor, measure in zip(row, step.measures, strict=True) if factor}
    every = Measure(MeasureKind.RECORDS, None, step.query.where)
    return used.get(every, 0) > 0 and all(m.kind is not MeasureKind.SUM for m in used)


def _title(step: Step) -> str:
    return " x ".join(group.column for group in step.query.groups)
