#!/usr/bin/env bash
# DuckDB 2.0.1: COPY ... TO a Parquet file stores a HUGEINT as DOUBLE, without a warning. Numbers
# beyond 2^53 lose their last digits, although Parquet has decimals of 38 digits, which DuckDB
# writes too. SUM of a BIGINT is a HUGEINT.
#
# Seen: 9007199254740993 is 9007199254740992.0 in the file; as BIGINT or DECIMAL(38, 0) it is
# exact.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet duckdb==2.0.1

cat > try.py <<'PYTHON'
import duckdb

WHOLE = 2**53 + 1
connection = duckdb.connect()
connection.execute(
    f"COPY (SELECT SUM({WHOLE}::BIGINT) AS total, {WHOLE}::BIGINT AS plain, "
    f"{WHOLE}::DECIMAL(38, 0) AS digits) TO 'sums.parquet'"
)
table = connection.sql("SELECT * FROM 'sums.parquet'")
(row,) = table.fetchall()
print(dict(zip(table.columns, zip(map(str, table.types), row))))
if str(table.types[0]) != "DOUBLE" or int(row[0]) != WHOLE - 1:
    raise SystemExit("changed: a HUGEINT is stored in another way")
if [int(value) for value in row[1:]] != [WHOLE, WHOLE]:
    raise SystemExit("changed: integers or decimals are no longer exact")
PYTHON
venv/bin/python try.py
