"""Cells: written by rule, the same in both formats, and read back or refused."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from record_laws import (
    ENDS,
    build_labels_response,
    build_step,
    numeric,
    read,
    sample,
    tally_answers,
    window,
    write_answers,
)

from dprelease.errors import Failure
from dprelease.local.estimation.estimates import estimate_all
from dprelease.local.store import read_table
from dprelease.local.store.answer_cells import (
    LabelCells,
    NumberCells,
    choose_cells,
    choose_separator,
    describe_table,
)
from dprelease.local.store.write_table import write_records
from dprelease.model import (
    About,
    ColumnType,
    Grid,
    LaplaceLaw,
    RecordStep,
    Response,
    SubsetLaw,
    WindowLaw,
)

KEEP = Fraction(3, 4)
ODD = ["=north", "'x", "a,b", 'say "no"', "", "two\nlines", "'=y", " edge ", "é", "-h", "|;/"]
WINDOWS = WindowLaw(window(4, 1, Fraction(3)), window(6, 2, Fraction(2)), KEEP)
CENTS = Grid(Fraction(1, 100), -50, 15_000)
STEP = build_step(
    build_labels_response("=odd", ODD, KEEP),
    build_labels_response("sets", ODD, KEEP, 3),
    build_labels_response("year", ["2020", "-5", "7"], KEEP, kind=ColumnType.INTEGER),
    build_labels_response("size", ["1", "2", "none"], KEEP, kind=ColumnType.INTEGER, null="none"),
    build_labels_response("u", ["false", "true"], KEEP, kind=ColumnType.BOOLEAN),
    build_labels_response("day", ["2020-01-31", "2021-12-01"], KEEP, kind=ColumnType.DATE),
    build_labels_response("at", ["2020-01-31 10:00:00", "2021-12-01 00:00:00.250000"], KEEP,
             kind=ColumnType.TIMESTAMP),
    numeric("whole", Grid(Fraction(5), -3, 40), LaplaceLaw(Fraction(30))),
    numeric("cents", CENTS, LaplaceLaw(Fraction(3000))),
    numeric("wide", Grid(Fraction(1, 10**9), 0, 10**12), LaplaceLaw(Fraction(10**14))),
    numeric("levels", CENTS, WINDOWS),
    numeric("steps", Grid(Fraction(1000), 0, 4), WindowLaw(window(3, 1, Fraction(2)))),
    build_labels_response("numbers", [f"k{each}" for each in range(1200)], KEEP, 4),
    numeric("small", Grid(Fraction(1, 2**20), -500, 1500), LaplaceLaw(Fraction(10))),
    numeric("long", Grid(10**18 + Fraction(1, 10**12), -500, 1500), LaplaceLaw(Fraction(100))),
)  # fmt: skip
ROWS = 300


def columns_of(step: RecordStep) -> list[np.ndarray]:
    rng = random.Random(11)
    return [draw(each, rng) for each in step.responses]


def draw(response: Response, rng: random.Random) -> np.ndarray:
    if response.column.name == "numbers":  # too many sets for enumeration
        law = response.law
        assert isinstance(law, SubsetLaw)
        sets = [sorted(rng.sample(range(law.labels), law.size)) for _ in range(ROWS)]
        return np.array(sets, dtype=np.uint16)
    most = 1 if response.column.group else 4
    found: np.ndarray = sample(response, [rng.randint(0, most) for _ in range(ROWS)], rng)
    return found


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_written_is_read_back(form: str) -> None:
    columns = columns_of(STEP)
    found = list(read(STEP, write_answers(STEP, columns, form), form))
    (batch,) = found
    for response, was, now in zip(STEP.responses, columns, batch, strict=True):
        assert now.tolist() == was.tolist(), response.column.name


def test_both_formats_tell_the_same() -> None:
    columns = columns_of(STEP)
    told = [
        estimate_all(
            STEP, tally_answers(STEP, read(STEP, write_answers(STEP, columns, form), form)), ENDS
        )
        for form in ("csv", "parquet")
    ]
    assert told[0] == told[1] == estimate_all(STEP, tally_answers(STEP, [columns]), ENDS)


def test_batches_are_as_good_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = columns_of(STEP)
    whole = tally_answers(STEP, [columns])
    monkeypatch.setattr(read_table, "BATCH", 17)
    for form in ("csv", "parquet"):
        batches = list(read(STEP, write_answers(STEP, columns, form), form))
        assert len(batches) == -(-ROWS // 17)
        assert tally_answers(STEP, batches) == whole


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_batches_are_written_as_the_whole(form: str) -> None:
    whole = tuple(columns_of(STEP))
    sink = io.BytesIO()
    parts = [tuple(column[at : at + 70] for column in whole) for at in range(0, ROWS, 70)]
    write_records(sink, STEP, describe_table(STEP, About("a")), parts, form)
    assert sink.getvalue() == write_answers(STEP, whole, form)


def test_cells_by_an_independent_reader() -> None:
    columns = columns_of(STEP)
    lines = list(
        csv.DictReader(io.StringIO(write_answers(STEP, columns, "csv").decode(), newline=""))
    )
    table = pq.read_table(pa.BufferReader(write_answers(STEP, columns, "parquet")))
    assert [str(each) for each in table.schema.types] == [
        "string", "string", "int64", "string", "bool", "date32[day]", "timestamp[us]",
        "int64", "double", "decimal128(38, 9)", "double", "int64", "string",
        "decimal128(38, 20)", "decimal128(38, 12)",
    ]  # fmt: skip
    between = choose_separator(ODD)
    assert between == "&"
    for row, line in enumerate(lines):
        label = ODD[columns[0][row, 0]]
        added = "'" if label in ("=north", "'=y", "-h") else ""
        assert line["'=odd"] == added + label
        assert table["=odd"][row].as_py() == label
        joined = between.join(ODD[each] for each in columns[1][row])
        assert table["sets"][row].as_py() == joined
        assert line["sets"] in (joined, f"'{joined}")
        assert line["cents"] == f"{columns[8][row] / 100:.2f}".replace("-0.00", "0.00")
        assert Fraction(line["wide"]) == Fraction(int(columns[9][row]), 10**9)
        assert Fraction(table["wide"][row].as_py()) == Fraction(line["wide"])
        assert float(line["levels"]) == table["levels"][row].as_py()
        assert int(line["steps"]) == table["steps"][row].as_py()
        assert line["numbers"] == table["numbers"][row].as_py()
        assert [int(each) - 1 for each in line["numbers"].split(" ")] == columns[12][row].tolist()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_without_records(form: str) -> None:
    none = [each[:0] for each in columns_of(STEP)]
    assert tally_answers(STEP, read(STEP, write_answers(STEP, none, form), form)).rows == 0


def test_a_separator_stands_in_no_label_and_begins_no_formula() -> None:
    assert choose_separator(["a|b", "c;d", "e/f"]) == "&"
    ascii_ = "".join(map(chr, range(32, 127)))
    found = choose_separator([ascii_])
    assert len(found) == 1
    assert ord(found) > 127
    with pytest.raises(ValueError, match="every character"):
        choose_separator(["".join(map(chr, range(32, 0x3100)))])


def test_only_very_many_sets_are_numbers() -> None:
    few, many = (
        choose_cells(build_labels_response("s", [*map(str, range(labels))], KEEP, 5))
        for labels in (20, 21)
    )
    assert isinstance(few, LabelCells)
    assert isinstance(many, LabelCells)
    assert (comb(20, 5), comb(21, 5)) == (15_504, 20_349)
    assert (few.is_numbered, many.is_numbered) == (False, True)


def test_numbers_too_large_for_a_table_are_refused() -> None:
    response = numeric("n", Grid(Fraction(10**30), 0, 5), LaplaceLaw(Fraction(10**12)))
    with pytest.raises(ValueError, match="too large"):
        choose_cells(response)
    cells = choose_cells(numeric("n", Grid(Fraction(1), 0, 5), LaplaceLaw(Fraction(2**60))))
    assert isinstance(cells, NumberCells)
    assert cells.parquet == "decimal"


# --- hostile and damaged tables ------------------------------------------------------------------

SMALL = build_step(
    build_labels_response("a", ["x", "y"], KEEP),
    build_labels_response("s", ["x", "y", "z"], KEEP, 2),
    numeric("n", Grid(Fraction(1, 100), 0, 100), LaplaceLaw(Fraction(5))),
    numeric("l", Grid(Fraction(1), 0, 100), WindowLaw(window(2, 1, Fraction(4)))),
)
GOOD = ["x,x|y,0.05,-50", "y,y|z,-12.30,150"]


def small(*lines: str) -> bytes:
    return "\n".join(["a,s,n,l", *lines, ""]).encode()


def test_the_small_table_is_sound() -> None:
    (batch,) = read(SMALL, small(*GOOD), "csv")
    assert [each.tolist() for each in batch] == [[[0], [1]], [[0, 1], [1, 2]], [5, -1230], [0, 1]]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("secret,x|y,0.05,-50", "a"),
        (",x|y,0.05,-50", "a"),
        ("x,y|x,0.05,-50", "s"),
        ("x,x|x,0.05,-50", "s"),
        ("x,x,0.05,-50", "s"),
        ("x,x|y|z,0.05,-50", "s"),
        ("x,x|secret,0.05,-50", "s"),
        ("x,secret|y,0.05,-50", "s"),
        ("x,x|y,0.5,-50", "n"),
        ("x,x|y,1e5,-50", "n"),
        ("x,x|y,nan,-50", "n"),
        ("x,x|y,,-50", "n"),
        ("x,x|y,+0.05,-50", "n"),
        ("x,x|y,99999999999999999999999.00,-50", "n"),
        ("x,x|y,0.05,-51", "l"),
        ("x,x|y,0.05,", "l"),
    ],
)
def test_a_cell_that_no_release_holds_is_refused_by_its_row(line: str, column: str) -> None:
    content = small(*GOOD * 50, line, *GOOD)
    with pytest.raises(Failure) as failure:
        list(read(SMALL, content, "csv"))
    (complaint,) = failure.value.complaints
    assert (failure.value.exit_code, complaint.code) == (2, "E834")
    assert complaint.message == f"t: row 101 has no value of {column} that the release can contain"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"a,s,n\nx,x|y,0.05\n",
        b"s,a,n,l\nx|y,x,0.05,-50\n",
        b"a,s,n,l\nx,x|y\n",
        b"a,s,n,l\nx,x|y,0.05,-50,7\n",
        b"a,s,n,l\n\xff\xfe,x|y,0.05,-50\n",
        b'a,s,n,l\n"x,x|y,0.05,-50\n',
        b"\x00" * 100,
    ],
)
def test_what_is_no_such_csv_is_refused(content: bytes) -> None:
    with pytest.raises(Failure) as failure:
        list(read(SMALL, content, "csv"))
    assert failure.value.complaints[0].code == "E834"


def parquet(change: Callable[[dict[str, pa.Array]], object]) -> bytes:
    columns = {
        "a": pa.array(["x", "y"]),
        "s": pa.array(["x|y", "y|z"]),
        "n": pa.array([0.05, -12.3]),
        "l": pa.array([-50, 150]),
    }
    change(columns)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def test_the_small_parquet_table_is_sound() -> None:
    (batch,) = read(SMALL, parquet(lambda columns: None), "parquet")
    assert batch[2].tolist() == [5, -1230]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a", pa.array(["x", None])),
        ("a", pa.array([1, 2])),
        ("s", pa.array(["x|y", None])),
        ("n", pa.array([0.05, float("nan")])),
        ("n", pa.array([0.05, float("inf")])),
        ("n", pa.array([0.05, 0.005])),
        ("n", pa.array([0.05, 1e300])),
        ("n", pa.array([0.05, None])),
        ("n", pa.array([5, 6])),
        ("l", pa.array([-50, None])),
        ("l", pa.array([-50.0, 150.0])),
    ],
)
def test_a_parquet_cell_that_no_release_holds_is_refused(name: str, values: pa.Array) -> None:
    content = parquet(lambda columns: columns.update({name: values}))
    with pytest.raises(Failure) as failure:
        list(read(SMALL, content, "parquet"))
    assert failure.value.complaints[0].code == "E834"


def test_what_is_no_such_parquet_file_is_refused() -> None:
    whole = parquet(lambda columns: None)
    other = parquet(lambda columns: columns.pop("l"))
    for content in (b"", b"PAR1", whole[:-20], whole[: len(whole) // 2], other):
        with pytest.raises(Failure) as failure:
            list(read(SMALL, content, "parquet"))
        assert failure.value.complaints[0].code == "E834"
