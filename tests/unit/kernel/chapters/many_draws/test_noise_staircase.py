"""Staircase noise: its draws, by every place of every level, and by their law."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import chi2

from dprelease.kernel.chapters.many_draws import vectorized as staircase
from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.model import Noise, NoiseFamily

REACH = 3000


def stairs(scale: str, stair: int, first: int) -> Noise:
    return Noise(NoiseFamily.STAIRCASE, Fraction(scale), stair, first)


LAWS = [
    stairs("25", 100, 20), stairs("1/2", 2, 1), stairs("6", 3, 1), stairs("9", 5, 5),
    stairs("50", 7, 3), stairs("25/2", 100, 6),
]  # fmt: skip


def compute_masses(noise: Noise) -> np.ndarray:
    """P(X = k) for k from -REACH to REACH, straight from the definition."""
    levels = (np.abs(np.arange(-REACH, REACH + 1)) + noise.stair - noise.first) // noise.stair
    weights = exp(-noise.stair / noise.parameter) ** levels.astype(float)
    return weights / weights.sum()


def judge(noise: Noise, drawn: np.ndarray) -> float:
    """P-value of draws: of every integer that is drawn often, and of all the others."""
    expected = compute_masses(noise) * drawn.size
    counts = np.bincount(np.clip(drawn, -REACH, REACH) + REACH, minlength=2 * REACH + 1)
    often = expected >= 15
    counts = np.append(counts[often], counts[~often].sum())
    expected = np.append(expected[often], max(expected[~often].sum(), 1e-9))
    if expected[-1] < 5:
        counts, expected = counts[:-1], expected[:-1]
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_draws_follow_the_law(noise: Noise, hashed) -> None:
    assert judge(noise, sample(noise, 200_000, hashed(f"stairs {noise}"))) > 1e-3


@pytest.mark.parametrize("wrong", ["scale", "stair", "first", "shifted", "two zeros", "one sign"])
def test_a_wrong_law_is_caught(wrong: str, hashed) -> None:
    noise = stairs("9", 5, 3)
    other = {
        "scale": stairs("10", 5, 3), "stair": stairs("9", 6, 3), "first": stairs("9", 5, 2)
    }.get(wrong, noise)  # fmt: skip
    drawn = sample(other, 200_000, hashed(f"wrong {wrong}"))
    if wrong == "shifted":
        drawn = drawn + 1
    elif wrong == "two zeros":
        drawn = np.concatenate([drawn, drawn[drawn == 0]])
    elif wrong == "one sign":
        drawn = np.where(drawn < -3, -drawn, drawn)
    assert judge(noise, drawn) < 1e-9


def test_every_level_has_its_integers_and_each_of_them_once(monkeypatch, hashed) -> None:
    """All levels from -4 to 3, with every place on each: no integer is missed or met twice."""
    noise = stairs("9", 4, 3)

    class Levels:
        def __init__(self, level: int) -> None:
            self.level = level

        def draw(self, size: int, entropy: object) -> np.ndarray:
            return np.full(size, self.level, dtype=np.int64)

    met: Counter[int] = Counter()
    for level in range(-4, 4):
        length = {0: 3, -1: 2}.get(level, 4)
        monkeypatch.setattr(staircase, "build_stair_table", lambda _, level=level: Levels(level))
        bounds: list[int] = []

        def below(bound: int, size: int, entropy: object, bounds: list[int] = bounds) -> np.ndarray:
            bounds.append(bound)
            return np.arange(size)

        monkeypatch.setattr(staircase, "draw_integers_below", below)
        drawn = staircase.draw_stairs(noise, length, hashed("none")).tolist()
        met.update(drawn)
        assert bounds == [length]
        assert {(abs(k) + 4 - 3) // 4 for k in drawn} == {level if level >= 0 else -1 - level}
    assert met == Counter(range(-14, 15))


def test_wide_stairs_are_drawn_in_python_integers(hashed) -> None:
    noise = stairs(str(2**58), 2**60, 2**58)
    prepare_sample(noise, 5)
    drawn = sample(noise, 2000, hashed("wide"))
    assert drawn.dtype == object
    inside = sum(abs(k) < 2**58 for k in drawn) / drawn.size
    assert inside == pytest.approx(0.9306, abs=0.02)
    assert max(map(abs, drawn)) < 2**64
    assert sample(noise, 0, hashed("none")).size == 0
    far = sample(stairs("1/100", 1, 1), 9, hashed("still"))
    assert far.tolist() == [0] * 9


@pytest.mark.parametrize("law", [("1", 0, 0), ("1", 4, 0), ("1", 4, 5), ("0", 4, 2), ("129", 4, 2)])
def test_stairs_that_are_none_are_refused(law: tuple[str, int, int], hashed) -> None:
    with pytest.raises(ValueError, match="a stair is"):
        sample(stairs(*law), 3, hashed("none"))
    with pytest.raises(ValueError, match="a stair is"):
        sample(stairs("1", 1 << 62, 1), 3, hashed("none"))
