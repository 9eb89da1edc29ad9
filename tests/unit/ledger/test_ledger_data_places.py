"""Under disjoint periods one place has one period, whatever way the two are named."""

from __future__ import annotations

import os
from fractions import Fraction
from glob import glob
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

from dprelease import Failure, load
from dprelease.ledger.data_places import list_place_steps, may_meet
from dprelease.ledger.privacy_filter import Caps, Terms, wrap_loss
from dprelease.ledger.store import Ledger
from dprelease.model import Database, Loss, Source

FILES = ("a.csv", "b.csv", "*.csv", "a?.csv")
STEPS = ("a", "b", "ab", "a*", "*b", "?", "[ab]", "[!a]", "*", "**")


def test_places_that_share_a_file_may_meet(tmp_path: Path) -> None:
    """Against the files that the globs find, in a tree that has all short names."""
    names = ("a", "b", "ab")
    for folder in product(names, repeat=2):
        (tmp_path.joinpath(*folder)).mkdir(parents=True)
        for name in names:
            tmp_path.joinpath(*folder, f"{name}.csv").touch()
    patterns = [os.path.join(tmp_path, *steps) for steps in product(STEPS, STEPS, FILES)]
    found = {pattern: set(glob(pattern, recursive=True)) for pattern in patterns}
    places = {pattern: list_place_steps(Source(pattern, "csv")) for pattern in patterns}
    met = apart = 0
    for one, other in combinations_with_replacement(patterns[::3], 2):
        may = may_meet(places[one], places[other])
        assert may == may_meet(places[other], places[one])
        if found[one] & found[other]:
            assert may, (one, other)
        met, apart = met + may, apart + (not may)
    assert min(met, apart) > 500  # neither answer is given to all


SAME = [
    ("x/2026.csv", "x/./2026.csv"),
    ("x/2026.csv", "x//2026.csv"),
    ("x/2026.csv", "x/y/../2026.csv"),
    ("x/2026.csv", "link.csv"),
    ("x/2026.csv", "folder/2026.csv"),
    ("x/2026.csv", "x"),
    ("x/2026.csv", "folder"),
    ("x/2026.csv", "x/*.csv"),
    ("x/2026.csv", "folder/20*.csv"),
    ("x/20[0-9][0-9].csv", "x/2*6.csv"),
    ("**/2026/**/*.csv", "**/2027/**/*.csv"),
    ("x/2026.CSV", "x/2026.csv"),
]
OTHERS = [
    ("x/2026-01.csv", "x/2026-02.csv"),
    ("x/2026-01/*.csv", "x/2026-02/*.csv"),
    ("x/*/2026-01.csv", "x/*/2026-02.csv"),
    ("x/2026", "x/2026-02.csv"),
    ("**/2026-01/*.csv", "**/2026-02/*.csv"),
]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [*((*pair, True) for pair in SAME), *((*pair, False) for pair in OTHERS)],
)
def test_paths_are_held_against_each_other(
    tmp_path: Path, one: str, other: str, same: bool
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "2026.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "x" / "2026.csv")
    (tmp_path / "folder").symlink_to(tmp_path / "x")
    places = [
        list_place_steps(Source(os.path.join(tmp_path, each), "csv")) for each in (one, other)
    ]
    assert may_meet(*places) is same


LONG = "v" * 63


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("visits",), ("main", "visits"), True),
        (("visits",), ("VISITS",), True),
        (("public", "Visits"), ("public", "visits"), True),
        ((f"{LONG}1",), (f"{LONG}2",), True),  # PostgreSQL reads 63 bytes
        (("main", "visits"), ("other", "visits"), False),
        (("visits_1",), ("visits_2",), False),
        (("visits_1",), ("main", "visits_2"), False),
    ],
)
def test_tables_are_held_against_each_other(
    one: tuple[str, ...], other: tuple[str, ...], same: bool
) -> None:
    places = [list_place_steps(Source("t", "adbc", database=Database("sqlite", "U", table)))
              for table in (one, other)]  # fmt: skip
    assert may_meet(*places) is same


