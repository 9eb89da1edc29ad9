"""What a run leaves on the machine: who may read it, what is tidied up, and nothing elsewhere."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from small import GOOD, SPEC, command, lines

import dprelease

OURS = 0o077  # the bits that nobody else may have

PROGRAM = """
import os, socket, sys

def refused(*_, **__):
    raise AssertionError("the network was asked for")

for name in ("socket", "create_connection", "getaddrinfo", "gethostbyname", "socketpair"):
    setattr(socket, name, refused)
os.umask(int(sys.argv[1], 8))
seen = {}

def look(where):
    for folder, folders, files in os.walk(os.environ["WORK"]):
        for each in folders + files:
            path = os.path.join(folder, each)
            try:
                seen.setdefault(path, os.lstat(path).st_mode & 0o777)
            except FileNotFoundError:
                pass

def hooked(event, arguments):
    if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "sqlite3.connect", "os.link"):
        look(event)
    outside = ("socket.", "urllib.", "http.", "subprocess.", "os.system", "os.exec", "os.spawn")
    if event.startswith(outside):
        os.write(2, f"EVENT {event}".encode())

sys.addaudithook(hooked)
from dprelease.cli.guard import execute
code = execute(["run", "-q", os.path.join(os.environ["WORK"], "spec.toml")])
look("end")
import json
os.write(1, json.dumps([code, seen]).encode())
"""


def run(folder: Path, umask: str, *, home: bool = True) -> dict[str, int]:
    """Modes of all that was in the folder at any step of a run, by path below it."""
    import json

    work = folder / "work"
    work.mkdir(exist_ok=True)
    (work / "spec.toml").write_text(SPEC, encoding="utf-8")
    (work / "data.csv").write_bytes(lines([GOOD] * 20))
    for name in ("home", "tmp", "here"):
        (folder / name).mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(dprelease.__file__).parents[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "WORK": str(work),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
    }
    if not home:
        environment = {k: v for k, v in environment.items() if not k.startswith(("HOME", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, umask],
        env=environment,
        cwd=folder / "here",
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert b"EVENT" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    code, seen = json.loads(done.stdout)
    assert code == 0, done.stderr
    for name in ("home", "tmp", "here"):
        assert list((folder / name).iterdir()) == [], name
    return {os.path.relpath(path, work): mode for path, mode in seen.items()}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("umask", "home"), [("000", True), ("077", False)])
def test_modes_do_not_hang_on_the_umask_but_those_of_what_is_published(
    umask: str, home: bool, tmp_path: Path
) -> None:
    """Published files honour the umask, from 0644; all else is for the user alone, always.

    Nothing is written to the home folder, a temporary folder or the working directory, and no
    other program or machine is spoken to.
    """
    seen = run(tmp_path, umask, home=home)
    mask = int(umask, 8)
    published = {path: mode for path, mode in seen.items() if path.startswith("out")}
    folders = {path for path in published if path in {"out", "out/figures"}}
    assert (len(published), len(folders)) == (12, 2)
    for path, mode in published.items():
        assert mode == (0o777 if path in folders else 0o644) & ~mask, path
    staged = {path for path in seen if path.startswith(".out.dprelease-")}
    private = {path for path in seen if path.startswith("dprelease-ledger.sqlite")}
    assert len(private) >= 2  # the draft and the ledger
    for path in private | {each for each in staged if "/" not in each}:
        assert seen[path] & OURS == 0, path
    assert staged
    left = {each.name for each in (tmp_path / "work").iterdir()}
    ledger = {"dprelease-ledger.sqlite", "dprelease-ledger.sqlite.witness"}
    assert left == {"spec.toml", "data.csv", "out"} | ledger


@pytest.fixture
def dead_process() -> int:
    """The number of a process that is gone."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.fixture
def living_process() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.communicate(b"\n")


def test_what_killed_runs_left_is_tidied_up_and_nothing_else(
    tmp_path: Path,
    dead_process: int,
    living_process: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    import fcntl

    (tmp_path / "spec.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "data.csv").write_bytes(lines([GOOD] * 20))
    book = "dprelease-ledger.sqlite"
    now = time.time_ns()
    dead = [tmp_path / f"{book}.new-{dead_process}-{now}", tmp_path / f".out.dprelease-7-{now}"]
    alive = [
        tmp_path / f"{book}.new-{living_process}-{now}",
        tmp_path / f".out.dprelease-8-{now}",
        tmp_path / f"{book}.new-mine",
        tmp_path / f"{book}.newer",
        tmp_path / f".other.dprelease-9-{now}",
    ]
    strangers = [
        tmp_path / f".out.dprelease-10-{now}",
        tmp_path / f"{book}.new-{dead_process}-{now}-s",
    ]
    for path in (*dead, *alive, *strangers):
        if ".out." in path.name or ".other." in path.name:
            path.mkdir(mode=0o700)
            (path / "half").write_bytes(b"half a file")
        else:
            path.write_bytes(b"half a ledger")
    if os.geteuid() == 0:
        for path in strangers:
            os.chown(path, 12345, 12345)
        alive += strangers
    held = os.open(alive[1], os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert command(capfd, "run", "-q", str(tmp_path / "spec.toml")).code == 0
    finally:
        os.close(held)
    assert [path for path in dead if path.exists()] == []
    assert [path for path in alive if not path.exists()] == []
    assert stat.S_IMODE((tmp_path / book).stat().st_mode) == 0o600
