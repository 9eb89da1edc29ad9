"""No record makes a run fail by the length of its texts, whatever joins them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dprelease

LONG = "b" * 1_000_000
MANY = f"CONCAT({', '.join(['s'] * 99)})"
OTHER = f"CONCAT({', '.join(['s'] * 98)})"
CASES: dict[str, tuple[list[str], list[dict[str, Any]]]] = {
    "two columns": ([MANY, OTHER], []),
    "two conditions": ([], [{"where": f"{MANY} = 'a'"}, {"where": f"{OTHER} = 'a'"}]),
    "a column and a condition": ([MANY], [{"where": f"{OTHER} = 'a'"}]),
    "replaced by longer ones": (
        [f"REPLACE(s, 'b', '{'c' * 99}')", f"REPLACE(s, 'bb', '{'c' * 190}')"],
        [],
    ),
    "chains": (["||".join(["s"] * 13), "||".join(["s", "'x'"] * 9)], []),
    "a score": (
        [MANY],
        [
            {
                "statistic": "best",
                "candidates": ["a", "b"],
                "score": f"CASE WHEN {OTHER} = candidate THEN 1 ELSE 0 END",
                "score_upper": 1,
            }
        ],
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_ends_whatever_the_lengths(tmp_path: Path, case: str, format: str) -> None:
    derived, queries = CASES[case]
    texts = ["a", "", *[LONG] * 8]
    if format == "csv":
        (tmp_path / "d.csv").write_text("s,x\n" + "".join(f"{text},1\n" for text in texts))
    else:
        pq.write_table(pa.table({"s": texts, "x": [1] * len(texts)}), tmp_path / "d.parquet")
    computed = {
        f"c{at}": {
            "type": "string",
            "expression": text,
            "keys": ["z"],
            "other": "other",
            "nulls": "other",
            "source": "p",
        }
        for at, text in enumerate(derived)
    }
    queries = [{"by": [name]} for name in computed] + queries
    result = dprelease.run(
        {
            "schema": 1,
            "release": {"name": "long"},
            "data": {"path": str(tmp_path / f"d.{format}")},
            "privacy": {
                "unit": "row",
                "unit_description": "one record",
                "adjacency": "add-remove",
                "epsilon": 1000 * len(queries),
            },
            "columns": {"s": {"type": "string"}, **computed},
            "query": [
                {"name": f"q{at}", "statistic": "count"} | query for at, query in enumerate(queries)
            ],
            "output": {"path": str(tmp_path / "out")},
        }
    )
    for at, name in enumerate(computed):
        # What would be too long is null, which counts as "other".
        rows = result.tables[f"by_{name}"].to_pylist()
        assert [(row[name], round(row[f"q{at}"])) for row in rows] == [("z", 0), ("other", 10)]
