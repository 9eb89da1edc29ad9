#!/usr/bin/env bash
# polars 2.1.0 writes Categorical and Enum to IPC files as dictionaries of string views, by
# default. pyarrow 26.0.1 reads the file, but can't make texts of the column: dictionary_decode,
# cast, take and write_table raise. to_pandas and to_pylist work, and with
# compat_level=pl.CompatLevel.oldest() everything does.
#
# Seen: no kernel "array_take" for string_view.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1

cat > try.py <<'PYTHON'
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

frame = pl.DataFrame({"town": pl.Series(["ayr", "bath", "ayr"], dtype=pl.Categorical)})


def tried(**options):
    frame.write_ipc("t.arrow", **options)
    table = pa.ipc.open_file("t.arrow").read_all()
    column = table["town"].combine_chunks()
    print(table.schema.field("town").type)
    works = {}
    for name, action in {
        "dictionary_decode": column.dictionary_decode,
        "cast": lambda: column.cast(pa.string()),
        "take": lambda: column.dictionary.take(pa.array([0])),
        "write_table": lambda: pq.write_table(table, "t.parquet"),
        "to_pylist": column.to_pylist,
    }.items():
        try:
            action()
            works[name] = True
        except pa.ArrowNotImplementedError:
            works[name] = False
    print(works)
    return [name for name, does in works.items() if does]


if tried() != ["to_pylist"]:
    raise SystemExit("changed: pyarrow can do more, or less, with such a column")
if len(tried(compat_level=pl.CompatLevel.oldest())) != 5:
    raise SystemExit("changed: older types do not work either")
PYTHON
venv/bin/python try.py
