"""``dprelease diff``: what weakens the guarantee, and what only changes the figures."""

import json

import pytest

from dprelease.cli.app import app

PEOPLE = ('unit = "row"', 'unit = "column"\nunit_column = "who"')
BOUNDING = (
    "[ledger]",
    "[privacy.bounding]\nmax_rows_per_unit = 3\nmax_groups_per_unit = 2\n\n[ledger]",
)
PRIVATE = ('keys = ["north", "south"]\nsource = "public: map"', "")
SELECTED = ('by = ["region"]', 'by = ["region"]\npartition_selection = { delta = 1e-8 }')
FIRST, LAST = "epsilon = 0.5\n\n[[", "epsilon = 0.5\n\n[output]"
DELTA = ("epsilon = 1.0\n", "epsilon = 1.0\ndelta = 1e-8\n")
OPEN_PERIODS = ('path = "small.csv"', 'path = "small-{period}.csv"')
DISJOINT = ("epsilon_cap = 2.5", "epsilon_cap = 2.5\ndisjoint_periods = true")


@pytest.fixture
def compared(spec, folder, capsys):
    """Write two specs as changes of the small one, and compare them: each change with its kind.

    In this process, for there are many.
    """

    def compare(old, new, *arguments):
        files = [spec(*old, name="old.toml"), spec(*new, name="new.toml")]
        paths = [str(folder / file) for file in files]
        code = app.main(["diff", "--json", *arguments, *paths], standalone_mode=False)
        told = json.loads(capsys.readouterr().out)
        changes = {each["what"]: each["kind"] for each in told["changes"]}
        assert told["exit_code"] == code == int("weaker" in changes.values())
        assert told["weaker"] is (code == 1)
        return changes

    return compare


GREATER = [
    ("epsilon", ("epsilon = 1.0", "epsilon = 1.25"), (FIRST, FIRST.replace("0.5", "0.75"))),
    ("delta", DELTA, PRIVATE, SELECTED),
    ("epsilon_cap", ("epsilon_cap = 2.5", "epsilon_cap = 3")),
    ("epsilon_cap", ("epsilon_cap = 2.5", "")),
    ("adjacency", ("add-remove", "replace-one")),
    ("dataset", ("epsilon_cap", 'dataset = "other"\nepsilon_cap')),
    ("ledger", ("epsilon_cap", 'path = "other.sqlite"\nepsilon_cap')),
]  # fmt: skip


@pytest.mark.parametrize(("what", "changes"), [(first, rest) for first, *rest in GREATER])
def test_a_weaker_guarantee_is_found_and_its_reverse_too(compared, what, changes):
    assert compared([], changes)[what] == "weaker"
    back = compared(changes, [])
    expected = "weaker" if what in {"adjacency", "dataset", "ledger"} else "stronger"
    assert back[what] == expected


def test_units_from_rows_to_people_and_back(compared):
    people = (PEOPLE, BOUNDING)
    assert compared([], people)["unit"] == "stronger"
    assert compared(people, [])["unit"] == "weaker"
    other = (("unit = \"row\"", 'unit = "column"\nunit_column = "house"'), BOUNDING)  # fmt: skip
    assert compared(people, other)["unit"] == "weaker"


def test_claims_that_nobody_can_check_weaken(compared):
    assert compared((DELTA, PRIVATE, SELECTED), [DELTA])["keys of region"] == "weaker"
    assert compared([DELTA], (DELTA, PRIVATE, SELECTED))["keys of region"] == "changed"
    period = ("--period", "2026-01")
    both = [OPEN_PERIODS], (OPEN_PERIODS, DISJOINT)
    assert compared(*both, *period)["periods"] == "weaker"
    assert compared(*reversed(both), *period)["periods"] == "stronger"


def test_rho_counts_where_the_budget_is_one_of_rho(compared):
    in_rho = [("epsilon = 1.0", "rho = 0.1\ndelta = 1e-7"), (FIRST, "[["),
              (LAST, "[output]")]  # fmt: skip
    more = [("epsilon = 1.0", "rho = 0.2\ndelta = 1e-7"), *in_rho[1:]]
    assert compared(in_rho, more)["rho"] == "weaker"
    assert compared(more, in_rho)["rho"] == "stronger"


