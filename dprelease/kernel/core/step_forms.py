"""The forms of a step: what each must have, and must not, so that it means what it says.

Groups, grids and measures must also mean to engines what they mean to certification. Of quantiles
see ``choices.choice_rules``.
"""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches
from dprelease.model import (
    Candidates,
    Form,
    Grid,
    Group,
    Measure,
    MeasureKind,
    NoiseFamily,
    Part,
    Quantity,
    Query,
    Step,
)

EXACT = 2**53 - 1
"""Grid integers up to here are exact in a double, in which the engines clamp."""

ADDITIVE = {NoiseFamily.NONE, NoiseFamily.LAPLACE, NoiseFamily.STAIRCASE, NoiseFamily.GAUSSIAN}
ADDITIVE |= {NoiseFamily.CUBE, NoiseFamily.CUT_LAPLACE}
SELECTING = {NoiseFamily.EXPONENTIAL, NoiseFamily.PERMUTE_AND_FLIP}
SCORES = {MeasureKind.RECORDS, MeasureKind.VALUES, MeasureKind.UNITS}
OF_A_QUANTITY = {MeasureKind.VALUES, MeasureKind.SUM, MeasureKind.SQUARES}
OF_SETS = {MeasureKind.UNITS, MeasureKind.DISTINCT}
"""What isn't a sum over rows, and so not what certification takes combinations of."""


def find_form_breaches(step: Step, name: str) -> Iterator[Breach]:
    """Give what a step of numbers or choices has or lacks against its form."""
    yield from find_breaches(NO_SCHEME, step, name)
    if step.form is Form.NUMBERS:
        yield from find_breaches(NUMBERS, step, name)
        if step.noise.family is NoiseFamily.STAIRCASE:
            yield from find_breaches(STAIRCASE, step, name)
        if step.query.axis is not None:
            yield from find_breaches(AXIS, step.query, name)
    else:
        yield from find_breaches(CHOICE, step, name)
    candidates = step.query.candidates
    if candidates is not None:
        yield from find_breaches(CANDIDATES, step, name)
        yield from find_breaches(CANDIDATE_TEXTS, (candidates, step.query.picks), name)
        return
    if step.form is Form.CHOICE:
        yield from find_breaches(AXIS, step.query, name)
        yield from find_breaches(SCORED, step, name)
    if step.points is None:
        yield from find_breaches(MEASURES, step, name)


# --- groups and grids ----------------------------------------------------------------------------


def is_group(group: Group) -> bool:
    """Tell whether labels are one for each key or bin, then for other values, then for nulls."""
    if group.private:
        none = group.keys is None and group.edges is None and group.other is None
        return none and not group.labels
    if (group.keys is None) == (group.edges is None):
        return False
    declared = len(group.keys) if group.keys is not None else len(group.edges or ()) - 1
    first = group.labels[:declared]
    extra_labels = [
        label for label in (group.other, group.null_label) if label not in {*first, None}
    ]
    return (
        declared > 0
        and len(set(group.labels)) == len(group.labels)
        and len(first) == declared
        and group.labels[declared:] == tuple(dict.fromkeys(extra_labels))
    )


def is_grid(grid: Grid) -> bool:
    """Tell whether bounds rise, on a positive step, within what is exact."""
    return -EXACT <= grid.lower <= grid.upper <= EXACT and grid.step > 0


def is_quantity(quantity: Quantity) -> bool:
    """Tell whether a value, or what stands for one, lies within the bounds."""
    grid, fill = quantity.grid, quantity.null_fill
    return is_grid(grid) and (fill is None or grid.lower <= fill <= grid.upper)


# --- measures ------------------------------------------------------------------------------------


def list_parts(query: Query) -> list[Part]:
    """Give the parts of a ratio; of another query there are none."""
    return [part for part in (query.numerator, query.denominator) if part is not None]


def _is_measure(measure: Measure) -> bool:
    """Tell whether a measure has exactly what its kind needs: a quantity, a column, or neither."""
    has = measure.quantity is not None, measure.column is not None
    if measure.kind in OF_A_QUANTITY:
        return has == (True, False)
    return has == (False, measure.kind is MeasureKind.DISTINCT)


