"""Any small Parquet or Arrow file: the engine and its oracle agree, or both refuse it by name.

Each case is a column of one type, or of two types in two files, as pyarrow, polars or DuckDB writes
it, with any of their options. No sound file may fail after the charge.

python tests/fuzz/fuzz_files.py --minutes 10
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from oracle.engine import get  # noqa: E402
from timed import main  # noqa: E402

from dprelease.errors import ExitCode, Failure  # noqa: E402
from dprelease.model import (  # noqa: E402
    AggregateRequest,
    Bound,
    ColumnType,
    Expression,
    Grid,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

T = ColumnType
INF, NAN = float("inf"), float("nan")
WHOLE = [0, 1, -1, 7, 127, -128, 2**31 - 1, 2**53 - 1, 2**53, 2**53 + 1, 10**17 + 1, 2**63 - 1,
         -(2**63), 2**64 - 1]  # fmt: skip
FLOATS = [0.0, -0.0, 0.5, 2.5, -1e9, 1e17, 2.0**53, 2.0**60, 2.0**63, 1e300, INF, -INF, NAN]
TEXTS = ["", "a", "b", "DE", "FR", "\u00e9", "a" * 300, "1", "1.0", "2026-01-31", "a\0b"]
DAYS = [date(1, 1, 1), date(1969, 12, 31), date(2026, 1, 31), date(9999, 12, 31)]
MOMENTS = [datetime(1700, 1, 1), datetime(2026, 1, 31, 12, 0, 0, 123456), datetime(2200, 1, 1)]
SECONDS = [timedelta(0), timedelta(seconds=1), timedelta(hours=23, minutes=59)]


def decimals(digits: int, places: int) -> list[Decimal]:
    """Whole numbers and others that a decimal of this type can have, the largest among them."""
    every = [*(each * 10**places for each in WHOLE), 1, -1, 25, 10**digits - 1, 1 - 10**digits]
    held = dict.fromkeys(each for each in every if abs(each) < 10**digits)
    return [Decimal(f"{each}e-{places}") for each in held]


def held_by(kind: pa.DataType) -> list[int]:
    """The whole numbers that a type holds."""
    low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    if pa.types.is_unsigned_integer(kind):
        low, high = 0, 2**kind.bit_width - 1
    return [each for each in WHOLE if low <= each <= high]


DECIMALS = [(pa.decimal32, 9, 2), (pa.decimal64, 18, 0), (pa.decimal128, 20, 0),
            (pa.decimal128, 38, 0), (pa.decimal128, 38, 20), (pa.decimal128, 9, 9),
            (pa.decimal256, 38, 2), (pa.decimal256, 60, 2)]  # fmt: skip
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(),
            pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]  # fmt: skip
PLAIN: list[tuple[pa.DataType, Sequence[Any]]] = [
    *((kind, held_by(kind)) for kind in INTEGERS),
    (pa.float16(), [0.0, -0.0, 0.5, 7.0, INF, NAN]),
    (pa.float32(), FLOATS),
    (pa.float64(), FLOATS),
    *((make(digits, places), decimals(digits, places)) for make, digits, places in DECIMALS),
    (pa.bool_(), [True, False]),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.binary(), [each.encode() for each in TEXTS]),
    (pa.large_binary(), [each.encode() for each in TEXTS]),
    (pa.binary_view(), [each.encode() for each in TEXTS]),
    (pa.binary(3), [b"abc", b"\0\0\0"]),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    *((pa.timestamp(unit, zone), MOMENTS)
      for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Paris")),
    *((kind, [1, 86_399]) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"))),
    *((pa.duration(unit), SECONDS) for unit in ("s", "ms", "us", "ns")),
    (pa.null(), [None]),
    (pa.list_(pa.int8()), [[1], []]),
    (pa.struct([("a", pa.int8())]), [{"a": 1}]),
]  # fmt: skip
KINDS = {str(kind): (kind, values) for kind, values in PLAIN}
FAMILIES = [  # of types that a program may write for one column of several files
    [name for name in KINDS if any(part in name for part in parts)]
    for parts in (("int", "decimal", "float", "double", "null"), ("timestamp", "date32", "null"),
                  ("string", "null"), ("binary", "null"), ("time", "duration", "null"))
]  # fmt: skip

OF_DUCKDB = {
    "TINYINT": ["1", "-128"], "UTINYINT": ["1", "255"], "BIGINT": ["1", str(2**63 - 1)],
    "UBIGINT": ["1", str(2**64 - 1)], "HUGEINT": ["1", str(2**80)], "UHUGEINT": ["1"],
    "FLOAT": ["0.5", "'nan'"], "DOUBLE": ["0.5", "1e300", "'-inf'"],
    "DECIMAL(4,1)": ["1.5"], "DECIMAL(9,0)": ["7"], "DECIMAL(18,2)": ["100000000000001.01"],
    "DECIMAL(38,0)": [str(10**37), str(10**17 + 1)], "BOOLEAN": ["true", "false"],
    "VARCHAR": ["'a'", "'b'", "''"], "ENUM('a', 'b')": ["'a'", "'b'"], "BLOB": ["'a'", "'\\xFF'"],
    "UUID": ["'00000000-0000-0000-0000-000000000001'"], "JSON": ["'[1]'"], "BIT": ["'101'"],
    "DATE": ["'2026-01-31'", "'1700-01-01'"], "TIME": ["'12:00:00'"], "TIMETZ": ["'12:00:00+02'"],
    "TIMESTAMP": ["'2026-01-31 12:00:00.123456'"], "TIMESTAMP_S": ["'2026-01-31 12:00:00'"],
    "TIMESTAMP_MS": ["'2026-01-31 12:00:00.123'"], "TIMESTAMPTZ": ["'2026-01-31 12:00:00+01'"],
    "TIMESTAMP_NS": ["'2026-01-31 12:00:00.123456789'"], "INTERVAL": ["'1 month'"],
    "BIGNUM": [str(2**100)], "INTEGER[]": ["[1]"], "STRUCT(a INTEGER)": ["{'a': 1}"],
}  # fmt: skip


class Case(NamedTuple):
    """What is written: by whom, of which types in which files, and with which options.

    ``places`` say which of a type's values the records have; -1 is a null.
    """

    writer: str
    kinds: tuple[str, ...]
    shape: str
    places: tuple[int, ...]
    options: dict[str, Any]


ENCODINGS = ["PLAIN", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
             "BYTE_STREAM_SPLIT", "RLE"]  # fmt: skip
OPTIONS: dict[str, dict[str, Sequence[Any]]] = {
    "pyarrow parquet": {
        "encoding": [None, None, *ENCODINGS],  # without one, dictionaries
        "use_dictionary": [True, False],
        "compression": ["NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD"],
        "version": ["1.0", "2.4", "2.6"],
        "data_page_version": ["1.0", "2.0"],
        "row_group_size": [2, 1000],
        "write_statistics": [True, False],
        "store_schema": [True, False],
        "store_decimal_as_integer": [True, False],
        "use_deprecated_int96_timestamps": [False, True],
        "use_byte_stream_split": [False],
        "write_page_checksum": [True, False],
        "data_page_size": [1, 1 << 20],
        "dictionary_pagesize_limit": [1, 1 << 20],
    },
    "pyarrow arrow": {"compression": [None, "lz4", "zstd"], "rows": [2, 1000]},
    "polars parquet": {
        "compression": ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"],
        "statistics": [True, False],
        "row_group_size": [2, None],
        "data_page_size": [1, None],
        "as": ["plain", "categories", "enumeration", "128 bits"],
    },
    "polars arrow": {
        "compression": ["uncompressed", "lz4", "zstd"],
        "compat_level": ["oldest", "newest"],
        "as": ["plain", "categories", "enumeration", "128 bits"],
    },
    "duckdb parquet": {
        "PARQUET_VERSION": ["V1", "V2"],
        "COMPRESSION": ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"],
        "ROW_GROUP_SIZE": [2048, 100_000],
        "DICTIONARY_SIZE_LIMIT": [0, 1000],
    },
}


SHAPES = dict.fromkeys(OPTIONS, ("plain",)) | {
    "pyarrow parquet": ("plain", "dictionary"),
    "pyarrow arrow": ("plain", "dictionary", "nulls in dictionary", "runs"),
}


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    """A case of any writer."""
    writer = draw(st.sampled_from(sorted(OPTIONS)))
    kind_of = OF_DUCKDB if writer.startswith("duckdb") else KINDS
    kind = st.sampled_from(sorted(kind_of))
    alike = st.sampled_from(FAMILIES).flatmap(lambda each: st.tuples(*[st.sampled_from(each)] * 2))
    kinds = draw(st.one_of(st.tuples(kind), alike if kind_of == KINDS else st.tuples(kind, kind)))
    options = {name: draw(st.sampled_from(each)) for name, each in OPTIONS[writer].items()}
    places = tuple(draw(st.lists(st.integers(-1, 20), max_size=12)))
    return Case(writer, kinds, draw(st.sampled_from(SHAPES[writer])), places, options)


CASES = cases()
PLACE = Path(tempfile.gettempdir()) / "dprelease-fuzz-files"


class NotWritten(Exception):
    """The writer has no such type or option."""


def column_of(kind: pa.DataType, values: Sequence[Any], places: Sequence[int], shape: str) -> Any:
    """The values at these places, stored in one of the shapes."""
    picked = [None if place < 0 else values[place % len(values)] for place in places]
    try:
        if kind == pa.float16():
            made = pa.array(picked, pa.float64()).cast(kind)
        elif pa.types.is_time(kind):
            made = pa.array(picked, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
        else:
            made = pa.array(picked, kind)
        if shape == "runs":
            ends = pa.array(range(1, len(made) + 1), pa.int32())
            return pa.RunEndEncodedArray.from_arrays(ends, made)
        return made if shape == "plain" else in_dictionary(made, shape == "nulls in dictionary")
    except (pa.ArrowException, OverflowError) as problem:
        raise NotWritten from problem


def in_dictionary(values: Any, with_nulls: bool) -> Any:
    """Each value as a place in a dictionary, which has the nulls too or not."""
    places = [place if with_nulls or value.is_valid else None for place, value in enumerate(values)]
    entries = values if with_nulls else values.drop_null()
    if not with_nulls:
        count = iter(range(len(entries)))
        places = [None if place is None else next(count) for place in places]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), entries)


def write_pyarrow_parquet(path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    """See ``OPTIONS``."""
    given = dict(options)
    encoding = given.pop("encoding")
    if encoding is not None:
        encoded = given | {"use_dictionary": False, "column_encoding": {"c": encoding}}
        try:
            pq.write_table(table, path, **encoded)
            return
        except OSError:  # an encoding of another type
            pass
    pq.write_table(table, path, **given)


def write_pyarrow_arrow(path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    """See ``OPTIONS``."""
    chosen = pa.ipc.IpcWriteOptions(compression=options["compression"])
    with pa.ipc.new_file(path, table.schema, options=chosen) as writer:
        writer.write_table(table, max_chunksize=options["rows"])


def in_polars(table: pa.Table, kind: str) -> Any:
    """The table as polars has it, with one of its own types."""
    import polars as pl

    if pa.types.is_decimal256(table.schema.field("c").type):
        raise NotWritten  # it would panic, at length
    frame = pl.from_arrow(table)
    if kind in ("categories", "enumeration") and frame["c"].dtype == pl.String:
        names = frame["c"].drop_nulls().unique(maintain_order=True)
        return frame.cast({"c": pl.Categorical if kind == "categories" else pl.Enum(names)})
    if kind == "128 bits" and frame["c"].dtype.is_integer():
        return frame.with_columns(wide=frame["c"].cast(pl.Int128))
    return frame


def write_polars_parquet(path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    """See ``OPTIONS``."""
    given = dict(options)
    in_polars(table, given.pop("as")).write_parquet(path, **given)


def write_polars_arrow(path: Path, table: pa.Table, options: dict[str, Any]) -> None:
    """See ``OPTIONS``."""
    import polars as pl

    level = getattr(pl.CompatLevel, options["compat_level"])()
    frame = in_polars(table, options["as"])
    frame.write_ipc(path, compression=options["compression"], compat_level=level)


def write_duckdb_parquet(path: Path, kind: str, case: Case) -> None:
    """See ``OPTIONS``."""
    import duckdb

    values = OF_DUCKDB[kind]
    rows = [
        f"({'NULL' if place < 0 else values[place % len(values)]}, '{'pq'[number % 2]}')"
        for number, place in enumerate(case.places)
    ]
    options = ", ".join(f"{name} {value}" for name, value in case.options.items())
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (c {kind}, t VARCHAR)")
        if rows:
            connection.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, {options})")


WRITERS = {
    "pyarrow parquet": write_pyarrow_parquet,
    "pyarrow arrow": write_pyarrow_arrow,
    "polars parquet": write_polars_parquet,
    "polars arrow": write_polars_arrow,
}


def write(folder: Path, case: Case) -> Source:
    """A file for each type; raises NotWritten."""
    import duckdb
    import polars as pl

    form = case.writer.rpartition(" ")[2]
    for number, kind in enumerate(case.kinds):
        path = folder / f"{number}.{form}"
        try:
            if case.writer.startswith("duckdb"):
                write_duckdb_parquet(path, kind, case)
                continue
            values = column_of(*KINDS[kind], case.places, case.shape)
            groups = ["pq"[place % 2] for place in range(len(case.places))]
            table = pa.table({"c": values, "t": pa.array(groups, pa.string())})
            WRITERS[case.writer](path, table, case.options)
        except (pa.ArrowException, duckdb.Error, OSError, ValueError, TypeError) as problem:
            raise NotWritten from problem
        except pl.exceptions.PolarsError as problem:
            raise NotWritten from problem
    return Source(str(folder), form)


RECORDS = Measure(MeasureKind.RECORDS)
QUANTITY = Quantity("c", Grid(Fraction(1, 4), -4000, 4000), 3)
KEYS = {
    T.STRING: ("a", "b"), T.INTEGER: ("1", "7"), T.DECIMAL: ("0.5", "1"),
    T.BOOLEAN: ("false", "true"), T.DATE: ("2026-01-31",), T.TIMESTAMP: ("2026-01-31 12:00:00",),
}  # fmt: skip


def requests(source: Source, kind: ColumnType | None) -> list[AggregateRequest]:
    """What is asked of column ``c``; None: of a unit that is only compared."""
    group = Group("t", T.STRING, ("p", "q"), ("p", "q"))
    text = InputColumn("t", T.STRING)
    bound = Bound("c", 2, 1, 2, leading=1, null_unit=True, salt=5)
    if kind is None:
        inputs = (text, InputColumn("c", T.STRING, opaque=True))
        units = (RECORDS, Measure(MeasureKind.UNITS))
        return [AggregateRequest(source, inputs, (group,), units, bound=bound)]
    inputs = (text, InputColumn("c", kind))
    there = Measure(MeasureKind.RECORDS, where=Expression("c IS NOT NULL", ("c",)))
    measures = [RECORDS, there, Measure(MeasureKind.DISTINCT, column="c")]
    if kind in (T.INTEGER, T.FLOAT, T.DECIMAL, T.BOOLEAN):
        measures += [Measure(MeasureKind.SUM, QUANTITY), Measure(MeasureKind.VALUES, QUANTITY)]
    private = Group("c", kind, (), null_label="none", private=True)
    keyed = [Group("c", kind, KEYS[kind], KEYS[kind])] if kind in KEYS else []
    return [
        AggregateRequest(source, inputs, (group,), tuple(measures)),
        AggregateRequest(source, inputs, (group, *keyed), (RECORDS,)),
        AggregateRequest(source, inputs, (group, private), (RECORDS,)),
        AggregateRequest(source, inputs, (group,), (RECORDS,), bound=bound),
    ]


def answer(name: str, asked: AggregateRequest) -> Any:
    """The integers of every cell in an order of their own."""
    table = get(name).aggregate(asked)
    counted = [list(column) for column in table.reveal()]
    if not asked.private:
        return counted
    return sorted(zip(map(tuple, table.reveal_keys()), *counted, strict=True))


def refusal(asked: AggregateRequest) -> Failure | None:
    """What is said against the file before anything is read, if anything is."""
    try:
        get("duckdb").inspect(asked.source, asked.inputs)
    except Failure as failure:
        return failure
    return None


def compare(source: Source) -> int:
    """As how many declared types the column is read; each alike, or refused by its name."""
    read = 0
    for kind in (*T, None):
        asked = requests(source, kind)
        refused = refusal(asked[0])
        if refused is None:
            read += 1
            for each in asked:
                assert answer("duckdb", each) == answer("reference", each), kind
            continue
        assert refused.exit_code is ExitCode.DATA
        (complaint,) = refused.complaints
        assert complaint.code in ("E407", "E412")
        assert 'column "c"' in complaint.message or "128 bits" in complaint.message
        assert complaint.hint
    return read


def check(case: Case) -> None:
    """Write the case and read it, if its writer has such a thing."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    try:
        source = write(PLACE, case)
    except NotWritten:
        return
    compare(source)


def use_folder(folder: Path) -> None:
    """The files are written below."""
    global PLACE  # noqa: PLW0603 - one for a process
    PLACE = folder / "files"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        use_folder(Path(made))
        sys.exit(main(sys.argv[1:], "Parquet and Arrow files", check, CASES))
