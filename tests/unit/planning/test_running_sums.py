"""Cumulative counts are mixed along their order exactly where that errs less."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import builders
import pytest
from msgspec.structs import replace

import dprelease
from dprelease import load
from dprelease.errors import Failure
from dprelease.kernel.certification import certify
from dprelease.mechanisms.mechanism_registry import get_law
from dprelease.model import AxisKind, AxisMatrix, NoiseFamily, Plan, Release, Step
from dprelease.planning import solve
from dprelease.planning.planner import make_plan
from dprelease.statistics import cumulative
from dprelease.statistics.statistic_registry import get_statistic

MU: dict[str, Any] = {"rho": 0.5}
DELTA: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 10**6)}
PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "who",
    "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 2},
}
RUNNING: dict[str, Any] = {"name": "c", "statistic": "cumulative", "column": "x"}


def load_release(rows: int, privacy: dict[str, Any], *queries: dict[str, Any]) -> Release:
    return load(build_spec(rows, privacy, *queries))


def build_spec(rows: int, privacy: dict[str, Any], *queries: dict[str, Any]) -> dict[str, Any]:
    return builders.spec(
        data={"path": "t.csv"},
        privacy=privacy,
        columns={
            "x": {"type": "integer", "lower": 0, "upper": rows, "bins": list(range(rows + 1))},
            "g": {"type": "string", "keys": ["a", "b"]},
        },
        query=list(queries) or [RUNNING],
    )


def build_step(plan: Plan, name: str = "c") -> Step:
    return next(step for step in plan.steps if step.query.name == name)


def compute_rmse(step: Step) -> float:
    statistic = get_statistic(step.query.statistic)
    variance = float(get_law(step.noise.family).compute_variance(step.noise))
    return sqrt(variance * float(statistic.spread(step.query, step.axes)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rows", "most"), [(10, 1.58), (100, 2.28), (365, 2.69), (1000, 3.01)])
@pytest.mark.parametrize("by", [(), ("g",)])
def test_with_concentrated_losses_they_err_as_little_as_they_can(
    rows: int, most: float, by: tuple[str, ...]
) -> None:
    """Within 2 % of the mean error of the best matrix."""
    plan = make_plan(load_release(rows, MU, RUNNING | {"by": list(by)}))
    certify(plan)
    (step,) = plan.steps
    assert [axis.kind for axis in step.axes] == [AxisKind.EACH] * len(by) + [AxisKind.SCALED]
    assert compute_rmse(step) <= most


@pytest.mark.parametrize(
    ("privacy", "query", "rows"),
    [
        ({"epsilon": 1}, {}, 16),
        (DELTA, {}, 16),
        ({"epsilon": 3}, {}, 20),
        ({"epsilon": 10}, {}, 100),
        ({"epsilon": 1}, {}, 8193),
        ({"rho": 8}, {}, 100),
        (DELTA, {"accuracy": {"within": 100}}, 365),
        (MU, {}, 1),
    ],
)
def test_single_counts_are_released_where_that_errs_less(
    privacy: dict[str, Any], query: dict[str, Any], rows: int
) -> None:
    plan = make_plan(load_release(rows, privacy, RUNNING | query))
    assert build_step(plan).axes == ()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("privacy", "query"),
    [
        ({"epsilon": 1}, {}),
        (DELTA, {}),
        (DELTA, {"mechanism": "laplace"}),
        ({"epsilon": 3, "delta": Fraction(1, 10)}, {"epsilon": Fraction(1)}),
    ],
)
@pytest.mark.parametrize("by", [(), ("g",)])
@pytest.mark.parametrize(("rows", "most"), [(20, 4.3), (100, 6.6), (365, 9.0)])
def test_with_pure_losses_they_are_read_from_a_tree(
    rows: int, most: float, by: tuple[str, ...], privacy: dict[str, Any], query: dict[str, Any]
) -> None:
    plan = make_plan(load_release(rows, privacy, RUNNING | query | {"by": list(by)}))
    certify(plan)
    (step,) = plan.steps
    assert [axis.kind for axis in step.axes] == [AxisKind.EACH] * len(by) + [AxisKind.TREE]
    assert step.noise.family is NoiseFamily.LAPLACE
    assert compute_rmse(step) <= most


@pytest.mark.parametrize("more", [{}, {"adjacency": "replace-one"}, PEOPLE])
@pytest.mark.parametrize(
    ("budget", "family"), [(MU, NoiseFamily.GAUSSIAN), ({"epsilon": 1}, NoiseFamily.LAPLACE)]
)
def test_they_are_certified_for_all_neighbours(
    more: dict[str, Any], budget: dict[str, Any], family: NoiseFamily
) -> None:
    plan = make_plan(load_release(200, budget | more))
    certify(plan)
    assert build_step(plan).axes
    assert build_step(plan).noise.family is family


def test_no_other_figure_errs_more_by_it() -> None:
    others = [
        {"name": "n", "statistic": "count_units", "by": ["g"]},
        {"name": "s", "statistic": "sum", "column": "x"},
        {"name": "m", "statistic": "median", "column": "x"},
    ]
    mixed = make_plan(load_release(100, MU, RUNNING, *others))
    certify(mixed)
    assert build_step(mixed).axes
    single = {"name": "c", "statistic": "histogram", "column": "x"}
    before = make_plan(load_release(100, MU, single, *others))
    for name in "ns":
        assert compute_rmse(build_step(mixed, name)) <= 1.0005 * compute_rmse(
            build_step(before, name)
        )
    assert compute_rmse(build_step(mixed)) < 2.45 * compute_rmse(build_step(before))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("budget", [{"epsilon": 1}, DELTA])
@pytest.mark.parametrize(
    "other",
    [
        {"statistic": "sum", "column": "x"},
        {"statistic": "mean", "column": "x"},
        {"statistic": "count", "by": ["g"]},
        {"statistic": "median", "column": "x"},
    ],
)
def test_a_tree_takes_nothing_from_queries_beside_it(
    other: dict[str, Any], budget: dict[str, Any]
) -> None:
    """Gaussian noise mixed along the whole order would make figures with Laplace noise err more."""
    release = load_release(100, budget, RUNNING, {"name": "s", **other})
    plan, before = make_plan(release), make_plan(release, as_version_02=True)
    certify(plan)
    assert build_step(plan).axes[0].kind is AxisKind.TREE
    assert build_step(plan).noise.family is NoiseFamily.LAPLACE
    assert build_step(plan, "s").noise == build_step(before, "s").noise
    assert build_step(plan, "s").loss == build_step(before, "s").loss


@pytest.mark.parametrize(
    "column", [(1024, 512, 384), (2048, 1024, 768, 640), (1024, 1023, 1022, 1021), (0, 1, 1, 1)]
)
@pytest.mark.parametrize("version_02", [False, True])
def test_another_matrix_than_the_loss_is_of_is_refused(
    column: tuple[int, ...], version_02: bool
) -> None:
    plan = make_plan(load_release(4, MU), as_version_02=version_02)
    (step,) = plan.steps
    certify(plan)
    (axis,) = step.axes
    assert axis.kind is (AxisKind.RUNNING if version_02 else AxisKind.SCALED)
    tampered = replace(step, axes=(AxisMatrix(axis.kind, (column, *axis.entries[1:])),))
    with pytest.raises(Failure, match="E70"):
        certify(replace(plan, steps=(tampered,)))


@pytest.mark.parametrize("place", range(4))
def test_a_larger_factor_of_a_column_than_the_loss_is_of_is_refused(place: int) -> None:
    plan = make_plan(load_release(4, MU))
    (step,) = plan.steps
    ((column, factors),) = (axis.entries for axis in step.axes)
    larger = [factor + 2 * (at == place) for at, factor in enumerate(factors)]
    unit = (Fraction(1, column[0] * larger[0]),)
    axes = (AxisMatrix(AxisKind.SCALED, (column, tuple(larger))),)
    with pytest.raises(Failure, match=r"E70.*(costs|more)"):
        certify(replace(plan, steps=(replace(step, axes=axes, unit=unit),)))


@pytest.mark.parametrize("widths", [(1, 3, 9, 18), (3, 9), (1, 3, 8)])
def test_another_tree_than_the_loss_is_of_is_refused(widths: tuple[int, ...]) -> None:
    plan = make_plan(load_release(40, {"epsilon": 1}))
    (step,) = plan.steps
    certify(plan)
    assert len(step.axes[0].entries[0]) == 2
    tampered = replace(step, axes=(AxisMatrix(AxisKind.TREE, (widths,)),))
    with pytest.raises(Failure, match="E70"):
        certify(replace(plan, steps=(tampered,)))


@pytest.fixture
def mixed_at_any_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every alternative, as if it erred less: with next to no noise none does."""
    monkeypatch.setattr(solve, "WORTH", 1e300)
    monkeypatch.setattr(solve, "AS_GOOD", 1e300)
    monkeypatch.setattr(solve, "ROUNDED", ())


