#!/usr/bin/env bash
# pyarrow 26.0.1: read_dictionary, which asks for a column as places in a dictionary, fails for
# texts in the delta encodings of Parquet, which are read otherwise. Whether a reading fails so
# depends on the writer: version 2 of the format stores texts in these encodings.
#
# A column of a dictionary type that pyarrow itself wrote in these encodings can't be read back by
# it at all, since the Arrow schema in the file asks for places in a dictionary each time.
#
# Seen: an OSError for DELTA_BYTE_ARRAY, and another for DELTA_LENGTH_BYTE_ARRAY; none for PLAIN.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1

cat > try.py <<'PYTHON'
import pyarrow as pa
import pyarrow.parquet as pq

table, failing = pa.table({"town": ["ayr", "bath"] * 10}), []
for encoding in ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
    pq.write_table(table, "t.parquet", use_dictionary=False, column_encoding={"town": encoding})
    if pq.read_table("t.parquet") != table:
        raise SystemExit("changed: the encoding is not read at all")
    try:
        pq.read_table("t.parquet", read_dictionary=["town"])
        print(encoding, "is read")
    except (OSError, pa.ArrowException) as failed:
        failing.append(encoding)
        print(encoding, type(failed).__name__, failed)
if failing != ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"]:
    raise SystemExit("changed: other encodings fail")

table = pa.table({"town": table["town"].combine_chunks().dictionary_encode()})
for encoding in failing:
    pq.write_table(table, "t.parquet", use_dictionary=False, column_encoding={"town": encoding})
    try:
        pq.read_table("t.parquet")
    except (OSError, pa.ArrowException) as failed:
        print(encoding, "of a dictionary type:", type(failed).__name__, failed)
    else:
        raise SystemExit("changed: pyarrow reads its own file")
PYTHON
venv/bin/python try.py
