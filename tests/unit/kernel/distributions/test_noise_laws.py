from __future__ import annotations

import time
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from drawn_laws import gaussian, laplace
from thorough import for_each

from dprelease.kernel.distributions.laws import (
    bound_tail,
    compute_noise_variance,
    find_halfwidth,
    sum_halfwidth,
)
from dprelease.model import Noise, NoiseFamily

FIVE = Fraction(5, 100)


NONE = Noise(NoiseFamily.NONE, Fraction(0))
SUMMABLE = [
    laplace("1/3"),
    laplace("1"),
    laplace("7/3"),
    laplace("10"),
    gaussian("1/10"),
    gaussian("1/4"),
    gaussian("1"),
    gaussian("25"),
    gaussian("2500"),
    gaussian("2501"),
    gaussian("4000"),
    *(
        Noise(NoiseFamily.STAIRCASE, *law)
        for law in ((Fraction(1, 2), 2, 1), (Fraction(25), 100, 20))
    ),
    Noise(NoiseFamily.STAIRCASE, Fraction(20), 7, 7),
    *(
        Noise(NoiseFamily.CUT_LAPLACE, Fraction(scale), reach=reach)
        for scale, reach in (("1/3", 1), ("1", 4), ("10", 12), ("10", 109))
    ),
]


def is_summed(noise: Noise) -> bool:
    return noise.family in {NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN}


@pytest.fixture(autouse=True)
def precise():
    with mpmath.workdps(60):
        yield


def compute_masses(noise: Noise) -> list[mpmath.mpf]:
    """P(X = k) for k = 0, 1, 2, ... straight from the definition."""
    parameter = mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator
    if noise.family is NoiseFamily.LAPLACE:
        weights = [mpmath.exp(-k / parameter) for k in range(1500)]
    elif noise.family is NoiseFamily.CUT_LAPLACE:
        # zeros beyond, up to where other laws are known
        weights = [mpmath.exp(-k / parameter) * (k <= noise.reach) for k in range(1500)]
    elif noise.family is NoiseFamily.STAIRCASE:
        ratio, levels = mpmath.exp(-noise.stair / parameter), [0] * noise.first
        while len(levels) < 4000:
            levels += [levels[-1] + 1] * noise.stair
        weights = [ratio**level for level in levels]
    else:
        weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * parameter)) for k in range(1500)]
    total = 2 * sum(weights) - 1
    return [each / total for each in weights]


def outside(pmf: list[mpmath.mpf], h: int) -> mpmath.mpf:
    return 2 * sum(pmf[h + 1 :])


def test_golden_numbers() -> None:
    assert find_halfwidth(laplace("1"), FIVE) == 3
    assert find_halfwidth(laplace("10"), FIVE) == 30
    assert compute_noise_variance(laplace("1")) == pytest.approx(1.8413471884, abs=1e-10)
    assert compute_noise_variance(laplace("10")) == pytest.approx(199.8334166, abs=1e-7)
    assert compute_noise_variance(gaussian("1")) == pytest.approx(0.99999978877, abs=1e-11)
    assert compute_noise_variance(NONE) == 0
    assert compute_noise_variance(laplace("1/1000")) == 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize("noise", SUMMABLE, ids=repr)
def test_bounds_hold_the_truth(noise: Noise) -> None:
    pmf = compute_masses(noise)
    for k in (0, 1, 2, 5, 30):
        low, high = bound_tail(noise, k + 1)
        truth = outside(pmf, k) / 2
        wide = noise.family is NoiseFamily.GAUSSIAN and noise.parameter > 2500
        assert low * 2**90 - 1 <= truth * 2**90 <= high * 2**90 + 1
        assert high - low <= (Fraction(2, 50) if wide else Fraction(1, 2**120))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("noise", SUMMABLE, ids=repr)
def test_the_variance_is_that_of_the_definition(noise: Noise) -> None:
    truth = 2 * sum(k * k * mass for k, mass in enumerate(compute_masses(noise)))
    near = 1e-6 if noise.family is NoiseFamily.GAUSSIAN else 1e-12
    if noise.family is not NoiseFamily.GAUSSIAN or noise.parameter < 2600:
        assert compute_noise_variance(noise) == pytest.approx(float(truth), rel=near)


def test_cut_noise_is_never_beyond_its_reach() -> None:
    noise = Noise(NoiseFamily.CUT_LAPLACE, Fraction(10), reach=12)
    assert bound_tail(noise, 13) == (0, 0)
    assert bound_tail(noise, 12)[0] > 0
    assert find_halfwidth(noise, Fraction(1, 10**30)) == 12
    with pytest.raises(ValueError, match="cut noise"):
        sum_halfwidth(noise, 2, FIVE)


def test_sums_of_draws_of_a_staircase_are_refused() -> None:
    noise = Noise(NoiseFamily.STAIRCASE, Fraction(25), 100, 20)
    assert sum_halfwidth(noise, 1, FIVE) == find_halfwidth(noise, FIVE) == 63
    with pytest.raises(ValueError, match="staircase"):
        sum_halfwidth(noise, 2, FIVE)


@pytest.mark.one_in(28)
@for_each("noise", SUMMABLE)
@for_each("text", ["1/2", "1/10", "5/100", "1/1000", "1e-9"])
def test_halfwidth_is_the_smallest(noise: Noise, text: str) -> None:
    alpha = Fraction(text)
    pmf = compute_masses(noise)
    limit = mpmath.mpf(alpha.numerator) / alpha.denominator
    least = next(h for h in range(1500) if outside(pmf, h) <= limit)
    found = find_halfwidth(noise, alpha)
    assert outside(pmf, found) <= limit
    wide = noise.family is NoiseFamily.GAUSSIAN and noise.parameter > 2500
    assert least <= found <= least + wide


