"""``dprelease plan`` through its process."""

import re

import pytest


def test_the_table_names_everything_and_fits_80_columns(cli):
    answer = cli("plan", "--why", "small.toml", NO_COLOR="1")
    assert answer.code == 0
    for word in ("visits", "mean_days", "count", "mean", "by_region", "laplace", "L1 1", "L1 100",
                 "total    epsilon 1", "1 after a run", "1.5 left of the cap 2.5"):  # fmt: skip
        assert word in answer.out, word
    tables, why = answer.out.split("How the sensitivity is derived\n")
    tables = tables.partition("What is published\n")[2]
    assert max(map(len, tables.splitlines())) <= 80
    assert why.startswith("visits, mean_days: one record more or less changes the sums of ")
    assert all(line == line.rstrip() for line in answer.out.splitlines())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}, {"TERM": "xterm-256color"}])
def test_a_pipe_gets_no_colour_and_no_cut_names(cli, spec, environment):
    long = "visits_to_any_clinic_in_the_whole_of_the_country_in_this_year"
    spec(('name = "visits"', f'name = "{long}"'))
    answer = cli("plan", "small.toml", **environment)
    assert answer.code == 0
    assert "\x1b" not in answer.out + answer.err
    assert long in answer.out
    assert "…" not in answer.out


PEOPLE = (
    'unit = "row"',
    'unit = "column"\nunit_column = "patient"\n'
    "bounding.max_rows_per_unit = 4\nbounding.max_groups_per_unit = 2\n"
    "bounding.max_rows_per_unit_per_group = 3",
)
SEVERAL = (
    "[output]",
    """
[[query]]
name = "commonest_region"
statistic = "mode"
column = "region"
epsilon = 0.1

[[query]]
name = "longest"
statistic = "max"
column = "days"
epsilon = 0.1

[[query]]
name = "patients_by_place_of_birth"
statistic = "count_units"
by = ["place_of_birth"]
partition_selection = { delta = 1e-8 }
epsilon = 0.4

[output]""",
)
MORE = ("epsilon = 1.0", "epsilon = 1.6\ndelta = 1e-8")
CAPS = ("epsilon_cap = 2.5", "epsilon_cap = 2.5\ndelta_cap = 1e-6")
PLACES = ("[columns.days]", '[columns.place_of_birth]\ntype = "string"\n\n[columns.days]')


@pytest.mark.one_in(2)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_long_name_is_broken_between_its_words_on_a_terminal(terminal, spec, columns):
    long = "visits_to_any_clinic_in_the_whole_of_the_country_in_this_year"
    spec(('name = "visits"', f'name = "{long}"'))
    code, shown = terminal("plan", "small.toml", COLUMNS=columns, NO_COLOR="1")
    assert code == 0
    lines = shown.partition("What is published")[2].splitlines()
    assert max(map(len, lines)) <= int(columns)
    names = [line.split("  ")[0] for line in map(str.lstrip, lines)]
    broken = [name for name in names if name and name in long]
    assert "".join(broken) == long * 3  # in each of three tables
    assert len(broken) > 3
    assert all(name.endswith(("_", "year")) for name in broken)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_people_choices_quantiles_and_private_keys(terminal, spec, columns):
    spec(PEOPLE, SEVERAL, MORE, CAPS, PLACES)
    code, shown = terminal("plan", "small.toml", COLUMNS=columns, NO_COLOR="1")
    assert code == 0
    lines = shown.splitlines()
    named = next(at for at, line in enumerate(lines) if line.startswith("ledger"))
    fitting = lines[:named] + lines[named + 2 :]  # the path of the ledger can't be folded
    assert max(map(len, fitting)) <= int(columns)
    assert [line.split("  ")[0] for line in lines if line.startswith("small:")] == [
        "small: one person is protected, add-remove neighbours"
    ]
    plain = " ".join(shown.split())
    for words in (
        'all rows with the same "patient"',
        "at most 4 rows, in at most 2 groups, at most 3 in one.",
        "by_region 2 cells",
        "by_place_of_birth private keys",
        "commonest_region mode at most 69 below the best, of 2",
        "longest max (q 0.99) within ",
        "within n ranks: nearest to a value up to n places (or weight n) off the quantile",
        "commonest_region permute-and-flip score 3",
        "longest exponential 3 rows",
        "keys by_place_of_birth: where patients_by_place_of_birth is 86 or more",
    ):
        assert words in plain, words