OTHER = [
    ("snapshot", ('path = "small.csv"', 'path = "small.csv"\nsnapshot = "b"')),
    ("data", ('path = "small.csv"', 'path = "more.csv"'),
     ("epsilon_cap", 'dataset = "small.csv"\nepsilon_cap')),
    ("column region: keys", ('"south"]', '"south", "east"]')),
    ("column days: bounds", ("upper = 100", "upper = 60")),
    ("query visits: expected error", (FIRST, FIRST.replace("0.5", "0.25")),
     (LAST, LAST.replace("0.5", "0.75"))),
    ("query visits: where", (FIRST, f'where = "days > 3"\n{FIRST}')),
    ("query visits", ('name = "visits"', 'name = "all_visits"')),
    ("query all_visits", ('name = "visits"', 'name = "all_visits"')),
    ("title", ('name = "small"', 'name = "small"\ntitle = "T"')),
    ("interval", ('path = "out"', 'path = "out"\ninterval = 0.9')),
    ("unit_description", ("one visit", "one call")),
    ("population", ("[privacy]", "[privacy]\npopulation = 5_000")),
    ("licence", ('name = "small"', 'name = "small"\nlicence = "CC0-1.0"')),
    ("label of region", ('"south"]', '"south"]\nlabel = "Region"')),
    ("labels of region", ('"south"]', '"south"]\nlabels = { north = "The North" }')),
    ("title of visits", (FIRST, f'title = "Visits"\n{FIRST}')),
    ("decimals of visits", (FIRST, f"decimals = 0\n{FIRST}")),
    ("title of the table by_region", ('path = "out"', 'path = "out"\ntitles.by_region = "R"')),
]  # fmt: skip


@pytest.mark.parametrize(("what", "changes"), [(first, rest) for first, *rest in OTHER])
def test_other_changes_are_told_and_weaken_nothing(compared, what, changes):
    found = compared([], changes)
    assert found[what] == "changed"
    assert "weaker" not in found.values()


def test_bounding_changes_the_noise_and_not_the_guarantee(compared):
    more = (BOUNDING[0], BOUNDING[1].replace("= 3", "= 30"))
    found = compared((PEOPLE, BOUNDING), (PEOPLE, more))
    assert found["bounding"] == "changed"
    assert "weaker" not in found.values()


BINS = ("[columns.days]", f"[columns.age]\ntype = \"integer\"\nsource = \"public\"\nbins = "
        f"{list(range(0, 200, 10))}\n\n[columns.days]")  # fmt: skip
BEST = ("[output]", '[[query]]\nname = "b"\nstatistic = "best"\ncandidates = [10, 20, 30]\n'
        'score = "CASE WHEN days > candidate THEN 1 ELSE 0 END"\nscore_upper = 30\n'
        "epsilon = 0.1\n\n[output]")  # fmt: skip
POINTS = ("[output]", '[[query]]\nname = "m"\nstatistic = "median"\ncolumn = "days"\n'
          "candidates = [0, 10, 50]\nepsilon = 0.1\n\n[output]")  # fmt: skip
SHARE = ("[output]", '[[query]]\nname = "s"\nstatistic = "ratio"\nnumerator = { column = "days" }\n'
         'denominator = { where = "days > 1" }\nepsilon = 0.1\n\n[output]')  # fmt: skip
OPEN = ("epsilon = 1.0\n", "")


def but(change, old, new):
    """The change, with another text in what it puts in."""
    assert old in change[1]
    return change[0], change[1].replace(old, new)


WEIGHT = ("[columns.days]", '[columns.w]\ntype = "integer"\nlower = 0\nupper = 9\n'
          'source = "public"\n\n[columns.days]')  # fmt: skip
