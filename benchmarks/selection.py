"""Speed and regret of selections: one of a million candidates, and the top ten.

Targets: a selection among a million candidates takes less than 2 seconds, whatever the scores; the
top ten of counts with a gap of 200 have at most half the regret of ten exponential mechanisms at
a tenth of epsilon each, with the factor 2 that counts don't need. Then the regret of the three
ways that ``dprelease.mechanisms.permute_and_flip`` chooses from, at noise of equal width.

Run: python benchmarks/selection.py [REPEATS]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dprelease.kernel.chapters.choices.choice_sampler import (
    Draw,
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.kernel.chapters.choices.weights import WeightBuckets
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.mechanisms import exponential
from dprelease.mechanisms import permute_and_flip as top
from dprelease.model import Noise, NoiseFamily

Counts = npt.NDArray[np.int64]

MANY = 10**6
SLOWEST = 2.0
K, GAP = 10, 200
ENTROPY = SystemEntropy()


def lay_out() -> dict[str, tuple[Counts, Fraction]]:
    """Distances of a million candidates, and a rate."""
    steps = np.arange(MANY, dtype=np.int64)
    far = np.full(MANY, 10**4, dtype=np.int64)
    far[0] = 0
    return {
        "all distinct, rate 1e-9": (steps, Fraction(1, 10**9)),
        "all distinct, rate 1e-4": (steps, Fraction(1, 10**4)),
        "all distinct, rate 50": (steps, Fraction(50)),
        "all equal": (np.zeros(MANY, dtype=np.int64), Fraction(1, 3)),
        "geometric": ((steps & -steps) % (1 << 20), Fraction(1, 1000)),
        "all but one far below": (far, Fraction(1, 700)),
    }


def measure_speed(repeats: int) -> None:
    """Print seconds and peak memory of one selection."""
    sizes = np.full(MANY, 1 << 60, dtype=np.int64)
    print(
        f"one of {MANY:,} entries, seconds (worst of {repeats}), and peak memory beyond the input"
    )
    for name, (distances, rate) in lay_out().items():
        for title, action in (("choose", draw_exponential), ("flip", draw_permute_and_flip)):
            for sized, held in (("", None), (" of 2^60 each", sizes)):
                times = []
                for _ in range(repeats):
                    start = time.perf_counter()
                    action(WeightBuckets(distances, rate, held), ENTROPY)
                    times.append(time.perf_counter() - start)
                tracemalloc.start()
                action(distances, rate, ENTROPY, held)
                peak = tracemalloc.get_traced_memory()[1] / 2**20
                tracemalloc.stop()
                verdict = "ok" if max(times) < SLOWEST else "MISSED"
                print(f"{name + sized:40} {title:7} {max(times):6.3f} {peak:6.0f} MiB  {verdict}")


def regret(counts: Counts, chosen: list[int]) -> int:
    """The sum of the true top less that of the chosen."""
    best = np.sort(counts)[::-1][: len(chosen)].sum()
    return int(best - counts[chosen].sum())


def regret_in_turn(counts: Counts, k: int, rate: Fraction, draw: Draw, repeats: int) -> float:
    """Mean regret of k selections without replacement."""
    total = 0
    for _ in range(repeats):
        total += regret(counts, select_in_turn(counts, k, rate, draw, ENTROPY))
    return total / repeats


def one_shot_regret(counts: Counts, k: int, scale: Fraction, repeats: int) -> float:
    """Mean regret of the top k of counts with Laplace noise."""
    noise = Noise(NoiseFamily.LAPLACE, scale)
    total = 0
    for _ in range(repeats):
        noisy = counts + sample(noise, counts.size, ENTROPY)
        total += regret(counts, top.find_noisy_top(noisy, k))
    return total / repeats


def measure_gap(repeats: int) -> None:
    """Print the regret of the top ten with a gap, beside ten plain exponential mechanisms."""
    counts = np.full(1000, 1000, dtype=np.int64)
    counts[:K] += GAP
    print(f"\nmean regret of the top {K} of 1000 counts with a gap of {GAP}, {repeats} times")
    print("epsilon, groups of a person: plain; both ways; the one taken")
    for epsilon, groups in (
        (Fraction(1), 1),
        (Fraction(1, 2), 1),
        (Fraction(1, 2), 5),
        (Fraction(1, 2), 20),
        (Fraction(1, 4), 1),
    ):
        rate = exponential.calibrate(epsilon / K, 1, monotone=False)
        plain = regret_in_turn(counts, K, rate, draw_exponential, repeats)
        pick_rate = exponential.calibrate(epsilon / K, 1, monotone=True)
        regrets = {
            "one-shot": one_shot_regret(counts, K, groups / epsilon, repeats),
            "permute-and-flip": regret_in_turn(
                counts, K, pick_rate, draw_permute_and_flip, repeats
            ),
        }
        one_shot = top.is_one_shot_better(K, 1, groups, epsilon, monotone=True)
        taken = "one-shot" if one_shot else "permute-and-flip"
        verdict = "ok" if regrets[taken] <= plain / 2 else "MISSED"
        line = "  ".join(f"{way} {value:7.1f}" for way, value in regrets.items())
        print(f"{float(epsilon):5} {groups:3}: {plain:7.1f};  {line};  {taken} {verdict}")


def measure_widths(repeats: int) -> None:
    """Print regrets at noise of equal width, as a share of that of permute-and-flip."""
    ranks = np.arange(1, 1001, dtype=np.int64)
    gap = np.full(1000, 1000, dtype=np.int64)
    gap[:K] += GAP
    print(f"\nregret beside permute-and-flip of the same width, k = {K}, {repeats} times")
    print("width: permute-and-flip; exponential, one shot; the same at 4/5 of the width")
    for name, counts in (("gap", gap), ("line", 3 * ranks), ("1/rank", 10_000 // ranks)):
        for width in (30, 100):
            base = regret_in_turn(counts, K, Fraction(1, width), draw_permute_and_flip, repeats)
            shares = []
            for factor in (Fraction(1), Fraction(4, 5)):
                scale = width * factor
                shares.append(regret_in_turn(counts, K, 1 / scale, draw_exponential, repeats))
                shares.append(one_shot_regret(counts, K, scale, repeats))
            line = "  ".join(f"{share / base if base else 0:5.2f}" for share in shares)
            print(f"{name:8} {width:4}: {base:7.1f};  {line}")


def main() -> None:
    """Print all of it."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    measure_speed(3)
    measure_gap(repeats)
    measure_widths(repeats)


if __name__ == "__main__":
    main()
