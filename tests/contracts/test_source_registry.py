"""Every registered source format gives the same integers of the same table."""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from urllib.parse import quote

import databases
import pyarrow as pa
import pytest
import workbooks
from oracle.engine import get
from tables import T, inputs, written

from dprelease import engines
from dprelease.engines.engine_registry import WITHOUT_RECORDS
from dprelease.model import (
    AggregateRequest,
    Bound,
    Dialect,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    RecordRequest,
    Source,
)
from dprelease.sources.source_registry import DRIVERS, SOURCES

pytestmark = pytest.mark.usefixtures("kept_sessions")

TYPES = {"u": T.STRING, "i": T.INTEGER, "f": T.FLOAT, "c": T.DECIMAL, "s": T.STRING,
         "b": T.BOOLEAN, "d": T.DATE, "t": T.TIMESTAMP}  # fmt: skip
NOON = datetime(2026, 1, 31, 12)
ROWS = [
    ("p1", 1, 0.5, Decimal("1.25"), "a", True, date(2026, 1, 31), NOON),
    ("p1", -7, 2.5, Decimal("-0.50"), "b", False, date(2025, 12, 1), NOON),
    ("p2", None, None, None, None, None, None, None),
    ("p2", 100, -1e9, Decimal("99.99"), "\u00e9 \u6f22", True, date(1900, 1, 1), NOON),
    ("p2", 3, 0.25, Decimal("0.75"), "a,\"b\"", False, date(2026, 1, 31), datetime(1999, 5, 6, 7)),
    ("p3", 3, 1.75, Decimal("3.00"), "a", None, date(2026, 1, 31), NOON),
    ("p3", 0, 0.0, Decimal("0.00"), "other", True, None, datetime(2026, 1, 31, 23, 59, 59)),
    (None, 9, 3.5, Decimal("4.25"), "a", True, date(2026, 1, 31), NOON),
]  # fmt: skip

Writer = Callable[[Path, list[tuple[object, ...]]], Source]


def by_tables(form: str) -> Writer:
    return lambda folder, rows: written(folder, TYPES, rows, form)


def members(content: bytes, how: str) -> bytes:
    """The content packed in three members, of which the last has nothing in it."""
    pack = gzip.compress if how == "gz" else pa.Codec("zstd").compress
    parts = content[:50], content[50:], b""
    return b"".join(bytes(pack(part)) for part in parts)


def packed(*ways: str) -> Writer:
    """CSV files in a folder, each packed in one of these ways in turn, or in none."""

    def write(folder: Path, rows: list[tuple[object, ...]]) -> Source:
        source = written(folder, TYPES, rows, "csv files" if ways[1:] else "csv")
        for path, how in zip(sorted(folder.iterdir()), ways, strict=True):
            if how:
                path.with_name(f"{path.name}.{how}").write_bytes(members(path.read_bytes(), how))
                path.unlink()
        return source

    return write


def multiline(folder: Path, rows: list[tuple[object, ...]]) -> Source:
    """A CSV file with a column more, whose texts have line breaks,."""
    (path,) = (Path(written(folder, TYPES, rows, "csv").pattern)).iterdir()
    with path.open(encoding="utf-8", newline="") as stream:
        read = [[f'{number},\n""\n', *row] for number, row in enumerate(csv.reader(stream))]
    read[0][0] = "note"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(read)
    return Source(str(folder), "csv", Dialect(max_lines=4))


def partitioned(form: str, *by: str) -> Writer:
    """Files in folders that give some of the columns, as Spark writes them."""

    def write(folder: Path, rows: list[tuple[object, ...]]) -> Source:
        places = [list(TYPES).index(name) for name in by]
        kept = {name: kind for name, kind in TYPES.items() if name not in by}
        cells: dict[str, list[tuple[object, ...]]] = {}
        for row in rows:
            texts = [
                "__HIVE_DEFAULT_PARTITION__" if row[place] is None else str(row[place])
                for place in places
            ]
            inside = "/".join(f"{n}={quote(t, '')}" for n, t in zip(by, texts, strict=True))
            rest = tuple(each for place, each in enumerate(row) if place not in places)
            cells.setdefault(inside, []).append(rest)
        for inside, some in cells.items():
            written(folder / inside, kept, some, form)
        for hidden in ("_SUCCESS", ".part0.parquet.crc", f"_temporary.{form}", f".x.{form}"):
            (folder / hidden).write_bytes(b"")
        (folder / "_temporary" / "0").mkdir(parents=True)
        (folder / "_temporary" / "0" / f"part.{form}").write_bytes(b"half")
        return Source(str(folder), form)

    return write


def workbook(folder: Path, rows: list[tuple[object, ...]]) -> Source:
    workbooks.table(folder / "t.xlsx", [tuple(TYPES), *map(of_cells, rows)])
    return Source(str(folder), "xlsx")


