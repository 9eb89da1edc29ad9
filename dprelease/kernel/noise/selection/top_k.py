"""Selections by score: one candidate, or k one after the other without replacement.

What such a selection costs, and how good it is: ``dprelease.mechanisms.exponential`` and
``dprelease.mechanisms.permute_and_flip``; here is only where entropy is drawn. ``draw`` names the
law, ``choice.draw_exponential`` or ``choice.draw_permute_and_flip``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.noise.entropy import Entropy
from dprelease.kernel.noise.selection.big_integers import FITS, Integers, as_integers
from dprelease.kernel.noise.selection.exponential import Draw
from dprelease.kernel.noise.selection.weights import Candidate, Rungs


def select(
    scores: Integers,
    rate: Fraction,
    draw: Draw,
    entropy: Entropy,
    sizes: Integers | None = None,
) -> Candidate:
    """One candidate (index, offset), high scores being the likely ones.

    For ``draw_exponential`` P is proportional to exp(rate * score), exactly. Scores are integers
    of any sign and size. Raises what ``choice.choose`` raises.
    """
    return draw(Rungs(distances_of(scores), rate, sizes), entropy)


def peel(  # noqa: PLR0913, PLR0917 - a selection, and how often
    scores: Integers,
    k: int,
    rate: Fraction,
    draw: Draw,
    entropy: Entropy,
    sizes: Integers | None = None,
) -> list[Candidate]:
    """K different candidates in the order of their selection, each with the whole ``rate``.

    Every selection is one among the candidates that are left, by the same law. All candidates if
    there are no more than k. Raises ValueError for a k below 1, and what ``select`` raises.
    """
    if k < 1:
        raise ValueError("at least one candidate is selected")
    rungs = Rungs(distances_of(scores), rate, sizes)
    found: list[Candidate] = []
    for _ in range(min(k, rungs.left)):
        found.append(draw(rungs, entropy))
        rungs.take(found[-1])
    return found


def distances_of(scores: Integers) -> npt.NDArray[Any]:
    """How far each score lies below the best."""
    held = as_integers(scores)
    if not held.size:
        raise ValueError("a selection needs a candidate")
    best, worst = int(held.max()), int(held.min())
    wide = held.astype(object) if best - worst >= FITS else held
    distances: npt.NDArray[Any] = np.subtract(best, wide)
    return distances
