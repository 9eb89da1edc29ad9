"""Known numbers of the literature, each out of the product, to all the digits given.

Where several digits are given a value must round to them. Functions that answer with an enclosure
must agree with both ends.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction as F

import mpmath
import pytest

from dprelease.kernel.chapters.composition.confirm import is_confirmed
from dprelease.kernel.distributions import laws
from dprelease.local.randomizers import subset_response
from dprelease.model import Loss, Noise, NoiseFamily
from dprelease.model.privacy_events import Counted, Gaussian, Laplace, Pure, Range
from dprelease.model.shift import build_general_shift, build_single_shift
from dprelease.privacy import composition as accounting
from dprelease.privacy import discrete_gaussian, loss_distributions, partition_selection, zcdp
from dprelease.privacy.bounded_range import bound_range_rho
from dprelease.privacy.sensitivity import Contribution

Number = F | float | int
Found = Callable[[], Number | tuple[Number, ...]]

D5, D6 = F("1e-5"), F("1e-6")
ONE = build_single_shift(1)
TENTH = Loss(F("0.1"), F(0), zcdp.bound_pure_rho(F("0.1")))
WIDE = 10**6  # steps of a grid so fine that the discrete law is the continuous one


def laplace(scale: int) -> Noise:
    return Noise(NoiseFamily.LAPLACE, F(scale))


def gaussian(sigma2: int) -> Noise:
    return Noise(NoiseFamily.GAUSSIAN, F(sigma2))


def chance_of_zero(noise: Noise) -> tuple[F, F]:
    """Bounds of P(X = 0), by the tails of both sides."""
    low, high = laws.bound_tail(noise, 1)
    return 1 - 2 * high, 1 - 2 * low


def smallest_tail(scale: int) -> int:
    """The least t with P(|X| >= t) <= 5 %."""
    return laws.find_halfwidth(laplace(scale), F(1, 20)) + 1


def hidden(epsilon: str, delta: F, groups: int = 1) -> int:
    limits = Contribution(groups, groups, 1)
    return partition_selection.find_laplace_threshold(groups / F(epsilon), limits, delta)


def unit(digits: str) -> F:
    """One unit in the last of the digits given."""
    exponent = Decimal(digits).as_tuple().exponent
    assert isinstance(exponent, int)
    return F(10) ** exponent


def is_agreeing(value: Number, digits: str) -> bool:
    return abs(F(value) - F(digits)) <= unit(digits) / 2


NOISE: list[tuple[str, str, Found]] = [
    ("discrete Laplace s=1: P(0)", "0.46211715726", lambda: chance_of_zero(laplace(1))),
    (
        "discrete Laplace s=1: variance",
        "1.8413471884",
        lambda: laws.compute_noise_variance(laplace(1)),
    ),
    (
        "discrete Laplace s=10: variance",
        "199.8334166",
        lambda: laws.compute_noise_variance(laplace(10)),
    ),
    ("5 % half-width s=1", "4", lambda: smallest_tail(1)),
    ("5 % half-width s=10", "31", lambda: smallest_tail(10)),
    (
        "discrete Gaussian 1: variance",
        "0.99999978877",
        lambda: laws.compute_noise_variance(gaussian(1)),
    ),
    (
        "discrete Gaussian 1: delta(1)",
        "0.14135133941",
        lambda: discrete_gaussian.bound_delta(F(1), ONE, F(1)),
    ),
    (
        "discrete Gaussian 25: delta(.5)",
        "4.9776303e-4",
        lambda: discrete_gaussian.bound_delta(F(25), ONE, F(1, 2)),
    ),
    (
        "discrete Gaussian 1: epsilon(1e-6)",
        "4.4995909822",
        lambda: discrete_gaussian.bound_epsilon(F(1), ONE, D6),
    ),
    (
        "least discrete sigma squared (1, 1e-5)",
        "14",
        lambda: discrete_gaussian.find_least_sigma2(ONE, F(1), D5),
    ),
    (
        "the continuous sigma on integers at (1, 1e-6)",
        "1.0197e-6",  # of 4.2246789; rounded to 4.2247 it is 1.0196e-6
        lambda: discrete_gaussian.bound_delta(F("4.2246789") ** 2, ONE, F(1)),
    ),
]
GAUSSIANS: list[tuple[str, str, Found]] = [
    ("sigma squared (1, 1e-5)", "13.9176", lambda: discrete_gaussian.guess_mu(1, 1e-5) ** -2),
    ("sigma (1, 1e-5)", "3.73063163", lambda: 1 / discrete_gaussian.guess_mu(1, 1e-5)),
    ("sigma (.5, 1e-6)", "8.05761848", lambda: 1 / discrete_gaussian.guess_mu(0.5, 1e-6)),
    ("sigma (10, 1e-6)", "0.541086832", lambda: 1 / discrete_gaussian.guess_mu(10, 1e-6)),
    ("mu (1, 1e-6)", "0.2367043807", lambda: discrete_gaussian.guess_mu(1, 1e-6)),
    (
        "delta (mu=1, 1)",
        "0.1269367375",
        lambda: discrete_gaussian.bound_continuous_delta(F(1), F(1)),
    ),
    ("delta (mu=1, 1), in floats", "0.1269367375", lambda: discrete_gaussian.guess_delta(1.0, 1.0)),
    (
        "delta (mu=1, 4.8865541175)",
        "1.000000000e-6",
        lambda: discrete_gaussian.bound_continuous_delta(F(1), F("4.8865541175")),
    ),
]
CONCENTRATED: list[tuple[str, str, Found]] = [
    ("epsilon of rho .5", "5.2215344445", lambda: zcdp.bound_epsilon(F(1, 2), D6)),
    ("epsilon of rho .1", "2.1419389284", lambda: zcdp.bound_epsilon(F(1, 10), D6)),
    ("epsilon of rho .005", "0.4299414688", lambda: zcdp.bound_epsilon(F(1, 200), D6)),
    ("rho of any pure loss", "0.4621171573", lambda: zcdp.bound_pure_rho(F(1))),
    ("rho of bounded range", "0.1233015615", lambda: bound_range_rho(F(1))),
]
COMPOSED: list[tuple[str, str, Found]] = [
    ("basic", "10", lambda: accounting.compose_basic([TENTH] * 100).epsilon),
    ("zCDP, rho = epsilon^2/2", "5.221534", lambda: zcdp.bound_epsilon(100 * F("0.005"), D6)),
]
ANSWERS: list[tuple[str, str, Found]] = [
    ("2 answers: true", "0.7310585786", lambda: subset_response.enclose_chances(2, F(1)).true),
    ("4 answers: true", "0.4753668864", lambda: subset_response.enclose_chances(4, F(1)).true),
    ("4 answers: wrong", "0.1748777045", lambda: subset_response.enclose_chances(4, F(1)).wrong),
]
KEYS: list[tuple[str, str, Found]] = [
    ("T (1, 1e-5)", "13", lambda: hidden("1", D5)),
    ("T (1, 1e-6)", "15", lambda: hidden("1", D6)),
    ("T (.5, 1e-5)", "24", lambda: hidden("0.5", D5)),
    ("T (.1, 1e-6)", "133", lambda: hidden("0.1", D6)),
    ("T (1, 1e-5), 3 groups", "38", lambda: hidden("1", D5, 3)),
    ("T (.6, 1e-10)", "39", lambda: hidden("0.6", F("1e-10"))),
    ("T (.66, 1e-12)", "43", lambda: hidden("0.66", F("1e-12"))),
    ("T (.66, 2.1e-29)", "101", lambda: hidden("0.66", F("2.1e-29"))),
]
ROWS = [*NOISE, *GAUSSIANS, *CONCENTRATED, *COMPOSED, *ANSWERS, *KEYS]


@pytest.mark.parametrize(("digits", "found"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_golden_number(digits: str, found: Found) -> None:
    values = found()
    for value in values if isinstance(values, tuple) else (values,):
        assert is_agreeing(value, digits), float(value)


def test_the_comparison_tells_digits_apart() -> None:
    assert is_agreeing(F("1.23449"), "1.234")
    assert not is_agreeing(F("1.23451"), "1.234")
    assert not is_agreeing(1.2334, "1.234")
    assert is_agreeing(4.97763031e-4, "4.9776303e-4")
    assert not is_agreeing(14 - F(1, 64) - 1, "14")


def test_golden_fractions() -> None:
    assert discrete_gaussian.choose_grid_step(F(14)) == F(1, 64)
    assert discrete_gaussian.bound_delta(14 - F(1, 64), ONE, F(1)) > D5


def test_the_rho_of_an_epsilon_is_rounded_down() -> None:
    """0.02435597036, to ten digits on the safe side 0.0243559703."""
    rho = F("0.0243559703")
    assert rho <= zcdp.find_rho(F(1), D6) < rho + unit("0.0243559703")
    assert zcdp.bound_epsilon(rho, D6) <= 1 < zcdp.bound_epsilon(rho + unit("0.0243559703"), D6)


def test_advanced_composition() -> None:
    found = accounting.compose_advanced([TENTH] * 100, D6)
    assert found is not None
    assert is_agreeing(found.epsilon, "6.308231")


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [("1", "1e-5", "3.73063163"), ("0.5", "1e-6", "8.05761848"), ("10", "1e-6", "0.541086832")],
)
def test_analytic_sigma_is_certain_and_least(epsilon: str, delta: str, sigma: str) -> None:
    """The search for it is in floats; this is the enclosed curve on either side of the digits."""
    below, above = F(sigma) - unit(sigma) / 2, F(sigma) + unit(sigma) / 2
    assert discrete_gaussian.bound_continuous_delta(below**-2, F(epsilon)) > F(delta)
    assert discrete_gaussian.bound_continuous_delta(above**-2, F(epsilon)) < F(delta)


def test_integers_need_more_than_the_continuous_sigma() -> None:
    assert discrete_gaussian.bound_delta(F("4.2247") ** 2, ONE, F(1)) > D6
    assert discrete_gaussian.bound_delta(F("4.231") ** 2, ONE, F(1)) <= D6
    assert discrete_gaussian.bound_continuous_delta(F("4.2247") ** -2, F(1)) <= D6


# --- losses composed numerically ----------------------------------------------------------------

EXPONENTIAL = [(Range(F(1)), 100)]
LOSSES: list[tuple[str, str, list[Counted], F]] = [
    ("100 x Laplace", "4.69267", [(Laplace(F(10 * WIDE), WIDE), 100)], D6),
    ("100 x discrete Laplace, optimal", "4.774568", [(Laplace(F(10), 1), 100)], D6),
    ("100 x any pure, optimal", "4.774568", [(Pure(F("0.1")), 100)], D6),
    ("bounded range at .5", "0.5000000", [(Range(F(1)), 1)], F("0.0774046863")),
    ("Laplace at .5", "0.500000", [(Laplace(F(WIDE), WIDE), 1)], F("0.2211992169")),
    ("discrete Gaussian 1", "4.49959098", [(Gaussian(F(1), ONE), 1)], D6),
    ("discrete Gaussian 25", "0.500000", [(Gaussian(F(25), ONE), 1)], F("4.9776303e-4")),
    ("Gaussian", "4.886554", [(Gaussian(F(WIDE**2), build_single_shift(WIDE)), 1)], D6),
    (
        "100 Gaussians are one",
        "4.88655",
        [(Gaussian(F(100 * WIDE), build_single_shift(1000)), 100)],
        D6,
    ),
    (
        "two Gaussians are one, at a large delta",
        "1.00000",
        [(Gaussian(F(2 * WIDE), build_single_shift(1000)), 2)],
        F("0.1269367375"),
    ),
]


@pytest.mark.parametrize(
    ("digits", "events", "delta"), [row[1:] for row in LOSSES], ids=[row[0] for row in LOSSES]
)
def test_golden_composition(digits: str, events: list[Counted], delta: F) -> None:
    """Off by less than one in the last of the digits, and confirmed."""
    value = F(loss_distributions.estimate_epsilon(events, delta))
    assert F(digits) - unit(digits) <= value <= F(digits) + unit(digits), float(value)
    claim = accounting.compose_numerically(events, delta)
    assert claim is not None
    assert is_confirmed(events, claim, delta)
    assert not is_confirmed(events, claim * F(99, 100), delta)


def test_a_hundred_selections_cost_what_one_by_one_cost() -> None:
    """100 x range 1 at 1e-6: an accountant that took the hundred for one said 1.006.

    One by one it said 37.26; the exact rho of a range gives less, 37.08. The curve that holds for
    every place of the range is looser than that once it is composed.
    """
    rho = sum((bound_range_rho(F(1)) for _ in range(100)), F(0))
    assert rho == 100 * bound_range_rho(F(1))
    assert is_agreeing(zcdp.bound_epsilon(rho, D6), "37.0774")
    assert loss_distributions.estimate_epsilon(EXPONENTIAL, D6) > 37


@pytest.mark.parametrize(("epsilon", "first"), [("0.25", 8), ("0.5", 9), ("1", 9)])
def test_from_seven_to_ten_counts_on_gaussian_noise_is_less(epsilon: str, first: int) -> None:
    """The first number of counts for which it is, with the tightest accounting of Laplace noise."""

    def better(counts: int) -> bool:
        sigma2 = discrete_gaussian.find_least_sigma2(
            build_general_shift(counts, counts), F(epsilon), D6
        )
        scale = (1 - F(1, 1000)) * counts / F(epsilon)
        # Less than this scale does not do, not even by composing losses numerically.
        assert loss_distributions.estimate_epsilon([(Laplace(scale, 1), counts)], D6) > F(epsilon)
        return float(sigma2) < laws.compute_noise_variance(Noise(NoiseFamily.LAPLACE, scale))

    assert [better(counts) for counts in (1, first - 1, first)] == [False, False, True]


# --- why some things are not done ---------------------------------------------------------------


def test_drawing_again_until_a_count_is_not_negative_breaks_epsilon() -> None:
    """Counts 0 and 1, discrete Laplace noise at epsilon 1, drawn again while the sum is below 0.

    0 is accepted with P(X >= 0), 1 with P(X >= -1), and each outcome is likelier by the inverse of
    that. Outcome 0 tells them apart by e P(X >= -1)/P(X >= 0): epsilon is 1.2091. Hence noise is
    neither drawn again nor cut off before it is added; bounds are for what was released.
    """
    with mpmath.workdps(30):
        a = mpmath.exp(-1)
        noise = [(1 - a) / (1 + a) * a ** abs(k) for k in range(-400, 401)]

        def kept(count: int) -> list[mpmath.mpf]:
            law = [noise[400 + value - count] for value in range(300)]
            accepted = sum(law)
            return [each / accepted for each in law]

        worst = max(abs(mpmath.log(p / q)) for p, q in zip(kept(0), kept(1), strict=True))
        assert is_agreeing(F(str(worst)), "1.2091")
        # The same by the product's own law: P(X >= -1) = 1 - P(X >= 2).
        (zero, _), (one, _), (two, _) = (
            chance_of_zero(laplace(1)),
            laws.bound_tail(laplace(1), 1),
            laws.bound_tail(laplace(1), 2),
        )
        assert float(mpmath.e * (1 - float(two)) / float(zero + one)) == pytest.approx(
            float(mpmath.exp(worst)), rel=1e-12
        )
        # Whereas cutting off afterwards, at the same outcome, costs no more than epsilon.
        assert mpmath.log((1 - sum(noise[401:])) / (1 - sum(noise[400:]))) == pytest.approx(1)


def test_randomised_response_reaches_the_rho_of_all_pure_losses() -> None:
    (true, _), (wrong, _) = subset_response.enclose_chances(2, F(1))
    assert is_agreeing(true - wrong, "0.4621171573")
