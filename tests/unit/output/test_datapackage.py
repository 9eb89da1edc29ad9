"""The descriptor fits the Frictionless standard, and the files fit the descriptor."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import builders
import frictionless
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from dprelease.model import About, ColumnType, OutputColumn, OutputTable, Release
from dprelease.output.datapackage import write_datapackage
from dprelease.output.table_files import WrittenTable, write_table
from dprelease.output.table_schema import ESCAPE_NOTE
from dprelease.reports.report_formats import list_media_types
from dprelease.specfile import load

OTHERS = {"report.json": b'{"schema": "dprelease/report/1"}\n', "report.md": b"# Report\n"}
TYPES = list_media_types(OTHERS)


def release(**about: str) -> Release:
    spec = builders.spec(query=[{"name": "n", "statistic": "count"}])
    return replace(load(spec), about=replace(About("Pay_2026"), **about))


def key(name: str, values: list[str], kind: ColumnType) -> OutputColumn:
    return OutputColumn(name, "key", values, f"The {name}.", type=kind)


def build_table(name: str = "by_region") -> OutputTable:
    return OutputTable(
        name,
        (
            key("region", ["=north", "s, e"], ColumnType.STRING),
            key("level", ["-1", "2"], ColumnType.INTEGER),
            key("open", ["true", "false"], ColumnType.BOOLEAN),
            key("day", ["2024-02-29", "2024-03-01"], ColumnType.DATE),
            key("hour", ["2024-02-29 10:00:00", "2024-02-29 11:00:00"], ColumnType.TIMESTAMP),
            OutputColumn("n", "integer", [-4, None], "Number of rows."),
            OutputColumn("pay", "number", [33, None], "Mean pay.", 2),
            OutputColumn("pay_flag", "text", ["ok", "suppressed"], "How reliable."),
        ),
        title="Pay by region",
    )


def describe(*tables: WrittenTable, **about: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_datapackage(release(**about), tables, OTHERS, TYPES))
    return found


def test_frictionless_accepts_package_and_data(tmp_path: Path) -> None:
    written = [write_table(build_table(), "csv"), write_table(build_table("Again!"), "csv")]
    files = {each.file: each.content for each in written} | OTHERS
    made = write_datapackage(
        release(title="Pay", purpose="Report", curator="Agency"), written, OTHERS, TYPES
    )
    for name, content in {**files, "datapackage.json": made}.items():
        (tmp_path / name).write_bytes(content)
    report = frictionless.validate(str(tmp_path / "datapackage.json"))
    assert report.flatten(["taskNumber", "type", "message"]) == []
    assert report.valid
    assert len(report.tasks) == 4


def test_frictionless_sees_a_changed_file(tmp_path: Path) -> None:
    written = write_table(build_table(), "csv")
    (tmp_path / written.file).write_bytes(written.content.replace(b"-4", b"-5"))
    for name, content in OTHERS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "datapackage.json").write_bytes(
        write_datapackage(release(), [written], OTHERS, TYPES)
    )
    report = frictionless.validate(str(tmp_path / "datapackage.json"))
    assert "hash-count" in {row[0] for row in report.flatten(["type"])}


def test_a_parquet_package_has_a_valid_descriptor() -> None:
    made = describe(write_table(build_table(), "parquet"))
    assert frictionless.Package.validate_descriptor(made).valid
    resource = made["resources"][0]
    assert resource["path"] == "by_region.parquet"
    assert "encoding" not in resource
    assert "dialect" not in resource


def test_a_parquet_file_says_of_its_columns_what_the_package_says() -> None:
    written = write_table(build_table(), "parquet")
    metadata = pq.read_schema(io.BytesIO(written.content)).metadata
    assert json.loads(metadata[b"table_schema"]) == describe(written)["resources"][0]["schema"]


def test_files_are_hashed_and_typed() -> None:
    written = write_table(build_table(), "csv")
    table, report, text = describe(written)["resources"]
    assert table["hash"] == f"sha256:{hashlib.sha256(written.content).hexdigest()}"
    assert table["bytes"] == len(written.content)
    assert (table["mediatype"], report["mediatype"]) == ("text/csv", "application/json")
    assert [each["path"] for each in (table, report, text)] == [
        "by_region.csv",
        "report.json",
        "report.md",
    ]


def test_fields_have_types_and_descriptions() -> None:
    schema = describe(write_table(build_table(), "csv"))["resources"][0]["schema"]
    kinds = {each["name"]: each["type"] for each in schema["fields"]}
    assert kinds == {
        "region": "string",
        "level": "integer",
        "open": "boolean",
        "day": "date",
        "hour": "datetime",
        "n": "integer",
        "pay": "number",
        "pay_flag": "string",
    }
    assert schema["primaryKey"] == ["region", "level", "open", "day", "hour"]
    assert schema["fields"][5]["description"] == "Number of rows."


def test_escaped_columns_say_so_in_csv_only() -> None:
    for format_, noted in (("csv", True), ("parquet", False)):
        fields = describe(write_table(build_table(), format_))["resources"][0]["schema"]["fields"]
        assert fields[0]["description"].endswith(ESCAPE_NOTE) is noted
        assert not fields[1]["description"].endswith(ESCAPE_NOTE)


@pytest.mark.parametrize(
    ("labels", "pattern"),
    [
        (["2024-01-01 00:00:00"], "%Y-%m-%d %H:%M:%S"),
        (["2024-01-01 00:00:00.500000"], "%Y-%m-%d %H:%M:%S.%f"),
        (["2024-01-01 00:00:00", "2024-01-01 00:00:00.500000"], "any"),
    ],
)
def test_timestamps_state_their_pattern(labels: list[str], pattern: str) -> None:
    table = OutputTable("t", (key("at", labels, ColumnType.TIMESTAMP),))
    field = describe(write_table(table, "csv"))["resources"][0]["schema"]["fields"][0]
    assert field["format"] == pattern


def test_a_key_that_may_be_missing_is_no_primary_key() -> None:
    table = OutputTable("t", (key("k", ["", "a"], ColumnType.STRING),))
    assert "primaryKey" not in describe(write_table(table, "csv"))["resources"][0]["schema"]


def test_names_are_those_the_standard_allows() -> None:
    tables = [write_table(OutputTable(name, ()), "csv") for name in ("A b", "a-b", "ü")]
    made = describe(*tables)
    assert made["name"] == "pay_2026"
    names = [each["name"] for each in made["resources"]]
    assert names == ["a-b", "a-b-2", "release", "report.json", "report.md"]


@pytest.mark.parametrize(
    ("contact", "more"),
    [
        ("dpo@example.org", {"email": "dpo@example.org"}),
        ("https://example.org", {"path": "https://example.org"}),
        ("Room 5", {}),
    ],
)
def test_who_publishes(contact: str, more: dict[str, str]) -> None:
    made = describe(curator="Agency", contact=contact)
    assert made["contributors"] == [{"title": "Agency", "role": "publisher", **more}]
    assert frictionless.Package.validate_descriptor(made).valid


def test_texts_are_optional_and_bytes_repeat() -> None:
    written = [write_table(build_table(), "csv")]
    made = describe(*written)
    assert not {"title", "description", "contributors"} & made.keys()
    assert made["generator"] == "dprelease"
    first, second = (write_datapackage(release(), written, OTHERS, TYPES) for _ in range(2))
    assert first == second
