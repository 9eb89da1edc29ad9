"""The share that is read, as whoever waits is told: it rises to 1 by every reader, in parts too."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from oracle.engine import get

from dprelease.engines.duckdb import duckdb_engine, execute, record_codes
from dprelease.engines.duckdb.hash_parts import Part
from dprelease.engines.duckdb.hash_parts import run_in_parts as honest_parts
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.sources.shared import read_share
from dprelease.sources.shared.read_share import ReadShare

RECORDS = 300_000
G = Group("g", ColumnType.STRING, ("a", "b"))
N = Quantity("n", Grid(Fraction(1), 0, 9), null_fill=0)
INPUTS = tuple(
    InputColumn(name, kind)
    for name, kind in (
        ("u", ColumnType.STRING), ("g", ColumnType.STRING), ("n", ColumnType.INTEGER),
    )
)  # fmt: skip
COUNT, SUM = Measure(MeasureKind.RECORDS), Measure(MeasureKind.SUM, N)
DISTINCT = (Measure(MeasureKind.DISTINCT, column="g"), Measure(MeasureKind.DISTINCT, column="u"))
BOUND = Bound("u", 2, 1, 2, leading=1)


@pytest.fixture(autouse=True)
def every_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_share, "PAUSE", 0)
    monkeypatch.setattr(read_share, "LOOK", 0.001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same records as CSV and as Parquet."""
    made = tmp_path_factory.mktemp("share")
    rows = [(f"u{n % 1000}", "ab"[n % 2], n % 10) for n in range(RECORDS)]
    text = "".join(f"{u},{g},{n}\n" for u, g, n in rows)
    (made / "t.csv").write_text("u,g,n\n" + text)
    (made / "t.csv.gz").write_bytes(gzip.compress((made / "t.csv").read_bytes(), 0))
    columns = dict(zip("ugn", map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), made / "t.parquet", row_group_size=50_000)
    return made


SOURCES: dict[str, Callable[[Path], Source]] = {
    "fast": lambda folder: Source(str(folder / "t.csv"), "csv"),
    "careful": lambda folder: Source(str(folder / "t.csv"), "csv", Dialect(encoding="latin-1")),
    "packed": lambda folder: Source(str(folder / "t.csv.gz"), "csv"),
    "parquet": lambda folder: Source(str(folder / "t.parquet"), "parquet"),
}


def rise(shares: list[float]) -> list[float]:
    """The shares, if they rise to 1 and are 1 at the end only."""
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] == 1
    assert max(shares[:-1], default=0) < 1
    return shares


def aggregated(request: AggregateRequest) -> list[float]:
    shares: list[float] = []
    get("duckdb").aggregate(request, shares.append)
    return rise(shares)


@pytest.mark.one_in(16)
@pytest.mark.parametrize("reader", SOURCES)
@pytest.mark.parametrize(
    ("measures", "bound", "parts"),
    [
        ((COUNT, SUM), None, 1),
        ((COUNT, *DISTINCT), None, 1),
        ((COUNT, SUM), BOUND, 1),
        ((COUNT, SUM), BOUND, 4),
        ((COUNT, *DISTINCT), BOUND, 4),
    ],
)
def test_the_share_rises_to_the_end(
    reader: str,
    measures: tuple[Measure, ...],
    bound: Bound | None,
    parts: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execute, "choose_part_count", lambda *_: parts)
    if reader == "fast":
        monkeypatch.setattr(duckdb_engine, "read_carefully", None)
    source = SOURCES[reader](folder)
    shares = aggregated(AggregateRequest(source, INPUTS, (G,), measures, bound=bound))
    statements = 1 if len(measures) == 2 else 3 if bound is None else 4
    assert len(set(shares)) > parts * statements
    assert min(shares) <= 1 / (parts * statements)  # begins with the first of them


