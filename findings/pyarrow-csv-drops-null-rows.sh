#!/usr/bin/env bash
# pyarrow 26.0.1: a table of one column, written as CSV and read back, lacks the rows that are null.
#
# A null of the only column is written as an empty line, and empty lines are passed over when they
# are read (ParseOptions.ignore_empty_lines is true unless it is turned off). So what a row holds
# decides whether it is counted. polars 2.1.0 writes the same file and reads all of its rows;
# pandas 3.1.1 writes "" for such a row, and passes over the empty lines of others.
#
# Expected: as many rows as were written, 3.
# Seen: pyarrow reads 2 of its own 3, pandas 2 of them, polars 3.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1 polars==2.1.0 pandas==3.1.1

cat > rows.py <<'PYTHON'
import pandas
import polars
import pyarrow
from pyarrow import csv

csv.write_csv(pyarrow.table({"x": ["a", None, "b"]}), "t.csv")
with open("t.csv", "rb") as stream:
    written = stream.read()
read = {
    "pyarrow": csv.read_csv("t.csv").num_rows,
    "pandas": len(pandas.read_csv("t.csv")),
    "polars": polars.read_csv("t.csv").height,
}
print(f"written: {written!r}; rows read: {read}")
assert written == b'"x"\n"a"\n\n"b"\n', "a null is written otherwise now"
assert read == {"pyarrow": 2, "pandas": 2, "polars": 3}, "empty lines are read otherwise now"
PYTHON
venv/bin/python rows.py
