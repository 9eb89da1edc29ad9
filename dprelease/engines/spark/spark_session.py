"""A Spark session: found or begun, held to what must not be logged, and given tasks.

Only the data's place stands in a spec. What is the machine's comes from an active session, from
``SPARK_REMOTE``, or from what Spark reads by itself: ``spark-defaults.conf``, ``MASTER`` and
``PYSPARK_SUBMIT_ARGS``.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dprelease.engines.spark.cluster import ClusterError, Stage
from dprelease.engines.spark.spark_messages import FAILED, Message
from dprelease.engines.spark.workers import probe, run_first_task, run_later_task
from dprelease.errors import Failure, InternalError, name_kind
from dprelease.files.system import start, wait_for
from dprelease.sources.shared.data_failures import build_data_failure

if TYPE_CHECKING:
    from dprelease.sources.shared.data_failures import Share

T = TypeVar("T")

SCHEMA = "bucket bigint, kind int, body binary"
AT_ONCE = 32  # messages, of up to 8 MiB, that a task is handed at once
HEEDED = 5.0  # seconds for jobs to be stopped
PATIENCE = 45.0  # seconds for a session to begin and to do the first tasks
DESERTED = 120.0  # seconds without any executor
FEWEST_PROBES, MOST_PROBES = 4, 64
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
ENCRYPTION = "spark.io.encryption.enabled"
PLAIN_SHUFFLE = "DPRELEASE_SPARK_PLAIN_SHUFFLE"
OF_JOBS = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")

OWN_SETTINGS = {
    ENCRYPTION: "true",
    # Its pages are open to everybody who reaches the machine, and tell sizes that follow from data.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A server of Spark Connect would be begun here whatever the master, or outlast this process.
    "spark.api.mode": "classic",
    "spark.local.connect.reuse": "false",
    "spark.log.level": "OFF",
    "spark.app.name": "dprelease",
}
"""Settings of a session that we begin, whatever the machine's settings are."""

LOOPBACK = "127.0.0.1"
OF_ONE_MACHINE = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.connect.grpc.binding.address": LOOPBACK,
}
"""Settings of a session with executors in the driver: no other machine reaches it."""

_NUMBERS = itertools.count(1)  # of what is asked of a session: its jobs are stopped by their name


def find_cluster() -> SparkCluster:
    """Find the active session or begin one of the machine; raises Failure(DATA)."""
    since = time.monotonic()
    return SparkCluster(_open_session(since), since)


