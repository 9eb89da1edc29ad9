"""A rehearsal opens no data: not where it can't be read, and not by any door that Python sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from small import GOOD, RECORDS, SPEC, lines

import dprelease

PROGRAM = """
import json, os, sys

seen = []

def hooked(event, arguments):
    named = [argument for argument in arguments if isinstance(argument, (str, bytes))]
    if any(os.fsencode(name).endswith(b"data.csv") for name in named):
        seen.append(event)
    if event.startswith(("socket.connect", "subprocess.", "os.system", "os.exec", "os.spawn")):
        seen.append(event)

sys.addaudithook(hooked)
from dprelease.cli.guard import execute
code = execute(["rehearse", "-q", "--rows", "200", "spec.toml"])
os.write(1, json.dumps([code, seen]).encode())
"""


@pytest.mark.one_in(5)
@pytest.mark.parametrize("spec", [SPEC, RECORDS], ids=["tables", "records"])
@pytest.mark.parametrize("data", ["canary", "pipe", "folder", "nothing"])
def test_no_data_is_opened(spec: str, data: str, tmp_path: Path) -> None:
    """A pipe would never end: who opens it waits for good."""
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    (work / "spec.toml").write_text(spec, encoding="utf-8")
    if data == "canary":
        (work / "data.csv").write_bytes(lines([["canary7", *GOOD[1:]]] * 9))
    elif data == "pipe":
        os.mkfifo(work / "data.csv")
    elif data == "folder":
        (work / "data.csv").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(dprelease.__file__).parents[1]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(scratch),
        },
        cwd=work,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [0, []], done.stderr
    assert list(scratch.iterdir()) == []
    left = {path.name for path in work.iterdir()} - {"data.csv"}
    assert left == {"spec.toml", "out-rehearsal"}
    written = [path for path in (work / "out-rehearsal").rglob("*") if path.is_file()]
    assert written
    assert not any(b"canary7" in path.read_bytes() for path in written)
