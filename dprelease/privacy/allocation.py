"""How a budget is best shared among queries, and the least budget that meets stated errors.

*Least variance.* Laplace noise of a query at epsilon_i has the variance c_i/epsilon_i^2, Gaussian
noise at rho_i the variance c_i/rho_i, where c_i holds the sensitivity and the weight that the query
has in the total. With the sum of all epsilon_i (rho_i) given, the total variance is least for
shares proportional to c_i^(1/3), and c_i^(1/2) under zCDP. Proof, for shares s_i that sum to 1:

    sum c_i^(1/3) = sum (c_i/s_i^2)^(1/3) s_i^(2/3) <= (sum c_i/s_i^2)^(1/3) (sum s_i)^(2/3),
    sum c_i^(1/2) = sum (c_i/s_i)^(1/2) s_i^(1/2) <= (sum c_i/s_i)^(1/2) (sum s_i)^(1/2)

(Hoelder, Cauchy and Schwarz), with equality where c_i/s_i^2 is proportional to s_i, and c_i/s_i
to s_i. The left sides don't depend on the shares. QED.

*Errors.* Laplace noise of the scale D/epsilon has the root mean square sqrt(2) D/epsilon, so that
a target t costs epsilon = sqrt(2) D/t; Gaussian noise of sigma = t costs rho = D^2/(2 t^2) and has
mu = D/t (Dong, Roth and Su 2022). Epsilons add up; so do rhos; so do the squares of mu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dprelease.privacy import continuous
from dprelease.privacy.enclosure import ZERO, round_down, round_up, sqrt_bounds

DIGITS = 40  # of roots, before shares are rounded to 15

Number = Fraction | int
Target = tuple[Number, Number, int]
"""By how much one person moves a number; its root mean square error; how many such numbers."""


def least_variance(costs: Sequence[Number], concentrated: bool) -> tuple[Fraction, ...]:
    """Shares of the budget that make the sum of all variances least: positive, in all exactly 1.

    ``costs`` are the c_i of the module, shares are of epsilon, or of rho if ``concentrated``.
    Exact where all roots of the costs' ratios are rational, as for equal costs. Otherwise every
    share is rounded down to 15 digits but the largest, which takes what is left. ValueError
    without costs, or if one isn't positive.
    """
    if not costs or min(costs) <= 0:
        raise ValueError("a budget is shared among costs above 0")
    degree = 2 if concentrated else 3
    largest = max(costs)
    ratios = [Fraction(cost) / largest for cost in costs]
    exact = [_exact_root(ratio, degree) for ratio in ratios]
    roots = [root for root in exact if root is not None]
    if len(roots) == len(ratios):
        return tuple(root / sum(roots) for root in roots)
    roots = [_root(ratio, degree) for ratio in ratios]
    shares = [round_down(root / sum(roots)) for root in roots]
    place = ratios.index(Fraction(1))
    shares[place] = 1 - sum(shares[:place] + shares[place + 1 :], ZERO)
    return tuple(shares)


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """The least budgets that meet all targets: each field is one way to pay for all of them.

    ``epsilon`` is that of Laplace noise, rounded up to 15 digits; ``rho`` and ``mu_squared`` are
    exact, of Gaussian noise. Integer noise of the same parameters costs the same epsilon and rho,
    and its errors are smaller: 1/(2 sinh(1/(2 s))^2) < 2 s^2 for the scale s, and a discrete
    Gaussian's variance is below sigma^2 (Canonne, Kamath and Steinke 2020).
    """

    epsilon: Fraction
    rho: Fraction
    mu_squared: Fraction

    @property
    def mu(self) -> Fraction:
        """Mu, rounded up to 15 digits."""
        return round_up(sqrt_bounds(self.mu_squared)[1])

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """The epsilon of the Gaussian noise at this delta, for the continuous law: upper bound.

        What integer noise of the same sigma costs is for ``discrete_gaussian`` to say.
        """
        return continuous.epsilon_of(self.mu_squared, delta)


def budget_for_errors(targets: Sequence[Target]) -> ErrorBudget:
    """What it costs to release all numbers with the root mean square errors stated.

    ValueError if an error isn't positive, or a sensitivity or a number of times is negative.
    """
    single = squares = ZERO
    for sensitivity, error, times in targets:
        if error <= 0 or sensitivity < 0 or times < 0:
            raise ValueError("errors are above 0, sensitivities and times not below")
        ratio = Fraction(sensitivity) / Fraction(error)
        single += times * ratio
        squares += times * ratio**2
    return ErrorBudget(round_up(sqrt_bounds(2 * single**2)[1]), squares / 2, squares)


# --- roots ----------------------------------------------------------------------------------------


def _whole_root(value: int, degree: int) -> int:
    """The largest integer whose power is not above ``value`` >= 0: Newton, from above."""
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    root = Fraction(_whole_root(value.numerator, degree), _whole_root(value.denominator, degree))
    return root if root**degree == value else None


def _root(value: Fraction, degree: int) -> Fraction:
    """The root of a value in (0, 1], rounded down to ``DIGITS`` significant digits or more."""
    places = DIGITS + len(str(value.denominator // value.numerator)) // degree + 1
    scale = 10**places
    return Fraction(
        _whole_root(value.numerator * scale**degree // value.denominator, degree), scale
    )
