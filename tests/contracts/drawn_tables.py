"""Random tables, written for every source, each beside a file that the oracle reads."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isinf
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import csv_lines
import databases
import pyarrow as pa
import pyarrow.parquet as pq
import workbooks
from csv_lines import KINDS, Form
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from packings import pack
from tables import PHYSICAL, write_typed

from dprelease.engines import open_for_table
from dprelease.engines.engine_interface import Engine
from dprelease.model import Dialect, InputColumn, Source

NOT_READ = "n"
TYPES = {name: kind for name, kind in KINDS.items() if name != NOT_READ}
Rows = list[dict[str, Any]]

# Few values of each column, so that rows are alike; what readers stumble over is among them.
MOMENT = datetime(2026, 1, 31, 12)
VALUES: dict[str, list[Any]] = {
    "s": ["a", "b", "c", "none", "", "A", " a", 'a,"b"', "\u00e9", "e\u0301", "\U0001f600",
          "\uffff", "n/a", "1", "x" * 1001, None],
    "i": [0, 1, 2, 3, -4, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "x": [0.0, -0.0, 0.25, 1.5, 2.0, 99.75, 1e300, -1e-320, float("inf"), float("-inf"),
          float("nan"), None],
    "c": [Decimal(0), Decimal("0.1"), Decimal("0.25"), Decimal("-7.5"),
          Decimal("123456789.000001"), None],
    "b": [True, False, None],
    "d": [*(date(2026, 1, 31) + timedelta(days=each) for each in (-1, 0, 300)), date(1, 1, 1),
          date(1969, 12, 31), date(9999, 12, 31), None],
    "t": [*(MOMENT + timedelta(microseconds=each) for each in (0, 1, 500_000)),
          datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999),
          datetime(9999, 12, 31, 23, 59, 59, 999_999), None],
    "o": ["ann", "bob", "", "=", "a'b\\c", "\u00c5", "A\u030a", None],
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn, most: int = 9) -> Rows:
    """Rows of few kinds, each some times, which stand apart."""
    drawn = {name: st.sampled_from([*values, None, None]) for name, values in VALUES.items()}
    kinds = draw(st.lists(st.fixed_dictionaries(drawn), max_size=most))
    copies = [draw(st.sampled_from([1, 1, 2, 3, 9])) for _ in kinds]
    rows = [
        row
        for turn in range(max(copies, default=0))
        for row, count in zip(kinds, copies, strict=True)
        if turn < count
    ]
    # No row of a sheet is without a value: it would be no record.
    return [{**row, NOT_READ: f"row {place}"} for place, row in enumerate(rows)]


@dataclass
class Stored:
    """A table in its source, the engine that reads it, and the same table for the oracle."""

    source: Source
    twin: Source
    inputs: tuple[InputColumn, ...]
    engine: Engine = field(default_factory=lambda: get("duckdb"))
    is_of_files: bool = True
    is_clean: bool = False  # well written CSV, of which the fast reader is right


def declare(**changes: Any) -> tuple[InputColumn, ...]:
    """The columns that are read; ``o`` is compared only."""
    columns = (InputColumn(name, kind, opaque=name == "o") for name, kind in TYPES.items())
    return tuple(replace(each, **changes.get(each.name, {})) for each in columns)


def to_arrow(rows: Rows, names: Sequence[str] = tuple(KINDS)) -> pa.Table:
    """The rows as a table of Arrow."""
    return pa.table(
        {name: pa.array([row[name] for row in rows], PHYSICAL[KINDS[name]]) for name in names}
    )


# --- CSV -----------------------------------------------------------------------------------------

FORMATS = {"d": ("%d.%m.%Y", None), "t": ("%Y/%m/%d %H:%M:%S.%f %z", "Europe/Berlin")}


FORMATTED = {name: {"format": form, "zone": zone} for name, (form, zone) in FORMATS.items()}


def format_cell(value: Any, column: str, dialect: Dialect, formatted: bool) -> str:
    """A value as the dialect writes it; a null as the first of its null texts."""
    if value is None:
        return (*dialect.null_values, "")[0]
    if isinstance(value, bool):
        return str(value).lower()
    if formatted and column in FORMATS and value.year > 1000:  # %Y pads no shorter years
        return value.strftime(FORMATS[column][0].replace("%z", "+0100"))
    if isinstance(value, int | float | Decimal):
        return str(value).replace(".", dialect.decimal)
    text = str(value)
    return text if dialect.max_lines > 1 else text.replace("\n", "").replace("\r", "")


@st.composite
def csv_files(draw: st.DrawFn, folder: Path, rows: Rows) -> Stored:
    """Files of any dialect: well written ones, those with odd texts, those with damaged lines."""
    rng = draw(st.randoms(use_true_random=True))
    usual, state = draw(st.booleans()), draw(st.sampled_from(["clean", "odd", "damaged"]))
    form = csv_lines.forms(rng)
    columns = form.columns if set(form.columns) == set(KINDS) else tuple(KINDS)
    dialect = Dialect(null_values=form.dialect.null_values) if usual else form.dialect
    dialect = replace(dialect, names=None if dialect.header else columns)
    marks = draw(st.sampled_from([(".", "")] * 3 + [(",", "."), (".", ",")]))
    if dialect.delimiter not in marks and dialect.quote not in marks:
        dialect = replace(dialect, decimal=marks[0], thousands=marks[1])
    formatted = draw(st.sampled_from([False, False, False, True]))
    several = draw(st.sampled_from([1, 1, 1, 3])) if dialect.quote else 1
    dialect = replace(dialect, max_lines=several)
    before = draw(
        st.sampled_from([(), (), (), (b'a "title', b""), (b"sep=" + dialect.delimiter.encode(),)])
    )
    before = before if dialect.header or before[1:] else ()
    is_named = before[1:] == () and dialect.header  # a line sep= needs no key
    dialect = replace(dialect, skip_rows=0 if is_named else len(before))
    form = Form(dialect, columns, form.newline, form.bom, form.ended, form.files, before)
    surplus = draw(st.sampled_from([b"", b"", b"", dialect.delimiter.encode()]))
    lines = [_format_line(rng, form, row, state, formatted) + surplus for row in rows]
    if several > 1:
        lines = [_break_line(rng, form, line) for line in lines]
    (folder / "csv").mkdir()
    form.written(folder / "csv", lines)
    twin = Source(str(folder / "csv"), "csv", dialect)
    packing = draw(st.sampled_from(["", "", "", "gz", "zst"]))
    packed = folder / "packed"
    source = pack_files(folder / "csv", packed, packing, rng) if packing else twin
    read = declare(**(FORMATTED if formatted else {}))
    is_clean = usual and state == "clean" and several == 1 and packing == ""
    is_clean = is_clean and form.newline != b"\r" and not surplus and not before
    return Stored(replace(source, dialect=dialect), twin, read, is_clean=is_clean)


def _format_line(
    rng: Random, form: Form, row: dict[str, Any], state: str, formatted: bool
) -> bytes:
    texts = [
        csv_lines.value(rng, name)
        if state != "clean" and rng.random() < 0.3
        else format_cell(row[name], name, form.dialect, formatted)
        for name in form.columns
    ]
    keep_blanks = state != "clean" and rng.random() < 0.2
    line = csv_lines.write_fields(form, texts, rng.random() < 0.1, keep_blanks)
    if state == "damaged" and rng.random() < 0.3:
        return csv_lines.damage(rng, form, line)
    return line


def _break_line(rng: Random, form: Form, line: bytes) -> bytes:
    """The line with some line feeds, mostly between quotes."""
    mark = form.dialect.quote.encode()
    return line.replace(mark, mark + b"\n", rng.choice((0, 0, 1, 2))) if mark else line


def pack_files(folder: Path, target: Path, how: str, rng: Random) -> Source:
    """The same files, packed; of several one may stay as it is."""
    target.mkdir()
    for place, path in enumerate(sorted(folder.iterdir())):
        content = path.read_bytes()
        if place and rng.random() < 0.3:
            (target / path.name).write_bytes(content)
        else:
            (target / f"{path.name}.{how}").write_bytes(pack(content, how))
    return Source(str(target), "csv")


# --- Parquet and Arrow ---------------------------------------------------------------------------


@st.composite
def typed_files(draw: st.DrawFn, folder: Path, rows: Rows) -> Stored:
    """Parquet or Arrow: one file or several, in parts, with dictionaries or without."""
    form = draw(st.sampled_from(["parquet", "parquet", "arrow"]))
    several = draw(st.sampled_from([1, 1, 3]))
    size = draw(st.sampled_from([None, 2]))
    coded = draw(st.booleans())
    texts = draw(st.sampled_from(["", "", "di", "txbc"]))
    formatted = texts != "" and draw(st.booleans())
    options: dict[str, Any] = {}
    if form == "parquet":
        options = {"use_dictionary": coded, "write_statistics": draw(st.booleans())}
    for number in range(several):
        table = with_texts(draw, to_arrow(rows[number::several]), texts, formatted)
        if form == "arrow" and coded:
            table = table.set_column(0, "s", table["s"].dictionary_encode())
        place = table.column_names if number != 1 else table.column_names[::-1]
        (folder / "files").mkdir(parents=True, exist_ok=True)
        path = folder / "files" / f"{number}.{form}"
        if form == "parquet":
            pq.write_table(table.select(place), path, row_group_size=size, **options)
        else:
            write_typed(table.select(place), path, form, size)
    source = Source(str(folder / "files"), form)
    changes = FORMATTED if formatted else {}
    return Stored(
        source, source, declare(**{name: changes[name] for name in texts if name in changes})
    )


def with_texts(draw: st.DrawFn, table: pa.Table, names: str, formatted: bool) -> pa.Table:
    """The table with some columns as texts, of which some mean nothing."""
    rng = draw(st.randoms(use_true_random=True))
    for name in names:
        texts = [
            None if value is None
            else csv_lines.value(rng, name) if rng.random() < 0.2
            else format_cell(value, name, Dialect(), formatted)
            for value in table[name].to_pylist()
        ]  # fmt: skip
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table


@st.composite
def partitions(draw: st.DrawFn, folder: Path, rows: Rows) -> Stored:
    """Files in folders that give some of the columns, as Spark writes them."""
    form = draw(st.sampled_from(["parquet", "arrow"]))
    by = draw(st.sampled_from(["s", "di", "xbt", "c"]))
    # without rows there is a file all the same
    parts: dict[str, Rows] = {} if rows else {"/".join(f"{name}=1" for name in by): []}
    for row in rows:
        texts = [
            "__HIVE_DEFAULT_PARTITION__" if row[name] is None else str(row[name])[:50]
            for name in by
        ]
        inside = "/".join(f"{n}={quote(t, '')}" for n, t in zip(by, texts, strict=True))
        parts.setdefault(inside, []).append(row)
    names = [name for name in KINDS if name not in by]
    for inside, some in parts.items():
        (folder / inside).mkdir(parents=True)
        write_typed(to_arrow(some, names), folder / inside / f"part.{form}", form)
    for hidden in ("_SUCCESS", f"_temporary.{form}", f".x.{form}", "_temporary/0/part.parquet"):
        (folder / hidden).parent.mkdir(parents=True, exist_ok=True)
        (folder / hidden).write_bytes(b"half")
    source = Source(str(folder), form)
    return Stored(source, source, declare())


# --- what the oracle does not read ---------------------------------------------------------------


def write_twin(folder: Path, rows: Rows) -> Source:
    """The rows in Parquet, for the oracle."""
    pq.write_table(to_arrow(rows), folder / "twin.parquet")
    return Source(str(folder / "twin.parquet"), "parquet")


def without_nan(rows: Rows) -> Rows:
    """The rows, with a null for each NaN."""
    return [{**row, "x": None if row["x"] != row["x"] else row["x"]} for row in rows]


def in_workbook(folder: Path, rows: Rows) -> Stored:
    """A sheet."""
    rows = [{**row, "s": "?" if row["s"] == "\uffff" else row["s"]} for row in rows]  # no XML

    def to_cell(value: Any) -> object:
        if isinstance(value, float) and isinf(value):
            return Decimal("1e999").copy_sign(Decimal(value))
        old = isinstance(value, date) and value.year < 1901
        fine = isinstance(value, datetime) and value.microsecond
        return str(value) if old or fine else value

    cells = [[to_cell(row[name]) for name in KINDS] for row in rows]
    workbooks.table(folder / "t.xlsx", [list(KINDS), *cells])
    twin = write_twin(folder, without_nan(rows))
    return Stored(Source(str(folder / "t.xlsx"), "xlsx"), twin, declare())


def in_formatted_workbook(folder: Path, rows: Rows) -> Stored:
    """A sheet with texts of a format beside dates, which it applies to."""
    rows = [
        {**row, "d": None if row["d"] and row["d"].year < 1901 else row["d"], "s": "a"}
        for row in rows
    ]
    cells = [
        [
            format_cell(row[name], name, Dialect(), formatted=True)
            if name == "d" and place % 2 and row[name]
            else None if name not in ("s", "d") else row[name]
            for name in KINDS
        ]
        for place, row in enumerate(rows)
    ]  # fmt: skip
    workbooks.table(folder / "t.xlsx", [list(KINDS), *cells])
    empty = dict.fromkeys(set(KINDS) - {"s", "d"})
    table = to_arrow([{**row, **empty} for row in rows])
    texts = [row["d"] and format_cell(row["d"], "d", Dialect(), formatted=True) for row in rows]
    table = table.set_column(table.column_names.index("d"), "d", pa.array(texts, pa.string()))
    pq.write_table(table, folder / "twin.parquet")
    twin = Source(str(folder / "twin.parquet"), "parquet")
    read = declare(d=FORMATTED["d"])
    return Stored(Source(str(folder / "t.xlsx"), "xlsx"), twin, read)


def in_sqlite(folder: Path, rows: Rows) -> Stored:
    """A table of SQLite, in which a NaN is a null."""
    values = [[row[name] for name in KINDS] for row in rows]
    os.environ[databases.VARIABLE] = databases.write_to_sqlite(folder / "t.db", list(KINDS), values)
    twin = write_twin(folder, without_nan(rows))
    return Stored(databases.source("sqlite", "t"), twin, declare(), is_of_files=False)


def recast(table: pa.Table, **kinds: pa.DataType) -> pa.Table:
    """The table with other types."""
    return table.cast(pa.schema([(f.name, kinds.get(f.name, f.type)) for f in table.schema]))


def to_pandas(table: pa.Table, **kinds: Any) -> Any:
    """A frame with an index that has a column's name, and dates as objects."""
    import pandas as pd

    frame = table.to_pandas(date_as_object=True, coerce_temporal_nanoseconds=False)
    frame.index = pd.Index([f"label{place}" for place in range(len(frame))], name="s")
    frame["c"] = frame["c"].astype(pd.ArrowDtype(table.schema.field("c").type))
    frame["i"] = to_objects(table["i"].to_pylist(), frame)  # doubles don't hold them
    return frame.astype(kinds)


