"""Of the data nothing is left on a cluster: not in logs, disks, events or words, whatever fails.

Each test has a session of its own in another process: two executors beside the driver, with the
event log on. The same search finds the tokens where encryption is off and a task is not ours.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "leaks"))

from canary import NUMBER, TOKENS
from sessions import environment
from world import HEADER, ROWS, Traces, World

from dprelease import engines
from dprelease.engines.spark.spark_engine import ENGINE

PROGRAM = Path(__file__).with_name("leaks_program.py")
SEARCHED = [*(token.encode() for token in TOKENS), struct.pack("<q", int(NUMBER))]

AFTER_CHARGE, INTERNAL = 5, 70
RELEASED = ["mixed", "unbounded", "parquet"]
FAILING = {  # and the exit code
    "read ValueError": INTERNAL,
    "read SystemExit": INTERNAL,
    "merge quoted": INTERNAL,
    "read decoding": INTERNAL,
    "merge encoding": INTERNAL,
    "read cut": AFTER_CHARGE,
    "parquet damaged": AFTER_CHARGE,
    "bound MemoryError": AFTER_CHARGE,
    "read killed": AFTER_CHARGE,
}


def cluster(
    folder: Path, cases: list[str], settings: dict[str, str], **variables: str
) -> dict[str, Any]:
    """What the releases of the cases have said, made in a session of these settings."""
    import pyspark

    for name in ("work", "tmp", "home", "here", "local", "events", "spark"):
        (folder / name).mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():  # so that what it writes is in our folder
        if each.name != "work":  # of another cluster's executors
            (folder / "spark" / each.name).symlink_to(each)
    java = f"-Djava.io.tmpdir={folder / 'tmp'} -XX:-UsePerfData"
    ours = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "INFO",
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "zstd",
        # Files of a shuffle, and what is spilled before, can be searched as they are.
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        "spark.shuffle.sort.bypassMergeThreshold": "1",
        "spark.shuffle.spill.numElementsForceSpillThreshold": "2",
    }
    places = {
        "SPARK_HOME": str(folder / "spark"),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
    }
    arguments = [str(folder), json.dumps(ours | settings), json.dumps(cases)]
    with (folder / "driver.out").open("wb") as out, (folder / "driver.err").open("wb") as err:
        subprocess.run(
            [sys.executable, str(PROGRAM), *arguments],
            cwd=folder / "here",
            env=environment(**places, **variables),
            stdout=out,
            stderr=err,
            check=True,
            timeout=900,
        )
    said: dict[str, Any] = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    return said


def holding_tokens(folder: Path) -> set[str]:
    """Where in the folder a token is found, by its kind; the data themselves don't count."""
    found = set()
    for path in folder.rglob("*"):
        place = path.relative_to(folder)
        is_data = path.name.startswith("data.")
        if (
            not path.is_file()
            or is_data
            or (place.parts[0] == "spark" and "work" not in place.parts)
        ):
            continue
        content = path.read_bytes()
        if path.suffix == ".zstd":
            content = pa.input_stream(str(path), compression="zstd").read()
        if any(token in content for token in SEARCHED):
            found.add("shuffle" if path.name.startswith("shuffle_") else place.parts[0])
    return found


@pytest.mark.thorough
def test_nothing_is_left_whatever_fails(tmp_path: Path) -> None:
    """The same search as below; what fails is told by its class, and the retry is free."""
    settings = {"spark.io.encryption.enabled": "TRUE"}  # which is on, too
    said = cluster(tmp_path, [*RELEASED, "modules", *FAILING], settings)
    assert {case: answer["code"] for case, answer in said.items()} == {
        **dict.fromkeys([*RELEASED, "modules"], 0),
        **FAILING,
    }
    assert not any("Traceback" in answer["err"] for answer in said.values())
    assert list((tmp_path / "kept").rglob("shuffle_*.data"))
    assert list((tmp_path / "spark" / "work").rglob("stderr"))
    assert holding_tokens(tmp_path) == set()
    for name in ("home", "here"):
        assert list((tmp_path / name).iterdir()) == []
    stages = ("probe", "read", "bound", "merge")
    tasks = [json.loads((tmp_path / f"modules-{stage}.json").read_text()) for stage in stages]
    for task in tasks:  # no noise is in reach, and no more of Spark than its worker has
        assert not any(name.startswith("dprelease.kernel") for name in task["after"])
        new = set(task["after"]) - set(task["before"])
        assert not any(name.startswith("pyspark") for name in new)


@pytest.mark.thorough
def test_the_search_finds_tokens_where_they_are(tmp_path: Path) -> None:
    """In readable shuffle files, and in logs and events of a task that raises what it has."""
    plain = {"DPRELEASE_SPARK_PLAIN_SHUFFLE": "1"}
    said = cluster(tmp_path, ["mixed", "loud"], {"spark.io.encryption.enabled": "false"}, **plain)
    assert said["mixed"]["code"] == 0
    assert holding_tokens(tmp_path) == {"shuffle", "spark", "events", "driver.err"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["every_statistic_rows", "every_statistic_people"])
def test_the_same_noised_figures_leave_the_same_traces(
    name: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of neighbouring tables, as on one machine: files, streams, exit code and ledger."""
    monkeypatch.setattr("world.get", lambda _: ENGINE.open_in(spark))
    world = World(tmp_path, name, engine="spark")
    world.write_spec()
    world.write(ROWS)
    expected = world.run()
    assert expected.code == 0
    world.replayed = world.drawn
    changed = [list(row) for row in ROWS[1:]]
    changed[3][HEADER.index("cost")] = "a lot"
    world.write(changed)
    assert world.run() == expected
    world.engine = "duckdb"
    monkeypatch.setattr("world.get", engines.get)
    world.plans.clear()
    alike = world.run()
    assert (alike.out, alike.err) == (expected.out, expected.err)
    assert told(alike) == told(expected)


def told(traces: Traces) -> list[Any]:
    """The ledger's entries without hashes of files with the plan's digest: it names the engine."""
    entries: list[Any] = []
    for number, kind, run, written_at, content, *_ in traces.entries:
        values = json.loads(content)
        files = values.get("files", {})
        digests = [name for name in files if name.startswith("report.")]
        for name in ("datapackage.json", "figures/privacy-facts.svg", *digests):
            files.pop(name, None)
        entries.append((number, kind, run, written_at, values))
    return entries
