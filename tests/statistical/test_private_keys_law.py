"""From the data to what is drawn for private keys: selected, named and put in order by the law.

The engine reads a small file once, and the steps of a certified plan are released many times. A
key is shown as often as its count reaches the threshold with its noise; what it is given then, and
what a key without rows in the step is given, follows the law of the step, whatever the count was.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builders import spec
from drawn_laws import judge_outcomes
from hashed_bytes import Hashed
from scipy.stats import binom

from dprelease import load
from dprelease.engines import get
from dprelease.kernel.certification import certify
from dprelease.kernel.core.engine_requests import Job, build_jobs
from dprelease.kernel.privatization import privatize
from dprelease.model import ExactTable, Step
from dprelease.planning.planner import make_plan

ALARM = 1e-6
DRAWS = 1200
LABELS = ("u", "v", "w")
# town, diagnosis, urgent, days: Ayr about the threshold, Bath above it but never urgent, Coll rare
ROWS = (
    [("Ayr", "u", "true", 1)] * 5
    + [("Ayr", "v", "true", 2)] * 4
    + [("Ayr", "w", "true", 4)] * 2
    + [("Ayr", "w", "false", 0)] * 6
    + [("Bath", "u", "false", 3)] * 90
    + [("Coll", "w", "true", 4)]
)


class Drawn(NamedTuple):
    """A release: the noisy counts of the towns that are shown, and what each was given."""

    counts: dict[str, int]
    names: dict[str, int]
    values: dict[str, int]


class Case(NamedTuple):
    steps: dict[str, Step]
    tables: list[tuple[Job, ExactTable]]

    def draw(self, entropy: Hashed) -> Drawn:
        values: dict[str, Any] = {}
        keys: dict[str, Any] = {}
        for job, table in self.tables:
            drawn = privatize(table, job, entropy, keys)
            values |= drawn.values
            keys |= drawn.keys
        towns = [town for (town,) in keys["by_town"]]
        return Drawn(*(dict(zip(towns, values[name][0], strict=True)) for name in "nmq"))


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """People of one row each, so that bounding leaves nothing out."""
    path: Path = tmp_path_factory.mktemp("law") / "t.csv"
    lines = [f"{number},{','.join(map(str, row))}" for number, row in enumerate(ROWS)]
    path.write_text("\n".join(["p,town,diagnosis,urgent,days", *lines, ""]), encoding="utf-8")
    bounds = {"max_rows_per_unit": 1, "max_groups_per_unit": 1}
    rules = {"unit": "column", "unit_column": "p", "bounding": bounds}
    urgent = {"where": "urgent", "epsilon": Fraction(1, 2)}
    queries: list[dict[str, Any]] = [
        {"name": "n", "statistic": "count_units", "epsilon": 1},
        {"name": "m", "statistic": "mode", "column": "diagnosis", **urgent},
        {"name": "q", "statistic": "median", "column": "days", **urgent},
    ]
    selection = {"by": ["town"], "partition_selection": {"delta": 1e-7}}
    release = load(
        spec(
            data={"path": str(path)},
            privacy=rules | {"adjacency": "add-remove", "epsilon": 2, "delta": 1e-6},
            columns={
                "town": {"type": "string"},
                "diagnosis": {"type": "string", "keys": list(LABELS), "source": "p"},
                "urgent": {"type": "boolean"},
                "days": {"type": "integer", "lower": 0, "upper": 4, "source": "p"},
            },
            query=[selection | query for query in queries],
        )
    )
    plan = certify(make_plan(release)).plan
    tables = [
        (job, get("duckdb").aggregate(job.request)) for job in build_jobs(release, plan.steps)
    ]
    return Case({step.query.name: step for step in plan.steps}, tables)


@pytest.fixture(scope="module")
def draws(case: Case) -> list[Drawn]:
    entropy = Hashed("private keys")
    return [case.draw(entropy) for _ in range(DRAWS)]


def share_keys(weights: Mapping[Hashable, float]) -> Mapping[Hashable, float]:
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def test_keys_are_shown_as_often_as_their_count_reaches_the_threshold(
    case: Case, draws: list[Drawn]
) -> None:
    step = case.steps["n"]
    assert step.threshold is not None
    a = math.exp(-1 / float(step.noise.parameter))
    rows = sum(row[0] == "Ayr" for row in ROWS)
    assert step.threshold >= rows
    chance = a ** (step.threshold - rows) / (1 + a)
    shown = sum("Ayr" in each.counts for each in draws)
    assert 2 * min(binom.cdf(shown, DRAWS, chance), binom.sf(shown - 1, DRAWS, chance)) > ALARM
    less = binom.sf(shown - 1, DRAWS, chance * a)
    more = binom.cdf(shown, DRAWS, min(1.0, chance / a))
    assert max(less, more) < ALARM
    assert all("Bath" in each.counts and "Coll" not in each.counts for each in draws)
    assert all(each.names.keys() == each.values.keys() == each.counts.keys() for each in draws)


def flip(counts: list[int], rate: float) -> Mapping[Hashable, float]:
    """Permute-and-flip for three candidates: the best first, or its coin after the others'."""
    p = [math.exp(rate * (count - max(counts))) for count in counts]
    found: dict[Hashable, float] = {}
    for one in range(3):
        b, c = (p[other] for other in range(3) if other != one)
        found[one] = p[one] * (1 - (b + c) / 2 + b * c / 3)
    return found


