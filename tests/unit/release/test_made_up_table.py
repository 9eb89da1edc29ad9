"""Made-up tables: of each column what the spec declares in public, and nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import Any

import builders
import pytest

from dprelease.release.made_up_table import DISTRIBUTIONS, POINTS, make_up_table
from dprelease.specfile import load

DECLARED: dict[str, dict[str, Any]] = {
    "region": {"type": "string", "keys": ["north", "süd, ost", 'a "b"']},
    "size": {"type": "integer", "keys": [3, 1, -2]},
    "rate": {"type": "decimal", "keys": [0.25, 1]},
    "open": {"type": "boolean", "keys": [True, False]},
    "urgent": {"type": "boolean"},
    "day": {"type": "date", "keys": ["2026-01-31", "0001-01-01", "9999-12-31"]},
    "moment": {"type": "timestamp", "keys": ["2026-01-31 00:00:00.5", "2026-02-01"]},
    "paid": {"type": "decimal", "lower": -1, "upper": 2, "step": 0.25},
    "days": {"type": "integer", "lower": 0, "upper": 180},
    "wide": {"type": "integer", "lower": 0, "upper": 1_000_000},
    "one": {"type": "integer", "lower": 7, "upper": 8},
    "age": {"type": "integer", "bins": [0, 18, 65]},
    "share": {"type": "float", "bins": [0, 0.5, 1]},
    "week": {"type": "date", "bins": ["2026-01-05", "2026-01-12", "2026-01-19"]},
    "town": {"type": "string"},
    "born": {"type": "date"},
    "seen": {"type": "timestamp"},
    "points": {"type": "integer"},
    "weight": {"type": "float"},
    "double_days": {"type": "integer", "expression": "days * 2", "lower": 0, "upper": 360},
    "band": {
        "type": "string",
        "expression": "CASE WHEN points > 5000 THEN 'many' ELSE 'few' END",
        "keys": ["many", "few"],
    },
}
WHERE = (
    "town = 'ayr' AND born >= DATE '1960-05-01' AND weight < 0.5 AND town IN ('oban', 'perth') "
    "AND born < DATE '1990-01-01' AND NOT urgent AND points < 1e300"
)


def release(**privacy: object) -> Any:
    spec = builders.spec(
        release={"name": "tried"},
        privacy={"epsilon": 1} | privacy,
        ledger={"epsilon_cap": 10, "delta_cap": 1e-6},
        columns=DECLARED,
        query=[{"name": "all", "statistic": "count", "where": WHERE}],
    )
    return load(spec)


def values(name: str, distribution: str = "uniform", rows: int = 3000) -> list[Any]:
    return make_up_table(release(), rows, distribution).column(name).to_pylist()


def distinct(name: str) -> set[Any]:
    return set(values(name)) - {None}


def test_values_are_those_of_the_spec() -> None:
    assert distinct("region") == set(DECLARED["region"]["keys"])
    assert distinct("size") == {3, 1, -2}
    assert distinct("rate") == {0.25, 1.0}
    assert distinct("open") == distinct("urgent") == {True, False}
    assert distinct("day") == {date(2026, 1, 31), date.min, date.max}
    moments = {datetime(2026, 1, 31, 0, 0, 0, 500_000), datetime(2026, 2, 1)}
    assert distinct("moment") == moments
    assert distinct("paid") == {quarter / 4 for quarter in range(-4, 9)}
    assert distinct("days") == set(range(181))
    assert distinct("one") == {7, 8}
    assert {0, 1_000_000} >= {min(distinct("wide")), max(distinct("wide"))}
    assert len(distinct("wide")) > POINTS * 0.9
    assert min(distinct("age")) == 0
    assert 18 <= max(distinct("age")) < 65
    assert {value >= 0.5 for value in distinct("share")} == {True, False}
    assert distinct("week") == {date(2026, 1, 5), date(2026, 1, 12)}


def test_a_column_without_a_domain_has_what_conditions_compare_it_with() -> None:
    assert {"ayr", "oban", "perth", "group 1"} <= distinct("town")
    assert min(distinct("born")) < date(1960, 5, 1) < date(1990, 1, 1) < max(distinct("born"))
    assert any(value < 0.5 for value in distinct("weight"))
    assert {4999, 5000, 5001, 0, 100} <= distinct("points")
    assert all(isinstance(moment, datetime) for moment in distinct("seen"))


def test_texts_that_are_compared_in_other_letters_are_made_up() -> None:
    paid = (
        "CASE WHEN LOWER(TRIM(answer)) IN ('ja', 'oui') THEN TRUE WHEN answer = 'N' THEN FALSE END"
    )
    columns = {
        "answer": {"type": "string"},
        "paid": {"type": "boolean", "expression": paid, "source": "public: form"},
    }
    asked = [{"name": "n", "statistic": "count", "by": ["paid"]}]
    table = make_up_table(load(builders.spec(columns=columns, query=asked)), 500, "uniform")
    assert {"ja", "oui", "N"} <= set(table["answer"].to_pylist())


def test_only_inputs_are_made_up() -> None:
    names = make_up_table(release(), 5, "uniform").column_names
    assert set(names) == DECLARED.keys() - {"double_days", "band"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_some_values_are_null_and_the_same_call_gives_the_same(distribution: str) -> None:
    table = make_up_table(release(), 2000, distribution)
    assert table.num_rows == 2000
    for name in table.column_names:
        assert 10 < table.column(name).null_count < 80, name
    assert table.equals(make_up_table(release(), 2000, distribution))


def test_skewed_tables_have_more_of_the_first_keys_and_of_low_values() -> None:
    counts = Counter(values("region", "skewed"))
    ordered = [counts[key] for key in DECLARED["region"]["keys"]]
    assert ordered[0] > 2 * ordered[1] > 2 * ordered[2] > 0
    low, even = sorted(filter(None, values("days", "skewed"))), sorted(filter(None, values("days")))
    assert low[len(low) // 2] < 60 < 80 < even[len(even) // 2] < 100
    even_counts = Counter(values("region"))
    assert all(900 < even_counts[key] < 1100 for key in DECLARED["region"]["keys"])


@pytest.mark.parametrize("unit", ["person", "points", "born", "region"])
def test_a_unit_has_as_many_rows_as_count_of_it(unit: str) -> None:
    bounded = release(
        unit="column", unit_column=unit, bounding={"max_rows_per_unit": 4, "max_groups_per_unit": 2}
    )
    column = make_up_table(bounded, 1000, "uniform").column(unit).to_pylist()
    assert len(column) == 1000
    if unit in ("person", "points"):
        sizes = Counter(Counter(column).values())
        assert set(sizes) == {1, 2, 3, 4}
