"""The three forms of a step: what each must have, and must not, so that it means what it says."""

from __future__ import annotations

from itertools import pairwise

from dprelease.kernel.certify.meaning import (
    OF_SETS,
    are_measures,
    is_grid,
    is_group,
    is_quantity,
)
from dprelease.model import (
    Candidates,
    MeasureKind,
    NoiseFamily,
    QuantileScheme,
    Query,
    Step,
)

FINEST = 10**6
"""Targets of quantiles with larger denominators would not fit the integers they are drawn with."""

ADDED = {NoiseFamily.NONE, NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN}
CHOOSING = {NoiseFamily.EXPONENTIAL, NoiseFamily.PERMUTE_AND_FLIP}
SCORES = {MeasureKind.RECORDS, MeasureKind.VALUES, MeasureKind.UNITS}


def is_numbers(step: Step) -> bool:
    """Noise is added to one combination of measures or more, in every cell."""
    query = step.query
    once = len(step.transform) == 1
    return (
        step.scheme is None
        and step.points is None
        and query.candidates is None
        and are_measures(step.measures, query)
        and (once or all(each.kind not in OF_SETS for each in step.measures))
        and step.noise.family in ADDED
        and (query.axis is None or (once and _is_axis(query)))
    )


def is_choice(step: Step) -> bool:
    """A choice among the labels of an axis by a count, or among candidates by their scores."""
    query = step.query
    rows = step.transform
    if step.scheme is not None or step.points is not None or step.threshold is not None:
        return False
    if step.noise.family not in CHOOSING or len(rows) != 1:
        return False
    if query.candidates is not None:
        alone = query.axis is None and query.numerator is None and query.denominator is None
        return alone and not step.measures and _are_candidates(query.candidates, query.picks)
    return (
        _is_axis(query)
        and are_measures(step.measures, query)
        and all(each.kind in SCORES for each in step.measures)
        and all(factor >= 0 for factor in rows[0])
    )


def _is_axis(query: Query) -> bool:
    axis = query.axis
    return (
        axis is not None
        and not axis.private
        and is_group(axis)
        and 1 <= query.picks <= len(axis.labels)
    )


def _are_candidates(candidates: Candidates, picks: int) -> bool:
    texts, grid = candidates.texts, candidates.grid
    return 1 <= picks <= len(texts) == len(set(texts)) and is_grid(grid) and grid.lower == 0


def is_quantiles(step: Step) -> bool:
    """Quantiles of one quantity, selected in turn by a scheme that fits them."""
    query, scheme, points = step.query, step.scheme, step.points
    if scheme is None or points is None or not is_quantity(points):
        return False
    alone = query.axis is None and query.candidates is None and query.numerator is None
    return (
        alone
        and query.denominator is None
        and not step.measures
        and step.threshold is None
        and len(step.transform) == len(query.quantiles)
        and scheme.quantiles == query.quantiles
        and _is_scheme(scheme)
        and step.noise.family is NoiseFamily.EXPONENTIAL
        and step.noise.parameter == scheme.steps[0].rate
        and (query.points is None or _rising(query.points, points.grid.lower, points.grid.upper))
    )


def _is_scheme(scheme: QuantileScheme) -> bool:
    """Each step cuts a part that earlier ones left; in the end every quantile is selected once."""
    parts = {(0, len(scheme.quantiles) + 1)}
    for step in scheme.steps:
        fits = (step.left, step.right) in parts and step.left < step.index < step.right
        if not fits or not 0 < step.target < 1 or step.target.denominator > FINEST:
            return False
        if step.rate <= 0:
            return False
        parts.remove((step.left, step.right))
        parts |= {(step.left, step.index), (step.index, step.right)}
    inside = all(0 < quantile < 1 for quantile in scheme.quantiles)
    rising = all(low < high for low, high in pairwise(scheme.quantiles))
    return inside and rising and all(right - left == 1 for left, right in parts)


def _rising(points: tuple[int, ...], lower: int, upper: int) -> bool:
    rises = all(low < high for low, high in pairwise(points))
    return len(points) > 0 and rises and lower <= points[0] and points[-1] <= upper
