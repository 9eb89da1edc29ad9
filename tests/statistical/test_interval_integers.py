"""Intervals of single integers, by the exact law: they cover, and one step less does not.

For every statistic that publishes an integer with its noise, all neighbours, both kinds of noise.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from planned_figures import (
    CURVES,
    FAMILIES,
    LEVELS,
    NAMES,
    NEIGHBOURS,
    QUANTILES,
    RUNNING,
    SINGLE,
    THREE,
    TWO,
    build_query,
    build_step,
    get_law,
    neighbours_name,
    publish,
)

from dprelease.model import Adjacency, NoiseFamily, Query
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import STATISTICS

EPSILONS = [Fraction(3), Fraction(1), Fraction(1, 9)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
@pytest.mark.parametrize("name", SINGLE)
def test_they_cover_and_nothing_narrower_does(
    name: str, known: Neighbours, family: NoiseFamily
) -> None:
    for epsilon in EPSILONS:
        step = build_step(build_query(name), known, family, epsilon)
        assert step.noise.family is family
        draws, chances = get_law(step.noise)
        # of wide Gaussians a bound by the normal law is taken, which may be one step more
        spare = family is NoiseFamily.GAUSSIAN and step.noise.parameter > 2500
        for level in LEVELS:
            columns = publish(step, [700], [draws], level)
            value, half = (np.array(columns[key].values) for key in ("q", "q_noise_moe"))
            assert (value == 700 + draws).all()
            assert half.min() == half.max()
            covered = [chances[np.abs(draws) <= half - less].sum() for less in (0, 1 + spare)]
            assert covered[0] >= float(level) - 1e-12
            assert half[0] == 0 or covered[1] < float(level)


def test_what_no_neighbour_changes_is_exact() -> None:
    closed = Query("q", "count", "t")
    known = Neighbours(Adjacency.REPLACE_ONE)
    step = build_step(closed, known, NoiseFamily.LAPLACE, Fraction(1))
    assert step.noise.family is NoiseFamily.NONE
    columns = publish(step, [700], [np.array([0])], LEVELS[0])
    assert columns["q"].values == [700]
    assert columns["q_noise_moe"].values == [0]


def test_every_statistic_has_its_intervals_tested() -> None:
    """In the files test_interval_*.py."""
    own = {name for name, each in STATISTICS.items() if not each.keys.tables_of}
    assert {*SINGLE, *TWO, *THREE, *NAMES, *QUANTILES, *RUNNING, *CURVES} == own
