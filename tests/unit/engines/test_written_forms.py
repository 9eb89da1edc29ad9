"""Numbers with declared marks and dates with a format: the SQL and plain Python agree."""

import random
from collections.abc import Sequence
from datetime import date, datetime

import duckdb
import pytest
from oracle.values import text_record

from dprelease.engines.duckdb.typed_rows import read_unit
from dprelease.expressions.sqltext import col
from dprelease.model import (
    AggregateRequest,
    Bound,
    Dialect,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)
from dprelease.model import ColumnType as T
from dprelease.sources.shared.record_stream import Fields

DEFAULT, COUNT = Dialect(), Measure(MeasureKind.RECORDS)
MARKS = [(",", ""), (",", "."), (",", " "), (",", "\u202f"), (",", "_"), (".", ","), (".", "'")]
FORMATS = [
    "%d.%m.%Y", "%Y%m%d", "%m/%d/%Y", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S%z",
    "%d%m%Y%H%M%S%f", "%Y-%m-%d %H:%M:%S.%f%z", "%H%d.%m.%Y", "%Y-%m-%d %H1", "(%d)+%m[%Y]%%",
    "%H:%M:%S %d.%m.%Y", "%H:%M:%S.%d.%m.%Y", "%f %H:%M:%S %d.%m.%Y",
]  # fmt: skip
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", None]


def read(
    texts: Sequence[str], declared: InputColumn, dialect: Dialect = DEFAULT
) -> list[tuple[object, ...]]:
    """Field and typed value, as DuckDB has them."""
    source, bound = Source("", "csv", dialect), Bound("c", 1, 1, 1, 0)
    request = AggregateRequest(
        source, (declared,), (), (Measure(MeasureKind.RECORDS),), None, bound
    )
    typed = read_unit(request, Fields(col("s"), {"c": col("t")}, {}, dialect))
    assert typed is not None
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("CREATE TABLE s AS SELECT UNNEST(CAST($1 AS VARCHAR[])) AS t", [texts])
        return connection.execute(str(col("s").select([col("t"), typed]))).fetchall()


def agree(texts: Sequence[str], declared: InputColumn, dialect: Dialect = DEFAULT) -> int:
    """How many texts have a value: the same one in both."""
    found = 0
    for text, typed in read(list(dict.fromkeys(texts)), declared, dialect):
        meant = text_record({"c": str(text)}, [declared], dialect).values["c"]
        assert (text, typed) == (text, meant)
        found += meant is not None
    return found


