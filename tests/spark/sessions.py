"""Sessions of a real Spark for tests, one at a time, and why there are none."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REQUIRED = "DPRELEASE_REQUIRE_SPARK"  # 1: a Spark that is missing is a failure
ORDINARY = {
    "spark.master": "local[2]",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def missing() -> str | None:
    """What Spark lacks here."""
    for package in ("pyspark", "pandas", "grpc"):
        if importlib.util.find_spec(package) is None:
            return f"no {package}: pip install 'dprelease[spark]'"
    home = os.environ.get("JAVA_HOME")
    if shutil.which(f"{home}/bin/java" if home else "java") is None:
        return "no Java: install version 17 or a later one"
    return None


def spark_class(name: str) -> str:
    """A script of Spark's own, such as ``spark-submit``."""
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / name)


def environment(**more: str) -> dict[str, str]:
    """That of a process that starts Spark: nothing of the machine's own settings of it."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SPARK", "PYSPARK", "MASTER"))
    }
    return inherited | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | more


class Sessions:
    """The one session there is in this process; another takes its place where settings differ."""

    def __init__(self) -> None:
        self._settings: dict[str, str] = {}
        self._session: Any = None

    def get(self, **settings: str) -> Any:
        """A session with the ordinary settings, but for these (``__`` for each dot)."""
        from pyspark.sql import SparkSession

        wanted = ORDINARY | {key.replace("__", "."): value for key, value in settings.items()}
        if self._session is None or wanted != self._settings:
            self.stop()
            os.environ["PYSPARK_PYTHON"] = sys.executable
            builder = SparkSession.builder.appName("tests")
            for key, value in wanted.items():
                builder = builder.config(key, value)
            self._session, self._settings = builder.getOrCreate(), wanted
        return self._session

    def stop(self) -> None:
        """No session any more."""
        if self._session is not None:
            self._session.stop()
        self._session = None


@dataclass
class Standalone:
    """A master and workers on this machine."""

    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    master: str = ""

    def start(self, workers: int = 2) -> str:
        """Returns the URL of the master, which may take a while to answer."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.master = f"spark://127.0.0.1:{port}"
        self._run("master.Master", "127.0.0.1", "--port", port)
        for place in range(workers):
            host = f"127.0.0.{1 + place}"  # Spark repeats a slow task on another one only
            self._run("worker.Worker", host, "--cores", "1", "--memory", "1g", self.master)
        return self.master

    def _run(self, name: str, host: str, *arguments: str) -> None:
        with open(self.folder / f"{len(self.processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [
                    spark_class("spark-class"), f"org.apache.spark.deploy.{name}",
                    "--host", host, "--webui-port", "0", *arguments,
                ],
                env=environment(SPARK_WORKER_DIR=str(self.folder)),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)

    def kill(self) -> None:
        """All of them at once, and the executors that they have started."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
