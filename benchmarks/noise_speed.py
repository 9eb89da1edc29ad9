"""Draws a second of the exact samplers, beside NumPy's float generators (fast and insecure).

Run: python benchmarks/noise_speed.py [draws]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.many_draws.vectorized import build_sampler, draw_lanes
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.kernel.core.sample import draw_discrete_gaussian, draw_discrete_laplace
from dprelease.model import Noise, NoiseFamily

LAWS = [
    *(Noise(NoiseFamily.LAPLACE, Fraction(text)) for text in ("1/3", "10", "1e5", "1e6", "1e9")),
    Noise(NoiseFamily.LAPLACE, Fraction(10**20)),
    *(Noise(NoiseFamily.GAUSSIAN, Fraction(text)) for text in ("1/10", "100", "1e6", "1e14")),
    Noise(NoiseFamily.GAUSSIAN, Fraction(10**40)),
]
FEW = 2000


def best_rate(action: Callable[[], object], draws: int, repeats: int = 5) -> float:
    """Draws a second, in millions, of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return draws / min(times) / 1e6


def measure_law(noise: Noise, draws: int) -> None:
    """Print one line for one law."""
    entropy = SystemEntropy()
    generator = np.random.default_rng()
    laplace = noise.family is NoiseFamily.LAPLACE
    one = draw_discrete_laplace if laplace else draw_discrete_gaussian
    spread = float(noise.parameter) if laplace else float(noise.parameter) ** 0.5
    floats = generator.laplace if laplace else generator.normal
    build_sampler.cache_clear()
    start = time.perf_counter()
    sampler = build_sampler(noise)
    build = time.perf_counter() - start
    if sampler.dtype is object:
        draws //= 10
    scalar = best_rate(lambda: [one(noise.parameter, entropy) for _ in range(FEW)], FEW, 2)
    lanes = best_rate(lambda: draw_lanes(noise, draws, entropy), draws)
    public = best_rate(lambda: sample(noise, draws, entropy), draws, 2)
    floor = best_rate(lambda: np.rint(floats(0.0, spread, draws)), draws)
    print(
        f"{noise.family:9} {float(noise.parameter):8.3g}  scalar {scalar:6.3f}  lanes {lanes:6.2f}"
        f"  sample() {public:6.2f}  float {floor:6.2f}  lanes/float {lanes / floor:5.2f}"
        f"  tables {build * 1e3:5.1f} ms"
    )


def main() -> None:
    """Print a line for each law."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    print(f"million draws a second on one core, {draws} draws, best of 5")
    for noise in LAWS:
        measure_law(noise, draws)


if __name__ == "__main__":
    main()
