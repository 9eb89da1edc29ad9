"""Intervals of means that select private keys: they cover among the keys that are shown.

By the exact law of both sums, for true numbers of values from 1 to far above the threshold.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import builders
import numpy as np
import pytest
from msgspec.structs import replace
from planned_figures import LEVELS, get_law

import dprelease
from dprelease.model import (
    Adjacency,
    Column,
    ColumnType,
    Grid,
    Group,
    KeySelection,
    Noise,
    NoiseFamily,
    Query,
    Step,
)
from dprelease.model.key_thresholds import compute_least_units
from dprelease.planning.demanded_noise import choose_selection
from dprelease.planning.steps import Draft
from dprelease.postprocess.intervals.selected_sums import compute_pair_tail
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.statistic import Neighbours
from dprelease.statistics.statistic_registry import get_statistic

HIDDEN = (Group("g", ColumnType.STRING, (), private=True),)
WIDTH = 4
COLUMN = Column("x", ColumnType.INTEGER, Grid(Fraction(1), -1, WIDTH - 1))
KNOWN = Neighbours(Adjacency.ADD_REMOVE, Contribution(1, 1, 1), people=False)


def build_draft() -> Draft:
    selection = KeySelection(Fraction(1, 100))
    query = Query("m", "mean", "t", HIDDEN, COLUMN, key_selection=selection)
    mean = get_statistic("mean")
    sensitivity = mean.bound_sensitivity(query, KNOWN)
    return Draft(query, mean.define_release(query), sensitivity, KNOWN, selects=True)


def list_held(step: Step, noisy: list[list[int]], level: Fraction, truths: dict[str, float]) -> Any:
    """Which of these keys have an interval that holds the truth, by column."""
    columns = {each.name: each for each in get_statistic("mean").build_columns(step, noisy, level)}
    held = {}
    for name, truth in truths.items():
        value, half = (
            np.array(columns[each].values, dtype=float) / 10 ** columns[each].decimals
            for each in (name, f"{name}_noise_moe")
        )
        held[name] = np.abs(value - truth) <= half + 1e-9
    return held


@pytest.mark.one_in(4)
@pytest.mark.parametrize("epsilon", ["1", "3"])
@pytest.mark.parametrize("level", LEVELS)
def test_they_cover_whatever_the_true_sums(epsilon: str, level: Fraction) -> None:
    """And the intervals of a mean by public keys would not, near the threshold."""
    draft = build_draft()
    step = draft.step(choose_selection(draft, Fraction(epsilon)))
    assert step.threshold is not None
    least_units = compute_least_units(step)
    draws, chances = get_law(step.noise, 1e-9)
    both = np.outer(chances, chances)
    least = {"m": 1.0, "m_count": 1.0}
    least_of_plain = 1.0
    far = 0.0
    for count in [1, 2, *range(3, 2 * least_units, 3), 6 * least_units]:
        for share in (0, 2, 4):
            ones = count * share
            first, second = np.meshgrid(draws + ones, draws + count * WIDTH - ones, indexing="ij")
            shown = first + second >= step.threshold
            if both[shown].sum() < 1e-6:  # the law is cut at what is rarer
                continue
            seen = both[shown] / both[shown].sum()
            noisy = [first[shown].astype(int).tolist(), second[shown].astype(int).tolist()]
            truths = {"m": -1.0 + share, "m_count": float(count)}
            held = list_held(step, noisy, level, truths)
            for name, rows in held.items():
                least[name] = min(least[name], float(seen[rows].sum()))
            plain = list_held(replace(step, threshold=None), noisy, level, truths)
            least_of_plain = min(least_of_plain, float(seen[plain["m"]].sum()))
            far = float(seen[held["m"]].sum())
    assert min(least.values()) >= float(level) - 1e-4
    assert least_of_plain < float(level) - 0.02
    # Far from the threshold they are those of a level a little higher.
    plainly = float(seen[plain["m"]].sum())
    assert plainly <= far <= plainly + 0.3 * float(1 - level)


def test_published_means_just_above_the_threshold_are_whole_and_hold(tmp_path: Path) -> None:
    rows = [f"k{key},{value}" for key in range(300) for value in [0] * 15 + [10] * 5]
    (tmp_path / "t.csv").write_text("\n".join(["s,x", *rows]) + "\n")
    spec = builders.spec(
        data={"path": str(tmp_path / "t.csv")},
        ledger={"path": str(tmp_path / "ledger.sqlite")},
        output={"path": str(tmp_path / "out")},
        privacy={"epsilon": 1, "delta": 2e-6},
        columns={
            "s": {"type": "string"},
            "x": {"type": "integer", "lower": 0, "upper": 10, "source": "p"},
        },
        query=[
            {
                "name": "m",
                "statistic": "mean",
                "column": "x",
                "by": ["s"],
                "partition_selection": {"delta": 1e-6},
            }
        ],
    )
    table = dprelease.run(spec).tables["by_s"].to_pydict()
    assert None not in table["m"] + table["m_noise_moe"] + table["m_count"]
    held = [
        abs(value - 2.5) <= half
        for value, half in zip(table["m"], table["m_noise_moe"], strict=True)
    ]
    assert len(held) > 100
    assert sum(held) / len(held) > 0.85  # of 95 %, at least, in 200 or so that are shown


def test_the_tail_of_a_pair_is_that_of_its_law() -> None:
    for scale in (Fraction(1, 2), Fraction(7, 3), Fraction(40)):
        draws, chances = get_law(Noise(NoiseFamily.LAPLACE, scale), 1e-18)
        pair = np.convolve(chances, chances)
        for start in (-30, -3, 0, 1, 2, 9, 50):
            wanted = pair[np.arange(len(pair)) + 2 * int(draws[0]) >= start].sum()
            assert compute_pair_tail(scale, start) == pytest.approx(wanted, abs=1e-12)
