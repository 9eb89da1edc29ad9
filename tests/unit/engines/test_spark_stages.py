"""What the Spark engine believes of its tasks: each done once, by the same versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from oracle.engine import ENGINE
from oracle.in_process import InProcess, SmallSplits

from dprelease.engines.spark import engine, tasks
from dprelease.engines.spark.cluster import ClusterError
from dprelease.engines.spark.engine import check_complete
from dprelease.engines.spark.messages import DONE, ROWS, Message
from dprelease.errors import Failure
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
    assert cluster.runs == engine.ATTEMPTS  # it answers, so that it is asked again


def test_an_executor_with_other_versions_does_nothing(
    request_: AggregateRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "versions", lambda: {"duckdb": "another"})
    with pytest.raises(Failure) as caught:
        SmallSplits().aggregate(request_)
    assert caught.value.complaints[0].code == "E511"


@pytest.mark.parametrize("runs_out", [1, 2])
def test_with_less_memory_there_are_more_tasks(
    request_: AggregateRequest, monkeypatch: pytest.MonkeyPatch, runs_out: int
) -> None:
    sound = ENGINE.aggregate(request_).reveal()
    sizes: list[int] = []
    whole = engine.messages_of

    def messages_of(*args: object) -> Sequence[Message]:
        sizes.append(int(args[3]))  # type: ignore[call-overload]
        monkeypatch.setattr(tasks, "LARGEST", 10 if len(sizes) <= runs_out else 1 << 30)
        return whole(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "messages_of", messages_of)
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
