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


def test_each_period_has_revisions_of_its_own(cli, spec, folder):
    moved = ('path = "small.csv"', 'path = "small-{period}.csv"')
    out = ('path = "out"', 'path = "out/{period}/r{revision}"')
    cap = ("epsilon_cap = 2.5", 'dataset = "small"\nepsilon_cap = 9')
    for month in ("2026-01", "2026-02"):
        shutil.copy(folder / "small.csv", folder / f"small-{month}.csv")
    spec(moved, out, cap)
    for month in ("2026-01", "2026-02"):
        assert cli("run", "-q", "--period", month, "small.toml").code == 0
    spec(moved, out, cap, CORRECTED)
    assert cli("run", "-q", "--period", "2026-01", "small.toml").code == 0
    assert sorted(os.listdir(folder / "out" / "2026-01")) == ["r1", "r2"]
    assert sorted(os.listdir(folder / "out" / "2026-02")) == ["r1"]


def test_a_lost_ledger_is_noticed_by_the_first_revision(cli, revised):
    assert cli("run", "-q", "small.toml").code == 0
    for file in (LEDGER, f"{LEDGER}.witness"):
        os.unlink(revised / file)
    answer = cli("run", "-q", "small.toml")
    assert (answer.code, "E618" in answer.err) == (6, True)
    assert sorted(os.listdir(revised / "out")) == ["visits-1"]


def test_a_revision_that_can_not_be_written_stops_before_the_charge(cli, revised):
    (revised / "out").mkdir()
    (revised / "out" / "visits-1").write_text("mine")
    answer = cli("run", "-q", "small.toml")
    assert answer.code == 2
    assert cli("budget", "show", "--json").json["head"]["entries"] == 0


def test_a_revision_over_the_ledger_is_refused(cli, spec, folder):
    spec(('path = "out"', 'path = "r{revision}"'), ("epsilon_cap", 'path = "r1/l"\nepsilon_cap'))
    (folder / "r1").mkdir()
    answer = cli("run", "-q", "small.toml")
    assert (answer.code, "E227" in answer.err) == (2, True)
    assert os.listdir(folder / "r1") in ([], ["l"], ["l.witness", "l"], ["l", "l.witness"])


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


def test_a_title_with_a_period_that_nothing_fills_is_refused(cli, spec, folder):
    spec(TITLED)
    answer = cli("check", "small.toml")
    assert answer.code == 2
    assert "no period is given" in answer.err + answer.out
    told = cli("check", "--period", "2026-01", "small.toml")
    assert told.code == 2
    assert "no path or snapshot contains it" in told.err + told.out


def test_a_dataset_has_one_name_for_all_periods(cli, spec, folder):
    spec(('path = "small.csv"', 'path = "small-{period}.csv"'),
         ("epsilon_cap = 2.5", 'dataset = "small-{period}"\nepsilon_cap = 2.5'))  # fmt: skip
    answer = cli("check", "--period", "2026-01", "small.toml")
    assert answer.code == 2
    said = answer.err + answer.out
    assert "E226 the name of the dataset contains {period}" in said


def test_what_is_left_is_shown_for_the_period_asked(cli, spec, folder):
    spec(('path = "small.csv"', 'path = "small-{period}.csv"'), ('"out"', '"out/{period}"'),
         ("epsilon_cap = 2.5", 'dataset = "s"\ndisjoint_periods = true\nepsilon_cap = 2.5')
         )  # fmt: skip
    shutil.copy(folder / "small.csv", folder / "small-2026-01.csv")
    assert cli("run", "-q", "--period", "2026-01", "small.toml").code == 0
    for period, left in (("2026-01", "1.5"), ("2026", "1.5"), ("2026-02", "2.5")):
        shown = cli("budget", "show", "small.toml", "--period", period).out
        assert f"cap      epsilon 2.5, left {left} for {period}\n" in shown
    (dataset,) = cli("budget", "show", "small.toml", "--period", "2026-02", "--json").json[
        "datasets"
    ]
    assert (dataset["left"]["epsilon"], dataset["left_for"]) == (2.5, "2026-02")
    assert dataset["spent"]["epsilon"] == 1


# --- rho ----------------------------------------------------------------------------------------


def test_a_cap_on_rho_in_a_spec(cli, spec, folder):
    changes = [("epsilon_cap = 2.5", "rho_cap = 0.5")]  # two counts at epsilon 0.5: rho 0.25
    spec(*changes)
    checked = cli("check", "small.toml")
    assert "W201" not in checked.err + checked.out
    assert cli("run", "-q", "small.toml").code == 0
    (dataset,) = cli("budget", "show", "small.toml", "--json").json["datasets"]
    rho = dataset["cap"]["rho"] - dataset["left"]["rho"]
    assert 0 < rho <= 0.5
    spec(("epsilon_cap = 2.5", f"rho_cap = {rho * 1.5:.6f}"), ('name = "small"', 'name = "second"'),
         ('"out"', '"out2"'))  # fmt: skip
    for command in ("plan", "run"):
        answer = cli(command, "-q", "small.toml")
        assert answer.code == 3
        assert "would come to rho" in answer.err
    assert cli("budget", "cap", "small.csv", "--rho", "0.01", "--reason", "x").code == 0
    answer = cli("run", "-q", "small.toml")
    assert (answer.code, "E305 rho_cap" in answer.err) == (3, True)


def test_a_cap_on_rho_changes_neither_identity_nor_saved_plan(cli, spec, folder):
    assert cli("plan", "-o", "p.json", "small.toml").code == 0
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 0
    spec(("epsilon_cap = 2.5", "epsilon_cap = 2.5\nrho_cap = 3"))
    assert cli("run", "-q", "--plan", "p.json", "small.toml").code == 2
    again = dprelease.run(folder / "small.toml")
    assert not again.charged
