"""Steps of choices and of quantiles: what quantiles must have, and what either costs.

Choices cost by the range in which scores move, quantiles by the selections of their scheme.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from dprelease.kernel.chapters.choices import quantile_loss
from dprelease.kernel.core import additive_loss
from dprelease.kernel.core.record_weights import bound_row_weight, is_always_weighted
from dprelease.kernel.core.rules import AtMost, Breach, Rule, Rules, find_breaches, name_steps
from dprelease.kernel.core.step_forms import is_quantity, list_parts
from dprelease.kernel.core.step_loss import COVERED
from dprelease.kernel.core.unit_limits import Limits, derive_coarse_limits, find_corners
from dprelease.model import (
    Adjacency,
    Form,
    Loss,
    MeasureKind,
    NoiseFamily,
    Plan,
    Privacy,
    QuantileScheme,
    QuantileStep,
    Step,
)


def find_form_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps of quantiles have or lack."""
    for name, step in name_steps(plan):
        if step.form is Form.QUANTILES:
            yield from find_breaches(FORMS, step, name)


def find_choice_loss_breaches(plan: Plan) -> Iterator[Breach]:
    """Give what steps of choices and of quantiles lose beyond their claims."""
    privacy = plan.release.privacy
    for name, step in name_steps(plan):
        if step.form is Form.CHOICE:
            yield from find_breaches(CHOICE, (step, privacy), name)
            cost = _compute_choice_loss(step, privacy)
        elif step.form is Form.QUANTILES:
            yield from find_breaches(QUANTILES, (step, privacy), name)
            cost = _compute_quantile_loss(step, privacy)
        else:
            continue
        yield from find_breaches(COVERED, (cost, step.loss), name)


# --- what quantiles must have --------------------------------------------------------------------

FINEST = 10**6
"""Targets of quantiles with larger denominators would not fit the integers they are drawn with."""


def _list_selections(step: Step) -> tuple[QuantileStep, ...]:
    return step.scheme.steps if step.scheme is not None else ()


def _is_tree(scheme: QuantileScheme | None) -> bool:
    """Tell whether each step cuts a part that is left, and each quantile is selected once."""
    if scheme is None:
        return False
    parts = {(0, len(scheme.quantiles) + 1)}
    for step in scheme.steps:
        if (step.lower, step.upper) not in parts or not step.lower < step.index < step.upper:
            return False
        parts.remove((step.lower, step.upper))
        parts |= {(step.lower, step.index), (step.index, step.upper)}
    return all(upper - lower == 1 for lower, upper in parts)


def _has_quantile_targets(step: Step) -> bool:
    """Tell whether each selection's target is its quantile's place in the part that it cuts.

    That place is 0 at the part's lower end and 1 at its upper.
    """
    places = (Fraction(0), *step.query.quantiles, Fraction(1))
    return all(
        selection.target * (places[selection.upper] - places[selection.lower])
        == places[selection.index] - places[selection.lower]
        for selection in _list_selections(step)
    )


def _has_rising_quantiles(step: Step) -> bool:
    quantiles = step.query.quantiles
    inside = all(0 < quantile < 1 for quantile in quantiles)
    return inside and all(low < high for low, high in pairwise(quantiles))


def _has_rising_outputs(step: Step) -> bool:
    """Tell whether the outputs that are allowed, if they are listed, rise within the bounds."""
    outputs = step.query.points
    if outputs is None or step.points is None:
        return outputs is None
    grid = step.points.grid
    rises = all(low < high for low, high in pairwise(outputs))
    return len(outputs) > 0 and rises and grid.lower <= outputs[0] and outputs[-1] <= grid.upper


FORMS: Rules[Step] = (
    Rule(
        "the scheme of quantiles has the quantiles that the query asks for",
        lambda step: step.scheme is not None and step.scheme.quantiles == step.query.quantiles,
    ),
    Rule(
        "quantiles have points on an exact integer grid and a number that replaces a null",
        lambda step: step.points is not None and is_quantity(step.points),
    ),
    Rule("quantiles have no axis", lambda step: step.query.axis is None),
    Rule("quantiles have no candidates", lambda step: step.query.candidates is None),
    Rule("quantiles do not form a ratio", lambda step: not list_parts(step.query)),
    Rule("quantiles have no measures", lambda step: not step.measures),
    Rule("quantiles select no keys", lambda step: step.threshold is None),
    Rule(
        "one integer is released for each quantile",
        lambda step: len(step.transform) == len(step.query.quantiles),
    ),
    Rule("the quantiles increase and are between 0 and 1", _has_rising_quantiles),
    Rule(
        "each selection is within a part left by earlier ones, until all quantiles are selected",
        lambda step: _is_tree(step.scheme),
    ),
    Rule(
        "the target of each selection is between 0 and 1, with a denominator of at most 10^6",
        lambda step: all(
            0 < selection.target < 1 and selection.target.denominator <= FINEST
            for selection in _list_selections(step)
        ),
    ),
    Rule("the target of each selection is its quantile within the part", _has_quantile_targets),
    Rule(
        "the rate of each selection is above 0",
        lambda step: all(selection.rate > 0 for selection in _list_selections(step)),
    ),
    Rule(
        "quantiles are selected by the exponential mechanism",
        lambda step: step.noise.family is NoiseFamily.EXPONENTIAL,
    ),
    Rule(
        "the stated rate is the rate of the first selection",
        lambda step: step.noise.parameter == _list_selections(step)[0].rate,
    ),
    Rule("the outputs that may be selected increase within the bounds", _has_rising_outputs),
)

