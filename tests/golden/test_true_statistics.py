"""With a budget so large that noise all but vanishes, statistics are what plain Python finds."""

from __future__ import annotations

import csv
import statistics
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dprelease

DATA = Path(__file__).resolve().parents[2] / "sample_data" / "clinic_visits.csv"
REGIONS = ["north", "south", "east", "west", "central", "islands"]
DIAGNOSES = ["hypertension", "injury", "asthma", "cancer"]
PRICES = [20, 50, 100, 200, 400, 800]
MISSING = {"", "n/a", "unknown", "?"}
HUGE = 20_000
SELECTED: dict[str, Any] = {"partition_selection": {"delta": Decimal("1e-8")}}
PEOPLE = {
    "unit": "column",
    "unit_column": "patient_id",
    "bounding": {"max_rows_per_unit": 60, "max_groups_per_unit": 20},
}


def records() -> list[dict[str, str | None]]:
    """The records whose line is well-formed, nulls as None."""
    text = DATA.read_text("utf-8").splitlines()
    head = next(csv.reader([text[0]]))
    sound = [next(csv.reader([line])) for line in text[1:] if line.count('"') % 2 == 0]
    return [
        dict(zip(head, (None if each in MISSING else each for each in fields), strict=True))
        for fields in sound
        if len(fields) == len(head)
    ]


def number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def published(tmp_path: Path, *queries: dict[str, Any], **privacy: Any) -> dict[str, Any]:
    """The tables of a release, each as columns."""
    spec = {
        "release": {"name": "true-statistics"},
        "data": {"path": str(DATA), "null_values": sorted(MISSING)},
        "privacy": {"unit": "row", "adjacency": "add-remove"} | privacy,
        "ledger": {"path": str(tmp_path / "ledger.sqlite")},
        "columns": {
            "region": {"type": "string", "keys": REGIONS},
            "diagnosis": {"type": "string", "keys": DIAGNOSES},
            "as_written": {"type": "string", "expression": "diagnosis"},
            "patient_id": {"type": "string"},
            "urgent": {"type": "boolean"},
            "waiting_days": {"type": "integer", "lower": 0, "upper": 180},
            "cost": {"type": "decimal", "lower": 0, "upper": 2000, "step": 1},
        },
        "query": [query | {"epsilon": HUGE} for query in queries],
        "output": {"path": str(tmp_path / "out")},
    }
    result = dprelease.run(spec)
    return {name: table.to_pydict() for name, table in result.tables.items()}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str | None]]:
    return records()


def by_region(rows: list[dict[str, str | None]]) -> list[list[dict[str, str | None]]]:
    return [[row for row in rows if row["region"] == region] for region in REGIONS]


def clamped(rows: list[dict[str, str | None]], column: str, upper: float) -> list[int]:
    values = (number(row[column]) for row in rows)
    return [round(min(max(value, 0), upper)) for value in values if value is not None]


def test_shares_spreads_and_different_values(tmp_path: Path, rows: Any) -> None:
    by = {"by": ["region"]}
    table = published(
        tmp_path,
        {"name": "spread", "statistic": "stddev", "column": "waiting_days", **by},
        {"name": "var", "statistic": "variance", "column": "waiting_days", **by},
        {"name": "urgent_share", "statistic": "proportion", "where": "urgent", **by},
        {"name": "long_share", "statistic": "proportion", "where": "waiting_days > 30", **by},
        {"name": "patients", "statistic": "count_distinct", "column": "patient_id", **by},
        {
            "name": "price",
            "statistic": "ratio",
            "numerator": {"column": "cost", "where": "urgent"},
            "denominator": "urgent",
            **by,
        },
    )["by_region"]
    for at, inside in enumerate(by_region(rows)):
        waits = clamped(inside, "waiting_days", 180)
        urgent = [row for row in inside if row["urgent"] == "true"]
        assert abs(table["var"][at] - statistics.pvariance(waits)) < 0.1
        assert abs(table["spread"][at] - statistics.pstdev(waits)) < 0.01
        assert abs(table["spread_mean"][at] - statistics.fmean(waits)) < 0.01
        assert table["var_count"][at] == table["spread_count"][at] == len(waits)
        known = [row for row in inside if row["urgent"] in {"true", "false"}]
        assert len(waits) < len(inside)
        assert table["urgent_share_count"][at] == len(known)
        assert abs(table["urgent_share"][at] - len(urgent) / len(known)) < 1e-5
        assert table["long_share_count"][at] == len(waits)
        assert abs(table["long_share"][at] - sum(wait > 30 for wait in waits) / len(waits)) < 1e-5
        assert table["patients"][at] == len({row["patient_id"] for row in inside} - {None})
        assert abs(table["price"][at] - sum(clamped(urgent, "cost", 2000)) / len(urgent)) < 0.01


