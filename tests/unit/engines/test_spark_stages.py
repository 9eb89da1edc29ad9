"""What the Spark engine believes of its tasks: each done once, by the same versions."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import requires
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace
from oracle.engine import ENGINE
from oracle.in_process import InProcess, SmallSplits

from dprelease.engines.spark import spark_engine, tasks, versions
from dprelease.engines.spark.cluster import ClusterError, Stage
from dprelease.engines.spark.spark_engine import check_complete
from dprelease.engines.spark.spark_messages import DONE, FAILED, ROWS, Message
from dprelease.errors import Failure, InternalError
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

G = Group("g", ColumnType.STRING, ("a", "b"), keys=("a", "b"))


@pytest.fixture
def request_(tmp_path: Path) -> AggregateRequest:
    path = tmp_path / "t.csv"
    path.write_text("u,g\n" + "".join(f"p{row % 7},{'ab'[row % 2]}\n" for row in range(60)))
    inputs = (InputColumn("u", ColumnType.STRING), InputColumn("g", ColumnType.STRING))
    measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS))
    bound = Bound("u", 4, 1, 4, leading=1, salt=5)
    return AggregateRequest(Source(str(path), "csv"), inputs, (G,), measures, bound=bound)


class Spoilt(InProcess):
    """Does something to the messages of the last stage."""

    def __init__(self, spoil: Callable[[list[Message]], Sequence[Message]]) -> None:
        self.spoil = spoil
        self.runs = 0

    def run(self, *args: object) -> Sequence[Message]:
        """See ``Cluster``."""
        self.runs += 1
        return self.spoil(list(super().run(*args)))  # type: ignore[arg-type]


def of_kind(messages: Sequence[Message], kind: int) -> list[Message]:
    """Those of tasks that had something to do."""
    idle = b'"places": []'
    return [message for message in messages if message.kind == kind and idle not in message.body]


def without_first(messages: list[Message], kind: int) -> list[Message]:
    first = of_kind(messages, kind)[0]
    return [message for message in messages if message is not first]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda messages: without_first(messages, DONE),
        lambda messages: without_first(messages, ROWS),
        lambda messages: [*messages, of_kind(messages, DONE)[0]],
        lambda messages: [*messages, of_kind(messages, ROWS)[0]],
        lambda messages: [*messages, *messages],
        lambda _messages: [],
    ],
)
def test_what_was_not_done_once_is_not_believed(
    request_: AggregateRequest, spoil: Callable[[list[Message]], Sequence[Message]]
) -> None:
    cluster = Spoilt(spoil)
    with pytest.raises(Failure) as caught:
        SmallSplits(cluster).aggregate(request_)
    assert caught.value.complaints[0].code == "E511"
    assert caught.value.exit_code == 5
    assert cluster.runs == spark_engine.ATTEMPTS  # it answers, so that it is asked again


def test_an_executor_with_other_versions_does_nothing(
    request_: AggregateRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "list_versions", lambda: {"duckdb": "another"})
    with pytest.raises(Failure) as caught:
        SmallSplits().aggregate(request_)
    assert caught.value.complaints[0].code == "E511"


@pytest.mark.parametrize("runs_out", [1, 2])
def test_with_less_memory_there_are_more_tasks(
    request_: AggregateRequest, monkeypatch: pytest.MonkeyPatch, runs_out: int
) -> None:
    sound = ENGINE.aggregate(request_).reveal()
    sizes: list[int] = []
    whole = spark_engine.collect_messages

    def messages_of(*args: object) -> Sequence[Message]:
        sizes.append(int(args[3]))  # type: ignore[call-overload]
        monkeypatch.setattr(tasks, "LARGEST", 10 if len(sizes) <= runs_out else 1 << 30)
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(spark_engine, "collect_messages", messages_of)
    columns = SmallSplits().aggregate(request_).reveal()
    assert [list(column) for column in columns] == [list(column) for column in sound]
    assert sizes == [1, 2, 4][: runs_out + 1]


def test_completeness_wants_every_split() -> None:
    def done(stage: str, *places: int, received: int = 0, sent: int = 0) -> Message:
        words = f'"stage": "{stage}", "places": {list(places)}'
        body = f'{{{words}, "received": {received}, "sent": {sent}}}'
        return Message(0, DONE, body.encode())

    first, second = done("read", 0, sent=2), done("read", 1, sent=1)
    merged = done("merge", 3, 4, received=3, sent=1)
    rows = Message(0, ROWS, b"")
    check_complete([first, second, merged, rows], 2)
    for messages in (
        [first, merged, rows],
        [first, second, merged],
        [first, second, second, merged, rows],
        [first, second, merged, done("merge", 4), rows],
        [first, done("read", 1), merged, rows],
    ):
        with pytest.raises(ClusterError):
            check_complete(messages, 2)


First = Callable[[int], Iterator[Message]]


def split_twice(first: First, number: int) -> list[Message]:
    return [*first(number), *(first(number) if number == 1 else ())]


def rows_twice(first: First, number: int) -> list[Message]:
    messages = list(first(number))
    return [*messages, *(message for message in messages if message.kind >= ROWS and number == 1)]


def rows_lost(first: First, number: int) -> list[Message]:
    return [message for message in first(number) if number != 1 or message.kind == DONE]


def split_lost(first: First, number: int) -> list[Message]:
    return list(first(number)) if number != 1 else []


def word_lost(first: First, number: int) -> list[Message]:
    return [message for message in first(number) if number != 1 or message.kind != DONE]


def failing(code: str) -> Callable[[First, int], list[Message]]:
    def fail(first: First, number: int) -> list[Message]:
        messages = list(first(number))
        return messages if number != 1 else [*messages[:1], Message(0, FAILED, code.encode())]

    return fail


class Unreliable(InProcess):
    """Changes what the tasks of the first stage give, in the first ``times`` runs."""

    def __init__(self, change: Callable[[First, int], list[Message]], times: int = 99) -> None:
        self.change, self.times, self.runs = change, times, 0

    def run(self, tasks: int, first: First, *others: object) -> Sequence[Message]:
        """See ``Cluster``."""
        self.runs += 1
        if self.runs <= self.times:
            honest = first
            first = lambda number: iter(self.change(honest, number))  # noqa: E731
        return super().run(tasks, first, *others)  # type: ignore[arg-type]


class RoundRobin(InProcess):
    """Deals messages as they come, whatever their buckets are."""

    def run(self, tasks: int, first: First, later: Sequence[Stage], *_: object) -> list[Message]:
        """See ``Cluster``."""
        messages = [message for number in range(tasks) for message in first(number)]
        for stage in later:
            dealt = [messages[place :: stage.partitions] for place in range(stage.partitions)]
            messages = [message for part in dealt for message in stage.task(iter(part))]
        return messages


@pytest.fixture(params=["rows", "people", "values"])
def any_request(request: pytest.FixtureRequest, request_: AggregateRequest) -> AggregateRequest:
    distinct = (Measure(MeasureKind.DISTINCT, column="u"),)
    asked = {"values": replace(request_, measures=distinct, bound=None), "people": request_}
    rows = replace(request_, measures=request_.measures[:1], bound=None)
    return asked.get(request.param, rows)


def revealed(cluster: InProcess, request: AggregateRequest) -> list[list[int]]:
    return [list(column) for column in SmallSplits(cluster).aggregate(request).reveal()]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("change", [split_twice, rows_twice, rows_lost, split_lost, word_lost])
def test_what_is_lost_or_doubled_on_the_way_is_not_counted(
    any_request: AggregateRequest, change: Callable[[First, int], list[Message]]
) -> None:
    cluster = Unreliable(change)
    with pytest.raises(Failure) as caught:
        SmallSplits(cluster).aggregate(any_request)
    assert caught.value.complaints[0].code == "E511"
    assert cluster.runs == spark_engine.ATTEMPTS
    sound = [list(column) for column in ENGINE.aggregate(any_request).reveal()]
    assert revealed(Unreliable(change, times=1), any_request) == sound


def test_units_that_two_tasks_have_are_not_counted(request_: AggregateRequest) -> None:
    with pytest.raises(Failure) as caught:
        SmallSplits(RoundRobin()).aggregate(request_)
    assert caught.value.complaints[0].code == "E511"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("code", "runs"), [("E510", 4), ("E501", 1), ("ZeroDivisionError", 1)])
def test_one_task_that_fails_is_heard(any_request: AggregateRequest, code: str, runs: int) -> None:
    cluster = Unreliable(failing(code))
    with pytest.raises((Failure, InternalError), match=code) as caught:
        SmallSplits(cluster).aggregate(any_request)
    assert cluster.runs == runs
    if code == "E510" and isinstance(caught.value, Failure):
        assert "spark.executorEnv.DPRELEASE_MEMORY=2GB" in caught.value.complaints[0].hint


def test_the_versions_of_all_that_a_task_loads_are_compared(tmp_path: Path) -> None:
    program = """
