"""Releases on a cluster whose tasks go wrong, for a test that then searches all that is left.

``python leaks_program.py FOLDER SETTINGS CASES``: begin a Spark session with the settings (JSON)
and make a release for each of the cases. What each has said is written to ``FOLDER/said.json``.
A function of this file goes to workers as a whole, and breaks there what it is to break.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "leaks"))

import pyarrow as pa
import pyarrow.parquet as pq
from canary import FILES, NUMBER, TEXT, cell
from small import GOOD, HEADER, SPEC, lines

from dprelease.cli.guard import execute
from dprelease.engines.spark import spark_engine, spark_session, splits

SPARK_SPEC = SPEC.replace("[privacy]", 'engine = "spark"\n[privacy]', 1)
UNBOUNDED = (
    "\n".join(
        line
        for line in SPARK_SPEC.partition('[[query]]\nname = "people"')[0].splitlines()
        if not line.startswith(("unit_column", "max_", "[privacy.bounding]"))
    ).replace('unit = "column"', 'unit = "row"')
    + '\n[output]\npath = "out"\n'
)


def many(rows: int) -> bytes:
    """Records of as many people and towns, all tokens."""
    return lines(
        [
            cell(who=f"{TEXT}who{row}", town=f"{TEXT}town{row}", day=f"1987-06-{1 + row % 28:02}")
            for row in range(rows)
        ]
    )


def parquet() -> bytes:
    """The same, of fitting types; pages are small, so that one of them can be damaged."""
    kinds = {"day": pa.date32(), "born": pa.timestamp("us"), "paid": pa.float64(),
             "age": pa.int64()}  # fmt: skip
    records = [line.split(",") for line in many(2000).decode().splitlines()[1:]]
    columns = {
        name: pa.array([record[place] for record in records]).cast(kinds.get(name, pa.string()))
        for place, name in enumerate(HEADER)
        if name != "ok"
    }
    columns["ok"] = pa.array([True] * len(records))
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns), sink, row_group_size=500, data_page_size=4096, compression="none",
        use_dictionary=False, write_statistics=True,
    )  # fmt: skip
    return sink.getvalue()


# --- what breaks, in a worker ---------------------------------------------------------------------


def errors() -> dict[str, Callable[[], BaseException]]:
    """Exceptions whose text is a token."""
    import duckdb
    import pyarrow

    return {
        "ValueError": lambda: ValueError(TEXT),
        "OSError": lambda: OSError(5, TEXT, TEXT),
        "MemoryError": lambda: MemoryError(TEXT),
        "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", TEXT.encode(), 0, 1, TEXT),
        "ConversionException": lambda: duckdb.ConversionException(TEXT),
        "ArrowInvalid": lambda: pyarrow.ArrowInvalid(TEXT),
        "SystemExit": lambda: SystemExit(TEXT),
        "KeyboardInterrupt": lambda: KeyboardInterrupt(TEXT),
    }


def fail(name: str) -> None:
    """Raise, with a token in a variable, in a cause and in a note."""
    hidden = NUMBER
    try:
        raise KeyError(TEXT + hidden)
    except KeyError as cause:
        error = errors()[name]()
        error.add_note(hidden)
        raise error from cause


def broken(how: str, where: str, task: Any, batches: Any) -> Iterator[Any]:
    """A task of the stage ``where`` that goes wrong; all others as they are."""
    import os
    import resource
    import signal
    import warnings

    import duckdb

    from dprelease.engines.spark import spark_messages, tasks, workers

    run = (
        workers.run_first_task
        if task.func.__name__ in ("read", "probe")
        else workers.run_later_task
    )
    if task.func.__name__ != where:
        yield from run(task, batches)
        return
    limits = resource.getrlimit(resource.RLIMIT_AS)
    work, inner = task.args[0], tasks.deal_rows

    def replaced(*arguments: Any) -> Iterator[Any]:
        yield from inner(*arguments)
        if how == "quoted":
            duckdb.sql(f"SELECT '{TEXT}'::INTEGER").fetchall()
        elif how == "cut":
            path = work.splits[0].path
            os.truncate(path, os.path.getsize(path) // 2)
        elif how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "segmentation":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif how == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
        elif how == "little memory":
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used, limits[1]))
            yield spark_messages.Message(0, 0, b"x" * (1 << 30))
        else:
            warnings.warn(TEXT, stacklevel=1)
            fail(how)

    def handed(batches: Any) -> Iterator[Any]:
        yield from batches
        fail("ArrowInvalid")

    def packed(_: Any) -> Any:
        workers.to_batch = kept
        fail("ValueError")

    kept = workers.to_batch
    if how == "decoding":
        batches = handed(batches)
    elif how == "encoding":
        workers.to_batch = packed
    else:
        tasks.deal_rows = replaced
    try:
        yield from run(task, batches)
    finally:  # the worker is used again
        tasks.deal_rows = inner
        workers.to_batch = kept
        resource.setrlimit(resource.RLIMIT_AS, limits)


def modules(folder: str, task: Any, batches: Any) -> Iterator[Any]:
    """A task that writes down which modules it has when it is done."""
    from dprelease.engines.spark import workers

    before = set(sys.modules)
    run = (
        workers.run_first_task
        if task.func.__name__ in ("read", "probe")
        else workers.run_later_task
    )
    yield from run(task, batches)
    words = {"before": sorted(before), "after": sorted(sys.modules)}
    Path(folder, f"modules-{task.func.__name__}.json").write_text(json.dumps(words))


def loud(_: Any) -> Iterator[Any]:
    """A task that is not ours, and says what it must not."""
    print(TEXT, file=sys.stderr, flush=True)
    raise ValueError(TEXT)


# --- the releases ---------------------------------------------------------------------------------

CASES: dict[str, tuple[str, str]] = {  # how, and in which stage
    **{f"read {name}": (name, "read") for name in errors()},
    "bound ConversionException": ("ConversionException", "bound"),
    "bound MemoryError": ("MemoryError", "bound"),
    "merge quoted": ("quoted", "merge"),
    "read decoding": ("decoding", "read"),
    "merge encoding": ("encoding", "merge"),
    "read cut": ("cut", "read"),
    "read killed": ("killed", "read"),
    "bound segmentation": ("segmentation", "bound"),
    "merge interrupted": ("interrupted", "merge"),
    "read little memory": ("little memory", "read"),
}


def release(folder: Path, case: str) -> dict[str, Any]:
    """What a release says whose data, or whose tasks, are those of the case."""
    work = folder / "work"
    for old in [*work.glob("*.sqlite*"), work / "out", *work.glob("data.*")]:
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    spec, data, task = SPARK_SPEC, FILES.get(case, many(2000)), None
    if case == "unbounded":
        spec, data = UNBOUNDED, many(3000)
    elif case == "mixed":
        data = lines([GOOD] * 50) + b"\n".join(
            content.partition(b"\n")[2].rstrip(b"\n") for content in FILES.values()
        )
    elif case == "modules":
        task = partial(modules, str(folder))
    elif case in CASES:
        task = partial(broken, *CASES[case])
    name = "data.csv"
    if case.startswith("parquet"):
        name, data = "data.parquet", parquet()
        if case == "parquet damaged":
            data = bytearray(data)
            for place in range(4, len(data) // 2, 97):
                data[place] ^= 0x5A
    (work / name).write_bytes(data)
    (work / "spec.toml").write_text(spec.replace("data.csv", name), encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    kept = spark_session.run_first_task, spark_session.run_later_task
    if task is not None:
        spark_session.run_first_task = spark_session.run_later_task = task  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = execute(["run", str(work / "spec.toml")])
    finally:
        spark_session.run_first_task, spark_session.run_later_task = kept
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def main(folder: Path, settings: dict[str, str], cases: list[str]) -> None:
    """Begin a session, and make all releases in it."""
    from pyspark.sql import SparkSession

    splits.SMALLEST, splits.WANTED, spark_engine.FEW = 4096, 4, 50
    spark_session.FEWEST_PROBES, spark_session.MOST_PROBES, spark_session.PATIENCE = 2, 2, 300
    spark_engine.PARTITION, spark_engine.ATTEMPTS = 1 << 18, 2
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    said = {}
    for case in cases:
        if case == "loud":
            with contextlib.suppress(Exception):
                spark.range(0, 1, 1, 1).mapInArrow(loud, spark_session.SCHEMA).collect()
        else:
            said[case] = release(folder, case)
    (folder / "said.json").write_text(json.dumps(said))
    time.sleep(5)  # what executors write to logs comes late, and not at all once they are stopped
    # What Spark has on its disks goes when it stops.
    shutil.copytree(folder / "local", folder / "kept", ignore_dangling_symlinks=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3]))
