"""Many quantiles are read from a tree of counts where that errs less, within the stated ranks."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import builders
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from thorough import for_each

import dprelease
from dprelease import load
from dprelease.errors import Failure
from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.strategies.mixed_cells import mix_cells
from dprelease.model import (
    AxisKind,
    AxisMatrix,
    Form,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Plan,
    Release,
    Step,
)
from dprelease.planning import solve
from dprelease.planning.planner import make_plan
from dprelease.statistics.quantile import bound_rank_error
from dprelease.statistics.shared.tree_quantiles import (
    MANY,
    MOST_VALUES,
    bound_ranks,
    find_quantiles,
)
from dprelease.statistics.shared.tree_sums import TreeSums

PURE: dict[str, Any] = {"epsilon": 1}
DELTA: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 10**6)}
PERCENTILES = [number / 100 for number in range(1, 100)]
PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "who",
    "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 2},
}


def build_spec(
    values: int, privacy: dict[str, Any], query: dict[str, Any] | None = None, **column: Any
) -> dict[str, Any]:
    return builders.spec(
        data={"path": "t.csv"},
        privacy=privacy,
        columns={
            "x": {"type": "integer", "lower": 5, "upper": 4 + values} | column,
            "g": {"type": "string", "keys": ["a", "b"]},
        },
        query=[
            {"name": "p", "statistic": "quantile", "column": "x", "q": PERCENTILES} | (query or {})
        ],
    )


def load_release(
    values: int, privacy: dict[str, Any], query: dict[str, Any] | None = None
) -> Release:
    return load(build_spec(values, privacy, query))


def get_step(plan: Plan) -> Step:
    (step,) = plan.steps
    return step


@pytest.mark.one_in(3)
@pytest.mark.parametrize("by", [[], ["g"]])
@pytest.mark.parametrize("more", [{}, {"adjacency": "replace-one"}, PEOPLE])
@pytest.mark.parametrize("privacy", [PURE, DELTA])
def test_many_quantiles_are_read_from_a_tree(
    privacy: dict[str, Any], more: dict[str, Any], by: list[str]
) -> None:
    plan = make_plan(load_release(1000, privacy | more, {"by": by}))
    certify(plan)
    step = get_step(plan)
    assert (step.form, step.noise.family) == (Form.NUMBERS, NoiseFamily.LAPLACE)
    assert [axis.kind for axis in step.axes] == [AxisKind.EACH] * len(by) + [AxisKind.TREE]
    assert step.sizes[-1] == 1000


FEW = PERCENTILES[:: 100 // MANY][: MANY - 1]


@pytest.mark.parametrize(
    ("values", "query"),
    [
        (1000, {"q": FEW}),
        (MOST_VALUES + 1, {}),
        (1000, {"mechanism": "exponential"}),
        (1000, {"candidates": list(range(5, 1005, 5))}),
    ],
)
def test_other_quantiles_are_selected(values: int, query: dict[str, Any]) -> None:
    step = get_step(make_plan(load_release(values, {"epsilon": 4}, query)))
    assert step.form is Form.QUANTILES


def test_version_02_selected_all_of_them() -> None:
    release = load_release(1000, PURE)
    plan = make_plan(release, as_version_02=True)
    certify(plan)
    assert get_step(plan).form is Form.QUANTILES
    assert get_step(plan) == get_step(make_plan(release, jointly=False))


def test_beside_it_no_other_query_errs_more() -> None:
    spec = build_spec(1000, PURE)
    spec["query"].append({"name": "m", "statistic": "median", "column": "x"})
    spec["query"].append({"name": "n", "statistic": "count"})
    release = load(spec)
    plan, before = make_plan(release), make_plan(release, as_version_02=True)
    certify(plan)
    assert plan.steps[0].form is Form.NUMBERS
    assert plan.steps[1:] == before.steps[1:]


# --- how they are read --------------------------------------------------------------------------


@cache
def build_step(values: int) -> Step:
    step = get_step(make_plan(load_release(values, PURE)))
    return replace(step, noise=Noise(NoiseFamily.LAPLACE, Fraction(3)))


@pytest.mark.one_in(2)
@for_each("values", [50, 150])
@for_each("kind", ["even", "tied", "at an end", "two heaps"])
def test_without_noise_they_are_the_quantiles(kind: str, values: int) -> None:
    step, random = build_step(values), np.random.default_rng(1)
    drawn = draw_values(kind, values, 400, random)
    counts = np.bincount(drawn, minlength=values)
    found = find_quantiles(step, mix_cells(counts.tolist(), step.sizes, step.axes))
    below = np.concatenate(([0], np.cumsum(counts)))
    for q, (value,) in zip(step.query.quantiles, found, strict=True):
        place = value - 5
        assert below[place] < q * 400 <= below[place + 1]


def draw_values(kind: str, values: int, size: int, random: np.random.Generator) -> Any:
    if kind == "tied":
        return random.integers(0, 5, size) * (values // 5)
    if kind == "at an end":
        return np.full(size, values - 1)
    if kind == "two heaps":
        return np.where(random.random(size) < 0.5, 0, values - 1)
    if kind == "skewed":
        return np.minimum(random.exponential(values / 20, size).astype(int), values - 1)
    return random.integers(0, values, size)


def simulate_rank_errors(step: Step, kind: str, size: int, runs: int) -> Any:
    """Rank errors of all quantiles in all runs, each with data and noise of its own."""
    values, random = step.sizes[-1], np.random.default_rng(7)
    scale, q = float(step.noise.parameter), np.array([float(q) for q in step.query.quantiles])
    errors = []
    for _ in range(runs):
        counts = np.bincount(draw_values(kind, values, size, random), minlength=values)
        exact = np.array(mix_cells(counts.tolist(), step.sizes, step.axes))
        draws = np.diff(random.geometric(1 - np.exp(-1 / scale), (step.draws, 2)))[:, 0]
        places = np.array(find_quantiles(step, (exact + draws).tolist()))[:, 0] - 5
        upto = np.cumsum(counts)
        below = upto - counts
        errors.append(np.maximum(0, np.maximum(below[places] - q * size, q * size - upto[places])))
    return np.array(errors)


@pytest.mark.one_in(3)
@for_each("kind", ["even", "skewed", "tied", "at an end", "two heaps"])
@for_each("values", [60, 1000])
def test_ranks_are_within_the_stated_bound(values: int, kind: str) -> None:
    step = build_step(values)
    errors = simulate_rank_errors(step, kind, 3000, 60)
    reader = TreeSums(values, step.axes[-1].entries[0])
    bounds = [bound_ranks(reader, step.noise, q, Fraction(1, 20)) for q in step.query.quantiles]
    assert (errors <= bounds).mean() >= 0.95
    assert max(bounds) == bound_rank_error(step, Fraction(95, 100))


@pytest.mark.one_in(4)
@for_each("kind", ["even", "skewed"])
@for_each("privacy", [PURE, DELTA])
def test_of_a_thousand_values_percentiles_err_by_eight_ranks(
    privacy: dict[str, Any], kind: str
) -> None:
    step = get_step(make_plan(load_release(1000, privacy)))
    errors = simulate_rank_errors(step, kind, 5000, 100)
    assert np.sqrt((errors**2).mean()) <= 8.3
    assert bound_rank_error(step, Fraction(95, 100)) <= 45


@pytest.mark.parametrize("size", [1, 8, 40])
def test_ranks_of_few_records_are_within_the_stated_bound(size: int) -> None:
    """Mostly the noisy number of records is far off, or below 0."""
    step = build_step(60)
    errors = simulate_rank_errors(step, "even", size, 200)
    reader = TreeSums(60, step.axes[-1].entries[0])
    bounds = [bound_ranks(reader, step.noise, q, Fraction(1, 20)) for q in step.query.quantiles]
    assert (errors <= bounds).mean() >= 0.95


@given(st.data())
def test_they_rise_whatever_the_noise(data: st.DataObject) -> None:
    step = build_step(60)
    number = st.integers(-50, 50)
    noisy = data.draw(st.lists(number, min_size=step.draws, max_size=step.draws))
    found = [value for (value,) in find_quantiles(step, noisy)]
    assert found == sorted(found)


@pytest.mark.parametrize("q", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_the_number_that_errs_most_is_found(q: Fraction) -> None:
    reader = TreeSums(60, (1, 8))
    variances = [reader.compute_balance_variance(number, q) for number in range(61)]
    worst = reader.find_most_unbalanced(q)
    assert variances[worst] == pytest.approx(float(max(variances)))
    noise = Noise(NoiseFamily.GAUSSIAN, Fraction(10**8))
    half = reader.balance_half(noise, worst, q, Fraction(1, 20))
    assert float(half) == pytest.approx(1.96e4 * float(variances[worst]) ** 0.5, rel=5e-3)


# --- runs, and what is refused ------------------------------------------------------------------


def test_a_run_publishes_what_the_counts_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With next to no noise, also of people with several rows and of missing values."""
    monkeypatch.setattr(solve, "WORTH", 1e300)
    monkeypatch.setattr(solve, "AS_GOOD", 1e300)
    monkeypatch.setattr(solve, "ROUNDED", ())
    values = [7 * place % 40 for place in range(100)]
    rows = [f"{5 + value},a,{place // 2}\n" for place, value in enumerate(values)]
    (tmp_path / "t.csv").write_text("x,g,who\n" + "".join([*rows, ",a,x\n", "9,b,x\n"]))
    spec = build_spec(40, {"epsilon": 10_000} | PEOPLE, {"by": ["g"]})
    spec["data"]["path"], spec["output"]["path"] = str(tmp_path / "t.csv"), str(tmp_path / "out")
    spec["ledger"] = {"path": str(tmp_path / "ledger.sqlite")}
    assert get_step(make_plan(load(spec))).form is Form.NUMBERS
    table = dprelease.run(spec).tables["by_g"].to_pydict()
    ordered = sorted(values)
    for share in range(1, 100):
        assert table[f"p_q{share}"] == [5 + ordered[share - 1], 9]


