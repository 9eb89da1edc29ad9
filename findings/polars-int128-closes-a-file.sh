#!/usr/bin/env bash
# polars 2.1.0 writes Int128 to Parquet and IPC files. pyarrow 26.0.1 can open none of them, not
# even to read the other columns. DuckDB 2.0.1 reads such a Parquet file, with the numbers as
# BLOBs of 16 bytes.
#
# Seen: "Integers with more than 64 bits not implemented" for a column that was not asked for.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1

cat > try.py <<'PYTHON'
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

frame = pl.DataFrame({"town": ["ayr"], "total": pl.Series([1], dtype=pl.Int128)})
frame.write_parquet("t.parquet")
frame.write_ipc("t.arrow")
if not frame.equals(pl.read_parquet("t.parquet")):
    raise SystemExit("changed: polars does not read what it wrote")
openings = {
    "Parquet": lambda: pq.read_table("t.parquet", columns=["town"]),
    "IPC": lambda: pa.ipc.open_file("t.arrow"),
}
for name, opened in openings.items():
    try:
        opened()
    except pa.ArrowNotImplementedError as refused:
        print(f"pyarrow, {name}: {refused}")
    else:
        raise SystemExit("changed: pyarrow opens the file")
((town, total),) = duckdb.sql("SELECT * FROM 't.parquet'").fetchall()
print("DuckDB:", town, total)
if total != (1).to_bytes(16, "little"):
    raise SystemExit("changed: DuckDB reads the number in another way")
PYTHON
venv/bin/python try.py
