"""A large made-up table of sales, as CSV or Parquet, and the spec that releases it.

About 65 bytes a row: a skewed user, one of 50 regions, one of 400 categories, a note, a day, an
amount with two decimals. Six notes of ten are empty, one holds doubled quotes. Of CSV there are two
forms: with quotes only where they are needed, and as many programs export it, with quotes around
every text. DuckDB streams the table to the file.

Run: python benchmarks/big_table.py FOLDER [ROWS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

REGIONS, CATEGORIES = 50, 400
ROWS = 20_000_000
HIGHEST = 2_000

COLUMNS = {
    "user_id": "VARCHAR",
    "region": "VARCHAR",
    "category": "VARCHAR",
    "note": "VARCHAR",
    "day": "DATE",
    "amount": "DOUBLE",
}

_ROWS = """
SELECT
  'u' || lpad((least(power(u(i, 1), -0.8) * 1000, 1e12)::BIGINT % 1500000)::VARCHAR, 7, '0')
    AS user_id,
  'region_' || lpad((hash(i, 2) % {regions})::VARCHAR, 2, '0') AS region,
  'category_' || lpad((hash(i, 3) % {categories})::VARCHAR, 4, '0') AS category,
  CASE WHEN hash(i, 7) % 10 < 6 THEN NULL
       WHEN hash(i, 7) % 10 < 9 THEN 'sold in the shop, as usual'
       ELSE 'the "new" size, XL' END AS note,
  DATE '2025-01-01' + (hash(i, 4) % 365)::INTEGER AS day,
  (-40 * ln(u(i, 5) * u(i, 6)))::DECIMAL(9, 2){cast} AS amount
FROM range({first}, {last}) AS numbers(i)
"""
_UNIFORM = "CREATE MACRO u(i, k) AS ((hash(i, k) >> 11)::DOUBLE + 1) / 9007199254740993"

_SPEC = """\
schema = 1
[release]
name = "big"
[data]
path = "{path}"
[privacy]
unit = "row"
unit_description = "one sale"
adjacency = "add-remove"
epsilon = 1.0
[ledger]
epsilon_cap = 1000
[columns.region]
type = "string"
keys = {regions}
source = "made up"
[columns.category]
type = "string"
keys = {categories}
source = "made up"
[columns.amount]
type = "decimal"
lower = 0
upper = {highest}
step = 0.01
source = "made up"
[[query]]
name = "sales"
statistic = "count"
by = ["region", "category"]
[[query]]
name = "total"
statistic = "sum"
column = "amount"
by = ["region", "category"]
[[query]]
name = "average"
statistic = "mean"
column = "amount"
by = ["region", "category"]
[output]
path = "out"
"""


FORMS = {
    "csv": "HEADER",
    "quoted.csv": "HEADER, FORCE_QUOTE (user_id, region, category, note)",
    "csv.gz": "HEADER, COMPRESSION gzip",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}


def write_table(folder: Path, suffix: str, rows: int) -> Path:
    """Write the table as ``sales-ROWS`` with such a suffix, unless it is there."""
    target = folder / f"sales-{rows}.{suffix}"
    if target.exists():
        return target
    draft = folder / f"draft-{rows}.{suffix}"
    with duckdb.connect() as connection:
        connection.execute(_UNIFORM)
        connection.execute("SET preserve_insertion_order = false")
        query = _ROWS.format(
            regions=REGIONS,
            categories=CATEGORIES,
            first=0,
            last=rows,
            cast="::DOUBLE" if suffix == "parquet" else "",
        )
        form = FORMS[suffix]
        connection.execute(f"COPY ({query}) TO '{draft}' ({form})")
    draft.rename(target)
    return target


def write_spec(folder: Path, table: Path) -> Path:
    """Write the spec that counts, adds up and averages the table in 20,000 cells."""
    spec = folder / "big.toml"
    regions = [f"region_{number:02d}" for number in range(REGIONS)]
    categories = [f"category_{number:04d}" for number in range(CATEGORIES)]
    text = _SPEC.format(path=table, regions=regions, categories=categories, highest=HIGHEST)
    spec.write_text(text, encoding="utf-8")
    return spec


if __name__ == "__main__":
    for kind in ("csv", "quoted.csv", "parquet"):
        print(write_table(Path(sys.argv[1]), kind, int(sys.argv[2]) if sys.argv[2:] else ROWS))
