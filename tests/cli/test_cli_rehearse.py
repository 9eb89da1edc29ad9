"""``dprelease rehearse``: a release on made-up records, which nothing takes for a release."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

import dprelease

MARK = "REHEARSAL"
TABLE = "REHEARSAL_by_region.csv"
FILES = [TABLE, "datapackage.json", "figures", "report.html", "report.json", "report.md"]


@pytest.fixture
def rehearsed(cli, folder: Path) -> Path:
    os.unlink(folder / "small.csv")
    answer = cli("rehearse", "--rows", "500", "small.toml")
    assert (answer.code, answer.err) == (0, "")
    return folder / "out-rehearsal"


def test_a_disk_that_fills_up_says_that_nothing_was_charged(cli, folder, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dprelease.output.publish.stage", full)
    answer = cli("rehearse", "small.toml")
    assert answer.code == 6
    assert "E802" in answer.err
    assert "nothing" in answer.err
    assert "sealed" not in answer.err
    assert not (folder / "out-rehearsal").exists()


def test_made_up_dates_have_no_format(cli, folder):
    spec = (folder / "small.toml").read_text(encoding="utf-8")
    column = (
        '[columns.day]\ntype = "timestamp"\nformat = "%d.%m.%Y %H:%M %z"\nzone = "Asia/Tokyo"\n'
    )
    spec = spec.replace('name = "visits"\n', 'name = "visits"\nwhere = "MONTH(day) > 6"\n')
    (folder / "dated.toml").write_text(f"{spec}\n{column}", encoding="utf-8")
    answer = cli("rehearse", "dated.toml")
    assert (answer.code, answer.err) == (0, "")


def test_all_that_it_writes_is_marked(rehearsed):
    assert sorted(path.name for path in rehearsed.iterdir()) == FILES
    for name in ("report.html", "report.md", "report.json", "datapackage.json"):
        assert MARK in (rehearsed / name).read_text(encoding="utf-8"), name
    html = (rehearsed / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<title>REHEARSAL: small", html)
    assert '<aside class="mark">REHEARSAL' in html  # a landmark: readers of screens find it
    assert "Rehearsed at" in html
    assert "Released at" not in html
    assert "application/ld+json" not in html
    assert (rehearsed / "report.md").read_text(encoding="utf-8").startswith("# REHEARSAL: small")
    report = json.loads((rehearsed / "report.json").read_text(encoding="utf-8"))
    assert report["rehearsal"] is True
    assert report["schema"] == "dprelease/rehearsed-report/1"
    assert "plan" not in report["provenance"]
    assert report["tables"][0]["title"].startswith(MARK)
    package = json.loads((rehearsed / "datapackage.json").read_text(encoding="utf-8"))
    assert package["rehearsal"] is True
    assert package["title"].startswith(MARK)
    assert all(MARK in one["title"] for one in package["resources"] if one["type"] == "table")


def test_counts_are_those_of_the_made_up_records_with_the_noise_of_a_run(rehearsed):
    lines = (rehearsed / TABLE).read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    rows = [dict(zip(head, line.split(","), strict=True)) for line in lines[1:]]
    assert [row["region"] for row in rows] == ["north", "south"]
    assert all(abs(int(row["visits"]) - 245) < 80 for row in rows)  # 500, less nulls
    assert all(abs(float(row["mean_days"]) - 50) < 15 for row in rows)
    assert {row["visits_noise_moe"] for row in rows} == {"5"}


def test_noise_is_drawn_anew(cli, rehearsed):
    tables = {(rehearsed / TABLE).read_bytes()}
    for _ in range(3):
        assert cli("rehearse", "--rows", "500", "small.toml").code == 0
        tables.add((rehearsed / TABLE).read_bytes())
    assert len(tables) > 1


def test_a_run_is_not_disturbed_before_or_after(cli, folder):
    assert cli("rehearse", "small.toml").code == 0
    answer = cli("run", "small.toml")
    assert answer.code == 0
    assert answer.out.startswith("small: released")
    before = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    assert cli("rehearse", "small.toml").code == 0
    again = cli("run", "small.toml")
    assert "already released" in again.out
    assert {path: path.read_bytes() for path in before} == before
    assert MARK not in (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "rehearsal" not in cli("show", "--json", "out").json


@pytest.mark.parametrize(
    "option", [("--rows", "0"), ("--rows", "many"), ("--rows", "10000001"), ("--distribution", "x")]
)
def test_a_bad_option_is_named(cli, option):
    answer = cli("rehearse", *option, "small.toml")
    assert answer.code == 2
    assert option[0] in answer.err


def test_a_report_in_german_keeps_the_word(cli, spec, folder):
    name = spec(("[output]", '[report]\nlanguage = "de"\n\n[output]'))
    assert cli("rehearse", "--rows", "50", name).code == 0
    page = (folder / "out-rehearsal" / "report.html").read_text(encoding="utf-8")
    assert "<title>REHEARSAL (Probelauf): small" in page
    assert "erfunden" in page


def test_from_python_with_tables_and_records(folder, tmp_path):
    text = (folder / "small.toml").read_text(encoding="utf-8")
    records = '[[perturb]]\nname = "answers"\ncolumns = ["region", "days"]\nepsilon = 0.5\n'
    text = text.replace("add-remove", "replace-one").replace("epsilon = 1.0", "epsilon = 1.5")
    (folder / "records.toml").write_text(f"{text}\n{records}", encoding="utf-8")
    result = dprelease.rehearse(folder / "records.toml", rows=40, output=tmp_path / "tried")
    assert result.tables["answers"].num_rows == 40
    assert result.tables["by_region"].num_rows == 2
    assert result.report["rehearsal"] is True
    assert result.records[0].stored.path == str(tmp_path / "tried" / "REHEARSAL_answers.csv")
    with pytest.raises(ValueError, match="distributions"):
        dprelease.rehearse(folder / "records.toml", distribution="odd")


def test_its_charts_and_identity_are_not_those_of_the_release(cli, rehearsed, folder):
    charts = list((rehearsed / "figures").iterdir())
    assert charts
    for chart in charts:
        assert chart.name.startswith(MARK)
        assert json.loads(chart.read_text(encoding="utf-8"))["title"].startswith(MARK)
    (folder / "small.csv").write_text("region,days\nnorth,3\n", encoding="utf-8")
    assert cli("run", "small.toml").code == 0
    released = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    report = json.loads((rehearsed / "report.json").read_text(encoding="utf-8"))
    assert released["provenance"]["run_id"] != report["provenance"]["run_id"]
