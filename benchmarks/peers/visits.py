"""The made-up table that every tool releases, and how far a tool's figures are from the truth.

Standard library alone: every tool's script imports it from an environment of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

ROWS, REGIONS = 200_000, 50
LOWER, UPPER = 0, 500
FIGURES = ("count", "sum", "mean")
Figures = Mapping[str, Sequence[float]]  # region -> count, sum, mean: as many as the job asks for


def make(folder: Path) -> None:
    """Write ``visits.csv`` (one row a visit) and ``regions.txt`` (the public list of regions).

    A person has at most three visits in a region and is seen in at most two regions: the bounds of
    the job "people" cut nothing, and its errors are those of noise. An amount is a whole number in
    0..500, small ones are more frequent.
    """
    draw = random.Random(2026)
    regions = [f"r{number:02}" for number in range(REGIONS)]
    visits: list[tuple[int, str, int]] = []
    person = 0
    while len(visits) < ROWS:
        person += 1
        for region in draw.sample(regions, draw.choice((1, 1, 2))):
            for _ in range(draw.randint(1, 3)):
                visits.append((person, region, round(UPPER * draw.random() ** 1.5)))
    visits = visits[:ROWS]
    draw.shuffle(visits)
    with (folder / "visits.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["person", "region", "amount"])
        lines.writerows(visits)
    (folder / "regions.txt").write_text("\n".join(regions) + "\n")


def truth(folder: Path) -> dict[str, tuple[int, int, float]]:
    """Count, sum and mean of each region, without noise and without bounds on people."""
    amounts = defaultdict(list)
    with (folder / "visits.csv").open() as file:
        for row in csv.DictReader(file):
            amounts[row["region"]].append(int(row["amount"]))
    return {
        region: (len(group), sum(group), sum(group) / len(group))
        for region, group in amounts.items()
    }


def root_mean_squares(
    draws: Sequence[Figures], exact: Mapping[str, Sequence[float]]
) -> list[float]:
    """Root mean square error of each figure, over all regions and draws."""
    number = len(next(iter(draws[0].values())))
    errors = []
    for place in range(number):
        squares = [
            (noisy[place] - exact[region][place]) ** 2
            for draw in draws
            for region, noisy in draw.items()
        ]
        if len(squares) != len(draws) * REGIONS:
            raise ValueError("a draw lacks a region, or has one twice")
        errors.append(math.sqrt(sum(squares) / len(squares)))
    return errors


def measure(package: str, jobs: Mapping[str, Callable[[], Figures]]) -> None:
    """Run one job as the command line says, and write what came of it as one line of JSON.

    Arguments: the job, the folder of the table, the number of draws. Each draw takes place in a
    new folder that holds the table and the list of regions, and nothing else.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("figures", "counts", "people"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("draws", type=int)
    asked = parser.parse_args()
    draws, seconds = [], []
    start, folder = Path.cwd(), asked.folder.resolve()
    for _ in range(asked.draws):
        with TemporaryDirectory() as place:
            for name in ("visits.csv", "regions.txt"):
                shutil.copy(folder / name, place)
            os.chdir(place)
            began = time.perf_counter()
            draws.append(jobs[asked.job]())
            seconds.append(time.perf_counter() - began)
            os.chdir(start)
    result = {
        "version": version(package),
        "draws": len(draws),
        "errors": root_mean_squares(draws, truth(folder)),
        "seconds_of_draws": sum(seconds),
    }
    print(json.dumps(result))
