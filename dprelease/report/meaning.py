"""What a privacy loss means for a person, in numbers that anyone can check."""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.report.numbers import upward

PRIORS = (0.01, 0.1, 0.5, 0.9)
GROUPS = (1, 2, 5, 10)


def posterior(prior: float, epsilon: float) -> tuple[float, float]:
    """Bounds on what an observer may believe afterwards who believed ``prior`` before.

    Pure epsilon: pi / (pi + (1 - pi) e^eps) to pi / (pi + (1 - pi) e^-eps).
    """
    low = prior / (prior + (1 - prior) * math.exp(min(epsilon, 700.0)))
    high = prior / (prior + (1 - prior) * math.exp(-epsilon))
    return low, high


def beliefs(epsilon: Fraction) -> list[dict[str, float]]:
    """Tabulate prior and posterior beliefs, rounded outward to 4 decimals."""
    rows = []
    for prior in PRIORS:
        low, high = posterior(prior, float(epsilon))
        rows.append(
            {
                "prior": prior,
                "posterior_low": math.floor(low * 1e4) / 1e4,
                "posterior_high": math.ceil(high * 1e4) / 1e4,
            }
        )
    return rows


def group_privacy(epsilon: Fraction, delta: Fraction) -> list[dict[str, object]]:
    """Tabulate the loss for k units together: k epsilon, and delta (e^(k eps) - 1)/(e^eps - 1)."""
    rows: list[dict[str, object]] = []
    for size in GROUPS:
        together: float = 0
        if delta:
            grown = sum(math.exp(min(float(epsilon) * i, 700.0)) for i in range(size))
            together = min(1.0, float(delta) * grown)
        rows.append({"units": size, "epsilon": upward(epsilon * size), "delta": together})
    return rows
