"""What finishing does to errors, and what it takes of time and memory.

Targets: counts of a half-empty table, moved to 0 or more, have at most 0.80 of the root mean square
error of the noisy ones, and a total within its noise. A million cells that agree with two coarser
tables, 0 or more and whole, take at most 20 s and 2 GB.

Run: python benchmarks/finishing.py [DRAWS]
"""

from __future__ import annotations

import resource
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
from processes import verdict

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.finishing.agreement import Counts, Wanted, make_agree

NOISES = (
    Noise(NoiseFamily.LAPLACE, Fraction(10)),
    Noise(NoiseFamily.GAUSSIAN, Fraction(200)),
)
CELLS = 1000
VARIANCE = Fraction(200)
Integers = np.ndarray[Any, np.dtype[np.int64]]


def noisy(truth: Integers, noise: Noise) -> Integers:
    """The counts with fresh noise."""
    return truth + np.array(sample(noise, truth.size, SystemEntropy())).reshape(truth.shape)


def half_empty(noise: Noise, draws: int) -> tuple[float, float, float, float]:
    """Errors of cells before and after, and of the total before and after (root mean square)."""
    truth = np.where(np.arange(CELLS) % 2, np.geomspace(5, 500, CELLS).astype(int), 0)
    errors = []
    for _ in range(draws):
        cells = noisy(truth, noise)
        table = Counts((0,), cells.tolist(), VARIANCE)
        finished = np.array(make_agree([table], [CELLS], Wanted(0, 0, nonnegative=True))[0])
        errors.append(
            [
                np.mean((cells - truth) ** 2),
                np.mean((finished - truth) ** 2),
                (cells.sum() - truth.sum()) ** 2,
                (finished.sum() - truth.sum()) ** 2,
            ]
        )
    before, after, total, finished_total = np.sqrt(np.mean(errors, axis=0)).tolist()
    return before, after, total, finished_total


def million(forms: list[tuple[int, ...]], sizes: list[int]) -> float:
    """Seconds that tables of a million cells together take."""
    truth = (np.arange(10**6).reshape(sizes) * 7919) % 41 - 20
    truth = np.maximum(truth, 0)
    tables = []
    for axes in forms:
        others = tuple(axis for axis in range(len(sizes)) if axis not in axes)
        cells = noisy(np.asarray(truth.sum(axis=others)), NOISES[0])
        tables.append(Counts(axes, cells.reshape(-1).tolist(), VARIANCE))
    start = time.perf_counter()
    make_agree(tables, sizes, Wanted(0, 0, nonnegative=True))
    return time.perf_counter() - start


def main() -> None:
    """Print both tables."""
    draws = int(sys.argv[1]) if sys.argv[1:] else 200
    print(f"{'noise':<10} {'cells':>8} {'finished':>9} {'ratio':>6} {'total':>8} {'finished':>9}")
    for noise in NOISES:
        before, after, total, finished = half_empty(noise, draws)
        print(
            f"{noise.family:<10} {before:8.2f} {after:9.2f} {after / before:6.3f} {total:8.1f} "
            f"{finished:9.1f}  <= 0.80 {verdict(after / before, 0.80)}"
        )
    print(f"\n{'a million cells with':<40} {'seconds':>8} {'peak':>9}")
    for what, forms, sizes in (
        ("a total and one coarser table", [(), (0,), (0, 1)], [1000, 1000]),
        ("both margins of a square", [(0,), (1,), (0, 1)], [1000, 1000]),
        ("pairs of three columns", [(0, 1), (1, 2), (0, 1, 2)], [1000, 10, 100]),
        ("all pairs, in a circle", [(0, 1), (1, 2), (0, 2), (0, 1, 2)], [100, 100, 100]),
    ):
        seconds = million(forms, sizes)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{what:<40} {seconds:8.2f} {peak:5.0f} MiB  <= 20 s {verdict(seconds, 20)}"
            f", 2 GB {verdict(peak, 2e9 / 2**20)}"
        )


if __name__ == "__main__":
    main()
