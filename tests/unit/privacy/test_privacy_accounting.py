"""Composition: golden numbers, validity, loops against multiples."""

import math
from collections.abc import Sequence
from fractions import Fraction as F

import builders
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

import dprelease
from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.mechanisms import gaussian, laplace
from dprelease.model import Loss, Noise, NoiseFamily, Plan
from dprelease.model import shift as shifts
from dprelease.model.privacy_events import Approximate
from dprelease.privacy import composition as accounting
from dprelease.privacy import zcdp
from dprelease.release.plan import plan_and_certify

DELTA = F("1e-6")


def compose(losses: Sequence[Loss], delta: F, method: str = "plain") -> tuple[Loss, str]:
    """Of losses of which nothing more is known."""
    costs = [
        accounting.Cost(loss, ((Approximate(loss.epsilon, loss.delta), 1),)) for loss in losses
    ]
    return accounting.compose(costs, delta, method)


def pure(epsilon: str) -> Loss:
    return laplace.compute_loss(Noise(NoiseFamily.LAPLACE, 1 / F(epsilon)), 1)


def normal(sigma2: str, delta: str = "1e-7") -> Loss:
    return gaussian.compute_loss(
        Noise(NoiseFamily.GAUSSIAN, F(sigma2)), shifts.build_single_shift(1), F(delta)
    )


def test_hundred_small_losses() -> None:
    """100 x 0.1 at 10^-6: basic 10, zCDP below 5.221534 (that is rho 0.5)."""
    losses = [pure("0.1")] * 100
    assert compose(losses, F(0))[0] == Loss(F(10), F(0), 100 * losses[0].rho)
    best, method = compose(losses, DELTA)
    assert method == "zcdp"
    assert 4.7 < best.epsilon < F("5.2215344446")


def test_pure_sums_are_exact() -> None:
    """Ten tenths are one, to the last digit."""
    loss, method = compose([pure("0.1")] * 10, F(0))
    assert (loss.epsilon, loss.delta, method) == (1, 0, "basic")
    assert compose([pure("0.1")] * 11, F(0))[0].epsilon > 1


def test_two_gaussians_share_one_delta() -> None:
    losses = [normal("100"), normal("100")]
    loss, method = compose(losses, DELTA)
    assert method == "zcdp"
    assert loss.rho == F(1, 100)
    assert loss.epsilon == zcdp.bound_epsilon(F(1, 100), DELTA)
    assert loss.delta == DELTA


def test_mixed_beats_both_for_one_large_pure_loss() -> None:
    losses = [pure("5"), *[normal("400")] * 30]
    loss, method = compose(losses, DELTA)
    assert method == "mixed"
    gaussians = zcdp.bound_epsilon(30 * F(1, 800), DELTA)
    assert loss.epsilon == 5 + gaussians
    assert loss.epsilon < compose(losses, DELTA, "zcdp")[0].epsilon
    assert accounting.compose_basic(losses).delta > DELTA


def test_basic_needs_the_deltas_to_fit() -> None:
    losses = [normal("30", "6e-7"), normal("30", "6e-7")]
    assert compose(losses, DELTA)[1] == "zcdp"
    with pytest.raises(ValueError, match="can't be composed"):
        compose(losses, F(0))
    one = compose(losses[:1], DELTA)
    assert one == (losses[0], "basic")


def test_pure_accounting_takes_no_delta() -> None:
    assert compose([pure("1")], DELTA, "pure")[0].delta == 0
    with pytest.raises(ValueError, match="can't be composed"):
        compose([pure("1"), normal("30")], DELTA, "pure")


def test_unknown_rho_leaves_basic() -> None:
    blind = Loss(F(1), F("1e-7"), None)
    assert compose([blind, pure("1")], DELTA) == (Loss(F(2), F("1e-7"), None), "basic")
    with pytest.raises(ValueError, match="can't be composed"):
        compose([blind], DELTA, "zcdp")
    known = compose([Loss(F(1))], F(0))[0]
    assert known.rho == zcdp.bound_pure_rho(F(1))


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 60), st.sampled_from(["0.01", "0.3", "2"]), st.booleans(), st.booleans())
def test_multiples_equal_loops(times: int, epsilon: str, noisy: bool, mixed: bool) -> None:
    """n at once, and one by one through the running sums, cost the same."""
    once = normal("90") if noisy else pure(epsilon)
    other = [pure("0.2")] if mixed else []
    loop = other + [once] * times
    short = [*other, accounting.repeat(once, times)]
    assert compose(loop, DELTA) == compose(short, DELTA)
    running = Loss(F(0), F(0), F(0))
    for loss in loop:
        running = accounting.compose_basic([running, loss])
    assert running == accounting.compose_basic(loop)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.sampled_from(["0.05", "0.5", "3"]), max_size=12), st.integers(0, 5))
