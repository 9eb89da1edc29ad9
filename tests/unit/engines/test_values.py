"""The text grammar: the plain-Python side and its SQL, on many short strings."""

import random
from datetime import date, datetime

import duckdb
import pytest
from thorough import for_each

from dprelease.expressions import typed_texts as duckdb_values
from dprelease.expressions.sqltext import col
from dprelease.model import ColumnType as T
from dprelease.sources.shared import text_values as values

SEEDS = ["9007199254740993", "9223372036854775807", "1e400", "12.0", "12.7", "true", "FALSE", "inf"]
SEEDS += ["1.0", "0.00", "1e0", "1", "0", "t", "No"]
SEEDS += ["nan", "-Infinity", "2020-01-01", "9999-12-31", "0000-01-01", "2020-02-30", "10000-01-01"]
SEEDS += ["9007199254740993.0", "900719925474099300e-2", "4503599627370496.5", "1e18", "1e-400"]
SEEDS += ["-9223372036854775808.00", "922_337_203_685_477_580_7e0", ".1152921504606846977e19"]
SEEDS += ["2020-01-01T10:00Z", "2020-01-01 10:00:00.5+01:00", "2020-01-01 10:00:00-0330"]
SEEDS += ["2020-01-01 10:00:00", "2020-01-01T23:59:59.123456789", "2020-01-01 24:00:00", "epoch"]


def strings() -> list[str]:
    chance = random.Random(11)
    alphabet = "0123456789+-.eE xXnaifNIT,:TZ\t\0é\v\f"
    found = ["".join(chance.choices(alphabet, k=chance.randint(0, 8))) for _ in range(20_000)]
    for _ in range(20_000):
        text = list(chance.choice(SEEDS))
        for _ in range(chance.randint(0, 2)):
            text[chance.randrange(len(text))] = chance.choice("0123456789-+: T.eE")
        before, after = chance.choice(["", "", " ", "\t\v", "+"]), chance.choice(["", " ", "\r\f"])
        found.append(before + "".join(text) + after)
    return list(dict.fromkeys(found))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", [T.INTEGER, T.FLOAT, T.DECIMAL, T.BOOLEAN, T.DATE, T.TIMESTAMP])
def test_both_engines_read_texts_alike(kind: T) -> None:
    texts = strings()
    number = col("n") if kind in (T.INTEGER, T.FLOAT, T.DECIMAL) else None
    query = col("s").layer({"n": duckdb_values.convert_text_to_number(col("t"))})
    query = query.layer({"v": duckdb_values.convert_text(col("t"), kind, number)})
    asked = str(query.select([col(name) for name in ("t", "n", "v")]))
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("CREATE TABLE s AS SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t", [texts])
        for text, number_found, found in connection.execute(asked).fetchall():
            assert (text, found) == (text, values.parse_value(text, kind))
            assert (text, number_found) == (text, values.parse_number(text))


@for_each(
    ("text", "kind", "value"),
    [
        ("12.0", T.INTEGER, 12),
        ("12.7", T.INTEGER, None),
        ("9007199254740993", T.INTEGER, 9007199254740993),
        ("9223372036854775808", T.INTEGER, None),
        ("9007199254740993.0", T.INTEGER, 9007199254740993),
        ("+-90_071_992_547_409_930.e-1", T.INTEGER, -9007199254740993),
        (".1152921504606846977E+19", T.INTEGER, 1152921504606846977),
        ("-9223372036854775808.00", T.INTEGER, -(2**63)),
        ("1e18", T.INTEGER, 10**18),
        ("1e19", T.INTEGER, None),
        ("4503599627370496.5", T.INTEGER, None),
        ("9007199254740993.5", T.INTEGER, None),
        ("1e-400", T.INTEGER, None),
        ("0e999999999999999999999", T.INTEGER, 0),
        ("1e-999999999999999999999", T.INTEGER, None),
        ("1e400", T.FLOAT, float("inf")),
        ("nan", T.FLOAT, None),
        ("0x1F", T.FLOAT, None),
        ("\u0661", T.FLOAT, None),
        (" 1 ", T.FLOAT, 1.0),
        ("Yes", T.BOOLEAN, True),
        (" true\t", T.BOOLEAN, True),
        ("1.0", T.BOOLEAN, True),
        (" 0.00 ", T.BOOLEAN, False),
        ("-0", T.BOOLEAN, False),
        ("1e0", T.BOOLEAN, True),
        ("0.5", T.BOOLEAN, None),
        ("2", T.BOOLEAN, None),
        ("inf", T.BOOLEAN, None),
        ("t rue", T.BOOLEAN, None),
        ("2024-02-29", T.DATE, date(2024, 2, 29)),
        ("2023-02-29", T.DATE, None),
        ("2024-2-9", T.DATE, None),
        ("2024-02-29 23:59:59", T.DATE, date(2024, 2, 29)),
        ("2024-02-29T23:59:59.5", T.DATE, date(2024, 2, 29)),
        ("2024-02-29 24:00:00", T.DATE, None),
        ("\r2024-02-29 ", T.DATE, date(2024, 2, 29)),
        (" 2024-02-29 23:59:59\n", T.DATE, date(2024, 2, 29)),
        (" 0000-02-29", T.DATE, None),
        ("\v2024-02-29T01:02:03\f", T.TIMESTAMP, datetime(2024, 2, 29, 1, 2, 3)),
        ("\xa02024-02-29", T.DATE, None),
        ("2024-02-29T01:02:03.5", T.TIMESTAMP, datetime(2024, 2, 29, 1, 2, 3, 500000)),
        ("2024-02-29 01:02:03Z", T.TIMESTAMP, datetime(2024, 2, 29, 1, 2, 3)),
        ("2024-02-29T01:02+01:30", T.TIMESTAMP, datetime(2024, 2, 28, 23, 32)),
        ("2024-02-29T01:02:03.5+02", T.DATE, date(2024, 2, 28)),
        ("2024-02-29", T.TIMESTAMP, datetime(2024, 2, 29)),
        ("2024-02-29 01", T.TIMESTAMP, None),
        ("2024-02-29 01:02 +0100", T.TIMESTAMP, None),
        ("0001-01-01T00:00:00+14", T.TIMESTAMP, None),
        ("", T.STRING, ""),
    ],
)
def test_documented_texts(text: str, kind: T, value: object) -> None:
    assert values.parse_value(text, kind) == value