def numbers(decimal: str, thousands: str) -> list[str]:
    chance, found = random.Random(3), []
    for _ in range(6_000):
        plain = f"{chance.randrange(10 ** chance.randint(1, 20)):,}"
        text = plain.replace(",", chance.choice([thousands, thousands, ""]))
        if chance.random() < 0.4:
            text += decimal + str(chance.randrange(1000))
        around = ["", "", "", "-", "+", "+-", "-+", " "]
        text = chance.choice(around) + text + chance.choice(["", "", "", "e3", "E-2", " ", "x"])
        changed = list(text)
        for _ in range(chance.randint(0, 2)):
            place = chance.randrange(len(changed))
            changed[place] = chance.choice(["0", "1", "_", "e", " ", ".", ",", thousands])
        found.append("".join(changed))
    grouped = thousands.join(["9", "007", "199", "254", "740", "993"])
    return [*found, "inf", "NaN", f"1{decimal}", f"{decimal}5", decimal, grouped, "", "1_000"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", [T.INTEGER, T.FLOAT])
@pytest.mark.parametrize("marks", MARKS)
def test_numbers(marks: tuple[str, str], kind: T) -> None:
    dialect = Dialect(decimal=marks[0], thousands=marks[1], null_values=("", "1", f"0{marks[0]}5"))
    assert agree(numbers(*marks), InputColumn("c", kind), dialect) > 1000


def moments(form: str) -> list[str]:
    chance, found = random.Random(4), []
    for _ in range(6_000):
        size = chance.choice(["", "0"])
        parts = {
            "%Y": f"{chance.choice([1, 1582, 1900, 1969, 2023, 2024, 9999]):04}",
            "%m": f"{chance.randint(1, 12):{size}{2 if size else ''}}",
            "%d": f"{chance.randint(1, 31):{size}{2 if size else ''}}",
            "%H": f"{chance.randint(0, 24):{size}{2 if size else ''}}",
            "%M": f"{chance.randint(0, 59):02}",
            "%S.%f": f"{chance.randint(0, 60):02}{chance.choice(['', '.', '.5', '.999999999'])}",
            "%S": f"{chance.randint(0, 60):02}{chance.choice(['', '', '.25'])}",
            "%f": str(chance.randrange(10**9))[: chance.randint(1, 10)],
            "%z": chance.choice(["Z", "+01:00", "-0530", "+23:59", "-24:00", "+1:00", "", "-11"]),
            "%%": "%",
        }
        text = form
        for directive, part in parts.items():
            text = text.replace(directive, part)
        changed = list(text)
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            changed[chance.randrange(len(changed))] = chance.choice("0123456789.-: TZ+/")
        found.append("".join(changed))
    found += ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z"]
    return [*found, "2024-01-05", "2024-01-05 10:00:00", " 05.01.2024", "05.01.2024 ", ""]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", [T.DATE, T.TIMESTAMP])
def test_iso_forms(kind: T, zone: str | None) -> None:
    # Without a format: a day, hours and minutes, seconds, a fraction, an offset.
    forms = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M%z"]
    texts = [text for form in forms for text in moments(form)[::3]]
    assert agree(texts, InputColumn("c", kind, zone=zone)) > 1500


@pytest.mark.one_in(5)
@pytest.mark.parametrize("form", FORMATS)
def test_dates_and_timestamps(form: str) -> None:
    kinds = [T.DATE, T.TIMESTAMP] if "%H" in form else [T.DATE]
    for kind in kinds:
        for zone in ZONES if "%z" in form else [None]:
            declared = InputColumn("c", kind, format=form, zone=zone)
            assert agree(moments(form), declared) > 500


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("text", "marks", "number"),
    [
        ("1.234.567,8", ",.", 1234567.8),
        ("1234567,8", ",.", 1234567.8),
        ("1234.567,8", ",.", None),
        ("1.23,4", ",.", None),
        ("1.234", ",.", 1234.0),
        ("1.5", ",.", None),
        ("1.5", ",", None),
        ("1,5", ",", 1.5),
        (" -1 234,5 ", ", ", -1234.5),
        ("1,234.5e1", ".,", 12345.0),
        ("1_000,5", ",", None),
        (",5", ",.", 0.5),
        ("1,234,567", ",.", None),
    ],
)
def test_documented_numbers(text: str, marks: str, number: float | None) -> None:
    dialect = Dialect(decimal=marks[0], thousands=marks[1:])
    assert read([text], InputColumn("c", T.FLOAT), dialect) == [(text, number)]


BERLIN = "Europe/Berlin"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("text", "form", "zone", "value"),
    [
        ("31.01.2024", "%d.%m.%Y", None, date(2024, 1, 31)),
        ("5.1.2024", "%d.%m.%Y", None, date(2024, 1, 5)),
        ("31.02.2024", "%d.%m.%Y", None, None),
        ("5.1.24", "%d.%m.%Y", None, None),
        ("5.1.2024 ", "%d.%m.%Y", None, date(2024, 1, 5)),
        ("5.1. 2024", "%d.%m.%Y", None, None),
        ("2024-01-05", "%d.%m.%Y", None, None),
        ("2024115", "%Y%m%d", None, None),
        ("5.1.2024 23:59", "%d.%m.%Y %H:%M", None, date(2024, 1, 5)),
        ("5.1.2024 24:00", "%d.%m.%Y %H:%M", None, None),
        ("2024-06-30T22:00:00Z", "%Y-%m-%dT%H:%M:%S%z", BERLIN, datetime(2024, 7, 1)),
        ("2024-06-30T22:00:00Z", "%Y-%m-%dT%H:%M:%S%z", None, datetime(2024, 6, 30, 22)),
        ("2024-12-31T23:30:00+0000", "%Y-%m-%dT%H:%M:%S%z", BERLIN, datetime(2025, 1, 1, 0, 30)),
        ("2024-06-30T22:00:00", "%Y-%m-%dT%H:%M:%S%z", BERLIN, None),
    ],
)
def test_documented_dates(text: str, form: str, zone: str | None, value: object) -> None:
    kind = T.TIMESTAMP if "z" in form else T.DATE
    assert read([text], InputColumn("c", kind, format=form, zone=zone), Dialect()) == [
        (text, value)
    ]