def test_private_keys_in_json(cli, spec):
    spec(PEOPLE, SEVERAL, MORE, CAPS, PLACES)
    plan = cli("plan", "--json", "small.toml").json
    assert (plan["unit"], plan["unit_column"]) == ("column", "patient")
    by_name = {step["name"]: step for step in plan["steps"]}
    assert by_name["patients_by_place_of_birth"]["cells"] is None
    assert by_name["patients_by_place_of_birth"]["threshold"]["at_least"] == 86
    assert by_name["visits"]["threshold"] is None
    assert by_name["commonest_region"]["form"] == "choice"


def test_json(cli):
    answer = cli("plan", "--json", "small.toml")
    assert (answer.code, answer.err) == (0, "")
    plan = answer.json
    assert plan["schema"] == "dprelease/plan/1"
    assert plan["release"] == "small"
    assert plan["total"]["epsilon"] == 1
    assert [step["name"] for step in plan["steps"]] == ["visits", "mean_days"]
    count, mean = plan["steps"]
    # both are read from one release at the whole budget, which a record moves by 100 in all
    assert (count["mechanism"], count["scale"], count["sensitivity"]["l1"]) == ("laplace", 1, 1)
    assert (mean["scale"], mean["sensitivity"]["l1"], mean["epsilon"]) == (100, 100, 1)
    assert count["shares"] == {"release": "mean_days", "with": ["mean_days"]}
    assert mean["shares"] == {"release": "mean_days", "with": ["visits"]}
    ledger = plan["ledger"]
    assert (ledger["epsilon_spent"], ledger["epsilon_after"]) == (0, 1)
    assert (ledger["epsilon_cap"], ledger["epsilon_left_after"]) == (2.5, 1.5)
    assert ledger["already_charged"] is False
    assert ledger["refused"] == []


def test_what_records_show_without_noise_is_said_before_a_run(cli, spec):
    table = '[[perturb]]\nname = "people"\ncolumns = ["region"]\nepsilon = 0.1\n\n[output]'
    neighbours = ('adjacency = "add-remove"', 'adjacency = "replace-one"')
    spec(PEOPLE, neighbours, ("epsilon = 1.0", "epsilon = 1.1"), ("[output]", table))
    plan = cli("plan", "--json", "small.toml").json
    records, rows = plan["not_protected"]
    assert records.startswith("How many records the record-level table people has: one row each")
    assert rows.startswith("How many rows each person has in the record-level table people")
    shown = cli("plan", "small.toml").out
    assert f"What tables of records show without noise\n{records}\n{rows}\n" in shown


def test_more_than_the_cap_is_shown_and_exits_with_3(cli, spec):
    spec(("epsilon_cap = 2.5", "epsilon_cap = 0.25"))
    answer = cli("plan", "small.toml")
    assert answer.code == 3
    assert "over the cap 0.25: a run would be refused" in answer.out
    assert "E301" in answer.err
    told = cli("plan", "--json", "small.toml")
    assert told.code == 3
    assert told.json["schema"] == "dprelease/plan/1"
    assert told.json["ledger"]["refused"][0]["code"] == "E301"


def test_queries_with_the_same_noise_are_one_row(cli, spec):
    same = "".join(
        f'[[query]]\nname = "{name}"\nstatistic = "count"\nby = ["region"]\n'
        f'where = "days > {more}"\nepsilon = 0.125\nmechanism = "laplace"\n\n'
        for more, name in enumerate(("first", "second"))
    )
    spec(("[output]", f"{same}[output]"), ("epsilon = 1.0", "epsilon = 1.25"))
    text = cli("plan", "small.toml").out
    steps = {step["name"]: step for step in cli("plan", "--json", "small.toml").json["steps"]}
    assert set(steps) == {"visits", "mean_days", "first", "second"}
    assert steps["first"]["scale"] == steps["second"]["scale"]
    assert len(re.findall(r"(?m)^ *first, second  ", text)) == 3
    assert "second" not in text.replace("first, second", "")


def test_losses_are_rounded_up_and_what_is_left_down(cli, spec):
    spec(("epsilon = 0.5", "epsilon = 0.123456"), ("epsilon = 1.0", "epsilon = 0.246912"))
    text = cli("plan", "small.toml").out
    assert "total    epsilon 0.247 (" in text
    assert "epsilon 0 spent, 0.247 after a run, 2.25 left of the cap 2.5" in text
    assert cli("plan", "--json", "small.toml").json["ledger"]["epsilon_left_after"] == 2.253088