def to_objects(values: Sequence[Any], frame: Any) -> Any:
    """A column of Python objects for the frame."""
    import pandas as pd

    return pd.Series(list(values), frame.index, dtype=object)


class Text(str):
    """A text that shows itself as another one, as members of enumerations do."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


def to_other_classes(table: pa.Table) -> Any:
    """Texts and booleans that are not of Python's own classes."""
    import numpy as np

    frame = to_pandas(table)
    texts = (Text(each) if each is not None else None for each in table["s"].to_pylist())
    truths = (np.bool_(each) if each is not None else None for each in table["b"].to_pylist())
    return frame.assign(s=to_objects(list(texts), frame), b=to_objects(list(truths), frame))


def to_odd_truths(table: pa.Table) -> Any:
    """Numbers of many classes in place of booleans."""
    import numpy as np

    frame = to_pandas(table)
    kinds = (float, Decimal, np.int8, int, bool)
    truths = [
        float("nan") if each is None else kinds[place % 5](each)
        for place, each in enumerate(table["b"].to_pylist())
    ]
    return frame.assign(b=to_objects(truths, frame))


def to_arrow_frame(table: pa.Table) -> Any:
    """A frame of pandas whose columns are Arrow's."""
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


def to_polars(table: pa.Table, **kinds: str) -> Any:
    """A frame of polars, with columns beside that nobody can hand on."""
    import polars as pl

    frame = pl.from_arrow(table).cast({name: getattr(pl, kind) for name, kind in kinds.items()})
    odd = pl.Series([object()] * len(table), dtype=pl.Object)
    return frame.with_columns(wide=pl.lit(1, pl.Int128), odd=odd)


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "a table": lambda table: table,
    "chunks": lambda table: pa.concat_tables([table.slice(0, 3), table.slice(3, 0),
                                              table.slice(3)]),
    "large texts": lambda table: recast(table, s=pa.large_string(), o=pa.large_string()),
    "views": lambda table: recast(table, s=pa.string_view(), o=pa.string_view()),
    "dictionaries": lambda table: recast(table, s=pa.dictionary(pa.int8(), pa.string())),
    "integers in place of booleans": lambda table: recast(table, b=pa.int8()),
    "texts of dates": lambda table: recast(table, d=pa.string(), t=pa.string()),
}  # fmt: skip
if importlib.util.find_spec("pandas"):
    FRAMES |= {
        "pandas": to_pandas,
        "pandas objects": lambda table: to_pandas(table, s=object, b=object, x=object, c=object),
        "pandas categories": lambda table: to_pandas(table, s="category", o="category"),
        "pandas with types of its own": lambda table: to_pandas(table, b="boolean", s="string",
                                                                x="Float64"),
        "pandas, sparse": lambda table: to_pandas(table, x="Sparse[float]"),
        "pandas objects of other classes": to_other_classes,
        "pandas, texts of dates": lambda table: to_pandas(recast(table, d=pa.string())),
        "pandas objects in place of booleans": to_odd_truths,
        "Arrow in pandas": to_arrow_frame,
    }  # fmt: skip
