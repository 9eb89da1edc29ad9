"""Hostile texts as private keys, from the data to every file of a release, through the process."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracle.key_texts import one_line

from dprelease.sources.shared.key_normalization import CONTROLS, LONGEST_KEY

SPEC = """\
schema = 1
[release]
name = "keys"
[data]
path = "keys.{data}"
[privacy]
unit = "row"
unit_description = "one visit"
adjacency = "add-remove"
epsilon = 400
delta = 1e-6
[ledger]
epsilon_cap = 1_000
delta_cap = 1e-3
[columns.town]
type = "string"
{nulls}
[[query]]
name = "visits"
statistic = "count"
by = ["town"]
partition_selection = {{ delta = 1e-8 }}
[output]
path = "out"
format = "{format}"
"""
ROWS = 40  # of each text: far above the threshold, and far above the noise
Release = Callable[..., Path]
LONG = "x" * 10**5
ONE_LINE = [
    "plain", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "'=quoted", "''", '"', '"a"', "a,b",
    "a;b", " lead", "trail ", "\u00e9", "\u1e69", "NULL", "null", "nan", "01", "1e3", "true",
    "2026-01-31", "\\n", "a|b", "<b>", "[x](y)", "`tick`", "*", "#", "\u202fthin", "\u200b",
    "\U0001f469\u200d\U0001f4bb", "\ufffd", "\uff1dfull", LONG, LONG + "y",
]  # fmt: skip
HOSTILE = [
    "a\nb", "a\r\nb", "\r", "\t=tab", "\x1b[2J\x1b[31mred", "\x07bell", "nul\0nul", "\x9b31m",
    "\u2028line", "\u2029par", "\ufeffbom", "\u202eevil.exe", "\u2066iso\u2069", "\x85nel",
    "e\u0301", "s\u0323\u0307", "",
]  # fmt: skip


def write_data(folder: Path, texts: list[str], form: str) -> None:
    if form == "parquet":
        pq.write_table(pa.table({"town": texts * ROWS}), folder / "keys.parquet")
        return
    with open(folder / "keys.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([["town"], *([text] for text in texts * ROWS)])


def unescape(field: str) -> str:
    """The text of a field, without the apostrophe that keeps spreadsheets from running it."""
    return field[1:] if re.match("''*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]", field) else field


@pytest.fixture
def released(cli: Callable[..., Any], folder: Path) -> Callable[..., Path]:
    """Release texts as private keys and give the folder of the release."""

    def run(texts: list[str], data: str, form: str, nulls: str = "") -> Path:
        write_data(folder, texts, data)
        spec = SPEC.format(data=data, format=form, nulls=nulls)
        (folder / "keys.toml").write_text(spec, encoding="utf-8")
        answer = cli("run", "keys.toml")
        assert (answer.code, answer.err) == (0, "")
        assert not re.search(CONTROLS, answer.out.replace("\n", ""))
        return folder / "out"

    return run


def list_expected(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        found[one_line(text)] = found.get(one_line(text), 0) + ROWS
    return found


def check_others(out: Path) -> None:
    """No file contains a control character, not even where keys might be quoted."""
    for file in filter(Path.is_file, out.iterdir()):
        if file.suffix != ".parquet":
            text = file.read_text(encoding="utf-8")
            assert not re.search(CONTROLS, text.replace("\n", ""))
            assert file.suffix == ".csv" or LONG[:2000] not in text
    json.loads((out / "report.json").read_text(encoding="utf-8"))


def is_near(counts: dict[str, int], wanted: dict[str, int]) -> bool:
    return all(abs(counts[key] - wanted[key]) < ROWS / 2 for key in wanted)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("data", ["parquet", "csv"])
def test_keys_in_csv_are_read_back_by_others(released: Release, data: str) -> None:
    texts = ONE_LINE + HOSTILE
    if data == "csv":  # a record is one line; an empty field is a null
        texts = [text for text in texts if text and not set(text) & set("\r\n\0")]
    out = released(texts, data, "csv")
    wanted = list_expected(texts)
    content = (out / "by_town.csv").read_bytes().decode("utf-8")
    lines = content.split("\n")
    assert len(lines) == len(wanted) + 2  # the header, and nothing after the last line feed
    assert content.splitlines() == lines[:-1]
    rows = list(csv.reader(io.StringIO(content, newline="")))
    counts = {unescape(row[0]): int(row[1]) for row in rows[1:]}
    assert set(counts) == set(wanted)
    assert is_near(counts, wanted)
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT town, visits FROM read_csv($1, header = true, all_varchar = true, "
            "allow_quoted_nulls = false)",
            [str(out / "by_town.csv")],
        ).fetchall()
    assert [[town, visits] for town, visits in found] == [row[:2] for row in rows[1:]]
    for key in wanted:
        assert len(key) <= LONGEST_KEY
        assert unicodedata.is_normalized("NFC", key)
    check_others(out)


def test_keys_in_parquet_are_read_back(released: Release) -> None:
    texts = ONE_LINE + HOSTILE
    out = released(texts, "parquet", "parquet")
    table = pq.read_table(out / "by_town.parquet").to_pydict()
    counts = dict(zip(table["town"], table["visits"], strict=True))
    wanted = list_expected(texts)
    assert len(table["town"]) == len(wanted)
    assert set(counts) == set(wanted)
    assert is_near(counts, wanted)
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT town FROM read_parquet($1)", [str(out / "by_town.parquet")]
        ).fetchall()
    assert {town for (town,) in found} == set(wanted)
    check_others(out)


def test_spellings_are_one_key(released: Release) -> None:
    """Of private keys; declared ones of two spellings are refused."""
    out = released(["\u00e9", "e\u0301", "\u212b", "A\u030a", "e"], "csv", "csv")
    with open(out / "by_town.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["town"] for row in rows] == ["e", "\u00c5", "\u00e9"]
    assert [round(int(row["visits"]) / ROWS) for row in rows] == [1, 2, 2]


def test_declared_keys_of_two_spellings_are_refused(cli: Callable[..., Any], folder: Path) -> None:
    write_data(folder, ["a"], "csv")
    keys = 'keys = ["\u00e9", "e\u0301"]'
    spec = SPEC.format(data="csv", format="csv", nulls=keys)
    (folder / "keys.toml").write_text(spec, encoding="utf-8")
    answer = cli("check", "keys.toml")
    assert answer.code == 2
    assert "E211" in answer.err
    assert "how accents are encoded" in answer.err


def test_a_null_label_is_a_key_like_others(released: Release) -> None:
    texts = ["e\u0301", "a", ""]
    out = released(texts, "csv", "csv", 'nulls = "\u00e9"')
    with open(out / "by_town.csv", encoding="utf-8", newline="") as stream:
        rows = {row["town"]: int(row["visits"]) for row in csv.DictReader(stream)}
    assert set(rows) == {"a", "\u00e9"}
    assert is_near(rows, {"a": ROWS, "\u00e9": 2 * ROWS})


@pytest.mark.parametrize(
    "expression", ["n", "sum(n)", "mean(by_city.n)", 'n[city="a"]', "1 + n / n"]
)
def test_figures_of_a_table_that_shows_no_key_are_not_combined(
    cli: Callable[..., Any], folder: Path, expression: str
) -> None:
    (folder / "rare.csv").write_text("city\na\nb\n")
    (folder / "rare.toml").write_text(
        'schema = 1\nrelease.name = "rare"\noutput.path = "rare"\ndata.path = "rare.csv"\n'
        'columns.city.type = "string"\n'
        "[privacy]\n"
        'unit = "row"\nunit_description = "one visit"\nadjacency = "add-remove"\n'
        "epsilon = 1\ndelta = 1e-6\n"
        '[[query]]\nname = "n"\nstatistic = "count"\nby = ["city"]\n'
        "partition_selection = { delta = 1e-7 }\n"
    )
    assert cli("run", "-q", "rare.toml").code == 0
    answer = cli("combine", "rare", expression)
    assert (answer.code, answer.out) == (2, "")
    assert 'n" has no cells: no key of its table reached the threshold' in answer.err