@pytest.mark.one_in(2)
@pytest.mark.parametrize("reader", SOURCES)
def test_a_part_that_did_not_fit_is_read_again_and_the_share_does_not_fall(
    reader: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_parts(
        run: Callable[[Part], int], first: int, begin: Callable[[int], None]
    ) -> Iterator[int]:
        def tried(part: Part) -> int:
            outcome = run(part)
            if part.of == 1:
                raise duckdb.OutOfMemoryException
            return outcome

        return honest_parts(tried, first, begin)

    monkeypatch.setattr(execute, "run_in_parts", in_parts)
    source = SOURCES[reader](folder)
    request = AggregateRequest(source, INPUTS, (G,), (COUNT, SUM), bound=BOUND)
    aggregated(request)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("reader", SOURCES)
@pytest.mark.parametrize(("bound", "parts"), [(None, 1), (replace(BOUND, leading=0), 4)])
def test_the_share_of_records_rises_as_they_are_taken(
    reader: str, bound: Bound | None, parts: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_codes, "choose_part_count", lambda *_: parts)
    if reader == "fast":
        monkeypatch.setattr(record_codes, "read_carefully", None)
    shares: list[float] = []
    request = RecordRequest(SOURCES[reader](folder), INPUTS, (G, N), bound)
    batches = get("duckdb").records(request, shares.append).reveal()
    next(batches)
    begun = max(shares, default=0)
    assert begun < 1
    assert sum(1 for _ in batches)
    assert len(set(rise(shares))) > parts
    if reader != "fast":  # which reads some megabytes ahead
        assert [share for share in shares if begun < share < 1]


def test_the_fast_reader_is_asked_how_far_it_is(folder: Path) -> None:
    """It answers now and then: a look may come before it has begun, or when it is done."""
    request = AggregateRequest(SOURCES["fast"](folder), INPUTS, (G,), (COUNT, SUM))
    assert any(0 < share < 0.98 for _ in range(50) for share in aggregated(request))


@pytest.mark.parametrize("counted", [True, False])
def test_bytes_of_the_process_are_looked_at_while_it_reads(
    counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without those that others read; where the system counts none, by what DuckDB says."""
    now, percent, shares = [1000], [0.0], list[float]()
    monkeypatch.setattr(read_share, "count_bytes_read", lambda: now[0] if counted else None)
    share = ReadShare(shares.append)

    def come_to(wanted: float) -> None:
        while not shares or shares[-1] != pytest.approx(wanted):
            time.sleep(0.001)

    with share.measure(100, lambda: percent[0]):
        share.begin(2)
        share.exclude(300)
        now[0], percent[0] = 1350, 50
        come_to(0.25)
        share.read(1)
        percent[0] = 0  # of the next statement
        share.begin(1)
        come_to(0.5)
        now[0], percent[0] = 1400, 50
        come_to(0.75)
    told = len(shares)
    time.sleep(0.01)
    assert len(shares) == told
    assert shares == sorted(shares)


def test_the_system_counts_what_this_process_reads(folder: Path) -> None:
    before = read_share.count_bytes_read()
    if before is None:
        pytest.skip("this system doesn't count them")
    size = len((folder / "t.csv").read_bytes())
    assert size <= (read_share.count_bytes_read() or 0) - before < 2 * size


def test_nobody_is_told_and_nothing_polled_if_nobody_waits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Polling] = []

    class Polling(threading.Thread):  # the scan of lines is a class of its own
        def start(self) -> None:
            started.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Polling)
    for reader in SOURCES.values():
        get("duckdb").aggregate(AggregateRequest(reader(folder), INPUTS, (G,), (COUNT, SUM)))
    assert started == []
    aggregated(AggregateRequest(SOURCES["fast"](folder), INPUTS, (G,), (COUNT, SUM)))
    assert len(started) == 1


def test_readings_share_what_is_left() -> None:
    shares: list[float] = []
    share = ReadShare(shares.append)
    share.read(0.9)  # the data is looked at before
    share.begin(2)
    share.read(0.5)
    share.read(0.25)  # of another thread that is late
    share.begin(3)  # it did not fit, and is read in two parts
    share.read(0.5)
    share.read(2)  # more than was thought to be there
    share.begin(1)
    share.read(-0.01)
    share.read(1)
    share.finish()
    assert shares == pytest.approx([0.25, 0.25, 0.375, 0.5, 0.5, 0.99, 1])


def test_no_more_than_some_shares_a_second_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(read_share, "PAUSE", 20)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    shares: list[float] = []
    share = ReadShare(shares.append)
    share.begin(1)
    for step in range(100):
        now[0] = step
        share.read(step / 100)
    share.finish()
    assert shares == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
