"""What it costs to bound the rows of each person: with and without, on the same engine.

Count, sum and mean by two columns, 20,000 cells, over a made-up Parquet file of 20 million rows of
1.5 million people, of whom a few have very many. At most 10 rows in 5 cells are kept of each.
Beside it a hand-written DuckDB query without privacy that keeps as many by window functions. Each
figure is of a whole process, all in turn. Targets: at most 8 times the time of the same request
without a bound and a quarter of the query's processor time, in less than 2 GB, and an answer with
DPRELEASE_MEMORY=1GB as well. On a busy machine look at the ratio of processor time instead.

Run: python benchmarks/bounding.py FOLDER [ROWS] [PEOPLE] [ROUNDS]
"""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
from processes import Cost, measure, middle, verdict

from dprelease.engines import get
from dprelease.model import (
    AggregateRequest,
    Bound,
    ColumnType,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

ROWS, PEOPLE = 20_000_000, 1_500_000
REGIONS, CATEGORIES = 50, 400
SLOWEST = 8.0
OF_WINDOWS = 0.25
MOST_MEMORY = 2e9 / 2**20
BOUND = Bound("user_id", rows=10, groups=5, per_group=10, leading=2, salt=1)
UNIFORM = "CREATE MACRO u(i, k) AS ((hash(i, k) >> 11)::DOUBLE + 1) / 9007199254740993"

# Everybody has a row, and how many more is skewed. What has many values of its own is mixed in, for
# the hash of two small integers does not tell all pairs of them apart.
TABLE = """
SELECT
  'u' || lpad(person::VARCHAR, 7, '0') AS user_id,
  'region_' || lpad((hash(i, 2) % {regions})::VARCHAR, 2, '0') AS region,
  'category_' || lpad((hash(i, 3, 9) % {categories})::VARCHAR, 4, '0') AS category,
  (-40 * ln(u(i, 5) * u(i, 6)))::DECIMAL(9, 2)::DOUBLE AS amount
FROM (
  SELECT
    (hash(j) % 100000000000) * {rows} + j AS i,
    CASE WHEN j < {people} THEN j
      ELSE least({people} - 1, floor({people} * power(u(j, 1), 2)))::BIGINT END AS person
  FROM range({rows}) AS numbers(j)
)
"""


WINDOWS = """
import duckdb
print(len(duckdb.execute(\"\"\"
SELECT region, category, count(*), sum(clamped), avg(clamped) FROM (
  SELECT *, dense_rank() OVER (PARTITION BY user_id ORDER BY region, category) AS cell FROM (
    SELECT user_id, region, category, least(greatest(amount, 0), 2000) AS clamped,
      row_number() OVER (PARTITION BY user_id ORDER BY hash(region, category, amount)) AS place
    FROM read_parquet('{table}')
  ) WHERE place <= 10
) WHERE cell <= 5 GROUP BY region, category
\"\"\").fetchall()))
"""


def write_table(folder: Path, rows: int, people: int) -> Path:
    """Write the table, unless it is there."""
    target = folder / f"people-{rows}-{people}.parquet"
    if target.exists():
        return target
    query = TABLE.format(rows=rows, people=people, regions=REGIONS, categories=CATEGORIES)
    draft = target.with_suffix(".draft")
    with duckdb.connect() as connection:
        connection.execute(UNIFORM)
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"COPY ({query}) TO '{draft}' (FORMAT parquet, COMPRESSION zstd)")
    draft.rename(target)
    return target


def request(table: Path, bounded: bool) -> AggregateRequest:
    """What a count, a sum and a mean by two columns ask for."""
    keys = {
        "region": tuple(f"region_{number:02d}" for number in range(REGIONS)),
        "category": tuple(f"category_{number:04d}" for number in range(CATEGORIES)),
    }
    types = dict.fromkeys(keys, ColumnType.STRING) | {"amount": ColumnType.DECIMAL}
    if bounded:
        types[BOUND.column] = ColumnType.STRING
    amount = Quantity("amount", Grid(Fraction(1, 100), 0, 200_000))
    return AggregateRequest(
        Source(str(table), "parquet"),
        tuple(InputColumn(name, kind) for name, kind in types.items()),
        tuple(Group(name, ColumnType.STRING, own, keys=own) for name, own in keys.items()),
        (
            Measure(MeasureKind.RECORDS),
            Measure(MeasureKind.SUM, amount),
            Measure(MeasureKind.VALUES, amount),
        ),
        bound=BOUND if bounded else None,
    )


def answer(table: Path, bounded: bool) -> None:
    """Ask the engine, in this process, and print how many records were counted."""
    (records, *_) = get("duckdb").aggregate(request(table, bounded)).reveal()
    print(sum(records))


def cost(table: Path, bounded: bool, memory: str | None = None) -> Cost:
    """A process of its own that asks once."""
    if memory is not None:
        os.environ["DPRELEASE_MEMORY"] = memory
    try:
        how = "bounded" if bounded else "unbounded"
        return measure(
            [sys.executable, str(Path(__file__).resolve()), str(table), how], table.parent
        )
    finally:
        if memory is not None:
            del os.environ["DPRELEASE_MEMORY"]


def main() -> None:
    """Print a line for the request without a bound, with one, and with one in little memory."""
    folder = Path(sys.argv[1])
    rows, people, rounds = (
        int(sys.argv[place]) if sys.argv[place:] else usual
        for place, usual in ((2, ROWS), (3, PEOPLE), (4, 3))
    )
    table = write_table(folder.resolve(), rows, people)
    free: list[Cost] = []
    by_hand: list[Cost] = []
    kept: dict[str, list[Cost]] = {"bounded": [], "with 1GB": []}
    for _ in range(rounds):
        free.append(cost(table, bounded=False))
        kept["bounded"].append(cost(table, bounded=True))
        kept["with 1GB"].append(cost(table, bounded=True, memory="1GB"))
        script = WINDOWS.format(table=table)
        by_hand.append(measure([sys.executable, "-c", script], table.parent))
    print(f"{rows:,} rows, {people:,} people, {rounds} rounds in turn: median, and largest peak")
    head = f"{'':10} {'seconds':>8} {'cpu':>6} {'peak':>9} {'ratio':>6} {'of cpu':>6}"
    print(f"{head} {'of windows':>10}  targets")
    plain, windows = middle(free), middle(by_hand)
    for name, own in (("unbounded", plain), ("windows", windows)):
        print(f"{name:10} {own.seconds:8.1f} {own.cpu:6.1f} {own.mebibytes:5.0f} MiB")
    for name, costs in kept.items():
        own = middle(costs)
        ratio = own.seconds / plain.seconds
        print(
            f"{name:10} {own.seconds:8.1f} {own.cpu:6.1f} {own.mebibytes:5.0f} MiB {ratio:6.2f}"
            f" {own.cpu / plain.cpu:6.2f} {own.cpu / windows.cpu:10.2f}"
            f"  <= {SLOWEST} {verdict(ratio, SLOWEST)},"
            f" <= {OF_WINDOWS} {verdict(own.cpu / windows.cpu, OF_WINDOWS)},"
            f" <= {MOST_MEMORY:.0f} MiB {verdict(own.mebibytes, MOST_MEMORY)}"
        )


if __name__ == "__main__":
    if sys.argv[2:] and sys.argv[2] in ("bounded", "unbounded"):
        answer(Path(sys.argv[1]), sys.argv[2] == "bounded")
    else:
        main()
