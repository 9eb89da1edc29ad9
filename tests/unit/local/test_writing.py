"""What is written of a table of records is read back to the letter, from CSV and from Parquet."""

from __future__ import annotations

import io
import sys
from fractions import Fraction
from math import comb
from signal import SIGINT
from subprocess import PIPE, Popen
from typing import Any

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from record_laws import build_labels_response, build_step, numeric

from dprelease.files.prefetch import read_ahead
from dprelease.local.store.answer_cells import LabelCells, choose_cells, describe_table
from dprelease.local.store.read_table import read_columns
from dprelease.local.store.write_table import write_records
from dprelease.model import (
    About,
    ColumnType,
    Grid,
    LaplaceLaw,
    Loss,
    Response,
    SubsetLaw,
    Window,
    WindowLaw,
)

LOSS = Loss(Fraction(1))
ODD = ("a", "", 'b"c', "=1+1", "d,e", " f ", "é", "'g", "-h", "|;/", "long" * 9)


GRID = Grid(Fraction(1), -500, 1500)
SURE = Fraction(3, 4)


def with_labels(
    labels: tuple[str, ...], size: int, kind: ColumnType = ColumnType.STRING
) -> Response:
    return build_labels_response(f"g{size}", labels, SURE, size, kind)


def on_grid(name: str, step: Fraction, law: LaplaceLaw | WindowLaw) -> Response:
    return numeric(name, replace(GRID, step=step), law)


WINDOWS = WindowLaw(
    Window(8, 3, Fraction(5, 2), Fraction(123_456, 100_000)),
    Window(2, 1, Fraction(3), Fraction(2)),
    Fraction(1, 4),
)
STEPS = {
    "one of odd labels": [with_labels(ODD, 1)],
    "typed labels": [with_labels(("1", "2", "30"), 1, ColumnType.INTEGER)],
    "small sets": [with_labels(ODD, 3)],
    "large sets": [with_labels(tuple(f"k{each}" for each in range(40)), 9)],
    "large sets of many": [with_labels(tuple(f"k{each}" for each in range(1200)), 4)],
    "whole numbers": [on_grid("x", Fraction(5), LaplaceLaw(Fraction(1000)))],
    "decimals": [on_grid("x", Fraction(1, 100), LaplaceLaw(Fraction(1000)))],
    "small steps": [on_grid("x", Fraction(1, 2**20), LaplaceLaw(Fraction(10)))],
    "long decimals": [on_grid("x", 10**18 + Fraction(1, 10**12), LaplaceLaw(Fraction(100)))],
    "levels": [on_grid("x", Fraction(1, 4), WINDOWS)],
    "together": [
        with_labels(("yes", "no"), 1),
        on_grid("x", Fraction(1, 10), LaplaceLaw(Fraction(7))),
        with_labels(tuple(f"k{each}" for each in range(40)), 9),
        on_grid("w", Fraction(1), WINDOWS),
    ],
}


def noisy(response: Response, rows: int, start: int) -> np.ndarray:
    random = np.arange(start, start + rows) * 2_654_435_761 % 2**32
    law = response.law
    if isinstance(law, SubsetLaw):
        chosen = [
            np.sort(np.roll(np.arange(law.labels), int(each) % law.labels)[: law.size])
            for each in random
        ]
        return np.array(chosen, dtype=np.uint16).reshape(rows, law.size)
    if isinstance(law, WindowLaw):
        return (random % 10).astype(np.int16)
    return (random % 20_001 - 10_000).astype(np.int64)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", STEPS)
