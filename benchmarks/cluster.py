"""What a request costs on Spark: beside plain Spark SQL and DuckDB, and as a model of its parts.

Count, sum and mean over a made-up table of ROWS rows, people as in ``bounding.py``: by 50 keys,
from Parquet and from CSV; and by two columns, 20,000 cells, with at most 10 rows in 5 groups of
each person. One Spark session of this machine's cores, all in turn, the first round not counted:
so Java is warm. Figures are seconds of all cores, of this process and all that it began. Targets,
as shares of what plain Spark SQL takes: 1.5 from Parquet, 1 from CSV; .5 with bounds, where plain
Spark SQL ranks rows in windows.

With --fit a model is fitted at sizes up to ROWS: seconds a row and a task, and bytes that are
shuffled a row. It is checked by what it says of four times as many rows, and says what 10^10 rows
and 1 TB would take. With --driver a whole release is made of 10,000 to 1,000,000 cells, and the
memory of its process measured.

Run: python benchmarks/cluster.py FOLDER [ROWS] [ROUNDS]
     python benchmarks/cluster.py FOLDER --fit [ROWS] [ROUNDS]
     python benchmarks/cluster.py FOLDER --driver [ROWS]
"""

from __future__ import annotations

import json
import os
import resource
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import bounding
import duckdb
import numpy as np
from msgspec.structs import replace
from processes import measure, processor_times, verdict

import dprelease
from dprelease.engines import get
from dprelease.engines.engine_interface import Engine
from dprelease.engines.spark.partial_results import build_exact_table
from dprelease.engines.spark.spark_engine import PARTITION, Spark, collect_messages
from dprelease.engines.spark.spark_session import OWN_SETTINGS, SparkCluster
from dprelease.engines.spark.splits import LARGEST, plan_splits
from dprelease.model import AggregateRequest, Source
from dprelease.sources.shared.read_share import ReadShare
from dprelease.sources.shared.source_format import lay_out

ROWS, FITTED = 20_000_000, 5_000_000
A_PERSON = Fraction(40, 3)  # rows
SCHEMA = "user_id string, region string, category string, amount double"
PLAIN = "SELECT region, count(*), sum(amount), avg(amount) FROM people GROUP BY region"
WINDOW = """
SELECT region, category, count(*), sum(amount), avg(amount) FROM (
  SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY xxhash64(region, category, amount))
    AS place
  FROM (
    SELECT *, dense_rank() OVER (
      PARTITION BY user_id ORDER BY xxhash64(user_id, region, category), region, category
    ) AS cell
    FROM people
  ) WHERE cell <= 5
) WHERE place <= 10 GROUP BY region, category
"""
CASES = {  # what is asked: file, its query, and the target
    "50 keys, Parquet": ("parquet", PLAIN, 1.5),
    "50 keys, CSV": ("csv", PLAIN, 1.0),
    "20,000 cells, bounded": ("parquet", WINDOW, 0.5),
}
FINER = (1, 16)  # splits of the usual size, and much smaller ones: that tells rows from tasks
PARTS = (4, 2, 1)  # fitted are so many-th parts of the rows
CORES = 160
CELLS = (10_000, 100_000, 1_000_000)
KEYS = 1_000

_RELEASE = """\
schema = 1
[release]
name = "cells"
[data]
path = "{path}"
engine = "spark"
[privacy]
unit = "row"
unit_description = "a line"
adjacency = "add-remove"
epsilon = 1.0
[ledger]
epsilon_cap = 1000
[columns.a]
type = "string"
keys = {a}
source = "made up"
[columns.b]
type = "string"
keys = {b}
source = "made up"
[columns.x]
type = "integer"
lower = 0
upper = 100
step = 1
source = "made up"
[[query]]
name = "total"
statistic = "sum"
column = "x"
by = ["a", "b"]
[output]
path = "out"
"""


def tables(folder: Path, rows: int) -> dict[str, Path]:
    """The same rows as Parquet and as CSV, written unless they are there."""
    parquet = bounding.write_table(folder, rows, int(rows / A_PERSON))
    csv = parquet.with_suffix(".csv")
    if not csv.exists():
        draft = csv.with_suffix(".draft")
        with duckdb.connect() as connection:
            connection.execute(f"COPY (FROM '{parquet}') TO '{draft}' (FORMAT csv, HEADER)")
        draft.rename(csv)
    return {"parquet": parquet, "csv": csv}


def request(files: dict[str, Path], case: str) -> AggregateRequest:
    """What the case asks of the table."""
    kind, query, _ = CASES[case]
    whole = bounding.request(files[kind], bounded=query is WINDOW)
    source = Source(str(files[kind]), kind)
    if query is WINDOW:
        return replace(whole, source=source)
    inputs = tuple(column for column in whole.inputs if column.name != "category")
    return replace(whole, source=source, inputs=inputs, groups=whole.groups[:1])


