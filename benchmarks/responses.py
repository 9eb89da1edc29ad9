"""Cells a second of the exact answers of records, beside what the random words alone take.

Run: python benchmarks/responses.py [cells]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dprelease.kernel.chapters.record_tables.record_draws import prepare_responses, respond
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.model import Grid
from dprelease.model.record_tables import LaplaceLaw, Law, SubsetLaw, Window, WindowLaw

GRID = Grid(Fraction(1), -50_000, 50_000)
BATCH = 1 << 17


class Counted:
    """The system's entropy, which notes how many bytes were read."""

    def __init__(self) -> None:
        self.inner, self.sizes = SystemEntropy(), [0]

    def read(self, size: int) -> bytes:
        """Bytes of the system."""
        self.sizes.append(size)
        return self.inner.read(size)


def sets(labels: int, size: int) -> SubsetLaw:
    """Subset selection at an epsilon of about 1."""
    odds = Fraction(271_828, 100_000) * size
    keep = odds / (labels - size + odds)
    return SubsetLaw(labels, size, Fraction(int(keep * (1 << 64)), 1 << 64))


ONE = Window(3, 1, Fraction(31, 7), Fraction(3))
LAWS: list[tuple[str, Law, int]] = [
    *((f"{k} labels, sets of {d}", sets(k, d), k) for k, d in [(2, 1), (10, 1), (1000, 1)]),
    *((f"{k} labels, sets of {d}", sets(k, d), k) for k, d in [(5000, 1), (70_000, 1)]),
    *((f"{k} labels, sets of {d}", sets(k, d), k) for k, d in [(10, 3), (20, 5), (48, 13)]),
    *((f"{k} labels, sets of {d}", sets(k, d), k) for k, d in [(200, 40), (5000, 64)]),
    ("a window of 3 levels", WindowLaw(ONE), 0),
    ("windows of 2 and 8 levels", WindowLaw(Window(2, 1, Fraction(2), Fraction(3)),
     Window(8, 3, Fraction(31, 7), Fraction(2)), Fraction(1, 4)), 0),
    *((f"Laplace of scale {s}", LaplaceLaw(Fraction(s)), 0) for s in (10, 50_000, 10**9)),
]  # fmt: skip


def fastest(action: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the core's own time, the kernel's too, of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def measure_law(name: str, law: Law, labels: int, cells: int) -> None:
    """Print one line for one law, answered in batches."""
    if isinstance(law, SubsetLaw) and law.size > 10:
        cells = max(BATCH, cells // 10)
    codes = np.arange(BATCH, dtype=np.int64) * 7919
    codes = codes % labels if labels else codes % (GRID.width + 1) + GRID.lower
    batches = max(1, cells // BATCH)
    start = time.perf_counter()
    prepare_responses(law)
    build = time.perf_counter() - start
    counted = Counted()

    def answer() -> None:
        for _ in range(batches):
            respond(law, codes, GRID, counted)

    took = fastest(answer)
    reads = counted.sizes[: len(counted.sizes) // 3 + 1]

    def read() -> None:
        for size in reads:
            counted.inner.read(size)

    words = fastest(read)
    done = batches * BATCH
    print(
        f"{name:28} {done / took / 1e6:7.2f} million cells/s  {sum(reads) / done:6.2f} bytes a cell"
        f"  words alone {words / took:4.0%}  tables {build * 1e3:6.1f} ms"
    )


def main() -> None:
    """Print a line for each law."""
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    print(f"exact answers, CPU time of one core, {cells} cells in batches of {BATCH}, best of 3")
    for name, law, labels in LAWS:
        measure_law(name, law, labels, cells)


if __name__ == "__main__":
    main()
