"""A few seconds of the fuzzing programs, always with the same cases first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import drawn_specs
import fuzz_csv
import fuzz_csv_readers
import fuzz_releases
import fuzz_spec
import pytest
from thorough import examples, is_thorough
from timed import run_for

from dprelease.local.perturb_section import PerturbSection
from dprelease.specfile.schema.sections import ColumnSection, PostprocessSection, QuerySection


def test_specs(tmp_path: Path) -> None:
    fuzz_spec.use_folder(tmp_path)
    assert run_for(3 if is_thorough() else 1, 1, fuzz_spec.check, fuzz_spec.CASES) > 0


def test_releases() -> None:
    seed = time.time_ns() if os.environ.get("DPRELEASE_RANDOM_EXAMPLES") else 1
    tally = fuzz_releases.run_for(600, seed, examples(20, 7))
    assert tally.findings == []
    assert tally.released > 0


@pytest.mark.parametrize(
    ("section", "drawn"),
    [
        (QuerySection, {*drawn_specs.values_of, "name", "statistic"}),
        (PostprocessSection, {*drawn_specs.values_of}),
        (PerturbSection, {*drawn_specs.perturb_values_of, "name", "columns"}),
        (ColumnSection, {*drawn_specs.column_values_of, *drawn_specs.NOT_BY_CHANCE}),
    ],
)
def test_specs_are_drawn_with_every_key(section: type, drawn: set[str]) -> None:
    """A new key needs values in ``drawn_specs``, so that it is met together with all others."""
    assert {*drawn_specs.keys_of(section)} - drawn_specs.NOT_DRAWN <= drawn


@pytest.mark.thorough
def test_csv_files(tmp_path: Path) -> None:
    fuzz_csv.use_folder(tmp_path)
    assert run_for(3, 1, fuzz_csv.check, fuzz_csv.CASES) > 0


@pytest.mark.thorough
def test_lines_of_csv_by_every_reader(tmp_path: Path) -> None:
    assert fuzz_csv_readers.run(tmp_path, examples(20_000, 20), 1).roles >= examples(20_000, 20)


def test_what_a_case_raises_is_seen() -> None:
    def broken(case: tuple[str, int, list[object]]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_for(3, 1, broken, fuzz_spec.CASES)
