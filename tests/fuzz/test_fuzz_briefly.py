"""A few seconds of the fuzzing programs, always with the same cases first."""

from __future__ import annotations

from pathlib import Path

import fuzz_csv
import fuzz_csv_readers
import fuzz_spec
import pytest
from thorough import examples, is_thorough
from timed import run_for


def test_specs(tmp_path: Path) -> None:
    fuzz_spec.use_folder(tmp_path)
    assert run_for(3 if is_thorough() else 1, 1, fuzz_spec.check, fuzz_spec.CASES) > 0


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
