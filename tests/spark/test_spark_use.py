"""How a session is come by, and what happens without one: each as a process of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sessions import Sessions, Standalone, environment, spark_class
from visits import list_charges, write_visits

import dprelease
from dprelease import ExitCode, Failure
from dprelease.engines.spark.spark_session import ENCRYPTION

ROOT = Path(__file__).resolve().parents[2]
SECRET = "SECRET-8461"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return write_visits(tmp_path, ["north", "south", SECRET] * 100)


def command(spec: Path, *program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``dprelease run`` with these variables; nothing of the data is said, nor a traceback."""
    ended = subprocess.run(
        [*(program or (sys.executable, "-m", "dprelease")), "run", str(spec)],
        env=environment(**variables), cwd=spec.parent, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    said = ended.stdout + ended.stderr
    assert SECRET not in said
    assert "Traceback" not in said
    return ended


def without_java(folder: Path) -> str:
    """A folder of programs, for PATH, with all that a shell script of Spark's wants but Java."""
    folder.mkdir()
    for name in ("bash", "sh", "env", "dirname", "basename", "uname", "ls", "tr", "cat", "nice"):
        program = shutil.which(name)
        if program:
            (folder / name).symlink_to(program)
    return str(folder)


def test_without_java_nothing_is_charged(spec: Path, tmp_path: Path) -> None:
    ended = command(spec, PATH=without_java(tmp_path / "bin"), JAVA_HOME="")
    assert ended.returncode == ExitCode.DATA
    assert "E414" in ended.stderr
    assert list_charges(spec) == 0


def test_with_an_old_java_nothing_is_charged(spec: Path, tmp_path: Path) -> None:
    path = without_java(tmp_path / "bin")
    java = tmp_path / "bin" / "java"
    text = "java.lang.UnsupportedClassVersionError: class file version 61.0"
    java.write_text(f"#!/bin/sh\necho 'Exception in thread \"main\" {text}' >&2\nexit 1\n")
    java.chmod(0o755)
    ended = command(spec, PATH=path, JAVA_HOME="")
    assert ended.returncode == ExitCode.DATA
    assert "E415" in ended.stderr
    assert list_charges(spec) == 0


IMPATIENT = """\
from dprelease.__main__ import main
from dprelease.engines.spark import spark_session
assert spark_session.PATIENCE > 15
spark_session.PATIENCE = 15.0
main()
"""


@pytest.mark.thorough
@pytest.mark.parametrize("there", ["nothing", "a master without workers"])
def test_a_cluster_that_does_no_tasks(spec: Path, standalone: Standalone, there: str) -> None:
    master = "spark://127.0.0.1:1" if there == "nothing" else standalone.start(workers=0)
    ended = command(spec, sys.executable, "-c", IMPATIENT, MASTER=master)
    assert ended.returncode == ExitCode.DATA
    assert "E415" in ended.stderr
    assert list_charges(spec) == 0


@pytest.mark.thorough
def test_a_session_that_writes_rows_down_is_refused(sessions: Sessions, spec: Path) -> None:
    """Also one that was told otherwise later, which changes nothing."""
    from pyspark.sql import SparkSession

    plain = sessions.get(spark__io__encryption__enabled="false")
    for session in (plain, SparkSession.builder.config(ENCRYPTION, "true").getOrCreate(), None):
        with pytest.raises(Failure) as refused:
            dprelease.run(spec, spark=session)
        assert [complaint.code for complaint in refused.value.complaints] == ["E417"]
    assert list_charges(spec) == 0
    sessions.stop()


def test_a_session_that_was_stopped_is_refused(sessions: Sessions, spec: Path) -> None:
    stopped = sessions.get()
    sessions.stop()
    with pytest.raises(Failure) as refused:
        dprelease.run(spec, spark=stopped)
    assert [complaint.code for complaint in refused.value.complaints] == ["E415"]
    assert list_charges(spec) == 0


def test_the_active_session_is_used(spark: Any, spec: Path) -> None:
    begun = spark.sparkContext.applicationId
    assert dprelease.run(spec).charged
    assert spark.sparkContext.applicationId == begun


LISTENING = """
import os, sys
from pathlib import Path
import dprelease

dprelease.run(sys.argv[1])
children = {os.getpid()}
stats = [path.read_text().rpartition(") ")[2].split() for path in Path("/proc").glob("[0-9]*/stat")]
names = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat")]
for _ in range(5):
    children |= {name for name, stat in zip(names, stats) if int(stat[1]) in children}
sockets = set()
for child in children:
    for link in Path(f"/proc/{child}/fd").iterdir():
        try:
            sockets.add(os.readlink(link))
        except OSError:
            pass
for table in ("tcp", "tcp6"):
    for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            print("listens", fields[1].partition(":")[0])
"""
LOOPBACKS = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="no list of sockets here")
@pytest.mark.parametrize(
    "named",
    [
        {},
        {"PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"},
        {"SPARK_REMOTE": "local[2]"},
    ],
)
def test_a_session_on_this_machine_is_reached_from_it_alone(
    spec: Path, tmp_path: Path, named: dict[str, str]
) -> None:
    """No pages, and the driver's sockets on the loopback, whatever the machine's settings are."""
    settings = tmp_path / "conf"
    settings.mkdir()
    (settings / "spark-defaults.conf").write_text(
        "spark.ui.enabled true\nspark.driver.bindAddress 0.0.0.0\n"
    )
    variables = environment(SPARK_CONF_DIR=str(settings), **named)
    del variables["SPARK_LOCAL_IP"]
    ended = subprocess.run(
        [sys.executable, "-c", LISTENING, str(spec)], env=variables, cwd=spec.parent,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    found = {line.split()[1] for line in ended.stdout.splitlines() if line.startswith("listens")}
    assert found
    assert found <= LOOPBACKS


@pytest.mark.thorough
def test_submitted_to_spark(spec: Path, tmp_path: Path) -> None:
    """The program that the page on clusters shows."""
    page = (ROOT / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")
    program = tmp_path / "release.py"
    program.write_text(page.partition("# release.py\n")[2].partition("```")[0])
    spec.rename(tmp_path / "visits.toml")
    encrypted = ("--conf", f"{ENCRYPTION}=true")
    submit = (spark_class("spark-submit"), "--master", "local[2]", *encrypted, str(program))
    ended = command(spec, *submit)
    assert ended.returncode == 0, ended.stderr
    assert list_charges(spec) == 1
    assert (spec.parent / "out" / "report.json").exists()


@pytest.mark.thorough
def test_by_spark_connect(spec: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        ENCRYPTION: "true",
        "spark.ui.enabled": "false",
    }
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen(
            [
                spark_class("spark-submit"),
                "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
                "--master", "local[2]",
                *(word for key, value in settings.items() for word in ("--conf", f"{key}={value}")),
                "spark-internal",
            ],
            env=environment(), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        while server.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        ended = command(spec, SPARK_REMOTE=f"sc://127.0.0.1:{port}")
        assert ended.returncode == 0, ended.stderr
        assert list_charges(spec) == 1
    finally:
        server.kill()
        server.wait()