def test_several_tables_of_one_query(tmp_path: Path, rows: Any) -> None:
    sets = [["region"], ["urgent", "region"], [], ["region", "diagnosis"]]
    found = published(
        tmp_path,
        {"name": "n", "statistic": "marginals", "attributes": sets[:3]},
        {"name": "m", "statistic": "count", "by": ["region"], "levels": ["diagnosis"]},
    )
    for columns, name in zip(sets, "nnnm", strict=True):
        table = found["_".join(["by", *columns]) if columns else "overall"]
        keys = {"region": REGIONS, "diagnosis": DIAGNOSES, "urgent": [False, True]}
        cells = list(product(*(keys[column] for column in columns)))
        for place, column in enumerate(columns):
            assert table[column] == [cell[place] for cell in cells]
        true = Counter(
            tuple(row[one] == "true" if one == "urgent" else row[one] for one in columns)
            for row in rows
            if "urgent" not in columns or row["urgent"] in {"true", "false"}
        )
        broken = 0 if columns else 1  # a line that is no record counts as one without values
        assert table[name] == [true[cell] + broken for cell in cells]


def test_cumulative_counts(tmp_path: Path, rows: Any) -> None:
    edges = [0, 100, 200, 400, 800, 2000]
    query = {"name": "n", "statistic": "cumulative", "column": "cost", "bins": edges,
             "by": ["region"], "q": Decimal("0.9")}  # fmt: skip
    table = published(tmp_path, query)["by_region_cost"]
    for at, inside in enumerate(by_region(rows)):
        costs = [cost for row in inside if (cost := number(row["cost"])) is not None]
        costs = sorted(cost for cost in costs if 0 <= cost <= 2000)
        part = slice(5 * at, 5 * at + 5)
        true = [sum(cost < edge for cost in costs) for edge in edges[1:-1]] + [len(costs)]
        assert table["n"][part] == true
        true_quantile = costs[int(0.9 * len(costs))]
        (low,), (high,) = set(table["n_q90_low"][part]), set(table["n_q90_high"][part])
        assert low <= true_quantile <= high
        assert edges.index(high) == edges.index(low) + 1
        (quantile,) = set(table["n_q90"][part])
        assert low <= quantile <= high


