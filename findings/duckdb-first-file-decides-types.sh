#!/usr/bin/env bash
# DuckDB 2.0.1: of several Parquet files the first one, by its name, says what type a column has.
# Where that is a whole number, decimals of the other files are rounded without a warning; the
# other order keeps them. pyarrow 26.0.1 refuses the same files. pandas makes such files: a month
# with a missing value has floats.
#
# Seen: 2 and 2.6 are read as 2 and 3, or as 2.0 and 2.6, by the order of names.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet duckdb==2.0.1 pyarrow==26.0.1

cat > try.py <<'PYTHON'
import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

pq.write_table(pa.table({"hours": pa.array([2], pa.int32())}), "january.parquet")
pq.write_table(pa.table({"hours": [2.6]}), "may.parquet")
found = []
for names in (["january.parquet", "may.parquet"], ["may.parquet", "january.parquet"]):
    rows = duckdb.sql(f"SELECT hours FROM read_parquet({names})").fetchall()
    found.append(sorted(value for (value,) in rows))
    print("DuckDB,", names[0], "first:", found[-1])
if found != [[2, 3], [2.0, 2.6]]:
    raise SystemExit("changed: DuckDB joins the types in another way")
try:
    ds.dataset(["january.parquet", "may.parquet"]).to_table()
except pa.ArrowInvalid as refused:
    print("pyarrow:", refused)
else:
    raise SystemExit("changed: pyarrow reads them")
PYTHON
venv/bin/python try.py
