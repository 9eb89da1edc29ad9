"""Packed CSV: what is refused before the charge, what is lost after it, what is not doubled."""

from __future__ import annotations

import gc
import gzip
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import tables
from msgspec.structs import replace
from oracle.in_process import SmallSplits
from tables import COUNT, keyed

from dprelease.engines.duckdb.duckdb_engine import ENGINE, read_fast
from dprelease.errors import ExitCode, Failure
from dprelease.files.packed import PACKED, decompress, get_suffix
from dprelease.files.system import NoMoreThreads
from dprelease.model import AggregateRequest, Bound, ColumnType, Dialect, InputColumn, Source
from dprelease.model.source_registry import SOURCES
from dprelease.sources.csv.csv_reader import iter_blocks
from dprelease.sources.csv.line_check import LineScan
from dprelease.sources.shared.files import Split, resolve
from dprelease.sources.shared.first_lines import LINE_LIMIT
from dprelease.sources.shared.source_format import lay_out

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": lambda content: bytes(pa.Codec("zstd").compress(content)),
}
WAYS = pytest.mark.parametrize("how", PACK)
INPUTS = (InputColumn("g", ColumnType.STRING),)
BARE = Dialect(header=False, names=("g",))
LETTERS = keyed("g", "ab")


def refused(source: Source) -> str:
    complaint = tables.refused(source, *INPUTS)
    assert complaint.hint
    return complaint.code


def request_of(path: Path, dialect: Dialect = BARE) -> AggregateRequest:
    return AggregateRequest(Source(str(path), "csv", dialect), INPUTS, (LETTERS,), COUNT)


def counted(path: Path, dialect: Dialect = BARE) -> list[int]:
    return tables.counted(Source(str(path), "csv", dialect), LETTERS)