def test_densities(tmp_path: Path, rows: Any) -> None:
    one = {"statistic": "density", "bandwidth": 9, "by": ["region"], "points": [0, 30, 100, 180]}
    two = {"statistic": "density", "columns": ["waiting_days", "cost"], "bandwidth": [20, 200]}
    tables = published(
        tmp_path, {"name": "curve", "column": "waiting_days", **one}, {"name": "surface", **two}
    )

    def kernel(at: float, value: float, upper: float, bandwidth: float) -> float:
        """What a value adds, and what lies beyond the bounds of that, put back."""
        law = statistics.NormalDist(0, bandwidth)
        return sum(map(law.pdf, (at - value, at + value, 2 * upper - at - value)))

    curve = tables["curve"]
    assert curve["region"] == [region for region in REGIONS for _ in range(4)]
    for place, inside in enumerate(by_region(rows)):
        waits = clamped(inside, "waiting_days", 180)
        for at, point in enumerate((0, 30, 100, 180)):
            true = statistics.fmean(kernel(point, wait, 180, 9) for wait in waits)
            assert abs(curve["curve"][4 * place + at] - true) < 0.02 / 9
    surface = tables["surface"]
    pairs = [(number(row["waiting_days"]), number(row["cost"])) for row in rows]
    whole = [(min(max(a, 0), 180), min(max(b, 0), 2000)) for a, b in pairs
             if a is not None and b is not None]  # fmt: skip
    for at in range(0, 400, 37):
        first, second = float(surface["waiting_days"][at]), float(surface["cost"][at])
        true = statistics.fmean(
            kernel(first, a, 180, 20) * kernel(second, b, 2000, 200) for a, b in whole
        )
        assert abs(surface["surface"][at] - true) < 0.05 / 20 / 200


def test_quantiles(tmp_path: Path, rows: Any) -> None:
    by = {"by": ["region"], "column": "cost"}
    found = published(
        tmp_path,
        {"name": "c", "statistic": "quantile", "q": [Decimal("0.125"), Decimal("0.75")], **by},
        {"name": "half", "statistic": "median", **by},
        {"name": "low", "statistic": "min", **by},
        {"name": "high", "statistic": "max", **by},
    )["by_region"]
    for at, inside in enumerate(by_region(rows)):
        costs = sorted(clamped(inside, "cost", 2000))
        for name, q in (("c_q12_5", 0.125), ("c_q75", 0.75), ("half", 0.5), ("low", 0.01),
                        ("high", 0.99)):  # fmt: skip
            value, off = found[name][at], found[f"{name}_rank_moe"][at]
            below = sum(cost < value for cost in costs)
            upto = sum(cost <= value for cost in costs)
            assert below - off - 1 <= q * len(costs) <= upto + off + 1
            assert off <= 2
            assert f"{name}_noise_moe" not in found


def test_choices(tmp_path: Path, rows: Any) -> None:
    by = {"by": ["region"]}
    table = published(
        tmp_path,
        {"name": "first", "statistic": "mode", "column": "diagnosis", **by},
        {"name": "d", "statistic": "top_k", "column": "diagnosis", "k": 3, **by},
        {
            "name": "fee",
            "statistic": "best",
            "candidates": PRICES,
            "score": "CASE WHEN cost >= candidate THEN candidate ELSE 0 END",
            "score_upper": 800,
            **by,
        },
    )["by_region"]
    for at, inside in enumerate(by_region(rows)):
        order = Counter(row["diagnosis"] for row in inside if row["diagnosis"] in DIAGNOSES)
        names = [name for name, _ in order.most_common(3)]
        assert [table[f"d_{rank}"][at] for rank in (1, 2, 3)] == names
        assert table["first"][at] == names[0]
        costs = [cost for row in inside if (cost := number(row["cost"])) is not None]
        assert table["fee"][at] == str(
            max(PRICES, key=lambda price: price * sum(cost >= price for cost in costs))
        )


def test_people_and_private_keys(tmp_path: Path, rows: Any) -> None:
    """With bounds above what anybody has, nothing is cut."""
    tables = published(
        tmp_path,
        {"name": "patients", "statistic": "count_units", "by": ["region"]},
        {"name": "visits", "statistic": "count", "by": ["region"]},
        {"name": "people", "statistic": "count_units", "by": ["as_written"], **SELECTED},
        {"name": "n", "statistic": "count", "by": ["as_written"], **SELECTED},
        delta=Decimal("1e-8"),
        **PEOPLE,
    )
    for at, inside in enumerate(by_region(rows)):
        known = [row for row in inside if row["patient_id"] is not None]
        assert tables["by_region"]["patients"][at] == len({row["patient_id"] for row in known})
        assert tables["by_region"]["visits"][at] == len(known)
    people: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["patient_id"] is not None and row["diagnosis"] is not None:
            people[row["diagnosis"]].append(row["patient_id"])
    found = tables["by_as_written"]
    assert found["as_written"] == sorted(people)
    assert found["people"] == [len(set(people[key])) for key in found["as_written"]]
    assert found["n"] == [len(people[key]) for key in found["as_written"]]