def change(step: Step, **changes: Any) -> Step:
    return replace(step, **changes)


def build_tree(*widths: int) -> AxisMatrix:
    return AxisMatrix(AxisKind.TREE, (widths,))


RECORDS = Measure(MeasureKind.RECORDS)
GRID = "records are counted by the values of a grid"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (lambda step: {"axes": (build_tree(1, 10, 100, 1000),)}, "L1 sensitivity"),
        (lambda step: {"axes": (build_tree(1, 2, 3),)}, "each matrix has integers"),
        (lambda step: {"axes": ()}, "have points"),
        (lambda step: {"axes": step.axes * 2}, "a matrix for each group"),
        (lambda step: {"axes": (AxisMatrix(AxisKind.EACH),)}, "own columns"),
        (lambda step: {"points": None}, "it has a measure"),
        (lambda step: {"points": replace(step.points, column="y")}, "releases the content"),
        (lambda step: {"points": replace(step.points, null_fill=7)}, "releases the content"),
        (lambda step: {"survey_weight": step.points}, "weights of points"),
        (lambda step: {"measures": (RECORDS,), "transform": ((1,),)}, GRID),
        (lambda step: {"unit": (Fraction(1, 2),)}, "releases the content"),
        (lambda step: {"noise": Noise(NoiseFamily.LAPLACE, Fraction(2))}, "no more epsilon"),
        (lambda step: {"threshold": 4}, "no keys"),
    ],
)  # fmt: skip
def test_other_counts_of_values_are_refused(changes: Any, sentence: str) -> None:
    plan = make_plan(load_release(1000, PURE))
    certify(plan)
    step = get_step(plan)
    with pytest.raises(Failure, match="E70") as refused:
        certify(replace(plan, steps=(change(step, **changes(step)),)))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("data", "query"), [({"weight": "w"}, {}), ({}, {"candidates": [5, 10, 15]})]
)
def test_weighted_records_and_candidates_are_not_read_from_counts(
    data: dict[str, Any], query: dict[str, Any]
) -> None:
    spec = build_spec(1000, PURE, query)
    spec["columns"]["w"] = {"type": "integer", "lower": 1, "upper": 2}
    spec["data"] |= data
    plan = make_plan(load(spec))
    certify(plan)
    tree = get_step(make_plan(load_release(1000, PURE)))
    counted = replace(tree, query=get_step(plan).query)
    with pytest.raises(Failure, match=GRID):
        certify(replace(plan, steps=(counted,)))