@WAYS
def test_a_damaged_beginning_is_refused_with_a_header_and_without(how: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.csv{how}"
    whole = PACK[how](b"g\n" + b"a\n" * 9)
    for content in (b"", whole[:1], whole[:9], whole[:-1], b"g\na\n", b"g\na\n" + whole, whole[3:]):
        path.write_bytes(content)
        for dialect in (Dialect(), BARE):
            assert refused(Source(str(path), "csv", dialect)) == "E402"
    path.write_bytes(PACK[how](b""))
    assert refused(Source(str(path), "csv")) == "E403"
    assert counted(path) == [0, 0]


@pytest.mark.one_in(2)
@WAYS
def test_what_is_lost_later_is_lost_after_the_charge(how: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.csv{how}"
    lines = b"".join(b"a%0100d\nb\n" % number for number in range(90_000))
    whole = PACK[how](lines)
    assert len(lines) // 2 > 4 << 20
    middle, late = len(whole) // 2, whole[-10:-4]
    for content in (
        whole[:middle],
        whole[:-1],
        whole + b"a\n",
        whole[:-10] + bytes(each ^ 0x5A for each in late) + whole[-4:],
    ):
        path.write_bytes(content)
        ENGINE.inspect(request_of(path).source, INPUTS)
        with pytest.raises(Failure) as caught:
            ENGINE.aggregate(request_of(path))
        assert caught.value.exit_code is ExitCode.AFTER_CHARGE
        assert caught.value.complaints[0].code == "E501"
    path.write_bytes(whole)
    assert counted(path) == [0, 90_000]


def test_gzip_is_unpacked_as_the_standard_library_does() -> None:
    """All one-byte changes and all cuts of a small file of three members."""
    whole = b"".join(map(gzip.compress, (b"g\na,1\n" * 9, b"", b"\x00\xff" * 5))) + bytes(3)
    cut = [whole[:end] for end in range(len(whole))]
    changed = [
        whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        for place in range(len(whole))
        for bit in range(8)
    ]
    refusals = 0
    for content in (whole, *cut[1:], *changed):
        try:
            expected = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            refusals += 1
            with pytest.raises(OSError, match="a compressed file is damaged or incomplete"):
                decompress(io.BytesIO(content), ".gz").read()
        else:
            assert decompress(io.BytesIO(content), ".gz").read() == expected
    assert len(changed) // 2 < refusals < len(changed)


def test_a_name_in_gzip_without_end_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"a\n" * 200_000)
    named = whole[:3] + b"\x08" + whole[4:10] + b"n" * (1 << 20) + b"\0" + whole[10:]
    assert gzip.decompress(named) == gzip.decompress(whole)
    path.write_bytes(named)
    assert refused(Source(str(path), "csv", BARE)) == "E402"
    path.write_bytes(whole + named)
    with pytest.raises(Failure) as caught:
        counted(path)
    assert caught.value.complaints[0].code == "E501"


@WAYS
def test_all_members_are_read_with_or_without_records(how: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.csv{how}"
    parts = [b"", b"\xef\xbb\xbfg\na", b"\nb\n", b"", b"a\n" * 1_000_000, b"b", b""]
    path.write_bytes(b"".join(map(PACK[how], parts)))
    assert counted(path, Dialect()) == [1_000_001, 2]


@WAYS
def test_the_fast_reader_unpacks_well_written_files(how: str, tmp_path: Path) -> None:
    lines = b"g,h\n" + b"a,1\nb,2\n" * 100_000
    for name in ("t.csv", "u.csv"):
        (tmp_path / f"{name}{how}").write_bytes(PACK[how](lines))
    request = request_of(tmp_path, Dialect())
    answer = read_fast(request, lay_out(request.source, INPUTS))
    assert answer is not None
    (column,) = answer.table.reveal()
    assert list(column) == [200_000, 200_000]
    (tmp_path / "v.csv").write_bytes(lines)
    assert read_fast(request, lay_out(request.source, INPUTS)) is None


@pytest.mark.one_in(2)
@WAYS
def test_no_file_is_left_open(how: str, tmp_path: Path) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    path = tmp_path / f"t.csv{how}"
    broken = b"g,h\n" + b"a,1\n" * 100_000 + b"a\0,1\n" + b"a,1\n" * 100_000
    for lines in (broken, b"g,h\na,1\n"):
        path.write_bytes(PACK[how](lines))
        request = request_of(path, Dialect())
        table = lay_out(request.source, INPUTS)
        gc.collect()  # what earlier tests left open is not of this one
        before = opened()
        assert (read_fast(request, table) is None) == (lines is broken)
        table.fast()  # asked for, and not used
        gc.collect()
        assert opened() == before


@WAYS
def test_statements_that_read_no_file_leave_the_others_believed(how: str, tmp_path: Path) -> None:
    """As those that bound what a unit adds do."""
    path = tmp_path / f"t.csv{how}"
    path.write_bytes(PACK[how](b"g,h\n" + b"".join(b"a,%d\n" % (n % 999) for n in range(50_000))))
    inputs = (*INPUTS, InputColumn("h", ColumnType.STRING))
    bound = Bound("h", 1, 1, 1, leading=0, salt=3)
    request = replace(request_of(path, Dialect()), inputs=inputs, bound=bound)
    answer = read_fast(request, lay_out(request.source, inputs))
    assert answer is not None
    assert list(answer.table.reveal()[0]) == [999, 0]


@WAYS
@pytest.mark.parametrize("problem", [KeyboardInterrupt, RuntimeError("can't start new thread")])
def test_a_scan_that_is_never_begun_is_not_waited_for(
    how: str,
    problem: type[BaseException] | Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / f"t.csv{how}"
    path.write_bytes(PACK[how](b"g,h\na,1\n"))
    request = request_of(path, Dialect())
    table = lay_out(request.source, INPUTS)

    def start(_scan: LineScan) -> None:
        raise problem

    monkeypatch.setattr(LineScan, "start", start)
    with pytest.raises((KeyboardInterrupt, NoMoreThreads)):
        read_fast(request, table)


@WAYS
def test_a_scan_that_has_no_memory_is_not_believed(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t.csv{how}"
    path.write_bytes(PACK[how](b"g,h\na,1\n"))

    def opened(*_given: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dprelease.sources.csv.line_check.open_unpacked", opened)
    request = request_of(path, Dialect())
    assert read_fast(request, lay_out(request.source, INPUTS)) is None
    assert counted(path, Dialect()) == [1, 0]


def test_a_file_is_not_counted_packed_and_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\n")
    for how, pack in PACK.items():
        path = tmp_path / f"t.csv{how}"
        path.write_bytes(pack(b"a\n"))
        assert refused(Source(str(tmp_path), "csv", BARE)) == "E419"
        assert refused(Source(str(tmp_path / "*.c*"), "csv", BARE)) == "E419"
        assert refused(Source(f"file://{tmp_path}", "csv", BARE)) == "E419"
        assert counted(tmp_path / "*.csv") == [1, 0]
        assert counted(path) == [1, 0]
        path.rename(tmp_path / f"u.csv{how}")
        assert counted(tmp_path) == [2, 0]
        assert len(resolve(Source(f"file://{tmp_path}", "csv", BARE))) == 2
        (tmp_path / f"u.csv{how}").unlink()


@WAYS
def test_a_cluster_reads_a_packed_file_as_one_split(how: str, tmp_path: Path) -> None:
    lines = b"".join(b"%c\n" % (97 + number % 2) for number in range(999))
    (tmp_path / f"t.csv{how}").write_bytes(PACK[how](lines))
    (tmp_path / "u.csv").write_bytes(lines)
    request = request_of(tmp_path)
    pieces = lay_out(request.source, INPUTS).pieces()
    assert [isinstance(size, tuple) and len(size) for _, size in pieces] == [1, False]
    (column,) = SmallSplits().aggregate(request).reveal()
    assert list(column) == [1000, 998]


@WAYS
def test_a_line_without_end_takes_little_memory(how: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.csv{how}"
    path.write_bytes(PACK[how](b"g\n" + b"a" * (64 << 20) + b"\na\n"))
    told: list[int] = []
    read = list(iter_blocks(Split(str(path)), Dialect(), told.append))
    assert max(len(block) for block, _ in read) <= LINE_LIMIT + (1 << 20)
    assert sum(overlong for _, overlong in read) == 1
    assert b"".join(block for block, _ in read) == b"a\n"
    assert sum(told) == path.stat().st_size


def test_suffixes() -> None:
    found = [
        get_suffix(name) for name in ("a/b.CSV.GZ", "b.x.tsv.zst", "b.gz", "c.csv", "d.csv.xz")
    ]
    assert found == [".csv.gz", ".tsv.zst", ".gz", ".csv", ".xz"]
    assert SOURCES["csv"].packed == tuple(PACKED)


def test_a_file_is_closed_with_what_it_holds() -> None:
    file = io.BytesIO(gzip.compress(b"a"))
    with decompress(file, ".gz") as stream:
        assert stream.read() == b"a"
    assert file.closed
