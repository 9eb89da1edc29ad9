"""Plans of strategies: those that mean and cost what they say are certified, and no others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import strategy_plans as plans
from msgspec.structs import replace

from dprelease import Failure
from dprelease.kernel.certification import certify
from dprelease.kernel.core.step_forms import is_group
from dprelease.model import (
    CENTRED,
    EACH,
    AxisKind,
    AxisMatrix,
    Bounding,
    ColumnType,
    Group,
    Loss,
    Noise,
    NoiseFamily,
    Plan,
    Sensitivity,
    Term,
)

ONE, HALF = Fraction(1), Fraction(1, 2)


def build_nested() -> Plan:
    """By g as it is, and by both of that and of h centred."""
    made = plans.release((("g",), None), (("g", "h"), None))
    g, h = (group.complete() for group in made.queries[1].groups)
    steps = [plans.step("g", 1, 1, [g]), plans.step("h", 6, 12, [g, h], (EACH, CENTRED))]
    terms = [
        [Term("g", ONE, groups=(0,))],
        [Term("h", Fraction(1, 16), groups=(0, 1)), Term("g", Fraction(1, 4), groups=(0,))],
    ]
    return plans.combine(made, steps, terms)


def build_filtered() -> Plan:
    made = plans.release((("g",), "y > 3"), ((), "y > 3"))
    (g,) = (group.complete() for group in made.queries[0].groups)
    where = made.queries[0].where
    steps = [
        plans.step("g", 4, 6, [g], (CENTRED,), [where]),
        plans.step("n", 1, 1, (), (), [where]),
    ]
    terms = [
        [Term("g", Fraction(1, 9), groups=(0,)), Term("n", Fraction(1, 3))],
        [Term("n", ONE)],
    ]
    return plans.combine(made, steps, terms)


def plan_one_label() -> Plan:
    """A group with a label for everybody changes nothing."""
    plan = plans.build_centred()
    whole = Group("m", ColumnType.STRING, ("x",), keys=("x",), other="x", null_label="x")
    assert is_group(whole)
    groups = (*plan.reads[1].query.groups, whole)
    return plans.read(plan, 1, {"groups": groups})


def centre_along_one_label() -> Plan:
    """Of one label the centred cells are 0, so that nothing is counted by them."""
    plan = plan_one_label()
    groups = plan.reads[1].query.groups
    plan = plans.change_step(plan, 1, {"groups": (groups[0].complete(), groups[1])})
    return plans.term(plans.change_step(plan, 1, axes=(CENTRED, CENTRED)), 1, 1, groups=(0, 1))


def plan_full_of_people() -> Plan:
    """Two rows of a unit may be in one cell."""
    made = plans.plan_full(people=True)
    stated = replace(made.steps[0].sensitivity, l1=2, l2_squared=4, coordinates=2)
    noise = Noise(NoiseFamily.LAPLACE, Fraction(8))
    return plans.change_step(made, 0, sensitivity=stated, noise=noise)


RIGHT: dict[str, Callable[[], Plan]] = {
    "centred": plans.build_centred,
    "centred, a row replaced": lambda: plans.build_centred(adjacency="replace-one"),
    "centred, rows of people": lambda: plans.build_centred(people=True),
    "filters": plans.plan_by_filters,
    "conditions": plans.plan_conditions,
    "conditions in cells": lambda: plans.plan_conditions("g"),
    "conditions in all cells": lambda: plans.plan_conditions("g", "k"),
    "conditions on rows of people": lambda: plans.plan_conditions(people=True),
    "conditions on rows of people in cells": lambda: plans.plan_conditions("h", people=True),
    "drawn together": plans.plan_together,
    "drawn together in cells": lambda: plans.plan_together("g"),
    "drawn together, a row replaced": lambda: plans.plan_together(adjacency="replace-one"),
    "drawn together in cells, a row replaced": lambda: plans.plan_together(
        "h", adjacency="replace-one"
    ),
    "drawn together, rows of people": lambda: plans.plan_together("h", people=True),
    "counts drawn together": lambda: plans.plan_together("g", counts=True),
    "a condition and all others": plans.plan_split,
    "a condition and all others in cells": lambda: plans.plan_split("g"),
    "a condition and all others of rows of people": lambda: plans.plan_split("g", people=True),
    "conditions that exclude each other": plans.plan_apart,
    "conditions that exclude each other in cells": lambda: plans.plan_apart("g"),
    "conditions that exclude each other, a row replaced": lambda: plans.plan_apart(
        "h", adjacency="replace-one"
    ),
    "conditions that exclude each other, of people": lambda: plans.plan_apart("g", people=True),
    "a condition and its opposite": lambda: plans.plan_apart(
        first="y > 3", second="NOT y > 3", total=False
    ),
    "the full table": plans.plan_full,
    "the full table of people": plan_full_of_people,
    "nested": build_nested,
    "a filtered table": build_filtered,
    "one label": plan_one_label,
}


@pytest.mark.parametrize("name", RIGHT)
def test_strategies_are_certified(name: str) -> None:
    plan = RIGHT[name]()
    assert certify(plan).plan is plan


@pytest.mark.parametrize("name", RIGHT)
def test_less_noise_is_refused(name: str) -> None:
    plan = RIGHT[name]()
    for at, step in enumerate(plan.steps):
        if step.noise.parameter:
            less = replace(step.noise, parameter=step.noise.parameter * Fraction(999, 1000))
            with pytest.raises(Failure, match="it costs no more epsilon than it claims"):
                certify(plans.change_step(plan, at, noise=less))


def draw_by(norm: int) -> Plan:
    """A cube's loss, claimed for the scale of Laplace noise or of another norm."""
    plan = plans.plan_together("g")
    noise = replace(plan.steps[0].noise, parameter=plan.steps[0].noise.parameter / norm)
    return plans.change_step(plan, 0, noise=noise)


