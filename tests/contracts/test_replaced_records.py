"""What one record holds never shows in a figure without noise, nor moves one beyond its noise.

In every source that there is: a small table, and the same with one record replaced by one of any
bytes, both read by the engine for all that a release asks. Whatever is certified to be equal in
neighbouring tables must be equal, and whatever has noise move no further than its sensitivity says.
"""

from __future__ import annotations

import gzip
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import databases
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import workbooks
from msgspec.structs import replace
from oracle.engine import get
from thorough import is_thorough, some

import dprelease
from dprelease.engines import open_for_table
from dprelease.engines.engine_interface import Engine
from dprelease.engines.engine_registry import WITHOUT_RECORDS
from dprelease.errors import ExitCode, Failure
from dprelease.kernel import privatization
from dprelease.kernel.chapters.choices import choice_sampler, quantile_sampler
from dprelease.kernel.core.engine_requests import build_jobs, list_all_inputs
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.language import word
from dprelease.model import (
    AggregateRequest,
    ColumnType,
    Form,
    Grid,
    InputColumn,
    Measure,
    MeasureKind,
    NoiseFamily,
    Plan,
    Quantity,
    RecordRequest,
    Step,
)
from dprelease.model.source_registry import SOURCES

Figures = dict[str, tuple[tuple[int, ...], ...]]
Table = list[Any]

K = {"type": "string", "keys": ["a", "b"], "other": "else", "nulls": "else", "source": "public"}
X = {"type": "integer", "lower": -2, "upper": 9, "nulls": 3, "source": "public"}
BY_K = [
    {"name": "by_k", "statistic": "count", "by": ["k"]},
    {"name": "common", "statistic": "mode", "column": "k"},
    {"name": "a_by_k", "statistic": "proportion", "where": "k = 'a'"},
    {"name": "kinds", "statistic": "quality", "columns": ["k"]},
]
OF_X = [
    {"name": "all", "statistic": "count"},
    {"name": "few", "statistic": "count", "where": "x > 3"},
    {"name": "total", "statistic": "sum", "column": "x"},
    {"name": "average", "statistic": "mean", "column": "x"},
    {"name": "middle", "statistic": "median", "column": "x"},
    {
        "name": "per_record",
        "statistic": "ratio",
        "numerator": {"column": "x"},
        "denominator": {"statistic": "count"},
    },
    {"name": "curve", "statistic": "density", "column": "x", "points": 4, "bandwidth": 2},
    {"name": "distinct", "statistic": "count_distinct", "column": "x"},
    {"name": "by_bin", "statistic": "count", "by": ["x_bin"]},
]


class Kept(NamedTuple):
    """How records are kept: the keys of [data], what one may hold, and what writes them."""

    data: dict[str, Any]
    cells: Sequence[Any]
    write: Callable[[Path, Table], object]  # what is handed over, if it is in no file
    columns: tuple[str, ...] = ("k", "x")
    engine: str = "duckdb"


# --- CSV ------------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"
LINES = [
    b"a,1", b"b,9", b"a,-7", b'"a","4"', b' "b" ,5', b"", b"", b"\r", b",", b"a,", b"a", b"a,1,2",
    b'"', b'"a', b'a,"1', b'a"b,2', b'"a"b,2', b"\0", b"a\0,3", b"\xff,\xfe", BOM, BOM + b"a,1",
    b"a\rb,2", b"a,1\r", b" ", b"\t", b"#DIV/0!,#N/A", b"a,1e999", b"a,NaN", b"'a','1'", b"\x1a",
    b"x" * (1 << 20) + b",1", b"=1+1,2",
]  # fmt: skip
SEVERAL = [*(line for line in LINES if line.count(b'"') % 2 == 0), b'"a\nb",1', b'"\n\n","2"']


def lines(*, header: bytes = b"k,x\n", end: bytes = b"\n") -> Callable[[Path, Table], None]:
    def write(path: Path, table: Table) -> None:
        path.write_bytes(header + b"".join(line + end for line in table))

    return write


