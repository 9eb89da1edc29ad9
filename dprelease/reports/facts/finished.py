"""What is done to a query's figures after the noise, in sentences, and how it biases them.

Numbers are of the plan alone: no figure is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import pi, sqrt
from typing import TYPE_CHECKING, NamedTuple

from dprelease.language import say, say_count, word
from dprelease.model import AS_RELEASED, Finish, NoiseFamily, Plan, Query, Read
from dprelease.model.outputs import SUPPRESSED
from dprelease.postprocess.finishing.finished_tables import (
    Noisy,
    Observed,
    allow_for_hiding,
    collect_noisy_figures,
    collect_observed,
    identify_group,
    name_deeds,
)
from dprelease.postprocess.intervals.number_text import join_names, number, write_percent
from dprelease.reports.model.report_model import Finishing
from dprelease.reports.model.strategy_model import (
    AgreedPart,
    AgreedTable,
    Agreement,
    ObservedCounts,
)
from dprelease.reports.text.shown_numbers import write_exact

if TYPE_CHECKING:
    from dprelease.postprocess.finishing.agreement import Fit

MOST_TABLES = 12
RAW = "finish.raw"


def describe_finishings(plan: Plan) -> dict[str, Finishing]:
    """State what is done to the figures of each query, by name, where anything is."""
    groups: dict[object, list[Read]] = {}
    for read in plan.reads:
        if read.query.finish != AS_RELEASED:
            groups.setdefault(identify_group(read.query) or read.query.name, []).append(read)
    finishings_by_query = {}
    for reads in groups.values():
        figures = collect_noisy_figures(plan, reads)
        deviations = [sqrt(noisy.variance or 0) for noisy in figures]
        after = _compute_deviations(figures) if len(reads) > 1 else deviations
        tables = list(dict.fromkeys(read.query.table for read in reads))
        for read, noisy, before, final in zip(reads, figures, deviations, after, strict=True):
            upward = UPWARD.get(plan.step(read).noise.family, 0.5)
            agrees_with = reads[0].query.name if read is not reads[0] else None
            words = [
                *_explain_finishing(read.query, _Noise(before, final, upward, tables, agrees_with)),
                *_explain_hiding(noisy, plan),
                *_explain_rounding(read.query.finish),
            ]
            finishings_by_query[read.query.name] = _describe_finishing(
                read.query.finish, tuple(words)
            )
    return finishings_by_query


def describe_agreements(plan: Plan) -> tuple[Agreement, ...]:
    """State how the figures of several tables are made to agree, as the law of their noise asks."""
    groups: dict[object, list[Read]] = {}
    for read in plan.reads:
        if read.query.finish.consistent:
            groups.setdefault(identify_group(read.query), []).append(read)
    several = [reads for reads in groups.values() if len(reads) > 1]
    return tuple(_describe_agreement(collect_noisy_figures(plan, reads)) for reads in several)


def _describe_agreement(figures: Sequence[Noisy]) -> Agreement:
    joint, fit = _solve(figures)
    return Agreement(
        sizes=tuple(joint.sizes),
        tables=tuple(
            AgreedTable(query=noisy.query.name, axes=axes)
            for noisy, axes in zip(figures, joint.tables, strict=True)
        ),
        observed=tuple(
            ObservedCounts(
                step=origin.step,
                query=origin.query,
                axes=origin.axes,
                hidden=tuple(sorted(counts.hidden)),
                centred=tuple(sorted(counts.centred)),
            )
            for origin, counts in zip(joint.origins, joint.observed, strict=True)
        ),
        parts=tuple(
            AgreedPart(axes=tuple(sorted(node)), weights=tuple(shares.items()))
            for node, shares in fit.shares.items()
        ),
    )


def _describe_finishing(finish: Finish, explained: tuple[str, ...]) -> Finishing:
    usual = finish.flag_unreliable_at == AS_RELEASED.flag_unreliable_at
    return Finishing(
        consistent=finish.consistent,
        nonnegative=finish.nonnegative,
        integer=finish.integer,
        publish_if=write_condition(finish),
        round_to=None if finish.round_to is None else write_exact(finish.round_to),
        flag_unreliable_at=None if usual else write_exact(finish.flag_unreliable_at),
        explained=explained,
    )


def word_finishings(plan: Plan) -> list[str]:
    """Say in short what is done to figures, once for all queries that have it alike."""
    queries: dict[str, dict[str, None]] = {}
    for query in (read.query for read in plan.reads):
        condition = write_condition(query.finish)
        parts = [word(change) for change in name_deeds(query.finish)]
        if condition is not None:
            parts.append(say("finish.shown_if", condition=condition))
        if parts:
            queries.setdefault(", ".join(parts), {})[query.column_name] = None
    return [
        say("finish.after_noise", names=join_names([*names]), changes=deed)
        for deed, names in queries.items()
    ]


def write_condition(finish: Finish) -> str | None:
    """Write the condition on which a figure is shown; None if every figure is."""
    if finish.hide_below is not None:
        return f"value >= {write_exact(finish.hide_below)}"
    return None if finish.publish_if is None else finish.publish_if.text


class _Noise(NamedTuple):
    """Standard deviations of a cell's noise before and after agreement, and what it is about.

    ``upward``: the mean of what is above 0 of the noise, as a share of that. ``tables`` agree:
    they are told of with the first query, which is ``agrees_with`` of all others.
    """

    before: float
    after: float
    upward: float
    tables: Sequence[str]
    agrees_with: str | None


def _explain_agreement(noise: _Noise) -> Iterator[str]:
    """Say what agrees: list all tables at the first query, and name that query at others."""
    if noise.agrees_with is not None:
        yield say("finish.agree.with_query", query=noise.agrees_with)
        return
    hidden_count = len(noise.tables) - MOST_TABLES
    tables = [
        *noise.tables[:MOST_TABLES],
        *([say("words.more", number=hidden_count)] if hidden_count > 0 else []),
    ]
    yield say_count(len(tables), "finish.agree.with_tables", tables=join_names(tables))
    yield say("finish.agree.least_squares")


def _explain_finishing(query: Query, noise: _Noise) -> Iterator[str]:
    finish = query.finish
    if finish.consistent:
        yield from _explain_agreement(noise)
        if noise.before:
            yield say(
                "finish.agree.deviation",
                before=_format_size(noise.before),
                after=_format_size(noise.after),
            )
    if finish.nonnegative and noise.after:
        yield from _explain_nonnegative(
            query, noise.after * noise.upward, alone=not finish.consistent
        )
    if finish.integer:
        yield say("finish.integer")
    if finish.consistent or finish.nonnegative or finish.integer:
        yield (
            say("finish.halfwidth.or_agreed", raw=say(RAW))
            if finish.consistent and len(noise.tables) > 1
            else say("finish.halfwidth.of_noisy", raw=say(RAW))
        )


def _explain_hiding(noisy: Noisy, plan: Plan) -> Iterator[str]:
    """Say which figures are shown, and if their intervals allow for that."""
    condition = write_condition(noisy.query.finish)
    if condition is None:
        return
    yield say("finish.hidden.condition", condition=condition, suppressed=SUPPRESSED)
    yield say("finish.hidden.reliability")
    level = write_percent(plan.release.output.interval)
    queries = [read.query for read in plan.reads if read.query.table == noisy.query.table]
    if (allows := allow_for_hiding(noisy, queries, plan.release.output.interval)) is not None:
        yield (
            say("finish.hidden.allowed", level=level)
            if allows
            else say("finish.hidden.not_allowed", level=level)
        )


def _explain_rounding(finish: Finish) -> Iterator[str]:
    if finish.round_to is not None:
        yield say(
            "finish.round.nearest",
            multiple=number(finish.round_to, 12),
            allowance=number(finish.round_to / 2, 12),
        )
        yield say("finish.round.need_not_add_up", raw=say(RAW))
    if finish.flag_unreliable_at != AS_RELEASED.flag_unreliable_at:
        share = write_percent(finish.flag_unreliable_at)
        yield say("finish.flagged", share=share)


UPWARD = dict.fromkeys((NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN), 1 / sqrt(2 * pi))
"""The mean of max(0, X), X the noise, is at most so much of its standard deviation.

