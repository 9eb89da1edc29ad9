"""Numbers of different values in one table with each statistic that adds up, planned as in a run.

They share a request, which an engine may answer in several ways: both engines, rows and people,
against plain loops. Rows of a person are all alike, so that which of them are kept is known.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tables import ENGINES, T, asked, written

import dprelease
from dprelease.kernel.core.engine_requests import Job, build_jobs
from dprelease.model import Measure, MeasureKind
from dprelease.planning.planner import make_plan

TYPES = {"p": T.STRING, "g": T.STRING, "x": T.INTEGER, "c": T.STRING}
CELLS = ("a", "b", "c")
MOST = 3

ADDITIVE: dict[str, dict[str, Any]] = {
    "count": {},
    "count_units": {},
    "sum": {"column": "x"},
    "mean": {"column": "x"},
    "variance": {"column": "x"},
    "stddev": {"column": "x"},
    "ratio": {"numerator": {"column": "x", "where": "x > 2"}, "denominator": "x < 9"},
    "proportion": {"where": "x > 2"},
}


class Row(NamedTuple):
    p: str
    g: str | None
    x: int | None
    c: str | None


def rows() -> list[Row]:
    """Forty people in one cell each, or in none, with one to five rows that are alike."""
    found = []
    for person in range(40):
        g = (*CELLS, "elsewhere", None)[person % 5]
        x = None if person % 7 == 0 else person % 13 - 3
        c = None if person % 11 == 0 else f"v{person * person % 9}"
        found += [Row(f"p{person}", g, x, c)] * (1 + person // 5 % 5)
    return found


def unit_of(people: bool, most: int) -> dict[str, Any]:
    if not people:
        return {"unit": "row"}
    limits = {"max_rows_per_unit": most, "max_groups_per_unit": 2}
    return {"unit": "column", "unit_column": "p", "bounding": limits}


def job_of(source: Path, statistic: str, people: bool, form: str) -> Job:
    """The one request of a table with both."""
    queries = [
        {"name": "figure", "statistic": statistic, **ADDITIVE[statistic]},
        {"name": "values", "statistic": "count_distinct", "column": "c"},
        {"name": "numbers", "statistic": "count_distinct", "column": "x"},
    ]
    release = dprelease.load(
        {
            "release": {"name": "beside"},
            "data": {"path": str(source), "format": form},
            "privacy": {"adjacency": "add-remove", **unit_of(people, MOST)},
            "ledger": {"path": str(source.parent / "ledger.sqlite")},
            "columns": {
                "g": {"type": "string", "keys": list(CELLS)},
                "x": {"type": "integer", "lower": -2, "upper": 8},
                "c": {"type": "string"},
            },
            "query": [{"by": ["g"], "epsilon": 1, **query} for query in queries],
            "output": {"path": str(source.parent / "out")},
        }
    )
    (job,) = build_jobs(release, make_plan(release).steps)
    return job


def measured(kept: list[Row], measure: Measure) -> int:
    """Over the rows of a cell."""
    where = measure.where.text if measure.where is not None else ""
    least, most = {
        "": (None, None), "(x > 2) IS NOT NULL": (None, None),
        "x > 2": (3, None), "x < 9": (None, 8),
    }[where]  # fmt: skip
    held = [
        row
        for row in kept
        if not where
        or (
            row.x is not None
            and (least is None or row.x >= least)
            and (most is None or row.x <= most)
        )
    ]
    if measure.kind is MeasureKind.DISTINCT:
        return len({getattr(row, str(measure.column)) for row in held} - {None})
    if measure.kind is MeasureKind.RECORDS:
        return len(held)
    if measure.kind is MeasureKind.UNITS:
        return len({row.p for row in held})
    power = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}[measure.kind]
    return sum(min(max(row.x, -2), 8) ** power for row in held if row.x is not None)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("form", ["csv", "parquet files"])
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("statistic", ADDITIVE)
@pytest.mark.parametrize("engine", ENGINES)
def test_both_are_those_of_plain_loops(
    engine: str, statistic: str, people: bool, form: str, tmp_path: Path
) -> None:
    if people or statistic != "count_units":
        everybody = rows()
    else:  # without a column every row is a unit
        everybody = [row._replace(p=str(place)) for place, row in enumerate(rows())]
    written(tmp_path / "t", TYPES, everybody, form)
    job = job_of(tmp_path / "t", statistic, people, form.partition(" ")[0])
    kinds = {measure.kind for measure in job.request.measures}
    assert MeasureKind.DISTINCT in kinds
    assert len(kinds) >= 2
    kept, taken = [], Counter[str]()
    for row in everybody:
        taken[row.p] += 1
        if not people or taken[row.p] <= MOST:
            kept.append(row)
    cells = [[row for row in kept if row.g == cell] for cell in CELLS]
    expected = [[measured(cell, each) for cell in cells] for each in job.request.measures]
    assert asked(engine, job.request) == expected
    if people and statistic == "count":
        assert expected[0] != [sum(row.g == cell for row in everybody) for cell in CELLS]


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("engine", ENGINES)
def test_beside_a_histogram_they_are_asked_apart(engine: str, people: bool, tmp_path: Path) -> None:
    """Its cells are finer than those of the table."""
    source = written(tmp_path / "t", TYPES, rows(), "parquet")
    release = dprelease.load(
        {
            "release": {"name": "beside"},
            "data": {"path": source.pattern, "format": "parquet"},
            "privacy": {"adjacency": "add-remove", **unit_of(people, 9)},
            "ledger": {"path": str(tmp_path / "ledger.sqlite")},
            "columns": {
                "g": {"type": "string", "keys": list(CELLS)},
                "x": {"type": "integer", "keys": [1, 2, 3]},
                "c": {"type": "string"},
            },
            "query": [
                {"name": "h", "statistic": "histogram", "column": "x", "by": ["g"], "epsilon": 1,
                 "table": "fine"},
                {"name": "n", "statistic": "count_distinct", "column": "c", "by": ["g", "x"],
                 "epsilon": 1, "table": "fine"},
            ],
            "output": {"path": str(tmp_path / "out")},
        }
    )  # fmt: skip
    jobs = build_jobs(release, make_plan(release).steps)
    cells = [[row for row in rows() if row.g == g and row.x == x] for g in CELLS for x in (1, 2, 3)]
    for job in jobs:
        for measure, found in zip(job.request.measures, asked(engine, job.request), strict=True):
            assert found == [measured(cell, measure) for cell in cells]
