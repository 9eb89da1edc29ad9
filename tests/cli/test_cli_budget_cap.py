"""Caps that are set in the ledger, and a ledger that is not the one of the output folder."""

import json
import shutil
from pathlib import Path

import pytest

import dprelease

LEDGER = "dprelease-ledger.sqlite"
CAP = ("budget", "cap", "small.csv", "--reason", "board of 3 March")


@pytest.fixture
def uncapped(folder: Path, spec) -> Path:
    spec(("epsilon_cap = 2.5", ""))
    return folder


MONTHLY = (
    ('path = "small.csv"', 'path = "small-{period}.csv"\nsnapshot = "of {period}"'),
    ('path = "out"', 'path = "out/{period}"'),
)


@pytest.fixture
def monthly(folder: Path, spec) -> Path:
    """A spec with a period, and two months of data."""
    spec(*MONTHLY, ("epsilon_cap = 2.5", 'dataset = "small"\nepsilon_cap = 2.5'))
    for month in ("2026-01", "2026-02"):
        shutil.copy(folder / "small.csv", folder / f"small-{month}.csv")
    return folder


def test_a_cap_of_the_ledger_holds_a_spec_without_one(cli, spec, uncapped):
    told = cli(*CAP, "--epsilon", "1.5")
    new = f"note: {LEDGER} is a new ledger, which held no other entry.\n"  # or its path is misspelt
    assert (told.code, told.err) == (0, new)
    assert told.out == f'{LEDGER}: cap of "small.csv": epsilon 1.5, left 1.5\n'
    assert "0.5 left of the cap 1.5" in cli("plan", "small.toml").out
    assert 'epsilon 0.5 of 1.5 for "small.csv"' in cli("run", "small.toml").out
    report = json.loads((uncapped / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["ledger"]["cap"] == {"epsilon": 1.5, "delta": None}
    spec(("epsilon_cap = 2.5", ""), ('name = "small"', 'name = "second"'),
         ('path = "out"', 'path = "second"'))  # fmt: skip
    for command in ("plan", "run"):
        answer = cli(command, "-q", "small.toml")
        assert answer.code == 3
        assert "E301" in answer.err
        assert "the charges are: small (entry 2)" in answer.err
    shown = cli("budget", "show").out
    assert "sets the ledger's cap: epsilon 1.5 (board of 3 March)" in shown
    assert "cap      epsilon 1.5, left 0.5" in shown


def test_a_cap_below_what_was_spent_is_taken_and_said(cli, uncapped):
    dprelease.run(uncapped / "small.toml")
    answer = cli(*CAP, "--epsilon", "0.25", "--json")
    assert answer.code == 0
    assert answer.err == ("note: the cap is at or below the spent budget: nothing remains\n")
    assert answer.json["left"]["epsilon"] == 0
    (dataset,) = cli("budget", "show", "--json").json["datasets"]
    assert [(cap["entry"], cap["epsilon"], cap["reason"]) for cap in dataset["caps"]] == [
        (4, 0.25, "board of 3 March")
    ]
    (change,) = dataset["cap_changes"]
    assert (change["entry"], change["cap"], change["from"], change["to"], change["raised"]) == (
        4, "epsilon", None, 0.25, False
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "why"),
    [((*CAP,), "no cap is given"),
     ((*CAP, "--epsilon", "0"), "not above 0"),
     ((*CAP, "--epsilon", "nan"), "--epsilon"),
     ((*CAP, "--epsilon", "ten"), "neither a number nor"),
     ((*CAP, "--delta", "1"), "--delta"),
     (("budget", "cap", "small.csv", "--epsilon", "1"), "--reason"),
     (("budget", "cap", "small.csv", "--epsilon", "1", "--reason", " "), "a line of text"),
     (("budget", "cap", "a\nb", "--epsilon", "1", "--reason", "x"), "a line of text")],
)  # fmt: skip
def test_a_cap_that_makes_no_sense_is_refused_and_makes_no_ledger(cli, folder, arguments, why):
    answer = cli(*arguments)
    assert answer.code == 2
    assert why in answer.err
    assert not (folder / LEDGER).exists()


def test_a_new_name_beside_others_is_told(cli, spec, folder):
    assert cli("run", "-q", "small.toml").err == ""
    spec(("epsilon_cap = 2.5", 'dataset = "smal.csv"\nepsilon_cap = 2.5'), ('"out"', '"out2"'))
    planned = cli("plan", "--json", "small.toml")
    released = cli("run", "--json", "small.toml")
    for answer in (planned, released):
        assert [warning["code"] for warning in answer.json["warnings"]] == ["W601"]
        assert 'W601 the dataset "smal.csv" is new' in answer.err
        assert 'did you mean "small.csv"?' in answer.err
    assert cli("run", "--json", "small.toml").json["warnings"] == []
    assert 'did you mean "small.csv", "smal.csv"?' in cli(
        "budget", "cap", "small,csv", "--epsilon", "1", "--reason", "typo"
    ).err  # fmt: skip


@pytest.mark.parametrize("content", ["", "{}", "[", '{"ledger": {"entry": "1"}}'])
def test_a_spoilt_report_stops_a_charge_and_no_repetition(cli, spec, folder, content):
    assert cli("run", "-q", "small.toml").code == 0
    report = folder / "out" / "report.json"
    report.write_text(content, encoding="utf-8")
    original = (folder / "small.toml").read_text(encoding="utf-8")
    spec(('path = "small.csv"', 'path = "small.csv"\nsnapshot = "2"'))
    answer = cli("run", "-q", "small.toml")
    assert answer.code == 6
    assert "E618" in answer.err
    assert "can't be read" in answer.err
    assert len(cli("budget", "show", "--json").json["datasets"][0]["runs"]) == 1
    (folder / "small.toml").write_text(original, encoding="utf-8")
    assert cli("run", "-q", "small.toml").code == 0  # free, and writes the report again
    assert json.loads(report.read_text(encoding="utf-8"))["schema"] == "dprelease/report/1"


def test_what_is_left_is_that_of_the_period(cli, spec, monthly):
    disjoint = ("epsilon_cap = 2.5", "disjoint_periods = true\nepsilon_cap = 2.5")
    spec(*MONTHLY, disjoint)
    assert cli("run", "-q", "--period", "2026-01", "small.toml").code == 0
    (monthly / "small.toml").write_text(
        (monthly / "small.toml").read_text().replace("epsilon = 0.5", "epsilon = 0.25")
        .replace("epsilon = 1.0", "epsilon = 0.5")
    )  # fmt: skip
    assert ", 2 left of the cap 2.5" in cli("plan", "--period", "2026-02", "small.toml").out
    assert ", 1 left of the cap 2.5" in cli("plan", "--period", "2026-01", "small.toml").out


IN_RHO = (("epsilon = 1.0\n", "rho = 0.05\n"), ("epsilon = 0.5\n", ""),
          ("epsilon_cap = 2.5", 'rho_cap = 0.12\ndataset = "d"'))  # fmt: skip


def test_what_is_left_of_a_cap_of_rho_is_told(cli, spec, folder):
    """By plan, run, budget and the report; nothing says that there is no cap."""
    spec(*IN_RHO, ('path = "out"', 'path = "out"\n[report]\nformats = ["json", "md", "html"]'))
    planned = cli("plan", "small.toml").out
    assert "rho 0 spent, 0.05 after a run, 0.07 left of the cap 0.12" in planned
    told = cli("plan", "--json", "small.toml").json["ledger"]["rho"]
    assert told == {"spent": 0, "after": 0.05, "cap": 0.12, "left_after": 0.07}
    run = cli("run", "small.toml").out
    assert 'left     rho 0.07 of 0.12 for "d"' in run
    assert ", by rho 0.05 (" in run
    shown = cli("budget", "show", "small.toml").out
    assert "rho 0.12, left 0.07" in shown
    report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))["ledger"]
    assert report["cap"] == {"epsilon": None, "delta": None, "rho": 0.12}
    assert (report["before"]["rho"], report["after"]["rho"]) == (0, 0.05)
    page = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "| cap | no cap | no cap | 0.12 |" in page
    html = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "no cap in epsilon, but one of rho 0.12" in html
    assert "There is no cap." not in html
    assert "rho 0.07 left" in repr(dprelease.budget(folder / "small.toml"))
    assert all("no cap is set" not in text for text in (planned, run, shown))
    spec(*IN_RHO, ('path = "small.csv"', 'path = "small.csv"\nsnapshot = "2"'))
    assert cli("run", "-q", "small.toml").code == 0
    spec(*IN_RHO, ('path = "small.csv"', 'path = "small.csv"\nsnapshot = "3"'))
    over = cli("plan", "small.toml")
    assert over.code == 3
    assert "0.1 spent, 0.15 after a run, over the cap 0.12: a run would be refused" in over.out
