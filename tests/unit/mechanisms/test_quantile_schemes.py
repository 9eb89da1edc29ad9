"""Schemes of quantiles: what they lose, what they promise, and a second opinion on both."""

import itertools
from fractions import Fraction as F

import pytest
from thorough import for_each

from dprelease.kernel.chapters.choices import quantile_loss as verifier
from dprelease.kernel.chapters.choices.quantile_sampler import count_slots
from dprelease.mechanisms import quantile_error as errors
from dprelease.mechanisms.quantiles import compute_cost, compute_loss, plan_levels, plan_levels_rho
from dprelease.model.plans import QuantileScheme, QuantileStep
from dprelease.privacy.bounded_range import bound_range_rho

DECILES = tuple(F(k, 10) for k in range(1, 10))
SETS = {
    "median": (F(1, 2),),
    "extreme": (F(99, 100),),
    "quartiles": (F(1, 4), F(1, 2), F(3, 4)),
    "deciles": DECILES,
    "uneven": (F(1, 100), F(1, 3), F(2, 5), F(9, 10), F(99, 100)),
    "hundredths": tuple(F(k, 100) for k in range(1, 100)),
}
RELATIONS = [(False, False), (True, False), (True, True)]


@pytest.mark.one_in(3)
@for_each("name", SETS)
@for_each(("replace", "stays"), RELATIONS)
@for_each("rows", [1, 3])
def test_a_plan_loses_what_it_may_and_the_verifier_agrees(
    name: str, replace: bool, stays: bool, rows: int
) -> None:
    scheme = plan_levels(SETS[name], F("0.7"), rows, replace, stays=stays)
    assert compute_loss(scheme, rows, replace, stays=stays)[0] == F("0.7")
    assert verifier.bound_epsilon(scheme.steps, rows, replace, stays=stays) == F("0.7")
    assert hash(scheme) == hash(plan_levels(SETS[name], F("0.7"), rows, replace, stays=stays))
    assert sorted(step.index for step in scheme.steps) == list(range(1, len(SETS[name]) + 1))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("replace", "stays"), RELATIONS)
def test_a_plan_for_rho_meets_it(name: str, replace: bool, stays: bool) -> None:
    scheme = plan_levels_rho(SETS[name], F("0.3"), 2, replace, stays=stays)
    rho = compute_loss(scheme, 2, replace, stays=stays)[1]
    assert F("0.3") * (1 - F(1, 10**12)) <= rho <= F("0.3")


def test_the_verifier_agrees_for_rates_that_no_plan_has() -> None:
    """Also where a step deep in the tree is the dear one."""
    base = plan_levels(SETS["uneven"], F(1), 1, False)
    for factors in itertools.islice(itertools.product((1, 3, 10), repeat=5), 0, None, 7):
        steps = tuple(
            QuantileStep(s.index, s.lower, s.upper, s.target, s.rate * factor)
            for s, factor in zip(base.steps, factors, strict=True)
        )
        scheme = QuantileScheme(base.quantiles, steps)
        for replace, stays in RELATIONS:
            expected = compute_loss(scheme, 2, replace, stays=stays)[0]
            assert verifier.bound_epsilon(steps, 2, replace, stays=stays) == expected


def test_known_rates() -> None:
    """By hand: a median moves by 1 (of 2 units a record), a 9/10 by 9 or, replaced, by 10."""
    median = plan_levels([F(1, 2)], F(1), 1, False).steps[0]
    assert (median.target, median.rate) == (F(1, 2), F(1, 2))
    assert plan_levels([F(9, 10)], F(1), 1, False).steps[0].rate == F(1, 18)
    assert plan_levels([F(9, 10)], F(1), 1, True, stays=True).steps[0].rate == F(1, 20)
    assert plan_levels([F(9, 10)], F(1), 1, True).steps[0].rate == F(1, 36)
    assert plan_levels([F(9, 10)], F(1), 5, False).steps[0].rate == F(1, 90)


def test_rows_count_linearly_and_rho_is_that_of_levels() -> None:
    scheme = plan_levels(DECILES, F(1), 1, False)
    for rows in (1, 2, 5):
        epsilon, rho = compute_loss(scheme, rows, False)
        assert epsilon == rows
        assert compute_loss(scheme, rows, True)[0] == 2 * rows
        # Levels cost 1/4 each; along the short branches two levels 1/4 and one 1/2.
        assert rho == 2 * bound_range_rho(F(rows, 4)) + bound_range_rho(F(rows, 2))
        assert rho < bound_range_rho(F(rows)) < F(rows**2, 8)


def test_a_plan_for_rho_spends_it_along_every_branch() -> None:
    """At the same rho most steps may cost more than in a plan for epsilon."""
    pure = plan_levels(DECILES, F(1), 1, False)
    scheme = plan_levels_rho(DECILES, compute_loss(pure, 1, False)[1], 1, False)
    costs = {step.index: compute_cost(step) for step in scheme.steps}
    for branch in ((5, 2, 1), (5, 2, 3, 4), (5, 7, 6), (5, 7, 8, 9)):
        total = sum(bound_range_rho(costs[index]) for index in branch)
        assert float(total) == pytest.approx(float(compute_loss(pure, 1, False)[1]), rel=1e-2)
    assert all(
        costs[step.index] > compute_cost(step) for step in pure.steps if step.index not in {1, 6}
    )


