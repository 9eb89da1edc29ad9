"""Tables in memory give the integers that the same table gives in Parquet, and leak nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from thorough import some

import dprelease
from dprelease.engines import get, open_for_table
from dprelease.kernel.core.engine_requests import build_jobs, list_all_inputs
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Group,
    InputColumn,
    Measure,
    MeasureKind,
    Source,
)

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NOON = datetime(2026, 1, 31, 12)
COLUMNS: dict[str, list[Any]] = {
    "who": ["p1", "p1", "p2", "p2", "p3", None, "p3", "p4"],
    "i": [1, -7, None, 100, 3, 3, 0, 9],
    "f": [0.5, 2.5, None, -1e9, float("nan"), float("inf"), 0.0, 3.5],
    "c": [Decimal("1.25"), Decimal("-0.50"), None, Decimal("99.99"), *[Decimal("0.75")] * 4],
    "s": ["a", "b", None, "\u00e9 \u6f22", 'a,"b"', "a", "other", "a"],
    "b": [True, False, None, True, False, None, True, True],
    "d": [date(2026, 1, 31), date(2025, 12, 1), None, date(1900, 1, 1), *[date(2026, 1, 31)] * 4],
    "t": [NOON, NOON, None, NOON, datetime(1999, 5, 6, 7), NOON, NOON, NOON],
    "z": [NOON.replace(tzinfo=UTC), None, *[datetime(2026, 1, 1, 23, 30, tzinfo=UTC)] * 6],
}  # fmt: skip
TYPES = {
    "who": pa.string(), "i": pa.int64(), "f": pa.float64(), "c": pa.decimal128(9, 2),
    "s": pa.string(), "b": pa.bool_(), "d": pa.date32(), "t": pa.timestamp("us"),
    "z": pa.timestamp("us", "UTC"),
}  # fmt: skip
TABLE = pa.table({name: pa.array(COLUMNS[name], kind) for name, kind in TYPES.items()})


def recast(**kinds: Any) -> pa.Table:
    schema = pa.schema([(name, kinds.get(name, kind)) for name, kind in TYPES.items()])
    return TABLE.cast(schema)


def in_pandas(**dtypes: Any) -> Any:
    frame = TABLE.to_pandas(date_as_object=True)
    frame.index = pd.Index([f"canary{place}" for place in range(len(frame))], name="s")
    frame["c"] = frame["c"].astype(pd.ArrowDtype(TYPES["c"]))
    frame["i"] = frame["i"].astype("Int64")
    return frame.astype(dtypes)


FRAMES: dict[str, Callable[[], Any]] = {
    "a table": lambda: TABLE,
    "pandas": in_pandas,
    "polars": lambda: pl.from_arrow(TABLE),
}


def a_spec(bounded: bool = True, **changes: Any) -> dict[str, Any]:
    def column(kind: str, **keys: Any) -> dict[str, Any]:
        return {"type": kind, "source": "public: rule", **keys}

    spec: dict[str, Any] = {
        "release": {"name": "frames"},
        "data": {"format": "frame", "snapshot": "2026-01"},
        "privacy": {
            "unit": "column", "unit_column": "who", "unit_description": "one person",
            "adjacency": "add-remove", "epsilon": 1,
            "bounding": {"max_rows_per_unit": 2, "max_groups_per_unit": 2},
        },
        "ledger": {"dataset": "frames", "epsilon_cap": 3},
        "columns": {
            "who": {"type": "string"},
            "i": column("integer", lower=-5, upper=50),
            "f": column("float", lower=-10, upper=10, step=0.25),
            "c": column("decimal", lower=0, upper=10, step=0.25),
            "s": column("string", keys=["a", "b", "\u00e9 \u6f22", 'a,"b"'], other="else"),
            "b": column("boolean", keys=[True, False]),
            "d": column("date", bins=["2025-01-01", "2026-01-01", "2027-01-01"]),
            "t": column("timestamp", bins=["1999-01-01", "2026-01-01", "2027-01-01"]),
            "z": column("date", bins=["2025-01-01", "2026-01-01", "2027-01-01"]),
        },
        "query": [
            {"name": "n", "statistic": "count", "by": ["s", "b"]},
            *({"name": f"sum_{name}", "statistic": "sum", "column": name, "by": ["d"]}
              for name in ("i", "f", "c")),
            {"name": "moments", "statistic": "histogram", "column": "t"},
            {"name": "zoned", "statistic": "histogram", "column": "z"},
            {"name": "checks", "statistic": "quality"},
        ],
        "output": {"path": "out"},
    }  # fmt: skip
    if not bounded:
        spec["privacy"] = {"unit": "row", "unit_description": "a visit",
                           "adjacency": "add-remove", "epsilon": 1}  # fmt: skip
    return spec | changes


@cache
def plan_of(bounded: bool = True) -> Any:
    return dprelease.plan(a_spec(bounded))


def exact(engine: Any, plan: Any) -> list[Any]:
    engine.inspect(plan.release.data.source, list_all_inputs(plan.release))
    return [
        list(map(list, engine.aggregate(job.request, None).reveal()))
        for job in build_jobs(plan.release, plan.steps, 7)
    ]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


NOTHING = pa.table({name: pa.nulls(8, kind) for name, kind in TYPES.items()})
UNTYPED = pa.table({name: pa.nulls(8) for name in TYPES})


@pytest.mark.one_in(4)
@pytest.mark.parametrize("bounded", [True, False], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("form", ["frame", "parquet", "arrow"])
def test_columns_of_no_type_are_columns_of_nulls(bounded: bool, form: str, tmp_path: Path) -> None:
    plan = plan_of(bounded)
    typed = exact(open_for_table("duckdb", "frame", NOTHING), plan)
    if form == "frame":
        assert exact(open_for_table("duckdb", "frame", UNTYPED), plan) == typed
        return
    path = str(tmp_path / f"data.{form}")
    if form == "parquet":
        pq.write_table(UNTYPED, path)
    else:
        with pa.ipc.new_file(path, UNTYPED.schema) as writer:
            writer.write_table(UNTYPED)
    data = replace(plan.release.data, source=Source(path, form))
    stored = replace(plan, release=replace(plan.release, data=data))
    assert exact(get("duckdb"), stored) == typed


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["a table", "pandas", "polars"])
def test_a_run_is_charged_as_of_a_file_and_repeated_for_free(kind: str, place: Path) -> None:
    frame = FRAMES[kind]()
    first = dprelease.run(a_spec(), data=frame)
    assert first.charged
    again = dprelease.run(a_spec(), data=frame)
    assert (again.charged, again.already_released) == (False, True)
    assert dprelease.run(a_spec()).already_released  # sealed numbers need no table
    other = a_spec(data={"format": "frame", "snapshot": "2026-02"})
    assert dprelease.run(other, data=frame).charged
    (told,) = dprelease.budget("dprelease-ledger.sqlite").datasets
    assert (told.dataset, told.spent.epsilon, len(told.runs)) == ("frames", 2, 2)
    with pytest.raises(dprelease.Failure) as refused:
        dprelease.run(a_spec(data={"format": "frame", "snapshot": "2026-03"}, privacy={
            **a_spec()["privacy"], "epsilon": 1.5}), data=frame)  # fmt: skip
    assert refused.value.exit_code == 3
    written = [path for path in place.rglob("*") if path.is_file()]
    assert written
    assert not any(b"canary" in path.read_bytes() for path in written)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"data": {"format": "frame"}}, "data"),
        ({"ledger": {"epsilon_cap": 3}}, "ledger"),
        ({"data": {"format": "frame", "snapshot": "1", "path": "x.csv"}}, "data.path"),
        ({"data": {"format": "frame", "snapshot": "1", "delimiter": ";"}}, "data.delimiter"),
        ({"data": {"format": "frame", "snapshot": "1", "engine": "spark"}}, "data.engine"),
        ({"ledger": {"dataset": "x", "disjoint_periods": True}}, "ledger.disjoint_periods"),
    ],
)
def test_a_spec_names_dataset_and_snapshot_and_nothing_of_files(changes, key, place) -> None:
    with pytest.raises(dprelease.Failure) as refused:
        dprelease.load(a_spec(**changes))
    assert refused.value.exit_code == 2
    assert key in [complaint.key for complaint in refused.value.complaints]


@pytest.mark.parametrize("kind", [ColumnType.DATE, ColumnType.TIMESTAMP])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("form", [None, "%Y-%m-%d %H:%M %z", "%Y-%m-%d %H:%M"])
def test_objects_with_a_zone_are_moments_like_texts(
    kind: ColumnType, zone: str | None, form: str | None
) -> None:
    late = datetime(2026, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1)))
    objects = [late, pd.Timestamp(late), np.datetime64("2026-02-01T00:30"), NOON.date(), None]
    texts = ["2026-02-01 00:30 +0000"] * 2 if form == "%Y-%m-%d %H:%M %z" else (
        ["2026-02-01T00:30Z"] * 2 if form is None else ["x", "x"])  # fmt: skip
    clock = form != "%Y-%m-%d %H:%M %z"
    texts += ["2026-02-01 00:30", "2026-01-31 00:00"] if clock else ["x", "x"]
    column = InputColumn("t", kind, format=form, zone=zone)
    labels = ("2026-01-31", "2026-02-01", "2026-02-02")
    edges = tuple(labels if kind is ColumnType.DATE else (f"{day} 00:00:00" for day in labels))
    bins = Group("t", kind, ("a", "b", "none"), edges=edges, null_label="none")
    counted = []
    for values in (objects, [*texts, None]):
        frame = pd.DataFrame({"t": pd.Series(values, dtype=object)})
        request = AggregateRequest(
            Source("frame", "frame"), (column,), (bins,), (Measure(MeasureKind.RECORDS),)
        )
        engine = open_for_table("duckdb", "frame", frame)
        counted.append([list(each) for each in engine.aggregate(request).reveal()])
    assert counted[0] == counted[1]
    assert sum(counted[0][0]) == 5


@pytest.mark.parametrize(
    ("kind", "label", "objects", "found"),
    [
        (ColumnType.INTEGER, "1", [1, np.int8(1), np.longdouble("1"), Decimal(1)], 4),
        (ColumnType.INTEGER, "1", [np.datetime64(1, "ns"), np.timedelta64(1, "ns"), True], 0),
        (ColumnType.BOOLEAN, "true", [True, np.bool_(1), np.int8(1), np.longdouble("1")], 4),
        (ColumnType.BOOLEAN, "true", [np.timedelta64(1, "D"), np.complex64(1), NOON], 0),
    ],
)
def test_only_numbers_among_objects_are_numbers(
    kind: ColumnType, label: str, objects: list[object], found: int
) -> None:
    frame = pd.DataFrame({"x": pd.Series(objects, dtype=object)})
    request = AggregateRequest(
        Source("frame", "frame"),
        (InputColumn("x", kind),),
        (Group("x", kind, (label,), keys=(label,)),),
        (Measure(MeasureKind.RECORDS),),
    )
    engine = open_for_table("duckdb", "frame", frame)
    assert [list(each) for each in engine.aggregate(request).reveal()] == [[found]]


@pytest.mark.parametrize(
    ("spec", "frame", "code", "words"),
    [
        (a_spec(), None, "E430", ""),
        (a_spec(), TABLE.to_reader(), "E431", "read_all()"),
        (a_spec(), {"s": ["canary"]}, "E431", ""),
        (a_spec(), pl.from_arrow(TABLE).lazy(), "E431", "collect()"),
        (a_spec(data={"path": "data.parquet"}), TABLE, "E432", ""),
        (a_spec(), TABLE.drop_columns(["s"]), "E405", ""),
        (a_spec(), TABLE.append_column("s", TABLE["s"]), "E406", ""),
        (
            a_spec(),
            pl.from_arrow(TABLE).with_columns(i=pl.lit(1, pl.Int128)),
            "E412",
            "can't be read as integer: its type is Int128",
        ),
        (a_spec(), in_pandas().assign(i=pd.period_range("2026", periods=8, freq="D")), "E412", ""),
        (a_spec(), in_pandas().assign(i=pd.interval_range(0, 8)), "E412", ""),
        (a_spec(), TABLE.drop_columns(["s"]).append_column("s", [[{"canary": 1}] * 8]), "E412", ""),
        (a_spec(), pl.from_arrow(TABLE).with_columns(s=pl.lit([{"canary": 1}])), "E412", ""),
        (a_spec(), in_pandas().assign(s=[["canary"]] * 8), "", ""),
    ],
)
def test_what_does_not_fit_is_refused_before_the_charge(spec, frame, code, words, place) -> None:
    if not code:  # cells of a column of objects that are no texts are nulls, and stop nothing
        assert dprelease.run(spec, data=frame).charged
        return
    with pytest.raises(dprelease.Failure) as refused:
        dprelease.run(spec, data=frame)
    (complaint,) = refused.value.complaints
    assert complaint.code == code
    assert words in complaint.message + complaint.hint
    assert "canary" not in str(refused.value)
    assert not (place / "out").exists()
    if (place / "dprelease-ledger.sqlite").exists():
        assert dprelease.budget("dprelease-ledger.sqlite").datasets == ()


@pytest.mark.parametrize("kind", ["a table", "pandas", "polars"])
def test_records_are_counted_where_no_column_is_read(kind: str, place: Path) -> None:
    spec = a_spec(False, query=[{"name": "n", "statistic": "count"}])
    spec["columns"] = {}
    spec["privacy"] = spec["privacy"] | {"epsilon": 100_000}
    spec["ledger"] = {"dataset": "frames", "epsilon_cap": 100_000}
    released = dprelease.run(spec, data=FRAMES[kind]())
    assert released.tables["overall"]["n"].to_pylist() == [8]


@pytest.mark.parametrize(
    "values",
    [
        [Decimal(10**17 + 1), Decimal(10**17 + 2), Decimal("100000000000000001.0"), None],
        [10**17 + 1, 10**17 + 2, np.int64(10**17 + 1), None],
        ["a", "b", "a", None],
    ],
)
def test_a_unit_of_python_objects_is_told_apart(values: list[object], place: Path) -> None:
    """Objects that are numbers are people too: none is left out without a word."""
    spec = a_spec(query=[{"name": "people", "statistic": "count_units"}])
    spec["columns"] = {}
    spec["privacy"] = spec["privacy"] | {"epsilon": 100_000}
    spec["ledger"] = {"dataset": "frames", "epsilon_cap": 100_000}
    frame = pd.DataFrame({"who": pd.Series(values, dtype=object)})
    released = dprelease.run(spec, data=frame)
    assert released.tables["overall"]["people"].to_pylist() == [2]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["drop", "replace", "rename"])
def test_columns_that_the_program_changes_meanwhile_are_read_as_they_were(
    kind: str, place: Path
) -> None:
    frame = in_pandas()
    wanted = exact(open_for_table("duckdb", "frame", in_pandas()), plan_of())
    engine = open_for_table("duckdb", "frame", frame)
    if kind == "drop":
        del frame["who"]
    elif kind == "replace":
        frame["i"] = "canary"
    else:
        frame.columns = list("abcdefghi")
    assert exact(engine, plan_of()) == wanted


ODD = [
    "x",
    1,
    2,
    Decimal("sNaN"),
    b"y",
    None,
    float("nan"),
    pd.NA,
    pd.NaT,
    "\udc80",
    object(),
    "a" * (1 << 21),
    NOON,
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["s", "b", "d", "t"])
def test_no_object_in_a_column_stops_a_run_or_changes_another_cell(name: str, place: Path) -> None:
    frame = pd.concat([in_pandas().astype({name: object})] * 2, ignore_index=True)
    kinds = {"s": str, "b": int, "d": date, "t": datetime}[name]  # 1 is a boolean

    def with_last(value: object) -> list[Any]:
        odd = frame.copy()
        odd[name] = pd.Series([*frame[name][:-1], value], dtype=object)
        return exact(open_for_table("duckdb", "frame", odd), plan_of())

    missing, unreadable = with_last(None), with_last("x")
    for value in some(ODD, 8):
        if not isinstance(value, kinds) or value is pd.NaT or value in (2, "a" * (1 << 21)):
            is_text = isinstance(value, str) and name != "s" and value != "a" * (1 << 21)
            assert with_last(value) == (unreadable if is_text else missing)
    if name != "s":  # there all that is no key is the same
        assert with_last({"b": True, "d": NOON, "t": NOON}[name]) != missing
    else:
        assert with_last("\udc80") == with_last("x") != missing
