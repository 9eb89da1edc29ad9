"""The verifier of record-level laws: what is calibrated holds, what was tampered with doesn't."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction as F

import mpmath
import pytest
from msgspec.structs import replace
from oracle.local_deltas import delta_of as window_delta

from dprelease.kernel.chapters.record_tables import response_loss as local_verifier
from dprelease.kernel.chapters.record_tables.response_loss import is_law_confirmed
from dprelease.local.randomizers import local_laplace, subset_response, window_response
from dprelease.model.plans import Loss
from dprelease.model.record_tables import LaplaceLaw, Law, SubsetLaw, Window, WindowLaw
from dprelease.privacy.zcdp import bound_pure_rho

NOTCH = F(1, 2**64)
BUDGETS = [
    (F(epsilon), F(delta))
    for epsilon in ("0.001", "1", "7.3", "20")
    for delta in ("0", "1e-12", "0.1", "0.9")
]


def subset(labels: int, size: int, epsilon: F, delta: F) -> SubsetLaw:
    return SubsetLaw(labels, size, subset_response.keep(labels, size, epsilon, delta))


def windows(width: int, epsilon: F, delta: F = F(0)) -> WindowLaw:
    law = window_response.find_best(width, epsilon, delta)
    assert law is not None
    return law


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_calibrated_laws_hold_and_one_notch_less_noise_does_not(epsilon: F, delta: F) -> None:
    loss = Loss(epsilon, delta)
    for labels, size in ((2, 1), (3, 2), (10, 3), (48, 1), (1000, 64), (10**5, 20)):
        law = subset(labels, size, epsilon, delta)
        assert is_law_confirmed(law, None, loss)
        if law.keep + NOTCH < 1:
            assert not is_law_confirmed(replace(law, keep=law.keep + NOTCH), None, loss)
    for width in (1, 2, 33, 10**6, 2**53 - 1, 2**60):
        scale = local_laplace.find_least_scale(width, epsilon, delta)
        assert is_law_confirmed(LaplaceLaw(scale), width, loss)
        assert not is_law_confirmed(
            LaplaceLaw(scale * (1 - F(1, 10**9))), width, loss
        ) or delta == F("1e-12")
        assert not is_law_confirmed(LaplaceLaw(scale * F(99, 100)), width, loss)
        assert is_law_confirmed(windows(width, epsilon, delta), width, loss)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_smaller_claim_is_refused(epsilon: F, delta: F) -> None:
    less = Loss(epsilon * (1 - F(1, 10**8)), delta)
    if epsilon < 10:
        assert not is_law_confirmed(subset(10, 1, epsilon, delta), None, less)
    if delta == 0:
        assert not is_law_confirmed(
            LaplaceLaw(local_laplace.find_least_scale(9, epsilon, delta)), 9, less
        )
    if delta > F(1, 100):
        less = Loss(epsilon, delta * F(999, 1000))
        assert not is_law_confirmed(subset(10, 1, epsilon, delta), None, less)
        assert not is_law_confirmed(
            LaplaceLaw(local_laplace.find_least_scale(9, epsilon, delta)), 9, less
        )
        if epsilon < 5:
            assert not is_law_confirmed(windows(9, epsilon, delta), 9, less)


GOOD = windows(100, F(1))
TAMPERED: list[Callable[[Window], Window]] = [
    lambda window: replace(window, gap=window.gap - F(1, 10**5)),
    lambda window: replace(window, gap=window.gap + F(1, 10**5)),
    lambda window: replace(window, ratio=window.ratio * F(1001, 1000)),
    lambda window: replace(window, ratio=window.ratio * F(999, 1000)),
    lambda window: replace(window, ratio=1 / window.ratio, gap=-window.gap),
    lambda window: replace(window, width=window.levels),
    lambda window: replace(window, width=0),
    lambda window: replace(window, levels=window.levels + 1),
    lambda window: replace(window, ratio=F(1)),
]


@pytest.mark.parametrize("change", TAMPERED)
def test_a_window_that_was_tampered_with_is_refused(change: Callable[[Window], Window]) -> None:
    loss = Loss(F(1))
    assert GOOD.second is not None
    assert is_law_confirmed(GOOD, 100, loss)
    assert not is_law_confirmed(replace(GOOD, first=change(GOOD.first)), 100, loss)
    assert not is_law_confirmed(replace(GOOD, second=change(GOOD.second)), 100, loss)


def test_a_less_noisy_window_that_is_right_on_average_is_refused() -> None:
    for window in (GOOD.first, GOOD.second):
        assert window is not None
        starts = window.levels - window.width
        gap = window.gap - F(1, 10**5)
        beta = 2 / (gap * starts)
        ratio = (window.width + beta * starts) / (window.width * (1 - beta))
        law = WindowLaw(replace(window, gap=gap, ratio=ratio))
        assert not is_law_confirmed(law, 100, Loss(F(1)))
        assert is_law_confirmed(law, 100, Loss(F(1) + F(1, 1000)))


@pytest.mark.parametrize(
    ("law", "width"),
    [
        (replace(GOOD, share=F(1, 3)), 100),
        (replace(GOOD, share=F(-1, 4)), 100),
        (replace(GOOD, share=F(5, 4)), 100),
        (replace(GOOD, second=None, share=F(1, 2)), 100),
        (GOOD, None),
        (GOOD, 0),
        (GOOD, 2**61),
        (SubsetLaw(3, 1, F(1, 3)), None),
        (SubsetLaw(4, 1, F(1, 4)), 10),
        (SubsetLaw(4, 0, F(1, 4)), None),
        (SubsetLaw(4, 5, F(1)), None),
        (SubsetLaw(4, 4, F(1, 2)), None),
        (SubsetLaw(4, 1, F(1)), None),
        (SubsetLaw(4, 1, F(0)), None),
        (SubsetLaw(4, 1, F(5, 4)), None),
        (SubsetLaw(4, 3, F(0)), None),
        (LaplaceLaw(F(0)), 10),
        (LaplaceLaw(F(-10)), 10),
        (LaplaceLaw(F(10**9)), None),
        (LaplaceLaw(F(10**9)), 0),
    ],
)
def test_what_is_no_law_of_its_column_is_refused(law: Law, width: int | None) -> None:
    assert not is_law_confirmed(law, width, Loss(F(1)))


def test_laws_that_say_nothing_or_lie_hold() -> None:
    nothing = Loss(F(0), F(0), F(0))
    assert is_law_confirmed(SubsetLaw(1, 1, F(1)), None, nothing)
    assert is_law_confirmed(SubsetLaw(3, 3, F(1)), None, nothing)
    assert is_law_confirmed(SubsetLaw(4, 1, F(1, 4)), None, nothing)
    assert not is_law_confirmed(SubsetLaw(4, 1, F(1, 4) - NOTCH), None, nothing)
    lies = SubsetLaw(2, 1, F(1, 4))
    assert is_law_confirmed(lies, None, Loss(subset_response.compute_truth_epsilon(2, F(1, 4))))
    assert not is_law_confirmed(lies, None, Loss(F("1.0986")))
    assert is_law_confirmed(SubsetLaw(5, 4, F(1)), None, Loss(F(0), F(1, 4)))
    assert not is_law_confirmed(SubsetLaw(5, 4, F(1)), None, Loss(F(50), F(1, 4) - NOTCH))


def test_claims_that_are_none_are_refused() -> None:
    law = SubsetLaw(4, 1, F(1, 4))
    assert not is_law_confirmed(law, None, Loss(F(-1)))
    assert not is_law_confirmed(law, None, Loss(F(1), F(1)))
    assert not is_law_confirmed(law, None, Loss(F(1), F(-1)))


@pytest.mark.parametrize("epsilon", [F(1, 1000), F(1), F(20), F(9000), F(10**5)])
def test_rho(epsilon: F) -> None:
    law, rho = SubsetLaw(4, 1, F(1, 4)), bound_pure_rho(epsilon)
    assert is_law_confirmed(law, None, Loss(epsilon, F(0), rho))
    assert not is_law_confirmed(law, None, Loss(epsilon, F(0), rho * (1 - F(1, 10**12))))
    assert not is_law_confirmed(law, None, Loss(epsilon, F(1, 10), rho))


@pytest.mark.parametrize("width", [1, 2, 7, 30])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "6"])
def test_two_derivations_of_one_delta(width: int, epsilon: str) -> None:
    for scale in (F(1, 3), F(2), F(17, 3), F(90)):
        own = local_verifier.bound_laplace_delta(scale, width, F(epsilon))
        assert abs(own - local_laplace.bound_delta(scale, width, F(epsilon))) < F(1, 10**60)
    for shape in ((2, 1), (5, 2), (7, 5), (32, 10)):
        window = window_response.find_window(*shape, F(epsilon), F(1, 100))
        assert window is not None
        for claim in (F(epsilon), F(epsilon) / 2, F(0)):
            own = local_verifier.bound_windows_delta(WindowLaw(window), claim)
            assert abs(own - window_delta(window, claim)) < F(1, 10**25)


# --- a claim that is too small by nothing but a hair ----------------------------------------------

HAIR = 10**300


def below(truth: mpmath.mpf) -> F:
    """A hair less than a truth that has no last digit."""
    return F(int(mpmath.floor(truth * HAIR)), HAIR)


@pytest.fixture
def digits() -> Iterator[None]:
    with mpmath.workdps(450):
        yield


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("epsilon", [F(1, 1000), F(1), F(12)])
def test_a_rho_is_not_a_hair_less(epsilon: F) -> None:
    e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    law = subset(3, 1, epsilon / 2, F(0))
    rho = below(e * mpmath.tanh(e / 2))
    assert is_law_confirmed(law, None, Loss(epsilon, F(0), rho * (1 + F(1, 10**100))))
    assert not is_law_confirmed(law, None, Loss(epsilon, F(0), rho))


@pytest.mark.usefixtures("digits")
def test_a_delta_of_labels_is_not_a_hair_less() -> None:
    law = SubsetLaw(2, 1, F(3, 4))
    delta = below((3 - mpmath.exp(mpmath.mpf(1) / 2)) / 4)
    assert is_law_confirmed(law, None, Loss(F(1, 2), delta * (1 + F(1, 10**100))))
    assert not is_law_confirmed(law, None, Loss(F(1, 2), delta))


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize(
    ("scale", "width", "epsilon"),
    [
        (F(1, 2), 7, F(1, 5)),
        (F(1, 2), 1, F(1)),
        (F(30), 100, F(3)),
        (F(30), 7, F(1, 5)),
        (F(10**6), 1, F(1, 10**7)),
        (F(10**6), 2, F(1, 10**6)),
    ],
)
def test_a_delta_of_laplace_noise_is_not_a_hair_less(scale: F, width: int, epsilon: F) -> None:
    """By the best threshold instead of term by term.

    Some roundings do not matter: a last term that is 0 may be counted or not; e^(epsilon - K/s) is
    taken off and added again; and a hair of a in the numerator is worth more than in the divisor.
    """
    last = math.floor((width - epsilon * scale) / 2)
    rate = mpmath.mpf(scale.denominator) / scale.numerator
    a, growth = mpmath.exp(-rate), mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    truth = 1 - (a ** (last + 1) + growth * a ** (width - last)) / (1 + a)
    assert is_law_confirmed(
        LaplaceLaw(scale), width, Loss(epsilon, below(truth) * (1 + F(1, 10**100)))
    )
    assert not is_law_confirmed(LaplaceLaw(scale), width, Loss(epsilon, below(truth)))
