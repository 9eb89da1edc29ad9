"""Revisions that keep the one before, periods in texts for people, caps on rho in a spec."""

import json
import os
import shutil
from pathlib import Path

import pytest

import dprelease

LEDGER = "dprelease-ledger.sqlite"
REVISED = ('path = "out"', 'path = "out/visits-{revision}"')
CORRECTED = ("upper = 100", "upper = 50")


def report(folder: Path, name: str) -> dict[str, object]:
    text = (folder / "out" / name / "report.json").read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text)
    return found


@pytest.fixture
def revised(folder: Path, spec) -> Path:
    spec(REVISED)
    return folder


def test_a_corrected_release_keeps_the_one_before(cli, spec, revised):
    first = cli("run", "--json", "small.toml")
    assert first.code == 0, first.err
    assert first.json["output"].endswith("out/visits-1")
    before = {path: path.read_bytes() for path in (revised / "out" / "visits-1").glob("*.*")}
    original = (revised / "small.toml").read_text(encoding="utf-8")
    spec(REVISED, CORRECTED)
    assert cli("run", "-q", "small.toml").code == 0
    assert sorted(os.listdir(revised / "out")) == ["visits-1", "visits-2"]
    assert all(path.read_bytes() == content for path, content in before.items())
    # Each revision stays where it is when it is run again, and so does an edited text.
    (revised / "small.toml").write_text(original.replace('"small"\n', '"small"\ntitle = "T"\n', 1))
    again = dprelease.run(revised / "small.toml")
    assert (again.charged, os.path.basename(again.output)) == (False, "visits-1")
    assert sorted(os.listdir(revised / "out")) == ["visits-1", "visits-2"]
    assert report(revised, "visits-1") != report(revised, "visits-2")


def test_a_release_of_another_name_or_dataset_begins_with_1(cli, spec, revised):
    assert cli("run", "-q", "small.toml").code == 0
    spec(('path = "out"', 'path = "out/other-{revision}"'), ('name = "small"', 'name = "other"'))
    assert cli("run", "-q", "small.toml").code == 0
    assert sorted(os.listdir(revised / "out")) == ["other-1", "visits-1"]


def test_a_lost_ledger_is_noticed_by_the_first_revision(cli, revised):
    assert cli("run", "-q", "small.toml").code == 0
    for file in (LEDGER, f"{LEDGER}.witness"):
        os.unlink(revised / file)
    answer = cli("run", "-q", "small.toml")
    assert (answer.code, "E618" in answer.err) == (6, True)
    assert sorted(os.listdir(revised / "out")) == ["visits-1"]


def test_plan_and_rehearsal_take_a_spec_with_revisions(cli, revised):
    assert cli("plan", "-o", "p.json", "small.toml").code == 0
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 0
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 0
    rehearsed = cli("rehearse", "--json", "small.toml")
    assert rehearsed.code == 0, rehearsed.err
    assert sorted(os.listdir(revised / "out")) == ["visits-1", "visits-1-rehearsal"]


# --- periods ------------------------------------------------------------------------------------

TITLED = (
    'name = "small"',
    'name = "small"\ntitle = "Visits of {period}"\npurpose = "For {period}"',
)


def test_titles_and_purposes_tell_the_period(cli, spec, folder):
    shutil.copy(folder / "small.csv", folder / "small-2026-01.csv")
    spec(TITLED, ('path = "small.csv"', 'path = "small-{period}.csv"'),
         ('[output]\n', '[output]\ntitles = { by_region = "In {period}" }\n'))  # fmt: skip
    assert cli("run", "-q", "--period", "2026-01", "small.toml").code == 0
    page = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "Visits of 2026-01" in page
    assert "For 2026-01" in page
    assert "In 2026-01" in page
    assert "of {period}" not in page


# --- rho ----------------------------------------------------------------------------------------


def test_a_cap_on_rho_changes_neither_identity_nor_saved_plan(cli, spec, folder):
    assert cli("plan", "-o", "p.json", "small.toml").code == 0
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 0
    spec(("epsilon_cap = 2.5", "epsilon_cap = 2.5\nrho_cap = 3"))
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 2
    again = dprelease.run(folder / "small.toml")
    assert not again.charged
