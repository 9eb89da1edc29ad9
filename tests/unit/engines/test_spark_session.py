"""What a Spark session must not be set to, and what workers must not say; without Spark."""

from __future__ import annotations

import atexit
import gc
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pytest

from dprelease.engines.spark import spark_session, workers
from dprelease.engines.spark.spark_messages import FAILED, Message
from dprelease.errors import ExitCode, Failure
from dprelease.sources.shared.data_failures import OUT_OF_MEMORY

TEXT = "zqxcanary"
ENCRYPTED = {spark_session.ENCRYPTION: "true"}


def refused(settings: dict[str, str]) -> str:
    """The message with which settings are refused."""
    with pytest.raises(Failure) as caught:
        spark_session.check_settings(lambda key: settings.get(key, ""))
    assert caught.value.exit_code is ExitCode.DATA
    (complaint,) = caught.value.complaints
    assert complaint.code == "E417"
    return complaint.message


def accepted(settings: dict[str, str]) -> None:
    """Check that no setting is refused."""
    spark_session.check_settings(lambda key: settings.get(key, ""))


@pytest.mark.parametrize("word", ["true", "TRUE", "True"])
def test_encryption_is_on_in_any_case(word: str) -> None:
    """As Spark takes it."""
    accepted({spark_session.ENCRYPTION: word})
    assert spark_session.ENCRYPTION in refused({spark_session.ENCRYPTION: f"{word}e"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.log.level", "TRACE"),
        ("spark.log.level", "debug"),
        ("spark.executor.extraJavaOptions", "-Xss1m -XX:+HeapDumpOnOutOfMemoryError"),
        ("spark.executor.defaultJavaOptions", "-XX:+HeapDumpBeforeFullGC"),
        ("spark.driver.extraJavaOptions", "-XX:+HeapDumpAfterFullGC"),
        ("spark.driver.defaultJavaOptions", "-XX:+HeapDumpOnOutOfMemoryError"),
        ("spark.executorEnv.JAVA_TOOL_OPTIONS", "-XX:+HeapDumpOnOutOfMemoryError"),
        ("spark.executorEnv.JDK_JAVA_OPTIONS", "-XX:+HeapDumpOnOutOfMemoryError"),
        ("spark.connect.grpc.interceptor.classes",
         "org.apache.spark.sql.connect.service.LoggingInterceptor"),
        ("spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled", "true"),
        ("spark.sql.pyspark.worker.logging.enabled", "true"),
        ("spark.python.daemon.module", "sentry_daemon"),
        ("spark.python.worker.module", "another_worker"),
        ("spark.shuffle.manager", "org.apache.spark.shuffle.celeborn.SparkShuffleManager"),
        (spark_session.ENCRYPTION, "false"),
        (spark_session.ENCRYPTION, ""),
    ],
)  # fmt: skip
def test_a_setting_that_writes_values_is_refused(key: str, value: str) -> None:
    assert key in refused({**ENCRYPTED, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.log.level", "INFO"),
        ("spark.executor.extraJavaOptions", "-XX:-HeapDumpOnOutOfMemoryError"),
        ("spark.executor.extraJavaOptions", "-XX:HeapDumpPath=/tmp -XX:StartFlightRecording"),
        ("spark.sql.pyspark.udf.profiler", "perf"),
        ("spark.python.daemon.module", "pyspark.daemon"),
        ("spark.python.worker.module", "pyspark.worker"),
        ("spark.shuffle.manager", "sort"),
        ("spark.storage.decommission.fallbackStorage.path", "s3a://bucket/"),
        ("spark.eventLog.enabled", "true"),
    ],
)
def test_a_setting_that_writes_none_is_not(key: str, value: str) -> None:
    accepted({**ENCRYPTED, key: value})


