"""The decision procedure equals the exact inverse of the distribution function."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from thorough import for_each, some

from dprelease.kernel.chapters.many_draws.inversion import (
    UNDECIDED,
    build_table,
    decide_exactly,
    settle,
)
from dprelease.kernel.distributions.intervals import Interval
from dprelease.kernel.distributions.tails import (
    SignedGaussian,
    SignedGeometric,
    SignedStairs,
    decode,
    enclose_gaussian_weights,
)
from dprelease.model import Noise, NoiseFamily

LAWS = [
    SignedGeometric(Fraction(1, 1000), 1),
    SignedGeometric(Fraction(1, 3), 1),
    SignedGeometric(Fraction(10), 1),
    SignedGeometric(Fraction(100_000), 4096),
    SignedGaussian(Fraction(1, 1000), False),
    SignedGaussian(Fraction(1), False),
    SignedGaussian(Fraction(25), False),
    SignedGaussian(Fraction(2000), True),
    SignedStairs(Noise(NoiseFamily.STAIRCASE, Fraction(25), 100, 20)),
    SignedStairs(Noise(NoiseFamily.STAIRCASE, Fraction(8), 3, 1)),
]


def compute_survivals(law, count: int) -> list[mpmath.mpf]:
    """S_1, ..., S_count from the definition of the laws, at high precision."""
    if isinstance(law, SignedGeometric):
        scale = mpmath.mpf(law.scale.numerator) / law.scale.denominator
        fine, ratio = mpmath.exp(-1 / scale), mpmath.exp(-law.block / scale)
        total = (1 + fine) / (1 - ratio)
        weights = [
            ratio ** (t if t >= 0 else -1 - t) * (1 if t >= 0 else fine)
            for t in (decode(index) for index in range(count))
        ]
    elif isinstance(law, SignedStairs):
        noise = law.noise
        scale = mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator
        ratio = mpmath.exp(-noise.stair / scale)
        total = 2 * noise.first - 1 + 2 * noise.stair * ratio / (1 - ratio)
        shares = {0: mpmath.mpf(noise.first), -1: mpmath.mpf(noise.first - 1)}
        weights = [
            shares.get(t, noise.stair * ratio ** (t if t >= 0 else -1 - t))
            for t in (decode(index) for index in range(count))
        ]
    else:
        sigma2 = mpmath.mpf(law.sigma2.numerator) / law.sigma2.denominator

        def weight(t: int) -> mpmath.mpf:
            size = t if t >= 0 else (-1 - t if law.two_zeros else -t)
            return mpmath.exp(-(mpmath.mpf(size) ** 2) / (2 * sigma2))

        reach = 3000 if sigma2 > 100 else 200
        total = sum(weight(t) for t in range(-reach, reach))
        weights = [weight(decode(index)) for index in range(count)]
    left, found = total, []
    for each in weights:
        left -= each
        found.append(left / total)
    return found


@pytest.fixture(autouse=True)
def precise():
    with mpmath.workdps(120):
        yield


def test_decode_numbers_every_integer_once() -> None:
    assert [decode(index) for index in range(7)] == [0, -1, 1, -2, 2, -3, 3]


@pytest.mark.one_in(4)
@for_each("law", LAWS)
@for_each("bits", [16, 64, 128])
def test_survivals_enclose_the_law(law, bits: int) -> None:
    cuts = law.list_survivals(bits)
    assert cuts[-1].high <= 1
    shown = cuts[:150]
    scale = mpmath.mpf(2) ** bits
    for cut, truth in zip(shown, compute_survivals(law, len(shown)), strict=True):
        assert cut.low <= truth * scale + mpmath.mpf(10) ** -60
        assert truth * scale <= cut.high + mpmath.mpf(10) ** -60
    assert all(cut.high - cut.low <= 1 for cut in cuts)
    assert [cut.high for cut in cuts] == sorted((cut.high for cut in cuts), reverse=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("law", LAWS[1:7], ids=repr)
def test_guide_agrees_with_the_exact_inverse_everywhere(law) -> None:
    table = build_table(law)
    # index = #{j: U < S_j}; the prefix decides iff no S_j falls inside [p, p + 1). No S_j is an
    # integer after scaling, so that its floor says on which side of p it lies: p < S_j iff p <= it.
    negated = [-int(s * 65536) for s in compute_survivals(law, 600)]  # rising
    for prefix in range(65536):
        top = bisect_right(negated, -prefix)
        bottom = bisect_right(negated, -(prefix + 1))
        if table.guide[prefix] != UNDECIDED:
            assert top == bottom
            assert table.guide[prefix] == decode(top)
        else:
            assert top != bottom or prefix == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("law", LAWS[1:6], ids=repr)
def test_every_eight_bit_prefix_by_brute_force(law) -> None:
    """settle() on 8 bits: decided exactly where all 16-bit continuations agree on the index."""
    cuts = law.list_survivals(8)
    truth = [s * 256 for s in compute_survivals(law, 300)]
    for prefix in range(1, 256):
        inside = [j for j, s in enumerate(truth) if prefix < s < prefix + 1]
        index = settle(prefix, cuts)
        assert (index is None) == bool(inside)
        if index is not None:
            assert index == sum(prefix < s for s in truth)
    assert settle(0, cuts) is None


def test_a_tie_at_64_bits_draws_more(scripted) -> None:
    law = SignedGeometric(Fraction(10), 1)
    table = build_table(law)
    scale = mpmath.mpf(2) ** 128
    survivals = compute_survivals(law, 40)
    for j, cut in some([*enumerate(law.list_survivals(64)[:40], start=1)], 4):
        truth = int(survivals[j - 1] * scale)  # floor of 2^128 S_j
        tie, rest = truth >> 64, truth & (1 << 64) - 1
        assert cut.low == tie  # lands on the cut
        first = (tie >> 48).to_bytes(2, "little")
        more = ((tie & (1 << 48) - 1) << 16).to_bytes(8, "little")
        for following, index in ((rest - 1, j), (rest + 1, j - 1)):
            entropy = scripted(first, more, following.to_bytes(8, "little"))
            assert table.draw(1, entropy).tolist() == [decode(index)]
            assert entropy.answers == []  # the extra bits were needed and used
        # A tie again: 64 more bits still.
        for last, index in ((b"\x00" * 8, j), (b"\xff" * 8, j - 1)):
            entropy = scripted(first, more, rest.to_bytes(8, "little"), last)
            assert table.draw(1, entropy).tolist() == [decode(index)]


def test_next_to_a_tie_no_bits_are_wasted(scripted) -> None:
    law = SignedGaussian(Fraction(25), False)
    table = build_table(law)
    for j, cut in enumerate(law.list_survivals(64)[:30], start=1):
        for prefix, index in ((cut.low - 1, j), (cut.high, j - 1)):
            entropy = scripted(
                (prefix >> 48).to_bytes(2, "little"),
                ((prefix & (1 << 48) - 1) << 16 | 0xFFFF).to_bytes(8, "little"),
            )
            assert table.draw(1, entropy).tolist() == [decode(index)]


@pytest.mark.parametrize("law", [LAWS[2], LAWS[6]], ids=repr)
def test_the_tail_goes_on_beyond_64_bits(law, scripted) -> None:
    """All of the first 64 bits zero: U < 2^-64, farther out than any tabulated cut."""
    table = build_table(law)
    known = len(law.list_survivals(64))
    following = 0x123456789ABCDEF0
    entropy = scripted(b"\x00" * 2, b"\x00" * 8, following.to_bytes(8, "little"))
    (drawn,) = table.draw(1, entropy).tolist()
    u = mpmath.mpf(following) / mpmath.mpf(2) ** 128
    index = sum(u < s for s in compute_survivals(law, 2000))
    assert drawn == decode(index)
    assert index >= known - 1
    # Twice as far: 128 zero bits.
    deep = decide_exactly(0, 64, law, scripted(b"\x00" * 8, b"\xff" * 8))
    u = mpmath.mpf(2) ** -128 * (1 - mpmath.mpf(2) ** -64)
    assert deep == sum(u < s for s in compute_survivals(law, 3000))


@pytest.mark.thorough
def test_loose_enclosures_cost_bits_but_never_the_law(hashed) -> None:
    """Enclosures a thousand units wide: more prefixes stay open, none is decided differently."""

    class Loose:
        def list_survivals(self, bits: int) -> list[Interval]:
            cuts = SignedGeometric(Fraction(10), 1).list_survivals(bits)
            return [Interval(max(cut.low - 1000, 0), cut.high + 1000) for cut in cuts]

    tight = SignedGeometric(Fraction(10), 1)
    for seed in range(60):
        start = hashed(f"loose {seed}").read(8)
        near = (
            tight.list_survivals(64)[seed % 30].low + int.from_bytes(start, "little") % 1500 - 750
        )
        found = [decide_exactly(near, 64, law, hashed(f"{seed}")) for law in (Loose(), tight)]
        assert found[0] == found[1]


def test_weights_and_rest_enclose_the_theta_sum() -> None:
    for text in ("1/1000", "1/4", "1", "37/3", "900"):
        sigma2 = Fraction(text)
        weights, rest = enclose_gaussian_weights(sigma2, 128)
        s = mpmath.mpf(sigma2.numerator) / sigma2.denominator
        truth = [mpmath.exp(-(mpmath.mpf(m) ** 2) / (2 * s)) for m in range(len(weights) + 900)]
        scale = mpmath.mpf(2) ** 128
        for found, each in zip(weights, truth, strict=False):
            assert found.low <= each * scale <= found.high
        assert sum(truth[len(weights) :]) * scale <= rest


def test_values_fit_the_guide() -> None:
    for law in (SignedGeometric(Fraction(32), 1), SignedGaussian(Fraction(4096), True)):
        table = build_table(law)
        assert np.abs(table.guide[table.guide != UNDECIDED].astype(int)).max() < 2000
        assert np.count_nonzero(table.guide == UNDECIDED) < 1000


@pytest.mark.parametrize("law", LAWS)
def test_the_guide_says_what_the_searches_say(law) -> None:
    table = build_table(law)
    smallest = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    least, most = table._bound_index(smallest, smallest | np.uint64((1 << 48) - 1))
    decided = (least == most) & (most < table.lows.size)
    assert (decided == (table.guide != UNDECIDED)).all()
    assert table.guide[decided].tolist() == [decode(int(each)) for each in least[decided]]
