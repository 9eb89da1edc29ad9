"""Parquet and Arrow: types, values that agree with the CSV, nothing but what is published."""

import io
import json
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dprelease.errors import ExitCode, Failure
from dprelease.model import ColumnType, OutputColumn, OutputTable
from dprelease.output.csv_table import write_csv
from dprelease.output.parquet_table import to_arrow, write_parquet
from dprelease.output.table_files import write_table


def column(kind: str, values: list[object], **more: object) -> OutputColumn:
    return OutputColumn("c", kind, values, "What it is.", **more)


def type_values(made: OutputColumn) -> tuple[pa.DataType, list[object]]:
    found = to_arrow(OutputTable("t", (made,))).column("c")
    return found.type, found.to_pylist()


KEYS = [
    (ColumnType.INTEGER, ["-1", "2", None], pa.int64(), [-1, 2, None]),
    (ColumnType.INTEGER, ["1", "other"], pa.string(), ["1", "other"]),
    (ColumnType.BOOLEAN, ["true", "false"], pa.bool_(), [True, False]),
    (ColumnType.DATE, ["2024-02-29"], pa.date32(), [date(2024, 2, 29)]),
    (
        ColumnType.TIMESTAMP,
        ["2024-02-29 10:00:00.5".ljust(26, "0")],
        pa.timestamp("us"),
        [datetime(2024, 2, 29, 10, 0, 0, 500_000)],
    ),
    (ColumnType.STRING, ["=x", ""], pa.string(), ["=x", ""]),
    (ColumnType.DECIMAL, ["1.50"], pa.string(), ["1.50"]),
    (ColumnType.FLOAT, ["[0, 1)"], pa.string(), ["[0, 1)"]),
]


@pytest.mark.parametrize(("kind", "labels", "expected", "values"), KEYS)
def test_keys(
    kind: ColumnType, labels: list[object], expected: pa.DataType, values: list[object]
) -> None:
    assert type_values(column("key", labels, type=kind)) == (expected, values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, -1, None], pa.int64()),
        ([], pa.int64()),
        ([2**63 - 1, -(2**63) + 1], pa.int64()),
        ([2**63, 1], pa.decimal128(38, 0)),
        ([-(10**38) + 1], pa.decimal128(38, 0)),
        ([10**38], pa.decimal256(76, 0)),
    ],
)
def test_integers(values: list[object], expected: pa.DataType) -> None:
    found, read = type_values(column("integer", values))
    assert found == expected
    assert [each if each is None else int(Decimal(each)) for each in read] == values


def test_numbers_are_the_doubles_next_to_the_printed_decimals() -> None:
    values = [33, 10, 0, None, 10**27]
    made = column("number", values, decimals=2)
    kind, found = type_values(made)
    printed = write_csv(OutputTable("t", (made,))).decode().split()[1:]
    assert kind == pa.float64()
    assert found == [0.33, 0.1, 0.0, None, 1e25]
    assert str(found[2]) == "0.0"  # no minus zero
    assert [None if each == '""' else float(each) for each in printed] == found


@pytest.mark.parametrize("made", [column("integer", [10**76]), column("number", [10**400])])
def test_what_no_type_holds_fails_with_a_remedy(made: OutputColumn) -> None:
    with pytest.raises(Failure, match=r"E804 .*hint: write `format") as refused:
        write_parquet(OutputTable("t", (made,)))
    assert refused.value.exit_code is ExitCode.AFTER_CHARGE


def test_a_text_among_numbers_is_a_mistake() -> None:
    with pytest.raises(TypeError):
        write_parquet(OutputTable("t", (column("number", ["x"]),)))


def build_table() -> OutputTable:
    return OutputTable(
        "by_region",
        (
            OutputColumn("region", "key", ["n", "s"], "Region.", type=ColumnType.STRING),
            OutputColumn("pay", "number", [33, None], "Mean pay.", 2),
            OutputColumn("pay_flag", "text", ["ok", "suppressed"], ""),
        ),
        title="Pay by region",
    )


def test_the_file_holds_what_arrow_shows() -> None:
    written = write_table(build_table(), "parquet")
    assert written.file == "by_region.parquet"
    assert pq.read_table(io.BytesIO(written.content)).equals(to_arrow(build_table()))


def test_the_same_table_gives_the_same_bytes() -> None:
    assert write_parquet(build_table()) == write_parquet(build_table())


def test_metadata_is_names_and_descriptions_only() -> None:
    content = write_parquet(build_table())
    schema = pq.read_schema(io.BytesIO(content))
    texts = dict(schema.metadata)
    described = json.loads(texts.pop(b"table_schema"))
    assert texts == {b"name": b"by_region", b"title": b"Pay by region"}
    assert described == {
        "fields": [
            {"name": "region", "type": "string", "description": "Region.", "role": "key"},
            {"name": "pay", "type": "number", "description": "Mean pay."},
            {"name": "pay_flag", "type": "string"},
        ],
        "primaryKey": ["region"],
    }
    assert schema.field("pay").metadata[b"description"] == b"Mean pay."
    assert schema.field("pay").metadata.keys() <= {b"description", b"PARQUET:field_id"}
    assert b"pandas" not in content


def test_no_dictionaries() -> None:
    meta = pq.read_metadata(io.BytesIO(write_parquet(build_table())))
    chunks = [meta.row_group(0).column(at) for at in range(meta.num_columns)]
    assert not any(each.has_dictionary_page for each in chunks)
    assert meta.num_rows == 2
