"""How long planning takes: 10 and 1,000 queries of several kinds, beyond start-up.

python benchmarks/planning.py

Each plan is certified, as every plan is. Times are of one process on a quiet machine; the
yardstick beside them is a fixed amount of arithmetic in this Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dprelease


def spec(queries: list[dict[str, Any]], columns: dict[str, Any]) -> dict[str, Any]:
    """A release of queries over a table that nobody opens."""
    return {
        "release": {"name": "planning"},
        "data": {"path": "none.csv"},
        "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1, "delta": 1e-6},
        "columns": columns | {"x": {"type": "integer", "lower": 0, "upper": 100}},
        "query": [{**query, "name": f"q{place}"} for place, query in enumerate(queries)],
        "output": {"path": "out"},
    }


def counts(number: int) -> dict[str, Any]:
    """Counts, each with a filter of its own."""
    return spec([{"statistic": "count", "where": f"x > {place}"} for place in range(number)], {})


def sums(number: int) -> dict[str, Any]:
    """Counts, and as many sums of as many columns with bounds of their own."""
    columns = {
        f"c{place}": {"type": "integer", "lower": 0, "upper": 100 + place}
        for place in range(number // 2)
    }
    queries: list[dict[str, Any]] = [
        {"statistic": "sum", "column": f"c{place}"} for place in range(number // 2)
    ]
    return spec([*counts(number - number // 2)["query"], *queries], columns)


def mixed(number: int) -> dict[str, Any]:
    """Five statistics of as many columns as queries, with weights, half of them by group."""
    columns: dict[str, Any] = {"g": {"type": "string", "keys": ["a", "b", "c"]}}
    queries = []
    for place in range(number):
        name = f"c{place}"
        columns[name] = {"type": "integer", "lower": 0, "upper": 10 + place}
        kind = ("mean", "sum", "variance", "count", "median")[place % 5]
        about = {"where": f"{name} > 3"} if kind == "count" else {"column": name}
        groups = {"by": ["g"]} if place % 2 else {}
        queries.append({"statistic": kind, "weight": 1 + place % 3, **about, **groups})
    return spec(queries, columns)


def yardstick() -> float:
    """Seconds that a sum of a hundred thousand fractions takes here."""
    began = time.perf_counter()
    sum((Fraction(1, 1 + place % 997) for place in range(100_000)), Fraction(0))
    return time.perf_counter() - began


def main() -> None:
    """Plan each kind at both sizes."""
    dprelease.plan(dprelease.load(counts(2)))  # imports and tables
    print(f"yardstick: {yardstick():.2f} s")
    kinds: tuple[Callable[[int], dict[str, Any]], ...] = (counts, sums, mixed)
    for make in kinds:
        for number in (10, 1000):
            release = dprelease.load(make(number))
            began = time.perf_counter()
            made = dprelease.plan(release)
            took = time.perf_counter() - began
            used = float(made.epsilon)
            print(
                f"{make.__name__:7} {number:5,}: {took:5.2f} s, {made.method}, epsilon {used:.5f}"
            )


if __name__ == "__main__":
    main()
