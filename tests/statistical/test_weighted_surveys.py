"""Figures of a weighted survey hold what their intervals say: over 2,000 releases of one plan.

The data are read once, the noise of the plan is drawn anew for each. What is true of the data is
added up here by plain loops.
"""

from __future__ import annotations

import csv
import math
import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dprelease import engines, load
from dprelease.kernel.certification import certify
from dprelease.kernel.core.engine_requests import build_jobs
from dprelease.kernel.privatization import privatize
from dprelease.model import NoisyTable, Plan
from dprelease.planning.planner import make_plan
from dprelease.statistics.read_release import build_columns

RUNS = 2000
LEVEL = Fraction(95, 100)
REGIONS = ("north", "south")
# A fair interval of 95% misses more often than this once in a million times.
LOWEST = 0.95 - 4.8 * math.sqrt(0.95 * 0.05 / (RUNS * len(REGIONS)))
# The interval of a ratio is a bound, not exact: of 40,000 draws of this one, 97.44% were held.
HIGHEST_OF_A_RATIO = 0.975 + 4.8 * math.sqrt(0.975 * 0.025 / (RUNS * len(REGIONS)))

Floats = npt.NDArray[np.float64]
Person = tuple[str, int | None, str | None]  # region, hours, weight


def survey(path: Path) -> list[Person]:
    """A made-up survey: weights beyond the bounds, below 0, missing, unreadable; hours missing."""
    source = random.Random(4)  # fixed: a table, not noise
    people: list[Person] = []
    for number in range(1500):
        hours = source.randint(-5, 70) if source.random() < 0.9 else None
        weight = f"{source.lognormvariate(5.5, 0.6):.2f}"
        odd = {3: None, 4: "n/a", 5: "-12", 6: "99999"}
        people.append((REGIONS[number % 3 == 0], hours, odd.get(number % 60, weight)))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["region", "hours", "weight"])
        writer.writerows(["" if each is None else each for each in person] for person in people)
    return people


def plan_survey(path: Path, delta: float) -> Plan:
    spec: dict[str, Any] = {
        "release": {"name": "survey"},
        "data": {"path": str(path), "weight": "weight"},
        "output": {"path": "out/survey"},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 2, "delta": delta},
        "columns": {
            "region": {"type": "string", "keys": list(REGIONS), "source": "p"},
            "hours": {"type": "integer", "lower": 0, "upper": 60, "source": "p"},
            "weight": {"type": "decimal", "lower": 0, "upper": 1000, "step": 0.5, "source": "p"},
        },
        "query": [
            {"name": "people", "statistic": "count", "by": ["region"]},
            {"name": "all", "statistic": "sum", "column": "hours", "by": ["region"]},
            {"name": "mean", "statistic": "mean", "column": "hours", "by": ["region"]},
            {"name": "long", "statistic": "proportion", "where": "hours > 40", "by": ["region"]},
            {
                "name": "rate",
                "statistic": "ratio",
                "numerator": {"column": "hours"},
                "denominator": "hours > 40",
                "by": ["region"],
            },
            {"name": "middle", "statistic": "median", "column": "hours", "by": ["region"]},
        ],
    }
    if delta:
        for query in spec["query"][:-1]:
            query["mechanism"] = "gaussian"
    return make_plan(load(spec))


def list_steps(weight: str | None) -> int | None:
    """The weight on its grid of halves, within its bounds."""
    try:
        return None if weight is None else min(max(round(Fraction(weight) * 2), 0), 2000)
    except ValueError:
        return None


class Truth:
    """What the weighted figures of a region are without noise."""

    def __init__(self, people: list[Person], region: str) -> None:
        own = [(hours, list_steps(w)) for place, hours, w in people if place == region]
        known = [(hours, w / 2) for hours, w in own if w is not None]
        self.values = [(min(max(h, 0), 60), w) for h, w in known if h is not None]
        total = sum(w for _, w in known)
        whole = sum(w for _, w in self.values)
        hours = sum(h * w for h, w in self.values)
        long = sum(w for h, w in known if h is not None and h > 40)
        self.figures = {
            "people": total,
            "all": hours,
            "mean": hours / whole,
            "mean_count": whole,
            "long": long / whole,  # of the people whose hours are known
            "long_count": whole,
            "rate": hours / long,
        }

    def ranks_off(self, value: float, q: float) -> float:
        """How much weight lies between a value and the quantile."""
        below = sum(w for h, w in self.values if h < value)
        upto = sum(w for h, w in self.values if h <= value)
        target = q * sum(w for _, w in self.values)
        return max(0.0, below - target, target - upto)


