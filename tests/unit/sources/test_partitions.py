"""Folders as columns, folders below folders, and what is passed over or refused there."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
from tables import counted, keyed

from dprelease.model import ColumnType, InputColumn, Source
from dprelease.sources.shared.files import resolve
from dprelease.sources.shared.partitions import find_partitions

SECRET = "zqxcanary"
TOWN = InputColumn("town", ColumnType.STRING)
PAY = InputColumn("pay", ColumnType.INTEGER)


def write(path: Path, **columns: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns or {"pay": [1, 2]}), path)


def counts(source: Source, label: str) -> list[int]:
    return counted(source, keyed("town", (label,), null="none"), PAY)


def refused(source: Source, *read: InputColumn) -> str:
    complaint = tables.refused(source, *(read or (TOWN, PAY)))
    assert SECRET not in f"{complaint.message}{complaint.hint}"
    return complaint.code


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("town=ayr", "ayr"),
        ("year=2026/town=ayr/part=1", "ayr"),
        ("town=New%20York", "New York"),
        ("town=a%2Fb%3Dc%25", "a/b=c%"),
        ("town=a=b", "a=b"),
        ("t%6Fwn=ayr", "ayr"),
        ("town=%C3%A9", "\u00e9"),
        ("town=\u00e9", "\u00e9"),
        ("town=%ff%zz", "\ufffd%zz"),
        ("_town=x/town=ayr", "ayr"),
        ("town=", None),
        ("town=__HIVE_DEFAULT_PARTITION__", None),
    ],
)
@pytest.mark.parametrize("pattern", ["", "/**/*.parquet", "*/**/*.parquet"])
def test_the_name_of_a_folder_is_a_value(
    folder: str, text: str | None, pattern: str, tmp_path: Path
) -> None:
    write(tmp_path / "data" / folder / "a.parquet")
    source = Source(f"{tmp_path}/data{pattern}".replace("data*", "d*"), "parquet")
    paths = resolve(source)
    assert find_partitions(source, paths, (TOWN, PAY)) == {"town": {paths[0]: text}}
    label = text or "ayr"
    assert counts(source, label) == ([0, 2] if text is None else [2, 0])


def test_a_folder_named_in_no_utf_8_is_refused(tmp_path: Path) -> None:
    folder = bytes(tmp_path / "data") + b"/town=zqxcanary\xff"
    os.makedirs(folder)
    write(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(os.fsdecode(folder + b"/a.parquet"))
    assert refused(Source(str(tmp_path / "data"), "parquet")) == "E402"


def test_what_lies_above_the_named_place_is_no_column(tmp_path: Path) -> None:
    write(tmp_path / "town=ayr" / "pay=7" / "a.parquet", pay=[1], town=["x"])
    for path in ("town=ayr/pay=7", "town=ayr/pay=7/a.parquet"):
        assert counts(Source(str(tmp_path / path), "parquet"), "x") == [1, 0]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({f"town={SECRET}/a": {"pay": [1], "town": [SECRET]}}, "E406"),
        ({f"town={SECRET}/town=b/a": {"pay": [1]}}, "E406"),
        ({f"town={SECRET}/a": {"pay": [1]}, "a": {"pay": [1]}}, "E407"),
        ({f"town={SECRET}/a": {"pay": [1]}, "town=b/a": {"pay": [["x"]]}}, "E412"),
        ({f"town={SECRET}/a": {"pay": [1]}, "town=b/a": {"old": [1]}}, "E405"),
        ({f"place={SECRET}/a": {"pay": [1]}}, "E405"),
    ],
)
def test_what_is_refused_names_no_folder(
    files: dict[str, dict[str, object]], code: str, tmp_path: Path
) -> None:
    for name, columns in files.items():
        write(tmp_path / "data" / f"{name}.parquet", **columns)
    assert refused(Source(str(tmp_path / "data"), "parquet")) == code


def test_a_damaged_file_or_a_zone_names_no_folder(tmp_path: Path) -> None:
    write(tmp_path / "data" / f"town={SECRET}" / "a.parquet")
    source = Source(str(tmp_path / "data"), "parquet")
    zoned = InputColumn("town", ColumnType.TIMESTAMP, zone="UTC")
    assert refused(source, zoned) == "E412"
    (tmp_path / "data" / f"town={SECRET}" / f"{SECRET}.parquet").write_bytes(b"PAR1")
    assert refused(source) == "E409"
    (tmp_path / "data" / f"town={SECRET}" / f"{SECRET}.parquet").write_bytes(b"")
    assert refused(source) == "E403"


def test_folders_are_read_with_those_below_but_hidden_ones(tmp_path: Path) -> None:
    below = ["a.csv", "b/a.csv", "b/c/d.CSV", "_k=1/a.csv", "e.csv/f.csv"]
    hidden = ["_a.csv", ".a.csv", "_tmp/a.csv", ".git/a.csv", "b/_log/c/a.csv", "b/a.txt", "_OK"]
    for name in below + hidden:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"town,pay\nayr,1\n")
    source = Source(str(tmp_path), "csv")
    assert resolve(source) == tuple(sorted(str(tmp_path / name) for name in below))
    assert counts(source, "ayr") == [5, 0]


def test_links_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "data" / "b").mkdir(parents=True)
    (tmp_path / "data" / "b" / "a.csv").write_bytes(b"town,pay\nayr,1\n")
    (tmp_path / "data" / "b" / "loop").symlink_to(tmp_path / "data", target_is_directory=True)
    (tmp_path / "data" / "a").symlink_to(tmp_path / "data" / "b", target_is_directory=True)
    (tmp_path / "data" / "z.csv").symlink_to(tmp_path / "data" / "b" / "a.csv")
    assert counts(Source(str(tmp_path / "data"), "csv"), "ayr") == [1, 0]


def test_a_folder_that_can_not_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / SECRET).mkdir()
    write(tmp_path / "a.parquet", town=["x"], pay=[1])
    scan = os.scandir

    def broken(path: str) -> object:
        if str(path).endswith(SECRET):
            raise PermissionError(13, SECRET, SECRET)
        return scan(path)

    monkeypatch.setattr(os, "scandir", broken)
    assert refused(Source(str(tmp_path), "parquet")) == "E402"
