"""A saved plan is executed exactly, or refused, through the process."""

import json
import re
import shutil
from pathlib import Path

import pytest

import dprelease
from dprelease import Failure, load, plan
from dprelease.language import say
from dprelease.release.plan import ReleasePlan
from dprelease.release.saved_plan import check_approved
from dprelease.reports.facts.approval import LEFT_OPEN


def save(cli) -> None:
    assert cli("plan", "-q", "-o", "plan.json", "small.toml").code == 0


def test_the_plan_that_was_saved_is_run(cli, folder):
    save(cli)
    saved = json.loads((folder / "plan.json").read_text())
    assert saved["schema"] == "dprelease/plan/1"
    assert len(saved["digest"]) == 64
    assert "ledger" not in saved
    answer = cli("run", "--plan", "plan.json", "small.toml")
    assert (answer.code, answer.err) == (0, "")
    assert (folder / "out" / "by_region.csv").exists()
    assert list(folder.glob(".*draft")) == []


@pytest.mark.parametrize(
    "change",
    [
        ('keys = ["north", "south"]', 'keys = ["north", "south", "west"]'),
        ('statistic = "count"', 'statistic = "count"\nwhere = "days > 3"'),
        ('path = "small.csv"', 'path = "small.csv"\nsnapshot = "v2"'),
        ('adjacency = "add-remove"', 'adjacency = "replace-one"'),
        ("upper = 100", "upper = 99"),
        ('name = "small"', 'name = "smaller"'),
    ],
    ids=["keys", "where", "snapshot", "adjacency", "bounds", "name"],
)
def test_any_other_plan_is_refused(cli, folder, spec, change):
    save(cli)
    spec(change)
    made = plan(load(folder / "small.toml"))
    with pytest.raises(Failure) as caught:
        check_approved(made, str(folder / "plan.json"))
    assert caught.value.complaints[0].code == "E320"


HELD = {
    "another ledger": ("ledger.path", 'path = "other.sqlite"\nepsilon_cap = 2.5'),
    "another place of the witness": ("ledger.witness", 'witness = "far"\nepsilon_cap = 2.5'),
    "another dataset": ("ledger.dataset", 'dataset = "other"\nepsilon_cap = 2.5'),
    "a higher cap": ("ledger.epsilon_cap", "epsilon_cap = 2.6"),
    "a lower cap": ("ledger.epsilon_cap", "epsilon_cap = 2.4"),
    "no cap": ("ledger.epsilon_cap", ""),
    "a cap on delta": ("ledger.delta_cap", "epsilon_cap = 2.5\ndelta_cap = 1e-6"),
    "another folder": ("output.path", ('"out"', '"elsewhere"')),
    "another format": ("output.format", ('"out"', '"out"\nformat = "parquet"')),
    "another interval": ("output.interval", ('"out"', '"out"\ninterval = 0.9')),
    "other reports": ("report.formats", ('"out"', '"out"\n\n[report]\nformats = ["md"]')),
    "another snapshot": ("data.snapshot", ('"small.csv"', '"small.csv"\nsnapshot = "v2"')),
    "other data": ("data.path", ('"small.csv"', '"./small.csv"')),
    "another description": ("privacy.unit_description", ("one visit", "one household")),
    "another title": ("release.title", ('name = "small"', 'name = "small"\ntitle = "T"')),
    "another claim": ("columns.days.source", ("public: rule", "public: another rule")),
}


@pytest.mark.parametrize("what", HELD)
def test_where_it_is_charged_and_published_is_approved_too(folder, spec, what, cli):
    save(cli)
    name, change = HELD[what]
    spec(change if isinstance(change, tuple) else ("epsilon_cap = 2.5", change))
    check_refused_for(name, plan(load(folder / "small.toml")), folder)


def check_refused_for(name: str, made: ReleasePlan, folder: Path) -> None:
    with pytest.raises(Failure) as caught:
        check_approved(made, str(folder / "plan.json"))
    (complaint,) = caught.value.complaints
    assert (caught.value.exit_code, complaint.code) == (2, "E320")
    assert f"differs in {name}" in complaint.message


PERIODS = (
    ('path = "small.csv"', 'path = "small-{period}.csv"'),
    ("epsilon_cap = 2.5", 'dataset = "d"\nepsilon_cap = 2.5'),
)


