"""Where no header is declared an empty file has no records, and nothing else tells it apart.

The neighbours here differ in the only record of a file: byte by byte, the runs leave the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from thorough import is_thorough
from world import HEADER, ROWS, Traces, World

BOM = b"\xef\xbb\xbf"
RECORD = ",".join(ROWS[3]).encode()
REST = b"".join(",".join(row).encode() + b"\n" for row in ROWS[:3])
ONE = [RECORD + b"\n", RECORD, RECORD + b"\r\n", BOM + RECORD, b"\n" + RECORD + b"\n\n"]
BROKEN = [b"junk", b'"', b"\xff\n", b" ", RECORD[:20], RECORD + b"\0", b"x" * (3 << 19)]
NONE = [b"", BOM, b"\n", b"\r\n", b"\n\n\n", BOM + b"\n", b"\r\n\r\n"]
ALL, SOME = (*ONE, *BROKEN, *NONE), (ONE[0], b"", BOM)


def without_header(world: World, path: str) -> None:
    world.write_spec()
    text = world.spec.read_text(encoding="utf-8")
    data = f'path = "{path}"\nformat = "csv"\nheader = false\nnames = {json.dumps(HEADER)}'
    assert text.count('path = "data.csv"') == 1
    world.spec.write_text(text.replace('path = "data.csv"', data), encoding="utf-8")


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def neighbours(path: str, contents: Sequence[bytes]) -> Iterator[dict[str, bytes]]:
    """Files that hold one record more or less than one another."""
    if path == "data.csv":
        yield from ({path: content} for content in contents)
        return
    for content in contents:
        yield {"data/a.csv": REST, "data/b.csv": content, "data/c.csv": b""}
    yield {f"data/{name}.csv": b"" for name in "abc"}


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["duckdb", "reference"])
@pytest.mark.parametrize("path", ["data.csv", "data/*.csv", "data"])
def test_the_only_record_of_a_file_leaves_no_trace(path: str, engine: str, tmp_path: Path) -> None:
    world = World(tmp_path, "every_statistic_people", engine=engine)
    without_header(world, path)
    expected: Traces | None = None
    contents = SOME if is_thorough() else SOME[:2]
    for files in neighbours(path, ALL if engine == "reference" else contents):
        write_files(tmp_path, files)
        found = world.run()
        if expected is None:
            assert found.code == 0
            expected, world.replayed = found, world.drawn
        assert found == expected, {name: content[:30] for name, content in files.items()}


def answers(traces: Traces) -> int:
    """Lines of the table of records, its header included."""
    return traces.files["out/answers.csv"].count(b"\n")


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["duckdb", "reference"])
def test_nor_does_it_in_a_table_of_records(engine: str, tmp_path: Path) -> None:
    """Their number is public there: as many records, with or without one in the second file."""
    world = World(tmp_path, "clinic_records", engine=engine)
    without_header(world, "data")
    write_files(tmp_path, {"data/a.csv": REST, "data/b.csv": RECORD + b"\n"})
    expected = world.run()
    assert expected.code == 0
    write_files(tmp_path, {"data/a.csv": REST + RECORD + b"\n", "data/b.csv": b""})
    found = world.run()
    if engine == "duckdb":  # records come in any order, so that which is drawn first differs
        assert found.code == 0
        assert answers(found) == answers(expected) == 5
    else:
        assert found == expected
    write_files(tmp_path, {"data/a.csv": REST, "data/b.csv": b"\n"})
    assert answers(world.run()) == 5
    write_files(tmp_path, {"data/a.csv": b"", "data/b.csv": b""})
    assert world.run().code == 0
