"""CSV files without a header that are empty, or nearly: engines agree on what their records are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from oracle.engine import get
from tables import ENGINES, RECORD_ENGINES, T, asked, by_key, hidden, keyed

from dprelease.model import (
    AggregateRequest,
    Bound,
    Dialect,
    Grid,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)

BOM = b"\xef\xbb\xbf"
# Of each content the number of records: each line is one, an empty one too.
CONTENTS = {
    b"": 0,
    BOM: 0,
    b"\n": 1,
    b"\r\n": 1,
    b"\n\n\n": 3,
    BOM + b"\n": 1,
    b" ": 1,
    b'"': 1,
    b"a": 1,
    b"a,": 1,
    b"a,1": 1,
    b"a,1\n": 1,
    b"\na,1\r\n": 2,
    BOM + b"a,1": 1,
    b"a,1\0": 1,
    b"x" * (3 << 19): 1,
}
TWO, ONE = ("g", "x"), ("g",)
G = keyed("g", ("a", "b"))
X = Quantity("x", Grid(Fraction(1), -5, 5), null_fill=0)
RECORDS = Measure(MeasureKind.RECORDS)
SUMS = (RECORDS, Measure(MeasureKind.SUM, X), Measure(MeasureKind.VALUES, X))


def dialects(names: tuple[str, ...]) -> list[Dialect]:
    return [
        Dialect(header=False, names=names),
        Dialect(header=False, names=names, encoding="latin-1", quote="", null_values=()),
    ]


def columns(names: tuple[str, ...]) -> tuple[InputColumn, ...]:
    kinds = {"g": T.STRING, "x": T.FLOAT}
    return tuple(InputColumn(name, kinds[name]) for name in names)


def check(source: Source, records: int) -> None:
    """Both engines find so many records, and the same of everything else."""
    names = source.dialect.names or ()
    inputs = columns(names)
    bound = Bound("g", 1, 1, 1, 0, null_unit=True, salt=7)
    numbers = names == TWO
    measures = SUMS if numbers else (RECORDS,)
    requests = [
        AggregateRequest(source, inputs, (G,), measures),
        AggregateRequest(source, inputs, (G,), measures, bound=bound),
        *([AggregateRequest(source, inputs, (G,), (), points=X)] if numbers else []),
    ]
    for request in requests:
        assert asked("duckdb", request) == asked("reference", request)
    private = AggregateRequest(source, inputs, (hidden("g", null="none"),), measures)
    assert by_key("duckdb", private) == by_key("reference", private)
    for engine in ENGINES:
        every = AggregateRequest(source, inputs, (), (RECORDS,))
        assert asked(engine, every) == [[records]]
    for engine in RECORD_ENGINES:
        wanted = RecordRequest(source, inputs, (G, *([X] if numbers else [])))
        batches = get(engine).records(wanted).reveal()
        codes = Counter(pair for each in batches for pair in zip(*each, strict=True))
        assert codes.total() == records


@pytest.mark.one_in(26)
@pytest.mark.parametrize("dialect", [0, 1])
@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: repr(content[:9]))
@pytest.mark.parametrize("names", [TWO, ONE], ids=["two", "one"])
def test_a_file_by_itself(
    names: tuple[str, ...], content: bytes, dialect: int, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    check(Source(str(path), "csv", dialects(names)[dialect]), CONTENTS[content])


@pytest.mark.one_in(26)
@pytest.mark.parametrize("beside", [0, 2])
@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: repr(content[:9]))
@pytest.mark.parametrize("names", [TWO, ONE], ids=["two", "one"])
def test_a_file_among_others(
    names: tuple[str, ...], content: bytes, beside: int, tmp_path: Path
) -> None:
    line = b"b,2\n" if names == TWO else b"b\n"
    for number, text in enumerate((line * beside, content, b"")):
        (tmp_path / f"{number}.csv").write_bytes(text)
    pattern = tmp_path if beside else tmp_path / "*.csv"
    source = Source(str(pattern), "csv", dialects(names)[0])
    check(source, beside + CONTENTS[content])