def weigh_unequally() -> Plan:
    """A total in steps twice as large, as if it moved by no more than what else is released."""
    plan = plans.plan_together("g")
    stated = replace(plan.steps[0].sensitivity, l1=4, l2_squared=6, coordinates=4)
    rows = (2, 0, -1), (0, 2, -1), (0, 0, 2)
    plan = plans.change_step(plan, 0, transform=rows, sensitivity=stated)
    plan = plans.term(plan, 0, 0, factor=HALF)
    for figure in (1, 2):
        plan = plans.term(plan, figure, 1, factor=Fraction(1, 4))
    return plan


def count_in_cells() -> Plan:
    """Counts claimed by what moves within a cell, though a row may leave one for another."""
    plan = plans.plan_together("g", counts=True, adjacency="replace-one")
    stated = replace(plan.steps[0].sensitivity, cube=1)
    return plans.change_step(
        plan, 0, sensitivity=stated, noise=replace(plan.steps[0].noise, parameter=Fraction(4))
    )


def split_wrongly() -> Plan:
    """A condition and all records, as if a row was counted in one of these alone."""
    plan = plans.change_step(plans.plan_split(), 0, transform=((1, 0), (0, 1)))
    return plans.read(plan, 0, terms=(Term("split", ONE, 1),), step="split")


def test_gaussian_noise_costs_by_the_squared_norm() -> None:
    plan = plans.build_centred()
    gaussian = Noise(NoiseFamily.GAUSSIAN, Fraction(7200))
    loss = Loss(Fraction(1, 4), Fraction(1, 10**3), Fraction(72, 2 * 7200))
    made = plans.change_step(plan, 3, noise=gaussian, loss=loss)
    made = replace(
        made,
        loss=Loss(ONE, Fraction(1, 10**3)),
        basic=Loss(ONE, Fraction(1, 10**3)),
        release=replace(
            made.release, privacy=replace(made.release.privacy, delta=Fraction(1, 10**3))
        ),
    )
    assert certify(made).plan is made
    with pytest.raises(Failure, match="Gaussian noise costs no more rho than it claims"):
        certify(plans.change_step(made, 3, noise=replace(gaussian, parameter=Fraction(7199))))


def check_refused(plan: Plan) -> str:
    with pytest.raises(Failure) as failure:
        certify(plan)
    (complaint,) = failure.value.complaints
    return complaint.message


EPSILON = "it costs no more epsilon than it claims"
LARGEST = "over all cells, the integer that changes most"
L1 = "the L1 sensitivity"
APART = "exclude each other"
ADD_UP = "the terms add up to what the query asks, part by part"
READABLE = "cells that are added up are released as they are"
MATCHED = "the groups of terms are groups of the step and of the figures"
FILTER, OTHER = (plans.plan_conditions().reads[at].query.where for at in (1, 2))
CENTRED_READS = plans.build_centred().reads
BY_H = CENTRED_READS[2].query.groups
TERMS = CENTRED_READS[3].terms


def change_term(at: int, place: int, **changes: Any) -> Plan:
    return plans.term(plans.build_centred(), at, place, **changes)


def read_centred(at: int, *terms: Term) -> Plan:
    return plans.read(plans.build_centred(), at, terms=terms)


