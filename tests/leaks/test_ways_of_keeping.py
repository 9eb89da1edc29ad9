"""In whichever way records are kept, one of them leaves nothing but noised figures to see."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canary import TEXT
from thorough import some
from world import HEADER, ROWS, Rows, World, type_values

NOTE = 'first,\n""visit""\n'


def multiline(world: World, rows: Rows) -> None:
    """CSV whose last column has texts of several lines."""
    world.write([[*row[:-1], f'"{NOTE}{row[-1]}"'] for row in rows])


def arrow(world: World, rows: Rows) -> None:
    """An Arrow file of small batches, with a column of places in a dictionary."""
    table = type_values(rows)
    coded = table.column("diagnosis").dictionary_encode()
    table = table.set_column(HEADER.index("diagnosis"), "diagnosis", coded)
    with pa.ipc.new_file(world.data, table.schema) as writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=7)


def partition(world: World, rows: Rows) -> None:
    """Parquet files in folders that give two columns; each cell of them has one."""
    shutil.rmtree(world.data, ignore_errors=True)
    cells: dict[str, list[Sequence[str]]] = {}
    for row in rows:
        inside = "/".join(
            f"{HEADER[at]}={quote(row[at], '') or '__HIVE_DEFAULT_PARTITION__'}" for at in (2, 3)
        )
        cells.setdefault(inside, []).append(row)
    for inside, inner in cells.items():
        path = world.data / inside / "part.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(type_values(inner).drop_columns([HEADER[2], HEADER[3]]), path)


WAYS: dict[str, tuple[str, str, Callable[[World, Rows], None]]] = {
    "multiline": ("csv", "multiline = true\nmax_lines_per_record = 4", multiline),
    "arrow": ("arrow", "", arrow),
    "partitioned": ("parquet", "", partition),
}
"""The suffix, keys of the spec, and how records are written."""
RECORD = list(ROWS[1])
NEIGHBOURS: dict[str, Rows] = {
    "one less": ROWS[1:],
    "tokens": [*ROWS, [TEXT, "1987-06-05", TEXT, TEXT, TEXT, "7", "true", "9", "1.5", "3", TEXT]],
    "no values": [*ROWS, ["P1", *[""] * 10]],
    "a person with odd texts": [*ROWS, ["P001", *RECORD[1:4], TEXT * 9000, *RECORD[5:]]],
}
DAMAGED: dict[str, Rows] = {
    "an open quote": [*ROWS[:20], [*RECORD[:3], '"' + TEXT, *RECORD[4:]], *ROWS[20:]],
    "too many lines": [*ROWS[:20], [*RECORD[:-1], f"{TEXT}\n" * 9], *ROWS[20:]],
    "fields too many": [*ROWS[:20], [*RECORD, TEXT], *ROWS[20:]],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["every_statistic_rows", "every_statistic_people"])
def test_neighbours_leave_the_same_traces(way: str, name: str, tmp_path: Path) -> None:
    suffix, keys, write = WAYS[way]
    world = World(tmp_path, name, reads=suffix, keys=keys)
    world.write_spec()
    write(world, ROWS)
    expected = world.run()
    assert expected.code == 0
    world.replayed = world.drawn
    others = {**NEIGHBOURS, **(DAMAGED if way == "multiline" else {})}
    for what, rows in some(list(others.items()), 3):
        write(world, rows)
        assert world.run() == expected, what
        assert TEXT.encode() not in expected.everything()
