"""On a real Spark the integers are those of the oracle and of DuckDB, to the bit."""

from __future__ import annotations

import gzip
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import test_written_forms as written_forms
from hashed_bytes import HashedEntropy
from msgspec.structs import replace
from oracle.engine import get
from tables import T, hidden, inputs, keyed, sql, written
from thorough import some

import dprelease
from dprelease import Stage as Step
from dprelease.engines import open_in_session
from dprelease.engines.spark import spark_engine, splits
from dprelease.engines.spark.cluster import Stage
from dprelease.engines.spark.spark_messages import Message
from dprelease.engines.spark.tasks import Work
from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
)
from dprelease.output.csv_table import write_csv
from dprelease.sources.shared.data_failures import Share
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.source_format import Table

ROOT = Path(__file__).resolve().parents[2]

M = MeasureKind
TYPES = {"p": T.INTEGER, "g": T.STRING, "h": T.STRING, "x": T.FLOAT, "i": T.INTEGER, "d": T.DATE}
INPUTS = (*inputs(TYPES), InputColumn("twice", T.FLOAT, sql("x * 2 + i", "x", "i")))
ROWS = [
    (
        None if n % 29 == 0 else n * n % 23,
        ("a", "b", "c", None)[n % 4],
        ("", "north", "é😀", "a'b", None)[n % 5],
        (None, float("nan"), float("inf"), -1.5)[n % 4] if n % 11 == 0 else n % 17 / 4,
        None if n % 13 == 0 else n * 7 % 10 - 2,
        date(2026, 1, 1 + n % 9),
    )
    for n in range(240)
]
BIG = 2**53 - 1
X = Quantity("x", Grid(Fraction(1, 4), -3, 9))
I = Quantity("i", Grid(Fraction(1), -2, 6), null_fill=1)  # noqa: E741 - the column's name
WIDE = Quantity("i", Grid(Fraction(1, 2**50), -BIG, BIG))
TWICE = Quantity("twice", Grid(Fraction(1, 2), 0, 50))
HIGH = sql("x > 1 OR i = 2", "x", "i")
G, H = keyed("g", "ab", null="none"), hidden("h", null="none")
REST = replace(keyed("g", "c"), labels=("c", "rest"), other="rest")
BINS = Group("x", T.FLOAT, ("low", "middle", "high"), edges=("-2", "0", "2", "9"))
ADDED = (
    Measure(M.RECORDS), Measure(M.VALUES, X), Measure(M.SUM, X), Measure(M.SQUARES, I),
    Measure(M.SUM, TWICE), Measure(M.RECORDS, where=HIGH), Measure(M.SUM, WIDE),
)  # fmt: skip
UNITS = (*ADDED, Measure(M.UNITS), Measure(M.UNITS, where=HIGH))
DISTINCT = (
    Measure(M.DISTINCT, column="h"), Measure(M.DISTINCT, column="d"),
    Measure(M.DISTINCT, column="x", where=HIGH),
)  # fmt: skip
SCORE = Candidates(
    ("0", "1.5", "20"), T.DECIMAL, sql("ABS(x - candidate) + i", "x", "candidate", "i"),
    Grid(Fraction(1, 8), 0, 90),
)  # fmt: skip
BOUND = Bound("p", 5, 2, 3, leading=1, salt=7)
NULLS = Bound("p", 3, 2, 2, leading=1, null_unit=True, salt=2**63 + 1)
CSV, PARQUET, FILES = "csv", "parquet", "parquet files"

