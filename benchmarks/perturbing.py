"""How fast records are perturbed, from Parquet to Parquet, by whole runs, and in how much memory.

Four columns of a made-up file (see ``big_table``): a text of 50 keys, one of 400, an amount
with hundredths, and a yes or no that is computed from it; epsilon 4 for all. A run is a process of
its own: it plans, charges, reads, perturbs, puts in another order, counts, writes, seals and
reports. Beside it, in turn: DuckDB copying the same four columns of the file to another one.
Targets: 3 million cells a second on two cores, and less than 1 GB at either size.

Run: python benchmarks/perturbing.py FOLDER [ROWS] [csv]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from big_table import ROWS, write_table
from processes import measure, verdict

SLOWEST, MOST_MEMORY = 3e6, 953.0  # cells a second; MiB of 1 GB
COPY = """
import duckdb, sys
duckdb.execute("SET memory_limit='1GB'")
duckdb.execute(f"COPY (SELECT region, category, amount, amount > 50 AS high FROM '{sys.argv[1]}')"
               f" TO '{sys.argv[2]}'")
"""
SPEC = """
[release]
name = "records"

[data]
path = "{table}"

[privacy]
unit = "row"
unit_description = "one payment"
adjacency = "replace-one"

[columns.region]
type = "string"
keys = [{regions}]

[columns.category]
type = "string"
keys = [{categories}]

[columns.amount]
type = "float"
lower = 0
upper = 2000
step = 0.01

[columns.high]
type = "boolean"
expression = "amount > 50"

[[perturb]]
name = "payments"
columns = ["region", "category", "amount", "high"]
epsilon = 4

[output]
path = "out"
format = "{form}"
"""


def quoted(prefix: str, number: int, digits: int) -> str:
    """Keys as TOML has them."""
    return ", ".join(f'"{prefix}{each:0{digits}d}"' for each in range(number))


def main() -> None:
    """Print a line for each size."""
    folder = Path(sys.argv[1]).resolve() / "perturbing"
    rows = int(sys.argv[2]) if sys.argv[2:] else ROWS
    form = sys.argv[3] if sys.argv[3:] else "parquet"
    print(
        f"{'rows':>11} {'seconds':>8} {'cpu':>6} {'peak':>9} {'cells a second':>15} {'/ copy':>7}"
    )
    for size in (rows // 10, rows):
        table = write_table(folder.parent, form, size)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        keys = {"regions": quoted("region_", 50, 2), "categories": quoted("category_", 400, 4)}
        (folder / "spec.toml").write_text(SPEC.format(table=table, form=form, **keys))
        copy = measure([sys.executable, "-c", COPY, str(table), "copy.parquet"], folder)
        own = measure([sys.executable, "-m", "dprelease", "run", "-q", "spec.toml"], folder)
        pace = 4 * size / own.seconds
        print(
            f"{size:11,} {own.seconds:8.1f} {own.cpu:6.1f} {own.mebibytes:5.0f} MiB"
            f" {pace / 1e6:13.2f} M {own.seconds / copy.seconds:7.1f}"
            f"  <= {MOST_MEMORY:.0f} MiB {verdict(own.mebibytes, MOST_MEMORY)},"
            f" >= {SLOWEST / 1e6:.0f} M {verdict(SLOWEST, pace)}"
        )
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