import sys
from dprelease.sources.shared.files import Split
from dprelease.sources.shared.source_format import lay_out
from dprelease.engines.spark.spark_messages import DONE
from dprelease.engines.spark.tasks import Work, read, list_versions
from dprelease.model import AggregateRequest, ColumnType, InputColumn, Measure, MeasureKind, Source

inputs = (InputColumn("g", ColumnType.STRING),)
for path in sys.argv[1:]:
    source = Source(path, "csv")
    request = AggregateRequest(source, inputs, (), (Measure(MeasureKind.RECORDS),))
    work = Work(request, lay_out(source, inputs), (Split(path),), 1, list_versions())
    assert [message.kind for message in read(work, 0)][-1] == DONE
print(*sys.modules)
"""
    paths = [tmp_path / name for name in ("a.csv.gz", "b.csv.zst")]
    for path, pack in zip(paths, (gzip.compress, pa.Codec("zstd").compress), strict=True):
        path.write_bytes(pack(b"g\na\n"))
    command = [sys.executable, "-c", program, *map(str, paths)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    needed = {
        re.split("[^a-z]", each)[0] for each in requires("dprelease") or () if "extra" not in each
    }
    assert needed & set(loaded) <= set(versions.PACKAGES)
    assert set(versions.PACKAGES) - set(loaded) == set()


def test_an_executor_without_a_package_has_another_version_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It once was taken for a bug of ours."""
    found = versions.list_versions.__wrapped__()
    assert all(found.values())
    monkeypatch.setattr(versions, "PACKAGES", (*versions.PACKAGES, "no-package-has-this-name"))
    assert versions.list_versions.__wrapped__() == found | {"no-package-has-this-name": ""}
