"""A whole release beside a hand-written DuckDB query for the same figures without privacy.

Count, sum and mean by two columns, 20,000 cells, from CSV and from Parquet. Both sides are whole
processes, run in turn; the query clamps to the same bounds and writes a table of the same shape.
Targets: at most 1.3 times the query's time for CSV and 2 times for Parquet, in less than 1 GB. On a
busy machine look at the ratio of processor time instead.

Run: python benchmarks/end_to_end.py FOLDER [ROWS] [ROUNDS]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from big_table import COLUMNS, ROWS, write_spec, write_table
from processes import Cost, measure, middle, verdict

TARGETS = {"csv": 1.3, "parquet": 2.0}
MOST_MEMORY = 1000.0

READERS = {
    "csv": f"read_csv('PATH', header = true, auto_detect = false, columns = {COLUMNS})",
    "parquet": "read_parquet('PATH')",
}
QUERY = """
import duckdb
duckdb.execute(\"\"\"
COPY (
  SELECT region, category, count(*) AS sales, sum(clamped) AS total, avg(clamped) AS average
  FROM (SELECT region, category, least(greatest(amount, 0), 500) AS clamped FROM {reader})
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
        script = QUERY.format(reader=READERS[kind].replace("PATH", str(table)))
        return measure([sys.executable, "-c", script], Path(name))


def warm(table: Path) -> None:
    """Read the file once, so that neither side pays for the disk."""
    with open(table, "rb") as stream, open("/dev/null", "wb") as nowhere:
        shutil.copyfileobj(stream, nowhere, 1 << 20)


def main() -> None:
    """Print one line for each format."""
    folder = Path(sys.argv[1])
    rows = int(sys.argv[2]) if sys.argv[2:] else ROWS
    rounds = int(sys.argv[3]) if sys.argv[3:] else 3
    print(f"{rows:,} rows, {rounds} rounds in turn: median seconds, of all cores, peak MiB")
    print(f"{'':8} {'size':>7} {'dprelease':>18} {'DuckDB':>18} {'ratio':>6} {'cpu':>5}  target")
    for kind, most in TARGETS.items():
        table = write_table(folder, kind, rows)
        warm(table)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(release(table))
            theirs.append(plain(table, kind))
        a, b = middle(ours), middle(theirs)
        ratio = a.seconds / b.seconds
        print(
            f"{kind:8} {table.stat().st_size / 1e6:4.0f} MB {told(a)} {told(b)}"
            f" {ratio:6.2f} {a.cpu / b.cpu:5.2f}  <= {most} {verdict(ratio, most)},"
            f" <= {MOST_MEMORY:.0f} MiB {verdict(a.mebibytes, MOST_MEMORY)}"
        )


def told(cost: Cost) -> str:
    """A cost in 18 characters."""
    return f"{cost.seconds:6.2f} {cost.cpu:6.2f} {cost.mebibytes:4.0f}"


if __name__ == "__main__":
    main()
