"""Intervals of counts that select private keys: they cover among the keys that are shown.

By the exact law, for every true count from 1 to far above the threshold.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace
from planned_figures import FAMILIES, LEVELS, NEIGHBOURS, get_law, neighbours_name

from dprelease.kernel.distributions.laws import find_halfwidth
from dprelease.mechanisms.mechanism_registry import refine_selection
from dprelease.model import ColumnType, Group, KeySelection, NoiseFamily, Query
from dprelease.planning.demanded_noise import choose_selection, count_most_keys
from dprelease.planning.steps import Draft
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

HIDDEN = (Group("g", ColumnType.STRING, (), private=True),)


@pytest.mark.parametrize("family", [*FAMILIES, NoiseFamily.CUT_LAPLACE])
@pytest.mark.parametrize("known", NEIGHBOURS, ids=neighbours_name)
def test_they_cover_whatever_the_true_count(known: Neighbours, family: NoiseFamily) -> None:
    """And the half-width of the noise alone would not, near the threshold."""
    name = "count_units" if known.people else "count"
    selection = KeySelection(Fraction(1, 10**6))
    cut = family is NoiseFamily.CUT_LAPLACE
    asked = "auto" if cut else family.value
    query = Query("q", name, "t", HIDDEN, key_selection=selection, mechanism=asked)
    statistic = get_statistic(name)
    sensitivity = statistic.bound_sensitivity(query, known)
    draft = Draft(query, statistic.define_release(query), sensitivity, known, selects=True)
    choice = choose_selection(draft, Fraction(1, 4) if cut else Fraction(1))
    if cut:  # taken even where Gaussian noise shows more keys
        keys = count_most_keys(draft)
        choice = refine_selection(draft, keys, replace(choice, threshold=10**6))
    step = draft.step(choice)
    assert step.noise.family is family
    assert step.threshold is not None
    draws, chances = get_law(step.noise, 1e-30)
    counts = step.threshold + np.arange(2 * len(draws))
    for level in LEVELS:
        columns = statistic.build_columns(step, [counts.tolist()], level)
        halves = np.array(columns[1].values)
        plain = find_halfwidth(step.noise, 1 - level)
        assert halves.min() == halves[-1] == plain
        least, least_of_plain = 1.0, 1.0
        for n in range(1, step.threshold + len(draws) // 2):
            seen = np.interp(counts - n, draws, chances, left=0.0, right=0.0)
            held = [seen[np.abs(counts - n) <= half].sum() / seen.sum() for half in (halves, plain)]
            least, least_of_plain = min(least, held[0]), min(least_of_plain, held[1])
        assert least >= float(level) - 1e-9
        if step.noise.parameter > 3:  # on a lattice of few points no interval can be close
            assert least <= float(level) + 0.6 * float(1 - level)
        assert least_of_plain < 0.1