def test_another_period_and_its_rule_are_refused(cli, folder, spec):
    spec(*PERIODS)
    assert cli("plan", "-q", "--period", "1", "-o", "plan.json", "small.toml").code == 0
    check_refused_for("data.path, period", plan(load(folder / "small.toml", period="2")), folder)
    spec(*PERIODS, ("epsilon_cap = 2.5", "epsilon_cap = 2.5\ndisjoint_periods = true"))
    check_refused_for(
        "ledger.disjoint_periods", plan(load(folder / "small.toml", period="1")), folder
    )


def test_another_ledger_of_a_call_is_refused(cli, folder):
    save(cli)
    with pytest.raises(Failure, match=r"E320 .*differs in ledger\.path") as caught:
        dprelease.run(
            folder / "small.toml", ledger=folder / "other.sqlite", approved=folder / "plan.json"
        )
    assert caught.value.exit_code == 2
    assert not list(folder.glob("*.sqlite"))


def test_a_checkout_elsewhere_runs_the_same_plan(cli, folder, tmp_path):
    save(cli)
    there = tmp_path / "there"
    there.mkdir()
    for name in ("small.toml", "small.csv", "plan.json"):
        shutil.copy(folder / name, there / name)
    result = dprelease.run(there / "small.toml", approved=there / "plan.json")
    assert result.output == str(there / "out")


def test_an_absolute_path_of_the_spec_is_meant_as_it_is(cli, folder, spec, tmp_path):
    change = ("epsilon_cap = 2.5", f'path = "{folder}/l.sqlite"\nepsilon_cap = 2.5')
    spec(change)
    save(cli)
    there = tmp_path / "there"
    there.mkdir()
    shutil.copy(folder / "small.toml", there)
    check_approved(plan(load(there / "small.toml")), str(folder / "plan.json"))
    spec(("epsilon_cap = 2.5", 'path = "l.sqlite"\nepsilon_cap = 2.5'))
    check_refused_for("ledger.path", plan(load(folder / "small.toml")), folder)


def test_the_witness_where_it_is_by_itself_may_be_named(cli, folder, spec):
    save(cli)
    spec(("epsilon_cap = 2.5", 'witness = "dprelease-ledger.sqlite.witness"\nepsilon_cap = 2.5'))
    check_approved(plan(load(folder / "small.toml")), str(folder / "plan.json"))


def test_what_an_approval_leaves_open_is_said(cli, folder):
    told = cli("plan", "-q", "-o", "plan.json", "--html", "plan.html", "small.toml")
    assert told.code == 0
    saved = json.loads((folder / "plan.json").read_text())["approval"]
    left_open = [say(sentence) for sentence in LEFT_OPEN]
    assert saved["leaves_open"] == left_open
    held = saved["holds"]
    assert (held["ledger.path"], held["ledger.epsilon_cap"]) == ("dprelease-ledger.sqlite", "2.5")
    assert (held["output.path"], held["report.formats"]) == ("out", ["html", "md", "json"])
    text = cli("plan", "--why", "small.toml").out
    page = (folder / "plan.html").read_text()
    assert "What an approval leaves open" in page
    for line in left_open:
        assert line in text
        assert line in page
    assert "output   out: tables as csv, reports: html, md, json" in text
    for name, value in (("ledger.path", "dprelease-ledger.sqlite"), ("ledger.epsilon_cap", "2.5"),
                        ("ledger.delta_cap", "none"), ("ledger.disjoint_periods", "false"),
                        ("output.path", "out"), ("report.formats", "html, md, json")):  # fmt: skip
        cell = f"<bdi>{re.escape(name)}</bdi></th><td[^>]*>{re.escape(value)}</td>"
        assert re.search(cell, page)


def test_a_plan_of_an_early_version_is_refused_and_not_misread(cli, folder):
    save(cli)
    saved = json.loads((folder / "plan.json").read_text())
    for approval in (None, [], {"holds": []}, {}):
        (folder / "plan.json").write_text(json.dumps(saved | {"approval": approval}))
        answer = cli("run", "--plan", "plan.json", "small.toml")
        assert answer.code == 2
        assert "differs in approval" in answer.err
    del saved["approval"]
    (folder / "plan.json").write_text(json.dumps(saved | {"digest": "0" * 64}))
    answer = cli("run", "--plan", "plan.json", "small.toml")
    assert answer.code == 2
    assert "version" in answer.err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": "dprelease/plan/1"}', "\x00", "[" * 100_000]
)
def test_a_file_that_is_no_plan_is_refused(folder, content):
    (folder / "plan.json").write_text(content)
    with pytest.raises(Failure) as caught:
        check_approved(plan(load(folder / "small.toml")), str(folder / "plan.json"))
    assert caught.value.complaints[0].code == "E320"


