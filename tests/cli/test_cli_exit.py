"""The process ends at once, but loses nothing of what an ordinary end would do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def run_to_its_end(code: str, **streams: int) -> subprocess.CompletedProcess[str]:
    text = f"import sys\nfrom dprelease.__main__ import leave\n{code}"
    return subprocess.run(
        [sys.executable, "-c", text],
        check=False,
        text=True,
        timeout=60,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("code", [0, 5, 70, 141])
def test_the_code_and_unwritten_text_are_kept(code: int) -> None:
    found = run_to_its_end(f"sys.stdout.write('out'); sys.stderr.write('err'); leave({code})")
    assert (found.returncode, found.stdout, found.stderr) == (code, "out", "err")


def test_nothing_is_freed_one_by_one() -> None:
    found = run_to_its_end(
        "class Told:\n    def __del__(self): print('freed', flush=True)\ntold = Told()\nleave(0)"
    )
    assert found.stdout == ""


def test_functions_registered_for_the_exit_run_once() -> None:
    found = run_to_its_end("import atexit; atexit.register(print, 'bye'); leave(3)")
    assert (found.returncode, found.stdout) == (3, "bye\n")


def test_a_thread_is_waited_for() -> None:
    found = run_to_its_end(
        "import threading, time\n"
        "def late(): time.sleep(0.3); print('late')\n"
        "threading.Thread(target=late).start(); leave(4)"
    )
    assert (found.returncode, found.stdout) == (4, "late\n")


def test_a_reader_that_has_gone_is_answered_as_by_any_process() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ours = run_to_its_end("sys.stdout.write('x'); leave(0)", stdout=writing)
        usual = run_to_its_end("sys.stdout.write('x'); sys.exit(0)", stdout=writing)
    finally:
        os.close(writing)
    assert ours.returncode == usual.returncode != 0