def test_levels_halve() -> None:
    """Nine deciles take four levels, ninety-nine hundredths seven."""
    for name, levels in (("deciles", 4), ("hundredths", 7), ("quartiles", 2)):
        steps = plan_levels(SETS[name], F(1), 1, False).steps
        depth = {(0, len(steps) + 1): 1}
        for step in steps:
            below = depth[step.lower, step.upper] + 1
            depth[step.lower, step.index] = depth[step.index, step.upper] = below
        assert max(depth.values()) == levels + 1
        assert steps[0].target == F(1, 2)


def test_targets_of_long_fractions_stay_short() -> None:
    scheme = plan_levels([F(1, 10**9), F("0.123456789123456789")], F(1), 1, False)
    assert all(step.target.denominator <= 10**6 for step in scheme.steps)
    assert all(0 < step.target < 1 for step in scheme.steps)
    assert compute_loss(scheme, 1, False)[0] == 1


@pytest.mark.parametrize(
    "quantiles", [(), (F(0),), (F(1),), (F(1, 2), F(1, 2)), (F(1, 2), F(1, 3)), (F(-1, 2),)]
)
def test_quantiles_that_are_none_are_refused(quantiles: tuple[F, ...]) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        plan_levels(quantiles, F(1), 1, False)


def test_budgets_and_rows_must_be_positive() -> None:
    scheme = plan_levels(DECILES, F(1), 1, False)
    for call in (
        lambda: plan_levels(DECILES, F(0), 1, False),
        lambda: plan_levels_rho(DECILES, F(0), 1, False),
        lambda: plan_levels(DECILES, F(1), 0, False),
        lambda: compute_loss(scheme, 0, False),
        lambda: verifier.bound_epsilon(scheme.steps, 0, False),
    ):
        with pytest.raises(ValueError, match=r"positive|at least one"):
            call()


def test_the_verifier_refuses_parts_that_are_no_parts() -> None:
    good = plan_levels(SETS["quartiles"], F(1), 1, False).steps
    root, left, right = good
    half, rate = F(1, 2), F(1)
    for bad in (
        (left, root, right),
        (root, left),
        (root, left, left),
        (root, QuantileStep(1, 0, 4, half, rate), right),  # overlaps with the right part
        (root, QuantileStep(3, 0, 2, half, rate), right),
        (root, left, QuantileStep(3, 2, 4, half, F(0))),
        (root, left, QuantileStep(3, 2, 4, F(1), rate)),
    ):
        with pytest.raises(ValueError, match=r"part|quantile|targets"):
            verifier.bound_epsilon(bad, 1, False)


def test_half_widths_of_one_quantile_follow_the_formula() -> None:
    scheme = plan_levels([F(1, 2)], F(1), 1, False)
    # (ln 999999 + ln 19)/1 = 16.76, and errors are multiples of 1/2
    assert errors.rank_halfwidth(scheme, 0, 1, 10**6, F(1, 20)) == 17
    assert errors.rank_halfwidth(scheme, 0, 1, 5 * 10**5, F(1, 20)) == 16  # 16.07
    assert errors.rank_halfwidth(scheme, 0, 5, 5, F(1, 20)) == 0


def test_half_widths_add_up_over_the_tree() -> None:
    scheme = plan_levels(DECILES, F(1), 1, False)
    widths = [errors.rank_halfwidth(scheme, k, 1, 10**6, F(1, 20)) for k in range(9)]
    # The root has rate 1/4: (ln(4096 * 10^6/4) + ln 19)/(1/4) = 94.8
    assert widths[4] == 95
    assert min(widths) == widths[4]
    assert max(widths) < 250
    wide = plan_levels(DECILES, F(1, 2), 1, False)
    assert all(
        errors.rank_halfwidth(wide, k, 1, 10**6, F(1, 20)) > width for k, width in enumerate(widths)
    )
    for call in (
        lambda: errors.rank_halfwidth(scheme, 9, 1, 2, F(1, 20)),
        lambda: errors.rank_halfwidth(scheme, -1, 1, 2, F(1, 20)),
        lambda: errors.rank_halfwidth(scheme, 0, 1, 2, F(0)),
        lambda: errors.rank_halfwidth(scheme, 0, 2, 1, F(1, 20)),
    ):
        with pytest.raises(ValueError, match=r"quantile|chance|bounds"):
            call()


def test_slots_are_counted_as_the_draw_counts_them() -> None:
    for bits in (1, 8, 40, 47, 48, 49, 55, 59, 60, 61):
        for outputs in ((1 << bits) - 1, 1 << bits, (1 << bits) + 1):
            assert errors.count_slots(outputs) == count_slots(outputs, parted=True)
