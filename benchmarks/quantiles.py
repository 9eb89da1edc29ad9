"""Rank errors and times of released quantiles, held against targets and against an even split.

The rank error of a released value is the distance of the target rank, q times the number of
records, from the interval that runs from the number of records below the value to the number of
those below or at it: 0 for a true quantile, whatever the ties. Epsilon is 1, one record is added or
removed, and every integer from 0 to 999,999 can come out. Targets: a median of 1,000 values is
off by at most 1.5 ranks in the root mean square, nine deciles by at most 8.5, over all nine and
over data that are spread (uniform, normal); a million different values take at most 2 seconds.
Tied data are shown, not held: a heap of k records next to a gap of many values is passed over
unless k/2 ranks outweigh the gap, by any mechanism that has to treat all values alike.

Run: python benchmarks/quantiles.py [DRAWS]
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np

from dprelease.kernel.chapters.choices.quantile_sampler import release
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.mechanisms.quantile_error import rank_halfwidth
from dprelease.mechanisms.quantiles import compute_loss, plan_levels, plan_levels_rho
from dprelease.model.plans import QuantileScheme

Values = np.ndarray[Any, np.dtype[np.int64]]

SIZE = 10**6
EPSILON = Fraction(1)
DECILES = [Fraction(k, 10) for k in range(1, 10)]
ALPHA = Fraction(1, 20)
TARGETS = {"median": 1.5, "deciles": 8.5}
ENTROPY = SystemEntropy()


def made(kind: str, size: int, seed: int) -> Values:
    """Made-up data on the grid."""
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        values = rng.integers(0, SIZE, size)
    elif kind == "normal":
        values = rng.normal(SIZE / 2, SIZE / 20, size).astype(np.int64)
    elif kind == "tied":  # about fifteen round values
        values = (rng.normal(SIZE / 2, SIZE / 10, size) // 50_000 * 50_000).astype(np.int64)
    else:  # a heap of 60 in 100
        values = np.where(rng.random(size) < 0.6, 400_000, rng.integers(0, SIZE, size))
    return np.sort(values.clip(0, SIZE - 1))


def errors(values: Values, found: tuple[int, ...], quantiles: list[Fraction]) -> list[float]:
    """Rank errors of released quantiles."""
    below = np.searchsorted(values, found)
    upto = np.searchsorted(values, found, side="right")
    ranks = np.array([float(q * values.size) for q in quantiles])
    off: list[float] = np.maximum(0, np.maximum(below - ranks, ranks - upto)).tolist()
    return off


def measured(
    kind: str, size: int, schemes: list[QuantileScheme], quantiles: list[Fraction], draws: int
) -> tuple[float, float]:
    """Root mean square of rank errors, and seconds a release, over fresh data for each draw."""
    found = []
    spent = 0.0
    for seed in range(draws):
        values = made(kind, size, seed)
        points, counts = np.unique(values, return_counts=True)
        started = time.perf_counter()
        out = tuple(
            value
            for scheme in schemes
            for value in release(points, counts, 0, SIZE - 1, scheme, ENTROPY)
        )
        spent += time.perf_counter() - started
        found.append(errors(values, out, quantiles))
    return float(np.sqrt(np.mean(np.square(found)))), spent / draws


def verdict(found: float, target: float) -> str:
    """Whether a target is met."""
    return "ok" if found <= target else "MISSED"


def main() -> None:
    """Print errors, bounds and times."""
    draws = int(sys.argv[1]) if sys.argv[1:] else 100
    half = [Fraction(1, 2)]
    median = plan_levels(half, EPSILON, 1, False)
    together = plan_levels(DECILES, EPSILON, 1, False)
    split = [plan_levels([q], EPSILON / 9, 1, False) for q in DECILES]
    rho = compute_loss(split[0], 1, False)[1] * 9
    concentrated = plan_levels_rho(DECILES, rho, 1, False)
    print(f"{draws} draws, epsilon {EPSILON}; root mean square of rank errors")
    print(
        f"{'data':8} {'records':>8} {'median':>8} {'deciles':>8} {'split':>8} {'rho':>8} {'ms':>6}"
    )
    for size in (1_000, 10_000):
        for kind in ("uniform", "normal", "tied", "heap"):
            one, _ = measured(kind, size, [median], half, 20 * draws)
            nine, spent = measured(kind, size, [together], DECILES, draws)
            apart, _ = measured(kind, size, split, DECILES, max(1, draws // 3))
            zcdp, _ = measured(kind, size, [concentrated], DECILES, draws)
            line = f"{kind:8} {size:8,} {one:8.2f} {nine:8.2f} {apart:8.2f} {zcdp:8.2f} "
            line += f"{1000 * spent:8.0f}"
            if kind in {"uniform", "normal"}:
                line += f"  median {verdict(one, TARGETS['median'])}"
                line += f", deciles {verdict(nine, TARGETS['deciles'])}"
            print(line)
    print(f"column rho: deciles by halving for the rho of the even split, {float(rho):.4f}")
    widths = [rank_halfwidth(together, k, 0, SIZE - 1, ALPHA) for k in range(9)]
    print("rank half-widths at 95 %, deciles:", *widths)
    print("rank half-width at 95 %, median:", rank_halfwidth(median, 0, 0, SIZE - 1, ALPHA))
    values = np.arange(10**6, dtype=np.int64)
    counts = np.full(10**6, 10**9, dtype=np.int64)
    for epsilon in (EPSILON, EPSILON / 100):
        scheme = plan_levels(DECILES, epsilon, 1, False)
        started = time.perf_counter()
        release(values, counts, 0, SIZE - 1, scheme, ENTROPY)
        spent = time.perf_counter() - started
        print(f"a million values, epsilon {epsilon}: {spent:.2f} s {verdict(spent, 2)}")


if __name__ == "__main__":
    main()