def _open_session(since: float) -> Any:
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise _build_missing_failure() from None
    active = SparkSession.getActiveSession()
    if active is not None:
        if not _is_over(active):
            return active
        active.stop()
    remote = os.environ.get("SPARK_REMOTE", "")
    is_served = remote != "" and not is_begun_here(remote)
    if not is_served and not _has_java():
        raise build_data_failure(
            "E414",
            "Spark needs Java, which is not installed",
            "install Java 17 or later, or set JAVA_HOME",
        )
    # Workers on this machine would else run another Python than ours, without our packages.
    if not os.environ.get("PYSPARK_PYTHON"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    # A session that another thread has begun would take them for its own, without heeding them.
    if is_served or SparkContext._active_spark_context is not None:
        return _call_in_time(builder.getOrCreate, since)

    def begin() -> Any:
        for key, value in choose_first_settings(remote or _find_master()).items():
            builder.config(key, value)
        return builder.getOrCreate()

    return _call_in_time(begin, since)


def choose_first_settings(master: str) -> dict[str, str]:
    """Choose the settings of a session that we begin, by the machine's master."""
    return OWN_SETTINGS | (OF_ONE_MACHINE if is_one_machine(master) else {})


def is_begun_here(remote: str) -> bool:
    """Tell if ``SPARK_REMOTE`` names a master to begin here, not a server."""
    return not remote.startswith("sc://")


def is_one_machine(master: str) -> bool:
    """Tell if all tasks run in the driver's own process."""
    return re.match(r"local(\[|$)", master) is not None


def _find_master() -> str:
    """Find the master that Spark's own files and variables name."""
    from pyspark import SparkConf, SparkContext

    own = SparkConf(loadDefaults=False).setAll(list(OWN_SETTINGS.items()))
    SparkContext._ensure_initialized(conf=own)
    return str(SparkConf(_jvm=SparkContext._jvm).get("spark.master", "") or "")


def _build_missing_failure() -> Failure:
    return build_data_failure(
        "E414",
        "the Spark engine is not installed completely",
        "pip install 'dprelease[spark]'",
    )


def _is_over(session: Any) -> bool:
    """Tell if Spark has ended a session by itself, such as for want of a master."""
    try:
        session.range(1)
    except Exception:
        return True
    return False


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java") if home else "java") is not None


def _call_in_time(call: Callable[[], T], since: float | None = None) -> T:
    """Call the cluster; raise Failure(DATA) if it fails or takes too long.

    ``since`` is when the waiting began, if not now.
    """
    results: list[T] = []
    raised: list[Exception] = []

    def answer() -> None:
        try:
            results.append(call())
        except Exception as problem:
            raised.append(problem)

    thread = threading.Thread(target=answer, daemon=True)
    start(thread)
    waited = 0.0 if since is None else time.monotonic() - since
    thread.join(max(0.0, PATIENCE - waited))
    if results:
        return results[0]
    for problem in raised:
        if isinstance(problem, Failure | InternalError):
            raise problem
        if isinstance(problem, ImportError):  # Spark Connect needs more packages
            raise _build_missing_failure()
    # The text of the exception is not shown: it is long, and may name what is the machine's.
    reason = (
        f"it failed ({name_kind(raised[0])})" if raised else f"no answer in {PATIENCE:.0f} seconds"
    )
    raise build_data_failure("E415", f"Spark can't be used: {reason}")


def _make_name() -> str:
    """Make a name for jobs of one purpose that no others have in this session."""
    return f"dprelease-{os.getpid()}-{next(_NUMBERS)}"


class SparkCluster:
    """See ``Cluster``. Only the DataFrame API is used, so that Spark Connect does."""

    def __init__(self, session: Any, since: float | None = None) -> None:
        """Start waiting; ``since`` is when the wait began."""
        self._spark, self._since = session, since

    def check(self, paths: Sequence[str]) -> None:
        """See ``Cluster``. A session that would write down what it moves is refused."""
        since = time.monotonic() if self._since is None else self._since
        self._call_in_time(lambda: check_settings(self._build_setting_lookup()), since)
        ends = [*paths[:1], *paths[1:][-1:]]
        probes = self._call_in_time(lambda: self._probe(ends), since)
        own = json.loads(probe(ends, 0)[0].body)
        for answer in probes:
            remote = json.loads(answer.body)
            for name, version in own["versions"].items():
                if remote["versions"].get(name) != version:
                    raise build_data_failure(
                        "E416", f"executors and this process have different versions of {name}"
                    )
            if remote["hash"] != own["hash"]:
                raise build_data_failure(
                    "E416",
                    "executors and this process compute different hashes",
                    "use machines of one kind",
                )
            if not remote["opened"]:
                raise build_data_failure(
                    "E402",
                    "executors can't read the data at its path",
                    "put it where all machines can reach it, such as a URI or a mounted folder",
                )

    def _probe(self, paths: Sequence[str]) -> list[Message]:
        context = getattr(self._spark, "_sc", None)
        cores = 0 if context is None else context.defaultParallelism
        tasks = max(FEWEST_PROBES, min(cores, MOST_PROBES))
        probes = self._collect(tasks, partial(probe, paths), [])
        for answer in probes:
            if answer.kind == FAILED:
                raise InternalError(answer.body.decode())
        return probes

    def answers(self) -> bool:
        """See ``Cluster``."""
        try:
            return self._call_in_time(lambda: bool(self._spark.range(1).count() == 1))
        except Failure:
            return False

    def run(
        self,
        tasks: int,
        first: Callable[[int], Iterator[Message]],
        later: Sequence[Stage],
        share: Share,
    ) -> Sequence[Message]:
        """See ``Cluster``."""
        total = tasks + sum(stage.partitions for stage in later)
        name = _make_name()
        try:
            with self._name_jobs(name), self._watch(name, total, share), self._limit_batches():
                return self._collect(tasks, first, later)
        except Exception as problem:
            # its text has that of Java's exceptions, and logs of tasks
            raise ClusterError(type(problem).__name__) from None
        except BaseException:
            self._stop(name)
            raise

    def _build_setting_lookup(self) -> Callable[[str], str]:
        """Build a function that looks up a setting of the session."""
        # A setting that is not of SQL is as the context was begun with: a builder that is told one
        # for a session that is there notes it, and no more.
        context = getattr(self._spark, "_sc", None)
        begun_with = None if context is None else dict(context.getConf().getAll())

        def setting(key: str) -> str:
            if begun_with is None or key.startswith("spark.sql."):
                return str(self._spark.conf.get(key, None) or "")
            return str(begun_with.get(key, ""))

        return setting

    def _call_in_time(self, call: Callable[[], T], since: float | None = None) -> T:
        """See ``_call_in_time``; what is late, or is interrupted, is stopped."""
        name = _make_name()

        def call_named() -> T:
            with self._name_jobs(name):
                return call()

        try:
            return _call_in_time(call_named, since)
        except BaseException:
            self._stop(name)
            raise

    @contextmanager
    def _name_jobs(self, name: str) -> Iterator[None]:
        """Give jobs of this thread a name meanwhile, by which they can be stopped."""
        context = getattr(self._spark, "_sc", None)
        if context is None:
            self._spark.addTag(name)
        else:
            before = {key: context.getLocalProperty(key) for key in OF_JOBS}
            context.setJobGroup(name, "dprelease", interruptOnCancel=True)
        try:
            yield
        finally:
            if context is None:
                self._spark.removeTag(name)
            else:
                for key, value in before.items():
                    context.setLocalProperty(key, value)

    def _stop(self, name: str) -> None:
        """Stop the jobs of that name, if the cluster still heeds us; wait a little for it."""
        context = getattr(self._spark, "_sc", None)

        def stop() -> None:
            with suppress(Exception):
                if context is None:
                    self._spark.interruptTag(name)
                else:
                    context.cancelJobGroup(name)

        thread = threading.Thread(target=stop, daemon=True)
        start(thread)
        thread.join(HEEDED)
        if context is None and thread.is_alive():
            # When this process ends, the client would try for ten minutes more to tidy up there.
            for last in ("_on_exit", "_cleanup_ml_cache"):  # of Spark 4.3, and of 4.0
                atexit.unregister(getattr(self._spark.client, last, stop))

    def _collect(
        self,
        tasks: int,
        first: Callable[[int], Iterable[Message]],
        later: Sequence[Stage],
    ) -> list[Message]:
        frame = self._spark.range(0, tasks, 1, tasks).mapInArrow(
            partial(run_first_task, first), SCHEMA
        )
        for stage in later:
            frame = frame.repartition(stage.partitions, "bucket")
            frame = frame.mapInArrow(partial(run_later_task, stage.task), SCHEMA)
        return [Message(row.bucket, row.kind, bytes(row.body)) for row in frame.collect()]

    @contextmanager
    def _limit_batches(self) -> Iterator[None]:
        """Hand tasks few messages at a time: an Arrow column has at most 2 GiB."""
        before = self._spark.conf.get(BATCH_ROWS)
        self._spark.conf.set(BATCH_ROWS, str(AT_ONCE))
        try:
            yield
        finally:
            self._spark.conf.set(BATCH_ROWS, before)

    @contextmanager
    def _watch(self, name: str, tasks: int, share: Share) -> Iterator[None]:
        """Tell the share of tasks that are done, each second; give up where nobody does them.

        Spark itself would wait for executors without end. Spark Connect tells of neither.
        """
        context = getattr(self._spark, "_sc", None)
        if context is None:
            yield
            return
        ended = threading.Event()

        thread = threading.Thread(
            target=_watch, args=(context, name, ended, tasks, share), daemon=True
        )
        try:
            start(thread)
            yield
        finally:
            ended.set()
            wait_for(thread, 5)


def _watch(context: Any, name: str, ended: threading.Event, tasks: int, share: Share) -> None:
    tracker = context.statusTracker()
    elsewhere = not is_one_machine(context.master)
    finished: dict[int, int] = {}
    last_time = time.monotonic()
    while not ended.wait(1):
        with suppress(Exception):  # a session that is gone: Python would print all of it
            if not elsewhere or context._jsc.sc().getExecutorMemoryStatus().size() > 1:
                last_time = time.monotonic()  # besides the driver there is one
            elif time.monotonic() > last_time + DESERTED:
                context.cancelJobGroup(name)
            for job in tracker.getJobIdsForGroup(name):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    state = tracker.getStageInfo(stage)
                    finished[stage] = state.numCompletedTasks if state else 0
            share(sum(finished.values()) / tasks)


def check_settings(get: Callable[[str], str]) -> None:
    """Refuse a session that would write values of the data somewhere; raises Failure(DATA)."""
    own_shuffle = get(SHUFFLE).lower() in _OWN_SHUFFLES
    if get(ENCRYPTION).lower() != "true" or not own_shuffle:
        problem = f"{ENCRYPTION} is not on" if own_shuffle else f"{SHUFFLE} is not Spark's own"
        if os.environ.get(PLAIN_SHUFFLE) != "1":
            raise build_data_failure(
                "E417",
                f"{problem}: executors would keep rows unencrypted",
                f"change that, or set {PLAIN_SHUFFLE}=1 if the data may be stored unencrypted",
            )
        if get(FALLBACK):
            raise build_data_failure(
                "E417", f"{problem}, and {FALLBACK} would copy rows to another place"
            )
    for key, own in OWN_PROGRAMS.items():
        if get(key) not in ("", own):
            raise build_data_failure(
                "E417",
                f"{key} replaces Spark's own program for tasks; the other program may report "
                "values",
            )
    for key, words in WRITES_VALUES.items():
        if any(word in get(key).lower() for word in words):
            raise build_data_failure(
                "E417", f"{key} would write values of the data to a log or disk"
            )


SHUFFLE = "spark.shuffle.manager"
_OWN_SHUFFLES = ("", "sort", "tungsten-sort", "org.apache.spark.shuffle.sort.sortshufflemanager")
FALLBACK = "spark.storage.decommission.fallbackStorage.path"

OWN_PROGRAMS = {
    "spark.python.daemon.module": "pyspark.daemon",
    "spark.python.worker.module": "pyspark.worker",
}
"""Modules that run tasks. Replaced ones report errors to services, with each frame's variables."""

_LOUD = ("all", "trace", "debug")  # a trace has the bytes of messages
_DUMPS = ("+heapdump",)
_JAVA_OPTIONS = (
    *(f"spark.{which}.{kind}JavaOptions" for which in ("executor", "driver")
      for kind in ("extra", "default")),
    *(f"spark.executorEnv.{name}" for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")),
)  # fmt: skip
WRITES_VALUES = {
    "spark.log.level": _LOUD,
    **dict.fromkeys(_JAVA_OPTIONS, _DUMPS),
    "spark.connect.grpc.interceptor.classes": ("logginginterceptor",),  # of whole answers
    "spark.sql.execution.pyspark.udf.tracebackWithLocals.enabled": ("true",),
    "spark.sql.pyspark.worker.logging.enabled": ("true",),
}
"""Settings, and what must not be in them: logs of messages and variables, and dumps of memory.

Profiles, thread dumps, class histograms and Java's flight recorder hold names, numbers of calls and
sizes only.
"""
