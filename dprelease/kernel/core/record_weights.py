"""Survey weights of steps: where they may be, and what a weighted record is worth.

*Sums.* A record of weight w adds w times what it would add without: see ``unit_limits``.

*Quantiles.* A record of weight w is w records of one value and one cell, so that m rows of a unit
are at most m W records in order, W being the largest weight. If a record of weight v takes the
place of one of weight w, min(v, w) of these are replaced, and the others come or go. Each of them
moves a selection no further than one that is replaced would: of ``choices.quantile_loss``,
max(a, b - a) <= b, and its sums over two atoms are no less than those over one of them. So m W
replaced records bound that too. Only a record that may have no weight at all may leave its cell.
"""

from __future__ import annotations

from dprelease.kernel.core.rules import Rule, Rules
from dprelease.kernel.core.step_forms import EXACT, is_quantity
from dprelease.model import Form, Measure, MeasureKind, Quantity, Query, Step

MOST_STEPS = 2**22
"""Weights of so many steps add up in 62 bits over 2^40 records, in which quantiles are drawn."""
WEIGHTED = {MeasureKind.RECORDS, MeasureKind.VALUES, MeasureKind.SUM}
"""What a survey weight multiplies."""


def list_extreme_weights(step: Step) -> set[int]:
    """List the ends of what multiplies one record: 1 without weights, 0 where it has none.

    Raises ValueError where some measures are weighted and others are not, which no rule lets pass.
    """
    weights = {measure.survey_weight for measure in step.measures}
    if len(weights) > 1:
        raise ValueError("the records of a step have one survey weight, or none")
    ends: set[int] = set()
    for weight in weights:
        ends |= {1} if weight is None else {weight.grid.lower, weight.grid.upper}
        ends |= {0} if weight is not None and weight.null_fill is None else set()
    return ends


def bound_row_weight(step: Step) -> int:
    """Bound how many records in order one record of a step of quantiles is."""
    return 1 if step.survey_weight is None else step.survey_weight.grid.upper


def is_always_weighted(step: Step) -> bool:
    """Tell whether quantiles leave out no record for lack of a weight."""
    return step.survey_weight is None or step.survey_weight.null_fill is not None


def _is_weighted_as_asked(query: Query, weight: Quantity | None) -> bool:
    """Tell whether records have the query's survey weight, 0 or more, or both have none."""
    column = query.survey_weight
    if column is None or weight is None:
        return column is None and weight is None
    grid = weight.grid
    is_named_column = weight.column == column.name and grid == column.grid
    return is_named_column and is_quantity(weight) and 0 <= grid.lower <= grid.upper <= MOST_STEPS


def _is_weighted_sum(measure: Measure) -> bool:
    """Tell whether what is weighted is a sum over records, of products that are exact."""
    weight, quantity = measure.survey_weight, measure.quantity
    if weight is None:
        return True
    largest = 1 if quantity is None else quantity.grid.magnitude
    return measure.kind in WEIGHTED and weight.grid.upper * largest <= EXACT


WEIGHTS: Rules[Step] = (
    Rule(
        "only quantiles have weights of points",
        lambda step: step.form is Form.QUANTILES or step.survey_weight is None,
    ),
    Rule(
        "a choice has no survey weight",
        lambda step: step.form is not Form.CHOICE or step.query.survey_weight is None,
    ),
    Rule(
        "a measure has the survey weight of the query, at least 0 and with few steps, or none",
        lambda step: all(_is_weighted_as_asked(step.query, m.survey_weight) for m in step.measures),
    ),
    Rule(
        "only records, values and sums of values are weighted, and their products are exact",
        lambda step: all(map(_is_weighted_sum, step.measures)),
    ),
    Rule(
        "points have the survey weight of the query, at least 0 and with few steps, or none",
        lambda step: (
            step.form is not Form.QUANTILES or _is_weighted_as_asked(step.query, step.survey_weight)
        ),
    ),
)