@pytest.mark.one_in(11)
@for_each("count", [2, 3, 4])
@for_each("noise", [each for each in SUMMABLE if each.parameter < 100 and is_summed(each)])
@for_each("text", ["1/2", "5/100", "1e-4"])
def test_sum_halfwidth_covers(noise: Noise, text: str, count: int) -> None:
    alpha = Fraction(text)
    reach = 300
    with mpmath.workprec(53):
        one = [float(each) for each in compute_masses(noise)[: reach + 1]]
    import numpy as np

    side = np.array(one)
    single = np.concatenate([side[:0:-1], side])
    total = single
    for _ in range(count - 1):
        total = np.convolve(total, single)
    middle = total.size // 2
    right = np.cumsum(total[::-1])[::-1]
    outsides = [2 * right[middle + h + 1] for h in range(middle)]
    least = next(h for h in range(middle) if outsides[h] <= float(alpha))
    found = sum_halfwidth(noise, count, alpha)
    assert outsides[found] <= float(alpha) * (1 + 1e-9)
    if noise.family is NoiseFamily.LAPLACE and count < 4:
        assert found == least
    elif noise.family is NoiseFamily.GAUSSIAN and noise.parameter >= 1:
        assert found <= least + 1
    else:
        assert found <= 3 * least + 5  # Chernoff: valid, but far from tight for large alpha


@pytest.mark.parametrize(
    ("noise", "alpha", "expected"),
    [
        (laplace("1e15"), FIVE, 2995732273553991),
        (gaussian("1e14"), FIVE, 19599640),
        (gaussian("1e30"), FIVE, 1959963984540054),
    ],
    ids=repr,
)
def test_wide_laws_against_the_continuous_quantile(
    noise: Noise, alpha: Fraction, expected: int
) -> None:
    if noise.family is NoiseFamily.LAPLACE:
        quantile = 10**15 * mpmath.log(40 / (1 + mpmath.exp(mpmath.mpf(-1) / 10**15)))
    else:
        root = mpmath.sqrt(mpmath.mpf(int(noise.parameter)))
        quantile = root * mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(95) / 100)
    assert find_halfwidth(noise, alpha) == expected
    assert abs(expected - quantile) <= 1


def test_tiny_alphas_and_wide_laws_stay_rigorous() -> None:
    for text in ("1e-30", "1e-320", "1e-400"):
        alpha = Fraction(text)
        log = mpmath.log(2) + mpmath.mpf(text.split("e-")[1]) * mpmath.log(10)
        found = find_halfwidth(laplace("10"), alpha)
        assert 10 * (log - mpmath.log(1 + mpmath.exp(-0.1))) - 1 <= found
        assert found <= 10 * (log - mpmath.log(1 + mpmath.exp(-0.1)))
    for text in ("1e-30", "1e-100"):
        normal = find_halfwidth(gaussian("1e10"), Fraction(text))
        assert mpmath.erfc((normal + 1) / mpmath.sqrt(2) / 10**5) <= mpmath.mpf(text)
        assert mpmath.erfc((normal - 2) / mpmath.sqrt(2) / 10**5) > mpmath.mpf(text)
    tiny = find_halfwidth(gaussian("25"), Fraction("1e-330"))  # no float can hold this alpha
    pmf = compute_masses(gaussian("25"))
    assert outside(pmf, tiny) <= mpmath.mpf("1e-330") < outside(pmf, tiny - 1)


def test_trivial_and_wrong_arguments() -> None:
    assert find_halfwidth(NONE, FIVE) == 0
    assert sum_halfwidth(NONE, 4, FIVE) == 0
    assert find_halfwidth(laplace("10"), Fraction(1)) == 0
    assert sum_halfwidth(laplace("10"), 1, FIVE) == 30
    assert bound_tail(NONE, 1) == (0, 0)
    for call in (
        lambda: find_halfwidth(laplace("10"), Fraction(0)),
        lambda: find_halfwidth(laplace("0"), FIVE),
        lambda: sum_halfwidth(laplace("10"), 0, FIVE),
        lambda: bound_tail(laplace("10"), 0),
    ):
        with pytest.raises(ValueError, match=r"positive|at least|start at"):
            call()


def test_halfwidth_shrinks_with_alpha_and_grows_with_noise() -> None:
    alphas = [Fraction(1, n) for n in (2, 3, 10, 20, 100, 10**6)]
    for family in (NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN):
        parameters = [Fraction(n, 3) for n in (1, 10, 7499, 7501, 7600, 10**7)]
        table = {
            (p, a): find_halfwidth(Noise(family, p), a) for p, a in product(parameters, alphas)
        }
        for p in parameters:
            assert [table[p, a] for a in alphas] == sorted(table[p, a] for a in alphas)
        for a in alphas:
            assert [table[p, a] for p in parameters] == sorted(table[p, a] for p in parameters)


def test_it_is_quick() -> None:
    laws = [laplace("1e15"), laplace("3/7"), gaussian("1e30"), gaussian("12345.6"), gaussian("9")]
    start = time.perf_counter()
    for noise in laws:
        for n in range(20, 24):
            find_halfwidth(noise, Fraction(1, n))
            sum_halfwidth(noise, 2, Fraction(1, n))
    assert (time.perf_counter() - start) / 40 < 0.02  # 5 ms meant, slack for a busy machine