WEIGHTED = ('path = "small.csv"', 'path = "small.csv"\nweight = "w"')
EFFECT = (WEIGHTED[0], f"{WEIGHTED[1]}\ndesign_effect = 1.8")
UNSEEN = [
    ("design effect", (WEIGHT, WEIGHTED), (WEIGHT, EFFECT)),
    ("data: delimiter", (), (('path = "small.csv"', 'path = "small.csv"\ndelimiter = ";"'),)),
    ("data: null_values", (),
     (('path = "small.csv"', 'path = "small.csv"\nnull_values = ["", "?"]'),)),
    ("witness", (), (("epsilon_cap", 'witness = "far/w"\nepsilon_cap'),)),
    ("formats of the report", (), (("[output]", '[report]\nformats = ["md"]\n\n[output]'),)),
    ("accounting", (), (("epsilon = 1.0\n", 'epsilon = 1.0\naccounting = "pure"\n'),)),
    ("stated epsilon", (), (OPEN,)),
    ("column days: nulls", (), (("upper = 100", 'upper = 100\nnulls = "drop"'),)),
    ("column age: bins", (BINS,), (but(BINS, "180", "181"),)),
    ("query b: candidates", (OPEN, BEST), (OPEN, but(BEST, "20", "25"))),
    ("query b: score", (OPEN, BEST), (OPEN, but(BEST, "THEN 1", "THEN 2"))),
    ("query m: candidates", (OPEN, POINTS), (OPEN, but(POINTS, "10", "11"))),
    ("query s: denominator", (OPEN, SHARE), (OPEN, but(SHARE, "> 1", "> 2"))),
    ("query visits: budget asked for", (), ((FIRST, "weight = 1\n\n[["),)),
    ("query visits: mechanism asked for", (), ((FIRST, f'mechanism = "laplace"\n{FIRST}'),)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "old", "new"), UNSEEN)
def test_what_no_figure_of_a_plan_shows_is_told(compared, what, old, new):
    for pair in ((old, new), (new, old)):
        found = compared(*pair)
        assert found.get(what, found.get(f"stated {what}")) == "changed"
        assert "weaker" not in found.values()


def test_places_are_compared_as_paths_and_as_the_specs_see_them(compared, folder, cli, spec):
    far = ("epsilon_cap", f'path = "{folder}/l.sqlite"\nepsilon_cap')
    (folder / "copy").mkdir()
    spec(far, name="old.toml")
    spec(far, name="copy/new.toml")
    told = cli("diff", "--json", "old.toml", "copy/new.toml").json
    assert [each["what"] for each in told["changes"]] == []
    spec(('path = "small.csv"', 'path = "small.csv"'), name="copy/new.toml")
    told = cli("diff", "--json", "small.toml", "copy/new.toml").json
    assert (told["exit_code"], told["changes"]) == (0, [])


def test_people_who_are_told_apart_otherwise_weaken(compared):
    column = ("[columns.region]", '[columns.who]\ntype = "string"\n\n[columns.region]')
    number = ("[columns.region]", '[columns.who]\ntype = "integer"\n\n[columns.region]')
    changes = compared((PEOPLE, BOUNDING, column), (PEOPLE, BOUNDING, number))
    assert changes["unit"] == "weaker"


def test_a_unit_column_that_is_declared_as_it_was_read_is_the_same(compared):
    column = ("[columns.region]", '[columns.who]\ntype = "string"\n\n[columns.region]')
    assert "weaker" not in compared((PEOPLE, BOUNDING), (PEOPLE, BOUNDING, column)).values()
    assert "weaker" not in compared((PEOPLE, BOUNDING, column), (PEOPLE, BOUNDING)).values()


def test_rows_without_a_unit_weaken_when_they_come_in(compared):
    column = ("[columns.region]", '[columns.who]\ntype = "string"\n\n[columns.region]')
    used = but(column, '"string"', '"string"\nnulls = "nobody"')
    found = compared((PEOPLE, BOUNDING, column), (PEOPLE, BOUNDING, used))
    assert found["rows without a unit"] == "weaker"
    found = compared((PEOPLE, BOUNDING, used), (PEOPLE, BOUNDING, column))
    assert "weaker" not in found.values()


def test_what_a_derived_unit_is_made_of_is_compared_too(compared):
    people = but(PEOPLE, '"who"', '"household"')
    made = (
        '[columns.plot]\ntype = "integer"\n\n[columns.household]\ntype = "integer"\n'
        'expression = "plot + 1"\n\n[columns.region]'
    )
    old = ("[columns.region]", made)
    new = but(old, 'plot]\ntype = "integer"', 'plot]\ntype = "decimal"')
    assert compared((people, BOUNDING, old), (people, BOUNDING, new))["unit"] == "weaker"
    assert compared((people, BOUNDING, old), (people, BOUNDING, old)) == {}
