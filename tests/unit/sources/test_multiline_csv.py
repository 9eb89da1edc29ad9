"""Records over several lines: the rule, its two guarantees, where they end, and what it costs."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.engine import _file_records
from thorough import examples

from dprelease.model import Dialect
from dprelease.sources.csv import csv_reader
from dprelease.sources.csv.csv_reader import clean_records
from dprelease.sources.csv.multiline import MultilineSplitter
from dprelease.sources.shared.files import Layout, Split
from dprelease.sources.shared.first_lines import LINE_LIMIT

Records = Counter[tuple[str | None, ...]]


def records(path: Path, dialect: Dialect, width: int, chunk: int = 1 << 20) -> Records:
    """The records of a file, as the reader has them."""
    layout = Layout((str(path),), width, {}, dialect.encoding)
    splitter = MultilineSplitter(dialect, layout, range(width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "CHUNK", chunk)
        _, batches = csv_reader.open_table(splitter, [Split(str(path))], lambda _size: None)
        return Counter(row for batch in batches for row in zip(*columns(batch), strict=True))


def columns(batch: object) -> list[list[str | None]]:
    return [column.to_pylist() for column in batch.columns]  # type: ignore[attr-defined]


def expected(path: Path, dialect: Dialect, width: int) -> Records:
    """The same, as the oracle has them."""
    layout = Layout((str(path),), width, {}, dialect.encoding)
    return Counter(map(tuple, _file_records(str(path), layout, dialect)))


def several(most: int = 3, **keys: object) -> Dialect:
    names = ("a", "b")
    return Dialect(header=False, names=names, max_lines=most, **keys)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("multiline") / "t.csv"


# --- the rule ------------------------------------------------------------------------------------

MARKS = [b'"', b'"', b'""', b",", b",", b"\n", b"\n", b"\r\n", b'"\n"', b'",\n', b'\n,"', b'\n"',
         b'a,"b\nc"\n', b"d,e\n", b'"f\n\ng",\r\n', b"\r", b" ", b"a", b"\xff", b"\0",
         b"\xef\xbb\xbf", b"\xc3\xa9"]  # fmt: skip


@given(
    st.lists(st.sampled_from(MARKS), max_size=20).map(b"".join),
    st.integers(2, 4),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 5, 1 << 20]),
    st.sampled_from(["utf-8", "latin-1"]),
)
@settings(max_examples=examples(4000, 60), deadline=None, derandomize=True)
def test_any_bytes_are_read_by_the_rule(
    file: Path, content: bytes, most: int, width: int, chunk: int, encoding: str
) -> None:
    file.write_bytes(content)
    dialect = several(most, encoding=encoding)
    assert records(file, dialect, width, chunk) == expected(file, dialect, width)


@given(st.lists(st.sampled_from([*MARKS, b"x" * 9]), max_size=20).map(b"".join), st.integers(1, 4))
@settings(max_examples=examples(2000, 25), deadline=None, derandomize=True)
def test_limits_of_bytes_hold_wherever_blocks_end(file: Path, content: bytes, chunk: int) -> None:
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            "sources.csv.csv_reader",
            "sources.csv.multiline",
            "sources.csv.csv_reader",
        ):
            patch.setattr(f"dprelease.{module}.LINE_LIMIT", 8)
        patch.setattr("oracle.engine.LINE_LIMIT", 8)
        assert records(file, several(4), 2, chunk) == expected(file, several(4), 2)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('1,"a\nb"\n2,c\n', [("1", "a\nb"), ("2", "c")]),
        ('1,"a\r\nb"\r\n', [("1", "a\r\nb")]),
        ('1,"a\n\n"\n', [("1", "a\n\n")]),
        ('1,"a ""b\n"" c"\n', [("1", 'a "b\n" c')]),
        ('"1\n","a\nb"\n', [("1\n", "a\nb")]),
        ('1,"a\n\n\nb"\n', [(None, None)] * 4),  # four lines
        ('1,"a\n2,b\n', [(None, None), ("2", "b")]),  # a quote that is not closed
        ('1,"a\n2,"b"\n', [(None, None), ("2", "b")]),
        ('1,"a\n2,"b\nc"\n', [(None, None), ("2", "b\nc")]),
        ('1,5" x\n2,5" y\n', [("1", '5" x'), ("2", '5" y')]),  # as in a single line
        ('1,"a\nb",2\n', [(None, None), ('b"', "2")]),  # three fields
        ('1, "a\nb" \n', [("1", "a\nb")]),
    ],
)
def test_what_becomes_of_lines(file: Path, content: str, rows: list[tuple[str, str]]) -> None:
    file.write_text(content, newline="")
    assert records(file, several(), 2) == Counter(rows) == expected(file, several(), 2)


def test_a_record_has_so_many_lines_and_bytes(file: Path) -> None:
    for lines, size, fits in (
        (9, 100, True), (10, 100, True), (11, 100, False),
        (2, LINE_LIMIT, True), (2, LINE_LIMIT + 1, False),
    ):  # fmt: skip
        head, tail = b'1,"', b"\n" * (lines - 1) + b'"'
        record = head + b"x" * (size - len(head) - len(tail)) + tail
        assert (record.count(b"\n") + 1, len(record)) == (lines, size)
        for ending in (b"\n", b"", b'\n1,"2\n3"\n' * 50_000):
            file.write_bytes(record + ending)
            text = record[len(head) : -1].decode()
            assert (records(file, several(10), 2)[("1", text)] == 1) is fits


# --- what is guaranteed --------------------------------------------------------------------------

TEXTS = st.text(alphabet='",\n\r ab', max_size=8)
WELL = st.lists(st.tuples(TEXTS, TEXTS), max_size=6)
MOST = 20


def exported(rows: list[tuple[str, str]], always: bool = False) -> list[bytes]:
    """Each record as a program writes it."""
    return [
        ",".join(
            '"' + text.replace('"', '""') + '"' if always or set(text) & set('",\n\r') else text
            for text in row
        ).encode() + b"\n"
        for row in rows
    ]  # fmt: skip


@given(WELL, st.booleans())
@settings(max_examples=examples(3000, 25), deadline=None, derandomize=True)
def test_well_written_records_are_read_whatever_they_say(
    file: Path, rows: list[tuple[str, str]], always: bool
) -> None:
    """No text breaks the frame of its record, or of another one."""
    file.write_bytes(b"".join(exported(rows, always)))
    assert records(file, several(MOST), 2) == Counter(rows)


def begins_oddly(text: str) -> bool:
    """Whether a text with a line break begins, after quotes and blanks, with what ends a field."""
    return "\n" in text and text.lstrip('" ')[:1] in ("", ",", "\n", "\r")


@given(WELL, WELL, st.lists(st.sampled_from(MARKS), max_size=12).map(b"".join), st.integers(2, 9))
@settings(max_examples=examples(6000, 60), deadline=None, derandomize=True)
def test_a_damaged_record_changes_no_other(
    file: Path,
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    damaged: bytes,
    most: int,
) -> None:
    """All others are read as ever, and it becomes at most as many records as it has lines."""
    before, after = (
        [
            row for row in rows
            if not any(map(begins_oddly, row)) and max(exported([row])[0].count(b"\n"), 1) <= most
        ]
        for rows in (before, after)
    )  # fmt: skip
    others = Counter(before) + Counter(after)
    damaged = damaged.removesuffix(b"\n") + b"\n"
    file.write_bytes(b"".join([*exported(before), damaged, *exported(after)]))
    read = records(file, several(most), 2)
    assert others <= read
    assert (read - others).total() <= damaged.count(b"\n")


def test_the_condition_is_needed(file: Path) -> None:
    """Texts that begin with a line break can be taken apart by a quote before them."""
    for begun in ("", " ", '"', '" '):
        (record,) = exported([("2", f"{begun}\nb")])
        file.write_bytes(b'1,"\n' + record)
        assert records(file, several(), 2)[("2", f"{begun}\nb")] == 0
    for begun in ("b", ' "', '"b'):
        (record,) = exported([("2", f"{begun}\nb")])
        file.write_bytes(b'1,"\n' + record)
        assert records(file, several(), 2)[("2", f"{begun}\nb")] == 1
    shifted = b',"\n' * 100
    file.write_bytes(b"a,b\n" + shifted)
    in_phase = records(file, several(), 2)
    file.write_bytes(b',"\n' + shifted)
    assert in_phase == Counter({("a", "b"): 1, ("", "\n,"): 50})
    assert records(file, several(), 2) == Counter({("", "\n,"): 50, (None, None): 1})


# --- what is quick -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "count"),
    [
        (b'1,"a\nb"\n2,c\n', 2),
        (b'"a\n\n","b ""c"""\r\n\r\n"d",e\r\n', 3),
        (b'1,"a\n\n\nb"\n', None),
        (b'1,"a\nb" \n', None),
        (b'1,x"a\nb"\n', None),
        (b'1,"a\nb\n', None),
        (b'1,"a\rb"\n', None),
    ],
)
def test_clean_blocks_are_seen_at_once(block: bytes, count: int | None) -> None:
    assert clean_records(block, several()) == count


@pytest.mark.one_in(2)
@pytest.mark.parametrize("line", [b'"\n', b'a,"\n', b'a,"b\n', b'",\n', b'"a"",""b\n'])
def test_no_lines_take_long(file: Path, line: bytes) -> None:
    """Time grows with bytes alone, whatever the lines are and how many a record may have."""
    file.write_bytes(b'x,"y\n' + line * (250_000 // len(line)))
    begun = time.process_time()
    records(file, several(10_000), 2)
    assert time.process_time() - begun < 4
