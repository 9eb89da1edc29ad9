"""Mean and variance from three noisy sums, with noise intervals.

Values x lie in [0, 1]; the sums are b0 = sum of (1-x)^2, b1 = sum of 2x(1-x), b2 = sum of x^2,
which add up to n. With B_i = b_i + X_i, X_i independent draws of the same noise, T = B0 + B1 + B2:

    mean m = (B1/2 + B2)/T,   variance V = B2/T - m^2 = (B0 B2 - B1^2/4)/T^2.

*Mean.* B1/2 + B2 - mu T = (1/2 - mu) X_1 + (1 - mu) X_2 - mu X_0 for the true mean mu: so with
q(mu) the quantile of the absolute value of that, abs(m - mu) <= q(mu)/T =: r (Fieller's argument).

*Variance.* For any a the mean of (x - a)^2 is a fraction of sums as well, for (x - a)^2 =
a^2 (1-x)^2 - a(1-a) 2x(1-x) + (1-a)^2 x^2. Its estimate M_a, with B_i for b_i and T for n, is
exactly V + (m - a)^2. At a = mu the true value is the variance v, so that

    T (V + (m - mu)^2 - v) = (mu^2 - v) X_0 - (mu(1-mu) + v) X_1 + ((1-mu)^2 - v) X_2,

whatever the data are. With q the quantile of the absolute value of the right side, v lies between
V - q/T and V + q/T + r^2 whenever abs(m - mu) <= r, too. The probability of missing either is
split: a tenth for the mean, nine tenths for the rest, as r^2 is of second order. No search for the
worst data is needed, and the interval is a few per cent wider than if mu were known.

q depends on mu and v. At first these may be anything in [0, 1] and [0, 1/4], then anything that the
resulting intervals leave, and so on. Each time q is taken at weights no smaller than those at the
true mu and v, if the interval before held them, so the last one holds them with the same
probability.

Where T <= 0 nothing is known. Then means are published as 1/2 with half-width 1/2, variances as 1/8
with half-width 1/8.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dprelease.model import Noise
from dprelease.postprocess.intervals.noise_mixture import mix_quantiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOR_MEAN = Fraction(1, 10)
_ROUNDS = 3


class Estimates(Struct, frozen=True):
    """A figure for each cell and the ends of its interval, within the figure's possible range."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def half(self) -> Floats:
        """Return the distance from the figure to the further end."""
        import numpy as np

        return np.maximum(np.abs(self.value - self.low), np.abs(self.high - self.value))


class Sums(Struct, frozen=True):
    """Noisy sums b0, b1, b2 by cell, in units in which one record adds ``width`` to them all."""

    b0: Floats
    b1: Floats
    b2: Floats
    noise: Noise

    @property
    def total(self) -> Floats:
        """Return T, or infinity where nothing is known, so that a share of it is 0."""
        import numpy as np

        total = self.b0 + self.b1 + self.b2
        positive: Floats = np.where(total > 0, total, np.inf)
        return positive

    @property
    def is_positive(self) -> NDArray[Any]:
        """Return where T is positive."""
        import numpy as np

        return np.isfinite(self.total)


def estimate_means(sums: Sums, alpha: Fraction) -> Estimates:
    """Estimate the mean of each cell on [0, 1]; an interval misses it with chance ``alpha``."""
    import numpy as np

    positive, total = sums.is_positive, sums.total
    raw = np.where(positive, sums.b1 / total / 2 + sums.b2 / total, 0.5)
    low, high = np.zeros_like(raw), np.ones_like(raw)
    for _ in range(_ROUNDS):
        skew = np.maximum(abs(0.5 - low), abs(0.5 - high))
        upper = mix_quantiles(sums.noise, alpha, high, skew, 1 - low)
        off = np.where(positive, upper / total, 1.0)
        low, high = np.clip(raw - off, 0, 1), np.clip(raw + off, 0, 1)
    return Estimates(np.clip(raw, 0, 1), low, high)


def estimate_variances(sums: Sums, alpha: Fraction) -> Estimates:
    """Estimate the population variance of each cell on [0, 1/4]; ``alpha`` as for means."""
    import numpy as np

    positive, total = sums.is_positive, sums.total
    p0, p1, p2 = (part / total for part in (sums.b0, sums.b1, sums.b2))
    centre = p1 / 2 + p2
    raw = np.where(positive, p0 * p2 - p1 * p1 / 4, 1 / 8)
    # The chance of a miss is shared out: a tenth for the mean, the rest for the variance.
    mean = estimate_means(sums, alpha * FOR_MEAN)
    rest = alpha * (1 - FOR_MEAN)
    nearest = np.clip(centre, mean.low, mean.high) - centre
    furthest = np.maximum(abs(mean.low - centre), abs(mean.high - centre))
    middle = np.clip(0.5, mean.low, mean.high)
    top = middle * (1 - middle)  # of a (1 - a), and so of a variance with its mean in the interval
    low, high = np.zeros_like(raw), top
    for _ in range(_ROUNDS):
        off = (
            mix_quantiles(
                sums.noise,
                rest,
                np.maximum(abs(mean.high**2 - low), abs(mean.low**2 - high)),
                top + high,
                np.maximum(abs((1 - mean.low) ** 2 - low), abs((1 - mean.high) ** 2 - high)),
            )
            / total
        )
        low = np.where(positive, np.clip(raw + nearest**2 - off, 0, top), 0.0)
        high = np.where(positive, np.clip(raw + furthest**2 + off, 0, top), 0.25)
    return Estimates(np.clip(raw, 0, 0.25), low, high)


def compute_deviations(variance: Estimates) -> Estimates:
    """Compute standard deviations: the roots of variances and of the ends of their intervals."""
    import numpy as np

    return Estimates(np.sqrt(variance.value), np.sqrt(variance.low), np.sqrt(variance.high))