def swap_filters() -> Plan:
    plan = plans.read(plans.plan_conditions(), 1, {"where": OTHER})
    return plans.read(plan, 2, {"where": FILTER})


@pytest.mark.parametrize(
    ("sentence", "make"),
    [
        # a loss that is claimed for the wrong norm
        (EPSILON, lambda: draw_by(3)),
        (EPSILON, lambda: draw_by(2)),
        (LARGEST, weigh_unequally),
        (LARGEST, count_in_cells),
        (
            EPSILON,
            lambda: plans.change_step(
                plans.plan_together(), 0, noise=Noise(NoiseFamily.LAPLACE, Fraction(4))
            ),
        ),
        (L1, split_wrongly),
        # filters that are not apart
        (APART, lambda: plans.plan_apart(second="y > 1")),
        (APART, lambda: plans.plan_apart(first="y > 3", second="y IS NOT NULL")),
        (L1, lambda: plans.change_step(plans.plan_apart(), 0, apart=False)),
        (
            L1,
            lambda: plans.change_step(
                plans.plan_apart(total=False), 0, transform=((1, 0, 0), (0, 1, 0), (0, 0, 1))
            ),
        ),
        (
            L1,
            lambda: plans.change_step(
                plans.plan_apart(adjacency="replace-one"),
                0,
                sensitivity=Sensitivity(1, 1, 1),
                noise=Noise(NoiseFamily.LAPLACE, Fraction(4)),
            ),
        ),
        # figures of other counts
        (ADD_UP, lambda: change_term(3, 1, factor=Fraction(1, 35))),
        (ADD_UP, lambda: change_term(3, 3, factor=Fraction(0))),
        (ADD_UP, lambda: read_centred(3, TERMS[0], *TERMS[2:])),
        (ADD_UP, lambda: read_centred(3, *TERMS, *TERMS)),
        (MATCHED, lambda: read_centred(1, *CENTRED_READS[2].terms)),
        (MATCHED, lambda: change_term(3, 3, groups=(0, 0, 1))),
        (MATCHED, lambda: change_term(3, 3, groups=(0, 2))),
        (MATCHED, lambda: change_term(3, 3, groups=(0, -1))),
        (READABLE, lambda: change_term(3, 3, groups=(0,))),
        (ADD_UP, lambda: plans.term(plans.plan_full(), 0, 0, groups=(0,))),
        (MATCHED, lambda: plans.term(plans.plan_full(), 1, 0, groups=(0, 1))),
        (ADD_UP, lambda: plans.term(plans.plan_conditions(), 1, 0, row=1)),
        (ADD_UP, lambda: plans.term(plans.plan_conditions(), 1, 1, factor=-HALF)),
        (ADD_UP, lambda: plans.term(plans.plan_conditions("g"), 0, 0, factor=HALF)),
        (ADD_UP, lambda: plans.read(plans.plan_conditions(), 0, {"where": FILTER})),
        (ADD_UP, swap_filters),
        (ADD_UP, lambda: plans.read(plans.plan_full(), 3, {"groups": BY_H})),
        (ADD_UP, lambda: plans.change_step(plans.build_centred(), 1, axes=())),
        (ADD_UP, centre_along_one_label),
        (ADD_UP, lambda: plans.change_step(plans.plan_full(), 0, axes=(EACH, CENTRED))),
        (
            READABLE,
            lambda: plans.change_step(plans.plan_full(), 0, axes=(EACH, basis((1, 0, 0)))),
        ),
    ],
)
def test_a_plan_that_claims_or_reads_something_else_is_refused(
    sentence: str, make: Callable[[], Plan]
) -> None:
    message = check_refused(make())
    assert sentence in message
    assert ('the figures of "q' in message) == (sentence in {ADD_UP, READABLE, MATCHED})


def basis(*rows: Any) -> AxisMatrix:
    return AxisMatrix(AxisKind.BASIS, rows)


def running(*row: Any) -> AxisMatrix:
    return AxisMatrix(AxisKind.RUNNING, (row,))


def build_scaled(*rows: Any) -> AxisMatrix:
    return AxisMatrix(AxisKind.SCALED, rows)


def build_tree(*widths: Any) -> AxisMatrix:
    return AxisMatrix(AxisKind.TREE, (widths,))