def packed(suffix: str) -> Callable[[Path, Table], None]:
    pack = gzip.compress if suffix == ".gz" else pa.Codec("zstd").compress

    def write(path: Path, table: Table) -> None:
        path.write_bytes(bytes(pack(b"k,x\n" + b"".join(line + b"\n" for line in table))))

    return write


def in_files(path: Path, table: Table) -> None:
    """A folder of files with each one record or none, some of them packed."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for number, line in enumerate([None, *table]):
        content = b"k,x\n" + (b"" if line is None else line + b"\n")
        name, content = (f"{number}.csv.gz", gzip.compress(content)) if number % 2 else (
            f"{number}.csv", content
        )  # fmt: skip
        (path / name).write_bytes(content)


# --- all others -----------------------------------------------------------------------------------

CELLS = [
    "", '<c r="A{}"/>', '<c r="A{}" s="1"/>', '<c r="A{}" t="e"><v>#DIV/0!</v></c>',
    '<c r="A{}" t="str"><f>""</f><v></v></c>', '<c r="A{}"><f>1/0</f></c>',
    '<c r="A{}" t="inlineStr"><is><t>a</t></is></c>', '<c r="A{}" t="inlineStr"><is/></c>',
    f'<c r="A{{}}" t="str"><v>{"x" * 32_768}</v></c>', '<c r="A{}" t="s"><v>99</v></c>',
    '<c r="A{}" t="n"><v>no number</v></c>', '<c r="A{}" s="99"><v>1</v></c>',
    '<c r="A{}" t="b"><v>1</v></c>', '<c r="9"><v>1</v></c>',
    '<c r="B{}"><v>7</v></c>', '<c r="B{}" t="e"><v>#N/A</v></c>', '<c r="B{}" s="1"><v>-1</v></c>',
    '<c r="A{}" t="str"><v>a</v></c><c r="B{}"><v>2</v></c>',
    '<c r="A{}" t="str"><v>b</v></c><c r="B{}"><v>1e999</v></c>',
]  # fmt: skip


def sheet(path: Path, table: Table) -> None:
    head = workbooks.write_rows([("k", "x")])
    rows = [
        f'<row r="{number}">{cells.replace("{}", str(number))}</row>'
        for number, cells in enumerate(table, 2)
    ]
    workbooks.write(path, {"S": head + "".join(rows)})


TEXTS = ["a", "b", "", "zebra", "\0", "é", None, "#N/A", "x" * (1 << 20) + "x"]
NUMBERS = [1, 9, -7, None, 2**62, 3, 3]
ROWS = [(text, number) for text in TEXTS for number in NUMBERS]


def as_arrow(table: Table) -> pa.Table:
    columns = [pa.array(list(column), kind) for column, kind in
               zip(zip(*table, strict=True), (pa.string(), pa.int64()), strict=True)]  # fmt: skip
    return pa.table(columns, names=["k", "x"])


def parquet(path: Path, table: Table) -> None:
    pq.write_table(as_arrow(table), path)


def arrow(path: Path, table: Table) -> None:
    with pa.ipc.new_file(path, as_arrow(table).schema) as writer:
        writer.write_table(as_arrow(table), max_chunksize=2)


def folders(path: Path, table: Table) -> None:
    shutil.rmtree(path, ignore_errors=True)
    for text, number in table:
        name = "__HIVE_DEFAULT_PARTITION__" if text in (None, "") else quote(text[:40], "")
        inside = path / f"k={name}"
        inside.mkdir(parents=True, exist_ok=True)
        rows = pa.table({"x": pa.array([number], pa.int64())})
        pq.write_table(rows, inside / f"{len(list(inside.iterdir()))}.parquet")


def pandas(_path: Path, table: Table) -> object:
    pandas = pytest.importorskip("pandas")
    numbers = pandas.array([number for _, number in table], dtype="Int64")
    return pandas.DataFrame({"k": [text for text, _ in table], "x": numbers})


def objects(_path: Path, table: Table) -> object:
    """A column of Python objects, of any kind."""
    pandas = pytest.importorskip("pandas")
    numbers = np.array([0 if number is None else number for _, number in table])
    return pandas.DataFrame({"k": pandas.Series([k for k, _ in table], dtype=object), "x": numbers})


def polars(_path: Path, table: Table) -> object:
    return pytest.importorskip("polars").from_arrow(as_arrow(table))


OBJECTS = [*ROWS, *((odd, 1) for odd in (3, date(1, 1, 1), float("nan"), b"a", [], object()))]
STORED = [*ROWS, ("a", "text"), (b"\xff", 1.5), (2, float("inf")), (None, None), ("", "")]
CSV, PLACED = {"format": "csv"}, {"format": "frame", "snapshot": "1"}
NAMED = {"header": False, "names": ["k", "x"]}
WAYS = {
    "csv": Kept(CSV, LINES, lines()),
    "csv of returns": Kept(CSV, LINES, lines(header=b"k,x\r\n", end=b"\r\n")),
    "csv without a header": Kept({**CSV, **NAMED}, LINES, lines(header=b"")),
    "csv of one column": Kept(CSV, LINES, lines(header=b"x\n"), ("x",)),
    "csv in latin-1": Kept({**CSV, "encoding": "latin-1", "quote": ""}, LINES, lines()),
    "csv without nulls": Kept({**CSV, "null_values": []}, LINES, lines()),
    "csv of several lines": Kept({**CSV, "multiline": True}, SEVERAL, lines()),
    "csv gz": Kept(CSV, LINES, packed(".gz")),
    "csv zst": Kept(CSV, LINES, packed(".zst")),
    "csv files": Kept(CSV, LINES, in_files),
    "csv on a cluster": Kept(CSV, LINES, lines(), engine="spark"),
    "csv gz on a cluster": Kept(CSV, LINES, packed(".gz"), engine="spark"),
    "xlsx": Kept({"format": "xlsx"}, CELLS, sheet),
    "xlsx on a cluster": Kept({"format": "xlsx"}, CELLS, sheet, engine="spark"),
    "parquet": Kept({"format": "parquet"}, ROWS, parquet),
    "parquet in folders": Kept({"format": "parquet"}, ROWS, folders),
    "arrow": Kept({"format": "arrow"}, ROWS, arrow),
    "adbc sqlite": Kept({"format": "adbc", "driver": "sqlite"}, STORED, lines()),
    "adbc postgresql": Kept({"format": "adbc", "driver": "postgresql"}, ROWS, lines()),
    "frame of arrow": Kept(PLACED, ROWS, lambda _path, table: as_arrow(table)),
    "frame of pandas": Kept(PLACED, ROWS, pandas),
    "frame of objects": Kept(PLACED, OBJECTS, objects),
    "frame of polars": Kept(PLACED, ROWS, polars),
}
"""Ways of keeping records; the first word is the format's name."""
SUFFIXES = {"csv gz": ".csv.gz", "csv zst": ".csv.zst", "csv files": "", "parquet in folders": "",
            "csv gz on a cluster": ".csv.gz"}  # fmt: skip


