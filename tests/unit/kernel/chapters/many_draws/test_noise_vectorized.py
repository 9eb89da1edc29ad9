from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from drawn_laws import gaussian, laplace
from thorough import some

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.many_draws.uniforms import ONE
from dprelease.kernel.chapters.many_draws.vectorized import build_sampler, draw_lanes
from dprelease.kernel.core.entropy import EntropyError
from dprelease.kernel.distributions.tails import decode
from dprelease.model import Noise, NoiseFamily

SCALE = 1 << 32


SMALL = [laplace("1/3"), laplace("32"), gaussian("1/10"), gaussian("4096")]
WIDE = [
    laplace("32.5"),
    laplace("700001/7"),
    laplace("1e9"),
    laplace("3e15"),
    laplace("1e30"),
    gaussian("4097"),
    gaussian("3000001/3"),
    gaussian("1e14"),
    gaussian("1e28"),
    gaussian("1e45"),
]


class Recorder:
    """Passes bytes on and keeps them, so that a slow reference can use the same ones."""

    def __init__(self, inner) -> None:
        self.inner = inner
        self.answers: list[bytes] = []

    def read(self, size: int) -> bytes:
        self.answers.append(self.inner.read(size))
        return self.answers[-1]


def split(data: bytes, item: int) -> list[int]:
    return [int.from_bytes(data[at : at + item], "little") for at in range(0, len(data), item)]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("noise", WIDE, ids=repr)
def test_lanes_equal_the_definition_on_the_same_bits(noise: Noise, hashed) -> None:
    """Every lane recomputed in plain Python from the definition: coarse part, D, acceptance."""
    size = 4000
    sampler = build_sampler(noise)
    entropy = Recorder(hashed(f"definition {noise}"))
    found = sampler.draw(size, entropy).tolist()
    answers = iter(entropy.answers)
    first = split(next(answers), 2)
    tops = sampler.table.guide[np.array(first)].astype(int)
    lanes = np.flatnonzero(tops == np.iinfo(np.int16).min)
    cuts = sampler.table.law.list_survivals(64)
    for lane, more in zip(lanes, split(next(answers), 8) if lanes.size else [], strict=True):
        u = first[lane] << 48 | more >> 16
        tops[lane] = decode(sum(u < cut.low for cut in cuts))
        assert all(u != cut.low for cut in cuts)
    few = min(sampler.fine, 32)
    fine = [word >> 32 - few for word in split(next(answers), 4)]
    if sampler.fine > 32:
        more = sampler.fine - 32
        item = 4 if sampler.fine <= 50 else (more + 7) // 8
        rest = [word >> 8 * item - more for word in split(next(answers), item)]
        fine = [head << more | low for head, low in zip(fine, rest, strict=True)]
    draws = split(next(answers), 4)
    expected = []
    with mpmath.workdps(60):
        for top, low, draw in zip(tops.tolist(), fine, draws, strict=True):
            m = top if top >= 0 else -1 - top
            size_ = (m << sampler.fine) + low
            if noise.family is NoiseFamily.LAPLACE:
                x = low / noise.parameter
            else:
                x = Fraction(size_**2 - (m << sampler.fine) ** 2) / (2 * noise.parameter)
            threshold = (1 - mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)) * SCALE
            assert abs(draw - threshold) > 1e-9  # no lane of this stream needs more bits
            if draw < threshold - 1 or (draw < threshold and draw + 1 <= threshold):
                continue
            if draw < threshold:  # U straddles: decided by the extra bits
                more_bits = int.from_bytes(next(answers), "little")
                if mpmath.mpf(draw) + mpmath.mpf(more_bits) / 2**64 < threshold:
                    continue
            if noise.family is NoiseFamily.LAPLACE:
                expected.append(size_ if top >= 0 else -1 - size_)
            elif top >= 0 or size_:
                expected.append(size_ if top >= 0 else -size_)
    assert found == expected
    assert len(expected) > 0.95 * size


