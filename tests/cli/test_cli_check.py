"""``dprelease check`` through its process."""

import json
from pathlib import Path

import pytest

SPECS = sorted((Path(__file__).parents[2] / "release_specs").glob("*.toml"))


def test_a_sound_spec(cli):
    answer = cli("check", "small.toml")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "small.toml: ok (2 queries, 1 table, epsilon 1)\n"


def test_no_data_is_opened(cli, folder):
    (folder / "small.csv").unlink()
    assert cli("check", "small.toml").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["small.toml"]


def test_quiet_says_nothing_when_all_is_well(cli):
    answer = cli("check", "-q", "small.toml")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_errors_have_their_place_on_stderr_and_exit_with_2(cli, spec):
    spec(('statistic = "count"', 'statistic = "cont"'), ("upper = 100", "uper = 100"))
    answer = cli("check", "small.toml")
    assert answer.code == 2
    assert answer.out == ""
    assert 'small.toml:31:13  E101 unknown statistic "cont"' in answer.err
    assert '"count"' in answer.err
    assert "E102" in answer.err
    assert "uper" in answer.err


def test_good_and_bad_specs_together(cli, spec):
    spec(('unit = "row"\n', ""), name="bad.toml")
    answer = cli("check", "bad.toml", "small.toml")
    assert answer.code == 2
    assert answer.out.startswith("small.toml: ok")
    assert "E110" in answer.err
    assert "\n1 error in 1 of 2 files\n" in answer.err


def test_a_budget_that_is_overdrawn_is_seen_before_any_data(cli, spec):
    spec(("epsilon = 0.5", "epsilon = 0.6"))
    answer = cli("check", "small.toml")
    assert answer.code in {2, 3}
    assert answer.out == ""
    assert "1.2" in answer.err or "0.6" in answer.err


def test_warnings_are_no_errors_unless_strict(cli, spec):
    spec(("[ledger]\nepsilon_cap = 2.5\n", ""))
    answer = cli("check", "small.toml")
    assert answer.code == 0
    assert answer.out.startswith("small.toml: ok")
    assert "W201" in answer.err
    assert cli("check", "--strict", "small.toml").code == 1
    assert cli("check", "-q", "small.toml").err == ""


def test_a_missing_spec(cli):
    answer = cli("check", "nowhere.toml")
    assert answer.code == 2
    assert answer.out == ""
    assert "nowhere.toml" in answer.err
    assert "Traceback" not in answer.err


def test_json_is_one_object_with_everything(cli, spec):
    spec(('statistic = "count"', 'statistic = "cont"'), name="bad.toml")
    for arguments in (("--json",), ("--format", "json"), ("--format=json",)):
        answer = cli("check", *arguments, "small.toml", "bad.toml")
        assert answer.code == 2
        assert answer.err == ""
        assert answer.json["schema"] == "dprelease/check/1"
        assert answer.json["exit_code"] == 2
        good, bad = answer.json["specs"]
        assert good == {"file": "small.toml", "ok": True, "errors": [], "warnings": []}
        assert bad["ok"] is False
        error = bad["errors"][0]
        assert (error["code"], error["line"], error["column"]) == ("E101", 31, 13)
        assert error["key"] == "query[0].statistic"


def test_github_annotations(cli, spec):
    spec(('statistic = "count"', 'statistic = "cont"'))
    answer = cli("check", "--format", "github", "small.toml")
    assert answer.code == 2
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=")
    assert "small.toml,line=31,col=13,title=E101::unknown statistic" in lines[0]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_every_example_is_sound_and_without_warning(cli, path):
    answer = cli("check", "--strict", str(path))
    assert (answer.code, answer.err) == (0, "")


def test_there_are_examples():
    assert "clinic_visits.toml" in {path.name for path in SPECS}
    assert len(SPECS) >= 7


def test_json_text_is_readable_by_any_parser(cli):
    def refuse(name):
        pytest.fail(name)

    assert json.loads(cli("plan", "--json", "small.toml").out, parse_constant=refuse)