@pytest.mark.parametrize(
    ("town", "counts", "others"),
    [
        ("Ayr", [5, 4, 2], ([5, 4, 8], [10, 8, 4], [4, 5, 2])),  # all rows; twice the rate; others
        ("Bath", [0, 0, 0], ([1, 0, 0],)),
    ],
)
def test_names_follow_the_law_of_the_choice(
    case: Case, draws: list[Drawn], town: str, counts: list[int], others: tuple[list[int], ...]
) -> None:
    """Of urgent rows alone, and of these no other law."""
    rate = float(case.steps["m"].noise.parameter)
    found: Counter[Hashable] = Counter(each.names[town] for each in draws if town in each.names)
    assert judge_outcomes(found, flip(counts, rate)) > ALARM
    for wrong in others:
        assert judge_outcomes(found, flip(wrong, rate)) < ALARM


@pytest.mark.parametrize(
    ("town", "days", "others"),
    [
        ("Ayr", [0, 5, 4, 0, 2], ([6, 5, 4, 0, 2], [0, 10, 8, 0, 4])),  # all rows; twice the rate
        ("Bath", [0, 0, 0, 0, 0], ([0, 0, 0, 4, 0],)),
    ],
)
def test_values_follow_the_law_of_the_median(
    case: Case, draws: list[Drawn], town: str, days: list[int], others: tuple[list[int], ...]
) -> None:
    scheme = case.steps["q"].scheme
    assert scheme is not None
    rate = float(scheme.steps[0].rate)

    def law(held: list[int]) -> Mapping[Hashable, float]:
        away = [
            max(0, 2 * sum(held[:k]) - sum(held), sum(held) - 2 * sum(held[: k + 1]))
            for k in range(5)
        ]
        return share_keys({k: math.exp(-rate * d) for k, d in enumerate(away)})

    found: Counter[Hashable] = Counter(each.values[town] for each in draws if town in each.values)
    assert judge_outcomes(found, law(days)) > ALARM
    for wrong in others:
        assert judge_outcomes(found, law(wrong)) < ALARM


def test_what_is_given_does_not_depend_on_the_noisy_count(draws: list[Drawn]) -> None:
    """Given to Bath, whose counts vary: as often with a count above the true one as below."""
    high = [each for each in draws if each.counts["Bath"] > 90]
    low = [each for each in draws if each.counts["Bath"] < 90]
    for what in range(3):
        share = sum(each.names["Bath"] == what for each in draws) / len(draws)
        for side in (high, low):
            found = sum(each.names["Bath"] == what for each in side)
            tails = binom.cdf(found, len(side), share), binom.sf(found - 1, len(side), share)
            assert 2 * min(tails) > ALARM
