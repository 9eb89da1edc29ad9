"""Machines that are lost: whatever dies, each row is counted once, and a budget is charged once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions import Sessions

import dprelease
from dprelease import ExitCode, Failure
from dprelease.engines import get, in_session
from dprelease.engines.spark import engine, session, splits
from dprelease.engines.spark.messages import Message
from dprelease.engines.spark.tasks import Work
from dprelease.ledger.store import Ledger
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

SPEC = """\
[release]
name = "visits"
[data]
path = "visits.csv"
engine = "spark"
[privacy]
unit = "column"
unit_column = "person"
adjacency = "add-remove"
epsilon = 1
bounding = { max_rows_per_unit = 3, max_groups_per_unit = 2 }
[ledger]
path = "ledger.sqlite"
epsilon_cap = 5
[columns.region]
type = "string"
keys = ["north", "south"]
[[query]]
name = "visits"
statistic = "count"
by = ["region"]
[output]
path = "out"
"""
REGIONS = ("north", "south", "elsewhere")
LOCAL = "local-cluster[2,1,1024]"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    rows = "".join(f"p{n * n % 997},{REGIONS[n % 3]}\n" for n in range(5000))
    (tmp_path / "visits.csv").write_text("person,region\n" + rows)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path / "spec.toml"


@pytest.fixture
def request_of_people(spec: Path) -> AggregateRequest:
    inputs = tuple(InputColumn(name, ColumnType.STRING) for name in ("person", "region"))
    return AggregateRequest(
        Source(str(spec.parent / "visits.csv"), "csv"),
        inputs,
        (Group("region", ColumnType.STRING, REGIONS, REGIONS),),
        (Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS)),
        bound=Bound("person", 3, 2, 2, leading=1, salt=5),
    )


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten splits, and several partitions of each shuffle."""
    monkeypatch.setattr(splits, "SMALLEST", 8000)
    monkeypatch.setattr(splits, "WANTED", 10)
    monkeypatch.setattr(engine, "PARTITION", 30_000)


def only_once(flag: Path) -> Callable[[], bool]:
    """A function that is true where it is first called, of all places on all machines."""
    path = str(flag)

    def first() -> bool:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    return first


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that does much else starts executors slowly."""
    monkeypatch.setattr(session, "PATIENCE", 300.0)


def deadly(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Path]:
    """Have the executor killed in the middle of each stage, once; returns what tells of it."""
    flags = [folder / f"killed in {stage}" for stage in ("read", "bound", "merge")]
    firsts = [only_once(flag) for flag in flags]

    def kill_once(first: Callable[[], bool]) -> None:
        if first():
            process = os.getpid()
            while (
                b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes()
            ):
                status = Path(f"/proc/{process}/stat").read_text()
                process = int(status.rpartition(")")[2].split()[1])
            os.kill(process, signal.SIGKILL)
            time.sleep(60)

    def read(work: Work, place: int) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        for message in tasks.read(work, place):
            yield message
            if place == len(work.splits) // 2:
                kill_once(firsts[0])

    def bound(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        for message in tasks.bound(work, messages):
            yield message
            kill_once(firsts[1])

    def merge(work: Work, messages: Iterable[Message]) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        for message in tasks.merge(work, messages):
            yield message
            kill_once(firsts[2])

    monkeypatch.setattr(engine, "read", read)
    monkeypatch.setattr(engine, "bound", bound)
    monkeypatch.setattr(engine, "merge", merge)
    return flags


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny", "patient")
def test_executors_that_are_killed_change_no_integer(
    sessions: Sessions,
    request_of_people: AggregateRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    spark = in_session("spark", sessions.get(spark__master=LOCAL, spark__executor__memory="1g"))
    spark.inspect(request_of_people.source, request_of_people.inputs)
    expected = get("duckdb").aggregate(request_of_people).reveal()
    flags = deadly(monkeypatch, tmp_path)
    found = spark.aggregate(request_of_people).reveal()
    sessions.stop()
    assert list(map(list, found)) == list(map(list, expected))
    assert [flag.exists() for flag in flags] == [True] * 3


@pytest.mark.parametrize("when", ["before tasks", "in a task"])
def test_a_file_that_vanishes_costs_one_charge(
    spark: Any, spec: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, when: str
) -> None:
    data = tmp_path / "visits.csv"
    content, path = data.read_bytes(), str(data)

    def read(work: Work, place: int) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        Path(path).unlink(missing_ok=True)
        yield from tasks.read(work, place)

    def progress(step: str) -> None:
        if step.startswith("read the data") and when == "before tasks":
            data.unlink()

    with monkeypatch.context() as patch:
        if when == "in a task":
            patch.setattr(engine, "read", read)
        with pytest.raises(Failure) as failed:
            dprelease.run(spec, spark=spark, progress=progress)
    assert failed.value.exit_code is ExitCode.AFTER_CHARGE
    assert [complaint.code for complaint in failed.value.complaints] == ["E501"]
    data.write_bytes(content)
    assert not dprelease.run(spec, spark=spark).charged
    with Ledger.read(str(tmp_path / "ledger.sqlite")) as book:
        assert len(list(book.entries())) == 1