DECIDED_BY_RECORDS = {"csv of several lines", "xlsx", "xlsx on a cluster"}
"""Ways in which what one record holds decides whether it is there, or is several."""


def test_every_format_is_here() -> None:
    assert {name.partition(" ")[0] for name in WAYS} == set(SOURCES)


class World:
    """A way of keeping records in a folder, and the plan of a release of them."""

    def __init__(self, way: str, folder: Path, request: pytest.FixtureRequest) -> None:
        self.kept, self.request = WAYS[way], request
        self.form = str(self.kept.data["format"])
        self.path = folder / f"t{SUFFIXES.get(way, '.' + self.form)}"
        self.plan: Plan = dprelease.plan(self.spec(folder))

    def spec(self, folder: Path) -> dict[str, Any]:
        columns: dict[str, Any] = {"k": K, "x": X}
        bins = {"type": "integer", "bins": [0, 3, 9], "other": "far", "expression": "x",
                "source": "public"}  # fmt: skip
        place: dict[str, Any] = {"path": str(self.path)}
        if self.form == "adbc":
            databases.require(str(self.kept.data["driver"]))
            place = {"uri_env": databases.VARIABLE, "table": "t"}
        elif self.form == "frame":
            place = {}
        queries = [*OF_X, *(BY_K if "k" in self.kept.columns else [])]
        return {
            "schema": 1,
            "release": {"name": "r"},
            "data": {**self.kept.data, **place, "engine": self.kept.engine},
            "privacy": {"unit": "row", "adjacency": "replace-one", "epsilon": 20.0},
            "ledger": {"path": str(folder / "ledger"), "dataset": "t"},
            "columns": {**{name: columns[name] for name in self.kept.columns}, "x_bin": bins},
            "query": [{**query, "weight": 1} for query in queries],
            "output": {"path": str(folder / "out")},
        }

    def put(self, table: Table) -> Engine:
        """Write a table; what reads it."""
        if self.form != "adbc":
            handed_over = self.kept.write(self.path, table)
            name = self.kept.engine
            return (
                get(name) if handed_over is None else open_for_table("duckdb", "frame", handed_over)
            )
        patch = self.request.getfixturevalue("monkeypatch")
        if self.kept.data["driver"] == "sqlite":
            uri = databases.write_to_sqlite(self.path, ["k", "x"], table)
        else:
            types = {"k": ColumnType.STRING, "x": ColumnType.INTEGER}
            rows = [(None if text is None else text.replace("\0", ""), x) for text, x in table]
            uri = databases.write_to_postgres(self.request.getfixturevalue("postgres"), types, rows)
        patch.setenv(databases.VARIABLE, uri)
        return get("duckdb")

    def figures(self, table: Table) -> Figures:
        """What would be released of a table if no noise were drawn."""
        engine, release = self.put(table), self.plan.release
        engine.inspect(release.data.source, list_all_inputs(release))
        values: Figures = {}
        for job in build_jobs(release, self.plan.steps):
            exact = engine.aggregate(job.request)
            values |= privatization.privatize(exact, job, SystemEntropy(), {}).values
        return values

    def counted(self, table: Table) -> int:
        """How many records there are if nothing else is asked."""
        engine, source = self.put(table), self.plan.release.data.source
        request = AggregateRequest(source, (), (), (Measure(MeasureKind.RECORDS),))
        ((records,),) = engine.aggregate(request).reveal()
        return int(records)

    def records(self, table: Table) -> int:
        """How many rows a table of records would have."""
        engine, source = self.put(table), self.plan.release.data.source
        x = Quantity("x", Grid(Fraction(1), -2, 9), null_fill=3)
        request = RecordRequest(source, (InputColumn("x", ColumnType.INTEGER),), (x,))
        return sum(len(codes) for (codes,) in engine.records(request).reveal())


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = replace(privatization.CHAPTERS, sample=lambda _noise, number, _: np.zeros(number, int))
    monkeypatch.setattr(privatization, "CHAPTERS", zeros)
    monkeypatch.setattr(
        choice_sampler, "choose_candidates", lambda _step, scores, *_: (tuple(scores),)
    )
    monkeypatch.setattr(
        quantile_sampler, "choose_quantiles", lambda _step, points, *_: tuple(map(tuple, points))
    )


