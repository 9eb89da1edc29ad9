"""The verifier: shares no code, accepts what is true, refuses what is too good."""

from fractions import Fraction as F
from itertools import product

import mpmath
import pytest
from thorough import for_each

from dprelease.kernel.core import additive_loss as verifier
from dprelease.mechanisms import gaussian, laplace
from dprelease.model import Noise, NoiseFamily
from dprelease.model import shift as shifts
from dprelease.privacy import discrete_gaussian, zcdp

SHIFTS = [
    shifts.build_single_shift(1),
    shifts.build_single_shift(30),
    shifts.build_single_shift(120_000),
    shifts.build_pair_shift(1, 1),
    shifts.split(4),
    shifts.split(10**6),
    shifts.build_general_shift(2 * 50 * 50, 4),
    shifts.build_general_shift(12, 12),
]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("shift", SHIFTS, ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("3", "1e-3")])
def test_it_accepts_calibrations_and_refuses_less_noise(
    shift: shifts.Shift, epsilon: str, delta: str
) -> None:
    noise = gaussian.calibrate(shift, F(epsilon), F(delta))
    assert verifier.bound_gaussian_delta(noise.parameter, shift, F(epsilon)) <= F(delta)
    less = noise.parameter * F("0.95")
    assert verifier.bound_gaussian_delta(less, shift, F(epsilon)) > F(delta)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("sigma2", ["0.3", "2.5", "40", "9000"])
@pytest.mark.parametrize("epsilon", ["0", "0.2", "2", "20"])
def test_two_routes_meet(sigma2: str, epsilon: str) -> None:
    """Term by term and by thresholds: the same sum."""
    for shift in (shifts.build_single_shift(3), shifts.build_pair_shift(2, 3)):
        if F(sigma2) > 128 and shift.coordinates == 2:
            continue
        first = discrete_gaussian.bound_delta(F(sigma2), shift, F(epsilon))
        second = verifier.bound_gaussian_delta(F(sigma2), shift, F(epsilon))
        assert abs(first - second) <= F("1e-20") * max(first, F("1e-10"))


def test_laplace_claims() -> None:
    noise = laplace.calibrate(7, F("0.3"))
    assert verifier.compute_laplace_epsilon(noise.parameter, 7) == F("0.3")
    assert verifier.compute_laplace_epsilon(noise.parameter * F("0.99"), 7) > F("0.3")
    assert verifier.compute_laplace_epsilon(F(0), 0) == 0
    with pytest.raises(ValueError, match="positive scale"):
        verifier.compute_laplace_epsilon(F(0), 1)


def count_crossed_stairs(noise: Noise, move: int) -> int:
    """The most levels that lie between k and k + move, by trying every k there is to try."""
    reach = 3 * noise.stair + abs(move)
    levels = {
        k: (abs(k) + noise.stair - noise.first) // noise.stair for k in range(-2 * reach, 2 * reach)
    }
    return max(abs(levels[k] - levels[k + move]) for k in range(-reach, reach))


@pytest.mark.parametrize(("stair", "first"), [(1, 1), (2, 1), (5, 1), (5, 3), (5, 5), (8, 2)])
def test_staircase_loss_is_the_largest_log_ratio_over_all_shifts(stair: int, first: int) -> None:
    """Of every shift that shapes or norms allow, and attained by one of those of the shapes."""
    noise = Noise(NoiseFamily.STAIRCASE, F(7, 3), stair, first)
    one = stair / noise.parameter
    levels = [count_crossed_stairs(noise, move) for move in range(18)]
    for size in range(1, 18):
        assert (
            verifier.compute_staircase_epsilon(noise, size, shifts.build_single_shift(size))
            == one * levels[size]
        )
        assert count_crossed_stairs(noise, -size) == levels[size]
    for first_size, second in product(range(1, 9), repeat=2):
        shift = shifts.build_pair_shift(first_size, second)
        claimed = verifier.compute_staircase_epsilon(noise, first_size + second, shift)
        worst = max(levels[x] + levels[y] for x in range(first_size + 1) for y in range(second + 1))
        assert claimed == one * worst
        free = shifts.build_general_shift(shift.l2_squared, 2)
        known = verifier.compute_staircase_epsilon(noise, first_size + second, free)
        most = first_size + second
        assert known >= one * max(levels[x] + levels[most - x] for x in range(most + 1))
    assert verifier.compute_staircase_epsilon(noise, 0, shifts.build_zero_shift()) == 0