def test_written_and_read_back(name: str, form: str) -> None:
    step = build_step(*STEPS[name])
    batches = [
        tuple(noisy(each, rows, start) for each in step.responses)
        for start, rows in ((0, 70), (70, 1), (71, 129))
    ]
    sink = io.BytesIO()
    write_records(sink, step, describe_table(step, About("r")), iter(batches), form)
    sink.seek(0)
    again = list(read_columns(sink, "t", form, step))
    for place, response in enumerate(step.responses):
        before = np.concatenate([batch[place] for batch in batches])
        after = np.concatenate([batch[place] for batch in again])
        if isinstance(response.law, WindowLaw):  # levels that stand for the same are one
            values = choose_cells(response).levels  # type: ignore[union-attr]
            assert values is not None
            assert [values[each] for each in before] == [values[each] for each in after]
        else:
            assert (before == after.reshape(before.shape)).all()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_batches_make_no_difference(form: str) -> None:
    step = build_step(*STEPS["together"])
    whole = tuple(noisy(each, 300, 0) for each in step.responses)
    parts = [tuple(column[at : at + 60] for column in whole) for at in range(0, 300, 60)]
    files = []
    for batches in ([whole], parts):
        sink = io.BytesIO()
        write_records(sink, step, describe_table(step, About("r")), iter(batches), form)
        files.append(sink.getvalue())
    assert files[0] == files[1]


def test_ordinary_readers_read_it() -> None:
    step = build_step(*STEPS["together"])
    whole = tuple(noisy(each, 50, 0) for each in step.responses)
    tables = []
    for form in ("csv", "parquet"):
        sink = io.BytesIO()
        write_records(sink, step, describe_table(step, About("r")), iter([whole]), form)
        sink.seek(0)
        tables.append(csv.read_csv(sink) if form == "csv" else pq.read_table(sink))
    by_csv, by_parquet = tables
    assert by_csv.column_names == by_parquet.column_names == ["g1", "x", "g9", "w"]
    assert by_csv["x"].to_pylist() == by_parquet["x"].to_pylist()
    assert by_csv["g1"].to_pylist() == by_parquet["g1"].to_pylist()
    numbers = by_parquet["g9"].to_pylist()
    assert by_csv["g9"].to_pylist() == numbers
    assert [[int(each) - 1 for each in text.split(" ")] for text in numbers] == whole[2].tolist()


def test_only_very_many_sets_are_numbers() -> None:
    few, many = (
        choose_cells(with_labels(tuple(map(str, range(k))), d)) for k, d in ((20, 5), (21, 5))
    )
    assert isinstance(few, LabelCells)
    assert isinstance(many, LabelCells)
    assert (comb(20, 5), comb(21, 5)) == (15_504, 20_349)
    assert (few.is_numbered, many.is_numbered) == (False, True)


# --- streams in threads --------------------------------------------------------------------------


def test_a_stream_comes_in_order_and_whole() -> None:
    assert list(read_ahead(iter(range(50)))) == list(range(50))
    assert list(read_ahead(iter(()))) == []


def test_what_a_stream_raises_is_raised_where_it_is_taken() -> None:
    def broken() -> Any:
        yield 1
        raise ZeroDivisionError

    taken = read_ahead(broken())
    assert next(taken) == 1
    with pytest.raises(ZeroDivisionError):
        next(taken)


def test_a_dropped_stream_is_closed() -> None:
    closed = []

    def endless() -> Any:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    taken = read_ahead(endless())
    assert next(taken) == 1
    taken.close()  # type: ignore[attr-defined]
    assert closed == [True]


WAITS = """
import time
from dprelease.__main__ import leave
from dprelease.files.prefetch import read_ahead

def slow():
    yield 1
    time.sleep(100)
    yield 2

try:
    for _ in read_ahead(slow()):
        print("taken", flush=True)
        {after}
except (KeyboardInterrupt, ArithmeticError):
    leave(130)
"""


@pytest.mark.parametrize(("after", "signals"), [("pass", 1), ("raise ArithmeticError", 0)])
def test_nobody_waits_for_an_item_that_is_not_wanted(after: str, signals: int) -> None:
    process = Popen([sys.executable, "-c", WAITS.format(after=after)], stdout=PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"taken\n"
        for _ in range(signals):
            process.send_signal(SIGINT)
        assert process.wait(20) == 130