def test_auto_is_the_least(epsilons: list[str], gaussians: int) -> None:
    losses = [pure(e) for e in epsilons] + [normal("60", "1e-8")] * gaussians
    best = compose(losses, DELTA)[0]
    assert best.delta <= DELTA
    assert best.epsilon <= compose(losses, DELTA, "zcdp")[0].epsilon
    assert best.epsilon <= accounting.compose_basic(losses).epsilon
    assert best.epsilon <= compose([*losses, pure("0.5")], DELTA)[0].epsilon


def test_advanced_is_heterogeneous_and_bounded() -> None:
    losses = [pure("0.1"), pure("0.4"), normal("100")]
    found = accounting.compose_advanced(losses, DELTA)
    assert found is not None
    e = [float(loss.epsilon) for loss in losses]
    expected = math.sqrt(-2 * math.log(9e-7) * sum(x * x for x in e))
    expected += sum(x * math.expm1(x) for x in e)
    assert float(found.epsilon) == pytest.approx(expected, rel=1e-10)
    assert accounting.compose_advanced(losses, F("1e-7")) is None
    assert accounting.compose_advanced([pure("101")], DELTA) is None


def test_nothing_costs_nothing_and_nonsense_is_refused() -> None:
    assert compose([], DELTA) == (Loss(F(0), F(0), F(0)), "basic")
    assert compose([Loss(F(0), F(0), F(0))], DELTA, "zcdp")[0].epsilon == 0
    assert compose([], DELTA, "pld")[0] == Loss(F(0), F(0), F(0))
    with pytest.raises(ValueError, match="accounting"):
        compose([pure("0.5")], F(0), "pld")
    with pytest.raises(ValueError, match="delta"):
        compose([], F(1))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stated", ["auto", "pld"])
@pytest.mark.parametrize("refused", range(len(accounting.MARGINS) + 1))
def test_what_is_not_confirmed_is_claimed_with_a_larger_margin_and_at_last_by_sums(
    monkeypatch: pytest.MonkeyPatch, refused: int, stated: str
) -> None:
    spec = builders.spec(
        release={"name": "margins"},
        privacy={
            "epsilon": 1.9,  # less than the sum
            "delta": 1e-6,
            "accounting": stated,
        },
        columns={"x": {"type": "integer", "lower": 0, "upper": 50}},
        query=[
            {"name": f"q{n}", "statistic": "count", "where": f"x > {n}", "epsilon": 0.05}
            for n in range(40)
        ],
    )
    made: list[Plan] = []

    def check(plan: Plan, **_: object) -> Plan:
        made.append(plan)
        if len(made) <= refused:
            raise Failure(ExitCode.SPEC, Complaint("E311", "not confirmed", "none"))
        return plan

    monkeypatch.setattr("dprelease.kernel.certification.certify", check)
    release = dprelease.load(spec)
    if refused == len(accounting.MARGINS) and stated == "pld":
        with pytest.raises(Failure):
            plan_and_certify(release)
        return
    plan_and_certify(release)
    claims = [plan.loss.epsilon for plan in made if plan.method == "pld"]
    assert len(claims) == min(refused + 1, len(accounting.MARGINS))
    for claim, margin in zip(claims, accounting.MARGINS, strict=False):
        assert float(claim / claims[0]) == pytest.approx(float(margin / accounting.MARGINS[0]))
    assert (made[-1].method == "pld") == (refused < len(accounting.MARGINS))


def test_weights_far_apart_are_confirmed_by_distributions() -> None:
    """Laplace noise with nearly all of the total, beside Gaussian noise with hardly any."""
    total = {"column": "x", "statistic": "sum"}
    laplace = {"mechanism": "laplace", "weight": 10**6}
    spec: dict[str, object] = builders.spec(
        privacy={"epsilon": 0.001, "delta": 1e-6, "accounting": "pld"},
        columns={"x": {"type": "integer", "lower": 0, "upper": 50}},
        query=[
            total | {"name": "all"},
            *(total | laplace | {"name": f"q{n}", "where": f"x > {n}"} for n in range(3)),
        ],
    )
    assert plan_and_certify(dprelease.load(spec)).plan.method == "pld"