@pytest.mark.parametrize(
    "axis",
    [
        running(0, 1, 2),
        running(-1, 1, 2),
        running(1, 1),
        running(1, 1, 1, 1),
        running(1, True, 0),
        running(1.0, 2, 3),
        running(1, Fraction(2), 3),
        AxisMatrix(AxisKind.RUNNING),
        AxisMatrix(AxisKind.RUNNING, ((1, 2, 3), (1, 2, 3))),
        build_scaled((1, 2, 3)),
        build_scaled((1, 2, 3), (1, 2)),
        build_scaled((1, 2, 3), (1, 2, 0)),
        build_scaled((1, 2, 3), (-1, 2, 3)),
        build_scaled((0, 2, 3), (1, 2, 3)),
        build_scaled((1, 2, 3), (1, 2, 3), (1, 2, 3)),
        build_scaled((1, 2, 3), (1, 2.0, 3)),
        basis(),
        basis(()),
        basis((1, 2)),
        basis((1, 2, 3), (1, 2)),
        basis((1, 2, False)),
        basis((1, 2, 0.5)),
        build_tree(),
        build_tree(2, 4),
        build_tree(1, 1),
        build_tree(1, 2, 3),
        build_tree(1, 4, 2),
        build_tree(1, 0),
        build_tree(1, -2),
        build_tree(True, 2),
        build_tree(1, 2.0),
        AxisMatrix(AxisKind.TREE),
        AxisMatrix(AxisKind.TREE, ((1, 2), (1, 2))),
        AxisMatrix(AxisKind.CENTRED, ((1, 2, 3),)),
        AxisMatrix(AxisKind.EACH, ((1, 0, 0),)),
        AxisMatrix("each"[::-1], ((1, 0, 0),)),  # type: ignore[arg-type]
    ],
)
def test_matrices_that_are_none_are_refused(axis: AxisMatrix) -> None:
    message = check_refused(plans.change_step(plans.build_centred(), 1, axes=(axis,)))
    assert "each matrix has integers for all labels of its axis" in message


@pytest.mark.parametrize("row", [-1, 2, True, Fraction(1)])
def test_terms_are_of_integers_that_are_released(row: Any) -> None:
    message = check_refused(plans.term(plans.plan_conditions(), 1, 0, row=row))
    assert "terms are integers that a strategy releases" in message


@pytest.mark.parametrize("limits", [(2, 1, 2), (2, 2, 1), (4, 2, 2)])
def test_units_bounded_by_cells_are_refused(limits: tuple[int, int, int]) -> None:
    """In the cells of a joined table they may have more rows than in the step's own."""
    plan = plans.build_centred(people=True)
    privacy = replace(plan.release.privacy, bounding=Bounding(*limits))
    message = check_refused(replace(plan, release=replace(plan.release, privacy=privacy)))
    assert "only their number limits the rows of a unit" in message


@pytest.mark.parametrize("limits", [(2, 2, 2), (2, 3, 5), (1, 1, 1), (5, 1, 1)])
def test_units_bounded_by_their_rows_are_certified(limits: tuple[int, int, int]) -> None:
    plan = plans.build_centred(people=True)
    privacy = replace(plan.release.privacy, bounding=Bounding(*limits))
    bounded = replace(plan, release=replace(plan.release, privacy=privacy))
    assert certify(bounded).plan is bounded


def test_completed_groups_are_groups() -> None:
    plain = Group("g", ColumnType.STRING, ("a", "b"), keys=("a", "b"))
    other = replace(plain, labels=("a", "b", "rest"), other="rest")
    nulls = replace(plain, null_label="b")
    both = replace(other, null_label="rest")
    bins = Group("y", ColumnType.INTEGER, ("low", "high"), edges=("0", "5", "9"))
    for group in (plain, other, nulls, both, bins):
        completed = group.complete()
        assert is_group(group)
        assert is_group(completed)
        assert completed.total
        assert len(completed.labels) == len(group.labels) + (group != both)
        shuffled = (*completed.labels[1:], completed.labels[0])
        assert not is_group(replace(completed, labels=completed.labels[:-1]))
        assert not is_group(replace(completed, labels=(*completed.labels, "more")))
        assert not is_group(replace(completed, labels=shuffled, keys=None, edges=None))
    twice = replace(plain, labels=("a", "b", "null", "rest"), other="rest", null_label="null")
    assert not is_group(twice)  # other values come first
    assert is_group(replace(twice, labels=("a", "b", "rest", "null")))


def test_both_values_of_a_boolean_and_its_nulls_are_all_there_is() -> None:
    both = Group("b", ColumnType.BOOLEAN, ("false", "true"), keys=("false", "true"))
    stated = replace(both, null_label="false")
    assert stated.total
    assert stated.complete() == stated
    assert not both.total
    one = Group("b", ColumnType.BOOLEAN, ("true",), keys=("true",), null_label="true")
    assert not one.total
    assert len(one.complete().labels) == 2
