"""CSV: exact bytes, quoting that readers undo, formulas disarmed, speed."""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.csv_table import FORMULA, escape_formula, is_escaped, write_csv
from dprelease.postprocess.intervals.fixed_point import write_fixed_point


def key(name: str, values: Sequence[str | None], kind: ColumnType) -> OutputColumn:
    return OutputColumn(name, "key", values, "A key.", type=kind)


def table(*columns: OutputColumn) -> OutputTable:
    return OutputTable("t", columns)


def test_the_bytes() -> None:
    made = table(
        key("region", ["north", 'a "b", c', "ünï", None], ColumnType.STRING),
        key("level", ["-1", "0", "1", "2"], ColumnType.INTEGER),
        OutputColumn("n", "integer", [10**30, -3, 0, None], "Count."),
        OutputColumn("mean", "number", [33, 0, 200, None], "Mean.", 2),
        OutputColumn("mean_flag", "text", ["ok", "ok", "ok", "suppressed"], "Flag."),
    )
    expected = (
        "region,level,n,mean,mean_flag\n"
        f"north,-1,{10**30},0.33,ok\n"
        '"a ""b"", c",0,-3,0.00,ok\n'
        "ünï,1,0,2.00,ok\n"
        ",2,,,suppressed\n"
    )
    assert write_csv(made) == expected.encode("utf-8")
    assert write_csv(made) == write_csv(made)


def test_an_empty_label_is_not_a_missing_one() -> None:
    made = table(key("k", ["", None], ColumnType.STRING), OutputColumn("n", "integer", [1, 2], ""))
    assert write_csv(made) == b'k,n\n"",1\n,2\n'


def test_a_lonely_missing_value_is_still_a_record() -> None:
    assert write_csv(table(OutputColumn("n", "integer", [None], ""))) == b'n\n""\n'


def test_a_table_without_rows_has_a_header() -> None:
    assert write_csv(table(OutputColumn("n", "integer", [], ""))) == b"n\n"


@pytest.mark.parametrize(("longer", "shorter"), [([1], []), ([1, 2], [3])])
def test_columns_of_unequal_length_are_a_mistake(longer: list[int], shorter: list[int]) -> None:
    made = table(
        OutputColumn("a", "integer", longer, ""), OutputColumn("b", "integer", shorter, "")
    )
    with pytest.raises(ValueError, match="shorter"):
        write_csv(made)


def test_a_text_among_numbers_is_a_mistake() -> None:
    with pytest.raises(TypeError):
        write_csv(table(OutputColumn("a", "number", [1, "x"], "")))


@pytest.mark.parametrize("first", FORMULA)
def test_formulas_are_disarmed(first: str) -> None:
    label = f"{first}cmd()"
    column = key("k", [label, "plain"], ColumnType.STRING)
    rows = list(csv.reader(io.StringIO(write_csv(table(column)).decode(), newline="")))
    assert rows == [["k"], [f"'{label}"], ["plain"]]
    assert is_escaped(column)


def test_numbers_as_keys_are_left_alone_and_text_among_them_is_not() -> None:
    numbers = key("k", ["-5", "5"], ColumnType.INTEGER)
    mixed = key("k", ["-5", "=other"], ColumnType.INTEGER)
    text = key("k", ["-5"], ColumnType.STRING)
    assert write_csv(table(numbers)) == b"k\n-5\n5\n"
    assert write_csv(table(mixed)) == b"k\n'-5\n'=other\n"
    assert write_csv(table(text)) == b"k\n'-5\n"
    assert [is_escaped(each) for each in (numbers, mixed, text)] == [False, True, True]


def test_negative_results_are_numbers() -> None:
    made = table(OutputColumn("n", "integer", [-5], ""), OutputColumn("m", "number", [-50], "", 1))
    assert write_csv(made) == b"n,m\n-5,-5.0\n"


def test_headers_and_texts_are_disarmed_too() -> None:
    made = table(key("=k", ["a"], ColumnType.STRING), OutputColumn("t", "text", ["@x"], ""))
    assert write_csv(made) == b"'=k,t\na,'@x\n"


@given(st.text())
def test_the_escape_can_be_undone(text: str) -> None:
    written = escape_formula(text)
    assert not written.startswith(tuple(FORMULA))
    undone = re.sub(f"^'(?='*[{re.escape(FORMULA)}])", "", written)
    assert undone == text


LABELS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=8)


@given(LABELS)
def test_readers_get_the_labels_back(labels: list[str]) -> None:
    made = table(
        key("k", labels, ColumnType.STRING), OutputColumn("n", "integer", [1] * len(labels), "")
    )
    rows = list(csv.reader(io.StringIO(write_csv(made).decode("utf-8"), newline="")))
    assert rows[1:] == [[escape_formula(each), "1"] for each in labels]


SOME = [0, 1, -1, 9, 10, -10, 99, 100, 101, -100, -101, 12345, -12345, 10**30, -(10**30)]


@pytest.mark.parametrize("places", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("missing", [[], [None]])
def test_a_column_is_written_as_its_fields_would_be(
    places: int, times: int, missing: list[None]
) -> None:
    values = [*SOME, *missing] * times
    made = table(
        OutputColumn("a", "number", values, "", places), OutputColumn("b", "text", values, "")
    )
    fields = [line.split(",")[0] for line in write_csv(made).decode().splitlines()[1:]]
    assert fields == ["" if each is None else write_fixed_point(each, places) for each in values]


def test_constant_columns_anywhere() -> None:
    made = table(
        OutputColumn("a", "number", [-5, -5], "", 1),
        OutputColumn("b", "integer", [7, 7], ""),
        OutputColumn("c", "text", ["x,y", "x,y"], ""),
        OutputColumn("d", "integer", [1, 2], ""),
        OutputColumn("e", "integer", [None, None], ""),
        OutputColumn("f", "text", ["", ""], ""),
    )
    assert write_csv(made) == b'a,b,c,d,e,f\n-0.5,7,"x,y",1,,""\n-0.5,7,"x,y",2,,""\n'


def test_csv_needs_no_other_library() -> None:
    script = (
        "import sys; from dprelease.output.publish import publish;"
        "from dprelease.output.table_files import write_table;"
        "from dprelease.model import *;"
        "write_table(OutputTable('t', (OutputColumn('n', 'integer', [1], ''),)), 'csv');"
        "print([name for name in ('pyarrow', 'numpy', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