def begin() -> Any:
    """A session of this machine's cores, with the settings of those that the engine begins."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]")
    for key, value in (OWN_SETTINGS | {"spark.driver.host": "127.0.0.1"}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def spent(work: Callable[[], object]) -> dict[str, float]:
    """Seconds of all cores, by the command of the process."""
    before = processor_times()
    work()
    after = processor_times()
    return {name: seconds - before.get(name, 0.0) for name, seconds in after.items()}


def plain(spark: Any, files: dict[str, Path], case: str) -> None:
    """The same figures by Spark SQL, without privacy."""
    kind, query, _ = CASES[case]
    options = {"header": True} if kind == "csv" else {}
    frame = spark.read.schema(SCHEMA).format(kind).options(**options).load(str(files[kind]))
    frame.createOrReplaceTempView("people")
    spark.sql(query).collect()


def ask(engine: Engine, asked: AggregateRequest) -> list[list[int]]:
    """What a run asks of an engine."""
    engine.inspect(asked.source, asked.inputs)
    return [list(column) for column in engine.aggregate(asked).reveal()]


def compare(folder: Path, rows: int, rounds: int) -> None:
    """A table of all cases, with targets."""
    files, spark = tables(folder, rows), begin()
    engine, alone = Spark().open_in(spark), get("duckdb")
    print(f"{rows:,} rows, {rounds} rounds in turn: median seconds of all cores")
    print(f"{'':22} {'DuckDB':>7} {'SQL':>7} {'Spark':>7} {'Java':>6} {'Python':>6} {'ratio':>6}")
    for case, (_, _, most) in CASES.items():
        asked = request(files, case)
        if ask(engine, asked) != ask(alone, asked):
            sys.exit(f"{case}: the engines differ")
        plain(spark, files, case)
        works = (
            partial(ask, alone, asked),
            partial(plain, spark, files, case),
            partial(ask, engine, asked),
        )
        takes = [[spent(work) for work in works] for _ in range(rounds)]
        single, sql, ours = (
            median(sum(own[place].values()) for own in takes) for place in range(len(works))
        )
        java = median(own[2]["java"] for own in takes)
        print(
            f"{case:22} {single:7.1f} {sql:7.1f} {ours:7.1f} {java:6.1f} {ours - java:6.1f}"
            f" {ours / sql:6.2f}  <= {most} {verdict(ours / sql, most)}",
            flush=True,
        )


Point = tuple[int, int, float, float, int]
"""Rows, tasks, seconds of all cores, those of the driver, and bytes shuffled."""


# --- the model ------------------------------------------------------------------------------------


class Counting(SparkCluster):
    """Counts the tasks of a request."""

    tasks = 0

    def run(self, tasks: int, first: Any, later: Any, share: Any) -> Any:
        """See ``Cluster``."""
        self.tasks = tasks + sum(stage.partitions for stage in later)
        return super().run(tasks, first, later, share)


def shuffled(spark: Any) -> int:
    """Bytes that all stages so far have written for others, as Spark's own pages say."""
    context = spark.sparkContext
    place = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(place) as page:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(page))


def measured(
    spark: Any, asked: AggregateRequest, finer: int, rounds: int
) -> tuple[int, float, float, int]:
    """Tasks of a request, seconds of all cores, those of the driver, and bytes shuffled."""
    table, cluster = lay_out(asked.source, asked.inputs), Counting(spark)

    def once() -> None:
        cluster.check(table.paths)
        messages = collect_messages(cluster, asked, table, finer, ReadShare().read)
        build_exact_table(asked, messages)

    before = shuffled(spark)
    takes = [spent(once) for _ in range(rounds)]
    moved = (shuffled(spark) - before) // rounds
    totals = median(sum(take.values()) for take in takes)
    return cluster.tasks, totals, median(take["driver"] for take in takes), moved


