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
    made = plan(DELTA, *of("sum", 10))
    certify(made)
    assert [len(step.transform) for step in made.steps] == [1, 10]
    assert {step.noise.family for step in made.steps} == {NoiseFamily.GAUSSIAN}
    assert max(errors(made).values()) <= 8.8 * U
    assert max(compare(DELTA, *of("sum", 10)).values()) < 0.67


def test_five_means_have_one_number_of_records() -> None:
    ratios = compare(PURE, *of("mean", 5))
    assert max(ratios.values()) < 0.95  # in the middle; at an end, and the number, much less
    assert ratios["q0 #1"] < 0.78
    assert ratios["q0 #2"] < 0.56


def test_a_count_and_a_mean_are_read_from_one_release_as_before() -> None:
    made = plan(PURE, {}, *of("mean", 1))
    assert len(made.steps) == 1
    assert made.reads[0].reading is Reading.LINEAR


@pytest.mark.one_in(3)
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
    for number in range(examples(24, 3)):
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
    (at,) = [at for at, step in enumerate(made.steps) if len(step.transform) == 6]
    step = made.steps[at]

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
