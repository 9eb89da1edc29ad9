"""Counts planned together: how much they err, and that no figure errs more than by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt
from typing import Any

import pytest
from builders import spec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from thorough import examples

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.model import CENTRED, EACH, Release
from dprelease.planning import figure_errors, solve, strategy_candidates
from dprelease.planning.budgets import read_total
from dprelease.planning.planner import make_plan
from dprelease.planning.shared_releases import build_drafts
from dprelease.planning.solve import Solution, choose_best_solution
from dprelease.release.plan import plan_and_certify

Json = dict[str, Any]

DELTA: Json = {"epsilon": 1, "delta": 1e-6}
PURE: Json = {"epsilon": 1}
MU: Json = {"rho": 0.5}  # a mu of 1


def load_release(
    privacy: Json, sizes: dict[str, int], queries: Sequence[Json], adjacency: str = "add-remove"
) -> Release:
    """A release over columns with so many labels, which all records have."""
    columns: dict[str, Json] = {"x": {"type": "integer", "lower": 0, "upper": 1000}}
    for name, size in sizes.items():
        # the last label stands for all other values and for nulls
        keys = [f"k{place}" for place in range(size - 1)]
        columns[name] = {"type": "string", "keys": keys, "other": "rest", "nulls": "rest"}
        if size == 1:
            columns[name] |= {"keys": ["rest"]}
    named = [{"name": f"q{place}", "statistic": "count"} | q for place, q in enumerate(queries)]
    return load(
        spec(
            data={"path": "t.csv"},
            privacy={"adjacency": adjacency} | privacy,
            columns=columns,
            query=named,
        )
    )


def tables(sets: Iterable[Sequence[str]]) -> list[Json]:
    return [{"by": list(names)} if names else {} for names in sets]


def ways(names: Iterable[str], *sizes: int) -> list[tuple[str, ...]]:
    return [group for size in sizes for group in combinations(sorted(names), size)]


def plan_conditions(number: int) -> list[Json]:
    return [{}, *({"where": f"x > {place}"} for place in range(number))]


def solve_values(release: Release) -> Solution:
    return choose_best_solution(release, read_total(release))


def compute_errors(solution: Solution) -> dict[str, float]:
    """The variance of every figure."""
    noise = figure_errors.compute_planned_errors(solution.drafts, solution.choices)
    return dict(figure_errors.compute_errors(solution.drafts, noise))


def compute_rmse(variances: Iterable[float]) -> float:
    values = list(variances)
    return sqrt(sum(values) / len(values))


# --- how much they err ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("privacy", "number", "most", "drafts"),
    [
        # With noise that is drawn together, a single condition beside its complement.
        (PURE, 1, 1.67, 1),
        (PURE, 2, 2.10, 1),
        (PURE, 3, 2.49, 1),
        (PURE, 10, 5.33, 1),
        (DELTA, 10, 5.33, 1),
        (PURE, 30, 13.5, 1),
        (PURE, 100, 42.1, 1),
        (DELTA, 100, 23.5, 2),
        pytest.param(DELTA, 1000, 69.5, 2, marks=pytest.mark.thorough),
    ],
)
def test_conditions_and_their_total(privacy: Json, number: int, most: float, drafts: int) -> None:
    made = solve_values(load_release(privacy, {}, plan_conditions(number)))
    assert len(made.drafts) == drafts
    assert compute_rmse(made.compute_errors(exactly=True).values()) <= most


@pytest.mark.parametrize(("privacy", "most"), [(DELTA, 8.85), (PURE, 9.55)])
def test_conditions_and_their_total_in_version_02(privacy: Json, most: float) -> None:
    release = load_release(privacy, {}, plan_conditions(10))
    made = choose_best_solution(release, read_total(release), as_version_02=True)
    assert len(made.drafts) == 2
    assert compute_rmse(compute_errors(made).values()) <= most


@pytest.mark.parametrize("privacy", [DELTA, PURE])
def test_conditions_in_several_pieces_err_as_those_in_one(
    privacy: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load_release(privacy, {}, plan_conditions(10))

    def solve_as_before() -> Solution:
        return choose_best_solution(release, read_total(release), as_version_02=True)

    in_one = compute_errors(solve_as_before())
    monkeypatch.setattr(strategy_candidates, "MOST_CONDITIONS", 4)
    made = plan_and_certify(release, as_version_02=True).plan
    in_several = compute_errors(solve_as_before())
    sizes = [len(step.transform) for step in made.steps if "conditions" in step.query.name]
    assert sizes == [3, 3, 4]
    assert all(in_several[name] <= 1.001 * error for name, error in in_one.items())


BIRTHS = {"a": 6, "b": 10, "c": 2, "d": 8, "e": 5}
YES_NO = {f"a{place:02}": 2 for place in range(20)}
SIX = {f"a{place}": 10 for place in range(6)}


@pytest.mark.parametrize(
    ("sizes", "sets", "most"),
    [
        (BIRTHS, ways(BIRTHS, 1, 2), 2.87),
        (BIRTHS, ways(BIRTHS, 2), 2.63),
        (YES_NO, ways(YES_NO, 1, 2), 5.22),
        (SIX, ways(SIX, 2), 3.46),
    ],
)
def test_sets_of_tables(sizes: dict[str, int], sets: list[tuple[str, ...]], most: float) -> None:
    made = solve_values(load_release(MU, sizes, tables(sets)))
    assert compute_rmse(compute_errors(made).values()) <= most


ADULT = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2]
LOANS = [101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15]
MANY = {"a": 12, "b": 20, "c": 5, "d": 2}
CPS = {"a": 50, "b": 100, "c": 7, "d": 4, "e": 2}


def number_columns(sizes: Sequence[int]) -> dict[str, int]:
    return {f"a{place:02}": size for place, size in enumerate(sizes)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("sizes", "of", "most", "least_before"),
    [
        (MANY, 3, 1.5907, 1.75),
        (CPS, 3, 2.0477, 2.2525),
        (number_columns(ADULT), 2, 6.3587, 6.3587),
        (number_columns(LOANS), 2, 5.6343, 5.6343),
        pytest.param(number_columns(ADULT), 3, 10.5153, 11.5, marks=pytest.mark.thorough),
    ],
)
def test_cells_that_weigh_alike_err_as_little_as_can_be(
    sizes: dict[str, int], of: int, most: float, least_before: float
) -> None:
    # By the closed form of ResidualPlanner, arXiv 2305.08175, with the columns of its data sets.
    # Of three columns some pieces matter a million times less than others.
    query = {"statistic": "marginals", "columns": list(sizes), "ways": [of], "weigh": "cells"}
    release = load_release(MU, sizes, [query])
    cells = {query.name: query.cells for query in release.queries}
    errors = []
    for as_version_02 in (False, True):
        made = choose_best_solution(release, read_total(release), as_version_02=as_version_02)
        variances = compute_errors(made)
        total = sum(number * variances[name] for name, number in cells.items())
        errors.append(sqrt(total / sum(cells.values())))
    assert errors[0] <= most * 1.0001
    assert errors[1] >= least_before * 0.9999


def test_tables_of_yes_and_no_under_pure_loss_are_read_from_the_full_one() -> None:
    sizes = {f"a{place}": 2 for place in range(6)}
    release = load_release(PURE, sizes, tables(ways(sizes, 0, 1, 2, 3)))
    made = solve_values(release)
    assert len(made.drafts) == 1
    variances = compute_errors(made)
    by_cell = [sqrt(variances[query.name]) for query in release.queries for _ in range(query.cells)]
    assert sum(by_cell) / len(by_cell) <= 4.85


def test_a_tree_errs_no_more_than_its_levels_by_themselves() -> None:
    release = load_release(MU, {"s": 50, "t": 20}, tables([(), ("s",), ("s", "t")]))
    variances = compute_errors(solve_values(release))
    assert max(variances.values()) < 3  # each level by itself: three of mu 1


def test_tables_with_one_group_more_each_add_up_to_what_is_asked() -> None:
    """The finer one is released centred along its new group: certification adds up the terms."""
    asked = tables([("g",), ("g", "h")])
    made = plan_and_certify(load_release({"rho": 0.1}, {"g": 2, "h": 31}, asked)).plan
    assert [step.axes for step in made.steps] == [(), (EACH, CENTRED)]


def test_one_query_alone_stays_as_it_is() -> None:
    for query in ({}, {"by": ["a"]}, {"where": "x > 3"}):
        release = load_release(DELTA, {"a": 3}, [query])
        assert [draft.name for draft in solve_values(release).drafts] == ["q0"]


def test_replaced_records_leave_halves_as_they_are() -> None:
    """One in the place of another moves 2 x - n twice as far, but no count more than before."""
    release = load_release(DELTA, {}, plan_conditions(10), adjacency="replace-one")
    before = choose_best_solution(release, read_total(release), as_version_02=True)
    assert all(not draft.query.implied for draft in before.drafts)
    made = solve_values(release)
    (counts,) = [draft for draft in made.drafts if draft.query.implied and not draft.free]
    assert counts.sensitivity.cube == 1
    assert counts.integers == 10
    errors = compute_errors(before)
    assert all(size <= 0.8 * errors[name] for name, size in compute_errors(made).items() if size)


# --- no figure errs more -------------------------------------------------------------------------


def compared(release: Release) -> dict[str, float]:
    """The variance of each figure as a part of what it is without strategies."""
    total = read_total(release)
    without = compute_errors(solve.solve(release, build_drafts(release), total))
    joint = compute_errors(choose_best_solution(release, total))
    return {name: joint[name] / without[name] for name in without if without[name]}


MIXED = [
    {"by": ["a", "b"]},
    {"by": ["b", "c"]},
    *({"where": f"x > {place}"} for place in range(6)),
    {"statistic": "mean", "column": "x", "by": ["a"]},
    {"statistic": "sum", "column": "x"},
    {"statistic": "median", "column": "x"},
    {"statistic": "proportion", "where": "x > 3", "by": ["b"]},
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("privacy", "gain"), [(DELTA, 1.45), (PURE, 1.75), (MU, 1.1)])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_mixed_spec_errs_nowhere_more(privacy: Json, gain: float, adjacency: str) -> None:
    release = load_release(privacy, {"a": 4, "b": 2, "c": 3}, MIXED, adjacency)
    ratios = compared(release)
    assert max(ratios.values()) <= solve.AS_GOOD
    if adjacency == "add-remove":
        figures = [ratio for name, ratio in ratios.items() if "#" not in name]
        assert len(figures) == len(MIXED)
        assert prod(figures) ** (-0.5 / len(figures)) >= gain


@st.composite
def specs(draw: st.DrawFn) -> tuple[Json, list[Json], str]:
    groups = st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(sorted)
    filters = st.one_of(st.none(), st.integers(0, 3).map(lambda k: f"x > {k}"))
    queries = []
    for by, where in draw(st.lists(st.tuples(groups, filters), min_size=1, max_size=6)):
        query: Json = {"by": by} if by else {}
        query |= {"where": where} if where else {}
        query["weight"] = draw(st.sampled_from([1, 1, 4, 0.25]))
        if draw(st.integers(0, 4)) == 0:
            query |= {"statistic": "sum", "column": "x"}
        queries.append(query)
    adjacency = draw(st.sampled_from(["add-remove", "replace-one"]))
    return draw(st.sampled_from([DELTA, PURE, MU])), queries, adjacency


@settings(max_examples=examples(100, 14), deadline=None)
@given(specs())
def test_no_figure_of_any_spec_errs_more(made: tuple[Json, list[Json], str]) -> None:
    privacy, queries, adjacency = made
    ratios = compared(load_release(privacy, {"a": 3, "b": 2, "c": 5}, queries, adjacency))
    assert max(ratios.values(), default=0) <= solve.AS_GOOD  # none of a figure without noise


@pytest.mark.parametrize("privacy", [PURE, MU])
def test_a_total_that_no_neighbour_changes_is_a_part_of_no_budget(privacy: Json) -> None:
    """Where one record replaces another their number is public: its piece has no noise."""
    stated: Json = {"rho": 0.1} if "rho" in privacy else {"epsilon": 0.1}
    query = {"statistic": "marginals", "columns": ["a", "b", "c"], "ways": 1} | stated
    queries = [query, {"statistic": "sum", "column": "x"}]
    release = load_release(privacy, {"a": 3, "b": 2, "c": 5}, queries, "replace-one")
    assert certify(make_plan(release)).plan.strategies
    assert max(compared(release).values()) <= solve.AS_GOOD


# --- what a plan says of them --------------------------------------------------------------------


def test_a_plan_does_not_depend_on_the_order_of_its_queries() -> None:
    sizes = {"a": 3, "b": 2, "c": 5}
    queries = [{"by": ["b", "c"]}, {"by": ["a", "b"]}, {}, *plan_conditions(3)[1:]]
    named = [{"name": f"n{place}"} | query for place, query in enumerate(queries)]
    there = make_plan(load_release(DELTA, sizes, named))
    back = make_plan(load_release(DELTA, sizes, named[::-1]))

    def steps(plan: Any) -> dict[str, Any]:
        return {
            step.query.name: (step.noise, step.measures, step.axes, step.query.groups)
            for step in plan.steps
        }

    assert steps(there) == steps(back)
    terms = [{read.query.name: read.terms for read in plan.reads} for plan in (there, back)]
    assert terms[0] == terms[1]


def test_a_plan_names_what_is_planned_together_and_how_it_would_err_alone() -> None:
    made = make_plan(load_release(DELTA, {}, plan_conditions(10)))
    (strategy,) = made.strategies
    assert sorted(strategy.queries) == sorted(query.name for query in made.release.queries)
    assert all(sqrt(made.alone[name]) == pytest.approx(14.01, abs=0.01) for name in made.alone)
    assert set(made.alone) == set(strategy.queries)


def test_weights_make_figures_better() -> None:
    queries = [{"by": ["a", "b"], "weight": 9}, {"by": ["b", "c"]}, {"by": ["a", "c"]}]
    variances = compute_errors(solve_values(load_release(MU, {"a": 4, "b": 4, "c": 4}, queries)))
    assert variances["q0"] < variances["q1"] == pytest.approx(variances["q2"])


def test_labels_that_leave_records_out_are_completed() -> None:
    """A record without a label in one table has one in another: both add up to all records."""
    release = load(
        spec(
            data={"path": "t.csv"},
            privacy=MU,
            columns={
                name: {"type": "string", "keys": [f"{place}" for place in range(8)]}
                for name in ("a", "b", "c")
            },
            query=[
                {"name": f"q{a}{b}", "statistic": "count", "by": [a, b]}
                for a, b in combinations("abc", 2)
            ],
        )
    )
    made = make_plan(release)
    assert made.strategies
    for step in made.steps:
        assert all(group.total and len(group.labels) == 9 for group in step.query.groups)
    assert Fraction(0) < min(made.alone.values())


def test_all_tables_of_a_query_are_planned_together_beside_a_mean_too() -> None:
    crossed = {"name": "n", "statistic": "marginals", "columns": ["a", "b"], "ways": 2}
    mean = {"name": "m", "statistic": "mean", "column": "x", "by": ["a"]}
    made = make_plan(load_release(DELTA, {"a": 3, "b": 4}, [crossed, mean]))
    (strategy,) = made.strategies
    assert sorted(strategy.queries) == ["n:by_a", "n:by_a_b", "n:by_b"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("privacy", [DELTA, PURE, MU])
def test_weights_far_apart_are_planned_and_no_figure_errs_more(privacy: Json) -> None:
    """Farther apart than a spec may have them."""
    pairs = tables([("a", "b"), ("b", "c"), ("a", "c")])
    conditions = [{"where": f"x > {place}"} for place in range(6)]
    release = load_release(privacy, {"a": 10, "b": 10, "c": 10}, [*pairs, *conditions])
    weights = [10**6, Fraction(1, 10**6), 1, *([10**6, Fraction(1, 10**6)] * 3)]
    queries = zip(release.queries, weights, strict=True)
    weighed = tuple(replace(query, weight=Fraction(weight)) for query, weight in queries)
    release = replace(release, queries=weighed)
    certify(make_plan(release))
    alone = compute_errors(choose_best_solution(release, read_total(release), jointly=False))
    together = compute_errors(solve_values(release))
    assert all(together[name] <= 1.0006 * error for name, error in alone.items())
