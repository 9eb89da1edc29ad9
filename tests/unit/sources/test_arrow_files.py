"""Arrow files: the types and values of Parquet, and what becomes of damaged ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import tables
from tables import COUNT, T
from thorough import examples

from dprelease.engines.duckdb.duckdb_engine import ENGINE
from dprelease.errors import ExitCode, Failure
from dprelease.model import AggregateRequest, ColumnType, InputColumn, Source
from dprelease.sources.arrow import arrow_source
from dprelease.sources.shared.source_format import lay_out

SECRET = "zqxcanary"


def write(path: Path, table: pa.Table, compression: str | None = None, rows: int = 2) -> Source:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return Source(str(path), "arrow")


def refused(source: Source, kind: ColumnType = T.STRING) -> str:
    complaint = tables.refused(source, InputColumn("x", kind))
    assert SECRET not in str(complaint)
    return complaint.code


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[SECRET]]),
        pa.array([{"a": SECRET}]),
        pa.array([1], pa.date64()),
        pa.array([b"a"]),
        pa.array([1]),
        pa.array([[["a"]]]),
    ],
)
def test_other_types_are_refused(values: pa.Array, tmp_path: Path) -> None:
    assert refused(write(tmp_path / "t.arrow", pa.table({"x": values}))) == "E412"


def test_a_zone_that_is_no_text_is_refused(tmp_path: Path) -> None:
    moments = pa.table({"x": pa.array([1], pa.timestamp("us", "Europe/Paris"))})
    source = write(tmp_path / "t.arrow", moments)
    whole = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(whole.replace(b"Europe/Paris", b"Europe/Par\xff\xfe"))
    assert refused(source, T.TIMESTAMP) == "E412"


def test_what_has_no_footer_is_refused_before_the_charge(tmp_path: Path) -> None:
    table = pa.table({"x": [SECRET] * 100})
    source = write(tmp_path / "t.arrow", table)
    whole = (tmp_path / "t.arrow").read_bytes()
    for kept in (1, 8, 100, len(whole) - 1, len(whole) - 11):
        (tmp_path / "t.arrow").write_bytes(whole[:kept])
        assert refused(source) == "E409"
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert refused(source) == "E409"
    (tmp_path / "t.arrow").write_bytes(b"")
    assert refused(source) == "E403"


def test_what_is_cut_short_behind_the_look_fails_after_the_charge(tmp_path: Path) -> None:
    source = write(tmp_path / "t.arrow", pa.table({"x": [SECRET] * 1000}), rows=100)
    column = InputColumn("x", T.STRING)
    table = lay_out(source, (column,))
    whole = (tmp_path / "t.arrow").read_bytes()
    for place in (len(whole) // 2, 10):
        (tmp_path / "t.arrow").write_bytes(whole[:place])
        _, batches = table.stream().opened(lambda _size: None, None)
        with pytest.raises(OSError, match="decoded") as caught:
            list(batches)
        assert SECRET not in str(caught.value)
    request = AggregateRequest(source, (column,), (), COUNT)
    with pytest.raises(Failure) as failed:
        ENGINE.aggregate(request)
    assert (failed.value.exit_code, failed.value.complaints[0].code) == (
        ExitCode.AFTER_CHARGE, "E501",
    )  # fmt: skip


DAMAGE = """
import sys, random, pathlib, pyarrow as pa
from dprelease.sources.shared.source_format import lay_out
from dprelease.engines.duckdb.duckdb_engine import ENGINE
from dprelease.errors import Failure
from dprelease.model import *
from dprelease.model import AggregateRequest, ColumnType as T, Group, InputColumn, Measure
from dprelease.model import MeasureKind, Source
path, chance = pathlib.Path(sys.argv[1]), random.Random(int(sys.argv[2]))
whole = path.read_bytes()
read = (InputColumn("x", T.STRING), InputColumn("c", T.STRING), InputColumn("n", T.INTEGER))
groups = tuple(Group(name, T.STRING, (), private=True) for name in "xc")
source = Source(str(path), "arrow")
seen = set()
for _ in range(int(sys.argv[3])):
    made = bytearray(whole)
    for _ in range(chance.choice((1, 1, 3, 20))):
        at = chance.randrange(len(made))
        made[at] = chance.choice((0, 255, 127, 128, made[at] ^ (1 << chance.randrange(8))))
    path.write_bytes(made)
    try:
        ENGINE.inspect(source, read)
        ENGINE.aggregate(AggregateRequest(source, read, groups, (Measure(MeasureKind.RECORDS),)))
        seen.add(0)
    except Failure as failure:
        seen.add(int(failure.exit_code))
        assert "zqx" not in str(failure.complaints)
print(sorted(seen))
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("compression", ["", "zstd"])
def test_damaged_bytes_are_values_or_end_in_a_failure(compression: str, tmp_path: Path) -> None:
    """No offset or place in a dictionary leads outside of a batch: the process lives."""
    texts = [f"zqx{number % 7}" for number in range(60)]
    columns = {"x": texts, "c": pa.array(texts).dictionary_encode(), "n": range(60)}
    write(tmp_path / "t.arrow", pa.table(columns), compression or None, rows=20)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(tmp_path / "t.arrow"), "1", str(examples(150, 4))],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
    assert done.stdout.strip() == "[0, 4, 5]"


def test_a_large_batch_is_handed_on_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_source, "BATCH_ROWS", 3)
    source = write(tmp_path / "t.arrow", pa.table({"x": list("abcdefgh")}), rows=7)
    table = lay_out(source, (InputColumn("x", T.STRING),))
    assert table.pieces()[0][1][1:] == table.pieces()[0][1][:1]
    counted: list[int] = []
    _, batches = table.stream().opened(counted.append, None)
    assert [batch.num_rows for batch in batches] == [3, 3, 1, 1]
    assert counted == [1, 1]
