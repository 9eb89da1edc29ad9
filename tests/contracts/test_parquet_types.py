"""What becomes of a Parquet record follows from that record alone, for every type there is.

Each file is read with and without one more record, whose text is not UTF-8, or too long. Whatever
is counted of the other records must be the same, to the bit, and what plain loops count.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import count, islice, product
from pathlib import Path
from typing import Any, NamedTuple

import drawn_requests
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle.engine import get
from tables import refused as refused_by
from thorough import some

from dprelease.model import (
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
NUMBERS = frozenset({T.INTEGER, T.FLOAT, T.DECIMAL, T.BOOLEAN})
LIMIT = 1 << 20  # bytes of a cell
INF, NAN = float("inf"), float("nan")


class Case(NamedTuple):
    """A type, what it can be declared as, some of its values, and how they are written."""

    type: pa.DataType
    holds: frozenset[ColumnType]
    values: Sequence[Any]
    options: dict[str, Any] = {}  # noqa: RUF012 - never changed


def whole(bits: int, signed: bool) -> list[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, low + 1, 0, 1, 7, high - 1, high]


def stored(kind: pa.DataType, wide: int, raw: Sequence[int]) -> pa.Array:
    """Values that are whole numbers beneath, also those that nothing converts to."""
    return pa.array([*raw, None], pa.int32() if wide == 32 else pa.int64()).view(kind)


DAYS = [-(2**31), -(2**31) + 1, -719_528, -719_162, -1, 0, 20_454, 2_932_896, 2_932_897, 2**31 - 1]
MOMENTS = [-(2**63), -(2**63) + 1, -1500, -1, 0, 1, 10**9, 10**15, 10**18, 2**63 - 1]
NONE: frozenset[ColumnType] = frozenset()
TEXTS = ["", "a", "b", "\u00e9", "a\0b", "1", "x" * LIMIT, "x" * (LIMIT + 1)]
BYTES = [each.encode() for each in TEXTS] + [b"\xff", b"\xfe"]

CASES = {
    "bool": Case(pa.bool_(), frozenset({T.BOOLEAN}), [True, False]),
    **{
        f"{'' if signed else 'u'}int{bits}": Case(
            getattr(pa, f"{'' if signed else 'u'}int{bits}")(), NUMBERS, whole(bits, signed)
        )
        for bits, signed in product((8, 16, 32, 64), (True, False))
    },
    "float16": Case(pa.float16(), NUMBERS, [0.0, -0.0, 1.5, 65504.0, 2.0**-24, INF, -INF, NAN]),
    "float32": Case(pa.float32(), NUMBERS, [0.0, -0.0, 1.5, 3.4e38, 1e-45, INF, -INF, NAN]),
    "float64": Case(
        pa.float64(), NUMBERS, [0.0, -0.0, 0.1, 2.5, 2.0**53, 1e308, 5e-324, INF, -INF, NAN]
    ),
    **{
        f"decimal {make.__name__} {digits},{places}{' as integer' if integer else ''}": Case(
            make(digits, places),
            NUMBERS,
            [10**digits - 1, 1 - 10**digits, 0, 1, 25],
            {"store_decimal_as_integer": integer},
        )
        for make, digits, places in (
            (pa.decimal32, 5, 2),
            (pa.decimal64, 12, 3),
            (pa.decimal128, 18, 0),
            (pa.decimal128, 38, 38),
            (pa.decimal128, 30, 5),
            (pa.decimal256, 38, 2),
        )
        for integer in (False, True)
    },
    "string": Case(pa.string(), frozenset({T.STRING}), TEXTS),
    "large string": Case(pa.large_string(), frozenset({T.STRING}), TEXTS),
    "string view": Case(pa.string_view(), frozenset({T.STRING}), TEXTS),
    "dictionary": Case(pa.dictionary(pa.int8(), pa.string()), frozenset({T.STRING}), TEXTS),
    "large dictionary": Case(
        pa.dictionary(pa.int32(), pa.large_string()), frozenset({T.STRING}), TEXTS
    ),
    "json": Case(pa.json_(), frozenset({T.STRING}), ['{"a": 1}', "[]", "x" * (LIMIT + 1)]),
    "binary": Case(pa.binary(), NONE, BYTES),
    "large binary": Case(pa.large_binary(), NONE, BYTES),
    "binary view": Case(pa.binary_view(), NONE, BYTES),
    "fixed bytes": Case(pa.binary(3), NONE, [b"abc", b"\xff\xff\xff", b"\0\0\0"]),
    "uuid": Case(pa.uuid(), NONE, [bytes(16), bytes(range(16)), b"\xff" * 16]),
    "bool8": Case(pa.bool8(), NUMBERS, [0, 1]),
    "date32": Case(pa.date32(), frozenset({T.DATE}), DAYS),
    "date64": Case(
        pa.date64(), frozenset({T.DATE}), [day * 86_400_000 for day in (-719_162, -1, 0, 20_454)]
    ),
    **{
        f"timestamp {unit}{' zoned' if zone else ''}{' plain' if plain else ''}": Case(
            pa.timestamp(unit, zone),
            frozenset({T.DATE, T.TIMESTAMP}),
            [each for each in MOMENTS if unit != "s" or abs(each) < 2**53],
            {"store_schema": not plain},
        )
        for unit, zone, plain in product(
            ("s", "ms", "us", "ns"), (None, "Europe/Paris"), (False, True)
        )
    },
    **{
        f"time {unit}": Case(
            pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit), NONE, [0, 1, 86_399]
        )
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"duration {unit}{' plain' if plain else ''}": Case(
            pa.duration(unit), NUMBERS if plain else NONE, MOMENTS, {"store_schema": not plain}
        )
        for unit, plain in product(("s", "ms", "us", "ns"), (False, True))
    },
}
REFUSED = {
    "decimal of 50 digits": pa.array([1, 2]).cast(pa.decimal256(50, 0)),
    "list": pa.array([[1], []]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
}


def column(case: Case) -> pa.Array:
    """The values of a case and a null, whatever Python thinks of them."""
    kind, values = case.type, [*case.values, None]
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    if pa.types.is_decimal(kind):
        texts = [None if each is None else f"{each}e-{kind.scale}" for each in values]
        return pa.array([None if each is None else Decimal(each) for each in texts], kind)
    if pa.types.is_temporal(kind):
        return stored(kind, kind.bit_width, case.values)
    return pa.array(values, kind)


BAD = {"not utf-8": b"bad\xff", "too long": b"bad" * LIMIT}


def texts(count: int, bad: bytes | None) -> pa.Array:
    """Which group a record is in: by turns, the bad one in none of them."""
    raw = [b"pq"[place % 2 : place % 2 + 1] for place in range(count)]
    raw += [] if bad is None else [bad]
    array = pa.array(raw, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


def write(path: Path, case: Case, bad: bytes | None, more: int = 3) -> int:
    """Write each value some times, with the bad record if there is one, which has the first."""
    values = column(case)
    count = len(values) * more
    last = values.slice(0, 1)
    if bad is not None and case.holds == {T.STRING}:
        raw = pa.array([bad], pa.binary())
        last = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
        values = values.storage if isinstance(values, pa.ExtensionArray) else values
        values = values.cast(pa.string())
    values = pa.concat_arrays([values] * more + ([last] if bad else []))
    table = pa.table({"c": values, "t": texts(count, bad)})
    pq.write_table(table, path, row_group_size=20, **case.options)
    return count


GROUPS = ("p", "q")
BOUNDS = {
    "unit of two rows": Bound("c", 2, 1, 2, leading=1, salt=5),
    "unit of five rows": Bound("c", 5, 2, 4, leading=1, null_unit=True, salt=6),
}


def requests(path: Path, kind: ColumnType | None) -> dict[str, AggregateRequest]:
    """What is asked of column ``c`` in each of its roles; None: of a unit that is only compared."""
    source = Source(str(path), "parquet")
    group = Group("t", T.STRING, GROUPS, GROUPS)
    plain = InputColumn("t", T.STRING)
    if kind is None:
        inputs = (plain, InputColumn("c", T.STRING, opaque=True))
        measures = (Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS))
        return {
            name: AggregateRequest(source, inputs, (group,), measures, bound=bound)
            for name, bound in BOUNDS.items()
        }
    inputs = (plain, InputColumn("c", kind))
    records = Measure(MeasureKind.RECORDS)
    measures = [
        records,
        Measure(MeasureKind.RECORDS, where=Expression("c = c", ("c",))),
        Measure(MeasureKind.DISTINCT, column="c"),
    ]
    if kind in NUMBERS:
        quantity = Quantity("c", Grid(Fraction(1, 4), -1000, 1000), 3)
        measures += [Measure(MeasureKind.SUM, quantity), Measure(MeasureKind.VALUES, quantity)]
    there = Expression("c IS NOT NULL", ("c",))
    private = Group("c", kind, (), null_label="none", private=True)
    bound = BOUNDS["unit of two rows"]
    return {
        "value": AggregateRequest(source, inputs, (group,), tuple(measures)),
        "condition": AggregateRequest(source, inputs, (group,), tuple(measures), where=there),
        "private key": AggregateRequest(source, inputs, (group, private), (records,)),
        "unit": AggregateRequest(source, inputs, (group,), (records,), bound=bound),
    }


def answer(engine: str, request: AggregateRequest) -> Any:
    return drawn_requests.answer(get(engine), request)


@pytest.mark.one_in(56)
@pytest.mark.parametrize("name", CASES)
def test_one_bad_record_changes_no_other(name: str, tmp_path: Path) -> None:
    case, turn = CASES[name], count()
    files = {what: tmp_path / f"{number}.parquet" for number, what in enumerate((None, *BAD))}
    for what, path in files.items():
        write(path, case, None if what is None else BAD[what])
    for kind in (*sorted(case.holds), None):
        asked = {what: requests(path, kind) for what, path in files.items()}
        for role, request in asked[None].items():
            clean = answer("duckdb", request)
            assert clean == answer("reference", request), role
            for what in islice(BAD, next(turn) % 2, None, 2):  # one half, then the other
                assert answer("duckdb", asked[what][role]) == clean, (role, what)


@pytest.mark.parametrize(
    "name", [*(name for name, case in CASES.items() if case.holds != {T.STRING}), *REFUSED]
)
def test_types_that_are_not_on_the_list_are_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    if name in CASES:
        case = CASES[name]
        write(path, case, None)
        refused: set[ColumnType | None] = set(T) - case.holds
    else:
        values = REFUSED[name]
        pq.write_table(pa.table({"c": values, "t": ["p"] * len(values)}), path)
        refused = {*T, None}
    shown = str(pq.read_schema(path).field("c").type)
    for kind, engine in product(refused, ("duckdb", "reference")):
        request = next(iter(requests(path, kind).values()))
        complaint = refused_by(request.source, *request.inputs, engine=engine)
        assert complaint.code == "E412"
        assert shown[:80] in complaint.message


def enumeration(path: Path, values: Sequence[bytes]) -> None:
    """A file whose column ``c`` is annotated as ENUM, which Arrow doesn't write by itself."""
    write(path, Case(pa.string(), NONE, ["a", "b"], {"store_schema": False}), None)
    raw = pa.array(values, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    groups = pa.array(["p", "q"] * len(values)).slice(0, len(values))
    pq.write_table(pa.table({"c": texts, "t": groups}), path, store_schema=False)
    content = path.read_bytes()
    utf8, enum = b"\x25\x00\x4c\x1c\x00\x00", b"\x25\x08\x4c\x4c\x00\x00"
    assert content.count(utf8) == 2
    path.write_bytes(content.replace(utf8, enum, 1))


def test_an_enumeration_is_a_text(tmp_path: Path) -> None:
    found = []
    for last in (b"p", b"\xff"):
        path = tmp_path / f"{last.hex()}.parquet"
        enumeration(path, [b"a", b"b", b"a", b"a"] * 9 + [last])
        assert pq.ParquetFile(path).schema.column(0).logical_type.type == "ENUM"
        request = AggregateRequest(
            Source(str(path), "parquet"),
            (InputColumn("c", T.STRING),),
            (
                Group(
                    "c", T.STRING, ("a", "b", "\ufffd", "else"), ("a", "b", "\ufffd"), other="else"
                ),
            ),
            (Measure(MeasureKind.RECORDS),),
        )
        assert answer("duckdb", request) == answer("reference", request)
        found.append(answer("duckdb", request))
    assert found == [[[27, 9, 0, 1]], [[27, 9, 1, 0]]]


def test_texts_are_cut_into_valid_and_not_by_one_rule(tmp_path: Path) -> None:
    """Arrow tells which texts are UTF-8, Python what the others become: they must not differ."""
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF]
    edges += [0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF]
    some = [each for count in (1, 2, 3) for each in product(edges, repeat=count)]
    some += [
        (*head, tail)
        for head in product(edges[-12:], edges, (0x7F, 0x80, 0xBF, 0xC0))
        for tail in edges
    ]
    for each in map(bytes, some):
        raw = pa.array([each], pa.binary())
        array = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
        try:
            array.validate(full=True)
            valid = True
        except pa.ArrowInvalid:
            valid = False
        assert valid == (each.decode("utf-8", "replace").encode() == each)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("kind", ["decimal32", "decimal64", "decimal128", "decimal256"])
def test_a_decimal_with_more_digits_than_its_type_is_null(
    kind: str, integer: bool, tmp_path: Path
) -> None:
    for digits in some((9, 1, 4, 5), 4):
        made = getattr(pa, kind)(digits, 1)
        end, size = 10**digits, made.bit_width // 8
        # what a file can hold: four bytes as an integer, else as many as the digits need
        whole = [1, end - 1, end if not integer else 2**31 - 1, 1 - end, -end, 7]
        raw = b"".join(each.to_bytes(size, "little", signed=True) for each in whole)
        values = pa.Array.from_buffers(made, len(whole), [None, pa.py_buffer(raw)])
        path = tmp_path / "t.parquet"
        table = pa.table({"c": values, "t": ["p"] * len(whole)})
        pq.write_table(table, path, store_decimal_as_integer=integer)
        for declared in (*sorted(NUMBERS), None):
            for role, request in requests(path, declared).items():
                assert answer("duckdb", request) == answer("reference", request), (digits, role)
        found = answer("duckdb", requests(path, T.FLOAT)["value"])
        assert isinstance(found, list)
        assert found[1][0] == 4
