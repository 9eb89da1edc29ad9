"""Shares are of the records for which their condition is known, and say so."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import dprelease

SPEC = """\
schema = 1
release.name = "shares"
output.path = "out"

[data]
path = "ages.csv"

[privacy]
unit = "row"
unit_description = "one person"
adjacency = "add-remove"
epsilon = 4000

[columns.age]
type = "integer"
lower = 0
upper = 100
source = "public: rule"

[columns.region]
type = "string"
keys = ["north", "south"]
other = "elsewhere"
nulls = "elsewhere"
source = "public: map"

[[query]]
name = "old"
statistic = "proportion"
where = "age >= 65"

[[query]]
name = "people"
statistic = "count"
by = ["region"]

[[query]]
name = "young"
statistic = "count"
where = "age < 20"
"""
SPARSE = (
    SPEC.partition("[[query]]")[0]
    .replace("epsilon = 4000", "epsilon = 4")
    .replace('other = "elsewhere"\nnulls = "elsewhere"\n', "")
    # So wide that noise on 0 is as good as never beyond it.
    .replace("[data]", "output.interval = 0.999999\n\n[data]")
)
KNOWN, OLD = 750, 280
AGES = ["70"] * OLD + ["30"] * (KNOWN - OLD) + ["6,5"] * 150 + [""] * 100


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shares.toml").write_text(SPEC)
    rows = [f'"{age}",{"north" if at % 2 else "south"}' for at, age in enumerate(AGES)]
    (tmp_path / "ages.csv").write_text("\n".join(["age,region", *rows]) + "\n")
    return tmp_path


def read_overall(folder: Path) -> dict[str, str]:
    with (folder / "out" / "overall.csv").open() as file:
        return next(csv.DictReader(file))


def test_a_share_is_of_the_records_whose_condition_is_known(cli: Callable, folder: Path) -> None:
    plan = cli("plan", "shares.toml").out
    assert "A proportion is of the records for which its condition is true or false" in plan
    ran = cli("run", "shares.toml")
    assert ran.code == 0, ran.err
    row = read_overall(folder)
    assert float(row["old"]) == pytest.approx(OLD / KNOWN, abs=1e-3)
    assert int(row["old_count"]) == KNOWN
    assert float(row["old_low"]) <= OLD / KNOWN <= float(row["old_high"])
    report = (folder / "out" / "report.md").read_text()
    assert "a share of the records for which the condition is true or false" in report
    facts = json.loads((folder / "out" / "report.json").read_text())
    assert facts["queries"][0]["among"] == "(age >= 65) IS NOT NULL"


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ('statistic = "proportion"\nwhere = "age >= 65"', "q_count"),
        ('statistic = "mean"\ncolumn = "age"', "q_count"),
        ('statistic = "count"\nwhere = "age >= 65"', "q"),
        ('statistic = "proportion"\nwhere = "COALESCE(age >= 65, FALSE)"', "q"),
    ],
)
def test_what_reads_nothing_of_the_data_is_noted(
    cli: Callable, folder: Path, query: str, named: str
) -> None:
    """Beside a count of all records, which is as it should be."""
    text = (
        SPARSE + f'[[query]]\nname = "n"\nstatistic = "count"\n\n[[query]]\nname = "q"\n{query}\n'
    )
    (folder / "shares.toml").write_text(text)
    (folder / "ages.csv").write_text("age,region\n" + '"6,5",nowhere\n' * 1000)
    ran = cli("run", "shares.toml")
    assert ran.code == 0, ran.err
    found = re.search(
        r"Every figure of ([\w, ]+) in the table overall is within its noise", ran.err
    )
    assert found is not None
    assert named in found[1].split(", ")
    assert "n" not in found[1].split(", ")


def test_names_of_keys_that_match_nothing_are_noted(cli: Callable, folder: Path) -> None:
    text = SPARSE
    for name, statistic in {"most": "mode", "by_name": "histogram"}.items():
        text += f'[[query]]\nname = "{name}"\nstatistic = "{statistic}"\ncolumn = "region"\n\n'
    (folder / "shares.toml").write_text(text)
    (folder / "ages.csv").write_text("age,region\n" + "30,nowhere\n" * 1000)
    ran = cli("run", "shares.toml")
    assert ran.code == 0, ran.err
    assert read_overall(folder)["most_flag"] == "low_reliability"
    assert "Every name of most in the table overall may be a guess" in ran.err


def test_a_share_of_all_records_stays_what_it_is(cli: Callable, folder: Path) -> None:
    """Version 0.2 released such; only new noise is new."""
    release = dprelease.load("shares.toml")
    earlier = replace(release, queries=tuple(replace(one, among=None) for one in release.queries))
    dprelease.run(earlier)
    before = (folder / "out" / "overall.csv").read_bytes()
    assert float(read_overall(folder)["old"]) == pytest.approx(OLD / len(AGES), abs=1e-3)
    again = cli("run", "shares.toml")
    assert again.code == 0, again.err
    assert "already released" in again.out
    assert "nothing was spent" in again.out
    assert (folder / "out" / "overall.csv").read_bytes() == before
    report = (folder / "out" / "report.md").read_text()
    assert "It is a share of all records of the cell" in report
    renewed = cli("run", "--new-noise", "shares.toml")
    assert renewed.code == 0, renewed.err
    assert float(read_overall(folder)["old"]) == pytest.approx(OLD / KNOWN, abs=1e-3)


def test_a_condition_that_could_not_be_known_is_refused_at_its_place(
    cli: Callable, folder: Path
) -> None:
    """It may be as long as an expression is allowed to be, and what holds it is longer."""
    text = SPEC.replace("age >= 65", f"age >={' ' * (4000 - len('age >=65'))}65")
    (folder / "shares.toml").write_text(text)
    checked = cli("check", "shares.toml")
    assert checked.code == 2
    assert "more than 4000 characters" in checked.err
    assert "shares.toml:30:9" in checked.err + checked.out


def test_shares_of_the_same_records_have_one_count(cli: Callable, folder: Path) -> None:
    """It is fitted to the integers of all, in tables, report and whatever is combined of them."""
    text = SPEC.partition("[[query]]")[0].replace("epsilon = 4000", "epsilon = 2")
    for at, where in enumerate(("age >= 65", "age BETWEEN 20 AND 40", "NOT age < 20")):
        text += f'[[query]]\nname = "s{at}"\nstatistic = "proportion"\nwhere = "{where}"\n\n'
    (folder / "shares.toml").write_text(text)
    ran = cli("run", "shares.toml")
    assert ran.code == 0, ran.err
    row = read_overall(folder)
    counts = {(row[f"s{at}_count"], row[f"s{at}_count_noise_moe"]) for at in range(3)}
    assert len(counts) == 1
    (count, half), *_ = counts
    assert abs(int(count) - KNOWN) <= 2 * int(half)
    facts = json.loads((folder / "out" / "report.json").read_text())
    linear = [query["linear"][0] for query in facts["queries"]]
    assert [(each["fitted"], each["weight"]) for each in linear] == [("s0", "1/3")] * 3
    combined = json.loads(cli("combine", "--json", "out", "s0_count").out)
    assert (combined["value"], combined["noise_halfwidth"]) == (int(count), int(half))
    share = json.loads(cli("combine", "--json", "out", "s1").out)
    assert share["value"] == float(row["s1"])
    assert share["noise_halfwidth"] == pytest.approx(float(row["s1_noise_moe"]), abs=1 / KNOWN)
    before = (folder / "out" / "overall.csv").read_bytes()
    shutil.rmtree(folder / "out")
    assert "nothing was spent" in cli("run", "shares.toml").out
    assert (folder / "out" / "overall.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Read together with s1 and s2, as all are shares of the same records"),
        ("de", "Zusammen gelesen mit s1 und s2, denn alle sind Anteile derselben Datensätze"),
        ("fr", "Lu avec s1 et s2, car toutes sont des parts des mêmes enregistrements"),
    ],
)
def test_the_report_says_what_is_read_together(
    cli: Callable, folder: Path, language: str, words: str
) -> None:
    text = SPEC.partition("[[query]]")[0] + f'[report]\nlanguage = "{language}"\n'
    for at in range(3):
        where = f"age >= {at}"
        text += f'[[query]]\nname = "s{at}"\nstatistic = "proportion"\nwhere = "{where}"\n\n'
    (folder / "shares.toml").write_text(text)
    ran = cli("run", "shares.toml")
    assert ran.code == 0, ran.err
    assert words in (folder / "out" / "report.md").read_text()