Asked = tuple[str, Sequence[Group], Sequence[Measure], Bound | None, dict[str, Any]]
REQUESTS: dict[str, Asked] = {
    "sums": (CSV, (G,), ADDED, None, {}),
    "sums of files": (FILES, (G, BINS), ADDED, None, {}),
    "sums of everything": ("csv files", (), ADDED, None, {"where": HIGH}),
    "sums of people": (CSV, (G,), UNITS, BOUND, {}),
    "sums of people in files": ("csv files", (REST,), UNITS, NULLS, {"where": HIGH}),
    "sums of people in Parquet": (FILES, (G, BINS), UNITS, BOUND, {}),
    "people only": (PARQUET, (G,), (Measure(M.UNITS),), NULLS, {}),
    "points": (CSV, (G,), (), None, {"points": X}),
    "points of people": (FILES, (G,), (), BOUND, {"points": X}),
    "many points": (PARQUET, (), (), None, {"points": WIDE}),
    "scores": (CSV, (G,), (), None, {"scores": SCORE}),
    "scores of people": (PARQUET, (G,), (), NULLS, {"scores": SCORE}),
    "private keys": (CSV, (H,), ADDED, None, {}),
    "private keys beside others": (FILES, (H, G), ADDED, None, {}),
    "private keys of people": (FILES, (H, G), UNITS, BOUND, {}),
    "private dates of people": ("csv files", (hidden("d", T.DATE),), UNITS, NULLS, {}),
    "private points": (PARQUET, (H,), (), BOUND, {"points": X}),
    "private scores": (CSV, (H,), (), BOUND, {"scores": SCORE}),
    "distinct": (CSV, (G,), DISTINCT, None, {}),
    "distinct in files": (FILES, (G, BINS), DISTINCT, None, {"where": HIGH}),
    "distinct of people": ("csv files", (G,), DISTINCT, BOUND, {}),
    "distinct beside sums": (PARQUET, (G,), (*ADDED, *DISTINCT), None, {}),
    "distinct beside sums of people": (FILES, (G,), (*UNITS, *DISTINCT), NULLS, {}),
    "private and distinct": (CSV, (H,), (*ADDED, *DISTINCT), None, {}),
    "private and distinct of people": (PARQUET, (H, G), (*UNITS, *DISTINCT), BOUND, {}),
    "latin": (CSV, (G,), ADDED, None, {"dialect": Dialect(encoding="latin-1")}),
    "nulls": (CSV, (G,), UNITS, BOUND, {"dialect": Dialect(null_values=("", "a", "1"))}),
    "nothing passes": (PARQUET, (G,), UNITS, BOUND, {"where": sql("x > 1e9", "x")}),
    "no private keys": (PARQUET, (H,), UNITS, BOUND, {"where": sql("x > 1e9", "x")}),
}  # fmt: skip


def request_of(name: str, folder: Path) -> AggregateRequest:
    form, groups, measures, bound, others = REQUESTS[name]
    others = dict(others)
    source = written(folder / form, TYPES, ROWS, form)
    source = replace(source, dialect=others.pop("dialect", Dialect()))
    return AggregateRequest(source, INPUTS, tuple(groups), tuple(measures), bound=bound, **others)


def plain(request: AggregateRequest, table: Any) -> Any:
    """The table in a form in which the order of keys is nothing."""
    columns, keys = [list(column) for column in table.reveal()], list(table.reveal_keys())
    if not request.private:
        return columns
    if request.points is not None:
        return sorted((*keys[cell], k, n) for cell, k, n in zip(*columns, strict=True))
    width = 1 if request.scores is None else len(request.scores.texts)
    return {
        tuple(key): [column[at * width : (at + 1) * width] for column in columns]
        for at, key in enumerate(keys)
    }


