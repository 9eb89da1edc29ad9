"""The SQL of an expression and its plain-Python meaning agree, row by row."""

import math
import random
from datetime import date, datetime
from itertools import product

import duckdb
import pytest
from oracle.expressions import evaluate
from thorough import for_each

from dprelease.expressions import parse_tree
from dprelease.expressions.nodes import Value
from dprelease.expressions.sql import compile_sql
from dprelease.expressions.sqltext import col
from dprelease.expressions.typed_texts import SQL_TYPES
from dprelease.model import ColumnType as T

TYPES = {"i": T.INTEGER, "x": T.FLOAT, "y": T.DECIMAL, "s": T.STRING, "t": T.STRING}
TYPES |= {"b": T.BOOLEAN, "c": T.BOOLEAN, "d": T.DATE, "u": T.TIMESTAMP}
VALUES: dict[T, list[Value]] = {
    T.INTEGER: [None, 0, 1, -1, 3, 7, -5, 100, 2**63 - 1, -(2**63), 2**53 + 1],
    T.FLOAT: [None, 0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1e308, -math.inf, math.inf, 5e-324, 1.005],
    T.STRING: [None, "", "a", "A", "ab", " a ", "é", "ß", "x%y", "a_b", "\n", "日本", "İ"],
    T.BOOLEAN: [None, True, False],
    T.DATE: [None, date(1, 1, 1), date(9999, 12, 31), date(2020, 2, 29)],
    T.TIMESTAMP: [None, datetime(1, 1, 1), datetime(2020, 2, 29, 23, 59, 59, 999999)],
}
VALUES[T.STRING] += [
    "12",
    " 1e3 ",
    "9007199254740993",
    "nan",
    "2020-02-29",
    "2020-02-29 10:00:00.5",
]
VALUES[T.DECIMAL] = VALUES[T.FLOAT]

# N number, S text, B condition, D date or timestamp; each is replaced by a smaller one
FORMS = {
    "N": [
        "(N + N)", "(N - N)", "(N * N)", "(N / N)", "(N % N)", "-(N)", "ABS(N)", "FLOOR(N)",
        "CEIL(N)", "ROUND(N)", "ROUND(N, 2)", "GREATEST(N, N)", "LEAST(N, N)", "COALESCE(N, N)",
        "NULLIF(N, N)", "LENGTH(S)", "CASE WHEN B THEN N ELSE N END", "YEAR(D)", "MONTH(D)",
        "DAY(D)", "HOUR(u)", "QUARTER(D)",
        "WEEK(D)", "ISODOW(D)", "EXTRACT(day FROM D)", "EXTRACT(week FROM D)",
        "YEAR(MAKE_DATE(CAST(N AS integer), MONTH(D), DAY(D)))",
        "ISODOW(MAKE_DATE(YEAR(D), CAST(N AS integer), 1))",
        "DATE_DIFF('day', D, D)", "CAST(B AS integer)",
        "CAST(N AS integer)", "CAST(N AS float)", "CAST(S AS integer)", "CAST(S AS float)",
    ],
    "S": [
        "LOWER(S)", "UPPER(S)", "TRIM(S)", "(S || S)", "CONCAT(S, S)", "SUBSTRING(S, 2)",
        "REPLACE(S, 'a', 'bb')", "REPLACE(S, '-02', '')", "REPLACE(S, 'é', 'e')",
        "SUBSTRING(S, 1, 1)", "NULLIF(S, S)", "CASE WHEN B THEN S END",
    ],
    "B": [
        "(N = N)", "(N <> N)", "(N < N)", "(S >= S)", "(D <= D)", "(B AND B)", "(B OR B)",
        "(NOT B)", "(N IS NULL)", "(S IS NOT NULL)", "(N BETWEEN N AND N)", "(N IN (1, 2.5, -3))",
        "(S NOT IN ('a', ''))", "(S LIKE 'a%')", "(S LIKE '_')", "(S NOT LIKE '%b')",
    ],
}  # fmt: skip
LEAVES = {
    "N": ["i", "x", "y", "0", "2", "2.5", "1e308", "-3", "9223372036854775807"],
    "S": ["s", "t", "'a'", "''"],
    "B": ["b", "c", "TRUE", "NULL"],
    "D": [
        "d", "u", "DATE '2020-03-01'", "GREATEST(d, u)", "CAST(s AS date)", "CAST(s AS timestamp)",
        "CAST(u AS date)", "CAST(d AS timestamp)",
    ],
}  # fmt: skip


