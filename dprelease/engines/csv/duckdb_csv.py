"""CSV as DuckDB reads it: all fields as text, nothing sniffed."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.engines.common.files import Layout
from dprelease.engines.duckdb.session import literal_path
from dprelease.engines.duckdb.typed_rows import Fields
from dprelease.expressions.sqltext import Sql, Value, array, call, col, option, struct
from dprelease.model import Dialect


def read_fields(layout: Layout, dialect: Dialect, paths: Sequence[str], skip: bool) -> Fields:
    """The fields of these files, of which the first line may be one to ``skip``."""
    options: dict[str, Value] = {
        "columns": struct({f"f{place}": "VARCHAR" for place in range(layout.width)}),
        "auto_detect": False,
        "header": False,
        "skip": 1 if skip else 0,
        "delim": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.quote,
        "strict_mode": True,
        # otherwise a folder named f1=x would take the place of the second field
        "hive_partitioning": False,
        "compression": "none",
        # With a null text the reader lets surplus fields pass that hold it. No field of one
        # line can be a line feed.
        "nullstr": "\n",
    }
    files = array(map(literal_path, paths))
    relation = call("read_csv", files, *(option(key, value) for key, value in options.items()))
    return Fields(relation, fields_of(layout), {}, dialect)


def fields_of(layout: Layout) -> dict[str, Sql]:
    """Each column of the spec, by the field that it is in."""
    return {name: col(f"f{place}") for name, place in layout.position.items()}