# --- the loss of choices -------------------------------------------------------------------------


def bound_score_span(step: Step, privacy: Privacy) -> int:
    """Bound the range of the changes of scores, greatest less smallest, summed over cells.

    If v rows enter a cell and u leave, and each row adds between l <= 0 and h >= 0 to a score, each
    score there moves by at least v l - u h and at most v h - u l: within (u + v)(h - l). A unit
    that is counted adds its 1 to some scores of each of its cells, instead of its rows.
    """
    limits = derive_coarse_limits(step.query, privacy)
    candidates = step.query.candidates
    number = limits.rows
    if candidates is not None:
        most = candidates.grid.upper
    else:
        effects = [Fraction(0), *(effect for (effect,) in find_corners(step))]
        most = int(max(effects) - min(effects))
        if {part.kind for part in step.measures} == {MeasureKind.UNITS}:
            number = limits.groups
    return number * most * (2 if limits.replaced else 1)


def _compute_choice_loss(step: Step, privacy: Privacy) -> Loss:
    """Compute the loss: picks follow each other, each of the whole rate; cells are independent.

    Let the score of each candidate o in a cell move by m(o), and r be max m - min m. The
    exponential mechanism's log-ratio is rate m(o) plus a number that is the same for all o: its
    range is rate r. Permute-and-flip takes o if an exponential noise of its own lifts it above the
    best h of the others (their noise fixed): with a probability e^-(rate (h - score)), or 1. As h
    moves by no less than min m and no more than max m, h - score moves by at most r. Ranges and
    epsilons of independent cells add up, and those of fewer candidates are no larger.
    """
    epsilon, picks = step.noise.parameter * bound_score_span(step, privacy), step.query.picks
    exponential = step.noise.family is NoiseFamily.EXPONENTIAL
    rho = (
        additive_loss.bound_range_rho(epsilon)
        if exponential
        else additive_loss.bound_pure_rho(epsilon)
    )
    return Loss(picks * epsilon, Fraction(0), picks * rho)


def _read_stated_span(step: Step) -> int:
    sensitivity = step.sensitivity
    return sensitivity.choice_l1 * (1 if sensitivity.monotone else 2)


CHOICE: Rules[tuple[Step, Privacy]] = (
    Rule(
        "scores are monotone only if neighbours add or remove rows",
        lambda it: not it[0].sensitivity.monotone or it[1].adjacency is Adjacency.ADD_REMOVE,
    ),
    AtMost(
        "scores change by no more than the sensitivity that it states",
        lambda it: (bound_score_span(*it), _read_stated_span(it[0])),
    ),
)

# --- the loss of quantiles -----------------------------------------------------------------------


def _derive_quantile_limits(step: Step, privacy: Privacy) -> tuple[Limits, bool]:
    """Derive the bounds on units, and whether a value that is replaced stays in its cell."""
    limits = derive_coarse_limits(step.query, privacy)
    valued = step.points is not None and step.points.null_fill is not None
    return limits, limits.replaced and limits.certain and valued and is_always_weighted(step)


def _compute_quantile_loss(step: Step, privacy: Privacy) -> Loss:
    limits, stays = _derive_quantile_limits(step, privacy)
    steps = step.scheme.steps if step.scheme is not None else ()
    records = limits.rows * bound_row_weight(step)
    epsilon = quantile_loss.bound_epsilon(steps, records, limits.replaced, stays=stays)
    rho = quantile_loss.bound_rho(steps, records, limits.replaced, stays=stays)
    return Loss(epsilon, Fraction(0), rho)


def bound_quantile_spans(step: Step, privacy: Privacy) -> list[Fraction]:
    """Give the ranges of the log-ratios of all selections of a step of quantiles."""
    if step.scheme is None:
        return []
    limits, stays = _derive_quantile_limits(step, privacy)
    records = limits.rows * bound_row_weight(step)
    return quantile_loss.bound_spans(step.scheme.steps, records, limits.replaced, stays=stays)


QUANTILES: Rules[tuple[Step, Privacy]] = (
    AtMost(
        "a unit has no more rows in quantiles than the sensitivity that it states",
        lambda it: (
            derive_coarse_limits(it[0].query, it[1]).rows * bound_row_weight(it[0]),
            it[0].sensitivity.l1,
        ),
    ),
)