def test_a_forged_text_with_the_right_digest_is_refused(cli, folder):
    save(cli)
    path = folder / "plan.json"
    honest = json.loads(path.read_text())
    for part, wrong in (
        ("steps", [{**honest["steps"][0], "scale": 0.001}, *honest["steps"][1:]]),
        ("total", {**honest["total"], "epsilon": 0.1}),
        ("interval", "1/2"),
        ("what_if", []),
        ("added", "a remark"),
    ):
        path.write_text(json.dumps({**honest, part: wrong}))
        answer = cli("run", "--plan", "plan.json", "small.toml")
        assert answer.code == 2
        assert "was edited" in answer.err
        assert part in answer.err
        assert not Path(folder / "out").exists()
    path.write_text(json.dumps(honest))
    assert cli("run", "--plan", "plan.json", "small.toml").code == 0


def test_what_other_totals_would_buy(cli):
    options = cli("plan", "--json", "-q", "small.toml").json["what_if"]
    totals = [f"epsilon {each}" for each in ("0.25", "0.5", "1", "2", "4")]
    assert [each["total"] for each in options] == totals
    assert [each["epsilon"] for each in options] == [0.25, 0.5, 1, 2, 4]
    errors = [int(each["errors"]["visits"].removeprefix("± ")) for each in options]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 5


def spend(folder: Path) -> None:
    """Charge another release of epsilon 1 to the dataset, between a plan and its run."""
    other = (folder / "small.toml").read_text().replace('name = "small"', 'name = "other"')
    (folder / "other.toml").write_text(other.replace('path = "out"', 'path = "other-out"'))
    dprelease.run(folder / "other.toml")


def test_a_report_says_what_was_signed_and_what_it_came_to_at_the_run(cli, folder):
    save(cli)
    spend(folder)
    assert cli("run", "-q", "--plan", "plan.json", "small.toml").code == 0
    provenance = json.loads((folder / "out" / "report.json").read_text())["provenance"]
    saved = json.loads((folder / "plan.json").read_text())
    assert provenance["held_to_plan"] is True
    assert provenance["plan"] == saved["digest"]
    assert provenance["total_when_planned"] == saved["total_with_this_release"]
    then = saved["total_with_this_release"]["epsilon"]
    report = (folder / "out" / "report.html").read_text()
    assert f"Yes, to the plan with the digest {saved['digest']}." in report
    assert f"all releases with this one came to epsilon {then} and delta 0, if nothing" in report
    assert f"When it ran, they came to epsilon {then + 1} and delta 0." in report


def test_a_run_without_a_plan_is_told_apart(cli, folder):
    assert cli("run", "-q", "small.toml").code == 0
    provenance = json.loads((folder / "out" / "report.json").read_text())["provenance"]
    assert provenance["held_to_plan"] is False
    assert "total_when_planned" not in provenance
    report = (folder / "out" / "report.html").read_text()
    assert "Run held to a saved plan" in report
    assert "the run was not compared with a saved one" in report.replace("\n", " ")


def test_the_total_of_a_saved_plan_is_of_numbers(cli, folder):
    save(cli)
    saved = json.loads((folder / "plan.json").read_text())
    saved["total_with_this_release"]["epsilon"] = "<b>"
    (folder / "plan.json").write_text(json.dumps(saved))
    with pytest.raises(Failure, match=r"E320 .*total_with_this_release"):
        check_approved(plan(load(folder / "small.toml")), str(folder / "plan.json"))


def test_the_page_to_sign_leaves_the_ledger_open(cli, folder):
    told = cli("plan", "-q", "--html", "plan.html", "small.toml")
    assert told.code == 0
    page = (folder / "plan.html").read_text()
    assert "so far" not in page
    assert "All releases with this one, if nothing else is charged before" in page
    assert "It may be up to the cap of 2.5 when it runs." in page


def test_a_plan_and_its_page_say_what_figures_are(cli, spec, folder):
    words = 'statistic = "mean"\ndescription = "Days from call to visit."'
    name = spec(('statistic = "mean"', words))
    said = "Days from call to visit. The mean of days. Values of days below 0 count as 0"
    assert said in " ".join(cli("plan", "--why", name).out.split())
    assert said not in " ".join(cli("plan", name).out.split())
    assert cli("plan", "-q", "--html", "plan.html", name).code == 0
    assert said in (folder / "plan.html").read_text()
