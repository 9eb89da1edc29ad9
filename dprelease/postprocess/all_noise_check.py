"""Tables in which nothing can be told from noise: often the sign of a spec that misses the data.

Looks at published figures only, so saying it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable

from dprelease.model import OutputTable

LEAST_CELLS = 2


def blank_tables(tables: Iterable[OutputTable], counts: Iterable[str]) -> list[str]:
    """Name the tables whose counts all lie within their noise of zero.

    ``counts`` are the names of the columns that hold counts.
    """
    wanted = set(counts)
    return [table.name for table in tables if table.rows >= LEAST_CELLS and _blank(table, wanted)]


def _blank(table: OutputTable, counts: set[str]) -> bool:
    columns = {column.name: column for column in table.columns}
    pairs = [
        (columns[name].values, columns[f"{name}_noise_moe"].values)
        for name in columns
        if name in counts
    ]
    return bool(pairs) and all(
        isinstance(value, int) and isinstance(half, int) and abs(value) <= half
        for values, halves in pairs
        for value, half in zip(values, halves, strict=True)
    )
