"""What a privacy loss means for a person, in numbers that anyone can check."""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.model import Loss
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


def beliefs(about: str, loss: Loss, steps: int) -> dict[str, object]:
    """Tabulate prior and posterior beliefs about something that takes ``steps`` neighbours.

    Rounded outward to 4 decimals; but for the stated delta.
    """
    epsilon, delta = together(loss.epsilon, loss.delta, steps)
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
    return {"about": about, "epsilon": upward(epsilon), "delta": delta, "rows": rows}


def together(epsilon: Fraction, delta: Fraction, steps: int) -> tuple[Fraction, float]:
    """Loss between tables ``steps`` neighbours apart: k epsilon, delta times a growing sum."""
    if not delta:
        return epsilon * steps, 0.0
    grown = sum(math.exp(min(float(epsilon) * i, 700.0)) for i in range(steps))
    return epsilon * steps, min(1.0, float(delta) * grown)


def group_privacy(epsilon: Fraction, delta: Fraction) -> list[dict[str, object]]:
    """Tabulate the loss for k units together: k epsilon, and delta (e^(k eps) - 1)/(e^eps - 1)."""
    rows: list[dict[str, object]] = []
    for size in GROUPS:
        grown, failing = together(epsilon, delta, size)
        rows.append({"units": size, "epsilon": upward(grown), "delta": failing or 0})
    return rows
