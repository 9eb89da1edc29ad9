"""Stand-ins of the quick way give the same integers."""

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tables import COUNT, T, asked, inputs

from dprelease.engines.duckdb import duckdb_session, text_numbers
from dprelease.model import (
    AggregateRequest,
    Expression,
    Grid,
    Group,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)
from dprelease.sources.parquet.parquet_source import ParquetTable


def test_an_optimizer_that_this_duckdb_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_session, "NEVER", (*duckdb_session.NEVER, "telepathy"))
    with duckdb_session.open_session(()) as connection:
        setting = "SELECT current_setting('disabled_optimizers')"
        ((names,),) = connection.execute(setting).fetchall()
    assert set(names.split(",")) == set(duckdb_session.NEVER) - {"telepathy"}


KEYS = ("a", "\u00e9", "b", "none", "others")


@pytest.mark.parametrize("most", [3, 1 << 17])
@pytest.mark.parametrize(
    "where", [None, Expression("n > 0", ("n",)), Expression("s <> 'b'", ("s",))]
)
def test_texts_in_dictionaries_are_grouped_by_their_numbers(
    most: int, where: Expression | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = ["a", "b", None, "e\u0301"] * 500, ["\u00e9", "x", "b", "A"] * 500
    for name, texts in (("1", one), ("2", two)):
        table = pa.table({"s": texts, "n": [1.5, -7.0, 99.25, None] * 500})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1500)
    group = Group("s", T.STRING, KEYS, KEYS[:3], null_label="none", other="others")
    number = Quantity("n", Grid(Fraction(1, 4), -20, 400), 3)
    measures = (*COUNT, Measure(MeasureKind.SUM, number), Measure(MeasureKind.VALUES, number))
    read, source = inputs({"s": T.STRING, "n": T.FLOAT}), Source(str(tmp_path), "parquet")
    request = AggregateRequest(source, read, (group,), measures, where)
    given_up = []

    class Told(text_numbers.TooManyTextsError):
        def __init__(self) -> None:
            given_up.append(self)

    monkeypatch.setattr(ParquetTable, "fast", lambda _table: None)
    monkeypatch.setattr(text_numbers, "MOST_TEXTS", most)
    monkeypatch.setattr(text_numbers, "TooManyTextsError", Told)
    expected = asked("reference", request)
    assert asked("duckdb", request) == expected
    assert all(expected[0]) or where is not None
    read_by_groups_alone = where is None or "s" not in where.columns
    assert bool(given_up) == (most == 3 and read_by_groups_alone)