def test_uris_are_held_against_each_other() -> None:
    def place(uri: str) -> tuple[str, ...]:
        return list_place_steps(Source(uri, "parquet"))

    assert may_meet(place("s3://b/x//1.parquet"), place("s3a://b/x/1.parquet?region=eu"))
    assert may_meet(place("s3://b/x"), place("s3://b/x/1.parquet"))
    assert not may_meet(place("s3://b/x/1.parquet"), place("s3://b/x/2.parquet"))


def charge_all(path: Path, *runs: tuple[str, str, bool]) -> list[str]:
    """What a ledger says to charges of (place, period, disjoint): nothing if it takes one."""
    said = []
    with Ledger.open(str(path / "l.sqlite")) as ledger:
        for number, (place, period, disjoint) in enumerate(runs):
            data = list_place_steps(Source(place, "csv")) if disjoint else None
            try:
                ledger.charge(f"{number:064}", "d", "r", Loss(Fraction(1)), Caps(Fraction(1)), {},
                              period=period, disjoint=disjoint, data=data)  # fmt: skip
            except Failure as failure:
                said.append(str(failure))
            else:
                said.append("")
    return said


def test_one_place_under_two_periods_is_refused(tmp_path: Path) -> None:
    said = charge_all(tmp_path, ("/d/x.csv", "spring", True), ("/d/./x.csv", "autumn", True))
    assert said[0] == ""
    assert 'entry 1 of the ledger charged the data of period "autumn"' in said[1]
    assert 'as disjoint period "spring"' in said[1]


def test_one_place_under_periods_that_overlap_adds_up(tmp_path: Path) -> None:
    said = charge_all(tmp_path, ("/d/x.csv", "2026-Q1", True), ("/d/x.csv", "2026-02", True))
    assert said[1].startswith("E301 ")


def test_places_of_their_own_cost_the_dearest_period(tmp_path: Path) -> None:
    said = charge_all(tmp_path, ("/d/1.csv", "2026-01", True), ("/d/2.csv", "2026-02", True))
    assert said == ["", ""]


def test_a_charge_keeps_the_place_of_its_data(tmp_path: Path) -> None:
    charge_all(tmp_path, ("/d/x.csv", "spring", True), ("/d/y.csv", "2026", False))
    loss = Loss(Fraction(1))
    with Ledger.read(str(tmp_path / "l.sqlite")) as ledger:
        (run,) = ledger.list_runs()
    assert run.terms == Terms(loss, wrap_loss(loss), "spring", True, ("d", "x.csv", "**"))


def spec(data: dict[str, Any], period: str) -> None:
    load(
        {
            "release": {"name": "r"},
            "data": data,
            "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
            "ledger": {"dataset": "d", "epsilon_cap": 1, "disjoint_periods": True},
            "query": [{"name": "n", "statistic": "count"}],
            "output": {"path": "out-{period}"},
        },
        period=period,
    )


@pytest.mark.parametrize("table", ["{period}", "main.{period}", '"{period}"', "v_{period}"])
def test_a_period_of_a_table_names_no_other_schema(table: str) -> None:
    data = {"format": "adbc", "driver": "sqlite", "uri_env": "U", "table": table}
    spec(data, "visits")
    with pytest.raises(Failure, match=r'E241 the period "main\.visits" would change the schema'):
        spec(data, "main.visits")


@pytest.mark.parametrize("path", ["../x/{period}.csv", "a/../{period}/x.csv", "../{period}.csv"])
def test_a_path_that_goes_up_can_separate_periods(path: str) -> None:
    spec({"path": path}, "2026-01")


@pytest.mark.parametrize("path", ["{period}/../x.csv", "x/{period}/a/../../y.csv", "{period}*.csv"])
def test_a_path_that_undoes_its_period_does_not(path: str) -> None:
    with pytest.raises(Failure, match="E241"):
        spec({"path": path}, "2026-01")
