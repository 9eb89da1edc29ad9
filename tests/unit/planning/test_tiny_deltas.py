"""Deltas far below 1e-12: read, planned and certified exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from builders import spec

from dprelease.kernel.certification import certify
from dprelease.model import NoiseFamily, Plan
from dprelease.planning.planner import make_plan
from dprelease.specfile import load

TINY = Decimal("2.1e-29")


def plan(query: dict[str, Any], **privacy: Any) -> Plan:
    rows = {"unit": "row", "unit_description": "a row", "adjacency": "add-remove"}
    column = (
        {"type": "string"} if "partition_selection" in query else {"type": "string", "keys": ["a"]}
    )
    asked = {"name": "n", "statistic": "count", "by": ["g"]} | query
    release = load(spec(privacy=rows | privacy, columns={"g": column}, query=[asked]))
    return certify(make_plan(release)).plan


def test_private_keys_have_their_threshold() -> None:
    made = plan({"partition_selection": {"delta": TINY}}, epsilon=Decimal("0.66"), delta=TINY)
    assert [step.threshold for step in made.steps] == [101]
    assert made.loss.delta == Fraction(21, 10**30)


@pytest.mark.parametrize("delta", ["1e-12", "1e-20", "1e-30", "1e-40"])
def test_gaussian_noise_grows_with_the_root_of_the_logarithm(delta: str) -> None:
    made = plan({"mechanism": "gaussian"}, epsilon=1, delta=Decimal(delta))
    noise = made.steps[0].noise
    assert noise.family is NoiseFamily.GAUSSIAN
    assert made.loss.delta <= Fraction(delta)
    # mu of a Gaussian at (1, delta) is near 1 / sqrt(2 ln(1/delta))
    digits = int(delta.removeprefix("1e-"))
    assert noise.parameter == pytest.approx(2 * 2.302585 * digits, rel=0.25)
