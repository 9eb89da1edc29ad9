"""States of fields: what each field counts as, in every engine, and how far a record moves them."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import builders
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drawn_requests import observed
from msgspec.structs import replace
from tables import COUNT, ENGINES, PHYSICAL, T, asked, by_key, inputs, keyed

import dprelease
from dprelease.model import (
    STATES,
    AggregateRequest,
    Column,
    Dialect,
    Expression,
    Grid,
    InputColumn,
    Source,
)

HALVES = Grid(Fraction(1, 2), -2, 20)  # from -1 to 10
COLUMNS = {
    "region": Column("region", T.STRING, keys=("north", "sud\u00e9")),
    "free": Column("free", T.STRING),
    "size": Column("size", T.INTEGER, keys=("1", "-2")),
    "rate": Column("rate", T.FLOAT, keys=("0.25", "1")),
    "yes": Column("yes", T.BOOLEAN, grid=Grid(Fraction(1), 0, 1)),
    "no": Column("no", T.BOOLEAN, keys=("false",), grid=Grid(Fraction(1), 0, 1)),
    "paid": Column("paid", T.DECIMAL, grid=HALVES),
    "days": Column("days", T.INTEGER, grid=Grid(Fraction(1), 0, 10)),
    "both": Column("both", T.INTEGER, keys=("5", "50"), grid=Grid(Fraction(1), 0, 10)),
    "age": Column("age", T.INTEGER, edges=("0", "18", "65")),
    "week": Column("week", T.DATE, edges=("2026-01-05", "2026-01-12")),
    "day": Column("day", T.DATE),
    "seen": Column("seen", T.TIMESTAMP),
}
# column -> field of a CSV file -> its state
TEXTS = {
    "region": {
        "north": "ok", "sude\u0301": "ok", "North": "undeclared", "": "null", "n/a": "null",
        " north": "undeclared", "1": "undeclared",
    },
    "free": {"anything": "ok", "": "null", "n/a": "null", "?": "ok"},
    "size": {"1": "ok", "1.0": "ok", " -2 ": "ok", "2": "undeclared", "1.5": "undeclared",
             "one": "unreadable", "": "null", "n/a": "null", "99": "null", "inf": "undeclared",
             " 99": "null", " ": "null", "\tn/a ": "null",
             "nan": "unreadable"},
    "rate": {"0.25": "ok", "2.5e-1": "ok", "0.26": "undeclared", "0,25": "unreadable"},
    "yes": {"true": "ok", "NO": "ok", "maybe": "unreadable", "": "null", " no ": "ok",
            "1.0": "ok", "0.00": "ok", "1e0": "ok", "0.5": "unreadable", "99.0": "unreadable"},
    "no": {"0": "ok", "1": "undeclared", "2": "unreadable"},
    "paid": {"10": "ok", "10.1": "clamped", "-1": "ok", "-1.2": "clamped", "-inf": "clamped",
             "1 000": "unreadable", "1,5": "unreadable", "n/a": "null", "99": "null"},
    "days": {"3": "ok", "3.5": "ok", "11": "clamped", "-0": "ok", "3 days": "unreadable"},
    "both": {"5": "ok", "50": "clamped", "500": "undeclared", "x": "unreadable"},
    "age": {"0": "ok", "65": "ok", "65.5": "undeclared", "-1": "undeclared", "old": "unreadable"},
    "week": {"2026-01-05": "ok", "2026-01-12": "ok", "2026-01-13": "undeclared",
             "05.01.2026": "unreadable", "": "null"},
    "day": {"2026-02-28": "ok", "2026-02-30": "unreadable", "2026-2-1": "unreadable",
            " 2026-02-28\t": "ok", " n/a ": "null"},
    "seen": {"2026-02-28 10:00:00": "ok", "2026-02": "unreadable", "n/a": "null"},
}  # fmt: skip
NAN, INFINITY = float("nan"), float("inf")
VALUES: dict[str, dict[Any, str]] = {
    "region": {"north": "ok", "North": "undeclared", None: "null", "": "undeclared"},
    "size": {1: "ok", 2: "undeclared", None: "null"},
    "rate": {0.25: "ok", NAN: "unreadable", None: "null", INFINITY: "undeclared"},
    "yes": {True: "ok", None: "null"},
    "both": {5: "ok", 50: "clamped", 500: "undeclared"},
    "age": {0: "ok", 66: "undeclared"},
    "week": {date(2026, 1, 6): "ok", date(2026, 2, 1): "undeclared", None: "null"},
}
CSV = Dialect(null_values=("", "n/a", "99"))


def states_of(engine: str, source: Source, *columns: Column) -> dict[tuple[str, ...], int]:
    """How many records have which states."""
    groups, states = zip(*map(observed, columns), strict=True)
    read = [InputColumn(column.name, column.type) for column in columns]
    (counts,) = asked(engine, AggregateRequest(source, (*read, *states), groups, COUNT))
    cells = product(STATES, repeat=len(columns))
    return {cell: count for cell, count in zip(cells, counts, strict=True) if count}


def states_by_number(engine: str, source: Source, column: Column) -> list[str]:
    """The state of each record; the records are numbered."""
    state, read = observed(column)
    numbers = keyed("number", map(str, range(20)))
    own = InputColumn(column.name, column.type, column.expression)
    stored = {"number": T.STRING} | ({} if column.expression is None else {"raw": T.STRING})
    request = AggregateRequest(source, (*inputs(stored), own, read), (numbers, state), COUNT)
    counts = [(int(at), label) for (at, label), (count,) in by_key(engine, request).items()
              for _ in range(count)]  # fmt: skip
    assert [at for at, _ in sorted(counts)] == [*range(len(counts))]
    return [label for _, label in sorted(counts)]


def csv_source(folder: Path, head: list[str], rows: list[list[str]], dialect: Dialect) -> Source:
    lines = [";".join(row) for row in (head, *rows)]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Source(str(path), "csv", replace(dialect, delimiter=";"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TEXTS)
def test_a_field_of_text_has_its_state(name: str, engine: str, tmp_path: Path) -> None:
    rows = [[str(number), text] for number, text in enumerate(TEXTS[name])]
    source = csv_source(tmp_path, ["number", name], rows, CSV)
    assert states_by_number(engine, source, COLUMNS[name]) == [*TEXTS[name].values()]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", VALUES)
def test_a_typed_value_has_its_state(name: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    kind = pa.float64() if COLUMNS[name].type is T.DECIMAL else PHYSICAL[COLUMNS[name].type]
    numbers = [str(number) for number in range(len(VALUES[name]))]
    pq.write_table(pa.table({"number": numbers, name: pa.array([*VALUES[name]], kind)}), path)
    source = Source(str(path), "parquet")
    assert states_by_number(engine, source, COLUMNS[name]) == [*VALUES[name].values()]


def computed(name: str, kind: T, text: str, **more: Any) -> Column:
    return Column(name, kind, expression=Expression(text, ("raw",)), **more)


MINUTES = Grid(Fraction(1), 0, 1440)
# computed column -> field of which it is computed -> its state
COMPUTED: list[tuple[Column, dict[str, str]]] = [
    (
        computed("minutes", T.INTEGER, "CAST(raw AS integer)", grid=MINUTES),
        {"12": "ok", "12 min": "null", "": "null", "n/a": "null", "1500": "clamped",
         "1440.0": "ok", "inf": "null"},
    ),
    (
        computed("day", T.DATE, "CAST(raw AS date)", edges=("2026-01-01", "2026-02-01")),
        {"2026-01-05": "ok", "5.1.2026": "null", "": "null", "2027-01-05": "undeclared"},
    ),
    (
        computed("kind", T.STRING, "SUBSTRING(raw, 1, 1)", keys=("\u00e9", "b")),
        {"\u00e9t\u00e9": "ok", "e\u0301te\u0301": "ok", "b": "ok", "x": "undeclared", "": "null"},
    ),
    (
        computed("late", T.BOOLEAN, "CAST(raw AS float) > 1"),
        {"0.5": "ok", "2": "ok", "two": "null", "": "null"},
    ),
    (
        computed("share", T.DECIMAL, "10 / CAST(raw AS float)", grid=HALVES),
        {"0": "null", "1": "ok", "0.5": "clamped", "none": "null"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("column", "texts"), COMPUTED, ids=lambda value: getattr(value, "name", "")
)
def test_a_computed_value_has_its_state(
    column: Column, texts: dict[str, str], engine: str, tmp_path: Path
) -> None:
    source = csv_source(
        tmp_path, ["number", "raw"], [[str(n), t] for n, t in enumerate(texts)], CSV
    )
    assert "unreadable" not in column.states
    assert states_by_number(engine, source, column) == [*texts.values()]


SPEC: dict[str, Any] = builders.spec(
    release={"name": "tried"},
    data={"path": "table.csv", "delimiter": ";"},
    ledger={"epsilon_cap": 10},
    columns={
        "region": {"type": "string", "keys": ["north", "south"]},
        "days": {"type": "integer", "lower": 0, "upper": 10},
    },
    query=[{"name": "checks", "statistic": "quality", "epsilon": 1}],
)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_no_neighbour_differs_by_more_than_is_planned(adjacency: str, tmp_path: Path) -> None:
    """All tables of up to two records, each with a field of every state in two columns."""
    fields = list(product(["north", "North", ""], ["3", "30", "x", ""]))
    source = csv_source(tmp_path, ["region", "days"], [], Dialect())
    single = {}
    for row in fields:
        csv_source(tmp_path, ["region", "days"], [list(row)], Dialect())
        by_column = [states_of("duckdb", source, COLUMNS[name]) for name in ("region", "days")]
        assert [sum(counts.values()) for counts in by_column] == [1, 1]
        single[row] = by_column
    tables = [(), *((row,) for row in fields), *product(fields, repeat=2)]

    def counted(table: tuple[tuple[str, str], ...], column: int) -> list[int]:
        return [sum(single[row][column].get((state,), 0) for row in table) for state in STATES]

    csv_source(tmp_path, ["region", "days"], [list(row) for row in fields], Dialect())
    for place, name in enumerate(("region", "days")):
        counts = states_of("duckdb", source, COLUMNS[name])
        assert [counts.get((state,), 0) for state in STATES] == counted(tuple(fields), place)

    worst = [0, 0]
    for one, two in product(tables, repeat=2):
        apart = len(one) != len(two) and set(one) <= set(two) and len(two) == len(one) + 1
        replaced = len(one) == len(two) and sum(a != b for a, b in zip(one, two, strict=True)) == 1
        if (adjacency == "add-remove" and apart) or (adjacency == "replace-one" and replaced):
            for place in range(2):
                pairs = zip(counted(one, place), counted(two, place), strict=True)
                worst[place] = max(worst[place], sum(abs(a - b) for a, b in pairs))
    for place, name in enumerate(("region", "days")):
        query = {**SPEC["query"][0], "columns": [name]}
        spec = {**SPEC, "privacy": {**SPEC["privacy"], "adjacency": adjacency}, "query": [query]}
        (step,) = dprelease.plan(spec).steps
        assert step.sensitivity.l1 == worst[place] == (1 if adjacency == "add-remove" else 2)


def test_all_columns_share_the_budget_and_a_copy_of_the_field_costs_nothing_more() -> None:
    plan = dprelease.plan(SPEC)
    assert plan.epsilon == 1
    assert {read.query.table for read in plan.reads} == {"by_region_state", "by_days_state"}
    assert sum(read.query.epsilon for read in plan.reads) == 1


def test_a_computed_column_is_looked_at_where_it_is_named(tmp_path: Path) -> None:
    """A cast that fails was null, and no figure told of it."""
    (tmp_path / "table.csv").write_text("region;raw\nnorth;7\nsouth;7 min\nsouth;\nnorth;12\n")
    computed_column = {
        "type": "integer",
        "expression": "CAST(raw AS integer)",
        "lower": 0,
        "upper": 9,
    }
    columns = {**SPEC["columns"], "raw": {"type": "string"}, "days": computed_column}
    query = {**SPEC["query"][0], "columns": ["days"], "epsilon": 10**4}
    total = {**SPEC["privacy"], "epsilon": 10**4}
    spec = {**SPEC, "columns": columns, "query": [query], "privacy": total,
            "data": {**SPEC["data"], "path": str(tmp_path / "table.csv")},
            "ledger": {"path": str(tmp_path / "ledger.sqlite"), "epsilon_cap": 10**5},
            "output": {"path": str(tmp_path / "out")}}  # fmt: skip
    (step,) = dprelease.plan(spec).steps
    assert step.sensitivity.l1 == 1
    result = dprelease.run(spec)
    (table,) = result.output_tables
    assert list(table.columns[0].values) == ["ok", "null", "undeclared", "clamped"]
    assert [int(value) for value in table.columns[1].values] == [1, 2, 0, 1]
    spec["query"] = [{**query, "columns": None}]
    del spec["query"][0]["columns"]
    names = {read.query.table for read in dprelease.plan(spec).reads}
    assert names == {"by_region_state", "by_raw_state"}