def _has_few_quantities(step: Step) -> bool:
    quantities = {measure.quantity for measure in step.measures if measure.quantity is not None}
    # A strategy may add up many columns; which ones is for the chapter on strategies.
    return step.query.implied or len(quantities) <= max(1, len(list_parts(step.query)))


MEASURES: Rules[Step] = (
    Rule("it has a measure", lambda step: len(step.measures) > 0),
    Rule(
        "each measure has the quantity or the column of its kind, and no other",
        lambda step: all(map(_is_measure, step.measures)),
    ),
    Rule(
        "each quantity is on an exact integer grid and states the number that replaces a null",
        lambda step: all(
            is_quantity(measure.quantity) for measure in step.measures if measure.quantity
        ),
    ),
    Rule("a query has two parts of a ratio, or none", lambda s: len(list_parts(s.query)) in {0, 2}),
    Rule("measures use one quantity, or two of a ratio, unless of a strategy", _has_few_quantities),
    Rule(
        "units and distinct values are counted by one measure, in one integer",
        lambda step: (
            len(step.measures) == len(step.transform) == 1
            or all(measure.kind not in OF_SETS for measure in step.measures)
        ),
    ),
)

# --- numbers and choices -------------------------------------------------------------------------


def _are_stairs(step: Step) -> bool:
    """Tell whether stairs can be drawn: integers, in levels so few that they can be tabulated."""
    stair, first = step.noise.stair, step.noise.first
    whole = type(stair) is int and type(first) is int and 1 <= first <= stair < 2**62
    return whole and step.noise.parameter <= 32 * stair


NO_SCHEME: Rules[Step] = (
    Rule("only quantiles have a scheme", lambda step: step.scheme is None),
    Rule("only quantiles and mixed cells have points", lambda s: s.points is None or s.axes != ()),
)
NUMBERS: Rules[Step] = (
    Rule("noisy numbers have no candidates", lambda step: step.query.candidates is None),
    Rule("numbers have additive noise, or none", lambda step: step.noise.family in ADDITIVE),
    Rule(
        "a step with an axis releases one integer for each label",
        lambda step: step.query.axis is None or len(step.transform) == 1,
    ),
)
STAIRCASE: Rules[Step] = (
    Rule("stairs are whole, with a first part, and no shorter than 1/32 of the scale", _are_stairs),
    Rule(
        "a step with staircase noise releases one integer for each cell and selects no keys",
        lambda case: (
            len(case.transform) == 1 and case.query.axis is None and case.threshold is None
        ),
    ),
)
AXIS: Rules[Query] = (
    Rule("the query has an axis or candidates", lambda query: query.axis is not None),
    Rule(
        "an axis is public, with one label for each of its keys or bins",
        lambda query: query.axis is not None and not query.axis.private and is_group(query.axis),
    ),
    Rule(
        "the query picks at least one label, and no more labels than the axis has",
        lambda query: query.axis is not None and 1 <= query.picks <= len(query.axis.labels),
    ),
)
CHOICE: Rules[Step] = (
    Rule("a choice selects no keys", lambda step: step.threshold is None),
    Rule(
        "a choice uses the exponential mechanism or permute-and-flip",
        lambda step: step.noise.family in SELECTING,
    ),
    Rule("a choice uses one score", lambda step: len(step.transform) == 1),
)
SCORED: Rules[Step] = (
    Rule(
        "labels of an axis are scored by records, values or units",
        lambda step: all(measure.kind in SCORES for measure in step.measures),
    ),
    Rule(
        "no factor of a score is negative",
        lambda step: all(factor >= 0 for row in step.transform for factor in row),
    ),
)
CANDIDATES: Rules[Step] = (
    Rule("a query has candidates or an axis, not both", lambda step: step.query.axis is None),
    Rule("a query with candidates is no ratio", lambda step: not list_parts(step.query)),
    Rule("candidates have scores and no measures", lambda step: not step.measures),
)
CANDIDATE_TEXTS: Rules[tuple[Candidates, int]] = (
    Rule(
        "no candidate is listed twice", lambda case: len(case[0].texts) == len(set(case[0].texts))
    ),
    Rule(
        "the query picks at least one candidate, and no more candidates than it lists",
        lambda case: 1 <= case[1] <= len(case[0].texts),
    ),
    Rule(
        "the scores of candidates are on an exact integer grid that starts at 0",
        lambda case: is_grid(case[0].grid) and case[0].grid.lower == 0,
    ),
)
