"""Tables of databases: what is refused, what values become, one state of a table."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import databases
import pyarrow as pa
import pytest
import tables
from databases import VARIABLE, source
from postgres_server import PASSWORD, Server
from tables import COUNT, T, keyed
from thorough import some

from dprelease import engines
from dprelease.engines.duckdb.text_numbers import number_texts
from dprelease.errors import ExitCode, Failure
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.model.source_registry import DRIVERS
from dprelease.sources.adbc import adbc_source as adbc
from dprelease.sources.adbc.sqlite import read_only
from dprelease.sources.shared.source_format import list_columns

ENGINE = engines.get("duckdb")


def counts(of: Source, kind: ColumnType, keys: tuple[str, ...], **more: Any) -> list[int]:
    """How many records have each key in column ``x``, and how many none at all: a null."""
    declared = (InputColumn("x", kind, **more),)
    groups = (keyed("x", keys, kind, "none"),)
    (column,) = tables.asked("duckdb", AggregateRequest(of, declared, groups, COUNT))
    return column


def total(of: Source, kind: ColumnType = T.DECIMAL) -> int:
    """The sum of column ``x`` in hundredths, from -10 to 10."""
    declared = InputColumn("x", kind)
    measure = Measure(MeasureKind.SUM, Quantity("x", Grid(Fraction(1, 100), -1000, 1000)))
    request = AggregateRequest(of, (declared,), (), (measure,))
    return next(iter(ENGINE.aggregate(request).reveal()[0]))


def refused(of: Source, *columns: InputColumn) -> str:
    """The code with which a look at the structure is refused; nothing else is said."""
    with pytest.raises(Failure) as caught:
        ENGINE.inspect(of, columns or [InputColumn("x", T.STRING)])
    shown = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in shown
    assert os.environ.get(VARIABLE, PASSWORD) not in shown
    assert caught.value.exit_code is ExitCode.DATA
    (complaint,) = caught.value.complaints
    return complaint.code


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """An SQLite database, which the variable leads to."""
    databases.require("sqlite")
    path = tmp_path / "a database.db"
    monkeypatch.setenv(VARIABLE, str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@pytest.fixture(scope="module")
def database(postgres: Server) -> str:
    """A PostgreSQL database for all tests of the module."""
    return postgres.database()


@pytest.fixture
def server(
    postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Runs SQL in a PostgreSQL database without tables, which the variable leads to."""
    databases.require("postgresql")
    monkeypatch.setenv(VARIABLE, postgres.uri(database))
    clear = """
        SET client_min_messages = error;
        DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS "S.1" CASCADE;
        CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;
    """
    started = []

    def run(sql: str) -> None:
        postgres.psql(database, sql if started else clear + sql)
        started.append(sql)

    return run


# --- before the charge ---------------------------------------------------------------------------


