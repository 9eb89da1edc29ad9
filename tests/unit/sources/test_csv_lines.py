"""One line into fields: the two splitters, written apart, agree; blocks and scans are right."""

import io
import re
import signal
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.engine import read_fields
from thorough import examples

from dprelease.errors import Failure
from dprelease.files.csv_line import split_line
from dprelease.model import ColumnType, Dialect, InputColumn, Source
from dprelease.sources.csv import csv_reader as csv_records
from dprelease.sources.csv import line_check as csv_scan
from dprelease.sources.csv.csv_reader import clean_records
from dprelease.sources.csv.csv_source import SOURCE
from dprelease.sources.csv.line_check import LineScan, read_with_scan
from dprelease.sources.shared.files import Layout, Split
from dprelease.sources.shared.first_lines import LINE_LIMIT, read_beginning
from dprelease.sources.shared.read_share import UNTOLD


@given(
    st.text(alphabet=',," "a\tb;é\\\r', max_size=14),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(['"', "'", ""]),
)
@settings(max_examples=examples(2000), deadline=None, derandomize=True)
def test_both_splitters_agree(line: str, delimiter: str, quote: str) -> None:
    assert split_line(line, delimiter, quote) == read_fields(line, delimiter, quote)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b", ["a", "b"]),
        (",", ["", ""]),
        ('"a,""b""",c', ['a,"b"', "c"]),
        ('a"b,c', ['a"b', "c"]),
        (' "a" ,c', ["a", "c"]),
        ('"a"b,c', None),
        ('"a,c', None),
        ('"', None),
    ],
)
def test_quoting(line: str, fields: list[str] | None) -> None:
    assert split_line(line, ",", '"') == fields


@given(st.lists(st.sampled_from([b"ab", b"\n", b"c", b"\r\n", b"ddddddddd"]), max_size=40))
@settings(max_examples=examples(100), deadline=None, derandomize=True)
def test_blocks_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    body = b"".join(parts)
    path.write_bytes(b"\xef\xbb\xbfhead\n" + body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "CHUNK", 3)
        assert (
            b"".join(block for block, _ in csv_records.iter_blocks(Split(str(path)), Dialect()))
            == body
        )
        patch.setattr(csv_records, "LINE_LIMIT", 5)
        layout = Layout((str(path),), 1, {}, "utf-8")
        splitter = csv_records.Splitter(Dialect(), layout, [0])
        lines: list[str] = []
        skipped = 0
        for block, overlong in csv_records.iter_blocks(Split(str(path)), Dialect()):
            kept, longer = splitter.decode_lines(block)
            lines += kept
            skipped += overlong + longer
    raw = body.split(b"\n")[: -1 if body.endswith(b"\n") or not body else None]
    short = [line.rstrip(b"\r").decode() for line in raw if len(line) <= 5]
    assert lines == short
    assert skipped == len(raw) - len(short)


@given(
    st.lists(
        st.sampled_from([b"ab", b"\n", b"c", b"\r\n", b"\r", b"\r\r\n", b"ddddddddd"]), max_size=40
    ),
    st.booleans(),
    st.sampled_from([b"", b"he\n", b"he\r", b"x\rsep=;\ny\r\nhe\r"]),
    st.lists(st.integers(1, 60), max_size=6),
)
@settings(max_examples=examples(400), deadline=None, derandomize=True)
def test_splits_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[bytes],
    mark: bool,
    header: bytes,
    cuts: list[int],
) -> None:
    """Wherever a file is cut: also within the byte order mark and the header."""
    path = tmp_path_factory.getbasetemp() / "splits.csv"
    body = b"a" * header.endswith(b"\r") + b"".join(parts)
    path.write_bytes(b"\xef\xbb\xbf" * mark + header + body)
    size = path.stat().st_size
    dialect = Dialect(header=bool(header), skip_rows=3 if b"sep" in header else 0)
    edges = [0, *sorted({min(cut, size) for cut in cuts}), None]
    splits = [Split(str(path), start or 0, end) for start, end in pairwise(edges)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "CHUNK", 3)
        read = [
            b"".join(block for block, _ in csv_records.iter_blocks(each, dialect))
            for each in splits
        ]
    if header.endswith(b"\r"):  # carriage returns alone end lines
        body = re.sub(rb"\r*\n|\r", b"\n", body)
        read = [re.sub(rb"\r*\n", b"\n", each) for each in read]
    assert b"".join(read) == body
    assert all(each.endswith(b"\n") for each in read[:-1] if each and not body.endswith(each))


