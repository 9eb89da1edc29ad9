"""Sessions of a real Spark for tests, one at a time, and why there are none."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
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
