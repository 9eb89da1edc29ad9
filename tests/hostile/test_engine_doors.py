"""What the engine's own connection may do, were a hostile statement to reach it: nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import duckdb
import pytest
from product_source import (
    FILES,
    get_module_name,
    list_nodes,
    parse_module,
    read_source,
    write_dotted,
)

from dprelease.engines.duckdb.duckdb_session import open_session

READS = """
FROM read_csv('{other}')
FROM '{other}'
FROM read_text('{other}')
FROM read_blob('/etc/passwd')
FROM read_json('{other}')
FROM read_csv('{folder}/../*/*.csv')
FROM read_csv(['{declared}', '{other}'])
FROM read_csv('{declared}/../other.csv')
FROM read_parquet('/proc/self/environ')
FROM sniff_csv('{other}')
FROM glob('{folder}/*')
FROM read_csv('http://127.0.0.1:9/x.csv')
FROM read_csv('https://127.0.0.1:9/x.csv')
FROM 's3://bucket/x.parquet'
FROM parquet_metadata('{other}')
ATTACH '{folder}/new.db'
ATTACH '{other}' (TYPE sqlite)
ATTACH 'http://127.0.0.1:9/x.db'
IMPORT DATABASE '{folder}'
SELECT getenv('HOME')
""".strip().splitlines()

WRITES = """
COPY (SELECT 1) TO '{folder}/new.csv'
COPY (SELECT 1) TO '{other}'
COPY (SELECT 1) TO '{declared}'
COPY (SELECT 1) TO '/dev/stdout'
COPY (SELECT 1) TO '{folder}/new.parquet' (FORMAT parquet)
EXPORT DATABASE '{folder}/all'
PRAGMA enable_profiling
SET profiling_output = '{folder}/new'
CREATE PERSISTENT SECRET s (TYPE http)
CALL enable_logging(storage = 'file')
""".strip().splitlines()

LOADS = """
INSTALL httpfs
FORCE INSTALL httpfs
INSTALL httpfs FROM 'http://127.0.0.1:9'
INSTALL '{folder}/x.duckdb_extension'
INSTALL h3 FROM community
LOAD httpfs
LOAD '{folder}/x.duckdb_extension'
UPDATE EXTENSIONS
""".strip().splitlines()

UNLOCKS = """
SET enable_external_access = true
SET lock_configuration = false
RESET lock_configuration
SET GLOBAL lock_configuration = false
PRAGMA lock_configuration = false
SET allowed_paths = ['/etc/passwd']
SET allowed_directories = ['/']
SET temp_directory = '{folder}'
SET max_temp_directory_size = '1GB'
SET autoinstall_known_extensions = true
SET autoload_known_extensions = true
SET allow_unsigned_extensions = true
SET allow_community_extensions = true
SET allow_persistent_secrets = true
SET extension_directory = '{folder}'
SET secret_directory = '{folder}'
SET log_query_path = '{folder}/log'
SET memory_limit = '100GB'
SET threads = 64
SET disabled_optimizers = ''
SET python_enable_replacements = true
RESET enable_external_access
""".strip().splitlines()

SETTINGS = {
    "enable_external_access": False,
    "lock_configuration": True,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "allowed_directories": [],
    "temp_directory": "",
    "log_query_path": "",
}


def test_the_connection_can_do_nothing_but_read_what_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    for folder in (here, tmp_path / "home", tmp_path / "tmp"):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.chdir(here)
    declared, other = tmp_path / "declared.csv", tmp_path / "other.csv"
    for path in (declared, other):
        path.write_text("x\n1\n")
    before = sorted(tmp_path.rglob("*"))
    done = []
    with open_session([str(declared)]) as connection:
        for line in READS + WRITES + LOADS + UNLOCKS:
            statement = line.format(folder=tmp_path, declared=declared, other=other)
            try:
                connection.execute(statement).fetchall()
                done.append(statement)
            except duckdb.Error:
                pass
        for name, value in SETTINGS.items():
            found = connection.execute(f"SELECT current_setting('{name}')").fetchall()
            assert found == [(value,)], name
        assert connection.execute(f"FROM read_csv('{declared}')").fetchall() == [(1,)]
    assert done == []
    assert sorted(tmp_path.rglob("*")) == before
    assert [path.read_text() for path in (declared, other)] == ["x\n1\n"] * 2


def test_a_connection_for_records_that_we_read_can_open_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n")
    with open_session(()) as connection, pytest.raises(duckdb.Error):
        connection.execute(f"FROM read_csv('{tmp_path}/x.csv')")


def test_python_variables_are_no_tables() -> None:
    import pyarrow as pa

    secret = pa.table({"x": [1]})
    assert secret.num_rows == 1
    with open_session(()) as connection, pytest.raises(duckdb.Error):
        connection.execute("FROM secret")


def test_there_is_no_other_way_to_a_connection() -> None:
    """One place opens DuckDB, and what it gives is locked before anything else is asked."""
    found = [
        (get_module_name(file), write_dotted(node.func))
        for file in FILES
        if "duckdb" in read_source(file)
        for node in list_nodes(parse_module(file))
        if isinstance(node, ast.Call)
        and write_dotted(node.func) in {"duckdb.connect", "duckdb.sql", "duckdb.query",
                                       "duckdb.execute", "duckdb.read_csv", "duckdb.from_arrow"}
    ]  # fmt: skip
    assert found == [("engines/duckdb/duckdb_session.py", "duckdb.connect")]
