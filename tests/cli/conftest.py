"""The command line as people meet it, with its own streams; where it matters, in a process."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from dprelease.cli.guard import execute

SPEC = """\
schema = 1

[release]
name = "small"

[data]
path = "small.csv"

[privacy]
unit = "row"
unit_description = "one visit"
adjacency = "add-remove"
epsilon = 1.0

[ledger]
epsilon_cap = 2.5

[columns.region]
type = "string"
keys = ["north", "south"]
source = "public: map"

[columns.days]
type = "integer"
lower = 0
upper = 100
source = "public: rule"

[[query]]
name = "visits"
statistic = "count"
by = ["region"]
epsilon = 0.5

[[query]]
name = "mean_days"
statistic = "mean"
column = "days"
by = ["region"]
epsilon = 0.5

[output]
path = "out"
"""

DATA = "region,days\n" + "north,3\nsouth,40\nnorth,n/a\nelsewhere,7\n" * 50


def plain_environment() -> dict[str, str]:
    """An environment in which nothing asks for colour or against it."""
    passed_on = ("PATH", "HOME", "PYTHONOPTIMIZE", "PYTHONPATH")
    kept = {name: os.environ[name] for name in passed_on if name in os.environ}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "TERM": "xterm"}


@dataclass(frozen=True)
class Answer:
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a sound spec, small.toml, and its data."""
    (tmp_path / "small.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "small.csv").write_text(DATA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def spec(folder: Path) -> Callable[..., str]:
    """Write the spec again with texts replaced, and give its name."""

    def write(*changes: tuple[str, str], name: str = "small.toml") -> str:
        text = SPEC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text, encoding="utf-8")
        return name

    return write


@pytest.fixture
def cli(folder: Path, process: Callable[..., Answer]) -> Callable[..., Answer]:
    """Run ``dprelease`` in the folder, without terminal or input; in this process if that will do.

    Variables of the environment are for a process of its own: some are read at its start. Those
    that a spec names are ``read_late``.
    """

    def run(
        *arguments: str, read_late: Mapping[str, str] | None = None, **environment: str
    ) -> Answer:
        if environment:
            return process(*arguments, **environment)
        return call_in_process(folder, arguments, read_late or {})

    return run


@pytest.fixture
def process(folder: Path) -> Callable[..., Answer]:
    """Run ``dprelease`` in a process of its own."""

    def run(*arguments: str, **environment: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "dprelease", *arguments],
            cwd=folder,
            env=plain_environment() | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


def call_in_process(folder: Path, arguments: Sequence[str], more: Mapping[str, str]) -> Answer:
    """The outermost function of ``dprelease``, with the surroundings of a process."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(folder)
        for name in os.environ.keys() - plain_environment().keys():
            patch.delenv(name)
        for name, value in (plain_environment() | more).items():
            patch.setenv(name, value)
        streams = {}
        for name in ("stdin", "stdout", "stderr"):
            bare = stack.enter_context(TemporaryFile())
            streams[name] = TextIOWrapper(bare, encoding="utf-8")
            patch.setattr(sys, name, streams[name])
        for module, name in ((threading, "excepthook"), (sys, "unraisablehook")):
            patch.setattr(module, name, getattr(module, name))
        stack.enter_context(warnings.catch_warnings())
        stack.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        code = execute(arguments)
        texts = []
        for name in ("stdout", "stderr"):
            streams[name].flush()
            streams[name].buffer.seek(0)
            texts.append(streams[name].buffer.read().decode("utf-8").replace("\r\n", "\n"))
        return Answer(code, *texts)


@pytest.fixture(scope="session")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a run of small.toml leaves, for tests that read it alone."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "small.toml").write_text(SPEC, encoding="utf-8")
    (folder / "small.csv").write_text(DATA, encoding="utf-8")
    assert call_in_process(folder, ["run", "small.toml", "-q"], {}).code == 0
    return folder


@pytest.fixture
def terminal(folder: Path) -> Callable[..., tuple[int, str]]:
    """Run ``dprelease`` with a terminal for both of its streams: exit code and what it showed."""

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "dprelease", *arguments],
            cwd=folder,
            env=plain_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        shown = b"".join(iter(lambda: read_terminal(master), b""))
        os.close(master)
        return process.wait(timeout=120), shown.decode("utf-8").replace("\r\n", "\n")

    return run


def read_terminal(master: int) -> bytes:
    """What the terminal shows next; nothing when the last writer has gone."""
    try:
        return os.read(master, 65_536)
    except OSError:  # how Linux says that no writer is left
        return b""


@pytest.fixture
def probe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run ``dprelease`` in this process with something else in the place of a function of its."""

    def run(name: str, stand_in: Callable[..., Any], *arguments: str) -> Answer:
        with monkeypatch.context() as patch:
            patch.setattr(name, stand_in)
            return call_in_process(folder, arguments, {})

    return run
