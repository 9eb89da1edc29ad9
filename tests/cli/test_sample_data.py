"""The committed sample data is what its generators write, and is said to be made up."""

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.mark.parametrize("name", ["clinic_visits", "adult_sample", "labour_survey"])
def test_the_generator_writes_the_committed_bytes(tmp_path, name):
    program = SAMPLES / f"make_{name}.py"
    target = tmp_path / "made.csv"
    subprocess.run([sys.executable, program, target], check=True, timeout=60)
    committed = (SAMPLES / f"{name}.csv").read_bytes()
    assert target.read_bytes() == committed
    assert len(committed) < 2_000_000
    assert "made-up" in program.read_text(encoding="utf-8").split('"""')[1]


def test_the_readme_says_that_it_is_synthetic():
    assert "synthetic" in (SAMPLES / "README.md").read_text(encoding="utf-8")


def test_the_clinic_file_has_the_blemishes_it_promises():
    lines = (SAMPLES / "clinic_visits.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 20_001
    text = "\n".join(lines)
    for blemish in (",n/a,", ",-3,", ",999,", " EUR,", ",abroad,", ",130,", ',"moved, then'):
        assert blemish in text
    assert sum(line.count('"') % 2 for line in lines) == 1


def test_the_census_look_alike_has_its_shape():
    lines = (SAMPLES / "adult_sample.csv").read_text(encoding="utf-8").split("\n")
    assert lines[-1:] == [""]
    assert len(lines) == 201
    assert {line.count(", ") for line in lines[:200]} == {14}
    assert any(", ?, " in line for line in lines)