@pytest.mark.thorough
def test_quantiles_and_choices_by_private_keys(tmp_path: Path, rows: Any) -> None:
    """A public group beside the private one; some keys have no records that the mode counts."""
    selection = SELECTED["partition_selection"] | {"epsilon": HUGE}
    by = {"by": ["region", "as_written"], "partition_selection": selection}
    table = published(
        tmp_path,
        {"name": "half", "statistic": "median", "column": "waiting_days", **by},
        {"name": "c", "statistic": "quantile", "q": [Decimal("0.25"), Decimal("0.75")],
         "column": "cost", **by},
        {"name": "dear", "statistic": "mode", "column": "urgent", "where": "cost > 1500", **by},
        {"name": "most", "statistic": "top_k", "column": "urgent", "k": 2, **by},
        {
            "name": "fee",
            "statistic": "best",
            "candidates": PRICES,
            "score": "CASE WHEN cost >= candidate THEN candidate ELSE 0 END",
            "score_upper": 800,
            **by,
        },
        delta=Decimal("1e-8"),
        **PEOPLE,
    )["by_region_as_written"]  # fmt: skip
    cells: defaultdict[tuple[str, str], list[dict[str, str | None]]] = defaultdict(list)
    for row in rows:
        region, name = row["region"], row["diagnosis"]
        if region in REGIONS and name is not None and row["patient_id"] is not None:
            cells[str(region), name].append(row)
    keys = list(zip(table["region"], table["as_written"], strict=True))
    assert keys == sorted(cells, key=lambda key: (REGIONS.index(key[0]), key[1]))
    empty = 0
    for at, key in enumerate(keys):
        inside = cells[key]
        for name, q, values in (
            ("half", 0.5, clamped(inside, "waiting_days", 180)),
            ("c_q25", 0.25, clamped(inside, "cost", 2000)),
            ("c_q75", 0.75, clamped(inside, "cost", 2000)),
        ):
            found = table[name][at]
            below, upto = (sum(test(value) for value in values)
                           for test in (found.__gt__, found.__ge__))  # fmt: skip
            assert below - 3 <= q * len(values) <= upto + 3
        dear = Counter(row["urgent"] for row in inside if (number(row["cost"]) or 0) > 1500)
        empty += not dear
        assert table["dear"][at] in {"true", "false"}
        assert dear[table["dear"][at]] == max(dear["true"], dear["false"])
        order = Counter(row["urgent"] for row in inside)
        assert {table["most_1"][at], table["most_2"][at]} == {"true", "false"}
        assert order[table["most_1"][at]] >= order[table["most_2"][at]]
        costs = [cost for row in inside if (cost := number(row["cost"])) is not None]
        scores = {str(price): price * sum(cost >= price for cost in costs) for price in PRICES}
        assert scores[table["fee"][at]] == max(scores.values())
    assert empty > 0


def test_bounds_leave_rows_out(tmp_path: Path, rows: Any) -> None:
    tight = PEOPLE | {"bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 1}}
    table = published(
        tmp_path,
        {"name": "patients", "statistic": "count_units", "by": ["region"]},
        {"name": "visits", "statistic": "count"},
        **tight,
    )
    visits = Counter(row["patient_id"] for row in rows if row["patient_id"] is not None)
    assert table["overall"]["visits"] == [sum(min(each, 2) for each in visits.values())]
    inside = {row["patient_id"] for row in rows if row["region"] in REGIONS} - {None}
    assert sum(table["by_region"]["patients"]) == len(inside)
