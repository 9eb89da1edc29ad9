"""Combinations of published figures hold the truth as often as they say, and not much oftener.

Figures have noise of their own, or share it: read from one release, or planned together.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from redrawn import Redrawn
from scipy.stats import binom

from dprelease.combination.combined_figures import Published
from dprelease.combination.expression import combine
from dprelease.model import NoiseFamily

ALPHA = Fraction(1, 5)
DRAWS = 200
ALARM = 1e-7

COUNT, MEAN = {"statistic": "count"}, {"statistic": "mean", "column": "days"}
BY = {"by": ["region"]}
ALONE = [COUNT | BY | {"name": "visits", "mechanism": "laplace"}]
TWO = [COUNT | BY | {"name": "visits"}, {"name": "days", "statistic": "sum", "column": "days"}]
STAIRS = [{"statistic": "sum", "column": "days"} | BY | {"name": "days"}]
SHARED = [MEAN | BY | {"name": "wait"}, COUNT | BY | {"name": "visits", "where": "days >= 0"}]
SPREAD = [MEAN | BY | {"name": "wait"}, MEAN | BY | {"name": "sd", "statistic": "stddev"}]
PAIRS = [
    COUNT | {"name": "visits", "by": ["region", "sex"]},
    COUNT | {"name": "by_sex", "by": ["sex"]},
    COUNT | {"name": "all"},
]
NORTH, WEST = '[region="north"]', '[region="west"]'
CASES: list[Any] = [
    (ALONE, {}, "sum(visits)", 395, True),
    (ALONE, {}, f"visits{WEST} - visits{NORTH}", 140, True),
    (ALONE, {}, f"0.25 * visits{WEST} + 2 * visits{NORTH} - 3", 167, True),
    (ALONE, {}, f"100 * visits{WEST} / sum(visits)", 100 * 200 / 395, True),
    (ALONE, {"rho": 0.5}, "mean(visits)", 395 / 4, True),
    (TWO, {"epsilon": 2.0}, "sum(visits) - days / 5", 395 - 2655 / 5, False),
    (STAIRS, {"epsilon": 4.0}, "sum(days)", 2655, True),
    (SHARED, {"epsilon": 4.0}, "mean(wait)", 2655 / 395, False),
    (SHARED, {"epsilon": 4.0}, f"wait{WEST} - wait{NORTH}", 5, False),
    (SHARED, {"epsilon": 4.0}, "sum(wait_count)", 395, False),
    (SPREAD, {"epsilon": 8.0}, "mean(wait)", 2655 / 395, False),
    (SPREAD, {"epsilon": 8.0}, f"wait{WEST} - wait{NORTH}", 5, False),
    (SPREAD, {"rho": 0.02}, f"sd_count{WEST} - sd_count{NORTH}", 140, True),
    (SPREAD, {"rho": 0.02}, "sum(wait_count)", 395, True),
    (PAIRS, {"rho": 0.5}, f"sum(visits{WEST}) - sum(visits{NORTH})", 140, True),
    (PAIRS, {"rho": 0.5}, "all - by_sex[sex=f]", 132, True),
    (PAIRS, {"rho": 0.5}, 'by_sex[sex="m"] - sum(visits[region="north",sex=m])', 112, True),
    pytest.param(
        PAIRS, {"epsilon": 2.0}, f"sum(visits{WEST}) / all", 200 / 395, False,
        marks=pytest.mark.thorough,
    ),
]  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("queries", "privacy", "text", "truth", "exact"), CASES)
def test_intervals_hold_the_truth(
    queries: list[Any],
    privacy: dict[str, Any],
    text: str,
    truth: float,
    exact: bool,
    entropy: Any,
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Redrawn(tmp_path, queries, **privacy)
    if queries is STAIRS:
        assert {step.noise.family for step in made.plan.steps} == {NoiseFamily.STAIRCASE}
    facts, missed = made.facts(entropy), 0
    for _ in range(DRAWS):
        _, told = combine(Published(facts, made.tables(entropy)), text, ALPHA)
        missed += not told.low - Fraction(1, 10**9) <= truth <= told.high + Fraction(1, 10**9)
    assert binom.sf(missed - 1, DRAWS, float(ALPHA)) > ALARM
    if exact:  # not wider than it need be: of half the chance it would be missed too often
        assert binom.cdf(missed, DRAWS, float(ALPHA)) > ALARM
