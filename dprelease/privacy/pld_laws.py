r"""Laws of the privacy loss whose composition bounds the composition of events.

A *law* is a positive measure nu of losses z, plus infinity. It bounds a curve if, for all g,

    delta(g) <= c(g) = integral of (1 - e^(g-z))+ dnu(z),        (1)

where infinity counts for 1. A mass may exceed 1. Every curve that is convex in e^g, at most 1 and
at least 1 - e^g has such a law with equality.

Composition. Let mechanisms run one after the other, each with a curve that holds whatever was
released before, bounded by nu_1, ..., nu_k. Then together they are (epsilon, delta)-DP with
delta = the integral of (1 - e^(epsilon - z_1 - ... - z_k))+ over the product of all nu_i. Proof:
let A, B be the laws of the first k - 1 outputs together, P(. | y), Q(. | y) the last one's given
these. For a = e^epsilon, summing over y and all outputs x of the last one,

    sum (A(y) P(x|y) - a B(y) Q(x|y))+ <= sum over y of A(y) c_k(ln(a B(y)/A(y)))
        = integral over z of sum over y of (A(y) - a e^-z B(y))+ dnu_k(z),

and the inner sum is the divergence of order a e^-z of the first k - 1; by induction it is at most
the integral of (1 - e^(epsilon - z - z_1 - ... - z_(k-1)))+ over their laws. QED. (The known form,
for pairs of probabilities: Zhu, Dong and Wang 2022, Theorem 10.)

What may be done with a law, since (1) does not fall by it:
(a) adding mass anywhere; (b) moving mass to a higher loss; (c) splitting a mass at z in two, at
a <= z <= b, such that the mean of e^-loss stays: (1 - e^g u)+ is convex in u = e^-loss (Jensen).
(c) is "connecting the dots" of Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022: the curve of
the law made is linear in e^g between the points of the grid, where it is that of the law given.

Laws of the events (curves and their proofs: ``pld_curves``):

*Two* points: e with probability 1/(1 + e^-e), otherwise -e.
*Ladder*: (n - 2 min(W, n))/s, the single integer that dominates Laplace noise.
*Slope* of span e: density e^((z-e)/2)/(2 (1 - e^-e)) on [-e, e], which is ``Range``, since
    P(Z > g) = delta - delta' = (1 - e^((g-e)/2))/(1 - e^-e) is what (1) asks for. With ``ends``
    it is continuous Laplace noise: 1/2 at e, e^-e/2 at -e, density e^((z-e)/2)/4 between,
    delta(g) = 1 - e^((g-e)/2). A Ladder of very many rungs is dominated by that of the span
    e' = n/s + 2 ln cosh(1/(2s)): at its points z_k = (n - 2k)/s the Ladder's curve is
    1 - a^k = 1 - e^((z_k - e)/2), and in between linear in e^g. Let z_k be the lower of two
    such points, r = e^(1/s) and y in [1, r], e^g = e^(z_k) y^2. The Ladder has
    1 - delta = e^((z_k - e)/2) (r + y^2)/(r + 1), the Slope of span e has 1 - delta =
    e^((z_k - e)/2) y, and (r + y^2)/((r + 1) y) >= 2 sqrt(r)/(r + 1) = 1/cosh(1/(2s)).
*Bell*: discrete Gaussian noise on one integer that moves by v: (v^2 + 2 v x)/(2 sigma2) with
    probability proportional to e^(-x^2/(2 sigma2)).
*Widest*: of several such moves, of one or two integers each, whichever is the worst (``pld_bell``).
*Normal*: mean mu^2/2, variance mu^2: continuous Gaussian noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

MANY_RUNGS = 4096  # the Slope's span is larger by less than a part in 4 s n of itself


@dataclass(frozen=True, slots=True)
class Two:
    """Randomised response."""

    span: Fraction


@dataclass(frozen=True, slots=True)
class Ladder:
    """Discrete Laplace noise on one integer that moves by ``l1 <= MANY_RUNGS``."""

    scale: Fraction
    l1: int


@dataclass(frozen=True, slots=True)
class Slope:
    """Bounded range; with ``ends`` continuous Laplace noise."""

    span: Fraction
    ends: bool


@dataclass(frozen=True, slots=True)
class Bell:
    """Discrete Gaussian noise on one integer that moves by ``step``."""

    sigma2: Fraction
    step: int


@dataclass(frozen=True, slots=True)
class Normal:
    """Continuous Gaussian noise, the move divided by its standard deviation being mu."""

    mu2: Fraction


@dataclass(frozen=True, slots=True)
class Widest:
    """Discrete Gaussian noise on integers that move by any of ``shapes``, of 1 or 2 entries."""

    sigma2: Fraction
    shapes: tuple[tuple[int, ...], ...]


Law = Two | Ladder | Slope | Bell | Widest | Normal


def spacing_of(law: Law) -> Fraction | None:
    """The distance of neighbouring points of a law on equidistant points."""
    match law:
        case Two(span):
            return 2 * span
        case Ladder(scale, _):
            return 2 / scale
        case Bell(sigma2, step):
            return step / sigma2
        case _:
            return None