@pytest.mark.usefixtures("mixed_at_any_cost")
def test_without_noise_figures_of_a_tree_are_those_of_the_data(tmp_path: Path) -> None:
    values = [7 * place % 40 for place in range(100)]
    (tmp_path / "t.csv").write_text("x,g\n" + "".join(f"{value},a\n" for value in values))
    spec = build_spec(40, {"epsilon": 10_000}, RUNNING | {"q": [0.5]})
    spec["data"]["path"], spec["output"]["path"] = str(tmp_path / "t.csv"), str(tmp_path / "out")
    spec["ledger"] = {"path": str(tmp_path / "ledger.sqlite")}
    assert build_step(make_plan(load(spec))).axes[0].kind is AxisKind.TREE
    table = dprelease.run(spec).tables["by_x"].to_pydict()
    assert table["c"] == [sum(value < edge for value in values) for edge in range(1, 41)]
    assert set(table["c_q50_low"]) | set(table["c_q50_high"]) == {19, 20}


@pytest.mark.usefixtures("mixed_at_any_cost")
def test_without_noise_the_figures_are_those_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cumulative, "MOST_LEAVES", 0)
    values = [0, 3, 3, 4, 9, 10, 2, 7, 7, 7]
    lines = "".join(f"{value},{'ab'[value % 2]}\n" for value in values)
    (tmp_path / "t.csv").write_text(f"x,g\n{lines}")
    spec = build_spec(10, {"rho": 200}, RUNNING | {"by": ["g"], "mechanism": "gaussian"})
    spec["data"]["path"], spec["output"]["path"] = str(tmp_path / "t.csv"), str(tmp_path / "out")
    spec["ledger"] = {"path": str(tmp_path / "ledger.sqlite")}
    result = dprelease.run(spec)
    assert build_step(make_plan(load(spec))).axes
    table = result.tables["by_g_x"].to_pydict()
    for block, label in enumerate("ab"):
        own = [value for value in values if "ab"[value % 2] == label]
        true = [sum(value < edge or edge == 10 for value in own) for edge in range(1, 11)]
        assert table["c"][10 * block : 10 * block + 10] == true
