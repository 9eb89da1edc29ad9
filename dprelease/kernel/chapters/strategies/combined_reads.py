"""Whether a figure that is combined of several steps' integers is the count that its query asks.

Like all of reading it costs no privacy. What the terms count is written out again, as a sum over
records. In a table by groups let e_g be 1 for a record whose label of group g is that of the
figure's cell, and 0 for any other. What one record adds to a term is a product of

- what it adds to the released integer, which is a combination of filters that it passes or not;
- of each of the term's groups, which the figure has too, released as it is: e_g;
- released CENTRED, n labels: n e_g - 1, as the record is in one of the cells; centred once more, n
  times that, as these add up to 0 over the labels;
- of each other group of the step, whose cells are added up: 1, as the record is in one of them;
- of each other group of the figure: 1.

Of a group with one label e_g is 1. Multiplied out, with e_g e_g = e_g, a figure is a combination of
filters by products of e_g. It must be 1 times the query's filter by the product of all its groups,
and nothing else: then it is the count, whatever the records. Centred cells that are added up are 0
and would add nothing but noise; they are refused, and so are cells mixed by any other matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import compress
from typing import NamedTuple

from msgspec import Struct

from dprelease.kernel.core.chapters import is_of_strategy
from dprelease.kernel.core.rules import Breach, Rule, Rules, find_breaches
from dprelease.model import EACH, AxisKind, Expression, Group, Query, Read, Step, Term

COUNTS = ("count", "histogram")
"""The statistics that are a number of records for each cell."""

MOST_DECIMALS = 15

Cell = frozenset[Group]
"""The product of e_g over these groups."""

Sums = Mapping[tuple[Expression | None, Cell], Fraction]
"""How often the records of a filter are in a figure, by the product that multiplies each."""


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
    own_terms = read.rows or read.factors or read.merged or read.screened
    return bool(read.terms) and read.step == read.terms[0].step and not own_terms


def _is_count(query: Query) -> bool:
    shares = (
        query.axis, query.candidates, query.numerator, query.denominator, query.survey_weight
    )  # fmt: skip
    return query.statistic in COUNTS and not query.private and shares == (None,) * len(shares)


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


def _is_count_of_query(figures: _Combined) -> bool:
    query = figures.read.query
    counts: Counter[Expression | None]
    sums: dict[tuple[Expression | None, Cell], Fraction] = {}
    for term, step in figures.released:
        cells = _multiply_cells(_list_parts(term, step))
        counts = Counter()
        row = step.transform[term.row]
        for place in compress(range(len(row)), row):
            counts[step.measures[place].where] += row[place]
        for where, amount in counts.items():
            for cell, number in cells.items():
                key = where, cell
                sums[key] = sums.get(key, Fraction(0)) + term.factor * amount * number
    several = Cell(group for group in figures.groups if len(group.labels) > 1)
    target = {(query.where, several): Fraction(1)}
    return {key: amount for key, amount in sums.items() if amount} == target


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
        "combined figures are numbers of records in public cells",
        lambda case: _is_count(case.read.query),
    ),
    Rule(
        "no group of combined figures is listed twice",
        lambda case: len(case.groups) == len(case.read.query.groups),
    ),
    Rule("terms are integers that a strategy releases", _is_of_strategies),
    Rule(
        "factors of terms are fractions",
        lambda case: all(isinstance(term.factor, Fraction) for term in case.read.terms),
    ),
    Rule(
        "combined figures are rounded to no more decimals than a number can show",
        lambda case: type(case.read.decimals) is int and 0 <= case.read.decimals <= MOST_DECIMALS,
    ),
    Rule("terms count the same rows of a unit", _has_same_rows),
    Rule("the groups of terms are groups of the step and of the figures", _has_matched_groups),
    Rule("cells that are added up are released as they are", _is_readable),
    Rule("the terms add up to the count of the query", _is_count_of_query),
)
