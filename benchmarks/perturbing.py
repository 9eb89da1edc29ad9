"""How fast records are perturbed, from Parquet to Parquet, by whole runs, and in how much memory.

Two tables of four columns are made of a made-up file (see ``big_table``), at epsilon 4. "plain": a
region (10 of its 50 keys are declared, and one for all others), an amount with hundredths, its
whole part by Laplace noise, and a yes or no. "sets": the region with all keys, a category of 400,
an amount and a yes or no, where most answers are sets of labels. A run is a process of its own: it
plans, charges, reads, perturbs, puts in another order, counts, writes, seals and reports. Beside
it, in turn: DuckDB copying four columns of the file to another one. Targets: 3 million cells a
second on two cores for the plain table, and less than 1 GB for both at either size.

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

{columns}

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
columns = [{names}]
epsilon = 4
{mechanism}

[output]
path = "out"
format = "{form}"
"""


PLAIN = """
[columns.region]
type = "string"
keys = [{regions}]
other = "elsewhere"

[columns.whole]
type = "integer"
lower = 0
upper = 2000
expression = "CAST(amount AS INTEGER)"
"""
SETS = """
[columns.region]
type = "string"
keys = [{regions}]

[columns.category]
type = "string"
keys = [{categories}]
"""


def quoted(prefix: str, number: int, digits: int) -> str:
    """Keys as TOML has them."""
    return ", ".join(f'"{prefix}{each:0{digits}d}"' for each in range(number))


TABLES = {
    "plain": {
        "columns": PLAIN.format(regions=quoted("region_", 10, 2)),
        "names": '"region", "amount", "whole", "high"',
        "mechanism": 'mechanism = { whole = "laplace" }',
    },
    "sets": {
        "columns": SETS.format(
            regions=quoted("region_", 50, 2), categories=quoted("category_", 400, 4)
        ),
        "names": '"region", "category", "amount", "high"',
        "mechanism": "",
    },
}


def main() -> None:
    """Print a line for each size and table."""
    folder = Path(sys.argv[1]).resolve() / "perturbing"
    rows = int(sys.argv[2]) if sys.argv[2:] else ROWS
    form = sys.argv[3] if sys.argv[3:] else "parquet"
    names = f"{'seconds':>8} {'cpu':>6} {'peak':>9} {'cells a second':>15} {'/ copy':>7}"
    print(f"{'rows':>11} {'':6} {names}")
    for size in (rows // 10, rows):
        table = write_table(folder.parent, form, size)
        for name, told in TABLES.items():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "spec.toml").write_text(SPEC.format(table=table, form=form, **told))
            copy = measure([sys.executable, "-c", COPY, str(table), "copy.parquet"], folder)
            own = measure([sys.executable, "-m", "dprelease", "run", "-q", "spec.toml"], folder)
            pace = 4 * size / own.seconds
            line = (
                f"{size:11,} {name:6} {own.seconds:8.1f} {own.cpu:6.1f} {own.mebibytes:5.0f} MiB"
                f" {pace / 1e6:13.2f} M {own.seconds / copy.seconds:7.1f}"
                f"  <= {MOST_MEMORY:.0f} MiB {verdict(own.mebibytes, MOST_MEMORY)}"
            )
            if name == "plain" and size == rows:
                line += f", >= {SLOWEST / 1e6:.0f} M {verdict(SLOWEST, pace)}"
            print(line, flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
