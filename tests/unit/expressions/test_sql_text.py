"""Names and texts of any content stay names and texts, and parts keep to themselves."""

import ast
import math

import duckdb
import pytest
from product_source import FILES, get_module_name, list_nodes, parse_module, write_dotted
from thorough import for_each

from dprelease.expressions import parse_tree
from dprelease.expressions import sqltext as sql
from dprelease.expressions.sql import compile_sql
from dprelease.model import ColumnType

NASTY = [
    "'", '"', "''", '""', "\"'\"'", "\\", "\\'", '\\"', "a'); DROP TABLE t; --",
    'a"; DROP TABLE t; --', "--", "/* ", "*/", ";", "$1", "?", "$$", "$a$", "{x}", "%s", "e'x'",
    "\n", "\r\n", "\t", "\0", "a\0b", "\0'", '\0"', "\x1b", "\u00e9", "\u2028", "\u2019", "\uff07",
    "\U0001f600", "\u202e", "\ufeff", "inside", "select", "SELECT", "", " ", " a ", "x" * 5000,
]  # fmt: skip
NAMES = [name for name in NASTY if name]  # DuckDB has no empty name
WRITABLE = [value for value in NASTY if value.isprintable() and len(value) < 1000]
EXTREMES = [0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, -2.5, 1e22, math.inf, -math.inf]


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("CREATE TABLE t AS SELECT 1 AS one")
    return made


@pytest.mark.one_in(5)
@pytest.mark.parametrize("value", NASTY)
def test_a_text_stays_a_text(connection: duckdb.DuckDBPyConnection, value: str) -> None:
    query = sql.col("t").select([sql.literal(value), sql.col("one")])
    assert connection.execute(str(query)).fetchall() == [(value, 1)]
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    inner = sql.col("t").select([sql.literal(7).alias(name)]).subquery(name)
    query = inner.select([sql.col(name), sql.col(name, name)])
    found = connection.execute(str(query))
    assert next(each[0] for each in found.description or ()) == name
    assert found.fetchall() == [(7, 7)]
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


@for_each("value", WRITABLE)
def test_a_literal_of_an_expression_stays_a_literal(value: str) -> None:
    shown = value.replace("'", "''")
    node = parse_tree(f"s = '{shown}'", {"s": ColumnType.STRING})
    made = compile_sql(node, {"s": sql.literal(value)})
    assert duckdb.sql(f"SELECT {made}").fetchall() == [(True,)]


@pytest.mark.parametrize("value", EXTREMES)
def test_a_double_is_the_same_bit_for_bit(value: float) -> None:
    ((found,),) = duckdb.sql(f"SELECT {sql.literal(value)}").fetchall()
    assert found.hex() == value.hex()


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63), 2**100])
def test_integers(value: int) -> None:
    assert duckdb.sql(f"SELECT {sql.literal(value)}").fetchall() == [(value,)]


def test_no_precedence_and_no_comment() -> None:
    one, two, minus = sql.literal(1), sql.literal(2), sql.literal(-3)
    product = (one + two) * (two - minus)
    assert duckdb.sql(f"SELECT {product}").fetchall() == [(15,)]
    assert duckdb.sql(f"SELECT {-minus}").fetchall() == [(3,)]
    either = (sql.literal(True) | True) & False
    assert duckdb.sql(f"SELECT {either}, {~either}").fetchall() == [(False, True)]


def test_sql_is_not_true_or_false_here() -> None:
    with pytest.raises(TypeError, match="in the database"):
        bool(sql.col("one") > 0)


def test_only_one_module_makes_sql_of_text() -> None:
    making = [
        get_module_name(file)
        for file in FILES
        for node in list_nodes(parse_module(file))
        if isinstance(node, ast.Call) and write_dotted(node.func).rpartition(".")[2] == "Sql"
    ]
    assert set(making) == {"expressions/sqltext.py"}