@pytest.mark.parametrize(
    ("body", "records", "believed"),
    [
        (b"", 0, True),
        (b"a,b\n", 1, True),
        (b"a,b\n", 0, False),
        (b"a,b\n", 2, False),
        (b"a,b\nc,d", 2, True),
        (b"a,b\nc,d", 1, False),
        (b"\n\na,b\n\n\nc,d\n\n", 2, False),  # empty lines are records
        (b"\n\na,b\n\n\nc,d\n\n", 7, True),
        (b"a,b\n" * 300_000, 300_000, True),  # beyond the first chunk
        (b"a,b\n" * 300_000 + b"\nc,d", 300_002, True),
        (b"a,b\n" * 300_000 + b"c,d", 300_000, False),
        (b'a,"b"\n', 1, True),
        (b'a,"b"\n', 2, False),
        (b'a,"b\nc"\n', 1, False),
        (b"a," + b" " * (1 << 19) + b'"b"\n', 1, False),
        (b"a," + b"x" * ((1 << 20) - 2) + b"\n", 1, True),
        (b"a," + b"x" * ((1 << 20) - 1) + b"\n", 1, False),
        (b"a,b\r\n", 1, False),  # the header has no carriage return
        (b"a\rb,c\n", 1, False),
        (b"a,b\0\n", 1, False),
        (b"a," + b"x" * (2 << 20), 1, False),
    ],
)
def test_when_the_fast_reader_is_believed(
    tmp_path: Path, body: bytes, records: int, believed: bool
) -> None:
    path = tmp_path / "scan.csv"
    path.write_bytes(b"s,n\n" + body)
    scan = LineScan(Layout((str(path),), 2, {}, "utf-8"), Dialect(), lambda: None)
    scan.start()
    scan.join()
    assert scan.is_confirming(records) is believed


def by_hand(body: bytes, header: bool, most: int) -> int | None:
    """The records that the scan confirms, if any number."""
    lines = body.split(b"\n")
    ended = {line.endswith(b"\r") for line in lines[:-1]}
    whole = b"\n".join(lines[1:] if header else lines)
    stray = len(ended) > 1 or re.search(rb"\r(?!\n)", body)
    if stray or b"\0" in body or max(map(len, lines)) > most:
        return None
    if re.search(rb'[ \t][ \t]"|"[ \t]"|\t"', whole):
        return None
    return len(lines) - (not lines[-1]) - header