if importlib.util.find_spec("polars"):
    FRAMES |= {
        "polars": to_polars,
        "polars categories": lambda table: to_polars(table, s="Categorical"),
    }


def in_frame(folder: Path, rows: Rows, kind: str) -> Stored:
    """A table in memory. Where pandas has no nulls among floats, they and NaN are one."""
    twin = write_twin(folder, without_nan(rows) if kind.startswith("pandas") else rows)
    engine = open_for_table("duckdb", "frame", FRAMES[kind](to_arrow(rows)))
    return Stored(Source("frame", "frame"), twin, declare(), engine, is_of_files=False)


# --- any of them ---------------------------------------------------------------------------------


@st.composite
def sources(draw: st.DrawFn, folder: Path, forms: Sequence[str] = ()) -> Stored:
    """A random table in any source that can be read here."""
    form = draw(st.sampled_from(list(forms or list_forms())))
    rows = draw(tables())
    if form == "csv":
        return draw(csv_files(folder, rows))
    if form == "files":
        return draw(typed_files(folder, rows))
    if form == "partitions":
        return draw(partitions(folder, rows))
    if form == "xlsx":
        return draw(st.sampled_from([in_workbook, in_formatted_workbook]))(folder, rows)
    if form == "sqlite":
        return in_sqlite(folder, rows)
    return in_frame(folder, rows, draw(st.sampled_from(sorted(FRAMES))))


def list_forms() -> Iterator[str]:
    """How a table can be written here, the usual ways more than once."""
    yield from ("csv", "csv", "csv", "files", "files", "partitions", "frame")
    if importlib.util.find_spec("openpyxl"):
        yield "xlsx"
    if importlib.util.find_spec("adbc_driver_sqlite"):
        yield "sqlite"


FILES = ("csv", "files", "partitions")
