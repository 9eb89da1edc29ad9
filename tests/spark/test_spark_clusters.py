"""Machines that are lost: whatever dies, each row is counted once, and a budget is charged once."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions import Sessions, Standalone
from visits import list_charges, write_visits

import dprelease
from dprelease import ExitCode, Failure
from dprelease.engines import get, open_in_session
from dprelease.engines.spark import spark_engine, spark_session, splits
from dprelease.engines.spark.spark_messages import Message
from dprelease.engines.spark.tasks import Work
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

REGIONS = ("north", "south", "elsewhere")
LOCAL = "local-cluster[2,1,1024]"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    people = [f"p{n * n % 997}" for n in range(5000)]
    return write_visits(tmp_path, (REGIONS[n % 3] for n in range(5000)), people)


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
    monkeypatch.setattr(spark_engine, "PARTITION", 30_000)


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
    monkeypatch.setattr(spark_session, "PATIENCE", 300.0)


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

    monkeypatch.setattr(spark_engine, "read", read)
    monkeypatch.setattr(spark_engine, "bound", bound)
    monkeypatch.setattr(spark_engine, "merge", merge)
    return flags


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny", "patient")
@pytest.mark.parametrize("kind", ["local", "standalone"])
def test_executors_that_are_killed_change_no_integer(
    sessions: Sessions,
    standalone: Standalone,
    request_of_people: AggregateRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    master = LOCAL if kind == "local" else standalone.start()
    spark = open_in_session(
        "spark", sessions.get(spark__master=master, spark__executor__memory="1g")
    )
    spark.inspect(request_of_people.source, request_of_people.inputs)
    expected = get("duckdb").aggregate(request_of_people).reveal()
    flags = deadly(monkeypatch, tmp_path)
    found = spark.aggregate(request_of_people).reveal()
    sessions.stop()
    assert list(map(list, found)) == list(map(list, expected))
    assert [flag.exists() for flag in flags] == [True] * 3


@pytest.mark.thorough
@pytest.mark.usefixtures("tiny", "patient")
def test_a_task_that_is_run_twice_at_once_is_counted_once(
    sessions: Sessions,
    standalone: Standalone,
    request_of_people: AggregateRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Spark begins a slow task again on another machine: both hand on their rows."""
    first, done, runs = only_once(tmp_path / "slow"), str(tmp_path / "done"), str(tmp_path / "runs")

    def read(work: Work, place: int) -> Iterator[Message]:
        from dprelease.engines.spark import tasks

        slow = place == 3 and first()
        messages = list(tasks.read(work, place))
        if place == 3:
            with open(runs, "a") as noted:
                noted.write(".")
        for _ in range(1200 if slow else 0):
            if Path(done).exists():
                break
            time.sleep(0.1)
        yield from messages
        if place == 3:
            Path(done).touch()

    speculating = {
        "": "true",
        "__interval": "10ms",
        "__quantile": "0.1",
        "__multiplier": "1",
        "__minTaskRuntime": "1ms",
        "__efficiency__enabled": "false",
    }
    speculation = {f"spark__speculation{key}": value for key, value in speculating.items()}
    spark = open_in_session(
        "spark",
        sessions.get(spark__master=standalone.start(), spark__executor__memory="1g", **speculation),
    )
    expected = get("duckdb").aggregate(request_of_people).reveal()
    monkeypatch.setattr(spark_engine, "read", read)
    found = spark.aggregate(request_of_people).reveal()
    sessions.stop()
    assert list(map(list, found)) == list(map(list, expected))
    assert len(Path(runs).read_text()) > 1


@pytest.mark.thorough
def test_a_cluster_that_dies_costs_one_charge(
    sessions: Sessions,
    standalone: Standalone,
    spec: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"
    flag = str(begun)

    def read(_work: Work, _place: int) -> Iterator[Message]:
        Path(flag).touch()
        time.sleep(600)
        return iter(())

    def kill() -> None:
        while not begun.exists():
            time.sleep(0.1)
        standalone.kill()

    spark = sessions.get(spark__master=standalone.start(), spark__executor__memory="1g")
    threading.Thread(target=kill, daemon=True).start()
    with monkeypatch.context() as patch:
        patch.setattr(spark_engine, "read", read)
        patch.setattr(spark_session, "DESERTED", 5.0)
        with pytest.raises(Failure) as failed:
            dprelease.run(spec, spark=spark)
    sessions.stop()
    assert failed.value.exit_code is ExitCode.AFTER_CHARGE
    assert [complaint.code for complaint in failed.value.complaints] == ["E511"]
    assert not (tmp_path / "out").exists()

    retried = dprelease.run(spec, spark=sessions.get())
    assert not retried.charged
    assert not retried.already_released
    again = dprelease.run(spec, spark=sessions.get())
    assert again.already_released
    assert again.report == retried.report
    assert list_charges(spec) == 1


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
            patch.setattr(spark_engine, "read", read)
        with pytest.raises(Failure) as failed:
            dprelease.run(spec, spark=spark, progress=progress)
    assert failed.value.exit_code is ExitCode.AFTER_CHARGE
    assert [complaint.code for complaint in failed.value.complaints] == ["E501"]
    data.write_bytes(content)
    assert not dprelease.run(spec, spark=spark).charged
    assert list_charges(spec) == 1


@pytest.fixture
def small_disk(tmp_path: Path, sessions: Sessions) -> Iterator[Path]:
    """A disk of one megabyte, where this user may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    sessions.get()  # what Java begins with stays the default of all later sessions
    yield place
    sessions.stop()
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.thorough
def test_a_disk_that_is_full_costs_one_charge(
    sessions: Sessions,
    spec: Path,
    small_disk: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What tasks hand on does not fit where Spark writes it."""
    rows = "".join(f"secret{n * n % 99991},{REGIONS[n % 3]}\n" for n in range(300_000))
    (tmp_path / "visits.csv").write_text("person,region\n" + rows)
    with pytest.raises(Failure) as failed:
        dprelease.run(spec, spark=sessions.get(spark__local__dir=str(small_disk)))
    assert failed.value.exit_code is ExitCode.AFTER_CHARGE
    assert [complaint.code for complaint in failed.value.complaints] == ["E511"]
    assert "secret" not in "".join([str(failed.value), *capfd.readouterr()])
    assert not (tmp_path / "out").exists()
    assert not dprelease.run(spec, spark=sessions.get()).charged
    assert list_charges(spec) == 1
