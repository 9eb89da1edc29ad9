"""Errors of counts planned together, beside each alone, noise by hand, and OpenDP; and plan times.

    python benchmarks/workloads.py FOLDER

Each workload is planned and certified, and its error follows from the plan's exact laws: the root
mean square over its queries, tables alike. Beside it stand

* each query alone: the same spec without planning together;
* by hand: all queries as one vector with Gaussian noise, calibrated to the same (epsilon, delta) by
  the exact curve (Balle and Wang 2018), or with Laplace noise in pure epsilon;
* OpenDP: the same vector with its own noise, its own calibration and real draws, at least 50,000.
  It is installed into FOLDER once, as peers/run.py does.

Cumulative counts by hand and with OpenDP are sums of a noisy histogram. Of the mixed spec by hand
and with OpenDP only the eight counts are released, with eight twelfths of epsilon and delta.

Then large specs are planned, each in a process of its own. Times are of the processor. Both tables
are written into docs/explanation/workloads.md. Needs a network for the first run, and some minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from processes import measure, verdict

import dprelease
from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.model import Plan, Read
from dprelease.release.plan import plan_and_certify
from dprelease.statistics.read_release import compute_figure_variance
from dprelease.statistics.statistic_registry import get_statistic

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "peers"))
PAGE = HERE.parents[0] / "docs" / "explanation" / "workloads.md"
Json = dict[str, Any]

DELTA: Json = {"epsilon": 1, "delta": 1e-6}
PURE: Json = {"epsilon": 1}
MU: Json = {"rho": 0.5}  # a mu of 1


@dataclass(frozen=True)
class Workload:
    """A spec's columns, with so many labels each, and its queries.

    ``tables`` lie in the vector by hand, in each of which a row moves one integer by ``step``;
    ``share`` of the budget is theirs. ``most``: the target of the error.
    """

    name: str
    privacy: Json
    sizes: dict[str, int]
    queries: Sequence[Json]
    tables: int
    most: float | None
    step: int = 1
    share: Fraction = Fraction(1)
    by_cell: bool = False

    def spec(self) -> Json:
        """The spec, over a table that nobody opens; every record has one of the labels."""
        columns: dict[str, Json] = {"x": {"type": "integer", "lower": 0, "upper": 100_000}}
        columns |= {name: {"type": "integer", "lower": 0, "upper": 1000} for name in SUMMED}
        for name, size in self.sizes.items():
            keys = [f"k{place}" for place in range(size - 1)]
            columns[name] = {"type": "string", "keys": keys, "other": "rest", "nulls": "rest"}
        return {
            "release": {"name": "workload"},
            "data": {"path": "none.csv"},
            "output": {"path": "out"},
            "privacy": {"unit": "row", "adjacency": "add-remove"} | self.privacy,
            "columns": columns,
            "query": [
                {"name": f"q{place}", "statistic": "count"} | query
                for place, query in enumerate(self.queries)
            ],
        }

    @property
    def rows(self) -> int:
        """How many running totals a figure is one of; 1 where it is none."""
        running = any(query.get("statistic") == "cumulative" for query in self.queries)
        return next(iter(self.sizes.values())) if running else 1


def conditions(number: int) -> list[Json]:
    """So many conditions of which a row may meet all."""
    return [{"where": f"x > {place}"} for place in range(number)]


def bins(number: int) -> list[Json]:
    """So many conditions of which a row meets one at most."""
    return [{"where": f"x >= {place} AND x < {place + 1}"} for place in range(number)]


def marginals(sizes: dict[str, int], *ways: int) -> list[Json]:
    """All tables of so many columns."""
    return [{"statistic": "marginals", "columns": list(sizes), "ways": list(ways)}]


SUMMED = tuple(f"y{place}" for place in range(10))
SUMS = [{"statistic": "sum", "column": name} for name in SUMMED]
BIRTHS = {"a": 6, "b": 10, "c": 2, "d": 8, "e": 5}
YES_NO = {f"a{place:02}": 2 for place in range(20)}
SIX = {f"a{place}": 10 for place in range(6)}
FEW = {f"a{place}": 2 for place in range(6)}
RUNNING = [{"statistic": "cumulative", "column": "a"}]
MIXED: list[Json] = [
    {"by": ["a", "b"]},
    {"by": ["b", "c"]},
    *conditions(6),
    {"statistic": "mean", "column": "x", "by": ["a"]},
    {"statistic": "sum", "column": "x"},
    {"statistic": "median", "column": "x"},
    {"statistic": "proportion", "where": "x > 3", "by": ["b"]},
]
WORKLOADS = (
    Workload("10 conditions, total", DELTA, {}, [{}, *conditions(10)], 11, 8.85),
    Workload("10 conditions, total", PURE, {}, [{}, *conditions(10)], 11, 9.55),
    Workload("100 conditions", DELTA, {}, conditions(100), 100, 23.5),
    Workload("10 conditions that exclude each other", PURE, {}, bins(10), 1, 1.39),
    Workload("1,000 conditions", DELTA, {}, conditions(1000), 1000, 69.5),
    Workload("sizes 6, 10, 2, 8, 5: 1- and 2-way", MU, BIRTHS, marginals(BIRTHS, 1, 2), 15, 2.90),
    Workload("sizes 6, 10, 2, 8, 5: 2-way", MU, BIRTHS, marginals(BIRTHS, 2), 10, None),
    Workload("20 yes/no: 1- and 2-way", MU, YES_NO, marginals(YES_NO, 1, 2), 210, 5.3),
    Workload("six of 10 labels: 2-way", MU, SIX, marginals(SIX, 2), 15, 3.49),
    Workload(
        "6 yes/no: up to 3-way", PURE, FEW, marginals(FEW, 0, 1, 2, 3), 42, 4.85, by_cell=True
    ),
    Workload("tree 1, 50, 1,000", MU, {"s": 50, "t": 20}, [{}, {"levels": ["s", "t"]}], 3, 3**0.5),
    Workload("cumulative, 100 bins", MU, {"a": 100}, RUNNING, 1, 2.28),
    Workload("365 running totals", MU, {"a": 365}, RUNNING, 1, 2.69),
    Workload("cumulative, 100 bins", PURE, {"a": 100}, RUNNING, 1, 6.7),
    Workload("365 running totals", PURE, {"a": 365}, RUNNING, 1, 9.1),
    Workload("1,000 running totals", PURE, {"a": 1000}, RUNNING, 1, 11.1),
    Workload("365 running totals", DELTA, {"a": 365}, RUNNING, 1, 9.1),
    Workload(
        "12 queries, mixed", DELTA, {"a": 4, "b": 2, "c": 3}, MIXED, 8, None, share=Fraction(2, 3)
    ),
    Workload("10 sums, 0 to 1,000", DELTA, {}, SUMS, 10, 5.2 * 1000, step=1000),
    Workload("10 sums, 0 to 1,000", PURE, {}, SUMS, 10, 5.2 * 1000, step=1000),
    Workload(
        "a sum, 0 to 100,000",
        {"epsilon": 4},
        {},
        [{"statistic": "sum", "column": "x"}],
        1,
        0.74 * 2**0.5 * 25_000,
        step=100_000,
    ),
)

FIVE = {f"a{place}": 32 for place in range(5)}
TEN = {f"a{place}": 152 for place in range(10)}
SQUARE = {"a": 1000, "b": 1000}
# what is planned -> the workload, and the most seconds and bytes
LARGE: dict[str, tuple[Workload, float, float]] = {
    workload.name: (workload, seconds, 2e9)
    for workload, seconds in (
        (Workload("10 conditions", DELTA, {}, conditions(10), 10, None), 0.5),
        (Workload("10,000 conditions", DELTA, {}, conditions(10_000), 10_000, None), 10),
        (Workload("10,240 cells in 10 tables", DELTA, FIVE, marginals(FIVE, 2), 10, None), 10),
        (
            Workload("10^6 cells in one table", DELTA, SQUARE, marginals(SQUARE, 1, 2), 3, None),
            60,
        ),
        (Workload("1,039,680 cells in 45 tables", DELTA, TEN, marginals(TEN, 2), 45, None), 60),
    )
}


# --- errors --------------------------------------------------------------------------------------


def variances(workload: Workload, plan: Plan) -> Iterator[tuple[Read, float]]:
    """The exact variance of the noise of each query that is compared, the mean over its cells."""
    for read in plan.reads[: workload.tables if workload.queries is MIXED else None]:
        if read.query.statistic == "cumulative":
            step = plan.step(read)
            rows = get_statistic(read.query.statistic).spread(read.query, step.axes)
            yield read, compute_noise_variance(step.noise) * float(rows)
        else:
            exact = compute_figure_variance(read, plan)
            if exact is None:
                raise ValueError(f"{read.query.name} has no exact variance")
            yield read, float(exact)


def error(workload: Workload, plan: Plan) -> float:
    """The root mean square over the queries; of ``by_cell`` the mean error of all cells."""
    if workload.by_cell:
        pairs = [(read.query.cells, math.sqrt(v)) for read, v in variances(workload, plan)]
        return sum(cells * part for cells, part in pairs) / sum(cells for cells, _ in pairs)
    return math.sqrt(mean(v for _, v in variances(workload, plan)))


def worst(workload: Workload, plan: Plan, alone: Plan) -> float:
    """The largest error of a query, as a part of the same alone."""
    before = {read.query.name: v for read, v in variances(workload, alone)}
    return max(math.sqrt(v / before[r.query.name]) for r, v in variances(workload, plan))


def by_hand(workload: Workload) -> float:
    """The error of plain noise on the vector of all queries."""
    privacy = workload.privacy
    sums = math.sqrt((workload.rows + 1) / 2)
    l2 = workload.step * math.sqrt(workload.tables) * sums
    if "rho" in privacy:
        return l2 / math.sqrt(2 * privacy["rho"])
    epsilon = privacy["epsilon"] * float(workload.share)
    if "delta" in privacy:
        return l2 * analytic_sigma(epsilon, privacy["delta"] * float(workload.share))
    return math.sqrt(2) * workload.tables * workload.step * sums / epsilon


def analytic_sigma(epsilon: float, delta: float) -> float:
    """The least sigma of Gaussian noise on a number that moves by 1, by bisection."""

    def normal(value: float) -> float:
        return math.erfc(-value / math.sqrt(2)) / 2

    low, high = 1e-3, 1e6
    for _ in range(200):
        sigma = math.sqrt(low * high)
        half, shift = 1 / (2 * sigma), epsilon * sigma
        spent = normal(half - shift) - math.exp(epsilon) * normal(-half - shift)
        low, high = (sigma, high) if spent > delta else (low, sigma)
    return high


def with_opendp(folder: Path) -> tuple[str, list[float]]:
    """The version, and the measured error of every workload."""
    from run import installed  # beside the other tools' scripts

    python = installed(folder, "opendp")
    if isinstance(python, str):
        sys.exit(f"OpenDP: {python}")
    # Its search for the scale of Gaussian noise overflows for large integers; these are wide enough
    # in units of the step.
    units = [workload.step if "delta" in workload.privacy else 1 for workload in WORKLOADS]
    jobs = []
    for workload, unit in zip(WORKLOADS, units, strict=True):
        shares = {"epsilon": float(workload.share), "delta": float(workload.share), "rho": 1}
        jobs.append(
            {
                "length": workload.tables * workload.rows,
                "running": workload.rows > 1,
                "l1": workload.tables * workload.step // unit,
                "l2": math.sqrt(workload.tables) * workload.step / unit,
            }
            | {key: value * shares[key] for key, value in workload.privacy.items()}
        )
    done = subprocess.run(
        [str(python), str(HERE / "peers" / "vectors_with_opendp.py"), json.dumps(jobs)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    said = json.loads(done.stdout)
    errors = [error * unit for error, unit in zip(said["errors"], units, strict=True)]
    return said["version"], errors


def number(value: float) -> str:
    """Three digits."""
    return f"{round(value, -1):,.0f}" if value >= 10_000 else f"{float(f'{value:.3g}'):,g}"


# --- tables --------------------------------------------------------------------------------------


def _warm() -> None:
    """Plan something small once: imports and tables."""
    dprelease.plan(dprelease.load(WORKLOADS[0].spec()))


def stated(privacy: Json) -> str:
    """A loss in a few words."""
    if "rho" in privacy:
        return "mu 1"
    return f"({privacy['epsilon']}, 1e-6)" if "delta" in privacy else f"{privacy['epsilon']}, 0"


def error_rows(folder: Path) -> Iterator[str]:
    """The table of errors."""
    _warm()
    theirs_is, measured = with_opendp(folder)
    yield (
        f"| workload | loss | dprelease {version('dprelease')} | alone | by hand "
        f"| OpenDP {theirs_is} | of alone | of by hand | of OpenDP | worst of alone "
        "| at most | planned in |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|"
    for workload, theirs in zip(WORKLOADS, measured, strict=True):
        release = dprelease.load(workload.spec())
        began = time.process_time()
        plan = plan_and_certify(release).plan
        took = time.process_time() - began
        plain = plan_and_certify(release, jointly=False).plan
        ours, alone, hand = error(workload, plan), error(workload, plain), by_hand(workload)
        most = workload.most
        cells = [
            workload.name,
            stated(workload.privacy),
            *map(number, (ours, alone, hand, theirs)),
            *(f"{ours / other:.2f}" for other in (alone, hand, theirs)),
            f"{worst(workload, plan, plain):.2f}",
            f"{number(most)} {verdict(ours, most)}" if most is not None else "",
            f"{took:.2g} s",
        ]
        yield f"| {' | '.join(cells)} |"


def time_rows(folder: Path) -> Iterator[str]:
    """The table of large plans."""
    yield "| planned at (1, 1e-6) | load | plan and certify | at most | peak memory | at most |"
    yield "|---|--:|--:|---|--:|---|"
    for name, (_, seconds, size) in LARGE.items():
        took = folder / "took.json"
        command = [sys.executable, str(Path(__file__).resolve()), str(folder), "--plan", name]
        peak = measure(command, folder).mebibytes
        load, planned = json.loads(took.read_text())
        yield (
            f"| {name} | {load:.2g} s | {planned:.2g} s "
            f"| {seconds:g} s {verdict(planned, seconds)} "
            f"| {peak:.0f} MiB | {size / 1e9:g} GB {verdict(peak, size / 2**20)} |"
        )


def plan_once(name: str, folder: Path) -> None:
    """Plan a large spec and leave its times."""
    _warm()
    began = time.process_time()
    release = dprelease.load(LARGE[name][0].spec())
    loaded = time.process_time()
    plan_and_certify(release)
    times = [loaded - began, time.process_time() - loaded]
    (folder / "took.json").write_text(json.dumps(times))


def write(name: str, rows: Iterator[str]) -> None:
    """Print a table and put it between its marks on the page."""
    text = ""
    for row in rows:
        print(row, flush=True)
        text += f"{row}\n"
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    about = f"\nMeasured with Python {platform.python_version()} on {platform.system()}.\n"
    PAGE.write_text(before + begin + text + about + end + rest.partition(end)[2], encoding="utf-8")


def main() -> None:
    """Print both tables, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plan", choices=LARGE, help="only plan this one, for its time")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.plan is not None:
        plan_once(options.plan, folder)
        return
    write("errors", error_rows(folder))
    write("times", time_rows(folder))


if __name__ == "__main__":
    main()
