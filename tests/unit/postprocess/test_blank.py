"""A table that says nothing is named; one with a figure beyond its noise is not."""

from __future__ import annotations

import pytest

from dprelease.model import OutputColumn, OutputTable
from dprelease.postprocess.estimate_columns import blank_tables


@pytest.mark.parametrize(
    ("values", "named"), [([0, 3, -3], ["t"]), ([0, 4, 0], []), ([100, 200, 300], []), ([1], [])]
)
def test_blank_tables(values: list[int], named: list[str]) -> None:
    table = OutputTable(
        "t",
        (
            OutputColumn("n", "integer", values, "", 0, "n"),
            OutputColumn("n_noise_moe", "integer", [3] * len(values), "", 0, "n"),
        ),
    )
    assert blank_tables([table], ["n"]) == named
    assert blank_tables([table], ["other"]) == []