def test_every_driver_of_the_registry_is_there() -> None:
    assert adbc.OF_DRIVERS.keys() == DRIVERS.keys()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver_that_is_not_installed(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adbc, "find_spec", lambda name: None if driver in name else sys)
    assert refused(source(driver, "t")) == "E426"


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("value", [None, ""])
def test_no_uri(driver: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    databases.require(driver)
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(Failure) as caught:
        ENGINE.inspect(source(driver, "t"), [InputColumn("x", T.STRING)])
    assert [each.code for each in caught.value.complaints] == ["E427"]


def test_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    databases.require("sqlite")
    (tmp_path / "text.db").write_text("no database, and long enough to be looked at " * 50)
    for place in ("none.db", "text.db", ".", "a/b.db"):
        monkeypatch.setenv(VARIABLE, str(tmp_path / place))
        assert refused(source("sqlite", "t")) == "E428"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["text.db"]


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    databases.require("postgresql")
    for uri in ("postgresql://u:hushhush@127.0.0.1:1/none", "hushhush", "postgresql://[::"):
        monkeypatch.setenv(VARIABLE, uri)
        assert refused(source("postgresql", "t")) == "E428"


def test_a_wrong_password(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    databases.require("postgresql")
    monkeypatch.setenv(VARIABLE, postgres.uri(password="hushhush"))
    assert refused(source("postgresql", "t")) == "E428"


def test_tables_and_columns_of_sqlite_that_are_not_there(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("CREATE TABLE t (x, y)")
    sqlite.execute("CREATE VIEW v AS SELECT x, y AS x FROM t")
    sqlite.execute("CREATE VIEW broken AS SELECT nosuch FROM t")
    assert refused(source("sqlite", "none")) == "E429"
    assert refused(source("sqlite", "none", "t")) == "E429"
    assert refused(source("sqlite", "broken")) == "E429"
    for name in ("X", "z", "rowid", 'x" FROM t; --'):
        assert refused(source("sqlite", "t"), InputColumn(name, T.STRING)) == "E405"
    assert refused(source("sqlite", "v")) == "E406"
    ENGINE.inspect(source("sqlite", "main", "t"), [InputColumn("x", T.STRING)])


def test_tables_and_columns_of_postgresql_that_are_not_there(server: Callable[[str], None]) -> None:
    server(
        'CREATE TABLE t (x text, "A b""c" int); CREATE SCHEMA "S.1"; CREATE TABLE "S.1".T2 (x int)'
    )
    for table in (("none",), ("none", "t"), ("T",), ("t; DROP TABLE t",)):
        assert refused(source("postgresql", *table)) == "E429"
    for name in ("X", "z", "ctid2", 'x" FROM t; --'):
        assert refused(source("postgresql", "t"), InputColumn(name, T.STRING)) == "E405"
    # the server would call these functions of a record, one of them of all records at once
    server("CREATE FUNCTION half(t) RETURNS text LANGUAGE sql AS 'SELECT $1.x'")
    for name in ("count", "row_to_json", "half", "ctid", "tableoid", "x" * 70):
        assert refused(source("postgresql", "t"), InputColumn(name, T.STRING)) == "E405"
    ENGINE.inspect(source("postgresql", "t"), [InputColumn('A b"c', T.INTEGER)])
    ENGINE.inspect(source("postgresql", "S.1", "t2"), [InputColumn("x", T.INTEGER)])


def test_a_table_that_may_not_be_read(
    server: Callable[[str], None], postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server("CREATE TABLE t (x int, y int); CREATE ROLE reader LOGIN PASSWORD 'hushhush'")
    uri = os.environ[VARIABLE]
    monkeypatch.setenv(VARIABLE, re.sub("//.*@", "//reader:hushhush@", uri))
    assert refused(source("postgresql", "t")) == "E429"
    server("GRANT SELECT (x) ON t TO reader")
    ENGINE.inspect(source("postgresql", "t"), [InputColumn("x", T.STRING)])
    assert refused(source("postgresql", "t"), InputColumn("y", T.STRING)) == "E429"


def test_the_catalogue_of_postgresql_declares_what_can_be_read(
    server: Callable[[str], None], postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"smallint": T.INTEGER, "bigint": T.INTEGER, "real": T.FLOAT, "float8": T.FLOAT,
              "numeric(9, 2)": T.DECIMAL, "text": T.STRING, "varchar(9)": T.STRING,
              "char(3)": T.STRING, "bool": T.BOOLEAN, "date": T.DATE, "timestamp": T.TIMESTAMP,
              "timestamptz": T.TIMESTAMP, "kind": T.STRING, "age": T.INTEGER, "uuid": None,
              "int[]": None, "bytea": None}  # fmt: skip
    columns = ", ".join(f"x{number} {kind}" for number, kind in enumerate(stored))
    server(f"""
        CREATE TYPE kind AS ENUM ('a'); CREATE DOMAIN age AS int CHECK (value > 0);
        CREATE TABLE t ({columns}, gone int); ALTER TABLE t DROP COLUMN gone;
        CREATE ROLE limited LOGIN PASSWORD 'hushhush'; GRANT SELECT (x1, x3) ON t TO limited;
    """)
    table = source("postgresql", "t")
    found = list_columns(table)
    assert [column.type for column in found] == list(stored.values())
    ENGINE.inspect(table, [InputColumn(each.name, each.type) for each in found if each.type])
    with pytest.raises(Failure):
        list_columns(source("postgresql", "none"))
    uri = os.environ[VARIABLE]
    monkeypatch.setenv(VARIABLE, re.sub("//.*@", "//limited:hushhush@", uri))
    assert [column.name for column in list_columns(table)] == ["x1", "x3"]


def test_a_type_that_can_not_be_the_declared_one(server: Callable[[str], None]) -> None:
    wrong = {"date": T.INTEGER, "bool": T.FLOAT, "money": T.DECIMAL, "date[]": T.BOOLEAN,
             "smallint": T.DATE, "timestamp": T.DECIMAL, "int[]": T.INTEGER,
             "bytea": T.DATE}  # fmt: skip
    columns = ", ".join(f"x{number} {stored}" for number, stored in enumerate(wrong))
    server(f"CREATE TABLE t ({columns}, day date)")
    for number, declared in enumerate(wrong.values()):
        column = InputColumn(f"x{number}", declared)
        assert refused(source("postgresql", "t"), column) == "E412", declared
    assert refused(source("postgresql", "t"), InputColumn("day", T.TIMESTAMP)) == "E412"


def test_a_zone_of_what_has_none(server: Callable[[str], None]) -> None:
    server("CREATE TABLE t (x timestamp)")
    column = InputColumn("x", T.TIMESTAMP, zone="Europe/Berlin")
    assert refused(source("postgresql", "t"), column) == "E412"


def test_a_format_of_what_is_no_text(server: Callable[[str], None]) -> None:
    server("CREATE TABLE t AS SELECT date '2026-01-31' AS x, text '31.01.2026 23:30 Z' AS y")
    column = InputColumn("x", T.DATE, format="%d.%m.%Y")
    assert refused(source("postgresql", "t"), column) == "E412"
    server("CREATE VIEW v AS SELECT y AS x FROM t")
    of = source("postgresql", "v")
    form, zone = "%d.%m.%Y %H:%M %z", "Europe/Berlin"
    assert counts(of, T.DATE, ("2026-02-01",), zone=zone, format=form) == [1, 0]


def test_encodings_in_which_a_text_could_be_an_error(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases.require("postgresql")
    for encoding, readable in (("LATIN1", True), ("SQL_ASCII", True), ("WIN1252", False)):
        name = postgres.database(f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        monkeypatch.setenv(VARIABLE, postgres.uri(name))
        value = "E'caf\\xe9'" if encoding == "SQL_ASCII" else "U&'caf\\00e9'"
        postgres.psql(name, f"CREATE TABLE t AS SELECT {value}::text AS x")
        if not readable:
            assert refused(source("postgresql", "t")) == "E408"
            continue
        expected = "caf\ufffd" if encoding == "SQL_ASCII" else "caf\u00e9"
        assert counts(source("postgresql", "t"), T.STRING, (expected,)) == [1, 0]


# --- what values become --------------------------------------------------------------------------


def test_a_column_of_sqlite_holds_values_of_all_types(sqlite: sqlite3.Connection) -> None:
    """The first thousand records are null, which would make it a column of integers."""
    sqlite.execute("CREATE TABLE t (x)")
    sqlite.execute("BEGIN")
    sqlite.executemany("INSERT INTO t VALUES (?)", [(None,)] * 3000)
    values = [1, "1", 1.0, 2**63 - 1, 0.1 + 0.2, "word", "", b"\x00\xff", 9e999, "a\0b", "2.5"]
    sqlite.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    sqlite.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")
    sqlite.execute("INSERT INTO t VALUES (CAST(zeroblob(1048577) AS TEXT)), (zeroblob(600000))")
    sqlite.execute("COMMIT")
    keys = ("1", "word", "", "\\x00ff", "inf", "a\0b", "\ufffdA", "0.30000000000000004",
            str(2**63 - 1))  # fmt: skip
    found = counts(source("sqlite", "t"), T.STRING, keys)
    assert found == [3, 1, 1, 1, 1, 1, 1, 1, 1, 3002]
    assert counts(source("sqlite", "t"), T.INTEGER, ("1", str(2**63 - 1))) == [3, 1, 3010]
    # 1 three times, .30, the bound for two that are beyond it, and 2.5
    assert total(source("sqlite", "t")) == 300 + 30 + 2000 + 250


def test_numbers_are_booleans_where_they_are_1_or_0(
    sqlite: sqlite3.Connection, server: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    server(
        "CREATE TABLE t AS SELECT n::int AS int4, n::smallint AS int2, n::float8 AS float8, "
        "n::real AS float4, n::numeric(9, 2) AS numeric, n::text AS words "
        "FROM (VALUES (1.0), (1.0), (0.0), (2.0), (NULL)) AS numbers (n)"
    )
    for kind in ("int4", "int2", "float8", "float4", "numeric", "words"):
        server(f"CREATE OR REPLACE VIEW {kind}_view AS SELECT {kind} AS x FROM t")
        assert counts(source("postgresql", f"{kind}_view"), T.BOOLEAN, ("false", "true")) == [
            1,
            2,
            2,
        ]
    (path,) = (row[2] for row in sqlite.execute("PRAGMA database_list"))
    monkeypatch.setenv(VARIABLE, path)
    sqlite.execute("CREATE TABLE t (x)")
    values = [1.0, 1, "1.0 ", " true", 0, 0.0, "0.00", 2, 0.5, None, b"1"]
    sqlite.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    assert counts(source("sqlite", "t"), T.BOOLEAN, ("false", "true")) == [3, 4, 4]


def test_texts_of_sqlite_have_the_declared_form(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("CREATE TABLE t (x)")
    texts = ["31.01.2026", "2026-01-31", "2026-01-30T23:30:00Z", 20260131]
    sqlite.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    of, keys = source("sqlite", "t"), ("2026-01-31",)
    assert counts(of, T.DATE, keys, format="%d.%m.%Y") == [1, 3]
    assert counts(of, T.DATE, keys, format="%Y%m%d") == [1, 3]
    assert counts(of, T.DATE, keys) == [1, 2]
    assert counts(of, T.DATE, keys, zone="Europe/Berlin") == [2, 2]


def test_doubles_of_sqlite_are_exact(sqlite: sqlite3.Connection) -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789.12345679]
    sqlite.execute("CREATE TABLE t (x)")
    sqlite.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    table = adbc.SOURCE.lay_out(source("sqlite", "t"), [InputColumn("x", T.FLOAT)])
    with closing(table.stream()) as stream:
        _, batches = stream.opened(lambda _count: None, None)
        texts = [text for batch in batches for text in batch.column(0).to_pylist()]
    assert [float(text) for text in texts] == values


def test_an_empty_table(sqlite: sqlite3.Connection, server: Callable[[str], None]) -> None:
    uri = os.environ[VARIABLE]
    server("CREATE TABLE t (x text)")
    assert counts(source("postgresql", "t"), T.STRING, ("a",)) == [0, 0]
    os.environ[VARIABLE] = str(sqlite.execute("PRAGMA database_list").fetchone()[2])
    sqlite.execute("CREATE TABLE t (x text)")
    assert counts(source("sqlite", "t"), T.STRING, ("a",)) == [0, 0]
    os.environ[VARIABLE] = uri


VALUES: list[tuple[str, list[object], ColumnType, str, list[int]]] = [
    ("date", ["infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "2026-01-31", None],
     T.DATE, "2026-01-31", [1, 5]),
    ("timestamp", ["infinity", "-infinity", "294276-12-31", "4713-01-01 BC",
                   "2026-01-31 10:00:00"], T.TIMESTAMP, "2026-01-31 10:00:00", [1, 4]),
    ("timestamptz", ["infinity", "294276-12-31", "2026-01-31 10:00:00+02", None], T.TIMESTAMP,
     "2026-01-31 08:00:00", [1, 3]),
    ("timestamp", ["9999-12-31 23:59:59.999999", "10000-01-01", "0001-01-01 BC"], T.DATE,
     "9999-12-31", [1, 2]),
    ("date", ["0001-01-01", "0001-12-31 BC"], T.DATE, "0001-01-01", [1, 1]),
    ("numeric", ["NaN", "1.0", "1", "1.5", "1e-1000", None], T.INTEGER, "1", [2, 4]),
    ("numeric", ["Infinity", "1" + "0" * 1000, "-Infinity", "NaN"], T.FLOAT, "inf", [2, 1]),
    ("float8", ["NaN", "Infinity", "-0", "1", "0.1", None], T.FLOAT, "0.1", [1, 2]),
    ("float4", ["NaN", "0.1", None], T.FLOAT, "0.1", [1, 2]),
    ("int8", [2**63 - 1, -(2**63), None], T.INTEGER, str(2**63 - 1), [1, 1]),
    ("int8", [7, 8, None], T.STRING, "7", [1, 1]),
    ("bool", [True, False, None], T.BOOLEAN, "true", [1, 1]),
    ("bool", [True, False, None], T.STRING, "true", [1, 1]),
    ("text", ["yes", "no", "perhaps", "", None], T.BOOLEAN, "true", [1, 3]),
    ("text", ["12", " 12 ", "twelve", "", None, "1e999"], T.INTEGER, "12", [2, 4]),
    ("text", ["", "a'b", "x" * 1_048_577, None], T.STRING, "", [1, 2]),
    ("char(5)", ["ab", "abc"], T.STRING, "ab", [1, 0]),
    ("bytea", ["\\x00ff", None], T.STRING, "\\x00ff", [1, 1]),
    ("int[]", ["{1,2}", "{}"], T.STRING, "{1,2}", [1, 0]),
    ("interval", ["1 day", "2 days"], T.STRING, "1 day", [1, 0]),
    ("jsonb", ['{"a": 1}', "null"], T.STRING, '{"a": 1}', [1, 0]),
    ("uuid", ["00000000-0000-0000-0000-000000000001", None], T.STRING,
     "00000000-0000-0000-0000-000000000001", [1, 1]),
]  # fmt: skip
"""The type in PostgreSQL, values, how they are declared, and how many have a key and are null."""


def test_no_value_of_postgresql_stops_a_reading(server: Callable[[str], None]) -> None:
    sql = ""
    tried = some(list(enumerate(VALUES)), 4)
    for number, (stored, values, *_) in tried:
        rows = ", ".join(f"({databases.literal(value)})" for value in values)
        sql += f"CREATE TABLE t{number} (x {stored}); INSERT INTO t{number} VALUES {rows};\n"
    server(sql)
    for number, (stored, _, declared, key, expected) in tried:
        found = counts(source("postgresql", f"t{number}"), declared, (key,))
        assert found == expected, (stored, declared)


def handed_on(of: Source, kind: ColumnType, monkeypatch: pytest.MonkeyPatch) -> list[pa.Array]:
    """What the driver reads of column ``x``, before anything else looks at it: its parts."""
    driver, seen = adbc.OF_DRIVERS[of.database.driver if of.database else ""], []

    def looking(parts: Any, selected: Any) -> Any:
        seen.append(parts)
        return type(driver).join_parts(driver, parts, selected)

    with monkeypatch.context() as patch:
        patch.setattr(driver, "join_parts", looking, raising=False)
        counts(of, kind, ())
    return [pa.concat_arrays(part) for part in zip(*seen, strict=True)]


@pytest.mark.parametrize(
    ("stored", "kind"), [("date", T.DATE), ("timestamp", T.TIMESTAMP), ("timestamptz", T.TIMESTAMP)]
)
def test_no_driver_meets_moments_outside_of_the_calendar(
    stored: str, kind: ColumnType, server: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as infinity, or those that overflow where its years begin in 1970, not in 2000."""
    outside = ["infinity", "-infinity", "294276-12-31", "4713-01-01 BC"]
    rows = ", ".join(f"('{value}')" for value in [*outside, "2026-01-31"])
    server(f"CREATE TABLE t (x {stored}); INSERT INTO t VALUES {rows}")
    (found,) = handed_on(source("postgresql", "t"), kind, monkeypatch)
    a_day = {"date": 1}.get(stored, 86_400_000_000)
    whole = found.view(pa.int32() if stored == "date" else pa.int64()).to_pylist()
    assert [each // a_day for each in whole] == [2_932_898] * len(outside) + [20_484]


@pytest.mark.parametrize(("driver", "sizes"), [("postgresql", [9, 0]), ("sqlite", [9, 0, 0])])
def test_no_driver_meets_a_cell_that_is_too_long(
    driver: str, sizes: list[int], sqlite: sqlite3.Connection, server: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A batch of some of them would be more than a column can hold."""
    if driver == "postgresql":
        server("CREATE TABLE t AS SELECT repeat('x', n) AS x FROM (VALUES (9), (1048577)) v (n)")
    else:
        (path,) = (row[2] for row in sqlite.execute("PRAGMA database_list"))
        monkeypatch.setenv(VARIABLE, path)
        sqlite.execute("CREATE TABLE t (x)")
        for cell in ("x" * 9, "x" * 1_048_577, b"x" * 524_288):  # bytes become twice as many digits
            sqlite.execute("INSERT INTO t VALUES (?)", [cell])
    parts = handed_on(source(driver, "t"), T.STRING, monkeypatch)
    texts = [text for part in parts if pa.types.is_string(part.type) for text in part.to_pylist()]
    assert [len(text or "") for text in texts] == sizes


def test_what_is_set_on_the_server_changes_no_text(server: Callable[[str], None]) -> None:
    server("""
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle = ''German''',
        current_database()); EXECUTE format('ALTER DATABASE %I SET extra_float_digits = -5',
        current_database()); EXECUTE format('ALTER DATABASE %I SET TimeZone = ''Asia/Tokyo''',
        current_database()); EXECUTE format('ALTER DATABASE %I SET bytea_output = ''escape''',
        current_database()); END $$;
        CREATE TABLE t AS SELECT date '2026-01-31' AS d, 0.30000000000000004::float8 AS f,
        timestamptz '2026-01-31 00:00+00' AS z, '\\x00ff'::bytea AS b
    """)
    for name, key in (("d", "2026-01-31"), ("f", "0.30000000000000004"), ("b", "\\x00ff"),
                      ("z", "2026-01-31 00:00:00+00")):  # fmt: skip
        server(f"CREATE VIEW v{name} AS SELECT {name} AS x FROM t")
        assert counts(source("postgresql", f"v{name}"), T.STRING, (key,)) == [1, 0]


def test_a_moment_is_read_in_its_zone(server: Callable[[str], None]) -> None:
    server("CREATE TABLE t AS SELECT timestamptz '2026-01-31 23:30:00+00' AS x")
    counted = counts(source("postgresql", "t"), T.DATE, ("2026-02-01",), zone="Europe/Berlin")
    assert counted == [1, 0]


def test_notices_of_a_server_are_not_shown(
    server: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    server("""
        CREATE TABLE t AS SELECT 'canary'::text AS x;
        CREATE FUNCTION f(x text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
        RAISE NOTICE 'said %', x; RAISE WARNING 'said %', x; RAISE INFO 'said %', x;
        RETURN x; END $$;
        CREATE VIEW v AS SELECT f(x) AS x FROM t
    """)
    capfd.readouterr()
    assert counts(source("postgresql", "v"), T.STRING, ("canary",)) == [1, 0]
    assert capfd.readouterr() == ("", "")


# --- while it is read ----------------------------------------------------------------------------


def people(of: Source) -> Iterator[Any]:
    """Codes of a bounded sample: more than one reading of the table."""
    columns = (InputColumn("u", T.STRING), InputColumn("x", T.STRING))
    group = Group("x", T.STRING, ("a", "b"), keys=("a", "b"))
    request = RecordRequest(of, columns, (group,), Bound("u", 1, 1, 1, leading=0, salt=3))
    return ENGINE.records(request).reveal()


def test_a_request_sees_one_state_of_a_table(
    server: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is read, and whatever is written meanwhile."""
    server(
        "CREATE TABLE t (u text, x text); INSERT INTO t SELECT i, 'a' FROM generate_series(1,9) i"
    )
    table = adbc.SOURCE.lay_out(source("postgresql", "t"), [InputColumn("x", T.STRING)])
    sizes = []
    with closing(table.stream()) as stream:
        for _ in range(3):
            _, batches = stream.opened(lambda _count: None, frozenset())
            sizes.append(sum(batch.num_rows for batch in batches))
            server("INSERT INTO t VALUES ('new', 'a')")
    assert sizes == [9, 9, 9]
    assert counts(source("postgresql", "t"), T.STRING, ("a",)) == [12, 0]


def test_a_request_of_sqlite_sees_one_state_of_a_table(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("PRAGMA journal_mode = WAL")
    sqlite.execute("CREATE TABLE t (x)")
    sqlite.execute("INSERT INTO t VALUES (1)")
    table = adbc.SOURCE.lay_out(source("sqlite", "t"), [InputColumn("x", T.STRING)])
    sizes = []
    with closing(table.stream()) as stream:
        for _ in range(3):
            _, batches = stream.opened(lambda _count: None, None)
            sizes.append(sum(batch.num_rows for batch in batches))
            sqlite.execute("INSERT INTO t VALUES (2)")
    assert sizes == [1, 1, 1]


def test_a_reading_that_was_left_is_begun_anew(server: Callable[[str], None]) -> None:
    server("CREATE TABLE t AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 50000)")
    table = adbc.SOURCE.lay_out(source("postgresql", "t"), [InputColumn("x", T.STRING)])
    with closing(table.stream()) as stream:
        for _ in range(2):
            _, batches = stream.opened(lambda _count: None, None)
            assert next(batches).num_rows
        _, batches = stream.opened(lambda _count: None, None)
        assert sum(batch.num_rows for batch in batches) == 50000


def test_nothing_can_be_written(server: Callable[[str], None]) -> None:
    server("""
        CREATE TABLE t (x int); INSERT INTO t VALUES (1);
        CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (2) RETURNING x';
        CREATE VIEW v AS SELECT f() AS x
    """)
    with pytest.raises(Failure) as caught:
        counts(source("postgresql", "v"), T.INTEGER, ("2",))
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert counts(source("postgresql", "t"), T.INTEGER, ("2",)) == [0, 0]


@pytest.mark.parametrize("bounded", [False, True])
def test_a_server_that_goes_away(
    bounded: bool, server: Callable[[str], None], postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server(
        "CREATE TABLE t AS SELECT i::text AS u, 'canary' || i AS x FROM generate_series(1, 99999) i"
    )
    begun = []
    handed_on = adbc.OF_DRIVERS["postgresql"].join_parts

    def stopping(parts: Any, selected: Any) -> Any:
        if not begun:
            begun.append(True)
            postgres.stop()
        return handed_on(parts, selected)

    of = source("postgresql", "t")
    monkeypatch.setattr(adbc.OF_DRIVERS["postgresql"], "join_parts", stopping, raising=False)
    try:
        with pytest.raises(Failure) as caught:
            list(people(of)) if bounded else counts(of, T.STRING, ("a",))
    finally:
        postgres.start()
    assert begun
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    shown = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in shown
    assert str(postgres.folder) not in shown
    assert not re.search("libpq|socket|unexpectedly|canary[0-9]", shown)
    monkeypatch.undo()


def test_a_view_that_fails_for_a_value_says_nothing_of_it(server: Callable[[str], None]) -> None:
    server(
        "CREATE TABLE t AS SELECT 'canary'::text AS y; CREATE VIEW v AS SELECT y::int AS x FROM t"
    )
    with pytest.raises(Failure) as caught:
        counts(source("postgresql", "v"), T.INTEGER, ("1",))
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_a_table_that_is_dropped_after_the_look(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("CREATE TABLE t (x)")
    of, column = source("sqlite", "t"), InputColumn("x", T.STRING)
    ENGINE.inspect(of, [column])
    sqlite.execute("DROP TABLE t")
    with pytest.raises(Failure) as caught:
        total(of)
    assert caught.value.exit_code is ExitCode.AFTER_CHARGE


def test_statements_hold_names_alone(sqlite: sqlite3.Connection) -> None:
    sqlite.execute('CREATE TABLE "t""; DROP" ("x"" y", z)')
    inputs = [InputColumn('x" y', T.STRING)]
    table = adbc.SOURCE.lay_out(source("sqlite", 't"; DROP'), inputs)
    (selected,) = table.columns.values()
    assert all('t."x"" y"' in part for part in selected.parts)
    assert not any("z" in part for part in selected.parts)


@pytest.mark.parametrize(
    ("uri", "opened"),
    [
        ("/a b/c?d.db", "file:/a%20b/c%3Fd.db?mode=ro"),
        ("file:/a.db", "file:/a.db?mode=ro"),
        ("file:/a.db?mode=rwc&cache=private", "file:/a.db?cache=private&mode=ro"),
        ("file:/a.db?mode=memory#x", "file:/a.db?mode=ro"),
    ],
)
def test_a_file_is_opened_for_reading(uri: str, opened: str) -> None:
    assert read_only(uri) == opened


def test_nulls_of_no_column_are_handed_on_for_their_number(sqlite: sqlite3.Connection) -> None:
    sqlite.execute("CREATE TABLE t (x)")
    sqlite.execute("INSERT INTO t VALUES (1), (2)")
    table = adbc.SOURCE.lay_out(source("sqlite", "t"), [])
    with closing(table.stream()) as stream:
        schema, batches = stream.opened(lambda _count: None, None)
        assert schema.types == [pa.null()]
        assert sum(batch.num_rows for batch in batches) == 2


def test_nothing_stands_between_a_stream_and_who_watches_it() -> None:
    """Or an interruption that comes there would be taken for an error of the statement."""
    schema = pa.schema([("x", pa.string())])
    batches = iter([pa.record_batch([["a"]], schema=schema)])
    assert number_texts(schema, batches, {})[1] is batches
