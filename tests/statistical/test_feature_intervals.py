"""Intervals of sums, means and shares planned together hold the truth as often as they say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import builders
import numpy as np
import pytest
from planned_figures import find_missed

from dprelease.kernel.certification import certify
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.together.cube_draws import add_joint_noise
from dprelease.model import Group, MeasureKind, NoiseFamily, NoisyTable, Plan
from dprelease.planning.planner import make_plan
from dprelease.specfile import load
from dprelease.statistics.read_release import build_columns

LEVEL = Fraction(95, 100)
RUNS = 4000
"""As many cells, each with the same records and with noise of its own."""

CELLS = tuple(map(str, range(RUNS)))
TOP = 10
MEANS = [
    *({"name": f"m{at}", "statistic": "mean", "column": f"f{at}"} for at in range(3)),
    *({"name": f"s{at}", "statistic": "sum", "column": f"f{at}"} for at in range(3)),
    *({"name": f"o{at}", "statistic": "mean", "column": f"o{at}"} for at in range(5)),
    {"name": "p3", "statistic": "proportion", "where": "f0 > 3"},
]
SHARES = [
    {"name": "n"},
    *({"name": f"p{at}", "statistic": "proportion", "where": f"f0 > {at}"} for at in range(5)),
]


def plan(queries: list[dict[str, Any]], privacy: dict[str, Any]) -> Plan:
    columns: dict[str, Any] = {
        f"f{at}": {"type": "integer", "lower": 0, "upper": TOP, "nulls": 0} for at in range(3)
    }
    columns |= {f"o{at}": {"type": "integer", "lower": -2, "upper": TOP - 2} for at in range(5)}
    columns["g"] = {"type": "string", "keys": list(CELLS), "other": "rest", "nulls": "rest"}
    asked = [{"statistic": "count", "by": ["g"]} | query for query in queries]
    made = make_plan(load(builders.spec(privacy=privacy, columns=columns, query=asked)))
    certify(made)
    return made


def measure(made: Plan, values: np.ndarray[Any, Any], missing: int) -> dict[Any, int]:
    """The measures of a cell whose records have these values; in some of them none, if open."""
    known, records = values[missing:], len(values)
    sums: dict[Any, int] = {}
    for step in made.steps:
        for part in step.measures:
            quantity = part.quantity
            if quantity is not None:
                is_open = quantity.null_fill is None
                own = known - 2 if is_open else values
                sums[part] = len(own) if part.kind is MeasureKind.VALUES else int(own.sum())
            elif part.where is None:
                sums[part] = records
            elif part.where.text.endswith("IS NOT NULL"):
                sums[part] = records - missing
            else:
                sums[part] = int((known > int(part.where.text.split()[-1])).sum())
    return sums


def draw(made: Plan, sums: dict[Any, int], entropy: Any) -> NoisyTable:
    """The integers of every cell, which all have the same records; the last label has none."""
    values = {}
    for step in made.steps:
        assert not any(axis.entries for axis in step.axes)
        exact = [
            sum(f * sums[part] for f, part in zip(row, step.measures, strict=True))
            for row in step.transform
        ]
        group: Group = step.query.groups[0]
        size = len(group.labels)
        if step.noise.family is NoiseFamily.CUBE:
            rows = [[number] * size for number in exact]
            values[step.query.name] = add_joint_noise(rows, step, entropy)
            continue
        values[step.query.name] = tuple(
            tuple((sample(step.noise, size, entropy) + number).tolist()) for number in exact
        )
    return NoisyTable(values)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("queries", [MEANS, SHARES], ids=["means", "shares"])
@pytest.mark.parametrize(
    "privacy", [{"rho": 0.05}, {"epsilon": 1}, {"epsilon": 8}], ids=["gaussian", "pure", "little"]
)
@pytest.mark.parametrize("records", [60, 3000])
@pytest.mark.parametrize("shape", ["even", "near an end", "near the other", "at an end"])
def test_intervals_hold(
    queries: list[dict[str, Any]],
    privacy: dict[str, Any],
    records: int,
    shape: str,
    entropy: Any,
) -> None:
    made = plan(queries, privacy)
    combined = [read for read in made.reads if read.terms]
    assert combined
    families = {step.noise.family for step in made.steps}
    assert (NoiseFamily.CUBE in families) == (queries is MEANS and "rho" not in privacy)
    even = np.arange(records) % (TOP + 1)
    far = np.where(np.arange(records) % 20 == 19, TOP, 0)
    values = {"even": even, "near an end": far, "near the other": TOP - far, "at an end": 0 * far}[
        shape
    ]
    missing = records // 10
    sums = measure(made, values, missing)
    noisy = draw(made, sums, entropy)
    for read in combined:
        query = read.query
        columns = {column.name: column for column in build_columns(read, made, noisy, LEVEL)}
        known = values[missing:]
        truth = {"n": records, "m": values.mean(), "s": values.sum(), "o": known.mean() - 2}
        if query.name[0] == "p":
            truth["p"] = (known > int(query.name[1:])).mean()
        found = {query.name: float(truth[query.name[0]])}
        if query.name[0] in "mop":
            found[f"{query.name}_count"] = records - missing * (query.name[0] != "m")
        for name, true in found.items():
            covered = 1 - find_missed(columns, name, true)[:-1].mean()
            # Four standard deviations of so many draws.
            assert covered >= 0.95 - 4 * (0.95 * 0.05 / RUNS) ** 0.5, (name, covered)
            # At an end what lies beyond is published as the end, and so held.
            if records > 1000 and privacy.get("epsilon") != 8 and shape != "at an end":
                assert covered <= 0.975 + 4 * (0.95 * 0.05 / RUNS) ** 0.5, (name, covered)
