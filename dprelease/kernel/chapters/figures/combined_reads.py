"""Whether figures that are combined of several steps' integers are what their query asks.

A statistic has integers that it would release by itself (``iter_own_contents``): a count or sum
one, a mean or share two. Each of these is a part of the figure, and must be the sum of its terms.

Like all of reading it costs no privacy. What the terms count is written out again, as a sum over
records. In a table by groups let e_g be 1 for a record whose label of group g is that of the
figure's cell, and 0 for any other. What one record adds to a term is a product of

- what it adds to the released integer, a combination of measures: filters that it passes or not,
  and its value where it has one;
- of each of the term's groups, which the figure has too, released as it is: e_g;
- released CENTRED, n labels: n e_g - 1, as the record is in one of the cells; centred once more, n
  times that, as these add up to 0 over the labels;
- of each other group of the step, whose cells are added up: 1, as the record is in one of them;
- of each other group of the figure: 1.

Of a group with one label e_g is 1. Multiplied out, with e_g e_g = e_g, a part is a combination of
measures by products of e_g. It must be the statistic's own combination by the product of all groups
of the query, and nothing else: then it is that integer, whatever the records. Records with a value
of a column in which a number stands for a null are all records. Centred cells that are added up are
0 and would add nothing but noise; they are refused, and so are cells mixed by any other matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import compress
from typing import NamedTuple

from msgspec import Struct

from dprelease.kernel.chapters.figures.definitions import iter_own_contents
from dprelease.kernel.core.chapters import is_of_strategy
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches
from dprelease.model import (
    EACH,
    AxisKind,
    Group,
    Measure,
    MeasureKind,
    Query,
    Read,
    Step,
    Term,
)

ADDED_UP = ("count", "histogram", "sum", "mean", "proportion")
"""The statistics whose figures may be combined: they are made of sums over records."""

MOST_DECIMALS = 15

Cell = frozenset[Group]
"""The product of e_g over these groups."""

Sums = Mapping[tuple[Measure, Cell], Fraction]
"""How often a measure is in a part, by the product that multiplies it."""


class _Combined(Struct, frozen=True):
    """A query's figures: each term with its step, and the groups as steps have them.

    ``bounded``: how many rows of a unit count is limited, by cells.
    """

    read: Read
    released: Sequence[tuple[Term, Step]]
    groups: Cell
    bounded: bool


def find_combined_breaches(
    read: Read, steps: Mapping[str, Step], name: str, *, bounded: bool
) -> Iterator[Breach]:
    """Give what does not hold of figures that are combined of steps that mean what they say."""
    released = [(term, steps[term.step]) for term in read.terms]
    groups = Cell(group.complete() for group in read.query.groups)
    yield from find_breaches(COMBINED, _Combined(read, released, groups, bounded), name)


def _is_sum_of_terms(figures: _Combined) -> bool:
    read = figures.read
    own_terms = read.rows or read.merged or read.screened
    return bool(read.terms) and read.step == read.terms[0].step and not own_terms


def _is_added_up(query: Query) -> bool:
    others = (query.axis, query.candidates, query.survey_weight)
    return query.statistic in ADDED_UP and not query.private and others == (None,) * len(others)


def _is_of_strategies(figures: _Combined) -> bool:
    return all(
        is_of_strategy(step) and type(term.row) is int and 0 <= term.row < len(step.transform)
        for term, step in figures.released
    )


class _Part(NamedTuple):
    """A group of a step, how its cells are released, and whether it is one of a term's groups."""

    kind: AxisKind
    group: Group
    matched: bool


def _list_parts(term: Term, step: Step) -> list[_Part]:
    groups = step.query.groups
    axes = step.axes or (EACH,) * len(groups)
    return [
        _Part(axis.kind, group, place in term.groups)
        for place, (axis, group) in enumerate(zip(axes, groups, strict=True))
    ]


def _has_matched_groups(figures: _Combined) -> bool:
    """Tell whether groups of every term are groups of its step, each once, and of the figure."""
    for term, step in figures.released:
        places = range(len(step.query.groups))
        if len(set(term.groups)) != len(term.groups) or not set(term.groups) <= set(places):
            return False
        if any(step.query.groups[place] not in figures.groups for place in term.groups):
            return False
    return True


def _is_readable(figures: _Combined) -> bool:
    """Tell whether cells are released as they are, or centred along a group of the term."""
    return all(
        part.kind is AxisKind.EACH or (part.kind is AxisKind.CENTRED and part.matched)
        for term, step in figures.released
        for part in _list_parts(term, step)
    )


