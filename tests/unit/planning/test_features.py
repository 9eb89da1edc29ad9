"""Sums, means and shares of the same rows are planned with one number of these rows."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod, sqrt
from random import Random
from typing import Any

import builders
import pytest
from msgspec.structs import replace
from thorough import examples

from dprelease.errors import Failure
from dprelease.kernel.certification import certify
from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import Form, NoiseFamily, Plan, Reading, Term
from dprelease.planning.features import Mix, add_up_mixes
from dprelease.planning.figure_errors import compute_errors
from dprelease.planning.planner import make_plan
from dprelease.planning.steps import Draft
from dprelease.specfile import load
from dprelease.statistics.shared.statistic import Released, read_neighbours

PURE: dict[str, Any] = {"epsilon": 1}
DELTA: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 10**6)}
MU: dict[str, Any] = {"rho": Fraction(1, 2)}
PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "who",
    "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 3},
}
REPLACED = {"adjacency": "replace-one"}
U = 50
FILLED = {"type": "integer", "lower": 0, "upper": U, "nulls": 0}
OPEN = {"type": "integer", "lower": -20, "upper": U - 20}


def of(statistic: str, number: int, column: str = "f", **more: Any) -> list[dict[str, Any]]:
    return [{"statistic": statistic, "column": f"{column}{at}"} | more for at in range(number)]


def shares(number: int, **more: Any) -> list[dict[str, Any]]:
    return [{"statistic": "proportion", "where": f"f{at} > 9"} | more for at in range(number)]


def plan(privacy: dict[str, Any], *queries: dict[str, Any], **how: Any) -> Plan:
    columns: dict[str, Any] = {f"f{at}": FILLED for at in range(10)}
    columns |= {f"o{at}": OPEN for at in range(10)}
    columns |= {f"h{at}": {"type": "integer", "lower": 20, "upper": U} for at in range(10)}
    columns["v"] = OPEN | {"type": "decimal", "step": Fraction(1, 2)}
    columns["g"] = {"type": "string", "keys": ["a", "b", "c"]}
    columns["h"] = {"type": "string", "keys": ["u", "v"]}
    named = [{"name": f"q{at}", "statistic": "count"} | query for at, query in enumerate(queries)]
    return make_plan(load(builders.spec(privacy=privacy, columns=columns, query=named)), **how)


def errors(made: Plan) -> Mapping[str, float]:
    """Standard deviations of all that is to err little."""
    neighbours = read_neighbours(made.release)
    drafts = [
        Draft(
            step.query,
            Released(step.measures, step.transform, step.unit, step.form, axes=step.axes),
            step.sensitivity,
            neighbours,
            tuple(read for read in made.reads if read.step == step.query.name),
        )
        for step in made.steps
    ]
    noise = {
        step.query.name: compute_noise_variance(step.noise)
        if step.form is Form.NUMBERS
        else float(1 / step.noise.parameter**2)
        for step in made.steps
    }
    return {name: sqrt(error) for name, error in compute_errors(drafts, noise).items()}


def compare(privacy: dict[str, Any], *queries: dict[str, Any]) -> dict[str, float]:
    """How much each errs, as a part of what it would if counts alone were planned together."""
    made = plan(privacy, *queries)
    certify(made)
    before = errors(plan(privacy, *queries, as_version_02=True))
    after = errors(made)
    assert set(after) == set(before)
    return {name: after[name] / before[name] for name in before if before[name]}


def test_ten_sums_have_one_number_of_records() -> None:
    gaussian = of("sum", 10, mechanism="gaussian")
    made = plan(DELTA, *gaussian)
    certify(made)
    assert [len(step.transform) for step in made.steps] == [1, 10]
    assert {step.noise.family for step in made.steps} == {NoiseFamily.GAUSSIAN}
    assert max(errors(made).values()) <= 8.8 * U
    assert max(compare(DELTA, *gaussian).values()) < 0.67


def test_five_means_have_one_number_of_records() -> None:
    ratios = compare(PURE, *of("mean", 5, mechanism="laplace"))
    assert max(ratios.values()) < 0.95  # in the middle; at an end, and the number, much less
    assert ratios["q0 #1"] < 0.78
    assert ratios["q0 #2"] < 0.56


def test_sums_and_means_have_noise_that_is_drawn_together() -> None:
    """(D+1)(D+2)/12 in squares of a mean in the middle, twice that of a sum, and of a mean at an
    end."""
    for privacy, statistic, number, most, end in (
        (PURE, "mean", 5, 2.17, 3.07),
        (PURE, "sum", 10, 5.11, 0),
        (DELTA, "sum", 10, 5.11, 0),
    ):
        made = plan(privacy, *of(statistic, number))
        certify(made)
        (step,) = made.steps
        assert step.noise.family is NoiseFamily.CUBE
        assert len(step.transform) == number + 1
        found = errors(made)
        assert found["q0"] <= most * U
        assert found.get("q0 #1", 0) <= end * U
        assert len({round(error, 6) for error in found.values()}) == (3 if end else 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("privacy", [PURE, DELTA, PURE | REPLACED, PURE | PEOPLE])
def test_columns_of_other_steps_and_conditions_are_drawn_together(privacy: dict[str, Any]) -> None:
    queries = [
        *of("sum", 3),
        {"statistic": "sum", "column": "v"},
        {"statistic": "mean", "column": "o0"},
        {"statistic": "sum", "column": "h0"},
        *([{"where": f"f1 > {at}"} for at in range(3)] if "unit" not in privacy else []),
        *([{}] if "unit" not in privacy else shares(1)),
    ]
    ratios = compare(privacy, *queries)
    assert max(ratios.values()) <= 1.0005
    assert prod(ratios.values()) ** (1 / len(ratios)) < 0.75
    made = plan(privacy, *queries)
    (step,) = [step for step in made.steps if step.noise.family is NoiseFamily.CUBE]
    assert len(step.transform) >= 8
    assert plan(privacy, *queries, as_version_02=True).strategies != made.strategies


@pytest.mark.parametrize("bounds", [(0, 6), (-3, 3), (1, 2), (-9, -3)])
@pytest.mark.parametrize("step", [1, 3, Fraction(1, 4)])
@pytest.mark.parametrize("has_fill", [False, True])
def test_columns_of_any_step_are_certified_with_and_without_nulls(
    has_fill: bool, step: Fraction, bounds: tuple[int, int]
) -> None:
    low, high = (end - end % step for end in bounds)
    column = {"type": "decimal", "lower": low, "upper": high + step, "step": step}
    column |= {"nulls": low} if has_fill else {}
    columns = {"v": column, "w": {"type": "decimal", "lower": 0, "upper": 1, "step": 1}}
    asked = [
        {"name": f"{of}_{statistic}", "statistic": statistic, "column": of}
        for statistic in ("mean", "sum")
        for of in columns
    ]
    made = make_plan(load(builders.spec(privacy=PURE, columns=columns, query=asked)))
    assert [step.noise.family for step in made.steps] == [NoiseFamily.CUBE]
    certify(made)


@pytest.mark.parametrize("epsilon", [10, 10_000, 1_000_000])
def test_errors_that_are_0_as_doubles_stop_no_plan(epsilon: int) -> None:
    bins = {"type": "decimal", "bins": [0.5, 1.25, 7]}
    columns = {
        "x": {"type": "float", "lower": 0, "upper": 7, "bins": [0, 2, 7, 12.5]},
        "y": bins | {"lower": 0, "upper": 7},
        "s": {"type": "string", "keys": ["a", "b"]},
        "t": {"type": "string"},
        "b": {"type": "boolean"},
        "d": {"type": "date", "bins": ["2026-01-11", "2026-01-21"]},
        "z": bins | {"expression": "x"},
        "n": {"type": "integer", "lower": -5, "upper": 995, "expression": "y % 7"},
    }
    asked = [
        {"name": "v", "statistic": "variance", "column": "x", "epsilon": 0.3},
        {"name": "p", "statistic": "proportion", "where": "LENGTH(LOWER(s)) <> 2"},
        {"name": "w", "statistic": "variance", "column": "y"},
        {"name": "q", "statistic": "quality", "weight": 0.1},
    ]
    privacy = {"epsilon": epsilon, "delta": 1e-5, "accounting": "zcdp"}
    certify(make_plan(load(builders.spec(privacy=privacy, columns=columns, query=asked))))


def test_a_count_and_a_share_of_the_same_rows_are_disjoint_counts() -> None:
    for by in ({}, {"by": ["g"]}):
        made = plan(PURE, by, {"statistic": "proportion", "where": "f0 > 9"} | by)
        certify(made)
        (step,) = made.steps
        assert step.noise.family is NoiseFamily.LAPLACE
        # Whether f0 has a value is not known, only what takes its place.
        assert step.transform in {((1, 0), (-1, 1)), ((1, 0, 0), (-1, 1, 0), (0, -1, 1))}
        found = errors(made)
        assert found["q0"] <= 1.36 * sqrt(len(step.transform))
        assert found["q1"] <= 0.97
        assert found["q1 #2"] <= 1.93


def test_shares_of_the_same_records_keep_their_fitted_number() -> None:
    same = [{"statistic": "proportion", "where": f"f0 > {at}"} for at in range(5)]
    made = plan(PURE, *same, *of("mean", 3))
    assert [read.reading is Reading.COMBINED for read in made.reads] == [False] * 5 + [True] * 3
    assert all(read.terms for read in plan(PURE, *shares(5)).reads)


def test_a_mean_and_a_share_by_groups_have_their_records_from_tables() -> None:
    columns = [{"by": ["g", "h"]}, {"by": ["h"]}, *({"where": f"f1 > {at}"} for at in range(5))]
    more = [*of("mean", 1, by=["g"]), {"statistic": "proportion", "where": "f0 > 9", "by": ["h"]}]
    for privacy in (PURE, DELTA):
        before = errors(plan(privacy, *columns, *more, jointly=False))
        after = errors(plan(privacy, *columns, *more))
        ratios = {name: after[name] / before[name] for name in before}
        assert max(ratios.values()) <= 1.0005
        assert prod(ratios.values()) ** (1 / len(ratios)) < 0.8
    made = plan(PURE, *columns, *more)
    of_tables = {made.steps_by_name[name].query.groups for name in made.reads[7].steps}
    assert len(of_tables) > 1  # the mean's own groups, and those of a table


def test_a_count_and_a_mean_are_read_from_one_release_as_before() -> None:
    made = plan(PURE, {}, *of("mean", 1))
    assert len(made.steps) == 1
    assert made.reads[0].reading is Reading.LINEAR


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("privacy", "queries"),
    [
        (DELTA, [{}, *shares(5)]),
        (DELTA, [{"by": ["g"]}, *shares(5, by=["g"])]),
        (DELTA, of("mean", 8, "o")),
        (DELTA, of("sum", 10, "h")),
        (MU, [*of("sum", 5), *of("mean", 5)]),
        (MU, [{"where": "f0 > 3"}, *of("sum", 6, where="f0 > 3")]),
        (MU, [{"by": ["g"]}, *of("sum", 6)]),
        (PURE | REPLACED, of("mean", 6, by=["g"])),
        (DELTA | REPLACED, of("sum", 6, by=["g"])),
        (MU | PEOPLE, of("sum", 6)),
        (MU | PEOPLE, of("sum", 6, where="f0 > 3", by=["g"])),
        (MU | PEOPLE, [*of("mean", 6), *shares(3)]),
    ],
)
def test_they_err_less_for_all_neighbours(
    privacy: dict[str, Any], queries: list[dict[str, Any]]
) -> None:
    ratios = compare(privacy, *queries)
    assert max(ratios.values()) <= 1.0005
    weights = len(ratios)
    assert prod(ratios.values()) ** (1 / weights) < 0.99


def test_no_figure_errs_more_whatever_is_asked() -> None:
    draw = Random(7)
    kinds: list[list[dict[str, Any]]] = [
        *(of(statistic, 3, column) for statistic in ("sum", "mean") for column in "fo"),
        [{"where": f"f1 > {at}"} for at in range(4)],
        [{"statistic": "sum", "column": "v"}],
        of("mean", 4, by=["g"]),
        of("variance", 2),
        of("median", 1),
        [{"by": ["g"]}],
        shares(4),
        [{}],
    ]
    for number in range(examples(24, 8)):
        queries = [query for kind in draw.sample(kinds, 4) for query in kind]
        budget = [PURE, DELTA, MU][number % 3]
        more = [{}, REPLACED, PEOPLE, {}][number % 4]
        ratios = compare(budget | more, *queries)
        assert max(ratios.values()) <= 1.0005, queries


def test_version_02_planned_none_of_them_together() -> None:
    made = plan(DELTA, *of("sum", 10), as_version_02=True)
    assert len(made.steps) == 10
    assert not made.strategies


def change_terms(made: Plan, at: int, terms: list[Term]) -> Plan:
    reads = list(made.reads)
    reads[at] = replace(reads[at], terms=tuple(terms))
    return replace(made, reads=tuple(reads))


def test_what_is_not_what_the_query_asks_is_refused() -> None:
    made = plan(MU, {}, *of("sum", 4), *of("mean", 4), *of("mean", 3, "o"))
    certify(made)
    mean, nullable, total = 5, 9, 1
    terms = list(made.reads[mean].terms)
    assert {term.part for term in terms} == {0, 1}
    assert any(read.query.column is not None and len(read.terms) > 4 for read in made.reads)
    wrong = [
        change_terms(made, mean, [replace(term, part=1 - term.part) for term in terms]),
        change_terms(made, mean, [replace(term, part=0) for term in terms]),
        change_terms(made, mean, [term for term in terms if term.part == 0]),
        change_terms(made, mean, [replace(term, part=2 * term.part) for term in terms]),
        change_terms(made, mean, [replace(terms[0], factor=-terms[0].factor), *terms[1:]]),
        change_terms(made, nullable, list(made.reads[nullable].terms)[:-1]),
        change_terms(made, total, list(made.reads[total + 1].terms)),
    ]
    for doctored in wrong:
        assert builders.is_refused(doctored)
    reads = list(made.reads)
    reads[mean] = replace(reads[mean], factors=(Fraction(1),))
    assert builders.is_refused(replace(made, reads=tuple(reads)))
    reads = list(made.reads)
    reads[total] = replace(reads[total], factors=(Fraction(2),))
    assert builders.is_refused(replace(made, reads=tuple(reads)))


@pytest.mark.parametrize("privacy", [DELTA, MU, MU | PEOPLE])
def test_less_noise_or_another_content_is_refused(privacy: dict[str, Any]) -> None:
    made = plan(privacy, *of("sum", 6))
    certify(made)
    (at,) = [at for at, step in enumerate(made.steps) if len(step.transform) >= 6]
    step = made.steps[at]
    assert (step.noise.family is NoiseFamily.CUBE) == (privacy is DELTA)

    def doctored(**changes: Any) -> Plan:
        steps = list(made.steps)
        steps[at] = replace(step, **changes)
        return replace(made, steps=tuple(steps))

    half = replace(step.noise, parameter=step.noise.parameter / 2)
    first, *others = step.transform
    off = tuple(factor + (place == len(first) - 1) for place, factor in enumerate(first))
    assert builders.is_refused(doctored(noise=half))
    assert builders.is_refused(doctored(transform=(off, *others)))
    assert builders.is_refused(doctored(transform=(tuple(2 * f for f in first), *others)))
    assert builders.is_refused(doctored(unit=(Fraction(2), *step.unit[1:])))
    if step.noise.family is NoiseFamily.CUBE:
        *halves, total = step.transform
        smaller = replace(step.sensitivity, cube=step.sensitivity.cube - 1)
        fewer = replace(step.noise, integers=len(step.transform) - 1)
        assert builders.is_refused(doctored(sensitivity=smaller))
        assert builders.is_refused(doctored(noise=fewer))
        assert builders.is_refused(doctored(transform=(*halves, tuple(2 * f for f in total))))
        assert builders.is_refused(doctored(transform=(*halves, tuple(f - 1 for f in total))))
    wider = [
        replace(m, quantity=replace(m.quantity, grid=replace(m.quantity.grid, upper=2 * U)))
        if m.quantity is not None
        else m
        for m in step.measures
    ]
    assert builders.is_refused(doctored(measures=tuple(wider)))


def test_a_strategy_adds_up_columns_of_queries_by_its_filter() -> None:
    made = plan(MU, *of("sum", 6, where="f0 > 3"))
    (at,) = [at for at, step in enumerate(made.steps) if len(step.transform) == 6]
    step = made.steps[at]
    first, *others = step.measures
    assert first.quantity is not None
    other = replace(first, quantity=replace(first.quantity, column="f9"))
    everybody = replace(first, where=None)
    for measure, rule in (
        (other, "adds up values of columns of the release's queries"),
        (everybody, "a strategy has its own filter"),
    ):
        steps = list(made.steps)
        steps[at] = replace(step, measures=(measure, *others))
        with pytest.raises(Failure, match=rule):
            certify(replace(made, steps=tuple(steps)))


APART = ["f0 < 10", "f0 >= 10 AND f0 < 20", "f0 BETWEEN 20 AND 30"]


@pytest.mark.parametrize("by", [{}, {"by": ["g"]}])
@pytest.mark.parametrize("privacy", [PURE, DELTA])
def test_conditions_that_exclude_each_other_have_the_whole_budget_each(
    privacy: dict[str, Any], by: dict[str, Any]
) -> None:
    for total in ([], [by]):
        made = plan(privacy, *total, *({"where": where} | by for where in APART))
        certify(made)
        (step,) = made.steps
        assert step.apart
        found = errors(made)
        assert all(found[f"q{at}"] <= 1.36 for at in range(len(total), len(found)))
        if total:
            assert found["q0"] <= 2.72


def test_other_conditions_stand_beside_those_that_exclude_each_other() -> None:
    many = [{"where": f"f0 = {number}"} for number in range(12)]
    free = [{"where": f"f{at} > 9"} for at in range(1, 3)]
    before = errors(plan(PURE, {}, *many, *free, as_version_02=True))
    made = plan(PURE, {}, *many, *free)
    certify(made)
    assert sum(step.apart for step in made.steps) == 1
    found = errors(made)
    assert all(found[name] < before[name] for name in found)


def test_version_02_planned_no_conditions_apart() -> None:
    made = plan(PURE, *({"where": where} for where in APART), as_version_02=True)
    assert not any(step.apart for step in made.steps)


def test_each_mix_has_a_factor() -> None:
    mix = Mix(0, Fraction(1), Fraction(2), Fraction(3))
    assert add_up_mixes([mix, mix], [2, Fraction(1, 2)])[1:] == (2.5, 5, 7.5)
    for factors in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="argument"):
            add_up_mixes([mix, mix], factors)