@pytest.mark.parametrize(
    "settings", [{}, {**ENCRYPTED, spark_session.SHUFFLE: "org.example.Remote"}]
)
def test_readable_rows_may_lie_on_disks_if_that_is_said_but_are_not_copied_elsewhere(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "unencrypted" in refused(settings)
    monkeypatch.setenv(spark_session.PLAIN_SHUFFLE, "1")
    accepted(settings)
    assert spark_session.FALLBACK in refused({**settings, spark_session.FALLBACK: "s3a://bucket/"})


@pytest.mark.parametrize("master", ["local", "local[*]", "local[4]", "local[2, 3]"])
def test_a_session_on_this_machine_listens_to_it_alone(master: str) -> None:
    settings = spark_session.choose_first_settings(master)
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.driver.bindAddress"] == settings["spark.driver.host"] == "127.0.0.1"
    assert settings[spark_session.ENCRYPTION] == "true"


@pytest.mark.parametrize(
    "master", ["spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]", ""]
)
def test_a_driver_of_a_cluster_is_reached_by_its_executors(master: str) -> None:
    settings = spark_session.choose_first_settings(master)
    assert settings["spark.ui.enabled"] == "false"
    assert not [key for key in settings if key.startswith("spark.driver.")]


@pytest.mark.parametrize("master", ["local[4]", "spark://host:7077"])
def test_no_server_of_spark_connect_is_begun_for_a_master(master: str) -> None:
    """Spark would begin one on this machine, whatever the master in its own files."""
    settings = spark_session.choose_first_settings(master)
    assert settings["spark.api.mode"] == "classic"
    assert settings["spark.local.connect.reuse"] == "false"


@pytest.mark.parametrize(
    "remote", ["local", "local[*]", "local-cluster[2,1,1024]", "spark://host:7077"]
)
def test_a_master_as_the_place_of_a_server_begins_one_here(remote: str) -> None:
    assert spark_session.is_begun_here(remote)


@pytest.mark.parametrize("remote", ["sc://localhost", "sc://host:15002/;token=local"])
def test_a_server_elsewhere_has_its_own_settings(remote: str) -> None:
    assert not spark_session.is_begun_here(remote)


class Unheard(BaseException):
    """What no `except Exception` sees."""


ERRORS: list[BaseException] = [
    ValueError(TEXT), OSError(5, TEXT, TEXT), duckdb.InvalidInputException(TEXT),
    UnicodeDecodeError("utf-8", TEXT.encode(), 0, 1, TEXT), pa.ArrowInvalid(TEXT),
    ExceptionGroup(TEXT, [ValueError(TEXT)]), SystemExit(TEXT), KeyboardInterrupt(TEXT),
    Unheard(TEXT), RuntimeError(TEXT), MemoryError(TEXT),
]  # fmt: skip


def numbered() -> pa.RecordBatch:
    return pa.record_batch([pa.array([0])], names=["id"])


def said(batches: Iterator[pa.RecordBatch]) -> list[Message]:
    return [Message(*row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("problem", ERRORS, ids=lambda problem: type(problem).__name__)
def test_a_worker_raises_nothing(problem: BaseException) -> None:
    """Neither a task, nor what hands it messages, nor what hands its messages on."""
    code = OUT_OF_MEMORY if isinstance(problem, MemoryError) else type(problem).__name__

    def fail(*_: object) -> Any:
        raise problem from KeyError(TEXT)

    def late(*_: object) -> Iterator[Message]:
        yield Message(1, 2, b"a")
        fail()

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch(
            [pa.array([3]), pa.array([4]), pa.array([b"b"])], names=["b", "k", "m"]
        )
        fail()

    failed = Message(0, FAILED, code.encode())
    batch = numbered()
    assert said(workers.run_first_task(fail, [batch])) == [failed]
    assert said(workers.run_first_task(late, [batch])) == [Message(1, 2, b"a"), failed]
    assert said(workers.run_first_task(late, batches())) == [Message(1, 2, b"a"), failed]
    assert said(workers.run_later_task(late, [])) == [Message(1, 2, b"a"), failed]
    handed_on = workers.run_later_task(iter, batches())
    assert said(handed_on) == [Message(3, 4, b"b"), failed]


def test_a_worker_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither warnings, nor what a thread, the end of an object or an unused generator raises."""
    hooks = sys.unraisablehook, threading.excepthook

    def fail() -> None:
        raise ValueError(TEXT)

    class Last:
        def __del__(self) -> None:
            fail()

    def loud(_: int) -> Iterator[Message]:
        last = Last()
        warnings.warn(TEXT, stacklevel=1)
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        yield Message(1, 2, b"a")
        del last
        yield Message(3, 4, b"b")

    assert len(said(workers.run_first_task(loud, [numbered()]))) == 2
    batches = workers.run_first_task(loud, [numbered()])
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    gc.collect()
    assert (sys.unraisablehook, threading.excepthook) == hooks
    assert capfd.readouterr() == ("", "")


def test_a_server_that_does_not_answer_keeps_no_process_from_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client of Spark Connect would try again for minutes when the process ends."""
    ended = threading.Event()
    spared: list[object] = []

    class Client:
        def _on_exit(self) -> None: ...

    class Session:
        client = Client()

        def addTag(self, _name: str) -> None:
            ended.wait()

        interruptTag = addTag

    monkeypatch.setattr(spark_session, "PATIENCE", 0.05)
    monkeypatch.setattr(spark_session, "HEEDED", 0.05)
    monkeypatch.setattr(atexit, "unregister", spared.append)
    with pytest.raises(Failure) as caught:
        spark_session.SparkCluster(Session()).check(["visits.csv"])
    ended.set()
    assert caught.value.complaints[0].code == "E415"
    assert Session.client._on_exit in spared


@pytest.mark.parametrize("begun", [False, True])
def test_a_session_and_its_first_tasks_have_one_span_of_time(
    monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """So that a master without workers is told of within a minute of the start."""
    waits: list[float | None] = []

    class Thread(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            waits.append(timeout)
            super().join(5)

    class Session:
        conf: ClassVar[dict[str, str]] = {spark_session.ENCRYPTION: "true"}

        def addTag(self, _name: str) -> None: ...

        removeTag = interruptTag = addTag

        def range(self, *_: int) -> None:
            raise ValueError

    monkeypatch.setattr(threading, "Thread", Thread)
    before = time.monotonic() - 40 if begun else None
    with pytest.raises(Failure, match="E415"):
        spark_session.SparkCluster(Session(), before).check(["visits.csv"])
    settings, probes, _ = waits
    assert spark_session.PATIENCE <= 45
    for wait in (settings, probes):
        assert wait is not None
        assert -5 <= wait - spark_session.PATIENCE + 40 * begun <= 0
