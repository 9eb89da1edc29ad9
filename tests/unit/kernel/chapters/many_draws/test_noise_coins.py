from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dprelease.kernel.chapters.many_draws.uniforms import ONE, bound_draws, keep_exactly, keep_lanes

SCALE = 1 << 32


def compute_threshold(low: int) -> mpmath.mpf:
    """2^32 (1 - exp(-x)) for x = low / 2^32."""
    return -mpmath.expm1(-mpmath.mpf(low) / SCALE) * SCALE


def test_bounds_never_contradict_the_exact_decision() -> None:
    """Draws right around the threshold, x from 0 to 1: a proof must be true."""
    with mpmath.workdps(60):
        exponents = [0, 1, 2, 3, 1000, *(SCALE * part // 97 for part in range(1, 97)), SCALE - 1]
        for each in exponents:
            middle = int(compute_threshold(each))
            near = [*range(-40, 41), *(s * 2**n for n in range(6, 31) for s in (-1, 1))]
            draws = [middle + step for step in near if 0 <= middle + step < SCALE]
            lanes = np.array(draws, dtype=np.uint64)
            same = np.full(lanes.size, each, dtype=np.uint64)
            accepted, rejected = bound_draws(lanes, same, same)
            truth = compute_threshold(each)
            for draw, kept, dropped in zip(draws, accepted, rejected, strict=True):
                assert not (kept and draw < truth)
                assert not (dropped and draw + 1 > truth)
            assert accepted[lanes > middle + each**3 // (6 * SCALE**2) + 8].all()
            assert rejected[lanes + 8 + each**3 // (6 * SCALE**2) < middle].all()


def test_without_an_upper_bound_nothing_is_accepted() -> None:
    draws = np.array([0, 5, SCALE // 2, SCALE - 1], dtype=np.uint64)
    low = np.array([0, SCALE // 2, SCALE // 4, SCALE], dtype=np.uint64)
    accepted, rejected = bound_draws(draws, low, np.full(4, ONE))
    assert not accepted.any()
    assert rejected.tolist() == [False, True, False, False]


def test_exact_decision_on_ties(scripted) -> None:
    exponent = Fraction(1, 3)
    with mpmath.workdps(80):
        threshold = 1 - mpmath.exp(-mpmath.mpf(1) / 3)
        first = int(threshold * SCALE)
        assert keep_exactly(first + 1, 32, exponent, scripted())
        assert not keep_exactly(first - 1, 32, exponent, scripted())
        following = int(threshold * 2**96) - (first << 64)
        for step, kept in ((-1, False), (1, True)):
            entropy = scripted((following + step).to_bytes(8, "little"))
            assert keep_exactly(first, 32, exponent, entropy) is kept
            assert entropy.answers == []
        for last, kept in ((b"\x00" * 8, False), (b"\xff" * 8, True)):
            entropy = scripted(following.to_bytes(8, "little"), last)
            assert keep_exactly(first, 32, exponent, entropy) is kept


def test_zero_keeps_everything(scripted) -> None:
    assert keep_exactly(0, 32, Fraction(0), scripted())
    assert keep_exactly(SCALE - 1, 32, Fraction(0), scripted())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("exponent", [Fraction(1, 50), Fraction(1, 3), Fraction(99, 100)])
@pytest.mark.parametrize("blind", [False, True])
def test_share_of_kept_lanes(exponent: Fraction, blind: bool, hashed) -> None:
    """With tight bounds, and with none at all (every lane decided exactly)."""
    size = 3000 if blind else 200_000
    low = np.full(size, 0 if blind else int(exponent * SCALE), dtype=np.uint64)
    high = np.full(size, SCALE, dtype=np.uint64) if blind else low + np.uint64(1)
    kept = keep_lanes(low, high, lambda lane: exponent, hashed(f"share {exponent} {blind}"))
    share = float(np.exp(-float(exponent)))
    assert abs(kept.mean() - share) < 4 * np.sqrt(share * (1 - share) / size)
