"""Whose rows they are: which values of the unit column any engine takes for one unit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from oracle.engine import get
from tables import ENGINES, FORMS, OPAQUE, T, asked, inputs, keyed, written

from dprelease.engines.duckdb import execute
from dprelease.errors import ExitCode, Failure
from dprelease.model import AggregateRequest, Bound, Dialect, Measure, MeasureKind, Source

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.one_in(2),  # on one of the engines
    pytest.mark.usefixtures("kept_sessions"),
]

COUNT, UNITS = Measure(MeasureKind.RECORDS), Measure(MeasureKind.UNITS)
ONE_ROW = Bound("p", 1, 1, 1, leading=0)


@pytest.fixture(params=[1, 5], autouse=True)
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units are the same in how many parts they may be read."""
    monkeypatch.setattr(execute, "choose_part_count", lambda *_: request.param)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("null_unit", "expected"), [(False, [2, 2]), (True, [3, 3])])
def test_rows_without_a_unit_are_dropped_or_one_unit(
    engine: str, tmp_path: Path, form: str, null_unit: bool, expected: list[int]
) -> None:
    types = {"p": T.STRING, "g": T.STRING}
    rows = [(p, "a") for p in ("ann", None, "bob", None, None)]
    source = written(tmp_path / "t", types, rows, form)
    bound = replace(ONE_ROW, leading=1, null_unit=null_unit)
    request = AggregateRequest(
        source, inputs(types), (keyed("g", "ab"),), (COUNT, UNITS), bound=bound
    )
    assert asked(engine, request) == [[each, 0] for each in expected]


# kind, texts, how many units they are, whether some can't be read
SAME_UNIT = [
    (T.INTEGER, ["1", "01", " 1", "1.0", "+1", "1e0"], 1, False),
    (T.INTEGER, ["9007199254740993", "9007199254740992", "-0", "0"], 3, False),
    (T.INTEGER, ["1", "x", "1.5", "nan", "1e30", ""], 1, True),
    (T.FLOAT, ["0.10", ".1", "1e-1"], 1, False),
    (T.FLOAT, ["-0", "0", "0.0", "nan", "NaN", "y"], 1, True),
    (T.DECIMAL, ["inf", "-inf", "1e999"], 2, False),
    (T.STRING, ["1", "01", "1.0", "A", "a", "a b"], 6, False),
    (T.BOOLEAN, ["true", "T", "1", "yes", "0", "maybe"], 2, True),
    (T.DATE, ["2026-01-31", "2026-02-30", "2026-1-31", "2026-02-01"], 2, True),
    (T.TIMESTAMP, ["2026-01-31 10:00:00", "2026-01-31T10:00:00.000", "2026-01-31"], 1, True),
]


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("kind", "texts", "units", "unread"), SAME_UNIT)
def test_units_are_told_apart_by_their_typed_values(
    engine: str, tmp_path: Path, kind: T, texts: list[str], units: int, unread: bool
) -> None:
    path = tmp_path / "units.csv"
    path.write_text("p,x\n" + "".join(f"{text},1\n" for text in texts * 2))
    request = AggregateRequest(
        Source(str(path), "csv"),
        inputs({"p": kind, "x": T.INTEGER}),
        (),
        (COUNT, UNITS),
        bound=ONE_ROW,
    )
    assert asked(engine, request) == [[units]] * 2
    request = replace(request, bound=replace(ONE_ROW, null_unit=True))
    assert asked(engine, request) == [[units + unread]] * 2


def test_an_opaque_unit_is_the_text_of_its_field(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "units.csv"
    path.write_text("p,x\n" + "".join(f"{text},1\n" for text in ["1", "01", "1.0", "?", " 1"] * 2))
    source = Source(str(path), "csv", Dialect(null_values=("", "?"), strip=True))
    request = AggregateRequest(
        source, inputs({"p": T.STRING}, "p"), (), (COUNT, UNITS), bound=ONE_ROW
    )
    assert asked(engine, request) == [[3], [3]]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", OPAQUE)
def test_an_opaque_unit_can_be_of_any_type(engine: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / "units.parquet"
    pq.write_table(pa.table({"p": OPAQUE[name]}), path)
    request = AggregateRequest(
        Source(str(path), "parquet"),
        inputs({"p": T.STRING}, "p"),
        (),
        (COUNT, UNITS),
        bound=ONE_ROW,
    )
    assert asked(engine, request) == [[2], [2]]
    request = replace(request, bound=replace(ONE_ROW, null_unit=True))
    assert asked(engine, request) == [[3], [3]]


def test_a_list_names_nobody(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "units.parquet"
    pq.write_table(pa.table({"p": pa.array([[1], [2]])}), path)
    with pytest.raises(Failure) as caught:
        get(engine).inspect(Source(str(path), "parquet"), inputs({"p": T.STRING}, "p"))
    assert caught.value.exit_code is ExitCode.DATA