def of_cells(row: tuple[object, ...]) -> tuple[object, ...]:
    """As they stand in a sheet, which has no days before 1900."""
    return tuple(
        str(value) if isinstance(value, date) and value.year < 1901 else value for value in row
    )


WRITERS: dict[str, Writer] = {
    "csv": by_tables("csv"),
    "csv of several lines": multiline,
    "csv files": by_tables("csv files"),
    "csv gz": packed("gz"),
    "csv zst": packed("zst"),
    "csv files, some packed": packed("gz", "", "zst"),
    "parquet": by_tables("parquet"),
    "parquet files": by_tables("parquet files"),
    "arrow": by_tables("arrow"),
    "arrow files": by_tables("arrow files"),
    "arrow in folders of d, s": partitioned("arrow", "d", "s"),
    "xlsx": workbook,
    "parquet in folders of s": partitioned("parquet", "s"),
    "parquet in folders of d, i, u": partitioned("parquet", "d", "i", "u"),
    "parquet in folders of f, b, t": partitioned("parquet", "f", "b", "t"),
    "parquet in folders of c and all else": partitioned("parquet", "c", "s", "u", "i"),
}
"""How a table is written in each format; the first word is the format's name."""

WHOLE, FINE, EXACT = (
    Quantity(name, Grid(Fraction(1, 4), -40, 40), null_fill=2 if name == "c" else None)
    for name in ("i", "f", "c")
)
KEYS = tuple(
    Group(name, kind, (*keys, "other", "none"), keys=keys, other="other", null_label="none")
    for name, kind, keys in (
        ("s", T.STRING, ("a", "b", "\u00e9 \u6f22", 'a,"b"')),
        ("b", T.BOOLEAN, ("true", "false")),
        ("d", T.DATE, ("2026-01-31", "1900-01-01")),
        ("t", T.TIMESTAMP, ("2026-01-31 12:00:00",)),
    )
)
"""Each record has a cell, which tells the values of all of these columns."""
MEASURES = (
    Measure(MeasureKind.RECORDS),
    *(Measure(MeasureKind.SUM, each) for each in (WHOLE, FINE, EXACT)),
    *(Measure(MeasureKind.DISTINCT, column=name) for name in ("i", "s")),
)
BOUND = Bound("u", 2, 2, 1, leading=0, null_unit=True, salt=11)


def answers(
    engine: str, source: Source, read: tuple[InputColumn, ...], records: bool
) -> list[object]:
    """What the engine says of each column, unbounded and bounded, and of single records."""
    found: list[object] = []
    get(engine).inspect(source, read)
    bounded = (Measure(MeasureKind.UNITS), *MEASURES[:4])
    for measures, bound in ((MEASURES, None), (bounded, BOUND)):
        asked = AggregateRequest(source, read, KEYS, measures, bound=bound)
        found.append([list(column) for column in get(engine).aggregate(asked).reveal()])
    for bound in (None, BOUND) if records else ():
        columns = (
            *KEYS,
            *(Quantity(each.column, each.grid, null_fill=0) for each in (WHOLE, FINE)),
        )
        codes: Counter[tuple[int, ...]] = Counter()
        for batch in get(engine).records(RecordRequest(source, read, columns, bound)).reveal():
            codes.update(zip(*(column.tolist() for column in batch), strict=True))
        found.append(codes)
    return found


def test_every_format_has_a_writer() -> None:
    of_files = {name for name, form in SOURCES.items() if form.place == ("path",)}
    assert {name.partition(" ")[0] for name in WRITERS} == of_files
    assert set(SOURCES) - of_files == {"adbc", "frame"}  # which have tests of their own


@cache
def expected(records: bool) -> list[object]:
    """What the oracle says of the table."""
    with tempfile.TemporaryDirectory() as folder:
        plain = WRITERS["csv"](Path(folder) / "csv", ROWS)
        return answers("reference", plain, inputs(TYPES), records)


@pytest.mark.parametrize("engine", engines.ENGINES)
@pytest.mark.parametrize("form", WRITERS)
def test_the_same_table_gives_the_same_integers(form: str, engine: str, tmp_path: Path) -> None:
    records = engine not in WITHOUT_RECORDS
    source = WRITERS[form](tmp_path / "t", ROWS)
    assert answers(engine, source, inputs(TYPES), records) == expected(records)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_table_of_a_database_gives_the_same_integers(
    driver: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases.require(driver)
    if driver == "sqlite":
        uri = databases.in_sqlite(tmp_path / "t.db", list(TYPES), ROWS)
    else:
        uri = databases.in_postgres(request.getfixturevalue("postgres"), TYPES, ROWS)
    monkeypatch.setenv(databases.VARIABLE, uri)
    assert answers("duckdb", databases.source(driver, "t"), inputs(TYPES), True) == expected(True)
