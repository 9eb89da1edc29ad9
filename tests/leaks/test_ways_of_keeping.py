"""In whichever way records are kept, one of them leaves nothing but noised figures to see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from canary import CELLS, TEXT
from world import ROWS, Rows, World

NOTE = 'first,\n""visit""\n'


def multiline(world: World, rows: Rows) -> None:
    """CSV whose last column has texts of several lines."""
    world.write([[*row[:-1], f'"{NOTE}{row[-1]}"'] for row in rows])


WAYS: dict[str, tuple[str, str, Callable[[World, Rows], None]]] = {
    "multiline": ("csv", "multiline = true\nmax_lines_per_record = 4", multiline),
}
"""The suffix, keys of the spec, and how records are written."""
RECORD = list(ROWS[1])
NEIGHBOURS: dict[str, Rows] = {
    "one less": ROWS[1:],
    "tokens": [*ROWS, [*CELLS, TEXT, TEXT]],
    "no values": [*ROWS, ["P1", *[""] * 10]],
    "a person with odd texts": [*ROWS, ["P001", *RECORD[1:3], TEXT * 9000, *RECORD[4:]]],
}
DAMAGED: dict[str, Rows] = {
    "an open quote": [*ROWS[:20], [*RECORD[:3], '"' + TEXT, *RECORD[4:]], *ROWS[20:]],
    "too many lines": [*ROWS[:20], [*RECORD[:-1], f"{TEXT}\n" * 9], *ROWS[20:]],
    "fields too many": [*ROWS[:20], [*RECORD, TEXT], *ROWS[20:]],
}


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
    for what, rows in {**NEIGHBOURS, **(DAMAGED if way == "multiline" else {})}.items():
        write(world, rows)
        assert world.run() == expected, what
        assert TEXT.encode() not in expected.everything()
