"""Calibration and loss of the two mechanisms are inverse to each other."""

import math
from fractions import Fraction as F

import pytest

from dprelease.mechanisms import gaussian, laplace
from dprelease.model import Loss, Noise, NoiseFamily
from dprelease.model import shift as shifts
from dprelease.privacy import zcdp

NOTHING = Loss(F(0), F(0), F(0))
NONE = Noise(NoiseFamily.NONE, F(0))


def test_laplace_is_exact() -> None:
    noise = laplace.calibrate(3, F("0.7"))
    assert noise == Noise(NoiseFamily.LAPLACE, F(30, 7))
    loss = laplace.compute_loss(noise, 3)
    assert (loss.epsilon, loss.delta) == (F("0.7"), 0)
    assert float(loss.rho or 0) == pytest.approx(0.7 * math.tanh(0.35))


def test_laplace_loss_is_the_largest_log_ratio() -> None:
    """By brute force over the law, for integer shifts."""
    noise = laplace.calibrate(4, F("1.5"))
    a = math.exp(-1 / noise.parameter)
    worst = max(math.log(a ** abs(k) / a ** abs(k - 4)) for k in range(-50, 50))
    assert worst == pytest.approx(float(laplace.compute_loss(noise, 4).epsilon))


def test_laplace_rho_bounds_the_renyi_divergences() -> None:
    loss = laplace.compute_loss(laplace.calibrate(1, F(1)), 1)
    k = range(-60, 61)
    a = math.exp(-1)
    p = [(1 - a) / (1 + a) * a ** abs(x) for x in k]
    q = [(1 - a) / (1 + a) * a ** abs(x - 1) for x in k]
    for alpha in (1.01, 1.5, 2.0, 4.0, 16.0):
        moment = sum(x * (x / y) ** (alpha - 1) for x, y in zip(p, q, strict=True))
        assert math.log(moment) / (alpha - 1) <= alpha * float(loss.rho or 0) * (1 + 1e-9)


def test_laplace_from_rho_rounds_to_more_noise() -> None:
    noise = laplace.calibrate_rho(2, F("0.1"))
    loss = laplace.compute_loss(noise, 2)
    assert loss.rho is not None
    assert F("0.1") * (1 - F("1e-12")) < loss.rho <= F("0.1")


def test_gaussian_states_what_it_was_calibrated_for() -> None:
    shift = shifts.build_single_shift(1)
    noise = gaussian.calibrate(shift, F(1), F("1e-5"))
    assert noise == Noise(NoiseFamily.GAUSSIAN, F(14))
    stated = gaussian.compute_loss(noise, shift, F("1e-5"), F(1))
    assert stated == Loss(F(1), F("1e-5"), F(1, 28))
    least = gaussian.compute_loss(noise, shift, F("1e-5"))
    assert F("0.99") < least.epsilon <= 1
    with pytest.raises(ValueError, match="too small"):
        gaussian.compute_loss(noise, shift, F("1e-5"), F("0.99"))


def test_gaussian_from_rho_is_exact_and_tighter_than_zcdp() -> None:
    shift = shifts.build_pair_shift(5, 5)
    noise = gaussian.calibrate_rho(shift, F("0.1"))
    assert noise.parameter == 250
    loss = gaussian.compute_loss(noise, shift, F("1e-6"))
    assert loss.rho == F("0.1")
    assert loss.epsilon < zcdp.bound_epsilon(F("0.1"), F("1e-6"))


def test_what_never_changes_needs_no_noise_and_costs_nothing() -> None:
    assert laplace.calibrate(0, F(1)) == NONE
    assert laplace.calibrate_rho(0, F(1)) == NONE
    assert gaussian.calibrate(shifts.build_zero_shift(), F(1), F("1e-6")) == NONE
    assert gaussian.calibrate_rho(shifts.build_zero_shift(), F(1)) == NONE
    assert laplace.compute_loss(NONE, 0) == NOTHING
    assert gaussian.compute_loss(NONE, shifts.build_zero_shift(), F("1e-6")) == NOTHING


def test_nonsense_is_refused() -> None:
    single = shifts.build_single_shift(1)
    for call in (
        lambda: laplace.calibrate(1, F(0)),
        lambda: laplace.calibrate(-1, F(1)),
        lambda: laplace.compute_loss(NONE, 1),
        lambda: laplace.compute_loss(Noise(NoiseFamily.GAUSSIAN, F(1)), 1),
        lambda: gaussian.calibrate(single, F(1), F(0)),
        lambda: gaussian.calibrate_rho(single, F(0)),
        lambda: gaussian.compute_loss(NONE, single, F("1e-6")),
        lambda: gaussian.compute_loss(Noise(NoiseFamily.LAPLACE, F(1)), single, F("1e-6")),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call()