@pytest.mark.parametrize("noise", WIDE, ids=repr)
def test_bounds_of_the_exponent_hold(noise: Noise) -> None:
    sampler = build_sampler(noise)
    top_bit = 1 << min(sampler.fine, 32)
    heads = sorted({0, 1, 2, top_bit // 3, top_bit // 2, top_bit - 2, top_bit - 1})
    tops = [0, 1, 2, 17, 150, 299, 301, 513, 700, 2000]
    pairs = [(top, head) for top in tops for head in heads if head < top_bit]
    low, high = sampler._bound(
        np.array([top for top, _ in pairs]), np.array([head for _, head in pairs], dtype=np.uint64)
    )
    more = sampler.fine - min(sampler.fine, 32)
    for (top, head), least, most in zip(pairs, low.tolist(), high.tolist(), strict=True):
        for rest in {0, (1 << more) - 1}:
            exact = sampler._compute_exponent(top, head << more | rest) * SCALE
            assert least <= exact
            assert most == int(ONE) or exact <= most
            assert least <= SCALE
            assert most <= SCALE
            if top <= 150:
                assert most - least < 1 << 17  # tight enough to decide


def test_coarse_parts_stay_in_reach() -> None:
    """The 64-bit bounds cover all that the tables can give."""
    for noise in WIDE:
        sampler = build_sampler(noise)
        table = sampler.table.guide.astype(int)
        coarse = np.abs(table[table != np.iinfo(np.int16).min]).max()
        assert coarse < 1 << 12
        if noise.family is NoiseFamily.GAUSSIAN:
            assert sampler.reach > 9.4 * float(noise.parameter) ** 0.5 / (1 << sampler.fine)


def test_a_coarse_part_beyond_reach_is_decided_exactly(scripted) -> None:
    """U with 64 leading zero bits, then as many more: m far out, where 64 bits would not do."""
    for noise, far in ((gaussian("3000001/3"), 12), (gaussian("1e14"), 12), (laplace("3.5e16"), 3)):
        sampler = build_sampler(noise)
        fine_words = [b"\xff" * 4] * (2 if sampler.fine > 32 else 1)
        zeros = [b"\x00" * 2, b"\x00" * 8, *[b"\x00" * 8] * far]
        entropy = scripted(*zeros, b"\x80" * 8, *fine_words, b"\xff" * 4, b"\xff" * 8)
        found = sampler.draw(1, entropy)
        assert found.size == 1
        top = (abs(int(found[0])) - 1) >> sampler.fine
        assert top > sampler.reach or noise.family is NoiseFamily.LAPLACE
        if noise.family is NoiseFamily.LAPLACE:
            assert abs(int(found[0])) > 1 << 62
            assert sampler.dtype == np.int64
            assert found.dtype == object  # never wrapped
        assert abs(int(found[0])) & (1 << sampler.fine) - 1 in (0, (1 << sampler.fine) - 1)


@pytest.mark.parametrize("noise", [*SMALL, *WIDE], ids=repr)
@pytest.mark.parametrize("size", [0, 1, 7, 70_000])
def test_sizes_and_types(noise: Noise, size: int, hashed) -> None:
    wide = noise.parameter > 10**20 and (
        noise.family is NoiseFamily.LAPLACE or noise.parameter > 10**40
    )
    size = min(size, 500) if wide else size
    drawn = draw_lanes(noise, size, hashed("sizes"))
    assert drawn.shape == (size,)
    assert drawn.dtype == (object if wide else np.int64)
    if wide and size:
        assert all(type(each) is int for each in drawn)
        assert max(abs(each) for each in drawn) > 1 << 63 or size < 100


def test_wide_draws_use_all_their_bits(hashed) -> None:
    """Low bits are fair for every width, next to every split into words."""
    for exponent in some((17, 20, 21, 36, 37, 38, 54, 55, 56, 70, 90), 3):
        for noise in (laplace(str(2**exponent)), gaussian(str(4**exponent))):
            drawn = draw_lanes(noise, 4000, hashed(f"bits {noise}")).tolist()
            for bit in range(exponent - 6):
                ones = sum(each >> bit & 1 for each in drawn)
                assert abs(ones - 2000) < 160, (noise, bit)


@pytest.mark.parametrize("noise", [*SMALL, *WIDE], ids=repr)
def test_mean_and_variance(noise: Noise, hashed) -> None:
    size = 3000 if noise.parameter > 10**27 else 100_000
    drawn = draw_lanes(noise, size, hashed(f"moments {noise}"))
    spread = mpmath.mpf(noise.parameter.numerator) / noise.parameter.denominator
    if noise.family is NoiseFamily.LAPLACE:
        variance = float(1 / (2 * mpmath.sinh(1 / (2 * spread)) ** 2))
        kurtosis = 10.0 if spread < 1 else 6.1
    else:
        weights = [(k, float(mpmath.exp(-k * k / (2 * spread)))) for k in range(-30, 31)]
        variance = (
            sum(k * k * w for k, w in weights) / sum(w for _, w in weights)
            if spread < 10
            else float(spread)
        )
        kurtosis = 1 / variance if spread < 1 else 3.0
    floats = np.array([float(each) for each in drawn]) / variance**0.5
    assert abs(floats.mean()) < 4 / size**0.5
    assert abs((floats**2).mean() - 1) < 4 * (kurtosis - 1) ** 0.5 / size**0.5


def test_sample_dispatches_and_never_repeats(hashed) -> None:
    none = sample(Noise(NoiseFamily.NONE, Fraction(0)), 5, hashed("none"))
    assert none.tolist() == [0] * 5
    assert none.dtype == np.int64
    for size in (50, 500):
        for noise in (laplace("1e12"), gaussian("1e26")):
            entropy = hashed("fresh")
            drawn = [*sample(noise, size, entropy), *sample(noise, size, entropy)]
            assert len(set(drawn)) == 2 * size
    few = sample(laplace("1e30"), 50, hashed("few"))
    assert few.dtype == object
    assert max(abs(each) for each in few) > 1 << 63


def test_sample_reads_nothing_for_no_noise() -> None:
    class Silent:
        def read(self, size: int) -> bytes:
            raise AssertionError("no entropy is needed")

    assert sample(Noise(NoiseFamily.NONE, Fraction(0)), 3, Silent()).tolist() == [0, 0, 0]
    assert sample(laplace("10"), 0, Silent()).tolist() == []


@pytest.mark.parametrize("size", [5, 5000])
@pytest.mark.parametrize("family", [NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN])
@pytest.mark.parametrize("parameter", [Fraction(0), Fraction(-1)])
def test_no_law_without_a_positive_parameter(
    size: int, family: NoiseFamily, parameter: Fraction, hashed
) -> None:
    with pytest.raises(ValueError, match="positive"):
        sample(Noise(family, parameter), size, hashed("none"))


def test_bad_sizes_and_broken_sources(hashed) -> None:
    class Broken:
        def read(self, size: int) -> bytes:
            return bytes(size - 1)

    with pytest.raises(ValueError, match="negative"):
        sample(laplace("1"), -1, hashed("none"))
    for size in (5, 5000):
        with pytest.raises(EntropyError):
            sample(laplace("1"), size, Broken())
