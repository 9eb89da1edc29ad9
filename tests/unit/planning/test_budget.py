"""Budgets: explicit, shared, mixed; never more than the total, little left over."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import builders
import pytest

from dprelease import ExitCode, Failure, load, plan
from dprelease.kernel.certification import certify
from dprelease.language import word
from dprelease.model import NoiseFamily
from dprelease.release.plan import ReleasePlan, build_release_plan, plan_and_certify
from dprelease.statistics.statistic_registry import get_statistic

COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b"]},
    "s": {"type": "string"},
    "x": {"type": "integer", "lower": 0, "upper": 10},
}


def plan_queries(privacy: dict[str, Any], *queries: dict[str, Any]) -> ReleasePlan:
    named = [
        {"name": f"q{i}", "statistic": "count", "by": ["g"], **_other_rows(i)} | query
        for i, query in enumerate(queries)
    ]
    spec = builders.spec(privacy=privacy, columns=COLUMNS, query=named)
    # Planned together, counts of the same groups would have one budget.
    return build_release_plan(plan_and_certify(load(spec), jointly=False).plan)


def _other_rows(place: int) -> dict[str, str]:
    """Equal queries would be released once."""
    return {"where": f"x >= {place}"} if place else {}


def list_epsilons(made: ReleasePlan) -> list[Fraction]:
    return [step.loss.epsilon for step in made.steps]


def list_families(made: ReleasePlan) -> set[str]:
    return {str(step.noise.family) for step in made.steps}


def test_explicit_epsilons_are_exact_and_add_up() -> None:
    made = plan_queries({"epsilon": "0.3"} | {"epsilon": 0.3}, {"epsilon": 0.1}, {"epsilon": 0.2})
    assert list_epsilons(made) == [Fraction(1, 10), Fraction(1, 5)]
    assert made.epsilon == Fraction(3, 10)
    assert [step.noise.parameter for step in made.steps] == [10, 5]


def test_weights_share_what_is_left_for_the_least_weighted_variance() -> None:
    made = plan_queries({"epsilon": 1}, {"epsilon": 0.25}, {"weight": 1}, {"weight": 8})
    assert list_epsilons(made) == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert made.epsilon == 1


def test_golden_shares() -> None:
    weights = [{"weight": 1}, {"weight": 4}, {"weight": 100}]
    pure = [float(each) for each in list_epsilons(plan_queries({"epsilon": 1}, *weights))]
    assert pure == pytest.approx([0.13833191, 0.21958822, 0.64207986], abs=1e-8)
    sums = {"statistic": "sum", "column": "x", "mechanism": "gaussian"}
    made = plan_queries({"rho": 1, "delta": 1e-6}, *[each | sums for each in weights])
    rhos = [float(step.loss.rho or 0) for step in made.steps]
    assert rhos == pytest.approx([1 / 13, 2 / 13, 10 / 13], rel=1e-3)


def test_eleven_tenths_do_not_fit_into_one_but_ten_do() -> None:
    made = plan_queries({"epsilon": 1}, *[{"epsilon": 0.1}] * 10)
    assert made.epsilon == 1
    with pytest.raises(Failure) as caught:
        plan_queries({"epsilon": 1}, *[{"epsilon": 0.1}] * 11)
    assert caught.value.exit_code == ExitCode.SPEC
    assert caught.value.complaints[0].code == "E311"


def test_nothing_left_for_a_weight_is_said() -> None:
    with pytest.raises(Failure) as caught:
        plan_queries({"epsilon": 1}, {"epsilon": 1}, {})
    assert caught.value.complaints[0].code == "E312"


def test_the_total_may_be_left_out() -> None:
    assert plan_queries({}, {"epsilon": 0.5}, {"epsilon": 0.25}).epsilon == Fraction(3, 4)


def test_many_queries_take_gaussian_noise_when_a_delta_allows_it() -> None:
    few = plan_queries({"epsilon": 1, "delta": 1e-6}, {})
    many = plan_queries({"epsilon": 1, "delta": 1e-6}, *[{}] * 30)
    assert list_families(few) == {"laplace"}
    assert list_families(many) == {"gaussian"}
    assert Fraction(999, 1000) < many.epsilon <= 1
    assert many.delta == Fraction(1, 10**6)


def test_pure_accounting_never_uses_delta() -> None:
    made = plan_queries({"epsilon": 1, "delta": 1e-6, "accounting": "pure"}, *[{}] * 30)
    assert list_families(made) == {"laplace"}
    assert made.delta == 0


def test_a_lone_gaussian_is_calibrated_exactly_for_the_discrete_law() -> None:
    made = plan_queries({"epsilon": 1, "delta": 1e-5}, {"mechanism": "gaussian", "by": []})
    assert made.steps[0].noise.family is NoiseFamily.GAUSSIAN
    assert made.steps[0].noise.parameter == 14


def test_forced_laplace_among_gaussians_stays_within_the_total() -> None:
    made = plan_queries(
        {"epsilon": 1, "delta": 1e-6}, *[{}] * 20, {"mechanism": "laplace"}, {"epsilon": 0.1}
    )
    assert list_families(made) == {"gaussian", "laplace"}
    assert Fraction(99, 100) < made.epsilon <= 1


def test_many_laplace_queries_compose_numerically_when_it_gives_more() -> None:
    made = plan_queries({"epsilon": 1, "delta": 1e-6}, *[{"mechanism": "laplace"}] * 200)
    assert list_families(made) == {"laplace"}
    assert sum(list_epsilons(made)) > 1
    assert made.method == "pld"
    assert Fraction(999, 1000) < made.epsilon <= 1


def test_rho_totals() -> None:
    total = {"rho": 0.5, "delta": 1e-6}
    made = plan_queries({**total, "accounting": "zcdp"}, {"weight": 1}, {"weight": 9})
    rhos = [float(step.loss.rho or 0) for step in made.steps]
    assert rhos == pytest.approx([1 / 8, 3 / 8], rel=1e-3)
    assert sum(rhos) <= 0.5
    assert float(made.epsilon) == pytest.approx(5.2215344445, rel=1e-3)
    assert made.epsilon <= Fraction("5.221534444541")
    assert made.delta == Fraction(1, 10**6)
    tighter = plan_queries(total, {"weight": 1}, {"weight": 9})
    assert tighter.method == "pld"
    assert float(tighter.epsilon) == pytest.approx(
        4.8866, rel=5e-3
    )  # that of one Gaussian, not discrete


def test_rho_without_delta_is_stated_at_one_in_a_million() -> None:
    made = plan_queries({"rho": 0.1, "accounting": "zcdp"}, {})
    assert float(made.epsilon) == pytest.approx(2.1419389284, rel=1e-3)
    assert made.delta == Fraction(1, 10**6)
    assert made.notes


def test_a_rest_of_rounding_is_not_told_as_left_over() -> None:
    made = plan_queries({"epsilon": 1, "delta": 1e-6, "accounting": "zcdp"}, {}, {})
    assert 0 < 1 - made.epsilon < Fraction(1, 10**9)
    assert not made.notes
    left = plan_queries({"epsilon": 1}, {"epsilon": 0.99999}, {"epsilon": 0.000009})
    assert [word(note)[:7] for note in left.notes] == ["1.00e-6"]
    long = 1.2345612  # more digits than are shown
    assert not plan_queries({"epsilon": long}, {"epsilon": long}).notes


def test_declared_deltas_are_not_taken_for_ours() -> None:
    """Where they happen to add up to one in a million, nothing is said of rho."""
    table = {"name": "p", "columns": ["g"], "epsilon": 1, "delta": 1e-6}
    spec = builders.spec(
        privacy={"adjacency": "replace-one"}, columns={"g": COLUMNS["g"]}, perturb=[table]
    )
    made = plan(load(spec))
    assert made.delta == Fraction(1, 10**6)
    assert not made.notes
    assert not plan_queries({}, {"epsilon": 1, "delta": 1e-6}).notes


def test_explicit_gaussian_takes_the_delta_that_is_left() -> None:
    made = plan_queries(
        {"epsilon": 1, "delta": 1e-5},
        {"epsilon": 0.5, "mechanism": "gaussian"},
        {"epsilon": 0.5, "delta": 4e-6, "mechanism": "gaussian"},
    )
    assert [step.loss.delta for step in made.steps] == [Fraction(6, 10**6), Fraction(4, 10**6)]
    assert made.epsilon <= 1
    assert made.delta <= Fraction(1, 10**5)


def test_cells_are_disjoint_so_more_of_them_cost_nothing() -> None:
    one = plan_queries({"epsilon": 1}, {"by": []})
    two = plan_queries({"epsilon": 1}, {})
    assert one.steps[0].noise == two.steps[0].noise


def test_a_figure_that_no_neighbour_changes_costs_nothing() -> None:
    made = plan_queries({"epsilon": 1, "adjacency": "replace-one"}, {"by": []}, {})
    assert made.steps[0].noise.family is NoiseFamily.NONE
    assert list_epsilons(made) == [0, 1]
    assert made.steps[1].noise.parameter == 2


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("privacy", "query", "code"),
    [
        ({"epsilon": 1, "accounting": "zcdp"}, {"mechanism": "laplace"}, "E315"),
        (
            {"epsilon": 1, "delta": 1e-6},
            {"mechanism": "gaussian", "delta": 1e-6, "name": "q0"},
            None,
        ),
        ({"rho": 0.1, "delta": 1e-6}, {"mechanism": "gaussian", "delta": 1e-6}, None),
        ({"epsilon": 0.1, "delta": 0.1}, {"mechanism": "gaussian"}, None),
        ({"epsilon": 0.01, "delta": 0.5}, {"mechanism": "gaussian"}, None),
    ],
)
def test_odd_budgets_are_planned_or_refused_with_a_reason(
    privacy: dict[str, Any], query: dict[str, Any], code: str | None
) -> None:
    for count in (1, 3):
        queries = [query | {"name": f"q{i}"} for i in range(count)]
        try:
            plan_queries(privacy, *queries)
        except Failure as failure:
            assert failure.exit_code == ExitCode.SPEC  # noqa: PT017 - both ends are right
            assert code is None or failure.complaints[0].code == code  # noqa: PT017
        else:
            assert code is None


def test_pure_losses_stay_pure_beside_a_declared_delta() -> None:
    made = plan_queries({"epsilon": 1, "delta": 0.03}, {"epsilon": 0.1})
    assert (made.epsilon, made.delta, made.method) == (Fraction(1, 10), 0, "basic")


def test_to_dict_is_json() -> None:
    import json

    made = plan_queries({"epsilon": 1}, {}, {"statistic": "mean", "column": "x"})
    told = made.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["total"]["epsilon"] == 1  # type: ignore[index]


# --- the tightest of the valid figures ----------------------------------------------------------


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    "query",
    [
        {"statistic": "median", "column": "x"},
        {"statistic": "quantile", "column": "x", "q": [0.25, 0.5, 0.75]},
        {"statistic": "mode", "column": "g"},
        {"statistic": "top_k", "column": "g", "k": 2, "mechanism": "exponential"},
    ],
    ids=lambda query: query["statistic"],
)
@pytest.mark.parametrize("number", [2, 12, 30])
def test_auto_is_no_worse_than_any_accounting(query: dict[str, Any], number: int) -> None:
    def rate(accounting: str) -> float:
        made = plan(
            builders.spec(
                release={"name": "tightest"},
                privacy={"epsilon": 1, "delta": 1e-6, "accounting": accounting},
                columns={
                    "g": {"type": "string", "keys": ["a", "b", "c"]},
                    "x": {"type": "integer", "lower": 0, "upper": 100},
                },
                query=[{"name": f"q{at}", "where": f"x > {at}", **query} for at in range(number)],
            )
        )
        assert Fraction(999, 1000) < made.epsilon <= 1
        return float(made.steps[0].noise.parameter)

    rates = {accounting: rate(accounting) for accounting in ("auto", "pure", "zcdp", "pld")}
    assert rates["auto"] >= 0.999 * max(rates.values())


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10**7)])
def test_selections_alone_leave_room_for_a_numerical_claim(delta: Fraction) -> None:
    """By their weights they would have the whole epsilon, and a claim above it."""
    for number in (1, 2):
        counts = [
            {"name": f"n{at}", "statistic": "count", "by": [f"s{at}"]}
            | {"partition_selection": {"delta": delta / number}}
            for at in range(number)
        ]
        given = builders.spec(
            privacy={"epsilon": 1, "delta": Fraction(1, 10**6), "accounting": "pld"},
            columns={f"s{at}": {"type": "string"} for at in range(number)},
            query=counts,
        )
        plan = plan_and_certify(load(given)).plan
        assert plan.method == "pld"
        assert Fraction(999, 1000) < plan.loss.epsilon <= 1


# --- deltas far below 1e-12: read, planned and certified exactly ----------------------------------


def test_private_keys_have_their_threshold_at_a_tiny_delta() -> None:
    tiny = Decimal("2.1e-29")
    selecting = {"by": ["s"], "partition_selection": {"delta": tiny}}
    made = plan_queries({"epsilon": Decimal("0.66"), "delta": tiny}, selecting)
    assert [step.threshold for step in made.steps] == [101]
    assert made.loss.delta == Fraction(21, 10**30)


@pytest.mark.parametrize("delta", ["1e-12", "1e-20", "1e-30", "1e-40"])
def test_gaussian_noise_grows_with_the_root_of_the_logarithm(delta: str) -> None:
    made = plan_queries({"epsilon": 1, "delta": Decimal(delta)}, {"mechanism": "gaussian"})
    noise = made.steps[0].noise
    assert noise.family is NoiseFamily.GAUSSIAN
    assert made.loss.delta <= Fraction(delta)
    # mu of a Gaussian at (1, delta) is near 1 / sqrt(2 ln(1/delta))
    digits = int(delta.removeprefix("1e-"))
    assert noise.parameter == pytest.approx(2 * 2.302585 * digits, rel=0.25)


NAMED: dict[str, dict[str, Any]] = {
    "count": {"by": ["k"]},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "proportion": {"where": "x > 1"},
    "median": {"column": "x"},
    "mode": {"column": "k"},
    "top_k": {"column": "k", "k": 2},
    "best": {"score": "ABS(x - candidate)", "score_upper": 9, "candidates": [1, 2, 3]},
}


@pytest.mark.parametrize("privacy", [{"epsilon": 5}, {"epsilon": 5, "delta": Decimal("1e-9")}])
@pytest.mark.parametrize("share", [{}, {"epsilon": Decimal("0.5")}, {"rho": Decimal("0.02")}])
def test_a_mechanism_that_is_named_is_taken_whatever_the_budget(
    share: dict[str, Decimal], privacy: dict[str, Any]
) -> None:
    """Certification confirms the law that the spec names."""
    columns = {
        "k": {"type": "integer", "keys": [1, 2, 3]},
        "x": {"type": "integer", "lower": 0, "upper": 9},
    }
    for name, details in NAMED.items():
        # Gaussian noise has no pure loss.
        without = set() if "delta" in privacy else {"gaussian"}
        for mechanism in set(get_statistic(name).keys.mechanisms) - without:
            query = {"name": "q", "statistic": name, "mechanism": mechanism, **details, **share}
            certify(builders.plan(columns=columns, query=[query], privacy=privacy))