def on_spark(session: Any, request: AggregateRequest, share: Share | None = None) -> Any:
    return plain(request, open_in_session("spark", session).aggregate(request, share))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some ten splits, and three partitions of each shuffle."""

    def as_if_large(table: Table, finer: int) -> tuple[tuple[Split, ...], int]:
        return splits.plan_splits(table, finer)[0], 3 * spark_engine.PARTITION

    monkeypatch.setattr(splits, "SMALLEST", 41)
    monkeypatch.setattr(splits, "WANTED", 6)
    monkeypatch.setattr(spark_engine, "plan_splits", as_if_large)
    monkeypatch.setattr(spark_engine, "FEW", 50)


@pytest.mark.usefixtures("tiny")
def test_integers_are_those_of_the_oracle(spark: Any, tmp_path: Path) -> None:
    wrong = {}
    for name in some(list(REQUESTS), 6):
        request = request_of(name, tmp_path)
        expected = plain(request, get("reference").aggregate(request))
        assert expected == plain(request, get("duckdb").aggregate(request)), name
        found = on_spark(spark, request)
        if found != expected:
            wrong[name] = (found, expected)
    assert wrong == {}


@pytest.mark.thorough
def test_packed_files_with_numbers_and_days_as_people_write_them(
    spark: Any, tmp_path: Path
) -> None:
    """Commas, formats of dates and zones mean the same in tasks."""
    source = written_forms.written(tmp_path)
    lines = Path(source.pattern).read_bytes() + b'"8"x;;;;\n'  # for the careful reader alone
    here, packed = tmp_path / "plain", tmp_path / "packed"
    for folder in (here, packed):
        folder.mkdir()
    for name in "ab":
        (here / f"{name}.csv").write_bytes(lines)
    (packed / "a.csv.gz").write_bytes(gzip.compress(lines))
    (packed / "b.csv.zst").write_bytes(pa.Codec("zstd").compress(lines))
    for group in (hidden("n", T.INTEGER, "none"), written_forms.GROUPS["seen"]):
        request = AggregateRequest(
            replace(source, pattern=str(here)),
            written_forms.INPUTS,
            (group,),
            written_forms.MEASURES,
            bound=Bound("person", 3, 2, 2, 1, salt=5),
        )
        expected = plain(request, get("reference").aggregate(request))
        for folder in (here, packed):
            there = replace(request, source=replace(source, pattern=str(folder)))
            assert on_spark(spark, there) == expected


@pytest.mark.parametrize(
    "name",
    [
        "clinic_visits",
        pytest.param("every_statistic_people", marks=pytest.mark.thorough),
        pytest.param("every_statistic_rows", marks=pytest.mark.thorough),
        pytest.param("clinic_parquet", marks=pytest.mark.thorough),
    ],
)
def test_the_same_noise_gives_the_same_release(spark: Any, tmp_path: Path, name: str) -> None:
    text = (ROOT / "release_specs" / f"{name}.toml").read_text(encoding="utf-8")
    text = text.replace("../sample_data", str(ROOT / "sample_data"))
    spec = tmp_path / "spec.toml"
    spec.write_text(text.replace("[data]", '[data]\nengine = "spark"'), encoding="utf-8")
    places = {"ledger": tmp_path / "ledger.sqlite", "output": tmp_path / "out"}
    told: list[Step] = []
    result = dprelease.run(
        spec, spark=spark, entropy=HashedEntropy(name), watcher=told.append, **places
    )
    found = {f"{table.name}.csv": write_csv(table) for table in result.output_tables}
    kept = ROOT / "tests" / "golden" / "expected" / name
    assert found == {path.name: path.read_bytes() for path in kept.iterdir()}
    assert 1 in {stage.share for stage in told}


def test_a_session_is_left_as_it_was(spark: Any, tmp_path: Path) -> None:
    """Also one in the middle of something of its own."""
    context, key = spark.sparkContext, "spark.sql.execution.arrow.maxRecordsPerBatch"
    spark.conf.set(key, "777")
    context.setJobGroup("mine", "of my own")
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    before = [context.getLocalProperty(name) for name in names]
    try:
        request = request_of("sums of people", tmp_path)
        open_in_session("spark", spark).inspect(request.source, request.inputs)
        assert on_spark(spark, request)
        assert spark.conf.get(key) == "777"
        assert [context.getLocalProperty(name) for name in names] == before
        assert before[0] == "mine"
    finally:
        spark.conf.unset(key)
        for name in names:
            context.setLocalProperty(name, None)


def test_an_interruption_stops_the_tasks(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the session goes on to be of use."""
    begun = tmp_path / "begun"

    def slow(_work: Work, _place: int) -> Iterator[Message]:
        begun.touch()
        time.sleep(600)
        return iter(())

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    request = request_of("sums", tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(spark_engine, "read", slow)
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            on_spark(spark, request)
    signal.signal(signal.SIGINT, before)
    tracker = spark.sparkContext.statusTracker()
    end = time.monotonic() + 60
    while tracker.getActiveJobsIds() and time.monotonic() < end:
        time.sleep(0.1)
    assert tracker.getActiveJobsIds() == []
    assert on_spark(spark, request) == plain(request, get("duckdb").aggregate(request))


def test_tasks_that_lack_memory_are_done_again_in_more_parts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told of each attempt, the share that is read doesn't fall."""
    partitions: list[int] = []
    honest = Stage

    def short_of_memory(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        before = tasks.LARGEST
        tasks.LARGEST = 15_000
        try:
            yield from list(tasks.bound(work, messages))
        finally:
            tasks.LARGEST = before

    def noted(number: int, task: Any) -> Any:
        partitions.append(number)
        return honest(number, task)

    monkeypatch.setattr(spark_engine, "bound", short_of_memory)
    monkeypatch.setattr(spark_engine, "Stage", noted)
    shares: list[float] = []
    request = request_of("sums of people in Parquet", tmp_path)
    expected = plain(request, get("duckdb").aggregate(request))
    assert on_spark(spark, request, shares.append) == expected
    assert max(partitions) > 1
    assert shares == sorted(shares)
    assert shares.index(1) == len(shares) - 1
