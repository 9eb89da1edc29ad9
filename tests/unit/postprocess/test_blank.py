"""Figures that say nothing are named; those with one beyond its noise are not."""

from __future__ import annotations

import pytest

from dprelease.model import OutputColumn, OutputTable
from dprelease.postprocess.intervals.estimate_columns import find_blank_figures


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([0, 3, -3], ["n", "m_count"]),
        ([1], ["n", "m_count"]),
        ([None, 2], ["n", "m_count"]),
        ([0, 4, 0], []),
        ([100, 200, 300], []),
    ],
)
def test_figures_within_their_noise_of_zero(values: list[int | None], named: list[str]) -> None:
    halves = [None if value is None else 3 for value in values]
    rows = len(values)
    columns = (
        OutputColumn("n", "integer", values, "", query="n"),
        OutputColumn("n_noise_moe", "integer", halves, "", query="n"),
        OutputColumn("m", "integer", [100] * rows, "", query="m"),
        OutputColumn("m_noise_moe", "integer", [3] * rows, "", query="m"),
        OutputColumn("m_count", "integer", values, "", query="m"),
        OutputColumn("m_count_noise_moe", "integer", halves, "", query="m"),
        OutputColumn("top", "text", ["a"] * rows, "", query="top"),
        OutputColumn("top_noise_moe", "integer", [3] * rows, "", query="top"),
    )
    assert find_blank_figures(OutputTable("t", columns)) == named
