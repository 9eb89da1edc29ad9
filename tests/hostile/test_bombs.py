"""Specs and data made to take for ever, or all the memory: done in seconds, within a gigabyte.

Each runs in one process of its own whose memory and time the system limits.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from small import GOOD, SPEC, lines
from thorough import some
from trials import CONDITION, put

MEMORY = 3 << 30  # of addresses, of which the libraries reserve more than they use
SECONDS = 60

PROGRAM = """
import json, os, sys, time
sys.path.insert(0, sys.argv[2])
from dprelease.cli.guard import execute
found = {}
for name in sorted(os.listdir(sys.argv[1])):
    spec = os.path.join(sys.argv[1], name, "spec.toml")
    started = time.perf_counter()
    code = execute(["run", "-q", spec])
    found[name] = [code, time.perf_counter() - started]
# Not ru_maxrss: Linux hands the peak of the process that forks on to what it executes.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
most = int(peak.split()[1]) * 1024
os.write(1, json.dumps([found, most]).encode())
"""


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run_all(folder: Path) -> tuple[dict[str, list[float]], int]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(Path(__file__).parents[2])],
        preexec_fn=limit,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr, done.stderr[-2000:]
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found, most = json.loads(done.stdout)
    return found, most


SPECS = {
    "many keys": SPEC + "".join(f"k{n}=1\n" for n in range(100_000)),
    "many dotted keys": SPEC + "".join(f"a.b.k{n}=1\n" for n in range(60_000)),
    "many sections": SPEC + "".join(f"[x{n}]\n" for n in range(60_000)),
    "many queries": SPEC + "[[query]]\nname='a'\n" * 60_000,
    "a deep array": SPEC + "x=" + "[" * 3_000_000,
    "a deep key": SPEC + "a." * 1_500_000 + "a=1",
    "a long text": put('"one person"', f'"{"x" * 4_000_000}"'),
    "a long list": put('"north", "south"', "'a'," * 200_000),
    "an integer": put("delta = 1e-8", "delta = " + "1" * 4_000_000),
    "a fraction": put("delta = 1e-8", "delta = 0." + "1" * 3_000_000),
    "an exponent": put("upper = 100", "upper = 1e999999999"),
    "a tiny step": put("upper = 100", "upper = 100\nstep = 1e-999999999"),
    "parentheses": put(CONDITION, "(" * 3_000_000),
}

# With data: what must end in a release, however odd.
CONDITIONS = {
    "texts": f"""town LIKE '{"%a_" * 600}%b' OR {"||".join(["town"] * 13)} = 'x'
        OR CONCAT({",".join(["town"] * 99)}) = 'x' OR {"UPPER(" * 20}town{")" * 20} = 'x'""",
    "numbers": f"""{"*".join(["paid"] * 40)} > 1 OR {"*".join(["age"] * 40)} > 1
        OR paid / (age - age) > 1 OR age % (age - age) = 1 OR paid % 0.0 > 1
        OR {" OR ".join(["town IN ('a','b','c')"] * 40)}""",
}
LONG = [*GOOD[:2], "a" * 500_000, *GOOD[3:]]


def laid_out(folder: Path, specs: dict[str, str], data: bytes) -> Path:
    for name, text in specs.items():
        place = folder / name
        place.mkdir(parents=True)
        (place / "spec.toml").write_text(text, encoding="utf-8")
        (place / "data.csv").write_bytes(data)
    return folder


def test_specs(tmp_path: Path) -> None:
    specs = dict(some([*SPECS.items()], 7))
    found, most = run_all(laid_out(tmp_path / "all", specs, lines([GOOD])))
    assert {name: code for name, (code, _) in found.items()} == dict.fromkeys(specs, 2)
    assert max(taken for _, taken in found.values()) < 20, found
    assert most < 1 << 30


@pytest.mark.thorough
def test_expressions_over_long_texts(tmp_path: Path) -> None:
    specs = {name: put(CONDITION, text.replace("\n", " ")) for name, text in CONDITIONS.items()}
    data = lines([GOOD] * 50 + [LONG, [*GOOD[:5], "1e308", "9223372036854775807", *GOOD[7:]]])
    found, most = run_all(laid_out(tmp_path / "all", specs, data))
    assert {name: code for name, (code, _) in found.items()} == dict.fromkeys(specs, 0)
    assert max(taken for _, taken in found.values()) < 20, found
    assert most < 1 << 30
