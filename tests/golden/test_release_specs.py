"""Every release spec runs, with noise injected, and gives the tables that are kept here.

After a change that is meant to change them: DPRELEASE_UPDATE_GOLDEN=1 pytest tests/golden
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import frictionless
import pytest

import dprelease
from dprelease.writers.csv_table import csv_bytes

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"
SPECS = sorted(path.stem for path in (ROOT / "release_specs").glob("*.toml"))
EVERY_STATISTIC = {"every_statistic_people", "every_statistic_rows"}


class NamedEntropy:
    """SHAKE-256 of a name and a counter."""

    def __init__(self, name: str) -> None:
        self.name, self.reads = name, 0

    def read(self, size: int) -> bytes:
        self.reads += 1
        return hashlib.shake_256(f"{self.name}/{self.reads}".encode()).digest(size)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("release_specs", "sample_data"):
        ignored = shutil.ignore_patterns("*.sqlite*")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    return tmp_path


@pytest.mark.parametrize("name", SPECS)
def test_release_spec(name: str, checkout: Path) -> None:
    spec = checkout / "release_specs" / f"{name}.toml"
    result = dprelease.run(spec, entropy=NamedEntropy(name))
    assert not result.already_released
    found = {f"{table.name}.csv": csv_bytes(table) for table in result.output_tables}
    kept = EXPECTED / name
    if os.environ.get("DPRELEASE_UPDATE_GOLDEN"):
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for file, content in found.items():
            (kept / file).write_bytes(content)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == found

    again = dprelease.run(spec)
    assert again.already_released
    assert again.report == result.report
    output = Path(result.output)
    assert {path.name for path in output.iterdir()} == set(result.files)
    assert json.loads((output / "report.json").read_bytes()) == result.report
    if name in EVERY_STATISTIC:  # private keys too
        checked = frictionless.validate(str(output / "datapackage.json"))
        assert checked.flatten(["taskNumber", "type", "message"]) == []
        assert len(checked.tasks) == len(result.files) - 1


def test_there_are_no_golden_tables_without_a_spec() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == set(SPECS)
