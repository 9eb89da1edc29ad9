"""The reports of some release specs read, word by word, as they are kept here in three languages.

After a change of words: DPRELEASE_UPDATE_GOLDEN=1 pytest tests/golden/test_reports.py, and read the
difference. The specs are chosen so that their reports hold nearly all sentences that there are.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

import dprelease
from dprelease.language import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
REPORTS = Path(__file__).parent / "reports"
SPECS = [
    "every_statistic_rows",
    "clinic_records",
    "clinic_finished",
    "every_statistic_people",
    "labour_survey",
    "clinic_gaussian",
    "clinic_replace_one",
]
MASKS = [
    (re.compile(r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "TIME"),
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"), "TIME"),
    (re.compile(r" \(20\d\d\)(?=:|\.)"), " (YEAR)"),
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}…"), "DIGEST"),
    (re.compile(r"\b\d+\.\d+\.\d+(\.dev\d+)?\b"), "VERSION"),
]


def mask(report: str) -> str:
    """Leave out what is another in each run: moments, digests and versions."""
    for pattern, word in MASKS:
        report = pattern.sub(word, report)
    return report


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SPECS)
def test_a_report_reads_as_it_is_kept(
    name: str, tmp_path: Path, entropy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100000")  # no table is shown in parts
    for folder in ("release_specs", "sample_data"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.sqlite*")
        )
    release = replace(
        dprelease.load(tmp_path / "release_specs" / f"{name}.toml"), report_formats=("json", "md")
    )
    found = {}
    for language in LANGUAGES:  # drawn once: what was released is free in other words
        stated = replace(release, report_language=language)
        result = dprelease.run(stated, entropy=entropy, output=tmp_path / language)
        report = (Path(result.output) / "report.md").read_text(encoding="utf-8")
        found[language] = mask(report)
    kept = {language: REPORTS / f"{name}.{language}.md" for language in LANGUAGES}
    if os.environ.get("DPRELEASE_UPDATE_GOLDEN"):
        REPORTS.mkdir(exist_ok=True)
        for language, file in kept.items():
            file.write_text(found[language], encoding="utf-8")
    assert {language: file.read_text(encoding="utf-8") for language, file in kept.items()} == found


def test_no_report_is_kept_without_a_spec() -> None:
    assert {file.stem.partition(".")[0] for file in REPORTS.iterdir()} == set(SPECS)
