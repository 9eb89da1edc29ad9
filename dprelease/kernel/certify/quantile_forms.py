"""Steps of quantiles: what each must have, and must not, so that it means what it says."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from dprelease.kernel.certify.rules import Breach, Rule, Rules, find_breaches
from dprelease.kernel.certify.step_forms import is_quantity, list_parts
from dprelease.model import NoiseFamily, QuantileScheme, QuantileStep, Step

FINEST = 10**6
"""Targets of quantiles with larger denominators would not fit the integers they are drawn with."""


def find_quantile_breaches(step: Step, name: str) -> Iterator[Breach]:
    """Give what a step of quantiles has or lacks."""
    yield from find_breaches(QUANTILES, step, name)


def _list_selections(step: Step) -> tuple[QuantileStep, ...]:
    return step.scheme.steps if step.scheme is not None else ()


def _is_tree(scheme: QuantileScheme | None) -> bool:
    """Each step cuts a part that earlier ones left; in the end every quantile is selected once."""
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
    """Whether the target of each selection is its quantile, within the part that it cuts."""
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
    """Whether the outputs that are allowed, if they are listed, rise within the bounds."""
    outputs = step.query.points
    if outputs is None or step.points is None:
        return outputs is None
    grid = step.points.grid
    rises = all(low < high for low, high in pairwise(outputs))
    return len(outputs) > 0 and rises and grid.lower <= outputs[0] and outputs[-1] <= grid.upper


QUANTILES: Rules[Step] = (
    Rule(
        "the scheme of quantiles is of those that are asked for",
        lambda step: step.scheme is not None and step.scheme.quantiles == step.query.quantiles,
    ),
    Rule(
        "quantiles have points on a grid of exact integers, with what stands for a null",
        lambda step: step.points is not None and is_quantity(step.points),
    ),
    Rule("quantiles have no axis", lambda step: step.query.axis is None),
    Rule("quantiles have no candidates", lambda step: step.query.candidates is None),
    Rule("quantiles are no ratio", lambda step: not list_parts(step.query)),
    Rule("quantiles have no measures", lambda step: not step.measures),
    Rule("quantiles select no keys", lambda step: step.threshold is None),
    Rule(
        "one integer is released for each quantile",
        lambda step: len(step.transform) == len(step.query.quantiles),
    ),
    Rule("quantiles rise, between 0 and 1", _has_rising_quantiles),
    Rule(
        "each selection is within a part that earlier ones left, until all quantiles are selected",
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
        "the stated rate is that of the first selection",
        lambda step: step.noise.parameter == _list_selections(step)[0].rate,
    ),
    Rule("outputs that may be selected rise within the bounds", _has_rising_outputs),
)
