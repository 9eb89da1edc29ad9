"""A saved plan is executed exactly, or refused, through the process."""

import json
from pathlib import Path

import pytest

from dprelease import Failure, load, plan
from dprelease.approval import check_approved


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


def test_another_plan_is_refused_before_anything_is_charged(cli, folder, spec):
    save(cli)
    spec(("epsilon = 1.0", "epsilon = 1.25"), ("epsilon = 0.5", "epsilon = 0.625"))
    answer = cli("run", "--plan", "plan.json", "small.toml")
    assert answer.code == 2
    assert "E320" in answer.err
    assert 'query "visits"' in answer.err
    assert not (folder / "out").exists()
    assert not (folder / "dprelease-ledger.sqlite").exists()


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


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": "dprelease/plan/1"}', "\x00", "[" * 100_000]
)
def test_a_file_that_is_no_plan_is_refused(folder, content):
    (folder / "plan.json").write_text(content)
    with pytest.raises(Failure) as caught:
        check_approved(plan(load(folder / "small.toml")), str(folder / "plan.json"))
    assert caught.value.complaints[0].code == "E320"


def test_a_plan_that_is_not_there_or_can_not_be_written(cli, folder):
    assert cli("run", "--plan", "none.json", "small.toml").code == 2
    assert cli("plan", "-q", "-o", "nowhere/plan.json", "small.toml").code == 2
    assert not Path(folder / "out").exists()


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