def fit(folder: Path, rows: int, rounds: int) -> None:
    """Fit the model, check it, and say what it says of large tables."""
    all_files = {part: tables(folder, rows // part) for part in PARTS}
    large = tables(folder, 4 * rows)
    begun: list[Any] = []
    session = sum(spent(lambda: begun.append(begin())).values())
    spark = begun[0]
    first = sum(
        spent(partial(ask, Spark().open_in(spark), request(all_files[4], "50 keys, CSV"))).values()
    )
    print(f"seconds of all cores: a session {session:.1f}, its first request {first:.1f} in all")
    print(f"{'':22} {'rows':>11} {'tasks':>6} {'CPU':>7} {'driver':>7} {'shuffled':>12}")
    for case in CASES:
        points: list[Point] = []
        measured(spark, request(all_files[PARTS[0]], case), 1, 2)  # Java gets warm
        for part, finer in product(PARTS, FINER):
            own = measured(spark, request(all_files[part], case), finer, rounds)
            points.append((rows // part, *own))
            tell(case, points[-1])
        law = law_of(points)
        asked = request(large, case)
        points.append((4 * rows, *measured(spark, asked, 1, max(1, rounds - 1))))
        tell(case, points[-1])
        said = float(np.dot(law, (*points[-1][:2], 1.0)))
        print(f"  = said {said:.1f}, error {said / points[-1][2] - 1:+.0%}")
        law, share = law_of(points), points[-1][4] / (4 * rows)
        print(
            f"  = {law[0] * 1e6:.3f} us a row, {law[1] * 1e3:.0f} ms a task, {law[2]:.2f} s a"
            f" request; {share:.2f} bytes shuffled a row"
        )
        width = large[asked.source.format].stat().st_size / (4 * rows)
        wide = read_a_row(asked, 4 * rows)
        for name, count in (("", 1e10), (f"1 TB of {width:.1f} bytes a row: ", 1e12 / width)):
            tasks = count * wide / LARGEST + (count * wide / PARTITION if asked.bound else 1)
            total = float(np.dot(law, (count, tasks, 1.0)))
            print(
                f"  {name}{count:.2g} rows, {tasks:,.0f} tasks, {total / 3600:.1f} hours of a"
                f" core, {total / CORES / 60:.1f} minutes of {CORES}; {count * share / 1e9:.0f} GB"
                " shuffled",
                flush=True,
            )


def law_of(points: Sequence[Point]) -> Any:
    """Seconds a row, a task and a request that fit what was measured."""
    design = np.array([(rows, tasks, 1.0) for rows, tasks, *_ in points])
    return nonnegative(design, np.array([point[2] for point in points]))


def read_a_row(asked: AggregateRequest, rows: int) -> float:
    """Bytes a row by which splits are made."""
    return plan_splits(lay_out(asked.source, asked.inputs))[1] / rows


def tell(case: str, point: Point) -> None:
    """A line of what was measured."""
    rows, tasks, cpu, driver, moved = point
    print(f"{case:22} {rows:11,} {tasks:6} {cpu:7.2f} {driver:7.2f} {moved:12,}", flush=True)


def nonnegative(design: Any, values: Any) -> Any:
    """Least squares of relative errors, with no coefficient below 0."""
    scaled, ones = design / values[:, None], np.ones(len(values))
    best, least = np.zeros(design.shape[1]), np.inf
    for used in powerset(range(design.shape[1])):
        law = np.zeros(design.shape[1])
        law[list(used)] = np.linalg.lstsq(scaled[:, list(used)], ones, rcond=None)[0]
        error = float(np.sum((scaled @ law - ones) ** 2))
        if law.min() >= 0 and error < least:
            best, least = law, error
    return best


def powerset(places: range) -> Iterator[tuple[int, ...]]:
    """All subsets but the empty one."""
    for size in range(1, len(places) + 1):
        yield from combinations(places, size)


# --- the driver -----------------------------------------------------------------------------------


def driver(folder: Path, rows: int) -> None:
    """What a process of its own says for each number of cells."""
    print(f"{rows:,} rows: memory of the driver's Python, and seconds of all cores")
    for cells in CELLS:
        table = folder / f"cells-{rows}-{cells}.parquet"
        if not table.exists():
            with duckdb.connect() as connection:
                connection.execute(
                    f"COPY (SELECT 'a' || hash(i, 1) % {cells // KEYS} AS a, 'b' || hash(i, 2) %"
                    f" {KEYS} AS b, (hash(i, 3) % 101)::INTEGER AS x FROM range({rows}) AS t(i))"
                    f" TO '{table}' (FORMAT parquet)"
                )
        keys = {name: [f"{name}{number}" for number in range(size)]
                for name, size in (("a", cells // KEYS), ("b", KEYS))}  # fmt: skip
        with TemporaryDirectory(dir=folder) as fresh:  # in the same ledger it would be free
            spec = Path(fresh, "cells.toml")
            spec.write_text(_RELEASE.format(path=table, **keys), encoding="utf-8")
            print(f"{cells:,} cells", flush=True)
            measure([sys.executable, __file__, str(spec), "--release"], spec.parent, quiet=False)


def release(spec: Path) -> None:
    """Make a release, and say how much memory this process had at its peak before and after."""
    unit = 1 << 10  # ru_maxrss is in KiB
    spark = begin()
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    takes = spent(lambda: dprelease.run(str(spec), spark=spark))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    heap = spark.sparkContext.getConf().get("spark.driver.memory", "1g, Spark's own")
    seconds = ", ".join(f"{name} {own:.1f}" for name, own in takes.items() if own > 0.05)
    print(f"peak {peak} MiB, {started} MiB before the run; {seconds}; heap of Java: {heap}")
    spark.stop()


def main() -> None:
    """As the arguments say."""
    place = Path(sys.argv[1]).resolve()
    numbers = [int(argument) for argument in sys.argv[2:] if argument.isdigit()]
    rounds = numbers[1] if numbers[1:] else 3
    if "--release" in sys.argv:
        release(place)
    elif "--driver" in sys.argv:
        driver(place, numbers[0] if numbers else FITTED)
    elif "--fit" in sys.argv:
        fit(place, numbers[0] if numbers else FITTED, rounds)
    else:
        compare(place, numbers[0] if numbers else ROWS, rounds)


if __name__ == "__main__":
    main()
