"""Names, keys, null texts and paths of any content reach DuckDB as what they are."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import builders
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import COUNT, T, asked, inputs, refused

from dprelease.model import (
    AggregateRequest,
    Dialect,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.shared.files import resolve
from dprelease.sources.shared.locations import open_binary

ODD = ["'", '"', '"; DROP TABLE keys0; --', "a'b\"c\nd", "\\", "\u00e9 \U0001f600", "a\0b", "t0",
       "inside", "SELECT", "--", "$1", "{}", " "]  # fmt: skip


def counted(source: Source, column: str, keys: tuple[str, ...], number: str) -> list[list[int]]:
    group = Group(column, T.STRING, (*keys, "else", "none"), keys, None, "else", "none")
    measures = (*COUNT, Measure(MeasureKind.SUM, Quantity(number, Grid(Fraction(1), 0, 9))))
    read = inputs({column: T.STRING, number: T.FLOAT})
    request = AggregateRequest(source, read, (group,), measures)
    found = asked("duckdb", request)
    assert found == asked("reference", request)
    return found


@pytest.mark.one_in(4)
@pytest.mark.parametrize("odd", ODD)
def test_odd_names_and_keys_in_parquet(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "odd.parquet"
    table = pa.table([pa.array([odd, "b", None]), pa.array([1.0, 2.0, 3.0])], [odd, odd + "2"])
    pq.write_table(table, path)
    found = counted(Source(str(path), "parquet"), odd, (odd, "b"), odd + "2")
    assert found == [[1, 1, 0, 1], [1, 2, 0, 3]]


# no field of one line holds a line feed, and no name of a file a NUL
@pytest.mark.one_in(3)
@pytest.mark.parametrize("odd", [each for each in ODD if not {"\n", "\0"} & set(each)])
def test_odd_null_texts_and_paths_of_csv(tmp_path: Path, odd: str) -> None:
    folder = tmp_path / odd.replace("/", "_")
    folder.mkdir()
    path = folder / "odd.csv"
    quoted = '"' + odd.replace('"', '""') + '"'
    path.write_text(f"s,n\n{quoted},1\nb,2\nb,9\n", encoding="utf-8")
    source = Source(str(path), "csv", Dialect(null_values=(odd,)))
    assert counted(source, "s", (odd, "b"), "n") == [[0, 2, 0, 1], [0, 11, 0, 1]]


def test_odd_names_in_conditions(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    odd = "a'\"b; --"
    pq.write_table(pa.table([pa.array(["x'y", "z"])], [odd]), path)
    name = '"' + odd.replace('"', '""') + '"'
    where = Expression(f"{name} = 'x''y'", (odd,))
    source, measures = Source(str(path), "parquet"), (Measure(MeasureKind.RECORDS, where=where),)
    request = AggregateRequest(source, inputs({odd: T.STRING}), (), measures)
    for engine in ("duckdb", "reference"):
        assert asked(engine, request) == [[1]]


def test_a_nested_column_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "nested.parquet"
    nested = pa.array([{"a": ["x"]}, None], pa.struct([("a", pa.list_(pa.string()))]))
    pq.write_table(pa.table({"n": nested, "s": ["x", "b"], "m": [1.0, 2.0]}), path)
    source = Source(str(path), "parquet")
    assert counted(source, "s", ("x",), "m") == [[1, 1, 0], [1, 2, 0]]
    assert "can't be read as" in refused(source, InputColumn("n", T.STRING)).message


@pytest.mark.one_in(2)
@pytest.mark.parametrize("file", ["d.csv", "d.parquet"])
def test_a_spec_without_expressions_needs_no_parser(tmp_path: Path, file: str) -> None:
    (tmp_path / "d.csv").write_text("s,n\na,1\nb,2.5\n")
    pq.write_table(pa.table({"s": ["a", "b"], "n": [1.0, 2.5]}), tmp_path / "d.parquet")
    spec = builders.spec(
        data={"path": str(tmp_path / file)},
        ledger={"path": str(tmp_path / "ledger.sqlite"), "epsilon_cap": 10},
        columns={
            "s": {"type": "string", "keys": ["a", "b"]},
            "n": {"type": "decimal", "lower": 0, "upper": 20, "step": 0.01},
        },
        query=[{"name": "total", "statistic": "sum", "column": "n", "by": ["s"]}],
        output={"path": str(tmp_path / "out")},
    )
    code = (
        "import sys; from dprelease import run\n"
        f"run({spec!r})\n"
        "assert 'duckdb' in sys.modules\n"
        "assert 'sqlglot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "out").is_dir()


def test_files_of_odd_names_at_a_uri_are_each_read_once(tmp_path: Path) -> None:
    """One whose name is another's when percents in it are taken for marks of a URI too."""
    names = {"x%41.csv", "xA.csv", "a b.csv", "a#b.csv", "a?b.csv", "a[1].csv", "\u00e9.csv"}
    for name in names:
        (tmp_path / name).write_text(f"g\n{name}\n", encoding="utf-8")
    for pattern in (tmp_path.as_uri(), f"{tmp_path.as_uri()}/*.csv"):
        found = [open_binary(uri).read().decode() for uri in resolve(Source(pattern, "csv"))]
        assert sorted(found) == sorted(f"g\n{name}\n" for name in names)
