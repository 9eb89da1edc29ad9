"""Laws of noise by name, and a judge of draws that knows chances alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, chi2

from dprelease.model import Noise, NoiseFamily

Floats = npt.NDArray[np.float64]


def laplace(scale: str) -> Noise:
    return Noise(NoiseFamily.LAPLACE, Fraction(scale))


def gaussian(sigma2: str) -> Noise:
    return Noise(NoiseFamily.GAUSSIAN, Fraction(sigma2))


def cut_laplace(scale: str, reach: int) -> Noise:
    return Noise(NoiseFamily.CUT_LAPLACE, Fraction(scale), reach=reach)


def staircase(scale: str, stair: int, first: int) -> Noise:
    return Noise(NoiseFamily.STAIRCASE, Fraction(scale), stair, first)


def judge_counts(counts: npt.NDArray[np.int64], chances: Floats, least: float = 10) -> float:
    """P-value of counts of outcomes, of which these are the chances.

    Chi-square of those that expect ``least`` draws or more. All others are counted together, and
    no more of them may be than the binomial law lets be.
    """
    size, often = int(counts.sum()), chances * counts.sum() >= least
    rare, share = int(counts[~often].sum()), float(chances[~often].sum())
    found = [float(binom.sf(rare - 1, size, share)) if rare else 1.0]
    if often.sum() > 1:
        expected = chances[often] * ((size - rare) / chances[often].sum())
        statistic = float(((counts[often] - expected) ** 2 / expected).sum())
        found.append(float(chi2.sf(statistic, int(often.sum()) - 1)))
    return min(found)


def judge_outcomes(
    found: Counter[Hashable], law: Mapping[Hashable, float], least: float = 10
) -> float:
    """P-value of outcomes that were met so often; 0 if one is not in the law."""
    if not set(found) <= set(law):
        return 0.0
    counts = np.array([found[outcome] for outcome in law])
    return judge_counts(counts, np.array(list(law.values())), least)