def _are_parts_of_query(figures: _Combined) -> bool:
    """Tell whether the terms of each part add up to what the statistic would release by itself."""
    several = Cell(group for group in figures.groups if len(group.labels) > 1)
    parts = {term.part for term, _ in figures.released}
    sums = {part: _add_up_terms(figures, part) for part in parts}
    query, (_, step) = figures.read.query, figures.released[0]
    for content in iter_own_contents(query, step):
        targets = [
            _collect_measures(content.measures, row, {several: Fraction(1)})
            for row in content.transform
        ]
        if sums == dict(enumerate(targets)) and _has_factors(figures.read, content.unit):
            return True
    return False


def _has_factors(read: Read, units: Sequence[Fraction]) -> bool:
    """Tell whether a figure is its part in units, or of two parts the share at a half."""
    if len(units) == 1:
        return (read.factors or (Fraction(1),)) == units
    return read.factors == (units[0] / 2, -units[1] / 2)


def _add_up_terms(figures: _Combined, part: int) -> Sums:
    """Add up what the terms of a part are of each measure."""
    sums: dict[tuple[Measure, Cell], Fraction] = {}
    for term, step in figures.released:
        if term.part == part:
            cells = {
                cell: number * term.factor
                for cell, number in _multiply_cells(_list_parts(term, step)).items()
            }
            for key, amount in _collect_measures(
                step.measures, step.transform[term.row], cells
            ).items():
                sums[key] = sums.get(key, Fraction(0)) + amount
    return {key: amount for key, amount in sums.items() if amount}


def _collect_measures(
    measures: Sequence[Measure], row: Sequence[int], cells: Mapping[Cell, Fraction]
) -> Sums:
    """Multiply a combination of measures by a sum of products of cells."""
    sums: dict[tuple[Measure, Cell], Fraction] = {}
    for place in compress(range(len(row)), row):
        measure = _name_measure(measures[place])
        for cell, number in cells.items():
            key = measure, cell
            sums[key] = sums.get(key, Fraction(0)) + row[place] * number
    return {key: amount for key, amount in sums.items() if amount}


def _name_measure(measure: Measure) -> Measure:
    """Give records with a value the name of all records, where every record has one."""
    quantity = measure.quantity
    everybody = quantity is not None and quantity.null_fill is not None
    if measure.kind is MeasureKind.VALUES and everybody:
        return Measure(MeasureKind.RECORDS, None, measure.where)
    return measure


def _multiply_cells(parts: Sequence[_Part]) -> Mapping[Cell, int]:
    """Multiply out what a record adds to the cell of a figure."""
    product = {Cell(): 1}
    for kind, group, matched in parts:
        if not matched:
            continue
        labels = len(group.labels)
        own = Cell({group} if labels > 1 else ())
        factor = Counter({own: 1})
        if kind is AxisKind.CENTRED:
            factor = Counter({own: labels * labels})
            factor[Cell()] -= labels
        before, product = product, {}
        for cell, number in before.items():
            for cell_factors, amount in factor.items():
                product[cell | cell_factors] = product.get(cell | cell_factors, 0) + number * amount
    return product


def _has_same_rows(figures: _Combined) -> bool:
    """Tell whether the same rows of a unit are kept: by the filter and the cells of a request.

    All steps of strategies with one filter are asked for in one request (``joined_tables``).
    """
    filters = {step.query.where for _, step in figures.released}
    return len(filters) == 1 or not figures.bounded


COMBINED: Rules[_Combined] = (
    Rule("combined figures are sums of terms, and of nothing else", _is_sum_of_terms),
    Rule(
        "combined figures are made of sums over records in public cells",
        lambda case: _is_added_up(case.read.query),
    ),
    Rule(
        "no group of combined figures is listed twice",
        lambda case: len(case.groups) == len(case.read.query.groups),
    ),
    Rule("terms are integers that a strategy releases", _is_of_strategies),
    Rule(
        "factors of terms are fractions, their parts whole",
        lambda case: all(
            isinstance(term.factor, Fraction) and type(term.part) is int for term in case.read.terms
        ),
    ),
    Rule(
        "combined figures are rounded to no more decimals than a number can show",
        lambda case: type(case.read.decimals) is int and 0 <= case.read.decimals <= MOST_DECIMALS,
    ),
    Rule("terms count the same rows of a unit", _has_same_rows),
    Rule("the groups of terms are groups of the step and of the figures", _has_matched_groups),
    Rule("cells that are added up are released as they are", _is_readable),
    Rule("the terms add up to what the query asks, part by part", _are_parts_of_query),
)
