"""The same release by dprelease and by other tools: error, time, lines of code that a user writes.

    python benchmarks/peers/run.py FOLDER

installs each tool into an environment of its own in FOLDER (once), makes the table (`visits.py`),
runs every script `with_TOOL.py` beside this file, and writes the table of
docs/explanation/beside-other-tools.md anew. `--tools` and `--jobs` measure some of it again; the
other rows are those that FOLDER keeps of earlier runs. Needs a network for the first run, and Java
for Tumult. Takes an hour or two.

Three jobs: "figures" (count, sum and mean by region at epsilon 1, a row is protected), "counts"
(the counts alone), "people" (the figures, where a person is protected, with at most three rows in
each of at most two regions). Errors are root mean squares over regions and draws. Time is that of a
whole process that makes one release, divided by that of dprelease run just before it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import visits

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "explanation" / "beside-other-tools.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"
JOBS = ("figures", "counts", "people")
HEAD = (
    "| tool | job | draws | error of count | of sum | of mean | time | lines |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|\n"
)
ROUNDS = 3  # of times

# tool -> (its name, what to install, draws of one job)
TOOLS: dict[str, tuple[str, list[str], int]] = {
    "dprelease": ("dprelease", [str(HERE.parents[1])], 100),
    "opendp": ("OpenDP (Polars)", ["opendp[polars]>=0.16"], 20),
    "diffprivlib": ("diffprivlib", ["diffprivlib>=0.6.6", "scikit-learn<1.7", "pandas"], 100),
    "smartnoise": ("SmartNoise SQL", ["smartnoise-sql>=1.0.10"], 10),
    "pipelinedp": ("PipelineDP", ["pipeline-dp>=0.3.1"], 6),
    "tumult": ("Tumult Analytics", ["tmlt.analytics>=0.21"], 2),
}


def installed(folder: Path, tool: str) -> Path | str:
    """The Python of the tool's environment, or why there is none."""
    python = folder / tool / "bin" / "python"
    if python.exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", str(folder / tool)], check=True)
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", *TOOLS[tool][1]],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return python
    return (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def script(tool: str) -> Path:
    """The tool's script."""
    return HERE / f"with_{tool}.py"


def lines_of_user(tool: str, job: str) -> int | None:
    """Lines between the marks of a job, without blank lines and comments; None without the job."""
    _, mark, rest = script(tool).read_text().partition(f"# begin: {job}\n")
    if not mark:
        return None
    lines = [line.strip() for line in rest.partition("# end\n")[0].splitlines()]
    return sum(1 for line in lines if line and not line.startswith("#"))


def released(python: Path, tool: str, job: str, folder: Path, draws: int) -> dict[str, Any] | str:
    """What the tool's script says of a job, with the seconds of the whole process, or its error."""
    began = time.perf_counter()
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [str(python), str(script(tool)), job, str(folder), str(draws)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds}


def beside(pythons: dict[str, Path], tool: str, job: str, folder: Path) -> float:
    """Time of one release, divided by that of dprelease just before it: the median of several."""
    ratios = []
    for _ in range(ROUNDS if TOOLS[tool][2] > 5 else 1):
        ours = released(pythons["dprelease"], "dprelease", job, folder, 1)
        theirs = released(pythons[tool], tool, job, folder, 1)
        if isinstance(ours, str) or isinstance(theirs, str):
            raise RuntimeError(f"{ours} {theirs}")
        ratios.append(theirs["seconds"] / ours["seconds"])
    return statistics.median(ratios)


def number(value: float) -> str:
    """Three digits."""
    if value >= 1000:
        return f"{round(value, -1):,.0f}"
    return f"{value:.3g}"


def row(pythons: dict[str, Path], tool: str, job: str, folder: Path) -> str:
    """One row of the table."""
    lines = lines_of_user(tool, job)
    if lines is None:
        return f"| {TOOLS[tool][0]} | {job} | cannot | | | | | |"
    drawn = released(pythons[tool], tool, job, folder, TOOLS[tool][2])
    if isinstance(drawn, str):
        return f"| {TOOLS[tool][0]} | {job} | failed: {drawn} | | | | | |"
    errors = [*map(number, drawn["errors"]), "", ""][:3]
    cells = [
        f"{TOOLS[tool][0]} {drawn['version']}",
        job,
        str(drawn["draws"]),
        *errors,
        f"{beside(pythons, tool, job, folder):.2g}",
        str(lines),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Install, run, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tools", nargs="*", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--jobs", nargs="*", choices=JOBS, default=list(JOBS))
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    visits.make(folder)
    pythons = {}
    for tool in dict.fromkeys(["dprelease", *asked.tools]):
        python = installed(folder, tool)
        if isinstance(python, str):
            for job in JOBS:
                skipped = f"| {TOOLS[tool][0]} | {job} | skipped: {python} | | | | | |"
                (folder / f"{tool}-{job}.md").write_text(skipped + "\n")
        else:
            pythons[tool] = python
    for tool, job in ((tool, job) for tool in asked.tools for job in asked.jobs):
        if tool in pythons:
            line = row(pythons, tool, job, folder)
            print(line, flush=True)
            (folder / f"{tool}-{job}.md").write_text(line + "\n")
    kept = [folder / f"{tool}-{job}.md" for job in JOBS for tool in TOOLS]
    about = f"Measured with Python {platform.python_version()} on {platform.system()}."
    text = HEAD + "".join(file.read_text() for file in kept if file.exists()) + f"\n{about}\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + text + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
