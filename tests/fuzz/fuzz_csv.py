"""Any bytes as a CSV file: the engine and its oracle agree, or both refuse it in words.

python tests/fuzz/fuzz_csv.py --minutes 10
"""

from __future__ import annotations

import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from oracle.engine import get  # noqa: E402
from timed import main  # noqa: E402

from dprelease.engines.engine_interface import Engine  # noqa: E402
from dprelease.errors import ExitCode, Failure  # noqa: E402
from dprelease.model import (  # noqa: E402
    AggregateRequest,
    ColumnType,
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

TOKENS = [b",", b",", b",", b'"', b'"', b"\n", b"\n", b" ", b"a", b"1", b"\t", b"2", b"\xc3\xa9",
          b"-", b".", b"e", b"5", b"'", b";", b"0", b"nan", b"inf", b"true", b"2026-01-01",
          b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\\", b"\x1f", b"\xe2\x80\xa8",
          b"9" * 25, b"1e400", b'""', b'","', b"#", b"a" * 300, b"\xf0\x9f\x92\xa9"]  # fmt: skip
FIELD = st.sampled_from(
    [b"a", b"1", b"", b"b", b"-3", b"2.5", b'"a"', b'" a"', b'"1,"', b'"a"""', b'"', b"n/a",
     b"2026-02-03", b"TRUE", b"1e3", b" 7 ", b"nan", b"\xff", b'a"b', b"\0", b"9" * 20]
)  # fmt: skip
LINE = st.lists(FIELD, min_size=1, max_size=6).map(b",".join)
RECORD = st.tuples(FIELD, FIELD, FIELD, FIELD).map(b",".join)
SOUP = st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join)
BODY = st.one_of(
    SOUP,
    st.binary(max_size=60),
    st.lists(st.one_of(RECORD, RECORD, RECORD, LINE, SOUP), max_size=12).map(b"\n".join),
    st.lists(RECORD, max_size=12).map(b"\r\n".join),
)
HEADER = st.one_of(
    st.just(b"s,n,d,w\n"), st.just(b"s,n,d,w\n"), st.just(b"\xef\xbb\xbfs,n,d,w\r\n"),
    st.just(b'"s",n,"d" ,w\n'), st.just(b"w,d,n,s,x\n"), SOUP.map(lambda soup: soup + b"\n"),
)  # fmt: skip
DIALECT = st.builds(
    Dialect,
    delimiter=st.sampled_from([",", ",", ",", ";", "\t"]),
    quote=st.sampled_from(['"', '"', '"', "'", ""]),
    encoding=st.sampled_from(["utf-8", "utf-8", "latin-1"]),
    null_values=st.sampled_from([("",), ("", "n/a"), ("1",), ()]),
    strip=st.booleans(),
)
CASES = st.tuples(HEADER, BODY, DIALECT, st.sampled_from(["public", "private"]))

INPUTS = (
    InputColumn("s", ColumnType.STRING),
    InputColumn("n", ColumnType.FLOAT),
    InputColumn("d", ColumnType.DATE),
    InputColumn("w", ColumnType.INTEGER),
)
KEYS = ("a", "", "1", "é", " a")
PUBLIC = Group("s", ColumnType.STRING, (*KEYS, "other", "null"), KEYS, None, "other", "null")
PRIVATE = Group("s", ColumnType.STRING, (), null_label="null", private=True)
QUANTITY = Quantity("n", Grid(Fraction(1, 2), -10, 200))
WHOLE = Quantity("w", Grid(Fraction(1), 0, 100), null_fill=7)
MEASURES = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.VALUES, QUANTITY),
    Measure(MeasureKind.SUM, QUANTITY),
    Measure(MeasureKind.SUM, WHOLE),
    Measure(MeasureKind.RECORDS, where=Expression("YEAR(d) > 2000 OR w / n > 1", ("d", "w", "n"))),
)
PLACE = Path(tempfile.gettempdir()) / "dprelease-fuzz.csv"


def answer(name: str, asked: AggregateRequest) -> Any:
    """The integers of every cell in an order of their own, or the code of the refusal."""
    engine = get(name)
    refused = refusal(engine, asked)
    if refused is not None:
        assert refused.exit_code is ExitCode.DATA, refused
        assert all(each.hint for each in refused.complaints)
        return [each.code for each in refused.complaints]
    table = engine.aggregate(asked)
    columns = [list(column) for column in table.reveal()]
    if not asked.private:
        return columns
    keys = [tuple(key) for key in table.reveal_keys()]
    return sorted(zip(keys, *columns, strict=True))


def refusal(engine: Engine, asked: AggregateRequest) -> Failure | None:
    """What is said against the structure of the file, if anything is."""
    try:
        engine.inspect(asked.source, asked.inputs)
    except Failure as failure:
        return failure
    return None


def check(case: tuple[bytes, bytes, Dialect, str]) -> None:
    """Ask both; nothing but a refusal of the structure may be raised."""
    header, body, dialect, kind = case
    delimiter = dialect.delimiter.encode()
    PLACE.write_bytes((header + body).replace(b",", delimiter))
    group = PUBLIC if kind == "public" else PRIVATE
    asked = AggregateRequest(Source(str(PLACE), "csv", dialect), INPUTS, (group,), MEASURES)
    assert answer("duckdb", asked) == answer("reference", asked)


def use_folder(folder: Path) -> None:
    """The file is written here."""
    global PLACE  # noqa: PLW0603 - one for a process
    PLACE = folder / "fuzz.csv"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        use_folder(Path(made))
        sys.exit(main(sys.argv[1:], "CSV files", check, CASES))
