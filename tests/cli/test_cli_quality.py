"""``statistic = "quality"``, and ``run --quality-first``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

QUALITY = '[[query]]\nname = "checks"\nstatistic = "quality"\nepsilon = 0.5\n\n'
VISITS = '[[query]]\nname = "visits"'
MORE = (("epsilon = 1.0", "epsilon = 1.5"), (VISITS, QUALITY + VISITS))
GOOD = "region,days\n" + "north,3\nsouth,40\n" * 400
BAD_KEYS = "region,days\n" + "North,3\nsouth,40\n" * 400
BAD_NUMBERS = "region,days\n" + 'north,"3,5"\nsouth,40\n' * 400


def read_rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def list_charges(cli, folder: Path) -> list[tuple[str, float]]:
    shown = cli("budget", "show", "--json", "dprelease-ledger.sqlite").json
    (dataset,) = shown["datasets"]
    return [(run["release"], float(run["epsilon"])) for run in dataset["runs"]]


def test_a_table_for_each_column(cli, spec, folder):
    answer = cli("run", spec(*MORE))
    assert (answer.code, answer.err) == (0, "")
    states = read_rows(folder / "out" / "by_region_state.csv")
    assert [row["region_state"] for row in states] == [
        "ok", "null", "unreadable", "undeclared", "clamped",
    ]  # fmt: skip
    found = {row["region_state"]: float(row["checks"]) for row in states}
    assert abs(found["ok"] - 150) < 90
    assert abs(found["undeclared"] - 50) < 90
    numbers = {row["days_state"]: row for row in read_rows(folder / "out" / "by_days_state.csv")}
    assert abs(float(numbers["unreadable"]["checks"]) - 50) < 90
    assert "by_region_state" in (folder / "out" / "report.md").read_text(encoding="utf-8")


def test_counts_of_fields_are_shown_whole(cli, spec, folder):
    some = QUALITY.replace("epsilon = 0.5", "epsilon = 6")
    many = (("epsilon_cap = 2.5", "epsilon_cap = 9"), ("epsilon = 1.0", "epsilon = 7"))
    assert cli("run", spec(*many, (VISITS, some + VISITS))).code == 0
    assert any("." in row["checks"] for row in read_rows(folder / "out" / "by_region_state.csv"))
    shown = cli("show", "out").out.splitlines()
    page = (folder / "out" / "report.md").read_text(encoding="utf-8").splitlines()
    for text in (shown, page):
        states = [line for line in text if line.lstrip("| ").startswith(("undeclared", "clamped"))]
        assert len(states) >= 4
        assert all("±" not in line or "." not in line for line in states), states


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ('columns = ["dayz"]', "E216"),
        ('columns = ["days", "days"]', "E231"),
        ("columns = []", ""),
        ('by = ["region"]', "E111"),
        ('table = "checks"', "E111"),
        ("max_unreadable = 0", "E205"),
        ('max_unreadable = "all"', ""),
    ],
)
def test_what_is_no_quality_is_refused(cli, spec, columns, code):
    query = QUALITY.replace("epsilon = 0.5", f"epsilon = 0.5\n{columns}")
    answer = cli("check", spec(MORE[0], (VISITS, query + VISITS)))
    assert answer.code == 2
    assert code in answer.err + answer.out


def test_quality_first_then_the_rest(cli, spec, folder):
    name = spec(*MORE)
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    answer = cli("run", "--quality-first", name)
    assert answer.code == 0
    assert "out-quality: released first" in answer.err
    assert "note: run it again with --quality-first" in answer.err
    assert "a plain run is another release" in answer.err
    assert answer.out.startswith("small: released")
    assert sorted(path.name for path in (folder / "out-quality").glob("*.csv")) == [
        "by_days_state.csv",
        "by_region_state.csv",
    ]
    assert [path.name for path in (folder / "out").glob("*.csv")] == ["by_region.csv"]
    assert list_charges(cli, folder) == [("small-quality", 0.5), ("small", 1)]
    before = (folder / "out-quality" / "by_days_state.csv").read_bytes()
    again = cli("run", "--quality-first", name)
    assert "already released" in again.out
    assert (folder / "out-quality" / "by_days_state.csv").read_bytes() == before
    assert len(list_charges(cli, folder)) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [(BAD_KEYS, '"region" are undeclared'), (BAD_NUMBERS, '"days" are unreadable')],
)
def test_too_much_that_is_unreadable_stops_before_the_rest_is_charged(
    cli, spec, folder, data, said
):
    name = spec(*MORE)
    (folder / "small.csv").write_text(data, encoding="utf-8")
    for _ in range(2):  # a retry is free, and decides by the same figures
        answer = cli("run", "--quality-first", name)
        assert answer.code == 1
        assert "E870" in answer.err
        assert said in answer.err
        assert not (folder / "out").exists()
        assert list_charges(cli, folder) == [("small-quality", 0.5)]
    assert cli("show", "out-quality").code == 0


def test_a_column_whose_name_is_quoted_is_found_in_the_spec(cli, spec, folder):
    name = spec(*MORE, ("[columns.days]", '[columns."days (n)"]'))
    text = (folder / name).read_text(encoding="utf-8").replace('"days"', '"days (n)"')
    (folder / name).write_text(text, encoding="utf-8")
    data = BAD_NUMBERS.replace("days", "days (n)", 1)
    (folder / "small.csv").write_text(data, encoding="utf-8")
    answer = cli("run", "--quality-first", name)
    assert answer.code == 1
    line = text.splitlines().index('[columns."days (n)"]') + 1
    assert f"{name}:{line}:1" in answer.err
    assert '[columns."days (n)"]' in answer.err


@pytest.mark.parametrize(
    ("keys", "column", "value", "unreadable"),
    [
        ('decimal = ","', "integer", "3.5", 1),
        ('decimal = ","', "integer", "3,5", 0),
        ("", 'date"\nformat = "%d.%m.%Y', "2026-01-31", 1),
        ("", 'date"\nformat = "%d.%m.%Y', "31.1.2026", 0),
        ("multiline = true", "integer", '"\n7\n"', 0),
    ],
)
def test_a_form_that_fits_nothing_is_seen_in_the_quality(
    cli, spec, folder, keys, column, value, unreadable
):
    """Wrong marks and wrong formats stop no run: their values are null, and counted as such."""
    (folder / "small.csv").write_text("region;days\n" + f"north;{value}\n" * 900, newline="")
    no_mean = [
        ("lower = 0\nupper = 100\n", ""),
        ('"mean"\ncolumn = "days"', '"count_distinct"\ncolumn = "days"'),
    ]
    name = spec(
        MORE[0],
        (VISITS, QUALITY + VISITS),
        ('path = "small.csv"', f'path = "small.csv"\ndelimiter = ";"\n{keys}'),
        ('type = "integer"', f'type = "{column}"'),
        *(no_mean if "date" in column else []),
    )
    answer = cli("run", name)
    assert answer.code == 0, answer.err
    states = {row["days_state"]: row for row in read_rows(folder / "out" / "by_days_state.csv")}
    assert abs(float(states["unreadable"]["checks"]) - 900 * unreadable) < 90


def test_what_is_declared_as_other_or_bearable_stops_nothing(cli, spec, folder):
    (folder / "small.csv").write_text(BAD_KEYS, encoding="utf-8")
    other = ('keys = ["north", "south"]', 'keys = ["north", "south"]\nother = "elsewhere"')
    assert cli("run", "--quality-first", spec(*MORE, other)).code == 0
    (folder / "small.csv").write_text(BAD_NUMBERS, encoding="utf-8")
    loose = QUALITY.replace("epsilon = 0.5", "epsilon = 0.5\nmax_unreadable = 0.9")
    changes = (MORE[0], (VISITS, loose + VISITS), ('name = "small"', 'name = "loose"'),
               ('path = "out"', 'path = "loose"'))  # fmt: skip
    caps = ("epsilon_cap = 2.5", "epsilon_cap = 25")
    assert cli("run", "--quality-first", spec(*changes, caps)).code == 0


def test_a_decision_is_no_part_of_the_identity(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    assert cli("run", "--quality-first", spec(*MORE)).code == 0
    loose = QUALITY.replace("epsilon = 0.5", "epsilon = 0.5\nmax_unreadable = 0.9")
    assert cli("run", "--quality-first", spec(MORE[0], (VISITS, loose + VISITS))).code == 0
    assert len(list_charges(cli, folder)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (
            ("epsilon = 1.0", "epsilon = 1.5"),
            (VISITS, QUALITY.replace("epsilon = 0.5", "") + VISITS),
        ),
        (
            ("epsilon = 1.0", "epsilon = 1.5\ndelta = 1e-8"),
            (VISITS, QUALITY.replace("0.5", '0.5\nmechanism = "gaussian"') + VISITS),
            ("epsilon_cap = 2.5", "epsilon_cap = 2.5\ndelta_cap = 1e-6"),
        ),
        (
            ("epsilon = 1.0", "rho = 0.5\ndelta = 1e-8"),
            (VISITS, QUALITY + VISITS),
            ("epsilon_cap = 2.5", "epsilon_cap = 25\ndelta_cap = 1e-6"),
        ),
    ],
    ids=["no quality", "no epsilon", "gaussian", "a total in rho"],
)
def test_what_can_not_be_split_is_refused_before_any_charge(cli, spec, folder, changes):
    answer = cli("run", "--quality-first", spec(*changes))
    assert answer.code == 2
    assert "E871" in answer.err
    assert not (folder / "dprelease-ledger.sqlite").exists()


def test_a_cap_and_a_saved_plan_hold_for_both(cli, spec, folder):
    name = spec(*MORE, ("epsilon_cap = 2.5", "epsilon_cap = 1"))
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    answer = cli("run", "--quality-first", name)
    assert (answer.code, "E872" in answer.err) == (3, True)
    assert not (folder / "dprelease-ledger.sqlite").exists()
    assert not (folder / "out-quality").exists()
    both = cli("run", "--quality-first", "--plan", "x.json", name)
    assert both.code == 2
    assert "put the quality queries into a spec of their own" in both.err


def test_a_plain_run_afterwards_is_told_to_be_another_release(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    name = spec(*MORE, ("epsilon_cap = 2.5", "epsilon_cap = 1.5"))
    assert cli("run", "--quality-first", name).code == 0
    way_out = 'if "small-quality" is from `run --quality-first`, use that option again'
    for command in ("plan", "run"):
        assert way_out in " ".join(cli(command, name).err.split()), command
    other = (MORE[0], ("epsilon_cap = 2.5", "epsilon_cap = 1.5"), ('"small"', '"other"'),
             ('path = "out"', 'path = "other"'))  # fmt: skip
    refused = cli("run", spec(*other, name="other.toml"))
    assert (refused.code, "E301" in refused.err, way_out in refused.err) == (3, True, False)
    assert cli("run", "--quality-first", name).code == 0


def test_another_month_is_not_told_to_be_paid_for(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    monthly = 'path = "small.csv"', 'path = "small.csv"\nsnapshot = "{period}"'
    name = spec(*MORE, ("epsilon_cap = 2.5", "epsilon_cap = 1.5"), monthly)
    assert cli("run", "--quality-first", "--period", "2025-01", name).code == 0
    for month, told in (("2025-01", True), ("2025-02", False)):
        refused = cli("run", "--period", month, name)
        assert (refused.code, "costs nothing" in refused.err) == (3, told)


def test_errors_as_json_name_the_columns(cli, spec, folder):
    (folder / "small.csv").write_text(BAD_KEYS, encoding="utf-8")
    answer = cli("run", "--quality-first", "--json", spec(*MORE))
    told = json.loads(answer.out)
    assert told["exit_code"] == 1
    assert told["complaints"][0]["key"] == "columns.region"


def test_states_are_of_the_tool_and_need_no_source(cli, spec, folder):
    assert cli("run", spec(*MORE)).code == 0
    report = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    notes = " ".join(hazard["note"] for hazard in report["hazards"])
    assert "_state" not in notes
    assert "left out of tables by region." in notes


def test_quality_of_people_under_a_saved_plan(cli, spec, folder):
    people = (
        'unit = "column"\nunit_column = "who"\n'
        "bounding = { max_rows_per_unit = 2, max_groups_per_unit = 1 }"
    )
    name = spec(*MORE, ('unit = "row"', people), ("one visit", "one person"))
    lines = [f"{row % 200},North,x" for row in range(600)]
    (folder / "small.csv").write_text("\n".join(["who,region,days", *lines]), encoding="utf-8")
    assert cli("plan", "-o", "plan.json", name).code == 0
    assert cli("run", "--plan", "plan.json", name).code == 0
    states = {row["region_state"]: row for row in read_rows(folder / "out" / "by_region_state.csv")}
    assert abs(float(states["undeclared"]["checks"]) - 400) < 150
    assert states["undeclared"]["checks_flag"] == "bounded"
    tables = {path.name for path in (folder / "out").glob("*.csv")}
    assert "by_who_state.csv" not in tables


def test_a_cap_of_rho_in_the_ledger_is_looked_at_too(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    set_cap = ("budget", "cap", "small.csv", "--rho", "0.2", "--reason", "board")
    assert cli(*set_cap).code == 0  # the quality takes 0.125, and the rest 0.5
    answer = cli("run", "--quality-first", spec(*MORE))
    assert (answer.code, "E872" in answer.err) == (3, True)
    assert not (folder / "out-quality").exists()


def test_a_new_dataset_is_told_with_quality_first_too(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    assert cli("budget", "cap", "smal.csv", "--epsilon", "1", "--reason", "board").code == 0
    answer = cli("run", "--quality-first", "--json", spec(*MORE))
    assert [warning["code"] for warning in answer.json["warnings"]] == ["W601"]
    assert answer.err.count('W601 the dataset "small.csv" is new') == 1


def test_the_second_release_tells_of_no_column_of_the_first(cli, spec, folder):
    (folder / "small.csv").write_text(GOOD, encoding="utf-8")
    assert cli("run", "--quality-first", spec(*MORE)).code == 0
    for name, is_told in (("out-quality", True), ("out", False)):
        for page in ("report.md", "report.html", "report.json"):
            text = (folder / name / page).read_text(encoding="utf-8")
            assert ("days_state" in text) is is_told, (name, page)
