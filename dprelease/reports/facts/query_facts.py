"""One query as plans and reports state it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

from msgspec.structs import replace

from dprelease.language import say, word
from dprelease.model import Form, NoiseFamily, Part, Plan, Read, Reading, Step
from dprelease.model.plan_json import exact
from dprelease.postprocess.finishing.flags import find_judge
from dprelease.postprocess.finishing.shares_together import SharesTogether, find_joint_shares
from dprelease.postprocess.intervals.number_text import join_few_names, join_names, number
from dprelease.reports.facts.explanations import count_candidates, describe_threshold, explain_step
from dprelease.reports.facts.figure_definitions import define_figure, define_groups, define_outside
from dprelease.reports.facts.finished import describe_finishings
from dprelease.reports.facts.strategy_facts import Whole, map_wholes
from dprelease.reports.model.json_form import from_json
from dprelease.reports.model.report_model import (
    Accounting,
    Accuracy,
    Clipping,
    ExampleHalfwidth,
    Finishing,
    NoiseScale,
    Query,
    RatioPart,
    Sensitivity,
    Shares,
)
from dprelease.reports.model.strategy_model import LinearFigure, StrategyGroup
from dprelease.reports.text.shown_numbers import (
    compute_root,
    number_or_none,
    to_json_number,
    write_exact,
    write_loss,
)
from dprelease.statistics import read_release as reading
from dprelease.statistics.shared.statistic import weight_step
from dprelease.statistics.statistic_registry import get_statistic


def _scale(step: Step, at: int = 0) -> int | float:
    """Scale of the noise in values: b of the Laplace law, sigma of the Gaussian.

    Of a choice it is 1/rate, in scores: P(candidate) is proportional to exp(score/scale), and
    permute-and-flip is exponential noise of that scale on every score. Of quantiles it is 1/rate
    in ranks, the largest where there are several, or in weight where records are weighted. ``at``:
    of which released integer.
    """
    if step.scheme is not None:
        rates = (selection.rate * selection.target.denominator for selection in step.scheme.steps)
        return to_json_number(weight_step(step.query) / min(rates))
    return _scale_noise(step, step.unit[at])


def _scale_noise(step: Step, unit: Fraction) -> int | float:
    parameter = step.noise.parameter
    if step.form is Form.CHOICE:
        return to_json_number(unit / parameter) if parameter else 0
    if step.noise.family is NoiseFamily.GAUSSIAN:
        return compute_root(parameter * unit**2)
    return to_json_number(parameter * unit)


def describe_queries(plan: Plan) -> tuple[Query, ...]:
    """Describe the query of each read of a plan, with what is done to its figures."""
    finishings_by_query, wholes, together = (
        describe_finishings(plan),
        map_wholes(plan),
        find_joint_shares(plan),
    )
    facts = []
    for read in plan.reads:
        name = read.query.name
        query = _query_facts(plan, read, finishings_by_query.get(name), wholes.get(name))
        if name in together:
            others = [other for other in together[name].queries if other != name]
            words = say("queries.shares_together", others=join_few_names(others))
            query = replace(query, explained=(*query.explained, words))
        facts.append(query)
    return tuple(facts)


def define_queries(plan: Plan, queries: Sequence[Query]) -> tuple[Query, ...]:
    """Add their definitions to what ``describe_queries`` says of a plan."""
    release = plan.release
    return tuple(
        replace(
            facts,
            description=release.names.get_description(read.query.name),
            definition=define_figure(release, read.query),
            groups=define_groups(release, read.query),
            outside=define_outside(release, read.query),
        )
        for facts, read in zip(queries, plan.reads, strict=True)
    )


def _query_facts(plan: Plan, read: Read, finishing: Finishing | None, whole: Whole | None) -> Query:
    """State a query: mechanism, loss, sensitivity, scale, expected error.

    Of a query that shares a release with others, loss, sensitivity and scale are those of that
    release: it is paid for once, for all of ``shares.with``. Of queries planned together the loss
    is that of all their steps, ``together`` the first of them, and the scale that of noise with the
    figures' standard deviation. ``cells`` is None where keys are private.
    """
    interval = plan.release.output.interval
    released = plan.step(read)
    # what is planned together is told once, for all of it
    together = () if whole else plan.list_readers(released)
    partners = [partner.name for partner in together if partner != read.query]
    step, query = reading.build_view(read, plan), read.query
    loss = whole.loss if whole else step.loss
    statistic, target = get_statistic(query.statistic), query.accuracy
    groups = statistic.list_published_groups(query)
    linear = read.reading is Reading.LINEAR
    unit = max(map(abs, read.factors)) if linear else step.unit[0]
    half = reading.compute_constant_halfwidth(read, plan, interval)
    example = reading.compute_example(read, plan, interval)
    return Query(
        name=query.name,
        statistic=query.statistic,
        table=query.table,
        column=query.column.name if query.column else None,
        by=tuple(group.column for group in groups),
        where=query.where.text if query.where else None,
        picks=query.picks,
        quantiles=tuple(map(write_exact, query.quantiles)) or None,
        score=None if query.candidates is None else query.candidates.score.text,
        numerator=_describe_part(query.numerator),
        denominator_part=_describe_part(query.denominator),
        among=query.among.text if query.among else None,
        judged_by=find_judge(query, plan),
        implied=query.implied,
        cells=None if query.private else prod(len(group.labels) for group in groups),
        candidates=count_candidates(step) or None,
        form=_name_form(step),
        shares=Shares(release=read.step, with_=tuple(partners)) if partners else None,
        mechanism=str(step.noise.family),
        epsilon=to_json_number(loss.epsilon),
        epsilon_exact=write_exact(loss.epsilon),
        delta=to_json_number(loss.delta),
        rho=number_or_none(loss.rho),
        sensitivity=_describe_sensitivity(step, unit),
        scale=_scale_noise(step, unit) if linear else _scale(step),
        granularity=to_json_number(
            Fraction(1, 10**read.decimals) if whole and len(read.factors) <= 1 else unit
        ),
        denominator=NoiseScale(scale=_scale(step, 1), granularity=to_json_number(step.unit[1]))
        if statistic.keys.has_key("denominator")
        else None,
        threshold=describe_threshold(step, interval),
        accuracy=None
        if target is None
        else Accuracy(
            within=to_json_number(target.within),
            confidence=write_exact(target.confidence),
            records=target.records,
        ),
        noise_halfwidth=number_or_none(half),
        example_halfwidth=None if example is None else from_json(ExampleHalfwidth, example),
        expected_error=word(reading.describe_expected_error(read, plan, interval)),
        meaningful_from=statistic.find_meaningful_count(step, interval),
        explained=(
            *explain_step(step, interval),
            *([say("queries.planned_together", family=step.noise.family)] if whole else ()),
            *_explain_sharing(plan, read, partners),
        ),
        stairs=(step.noise.stair, step.noise.first) if step.noise.stair else None,
        finishing=finishing,
        together=whole.first if whole else None,
        survey_weight=None if query.survey_weight is None else query.survey_weight.name,
        clipping=None
        if query.clip is None
        else Clipping(norm=str(query.clip.norm), bound=to_json_number(query.clip.bound * unit)),
    )


def describe_linear_figures(plan: Plan) -> list[tuple[LinearFigure, ...]]:
    """State for each query which released integers its figures are made of, and their noise."""
    together = find_joint_shares(plan)
    return [
        tuple(
            _describe_linear_figure(plan, read, column, together.get(read.query.name))
            for column in reading.list_linear_columns(read, plan)
        )
        for read in plan.reads
    ]


def _describe_linear_figure(
    plan: Plan, read: Read, column: reading.LinearColumn, together: SharesTogether | None
) -> LinearFigure:
    step = plan.step(read)
    share = get_statistic(read.query.statistic).get_share_range(read.query)
    return LinearFigure(
        column=column.column,
        step=read.step,
        rows=column.rows,
        factors=tuple(map(exact, column.factors)),
        family=str(step.noise.family),
        parameter=exact(step.noise.parameter),
        stairs=(step.noise.stair, step.noise.first) if step.noise.stair else (),
        merged=tuple(
            StrategyGroup(column=group.column, labels=group.labels)
            for group in (step.query.groups[place] for place in read.merged)
        ),
        share=() if share is None else tuple(map(exact, share)),
        fitted=together.queries[0] if together else "",
        weight=exact(together.fit.weight(read.step)) if together else "",
    )


def _explain_sharing(plan: Plan, read: Read, partners: Sequence[str]) -> Iterator[str]:
    """Explain what is read from a release that others share."""
    if not partners:
        return
    yield say("queries.shared_release", step=read.step, others=join_names(partners))
    if read.merged:
        groups = plan.step(read).query.groups
        yield say("queries.added_up", column=join_names([groups[i].column for i in read.merged]))
    if read.screened:
        yield say("queries.nulls_counted")


def explain_shared_noise(plan: Plan, queries: Sequence[Query]) -> tuple[Query, ...]:
    """Explain, of what is read from one release, which epsilons pay for it and how it errs.

    A saved plan has its queries without these sentences.
    """
    own = {query.name: query.epsilon or Fraction(0) for query in plan.release.queries}
    explained = []
    for read, query in zip(plan.reads, queries, strict=True):
        words = []
        if query.shares is not None:
            step = plan.step(read)
            others = [other.name for other in plan.list_readers(step) if other != read.query]
            stated = {name: own[name] for name in (read.query.name, *others)}
            if all(stated.values()) and sum(stated.values()) == step.loss.epsilon:
                parts = join_names([f"{name} {write_loss(part)}" for name, part in stated.items()])
                words.append(say("queries.spent_together", parts=parts))
            numbers = sum(map(bool, read.factors))
            if numbers > 1:
                words.append(say("queries.several_numbers", number=numbers))
        explained.append(replace(query, explained=(*query.explained, *words)))
    return tuple(explained)


def _name_form(step: Step) -> str:
    """Name what the figures are: those that are known in ranks are quantiles, however released."""
    in_ranks = get_statistic(step.query.statistic).in_ranks
    return str(Form.QUANTILES if in_ranks else step.form)


def _describe_part(part: Part | None) -> RatioPart | None:
    """Describe the condition of a share, or a part of a ratio."""
    if part is None:
        return None
    return RatioPart(
        column=part.column.name if part.column else None,
        where=part.where.text if part.where else None,
    )


def _describe_sensitivity(step: Step, unit: Fraction) -> Sensitivity:
    """Describe how far a neighbour moves figures, scores of a choice, ranks or weight."""
    sensitivity, why = step.sensitivity, word(step.sensitivity.derivation)
    if step.form is Form.CHOICE:
        l1, monotone = to_json_number(sensitivity.choice_l1 * unit), sensitivity.monotone
        return Sensitivity(l1=l1, l2=None, of="score", monotone=monotone, derivation=why)
    if step.form is Form.QUANTILES:
        if step.survey_weight is None:
            return Sensitivity(l1=sensitivity.l1, l2=None, of="rows", derivation=why)
        weight = to_json_number(sensitivity.l1 * weight_step(step.query))
        return Sensitivity(l1=weight, l2=None, of="weight", derivation=why)
    grid = step.unit[0]
    if grid != 1 and sensitivity.l1 > 1:
        why = say("queries.in_steps", derivation=why, grid=number(grid, 6))
    return Sensitivity(
        l1=to_json_number(sensitivity.l1 * unit),
        l2=compute_root(sensitivity.l2_squared * unit**2),
        of="figures",
        derivation=why,
    )


def describe_composition(plan: Plan) -> Accounting:
    """Describe the composed loss, and what plain addition would have charged, rounded up."""
    return Accounting(
        method=plan.method,
        epsilon=to_json_number(plan.loss.epsilon),
        epsilon_exact=write_exact(plan.loss.epsilon),
        delta=to_json_number(plan.loss.delta),
        rho=number_or_none(plan.loss.rho),
        basic_epsilon=to_json_number(plan.basic.epsilon),
        basic_delta=to_json_number(plan.basic.delta),
        advanced_epsilon=None if plan.advanced is None else to_json_number(plan.advanced.epsilon),
    )
