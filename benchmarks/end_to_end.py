"""A whole release beside a hand-written DuckDB query for the same figures without privacy.

Count, sum and mean by two columns, 20,000 cells, from CSV and from Parquet, of tables of each size.
Both sides are whole processes, run in turn; the query clamps to the same bounds and writes a table
of the same shape. Printed are the medians of the processor time of all cores, of the time, and the
largest peak memory. Targets from 10 million rows on: at most 1.25 times the query's processor time
for CSV, 1.4 times for CSV with quotes around every text and 1.5 times for Parquet, in less than
1 GB; for packed CSV, at most 1.3 times its time.

Run: python benchmarks/end_to_end.py FOLDER [ROWS,ROWS...] [ROUNDS] [FORMATS]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from big_table import COLUMNS, HIGHEST, write_spec, write_table
from processes import Cost, measure, middle, verdict

SIZES = "1000000,10000000,20000000"
TARGETS = {"csv": 1.25, "quoted.csv": 1.4, "csv.gz": 1.3, "parquet": 1.5}
OF_TIME = {"csv.gz"}  # by how long it takes: DuckDB unpacks on one core only
TARGETS_FROM = 10_000_000  # rows; of fewer, most is the fixed cost of a run
MOST_MEMORY = 1000.0

_CSV = f"read_csv('PATH', header = true, auto_detect = false, columns = {COLUMNS})"
READERS = {
    "csv": _CSV,
    "quoted.csv": _CSV,
    "csv.gz": _CSV,
    "parquet": "read_parquet('PATH')",
}
QUERY = """
import duckdb
duckdb.execute(\"\"\"
COPY (
  SELECT region, category, count(*) AS sales, sum(clamped) AS total, avg(clamped) AS average
  FROM (SELECT region, category, least(greatest(amount, 0), {highest}) AS clamped FROM {reader})
  GROUP BY region, category ORDER BY region, category
) TO 'plain.csv' (HEADER)
\"\"\")
"""


def release(table: Path) -> Cost:
    """One release with a ledger of its own."""
    with TemporaryDirectory(dir=table.parent) as name:
        folder = Path(name)
        spec = write_spec(folder, table)
        return measure([sys.executable, "-m", "dprelease", "run", str(spec)], folder)


def plain(table: Path, kind: str) -> Cost:
    """The query by hand."""
    with TemporaryDirectory(dir=table.parent) as name:
        script = QUERY.format(reader=READERS[kind].replace("PATH", str(table)), highest=HIGHEST)
        return measure([sys.executable, "-c", script], Path(name))


def warm(table: Path) -> None:
    """Read the file once, so that neither side pays for the disk."""
    with open(table, "rb") as stream, open("/dev/null", "wb") as nowhere:
        shutil.copyfileobj(stream, nowhere, 1 << 20)


def main() -> None:
    """Print one line for each size and format."""
    folder = Path(sys.argv[1]).resolve()
    sizes, rounds, formats = (
        sys.argv[place] if sys.argv[place:] else usual
        for place, usual in ((2, SIZES), (3, "3"), (4, ",".join(TARGETS)))
    )
    print(f"{rounds} rounds in turn: CPU seconds, CPU microseconds a row, seconds, peak MiB")
    head = f"{'CPU s':>6} {'us':>5} {'s':>6} {'MiB':>5}"
    print(f"{'rows':>11} {'format':10}  dprelease: {head}   DuckDB: {head}   of CPU, target")
    for rows in map(int, sizes.split(",")):
        for kind in formats.split(","):
            a, b = beside(write_table(folder, kind, rows), kind, int(rounds))
            by_time, most = kind in OF_TIME, TARGETS[kind]
            ratio = a.seconds / b.seconds if by_time else a.cpu / b.cpu
            asked = f"<= {most} {verdict(ratio, most)}, " if rows >= TARGETS_FROM else ""
            print(
                f"{rows:11,} {kind:10}             {told(a, rows)}           {told(b, rows)}"
                f"   {ratio:6.2f} {'of time' if by_time else ''} {asked}<= {MOST_MEMORY:.0f} MiB"
                f" {verdict(a.mebibytes, MOST_MEMORY)}",
                flush=True,
            )


def beside(table: Path, kind: str, rounds: int) -> tuple[Cost, Cost]:
    """What a release costs, and the query."""
    warm(table)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(release(table))
        theirs.append(plain(table, kind))
    return middle(ours), middle(theirs)


def told(cost: Cost, rows: int) -> str:
    """A cost, of so many rows."""
    a_row = cost.cpu / rows * 1e6
    return f"{cost.cpu:6.2f} {a_row:5.3f} {cost.seconds:6.2f} {cost.mebibytes:5.0f}"


if __name__ == "__main__":
    main()