@given(
    body=st.lists(
        st.sampled_from([b"a", b"a", b",", b"\n", b"\n", b"\r\n", b'"', b" ", b"\t", b"\r", b"\0"]),
        max_size=40,
    ).map(b"".join),
    width=st.sampled_from([1, 2]),
    header=st.booleans(),
    chunk=st.sampled_from([1, 2, 3, 7, 100]),
)
@settings(max_examples=examples(600), deadline=None, derandomize=True)
def test_the_scan_counts_what_it_sees_whatever_the_chunks(
    tmp_path_factory: pytest.TempPathFactory, body: bytes, width: int, header: bool, chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "chunks.csv"
    body = b"s,n\n" * header + body
    path.write_bytes(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scan, "CHUNK", chunk)
        patch.setattr(csv_scan, "LINE_LIMIT", 12)
        scan = LineScan(
            Layout((str(path),), width, {}, "utf-8"), Dialect(header=header), lambda: None
        )
        scan.run()
    assert scan._records == by_hand(body, header, 12)
    assert scan.refuted is (scan._records is None)


@pytest.mark.parametrize("when", ["it begins", "it is waited for"])
def test_an_interruption_ends_the_scan(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it went on, it would ask a closed connection to stop, and print that it has doubts."""
    awaited, stopped, ended, told = (*(threading.Event() for _ in range(3)), [])
    start, run, stop, join = LineScan.start, LineScan.run, LineScan.stop, LineScan.join

    class Held(io.BytesIO):
        """A line that no fast reader reads, once the scan is stopped."""

        def readinto(self, buffer: Any) -> int:
            if when == "it is waited for":
                awaited.wait(30)
                time.sleep(0.1)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            stopped.wait(30)
            return super().readinto(buffer)

    def started(scan: LineScan) -> None:
        start(scan)
        if when == "it begins":
            raise KeyboardInterrupt

    monkeypatch.setattr(csv_scan, "open_unpacked", lambda *_: Held(b"\0"))
    monkeypatch.setattr(LineScan, "start", started)
    monkeypatch.setattr(LineScan, "run", lambda scan: (run(scan), ended.set()))
    monkeypatch.setattr(LineScan, "join", lambda scan, *limit: (awaited.set(), join(scan, *limit)))
    monkeypatch.setattr(LineScan, "stop", lambda scan: (stop(scan), stopped.set()))
    layout = Layout(("t.csv.gz",), 1, {}, "utf-8")
    connection = SimpleNamespace(interrupt=lambda: told.append("doubt"))
    with pytest.raises(KeyboardInterrupt):
        read_with_scan(connection, layout, Dialect(), lambda: "read")
    assert ended.wait(30)
    assert told == []


@pytest.mark.parametrize("start", [0, 8])
def test_a_file_that_is_shorter_than_its_splits_is_lost(start: int, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a\n" * 3)
    with pytest.raises(OSError, match="shorter"):
        list(csv_records.iter_blocks(Split(str(path), start, 12), Dialect(header=False)))


def read_file(path: Path, content: bytes, **keys: Any) -> list[tuple[str | None, ...]]:
    """The records of columns k and x of a file, by the careful reader, in any order."""
    path.write_bytes(content)
    inputs = [InputColumn(name, ColumnType.STRING) for name in ("k", "x")]
    table = SOURCE.lay_out(Source(str(path), "csv", Dialect(**keys)), inputs)
    fields = table.stream().fields.columns
    _, batches = table.stream().open_batches(UNTOLD)
    read = [batch.to_pydict() for batch in batches]
    places = [f"f{table.layout.position[name]}" for name in fields]
    return sorted(row for each in read for row in zip(*map(each.get, places), strict=True))


ROWS = [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (b"k,x\ra,1\rb,2\r", {}),
        (b"k,x\ra,1\rb,2", {}),
        (b"k,x\ra,1\nb,2\n", {}),
        (b'k,x,5" pipe\ra,1,\rb,2,\r', {}),
        (b'k,x,5" pipe\ra,1,\nb,2,7"\n', {}),
        (b"k,x\ra,1\r\nb,2\r\r\n", {}),
        (b"k,x\r\r\na,1\r\r\nb,2\r\r\n", {}),
        (b"-\ra,1\rb,2\r", {"skip_rows": 1, "header": False, "names": ("k", "x")}),
        (b"sep=,\r\nk,x\r\na,1\r\nb,2\r\n", {}),
        (b'\xef\xbb\xbf"SEP=;"\nk;x\na;1\nb;2\n', {"delimiter": ";"}),
        (b'A title, "of 2026\n\nk,x\na,1\nb,2\n', {"skip_rows": 2}),
        (b"A title\rk,x\ra,1\rb,2\r", {"skip_rows": 1}),
        (b"Note\na,1\nb,2\n", {"skip_rows": 1, "header": False, "names": ("k", "x")}),
        (b"k,note,x,note,\na,,1,,\nb,,2,c,\n", {}),
        (b"k,x\na,1,\nb,2, ,\n", {}),
        (b"k,x,\na,1\nb,2\n", {}),
        (b"k,x,,\na,1,\nb,2\n", {}),
        (b"k,x\n1,a,1\n2,b,2\n", {"unnamed_field": "first"}),
        (b"k,x\na,1,y\nb,2,\n", {"unnamed_field": "last"}),
    ],
)
def test_files_as_programs_write_them(content: bytes, keys: dict[str, Any], tmp_path: Path) -> None:
    assert read_file(tmp_path / "data.csv", content, **keys) == ROWS


@pytest.mark.parametrize(
    ("content", "keys", "code"),
    [
        (b"sep=;\nk,x\n", {}, "E404"),
        (b"k,x\n", {"skip_rows": 1}, "E404"),
        (b"k,x\n", {"skip_rows": 2, "header": False, "names": ("k", "x")}, "E404"),
        (b"k,x,k\n", {}, "E406"),
        (b'k,x,"n\ra,1,b\r', {}, "E404"),
        (b'k,x,"n\ra,1,"\r', {}, "E404"),  # no quote of a record closes that of a name
    ],
)
def test_first_lines_that_have_no_single_reading(
    content: bytes, keys: dict[str, Any], code: str, tmp_path: Path
) -> None:
    with pytest.raises(Failure) as caught:
        read_file(tmp_path / "data.csv", content, **keys)
    assert [complaint.code for complaint in caught.value.complaints] == [code]


def test_lines_before_the_header_are_read_once_from_the_file() -> None:
    """Where carriage returns end lines, a piece that was read holds many of them."""
    stream = io.BufferedReader(io.BytesIO(b"a\r" * (1 << 21)))
    found = read_beginning(stream, Dialect(skip_rows=100))
    assert found is not None
    assert found.start == 202
    assert stream.tell() < 1.5 * LINE_LIMIT


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    paths = []
    for number, content in enumerate((b"1\n2\n", b"", b"3")):
        paths.append(str(tmp_path / f"{number}.csv"))
        Path(paths[-1]).write_bytes(content)
    for few, records in ((paths, 3), (paths[:2], 2), (paths[1:2], 0)):
        layout = Layout(tuple(few), 1, {}, "utf-8")
        scan = LineScan(layout, Dialect(header=False, names=("n",)), lambda: None)
        scan.run()
        assert scan.is_confirming(records)


MARKS = [
    b'"',
    b'""',
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"a",
    b"\xc3\xa9",
    b"\xff",
    b'"a,b"',
    b'"a"',
]


@given(st.lists(st.sampled_from(MARKS), max_size=14).map(b"".join), st.sampled_from(['"', "", "'"]))
@settings(max_examples=examples(3000), deadline=None, derandomize=True)
def test_a_clean_block_means_the_same_to_any_reader(block: bytes, quote: str) -> None:
    dialect = Dialect(quote=quote)
    splitter = csv_records.Splitter(dialect, Layout((), 2, {}, "utf-8"), [0, 1])
    lines, _ = splitter.decode_lines(block)
    fields = [split_line(line, ",", quote) or [] for line in lines]
    expected = [
        line[:2] if len(line) > 1 and not "".join(line[2:]).strip(" \r") else [None, None]
        for line in fields
    ]
    columns = [
        [value for table in splitter.iter_tables(block, 0) for value in table[place].to_pylist()]
        for place in (0, 1)
    ]
    assert Counter(zip(*columns, strict=True)) == Counter(map(tuple, expected))
    records = clean_records(block, dialect)
    assert records in (None, len(lines))
    quoted = quote and quote.encode() in block
    if not quoted and b"\r" not in block:
        assert records == len(lines)


@pytest.mark.parametrize(
    ("block", "records"),
    [
        (b'"a","b"\n"c,d",e\n', 2),
        (b'"a",b\r\n\r\n"c",d\r\n', 3),
        (b"\n\na,b", 3),
        (b'"a""b",c\n', 1),
        (b'"""a","",""""\n', 1),
        (b'"a" "b",c\n', None),
        (b'a""b,c\n', None),
        (b'"a"b"",c\n', None),
        (b'"a" ,c\n', None),
        (b' "a",c\n', None),
        (b'a"b",c"d\n', None),
        (b'"a,b\nc",d\n', None),
        (b"a\0,b\n", None),
        (b"a,b\xef\xbb\xbf\n", None),
        (b"a\r,b\n", None),
    ],
)
def test_a_block_is_clean_if_quotes_are_about_fields(block: bytes, records: int | None) -> None:
    assert clean_records(block, Dialect()) == records
