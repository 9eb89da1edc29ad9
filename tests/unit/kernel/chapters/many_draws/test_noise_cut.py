"""Cut Laplace noise: what is out of reach is drawn again, and so the draws follow the law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hashed_bytes import Hashed
from scipy.stats import chi2

from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.core.sample import draw_each
from dprelease.model import Noise, NoiseFamily


def cut(scale: str, reach: int) -> Noise:
    return Noise(NoiseFamily.CUT_LAPLACE, Fraction(scale), reach=reach)


def judge(noise: Noise, drawn: np.ndarray) -> float:
    """P-value of draws, each value by itself; 0 if one is out of reach."""
    if abs(drawn).max() > noise.reach:
        return 0.0
    values = np.arange(-noise.reach, noise.reach + 1)
    weights = np.exp(-abs(values) / float(noise.parameter))
    expected = weights / weights.sum() * drawn.size
    counts = np.bincount(drawn + noise.reach, minlength=values.size)
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), values.size - 1))


LAWS = [cut("1", 3), cut("7/2", 4), cut("6", 15)]


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_draws_follow_the_law(noise: Noise) -> None:
    prepare_sample(noise, 20_000)
    assert judge(noise, sample(noise, 20_000, Hashed("many"))) > 1e-3
    few = [sample(noise, 50, Hashed(f"few {at}")) for at in range(40)]
    assert judge(noise, np.concatenate(few)) > 1e-3


def clamp(noise: Noise, laplace: Noise) -> np.ndarray:
    return np.clip(sample(laplace, 20_000, Hashed("wrong")), -noise.reach, noise.reach)


def stop_before(noise: Noise, laplace: Noise) -> np.ndarray:
    drawn = sample(laplace, 40_000, Hashed("wrong"))
    return drawn[abs(drawn) < noise.reach]


def go_on(noise: Noise, laplace: Noise) -> np.ndarray:
    drawn = sample(laplace, 20_000, Hashed("wrong"))
    return drawn[abs(drawn) <= noise.reach + 1]


@pytest.mark.parametrize("wrong", [clamp, stop_before, go_on])
@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_a_wrong_law_is_caught(noise: Noise, wrong: Callable[..., np.ndarray]) -> None:
    laplace = Noise(NoiseFamily.LAPLACE, noise.parameter)
    assert judge(noise, wrong(noise, laplace)) < 1e-9


def test_noise_that_would_be_drawn_again_for_ever_is_refused() -> None:
    for noise in (cut("5", 4), cut("1/2", 0)):
        with pytest.raises(ValueError, match="cut"):
            sample(noise, 3, Hashed("none"))
    with pytest.raises(ValueError, match="chapter"):
        draw_each(cut("1", 3), 3, Hashed("none"))
    assert sample(cut("1", 3), 0, Hashed("none")).size == 0
