"""Run a whole process and measure it: wall time and peak memory, as the kernel saw them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

MIB = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """Seconds of wall time, MiB of resident memory at the peak, and seconds of all cores."""

    seconds: float
    mebibytes: float
    cpu: float


def measure(command: Sequence[str], folder: Path, quiet: bool = True) -> Cost:
    """Run a command in a folder. A command that fails ends the benchmark with what it said.

    Python may keep what it compiles, as it does of a package that is installed.
    """
    own = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with open(folder / "said.txt", "wb+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command), cwd=folder, env=own, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{command[:4]} ended with {process.returncode}:\n{text}")
    if not quiet:
        print(text)
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
    return Cost(seconds, usage.ru_maxrss * unit / MIB, usage.ru_utime + usage.ru_stime)


def processor_times() -> dict[str, float]:
    """Seconds of all cores so far of this process and all below it, by command. Linux only.

    Those of processes that have ended are in their parents'.
    """
    below: dict[int, list[int]] = {}
    times: dict[int, tuple[str, float]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has just ended
        fields = rest.split()
        below.setdefault(int(fields[1]), []).append(int(folder.name))
        times[int(folder.name)] = command, sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    spent: dict[str, float] = {}
    waiting = [os.getpid()]
    while waiting:
        place = waiting.pop()
        command, seconds = times[place]
        name = "driver" if place == os.getpid() else command
        spent[name] = spent.get(name, 0.0) + seconds
        waiting += below.get(place, [])
    return spent


def middle(costs: Sequence[Cost]) -> Cost:
    """The median times, and the largest peak."""
    return Cost(
        median(cost.seconds for cost in costs),
        max(cost.mebibytes for cost in costs),
        median(cost.cpu for cost in costs),
    )


def verdict(value: float, most: float) -> str:
    """Whether a figure meets its target."""
    return "ok" if value <= most else "MISSED"