@pytest.fixture(scope="module", params=[0, 1e-6], ids=["pure", "gaussian"])
def released(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Plan, dict[str, Floats], list[Truth]]:
    """The plan, every published column of each run and region, and the truth."""
    from dprelease.kernel.core.entropy import SystemEntropy

    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    people = survey(path)
    plan = plan_survey(path, request.param)
    certify(plan)
    jobs = build_jobs(plan.release, plan.steps)
    exact = [(engines.get("duckdb").aggregate(job.request), job) for job in jobs]
    entropy = SystemEntropy()
    found: dict[str, list[list[float]]] = {}
    for _ in range(RUNS):
        values: dict[str, tuple[tuple[int, ...], ...]] = {}
        for table, job in exact:
            values |= privatize(table, job, entropy, {}).values
        for read in plan.reads:
            for column in build_columns(read, plan, NoisyTable(values), LEVEL):
                if column.kind == "text":
                    continue
                numbers = [math.nan if v is None else float(v) for v in column.values]
                scaled = [number / 10**column.decimals for number in numbers]
                found.setdefault(column.name, []).append(scaled)
    columns = {name: np.array(rows) for name, rows in found.items()}
    return plan, columns, [Truth(people, region) for region in REGIONS]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["people", "all", "mean", "mean_count", "long", "long_count", "rate"]
)
def test_intervals_hold_the_weighted_figure(
    name: str, released: tuple[Plan, dict[str, Floats], list[Truth]]
) -> None:
    _, columns, truths = released
    truth = np.array([one.figures[name] for one in truths])
    error, half = np.abs(columns[name] - truth), columns[f"{name}_noise_moe"]
    held = float(np.mean(error <= half * (1 + 1e-12)))
    assert held >= LOWEST, held
    # Nor are they much too wide.
    assert held <= (HIGHEST_OF_A_RATIO if name == "rate" else 0.98), held
    if f"{name}_low" in columns:
        low, high = columns[f"{name}_low"], columns[f"{name}_high"]
        assert float(np.mean((low <= truth) & (truth <= high))) >= LOWEST


@pytest.mark.thorough
def test_a_weighted_median_is_within_its_weight(
    released: tuple[Plan, dict[str, Floats], list[Truth]],
) -> None:
    _, columns, truths = released
    halves = columns["middle_rank_moe"]
    off = [
        [truth.ranks_off(value, 0.5) for truth, value in zip(truths, row, strict=True)]
        for row in columns["middle"]
    ]
    assert float(np.mean(np.array(off) <= halves)) >= LOWEST


def test_the_truth_is_what_the_engine_adds_up(tmp_path: Path) -> None:
    """Weights beyond their bounds, missing and unreadable ones, as the spec declares."""
    path = tmp_path / "survey.csv"
    people = survey(path)
    plan = plan_survey(path, 0)
    values: dict[str, list[int]] = {}
    for job in build_jobs(plan.release, plan.steps):
        measures = [
            list(column) for column in engines.get("duckdb").aggregate(job.request).reveal()
        ]
        for step, places in zip(job.steps, job.positions, strict=True):
            if step.scheme is None:
                row = step.transform[0]
                values[step.query.name] = [
                    sum(f * measures[at][cell] for f, at in zip(row, places, strict=True))
                    for cell in range(len(REGIONS))
                ]
            else:
                cells, points, often = measures
                assert all(low < high for low, high in pairwise(zip(cells, points, strict=True)))
                sums = [
                    sum(w for cell, w in zip(cells, often, strict=True) if cell == place) / 2
                    for place in range(len(REGIONS))
                ]
                truths = [Truth(people, region).figures["mean_count"] for region in REGIONS]
                assert sums == truths
    for name, unit in (("people", 2), ("all", 2)):
        truths = [Truth(people, region).figures[name] for region in REGIONS]
        assert [value / unit for value in values[name]] == truths
