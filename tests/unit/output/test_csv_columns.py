"""Whole columns are written as their fields would be one by one."""

from __future__ import annotations

import pytest

from dprelease.model import OutputColumn, OutputTable
from dprelease.output.csv_table import write_csv
from dprelease.postprocess.intervals.fixed_point import write_fixed_point

SOME = [0, 1, -1, 9, 10, -10, 99, 100, 101, -100, -101, 12345, -12345, 10**30, -(10**30)]


@pytest.mark.parametrize("places", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("missing", [[], [None]])
def test_numbers(places: int, times: int, missing: list[None]) -> None:
    values = [*SOME, *missing] * times
    made = OutputTable(
        "t",
        (OutputColumn("a", "number", values, "", places), OutputColumn("b", "text", values, "")),
    )
    fields = [line.split(",")[0] for line in write_csv(made).decode().splitlines()[1:]]
    assert fields == ["" if each is None else write_fixed_point(each, places) for each in values]


def test_constant_columns_anywhere() -> None:
    made = OutputTable(
        "t",
        (
            OutputColumn("a", "number", [-5, -5], "", 1),
            OutputColumn("b", "integer", [7, 7], ""),
            OutputColumn("c", "text", ["x,y", "x,y"], ""),
            OutputColumn("d", "integer", [1, 2], ""),
            OutputColumn("e", "integer", [None, None], ""),
            OutputColumn("f", "text", ["", ""], ""),
        ),
    )
    assert write_csv(made) == b'a,b,c,d,e,f\n-0.5,7,"x,y",1,,""\n-0.5,7,"x,y",2,,""\n'


def test_a_constant_column_of_another_length_is_a_mistake() -> None:
    made = OutputTable(
        "t", (OutputColumn("a", "integer", [1, 2], ""), OutputColumn("b", "integer", [3], ""))
    )
    with pytest.raises(ValueError, match="shorter"):
        write_csv(made)
