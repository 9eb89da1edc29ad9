"""One cell that is far too long is null, and stops nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
from tables import keyed

from dprelease.model import ColumnType, InputColumn, Source
from dprelease.sources.shared.source_format import lay_out

LIMIT = 1 << 20
LONG = 300_000_000


def unheard(records: int) -> None:
    """Of what is read, nobody is told."""


def counted(path: Path) -> list[int]:
    return tables.counted(Source(str(path), "parquet"), keyed("t", "pq", null="none"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("size", "expected"),
    [(LIMIT, [200, 199, 0]), (LIMIT + 1, [200, 199, 1]), (LONG, [200, 199, 1])],
)
def test_a_long_cell_changes_its_own_record(size: int, expected: list[int], tmp_path: Path) -> None:
    texts = ["p", "q"] * 199 + ["p", "x" * size]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"t": texts}), path)
    del texts
    assert counted(path) == expected


def repeated(path: Path, size: int, records: int, *others: str) -> None:
    """A file that has one text of many records once, and one record each of the others."""
    places = pa.array([0] * records + list(range(1, len(others) + 1)), pa.int32())
    texts = pa.DictionaryArray.from_arrays(places, pa.array(["x" * size, *others]))
    pq.write_table(pa.table({"t": texts}), path, store_schema=False)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "records", "long"),
    [
        # a text that is null, and takes no record's text out of the dictionary
        (50_000, 300_000, "y" * (LIMIT + 1)),
        # by the sizes in the footer, texts are no places in a dictionary any more
        (5000, 100_000, "y" * LIMIT),
    ],
    ids=["null", "long"],
)
def test_a_text_of_many_records_is_not_held_for_each(
    size: int, records: int, long: str, tmp_path: Path
) -> None:
    path, inputs = tmp_path / "t.parquet", (InputColumn("t", ColumnType.STRING),)
    source = Source(str(path), "parquet")
    for others in (("p",), ("p", long)):
        repeated(path, size, records, *others)
        _, batches = lay_out(source, inputs).stream().opened(unheard, None)
        assert max(each.nbytes for each in batches) < 1 << 24
        assert counted(path) == [1, 0, long in others and len(long) > LIMIT]


def test_records_of_files_that_store_texts_differently_all_come_in_order(tmp_path: Path) -> None:
    many = [f"u{number}" for number in range(9000)]
    plain = pa.table({"t": [*many, None, *many], "n": range(18_001)})
    coded = pa.table({"t": pa.array(["p", "q", None] * 3000).dictionary_encode(), "n": range(9000)})
    # more texts than a dictionary takes: the rest of them stand in the pages
    mixed = pa.table({"t": ["p", "q"] * 4000 + many, "n": range(17_000)})
    for name, table in (("a", plain), ("b", coded), ("c", mixed)):
        target = tmp_path / f"{name}.parquet"
        pq.write_table(table, target, row_group_size=7000, dictionary_pagesize_limit=2000)
    inputs = (InputColumn("t", ColumnType.STRING), InputColumn("n", ColumnType.INTEGER))
    _, batches = lay_out(Source(str(tmp_path), "parquet"), inputs).stream().opened(unheard, None)
    rows = [(row["f0"], row["f1"]) for batch in batches for row in batch.to_pylist()]
    stored = [table.to_pylist() for table in (plain, coded, mixed)]
    assert rows == [(row["t"], row["n"]) for table in stored for row in table]