1 / sqrt(2 pi) for Gaussian noise and mixtures of it, of which Laplace noise is one; else 1/2.
"""


def _explain_nonnegative(query: Query, upward: float, *, alone: bool) -> Iterator[str]:
    """Say how cells are biased; what all cells of a table are lowered by makes it only less."""
    bias = (
        say("finish.nonnegative.at_most", bias=_format_size(upward))
        if alone
        else say("finish.nonnegative.about", bias=_format_size(upward))
    )
    if not query.groups:
        yield say("finish.nonnegative.set_to_zero", bias=bias)
        return
    yield say("finish.nonnegative.keeps_total")
    yield say("finish.nonnegative.small_cells", bias=bias)


def _compute_deviations(group: Sequence[Noisy]) -> list[float]:
    """Compute the standard deviations of cells' noise after least squares."""
    # Imported here for start-up: most releases are published as they are.
    from dprelease.postprocess.finishing.agreement import compute_remaining_variance

    return list(map(sqrt, compute_remaining_variance(_solve(group)[1])))


def _solve(group: Sequence[Noisy]) -> tuple[Observed, Fit]:
    # Imported here for start-up: most releases are published as they are.
    from dprelease.postprocess.finishing.agreement import solve_least_squares

    joint = collect_observed(group, [noisy.query.cells for noisy in group])
    return joint, solve_least_squares(joint.tables, joint.observed, joint.sizes)


def _format_size(value: float) -> str:
    return number(Fraction(value), 3, up=True)
