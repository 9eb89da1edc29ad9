"""A planned step of a query, without a planner."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dprelease.model import Adjacency, Loss, Noise, NoiseFamily, Query, Step
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

Planned = Callable[..., Step]


@pytest.fixture
def planned() -> Planned:
    """Make the step of a query with Laplace noise of epsilon 1, or another noise."""

    def make(query: Query, noise: Noise | None = None, **more: Any) -> Step:
        statistic = get_statistic(query.statistic)
        released = statistic.define_release(query)
        sensitivity = statistic.bound_sensitivity(query, Neighbours(Adjacency.ADD_REMOVE))
        law = noise or Noise(NoiseFamily.LAPLACE, Fraction(sensitivity.l1))
        given = {"form": released.form, "points": released.points,
                 "axes": released.axes} | more  # fmt: skip
        return Step(
            query,
            released.measures,
            released.transform,
            released.unit,
            sensitivity,
            law,
            Loss(Fraction(1)),
            **given,
        )

    return make
