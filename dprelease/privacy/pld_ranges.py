r"""Many selections of bounded range as one normal law: tighter than composing the worst of each.

The law of one ``Range`` (``pld_laws``) takes the worst interval for every epsilon at once; its
variance is about e^2/3, although no interval of length e allows more than e^2/4. Here is shown
that adaptive selections of ranges e_1, ..., e_k, whatever else is released before, after and in
between, have the law of loss of continuous Gaussian noise, normal of mean M/2 and variance M, with

    M = pi/2 x + r + x/6 ln(1 + r/((pi/2 - 1) x)),

where x = max e_i^2/4 and r = sum e_i^2/4 - min e_i^2/4.

Let V be a bound of the delta of all that follows, as a function of g. With a selection before it
the bound is (T V)(g) = sup over t of the mean of V(g - L), L being t or t - e with E e^-L = 1 under
P (two ends are the worst: V is convex in e^g). Any other event replaces V by its mean over the
event's law; a supremum of means is at most the mean of suprema, so all T may be moved to the end,
where the bound is V(g; 0) = (1 - e^g)+. Let V(g; m) be the delta of the normal law of variance m;
it rises in m.

Lemma. T V(.; m) <= V(.; M) with M = m (1 + e^2/(6 m))^(3/2) for m > 0, and M = pi e^2/8 for m = 0.

1.  Brownian motion. Write n(y; s) for the normal density of variance s, V(g; m) = e^(g/2) v(g; m).
    Then dv/dm = e^(-m/8) n(g; m)/2 (from Balle and Wang's formula), which is also v''/2 - v/8 with
    derivatives in g. L is Brownian motion of drift 1/2 at the time tau when it leaves (t - e, t),
    as e^-L is a martingale. By Girsanov the mean of V(g - L; m) is e^(g/2) times that of
    e^(-tau/8) v(g - B_tau; m) with B without drift, and by Ito the latter is above v(g; m) by
    e^(-m/8)/2 times E integral from 0 to tau of e^(-s/8) n(g - B_s; m) ds. And v(g; M) is above
    v(g; m) by e^(-m/8)/2 times the integral from 0 to M - m of e^(-s/8) n(g; m + s) ds. Without the
    stopping E n(g - B_s; m) is n(g; m + s); so up to s = M - m the first integrand (its mean) is
    the smaller, and from there on the larger. Hence, if the first integral is at most the second
    without the factors e^(-s/8), it is so with them; this is what is left to show. By Ito for
    F(g; m) = E abs(g - sqrt(m) N), where F'' = 2 n(g; m) = 2 dF/dm, it says that the mean of
    F(g - B_tau; m), two points at distance e, is at most F(g; M). That mean is, at g, the chord of
    F(.; m) over an interval [s - h, s + h] around g, h = e/2. So it says: chords of F(.; m) of
    length e lie below F(.; M).
2.  Chords. Of the chord of slope B let C be the value of its line at 0. The least of F(g; M) - g B
    is 2 sqrt(M) I((1 + B)/2), I(p) = density at the p-quantile of the standard normal law; so
    C <= 2 sqrt(M) I((1 + B)/2) is to be shown. It is an equality for h = 0 and M = m. Let h grow
    and B stay. With k1 = F'(s + h) - B and k2 = B - F'(s - h) both ends of the chord stay on one
    line if C rises by 2 k1 k2/(k1 + k2) dh. Let U be uniform on [-1, 1], n = n(s + h U; m), and
    <q> = E q n/E n. Then k1 + k2 = 4 h E n, k1 - k2 = 4 h E U n, and
    C = 2 E (m + h^2 (1 - U^2)) n, all by parts, from F - y F' = 2 m n. Therefore

        d ln C/dh = h (1 - <U>^2)/(m + h^2 (1 - <U^2>)).

3.  That is at most h/(m + 2 h^2/3), since <U^2> - 1/3 <= 2/3 <U>^2: the weight n is
    e^(-c U - d U^2) times a constant, d > 0, and let c >= 0. By parts with U (1 - U^2) and 1 - U^2,
    <U^2> - 1/3 = c a/3 - 2d/3 <U^2 - U^4>, c <1 - U^2> = 2 abs<U> + 2 d a, a = -<U - U^3>; and
    a^2 <= <U^2 - U^4> <1 - U^2>, so <U^2> - 1/3 <= 2/3 a abs<U>/<1 - U^2>. With abs(U) alone,
    weighted by cosh(c U) e^(-d U^2), abs<U> is the mean of abs(U) tanh(c abs(U)), which rises
    in abs(U), and a the mean of that times 1 - U^2, which falls: a <= abs<U> <1 - U^2>.
    Integrating to h = e/2, ln C grows by at most 3/4 ln(1 + e^2/(6 m)). QED for m > 0.
4.  For m = 0, F = abs(g), the chord has B = s/h, C = h (1 - B^2) = 4 h p (1 - p), p = (1 + B)/2,
    and I(p) >= sqrt(8/pi) p (1 - p): the difference has the second derivative
    2 sqrt(8/pi) - 1/I(p), which on (0, 1/2] changes its sign once, from - to +; it is 0 at 0, and
    0 with slope 0 at 1/2. So sqrt(M) = h sqrt(pi/2) is enough. (Step 1 with v at m > 0 going to 0.)

Now let x_i = e_i^2/4, in the order in which T is applied, and start with m = pi/2 x, which is at
least what the first one needs. Each other one adds at most x_i + x_i^2/(6 m), by the Lemma and
(1 + y)^(3/2) <= 1 + 3y/2 + 3y^2/8, while m is at least pi/2 x plus the x_j added so far. So the
last terms add up to at most x/6 times the integral of 1/((pi/2 - 1) x + z) for z from 0 to the sum
of the x_i without the first, which is at most r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dprelease.privacy.interval_arithmetic import PI, ln_bounds, round_up

Spans = Sequence[tuple[Fraction, int]]


def normal_of(spans: Spans) -> Fraction:
    """The M of these ranges, each so many times: upper bound, 30 digits."""
    squares = [(round_up(span * span / 4, 40), times) for span, times in spans]
    largest, least = max(squares)[0], min(squares)[0]
    rest = sum((square * times for square, times in squares), -least)
    spread = ln_bounds(1 + rest / ((PI[0] / 2 - 1) * largest))[1]
    return round_up(PI[1] / 2 * largest + rest + largest / 6 * spread, 30)


def small_ones(spans: Spans) -> int:
    """How many of these ranges, in rising order, are best taken as a normal law; a hint.

    The others keep laws of their own. Judged by the variance of all.
    """
    best, choice = 0.0, 0
    own = normal = 0.0
    least = float(spans[0][0]) ** 2 / 4
    for place, (span, times) in enumerate(spans, 1):
        square = float(span) ** 2 / 4
        own += square * times * 4 / 3
        normal += square * times
        rest = normal - least
        gain = own - math.pi / 2 * square - rest
        gain -= square / 6 * math.log1p(rest / ((math.pi / 2 - 1) * square))
        if gain > best:
            best, choice = gain, place
    return choice