def moves(step: Step, one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]) -> None:
    """Hold how far a step's figures move against what it states."""
    if step.form is Form.QUANTILES:
        counts = [Counter(dict(zip(zip(*each[:2], strict=True), each[2], strict=True)))
                  for each in (one, other)]  # fmt: skip
        come, gone = counts[1] - counts[0], counts[0] - counts[1]
        assert max(come.total(), gone.total()) <= step.sensitivity.l1
        return
    change = [abs(a - b) for a, b in zip(sum(one, ()), sum(other, ()), strict=True)]
    if step.noise.family is NoiseFamily.NONE:
        assert not any(change), step.query.name
    assert sum(change) <= step.sensitivity.l1, step.query.name
    assert sum(moved * moved for moved in change) <= step.sensitivity.l2_squared, step.query.name


def chains(cells: Sequence[Any], seed: str) -> Iterator[list[Table]]:
    """Tables of a few records, of which the last, or any, is another one in the table after."""
    draw = random.Random(seed)
    number, length = (2, 4) if is_thorough() else (1, 3)
    for _ in range(number):
        tables = [[draw.choice(cells) for _ in range(draw.randint(1, 6))]]
        while len(tables) < length:
            table = tables[-1]
            at = len(table) - 1 if len(tables) % 2 else draw.randrange(len(table))
            tables.append([*table[:at], draw.choice(cells), *table[at + 1 :]])
        yield tables


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", WAYS)
def test_a_replaced_record_moves_no_figure_further_than_certified(
    way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    world = World(way, tmp_path, request)
    for tables in chains(world.kept.cells, way):
        figures = [world.figures(table) for table in tables]
        if way not in DECIDED_BY_RECORDS:
            assert {each["all"] for each in figures} == {((len(tables[0]),),)}
            for table in some(tables, 2):
                assert world.counted(table) == len(table)
                assert world.kept.engine in WITHOUT_RECORDS or world.records(table) == len(table)
        for one, other in pairwise(figures):
            for step in world.plan.steps:
                moves(step, one[step.query.name], other[step.query.name])


# --- where the number of records is public --------------------------------------------------------


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", WAYS)
def test_the_number_of_records_has_noise_where_a_record_decides_it(
    way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    plan = World(way, tmp_path, request).plan
    exact = [step.query.name for step in plan.steps if step.noise.family is NoiseFamily.NONE]
    assert bool(exact) is ("all" in exact) is (way not in DECIDED_BY_RECORDS)
    told = any("number of records has noise" in word(note) for note in plan.notes)
    assert told is (way in DECIDED_BY_RECORDS)


def one_count(folder: Path, name: str = "t.csv", **keys: Any) -> dict[str, Any]:
    """The spec of a count of all records."""
    keys = {"format": "csv", **keys}
    return {
        "schema": 1,
        "release": {"name": "r"},
        "data": {"path": str(folder / name), "snapshot": "1", **keys},
        "privacy": {"unit": "row", "adjacency": "replace-one", "epsilon": 1.0},
        "ledger": {"path": str(folder / "ledger"), "dataset": "t", "epsilon_cap": 9.0},
        "columns": {"x": X},
        "query": [{"name": "n", "statistic": "count"}, {"name": "s", "statistic": "sum",
                                                        "column": "x"}],
        "output": {"path": str(folder / "out")},
    }  # fmt: skip


def with_records(spec: dict[str, Any]) -> dict[str, Any]:
    """A table of records in the place of queries."""
    rest = {key: part for key, part in spec.items() if key != "query"}
    return {**rest, "perturb": [{"name": "p", "columns": ["x"]}]}


def code_of(call: Callable[[], object]) -> tuple[str, ExitCode]:
    with pytest.raises(Failure) as caught:
        call()
    (complaint,) = caught.value.complaints
    return complaint.code, caught.value.exit_code


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", [dict, with_records])
@pytest.mark.parametrize("last", [b"5", b"5\r", b"", b"\xff", b"x" * (1 << 21)])
def test_a_last_line_without_an_end_is_refused_before_the_charge(
    last: bytes, change: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    """It would not be there if its record were empty. Ended, an empty one is."""
    spec, file = change(one_count(tmp_path)), tmp_path / "t.csv"
    file.write_bytes(b"x\n5\n" + last)
    if last:
        assert code_of(lambda: dprelease.run(spec)) == ("E434", ExitCode.DATA)
        assert not dprelease.budget(tmp_path / "ledger").datasets
        file.write_bytes(file.read_bytes() + b"\n")
    assert dprelease.run(spec).charged


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("content", [b"x\r5\n6\n", b"x\r5\r6\n", b"x\r5\r6\r\n"])
def test_a_file_of_returns_ends_with_one(content: bytes, packed: bool, tmp_path: Path) -> None:
    """A record before a line feed would not be there if it were empty."""
    name, pack = ("t.csv.gz", gzip.compress) if packed else ("t.csv", bytes)
    (tmp_path / name).write_bytes(pack(content))
    spec = one_count(tmp_path, name)
    refusal = ("E502", ExitCode.AFTER_CHARGE) if packed else ("E434", ExitCode.DATA)
    assert code_of(lambda: dprelease.run(spec)) == refusal
    (tmp_path / name).write_bytes(pack(content.replace(b"\r\n", b"\r").replace(b"\n", b"\r")))
    assert dprelease.run(spec).charged is not packed


@pytest.mark.parametrize("content", [b"x", b"x\n", b"x\r", b"", BOM, BOM + b"x"])
def test_files_without_records(content: bytes, tmp_path: Path) -> None:
    """A header is a line too; no line at all has nothing to end."""
    header = b"x" in content
    spec = one_count(tmp_path, **({} if header else {"header": False, "names": ["x"]}))
    (tmp_path / "t.csv").write_bytes(content)
    if content in (b"x\n", b"x\r", b""):
        assert dprelease.run(spec).charged
    else:
        assert code_of(lambda: dprelease.run(spec)) == ("E434", ExitCode.DATA)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("change", [dict, with_records])
@pytest.mark.parametrize("last", [b"5", b"x" * (1 << 21)])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_packed_file_without_an_end_stops_the_run_and_a_retry_is_free(
    suffix: str, last: bytes, change: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    spec, file = change(one_count(tmp_path, f"t.csv{suffix}")), tmp_path / f"t.csv{suffix}"
    pack = gzip.compress if suffix == ".gz" else pa.Codec("zstd").compress
    file.write_bytes(bytes(pack(b"x\n5\n" + last)))
    assert code_of(lambda: dprelease.run(spec)) == ("E502", ExitCode.AFTER_CHARGE)
    file.write_bytes(bytes(pack(b"x\n5\n" + last + b"\n")))
    assert not dprelease.run(spec).charged


def test_a_cluster_tells_so_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"x\n5"))
    release = dprelease.load(one_count(tmp_path, "t.csv.gz", engine="spark"))
    (job, *_) = build_jobs(release, dprelease.plan(release).steps)
    assert code_of(lambda: get("spark").aggregate(job.request))[0] == "E502"


@pytest.mark.parametrize(
    "change",
    [
        {"adjacency": "add-remove"},
        {"unit": "column", "unit_column": "x",
         "bounding": {"max_rows_per_unit": 1, "max_groups_per_unit": 1}},
    ],
)  # fmt: skip
def test_nothing_is_asked_of_a_file_where_the_number_of_records_has_noise(
    change: dict[str, Any], tmp_path: Path
) -> None:
    spec = one_count(tmp_path)
    (tmp_path / "t.csv").write_bytes(b"x\n5")
    assert dprelease.run({**spec, "privacy": {**spec["privacy"], **change}}).charged


@pytest.mark.parametrize(
    ("name", "keys"), [("t.csv", {"multiline": True}), ("t.xlsx", {"format": "xlsx"})]
)
def test_a_table_of_records_is_refused_where_a_record_decides_their_number(
    name: str, keys: dict[str, Any], tmp_path: Path
) -> None:
    spec = with_records(one_count(tmp_path, name, **keys))
    assert code_of(lambda: dprelease.load(spec)) == ("E253", ExitCode.SPEC)
