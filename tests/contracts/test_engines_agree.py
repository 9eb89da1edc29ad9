"""The embedded engine gives the integers of the oracle, on every path, for any bytes."""

import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.engine import get
from thorough import examples

from dprelease.engines import ENGINES
from dprelease.engines.duckdb import duckdb_engine as embedded
from dprelease.engines.duckdb import execute as duckdb_execute
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Dialect,
    ExactTable,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.shared.source_format import lay_out

KEYS = ("a", "", "1", 'a"', " a", "�")
LABELS = (*KEYS, "other", "null")
QUANTITY = Quantity("n", Grid(Fraction(1, 2), -10, 200))
MEASURES = (
    Measure(MeasureKind.RECORDS),
    Measure(MeasureKind.VALUES, QUANTITY),
    Measure(MeasureKind.SUM, QUANTITY),
    Measure(MeasureKind.RECORDS, where=Expression("n > 0 OR s = 'a'", ("n", "s"))),
)
INPUTS = (InputColumn("s", ColumnType.STRING), InputColumn("n", ColumnType.FLOAT))
GROUP = Group("s", ColumnType.STRING, LABELS, KEYS, None, "other", "null")

SETTINGS = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TOKENS = [b",", b",", b'"', b'"', b"\n", b"\n", b" ", b"a", b"1", b"\t", b"2", b"\xc3\xa9"]
ODD = [b"\r", b"\r\n", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\\"]
# arbitrary bytes, biased to what readers stumble over
SOUP = st.lists(st.sampled_from(TOKENS + ODD), max_size=30).map(b"".join)
FIELD = st.sampled_from(
    [b"a", b"1", b"", b'"a"', b'" a"', b'"1,"', b'"a"""', b' "a" ', b"2.5", b'""']
)
PADDED = st.lists(st.sampled_from([b'"', b'""', b" ", b"  ", b"\t", b"a", b"1"]), max_size=6).map(
    b"".join
)
CLEAN = st.lists(st.tuples(FIELD, FIELD, FIELD).map(b",".join), max_size=8)


def request(path: Path, dialect: Dialect | None = None) -> AggregateRequest:
    source = Source(str(path), "csv", dialect or Dialect())
    return AggregateRequest(source, INPUTS, (GROUP,), MEASURES)


def plain(table: ExactTable) -> list[list[int]]:
    return [list(column) for column in table.reveal()]


def both_paths(asked: AggregateRequest) -> tuple[list[list[int]] | None, list[list[int]]]:
    """The answer of the fast reader, None if it gives none, and the careful one's."""
    layout = lay_out(asked.source, asked.inputs)
    fast = embedded.read_fast(asked, layout)
    careful = embedded.read_carefully(asked, layout)
    return None if fast is None else plain(fast.table), plain(careful.table)


def test_every_engine_is_found_by_its_name() -> None:
    assert [get(name).name for name in ENGINES] == list(ENGINES)
    with pytest.raises(ValueError, match="unknown engine"):
        get("abacus")


@given(body=SOUP, strip=st.booleans())
@settings(SETTINGS, max_examples=examples(50))
def test_any_bytes_mean_the_same_on_every_path(tmp_path: Path, body: bytes, strip: bool) -> None:
    path = tmp_path / "soup.csv"
    path.write_bytes(b"s,x,n\n" + body)
    asked = request(path, Dialect(strip=strip))
    expected = plain(get("reference").aggregate(asked))
    fast, careful = both_paths(asked)
    assert careful == expected
    assert fast in (None, expected)


@given(lines=CLEAN, end=st.sampled_from([b"\n", b"\r\n"]), last=st.booleans())
@settings(SETTINGS, max_examples=examples(50))
def test_clean_files_take_the_fast_path(
    tmp_path: Path, lines: list[bytes], end: bytes, last: bool
) -> None:
    path = tmp_path / "clean.csv"
    body = end.join([b"s,x,n", *lines]) + (end if last or end == b"\r\n" else b"")
    path.write_bytes(body)
    asked = request(path)
    expected = plain(get("reference").aggregate(asked))
    fast, careful = both_paths(asked)
    assert fast == careful == expected


@given(lines=st.lists(st.tuples(PADDED, PADDED, PADDED).map(b",".join), min_size=1, max_size=5))
@settings(SETTINGS, max_examples=examples(60))
def test_blanks_about_quotes_mean_the_same_on_every_path(
    tmp_path: Path, lines: list[bytes]
) -> None:
    path = tmp_path / "padded.csv"
    path.write_bytes(b"\n".join([b"s,x,n", *lines, b""]))
    asked = request(path)
    expected = plain(get("reference").aggregate(asked))
    fast, careful = both_paths(asked)
    assert careful == expected
    assert fast in (None, expected)


@given(lines=st.lists(SOUP.map(lambda b: b.replace(b"\n", b"")), min_size=1, max_size=6), new=SOUP)
@settings(SETTINGS, max_examples=examples(40))
def test_one_line_changes_one_record(tmp_path: Path, lines: list[bytes], new: bytes) -> None:
    path = tmp_path / "local.csv"
    tables = []
    for middle in (lines[0], new.replace(b"\n", b"")):
        path.write_bytes(b"\n".join([b"s,x,n", b"a,b,1", middle, *lines[1:], b"1,b,2", b""]))
        tables.append(plain(get("duckdb").aggregate(request(path))))
    before, after = tables
    records = [y - x for x, y in zip(before[0], after[0], strict=True)]
    assert sum(abs(change) for change in records) <= 2
    assert sum(abs(y - x) for x, y in zip(before[1], after[1], strict=True)) <= 2


def test_an_open_quote_among_a_thousand_rows_costs_its_own_record_only(tmp_path: Path) -> None:
    path = tmp_path / "quote.csv"
    rows = ["a,x,1"] * 1000
    path.write_text("\n".join(["s,x,n", *rows, ""]))
    whole = plain(get("duckdb").aggregate(request(path)))
    rows[500] = '"a,x,1'
    path.write_text("\n".join(["s,x,n", *rows, ""]))
    broken = plain(get("duckdb").aggregate(request(path)))
    assert [whole[0][0], broken[0][0], broken[0][LABELS.index("null")]] == [1000, 999, 1]


@pytest.mark.parametrize("line", [b"a,x,1,", b"a,x,,", b'a,"x",1,', b"a,x", b"a,x,1,,"])
@pytest.mark.parametrize("null", ["", "a"])
def test_surplus_and_missing_fields_make_a_record_null(
    tmp_path: Path, line: bytes, null: str
) -> None:
    path = tmp_path / "surplus.csv"
    path.write_bytes(b"\n".join([b"s,x,n", b"1,x,1", line, b"1,x,1", b""]))
    asked = request(path, Dialect(null_values=(null,)))
    fast, careful = both_paths(asked)
    assert not fast
    assert careful == plain(get("reference").aggregate(asked))
    assert careful[0][LABELS.index("null")] == 1


def test_a_blank_among_numbers_does_not_need_the_careful_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "blank.csv"
    path.write_bytes(b"s,x,n\n1,x,1\n1,x,\n1,x,abc\n")
    expected = plain(get("reference").aggregate(request(path)))
    monkeypatch.delattr(embedded, "read_carefully")
    assert plain(get("duckdb").aggregate(request(path))) == expected


def test_several_files_are_one_table(tmp_path: Path) -> None:
    for number, text in enumerate([b"\xef\xbb\xbfs,x,n\na,b,1", b"s,x,n\n", b"s,x,n\n1,b,2\n"]):
        (tmp_path / f"part[{number}].csv").write_bytes(text)
    asked = request(tmp_path)
    fast, careful = both_paths(asked)
    assert fast == careful == plain(get("reference").aggregate(asked))
    assert sum(careful[0]) == 2


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [200_000, (1 << 20) - 4, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_long_fields_change_their_own_record_only(tmp_path: Path, size: int) -> None:
    path = tmp_path / "long.csv"
    rows = [b"a,x,1"] * 50
    path.write_bytes(b"\n".join([b"s,x,n", *rows, b"a," + b"y" * size + b",2", *rows, b""]))
    table = plain(get("duckdb").aggregate(request(path)))
    assert table == plain(get("reference").aggregate(request(path)))
    assert table[0][0] == (101 if size + 4 <= 1 << 20 else 100)


def test_latin_text_and_declared_dialects(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a;'é;é';?\n?;y;4\n é ;z;1\n".encode("latin-1"))
    dialect = Dialect(";", "'", "latin-1", ("?",), False, ("s", "x", "n"), True)
    keys = ("é", "a")
    group = Group("s", ColumnType.STRING, (*keys, "none"), keys, None, None, "none")
    asked = AggregateRequest(Source(str(path), "csv", dialect), INPUTS, (group,), MEASURES)
    table = plain(get("duckdb").aggregate(asked))
    assert table == plain(get("reference").aggregate(asked))
    assert table[:3] == [[1, 1, 1], [1, 0, 1], [2, 0, 8]]


def test_records_are_looked_up_one_by_one_when_keys_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many.csv"
    generator = random.Random(1)  # fixed: a table, not noise
    body = "".join(f"{generator.choice('ab1x')},y,{n % 7}\n" for n in range(300))
    path.write_text("s,x,n\n" + body)
    asked = request(path)
    grouped = plain(get("duckdb").aggregate(asked))
    monkeypatch.setattr(duckdb_execute, "MANY", 0)
    assert plain(get("duckdb").aggregate(asked)) == grouped
    assert grouped == plain(get("reference").aggregate(asked))


def test_clean_csv_needs_no_arrow(tmp_path: Path) -> None:
    path = tmp_path / "clean.csv"
    path.write_text("s,x,n\na,b,1\n")
    code = (
        "import sys; from dprelease.engines import get; assert 'duckdb' not in sys.modules\n"
        "from dprelease.model import *\n"
        f"source = Source({str(path)!r}, 'csv')\n"
        "count = (Measure(MeasureKind.RECORDS),)\n"
        "table = get('duckdb').aggregate(AggregateRequest(source, (), (), count))\n"
        "assert list(table.reveal()[0]) == [1]\n"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