def make(kind: str, depth: int, chance: random.Random) -> str:
    if depth == 0 or kind not in FORMS:
        return chance.choice(LEAVES[kind])
    form = chance.choice(FORMS[kind])
    pieces, place = [], 0
    while place < len(form):
        char = form[place]
        around = form[max(place - 1, 0) : place] + form[place + 1 : place + 2]
        slot = char in LEAVES and not any(other.isalnum() for other in around)
        pieces.append(make(char, depth - 1, chance) if slot else char)
        place += 1
    return "".join(pieces)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_sql_and_python_agree(seed: int) -> None:
    chance = random.Random(seed)
    rows = [{name: chance.choice(VALUES[kind]) for name, kind in TYPES.items()} for _ in range(40)]
    columns = ", ".join(f"CAST(? AS {SQL_TYPES[kind]}) AS {name}" for name, kind in TYPES.items())
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            "CREATE TABLE r AS "
            + " UNION ALL ".join(f"SELECT {n} AS id, {columns}" for n in range(40)),
            [value for row in rows for value in row.values()],
        )
        for _ in range(25):
            text = make(chance.choice("NSB"), chance.randint(1, 3), chance)
            node = parse_tree(text, TYPES)
            sql = compile_sql(node, {name: col(name) for name in TYPES})
            found = connection.execute(f"SELECT {sql} FROM r ORDER BY id").fetchall()
            assert [row[0] for row in found] == [evaluate(node, row) for row in rows], text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 / 2", 3.5),
        ("-7 % 3", -1),
        ("1 / 0", None),
        ("i + 1", None),
        ("1e308 * 10", math.inf),
        ("0.0 * (1e308 * 10)", None),
        ("ROUND(2.5)", 3.0),
        ("CAST(2.5 AS integer)", 2),
        ("NULL AND FALSE", False),
        ("NULL OR FALSE", None),
        ("GREATEST(NULL, 2)", 2),
        ("CONCAT('a', NULL)", "a"),
        ("'a' || NULL", None),
        ("'A' LIKE 'a'", False),
        ("LENGTH('日本')", 2),
        ("DATE_DIFF('day', DATE '2020-02-28', TIMESTAMP '2020-03-01 23:00:00')", 2),
        ("ISODOW(DATE '2026-11-30')", 1),  # a Monday
        ("ISODOW(TIMESTAMP '2026-12-06 23:59:59')", 7),
        ("WEEK(DATE '2027-01-03')", 53),  # of 2026
        ("WEEK(DATE '2027-01-04')", 1),
        ("QUARTER(DATE '2026-03-31')", 1),
        ("EXTRACT(quarter FROM DATE '2026-04-01')", 2),
        ("MAKE_DATE(2024, 2, 29)", date(2024, 2, 29)),
        ("MAKE_DATE(2026, 2, 29)", None),
        ("MAKE_DATE(0, 1, 1)", None),
        ("MAKE_DATE(10000, 1, 1)", None),
        ("MAKE_DATE(i, i, i)", None),
        ("MAKE_DATE(2026, NULL, 1)", None),
    ],
)
def test_documented_meaning(text: str, value: Value) -> None:
    assert evaluate(parse_tree(text, TYPES), {"i": 2**63 - 1}) == value


SIZES = [0, 1, 1665, 1666, 1667, 4999, 5000, 5001, 9999, 10_000, 10_001]


@for_each(
    "text",
    [
        "s || s",
        "CONCAT(s, s)",
        "CONCAT(s, t)",
        "s || t",
        "s || 'b' || s || s || s || s || s",
        "REPLACE(s, 'a', 'bb')",
        "REPLACE(s, 'é', 'bbb')",
        "REPLACE(s, '日', 'b')",
        "LENGTH(UPPER(s || s) || s)",
        "COALESCE(CONCAT(s, 'x'), 'long')",
        "CASE WHEN LENGTH(s) < 5000 THEN s || s ELSE s END",
    ],
)
def test_a_joined_text_has_at_most_so_many_bytes(text: str) -> None:
    node = parse_tree(text, TYPES)
    made = compile_sql(node, {"s": col("s"), "t": col("t")})
    statement = f"SELECT {made} FROM (SELECT $1 AS s, CAST(NULL AS VARCHAR) AS t)"
    with duckdb.connect() as connection:
        for char, size in product(["a", "é", "日"], SIZES):
            row: dict[str, Value] = {"s": char * size, "t": None}
            ((value,),) = connection.execute(statement, [row["s"]]).fetchall()
            assert value == evaluate(node, row), (char, size)
            if isinstance(value, str):
                assert len(value.encode()) <= max(10_000, len(char.encode()) * size), (char, size)
