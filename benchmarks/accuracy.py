"""Errors of released figures, held against theory and against the usual way to release a mean.

A made-up table whose true figures are known is released several times as a whole, each time with
fresh noise. Targets: the root mean square errors of counts and sums are those of the noise that
their plan says; the means' is at most 0.72 of what splitting the budget between a centred sum and
a count would give; noise intervals hold the true figure as often as they say.

Run: python benchmarks/accuracy.py [RELEASES]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

import dprelease
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.model import Noise, NoiseFamily, Plan
from dprelease.postprocess.intervals.screened_counts import CHANCE

CELLS, RECORDS = 20_000, 100  # of each cell
LOWER, UPPER, STEP = 0, 500, Fraction(1, 100)
EPSILON = Fraction(1)
LEVEL = 0.95
SPLIT_DRAWS = 20
LAW_DRAWS = 1_000_000

ROWS = f"""
SELECT i % {CELLS} AS cell, ({UPPER} * pow((hash(i) >> 11)::DOUBLE / 9007199254740992, 1.5))
  ::DECIMAL(9, 2) AS amount
FROM range({CELLS * RECORDS}) AS numbers(i)
"""
TRUTH = "SELECT count(*), sum(amount)::DOUBLE, avg(amount)::DOUBLE FROM '{}' GROUP BY cell"

FIGURES = {  # figure -> (column, position of its truth)
    "count": ("n", 0),
    "sum": ("total", 1),
    "mean": ("average", 2),
    "count of the mean": ("average_count", 0),
}


def spec(path: Path) -> dict[str, Any]:
    """Count, sum and mean, each with epsilon 1 of its own."""
    queries = {"n": "count", "total": "sum", "average": "mean"}
    bounds = {"lower": LOWER, "upper": UPPER, "step": STEP}
    return {
        "release": {"name": "accuracy"},
        "data": {"path": path},
        "privacy": {"unit": "row", "adjacency": "add-remove"},
        "ledger": {"path": path.parent / "ledger.sqlite"},
        "columns": {
            "cell": {"type": "integer", "keys": list(range(CELLS))},
            "amount": {"type": "decimal", **bounds},
        },
        "query": [
            {"name": name, "statistic": statistic, "by": ["cell"], "epsilon": EPSILON}
            | ({} if statistic == "count" else {"column": "amount"})
            for name, statistic in queries.items()
        ],
        "output": {"path": path.parent / "out"},
    }


def released(
    path: Path, times: int
) -> tuple[Plan, dict[str, np.ndarray[Any, np.dtype[np.float64]]]]:
    """The plan, and every published column of some releases: ``[release, cell]``."""
    results = [dprelease.run(spec(path), new_noise=True) for _ in range(times)]
    tables = [result.tables["by_cell"] for result in results]
    return results[0].plan, {
        name: np.stack([np.array(table[name]).astype(np.float64) for table in tables])
        for name in tables[0].column_names
        if not name.endswith("_flag")
    }


def truth(path: Path) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """True counts, sums and means by cell."""
    found = duckdb.execute(TRUTH.format(path) + " ORDER BY cell::INTEGER").fetchnumpy()
    return [np.array(values, dtype=np.float64) for values in found.values()]


def split_mean_errors(
    counts: np.ndarray[Any, np.dtype[np.float64]], means: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Errors of the usual mean: half of epsilon for a sum around the middle, half for a count."""
    middle = (LOWER + UPPER) / 2
    half = EPSILON / 2
    steps = Fraction(UPPER - LOWER) / 2 / STEP
    noise = Noise(NoiseFamily.LAPLACE, steps / half), Noise(NoiseFamily.LAPLACE, 1 / half)
    errors = []
    for _ in range(SPLIT_DRAWS):
        first, second = (sample(law, CELLS, SystemEntropy()).astype(np.float64) for law in noise)
        sums = counts * (means - middle) + first * float(STEP)
        errors.append(middle + sums / np.maximum(counts + second, 1) - means)
    return np.stack(errors)


def rms(errors: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(errors**2)))


def expected(plan: Plan, query: str) -> float:
    """Root mean square of a count's or sum's noise, by draws of what its plan says.

    What is screened is noise alone here, and counted only where noise is so large with the chance
    ``CHANCE``. Counts are published as whole numbers.
    """
    read = next(read for read in plan.reads if read.query.name == query)
    noise = plan.step(read).noise
    draws = [sample(noise, LAW_DRAWS, SystemEntropy()).astype(np.float64) for _ in read.factors]
    if read.screened:
        draws[-1] *= draws[-1] > -float(noise.parameter) * math.log(2 * CHANCE)
    total = sum(float(factor) * draw for factor, draw in zip(read.factors, draws, strict=True))
    return rms(np.rint(total) if read.query.statistic == "count" else np.asarray(total))


def say(figure: str, found: float, beside: float, allowed: tuple[float, float]) -> None:
    """Print a line: an error, what it is held against, their ratio and whether it fits."""
    ratio = found / beside
    low, high = allowed
    fits = "ok" if low <= ratio <= high else "MISSED"
    print(f"{figure:34} {found:10.4f} {beside:10.4f} {ratio:7.4f}  {low:.4g} to {high:.4g} {fits}")


def main() -> None:
    """Print errors, then coverage."""
    times = int(sys.argv[1]) if sys.argv[1:] else 5
    with TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        duckdb.execute(f"COPY ({ROWS}) TO '{path}' (HEADER)")
        true = truth(path)
        plan, found = released(path, times)
    errors = {figure: found[column] - true[at] for figure, (column, at) in FIGURES.items()}
    draws = times * CELLS
    slack = 4 * math.sqrt(5 / draws) / 2  # 4 standard errors; the law's kurtosis is about 6
    print(f"{CELLS:,} cells of {RECORDS} records, {times} releases, epsilon {EPSILON} a query")
    print(f"{'RMSE of':34} {'found':>10} {'beside':>10} {'ratio':>7}  target")
    exact = (1 - slack, 1 + slack)
    say("count, law of the noise", rms(errors["count"]), expected(plan, "n"), exact)
    say("sum, law of the noise", rms(errors["sum"]), expected(plan, "total"), exact)
    split = rms(split_mean_errors(true[0], true[2]))
    say("mean, half sum and half count", rms(errors["mean"]), split, (0, 0.72))
    coverage(found, errors, draws)


def coverage(
    found: Mapping[str, np.ndarray[Any, np.dtype[np.float64]]],
    errors: Mapping[str, np.ndarray[Any, np.dtype[np.float64]]],
    draws: int,
) -> None:
    """Print how often the noise intervals hold the true figure."""
    least = LEVEL - 4 * math.sqrt(LEVEL * (1 - LEVEL) / draws)
    print(f"{'coverage of the noise interval':34} {'found':>10} {'level':>10}")
    for figure, (column, _) in FIGURES.items():
        share = float(np.mean(np.abs(errors[figure]) <= found[f"{column}_noise_moe"] + 1e-9))
        fits = "ok" if share >= least else "MISSED"
        print(f"{figure:34} {share:10.4f} {LEVEL:10.4f} {'':7}  >= {least:.4f} {fits}")


if __name__ == "__main__":
    main()
