"""``other`` that is one of the keys: no group of its own, and so no cell that has no label."""

from __future__ import annotations

import csv
from math import sqrt
from pathlib import Path
from typing import Any

import builders
import pytest

import dprelease
from dprelease.kernel.certification import certify
from dprelease.planning.budgets import read_total
from dprelease.planning.planner import make_plan
from dprelease.planning.solve import choose_best_solution
from dprelease.specfile import load

STRING = {"type": "string", "keys": ["e\u0301", "n"]}


def read_group(**column: Any) -> Any:
    spec = builders.spec(
        columns={"g": STRING | column}, query=[{"name": "q", "statistic": "count", "by": ["g"]}]
    )
    return load(spec).queries[0].groups[0]


def test_every_record_has_a_label_and_no_label_is_added() -> None:
    group = read_group(other="n", nulls="n")
    assert group.labels == ("e\u0301", "n")
    assert (group.other, group.null_label) == ("n", "n")
    assert group.complete() is group


def test_another_spelling_of_a_key_is_that_key() -> None:
    group = read_group(other="\u00e9")
    assert group.labels == ("e\u0301", "n")
    assert group.other == "e\u0301"


def plan_yes_or_no(rest: str) -> Any:
    columns = {f"c{n}": {"type": "string", "keys": ["no", "yes"]} for n in range(8)}
    for column in columns.values():
        column |= {"other": rest, "nulls": rest}  # type: ignore[assignment]
    return load(
        builders.spec(
            privacy={"unit": "row", "unit_description": "a person", "adjacency": "add-remove",
                     "rho": 0.5, "delta": 1e-6},
            columns=columns,
            query=[{"name": "m", "statistic": "marginals", "columns": list(columns), "ways": [2]}],
        )
    )  # fmt: skip


def test_marginals_of_complete_codes_err_less() -> None:
    errors = {}
    for rest in ("rest", "no"):
        release = plan_yes_or_no(rest)
        certify(make_plan(release))
        found = choose_best_solution(release, read_total(release)).compute_errors().values()
        errors[rest] = sqrt(sum(found) / len(found))
    assert errors["no"] < 0.8 * errors["rest"]


@pytest.mark.parametrize("kind", ["string", "integer"])
def test_values_without_a_key_are_counted_in_it(tmp_path: Path, kind: str) -> None:
    (tmp_path / "t.csv").write_text("g,x\n1,a\n2,a\n2,b\n7,b\n,b\n?,b\n")
    keys: list[Any] = ["1", "2"] if kind == "string" else [1, 2]
    spec = builders.spec(
        data={"path": str(tmp_path / "t.csv")},
        privacy={"unit": "row", "unit_description": "a visit", "adjacency": "add-remove",
                 "epsilon": 10**6},
        columns={"g": {"type": kind, "keys": keys, "other": "2", "nulls": keys[0]}},
        query=[{"name": "n", "statistic": "count", "by": ["g"]}],
        ledger={"path": str(tmp_path / "ledger.sqlite")},
        output={"path": str(tmp_path / "out")},
    )  # fmt: skip
    dprelease.run(spec)
    with open(tmp_path / "out" / "by_g.csv", encoding="utf-8", newline="") as stream:
        found = {row["g"]: row["n"] for row in csv.DictReader(stream)}
    # "?" is no integer, and so missing; a text is what it is
    assert found == ({"1": "2", "2": "4"} if kind == "string" else {"1": "3", "2": "3"})
