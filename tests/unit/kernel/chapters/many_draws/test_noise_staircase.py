"""Staircase noise by every place of every level, and noise that is cut: what they refuse."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from drawn_laws import cut_laplace, staircase

from dprelease.kernel.chapters.many_draws import vectorized
from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.core.sample import draw_each


def test_every_level_has_its_integers_and_each_of_them_once(monkeypatch, hashed) -> None:
    """All levels from -4 to 3, with every place on each: no integer is missed or met twice."""
    noise = staircase("9", 4, 3)

    class Levels:
        def __init__(self, level: int) -> None:
            self.level = level

        def draw(self, size: int, entropy: object) -> np.ndarray:
            return np.full(size, self.level, dtype=np.int64)

    met: Counter[int] = Counter()
    for level in range(-4, 4):
        length = {0: 3, -1: 2}.get(level, 4)
        monkeypatch.setattr(vectorized, "build_stair_table", lambda _, level=level: Levels(level))
        bounds: list[int] = []

        def below(bound: int, size: int, entropy: object, bounds: list[int] = bounds) -> np.ndarray:
            bounds.append(bound)
            return np.arange(size)

        monkeypatch.setattr(vectorized, "draw_integers_below", below)
        drawn = vectorized.draw_stairs(noise, length, hashed("none")).tolist()
        met.update(drawn)
        assert bounds == [length]
        assert {(abs(k) + 4 - 3) // 4 for k in drawn} == {level if level >= 0 else -1 - level}
    assert met == Counter(range(-14, 15))


def test_wide_stairs_are_drawn_in_python_integers(hashed) -> None:
    noise = staircase(str(2**58), 2**60, 2**58)
    prepare_sample(noise, 5)
    drawn = sample(noise, 2000, hashed("wide"))
    assert drawn.dtype == object
    inside = sum(abs(k) < 2**58 for k in drawn) / drawn.size
    assert inside == pytest.approx(0.9306, abs=0.02)
    assert max(map(abs, drawn)) < 2**64
    assert sample(noise, 0, hashed("none")).size == 0
    far = sample(staircase("1/100", 1, 1), 9, hashed("still"))
    assert far.tolist() == [0] * 9


@pytest.mark.parametrize("law", [("1", 0, 0), ("1", 4, 0), ("1", 4, 5), ("0", 4, 2), ("129", 4, 2)])
def test_stairs_that_are_none_are_refused(law: tuple[str, int, int], hashed) -> None:
    with pytest.raises(ValueError, match="a stair is"):
        sample(staircase(*law), 3, hashed("none"))
    with pytest.raises(ValueError, match="a stair is"):
        sample(staircase("1", 1 << 62, 1), 3, hashed("none"))


def test_noise_that_would_be_drawn_again_for_ever_is_refused(hashed) -> None:
    for noise in (cut_laplace("5", 4), cut_laplace("1/2", 0)):
        with pytest.raises(ValueError, match="cut"):
            sample(noise, 3, hashed("none"))
    with pytest.raises(ValueError, match="chapter"):
        draw_each(cut_laplace("1", 3), 3, hashed("none"))
    assert sample(cut_laplace("1", 3), 0, hashed("none")).size == 0