def test_a_staircase_costs_no_more_only_for_shifts_of_its_stair() -> None:
    noise = Noise(NoiseFamily.STAIRCASE, F(25), 100, 20)
    assert verifier.compute_staircase_epsilon(noise, 100, shifts.build_single_shift(100)) == 4
    assert verifier.compute_staircase_epsilon(noise, 101, shifts.build_single_shift(101)) == 8
    assert verifier.compute_staircase_epsilon(noise, 100, shifts.build_pair_shift(60, 40)) == 8
    for wrong in (Noise(noise.family, F(0), 100, 20), Noise(noise.family, F(25), 0, 0)):
        with pytest.raises(ValueError, match="positive scale and stair"):
            verifier.compute_staircase_epsilon(wrong, 1, shifts.build_single_shift(1))


@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "1", "17", "1e5"])
def test_pure_rho_claims(epsilon: str) -> None:
    claim = zcdp.bound_pure_rho(F(epsilon))
    assert verifier.bound_pure_rho(F(epsilon)) <= claim
    assert verifier.bound_pure_rho(F(epsilon)) > claim * F("0.99")


@pytest.mark.parametrize("rho", ["1e-6", "0.024", "0.5", "30"])
def test_zcdp_claims(rho: str) -> None:
    delta = F("1e-6")
    claim = zcdp.bound_epsilon(F(rho), delta)
    assert verifier.bound_zcdp_delta(F(rho), claim) <= delta
    assert verifier.bound_zcdp_delta(F(rho), claim * F("0.99")) > delta
    assert verifier.compute_gaussian_rho(1 / (2 * F(rho)), 1) == F(rho)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="sigma"):
        verifier.bound_gaussian_delta(F(0), shifts.build_single_shift(1), F(1))
    assert verifier.bound_gaussian_delta(F(0), shifts.build_zero_shift(), F(1)) == 0
    assert verifier.bound_zcdp_delta(F(2), F(1)) == 1
    assert verifier.bound_zcdp_delta(F(0), F(1)) == 0


@pytest.mark.one_in(4)
@for_each("sigma2", ["0.7", "6", "40", "1e5"])
@for_each("epsilon", ["0.1", "1", "4"])
@for_each("entries", [1, 4, 9])
def test_two_arithmetics_meet(sigma2: str, epsilon: str, entries: int) -> None:
    """The smoothing bound in either arithmetic, its toll included."""
    shift = shifts.build_general_shift(9, entries)
    first = discrete_gaussian.bound_delta(F(sigma2), shift, F(epsilon))
    second = verifier.bound_gaussian_delta(F(sigma2), shift, F(epsilon))
    assert abs(first - second) <= F("1e-9") * first + F("1e-60")


# --- every answer is on the safe side of the truth, in its last digit too ------------------------

DIGITS = 450


def real(x: F) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def just_above(bound: F, truth: mpmath.mpf, relative: str) -> None:
    assert 0 <= real(bound) - truth <= truth * mpmath.mpf(relative)


@pytest.mark.parametrize("epsilon", ["1e-9", "1/3", "1", "17.3", "300"])
def test_rho_is_bounded_from_above(epsilon: str) -> None:
    """In a range's only its logarithm counts: it is as good as 25 digits, all else as 130."""
    e = F(epsilon)
    with mpmath.workdps(DIGITS):
        x = real(e)
        just_above(verifier.bound_pure_rho(e), x * mpmath.tanh(x / 2), "1e-130")
        q = x / -mpmath.expm1(-x)
        divergence = q - 1 - mpmath.log(q)
        assert real(verifier.bound_range_rho(e)) >= divergence
        assert real(verifier.bound_range_rho(e)) <= divergence + mpmath.mpf("1e-25")
        assert verifier.bound_range_rho(e) <= e * e / 8


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("1e-6", "0.005"), ("0.01", "0.5"), ("0.1", "3"), ("2", "40")]
)
def test_delta_of_rho_is_bounded_from_above(rho: str, epsilon: str) -> None:
    """At the alpha that is taken; at another one delta would be another bound.

    By the 25 digits of the logarithms, beside which the rounding of the exponential is nothing.
    """
    above = F(verifier.find_stationary_order(float(F(rho)), float(F(epsilon))))
    with mpmath.workdps(DIGITS):
        b, a = real(above), real(above) + 1
        power = b * (a * real(F(rho)) - real(F(epsilon)))
        truth = mpmath.exp(power + b * mpmath.log(b) - a * mpmath.log(a))
        just_above(verifier.bound_zcdp_delta(F(rho), F(epsilon)), truth, "1e-20")


@pytest.mark.parametrize("mu_squared", ["1e-6", "0.01", "1", "30"])
@pytest.mark.parametrize("deviations", [0, F("0.3"), 3, 20])
def test_the_delta_of_normal_noise_is_bounded_from_above(mu_squared: str, deviations: F) -> None:
    """By 60 digits of the tails. Mu, e^epsilon and the points where tails are taken are rounded at
    135 digits or more, which is nothing beside them: in which direction does not matter, though it
    is the safe one.
    """
    with mpmath.workdps(DIGITS):
        mu = mpmath.sqrt(real(F(mu_squared)))
        epsilon = F(mu_squared) / 2 + deviations * F(float(mu))
        near = mpmath.erfc((real(epsilon) / mu - mu / 2) / mpmath.sqrt(2)) / 2
        far = mpmath.erfc((real(epsilon) / mu + mu / 2) / mpmath.sqrt(2)) / 2
        truth = near - mpmath.exp(real(epsilon)) * far
        just_above(verifier.bound_continuous_delta(F(mu_squared), epsilon), truth, "1e-40")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("sigma2", ["0.3", "2.5", "20"])
@pytest.mark.parametrize("depth", [1, 8, 200])
def test_sums_over_the_lattice_are_bounded_from_above(sigma2: str, depth: int) -> None:
    """Weights from both sides; and what is not summed is counted, however early the sum ends.

    Even twice. With p the masses, F those up to v beyond the last x and B all beyond it, the sum
    lacks B - e^epsilon (B - F) at most on the side of the gains, and as weights that move in from
    beyond count as 0 it has e^epsilon F too much: that is no less, as epsilon >= 0.
    """
    low, high, beyond = verifier.bound_lattice_weights(F(sigma2), depth)
    with mpmath.workdps(DIGITS):
        scale, s2 = mpmath.mpf(2) ** 448, real(F(sigma2))
        weights = [mpmath.exp(-k * k / (2 * s2)) for k in range(len(low) + 300)]
        for k, weight in enumerate(weights[: len(low)]):
            assert low[k] <= weight * scale <= high[k]
        assert mpmath.fsum(weights[len(low) :]) * scale <= beyond
        total = 2 * mpmath.fsum(weights) - 1
        reach = range(-len(low) - 30, len(low) + 31)
        for shape in ((3,), (1, 2)):
            growth = mpmath.exp(real(F("0.2")))
            if len(shape) == 1:
                gains = (weights[abs(x)] - growth * weights[abs(x - 3)] for x in reach)
            else:
                gains = (
                    weights[abs(x)] * weights[abs(y)]
                    - growth * weights[abs(x - 1)] * weights[abs(y - 2)]
                    for x in reach
                    for y in reach
                )
            truth = mpmath.fsum(gain for gain in gains if gain > 0) / total ** len(shape)
            found = verifier.sum_delta(F(sigma2), shape, F("0.2"), depth)
            assert real(found) >= truth


@pytest.mark.parametrize("width", ["0.125", "0.5", "1.25"])
@pytest.mark.parametrize("coordinates", [1, 30])
def test_the_toll_of_smoothing_is_bounded_from_above(width: str, coordinates: int) -> None:
    """By the 25 digits of the logarithms, beside which those of the power do not count."""
    with mpmath.workdps(DIGITS):
        power = mpmath.exp(-2 * mpmath.pi**2 * real(F(width)))
        eta = 2 * power / (1 - power)
        toll = verifier.bound_smoothing_toll(F(width), coordinates)
        assert toll is not None
        just_above(toll[0], (1 + eta) ** coordinates, "1e-25")
        just_above(toll[1], coordinates * mpmath.log((1 + eta) / (1 - eta)), "1e-15")
