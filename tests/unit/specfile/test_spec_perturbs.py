"""``[[perturb]]``: what a release is made to hold, and what is said of every mistake."""

from __future__ import annotations

from fractions import Fraction

import builders
import pytest
from msgspec.structs import replace

from dprelease.model import Adjacency, Bounding, Mechanism, PerturbedColumn, Quantity
from dprelease.specfile import load
from dprelease.specfile.checks.columns.grids import LARGEST_STEPS
from dprelease.statistics.shared.statistic import find_null_fill

ALONE = """\
schema = 1
[release]
name = "survey"
[data]
path = "people.csv"
[privacy]
unit = "row"
unit_description = "one person"
adjacency = "replace-one"
epsilon = 2
[ledger]
epsilon_cap = 4
[columns.region]
type = "string"
keys = ["north", "south", "east"]
source = "public: map"
[columns.pay]
type = "integer"
lower = 0
upper = 1_001
source = "public: scale"
[columns.age]
type = "integer"
lower = 0
upper = 120
bins = [0, 18, 65, 120]
source = "public: law"
[columns.ill]
type = "boolean"
[columns.note]
type = "string"
[columns.born]
type = "date"
[columns.rank]
type = "integer"
[columns.one]
type = "string"
keys = ["a"]
source = "public"
[[perturb]]
name = "people"
columns = ["region", "pay"]
[output]
path = "out"
"""
COLUMNS = 'columns = ["region", "pay"]'
LABELS = 'columns = ["region"]'
TABLE = f'[[perturb]]\nname = "people"\n{COLUMNS}\n'
QUERY = '[[query]]\nname = "heads"\nstatistic = "count"\nby = ["region"]\nepsilon = 0.5\n'
MIXED = (TABLE, QUERY + TABLE + "epsilon = 1\n")
PEOPLE = 'unit = "column"\nunit_column = "who"'
LEDGER = "[ledger]\nepsilon_cap = 4"
BOUNDS = "[privacy.bounding]\nmax_rows_per_unit = 3\n"


@pytest.fixture
def release(load_text):
    return lambda *edits, **options: load_text(builders.edit(ALONE, *edits), **options)


@pytest.fixture
def table(release):
    def make(*edits):
        (made,) = release(*edits).perturbs
        return made

    return make


def test_alone_it_has_the_total_and_the_best_mechanisms(release):
    made = release()
    (table,) = made.perturbs
    assert (table.name, table.number, made.queries) == ("people", 0, ())
    assert (table.epsilon, table.delta, table.truth) == (None, 0, None)
    region, pay = table.columns
    assert region.group.labels == ("north", "south", "east")
    assert (region.name, region.quantity) == ("region", None)
    assert pay == PerturbedColumn(
        "pay", quantity=Quantity("pay", made.columns["pay"].grid, 500), null_chosen=True
    )
    assert {each.mechanism for each in table.columns} == {Mechanism.AUTO}
    assert {each.weight for each in table.columns} == {1}
    assert made.warnings == ()


def test_all_that_can_be_said(table):
    more = (
        'columns = ["age", "region", "pay"]\nepsilon = 1.5\ndelta = 1e-8\n'
        'mechanism = { pay = "piecewise", region = "subset-selection" }\nweights.age = 0.5'
    )
    made = table((COLUMNS, more), (LEDGER, LEDGER + "\ndelta_cap = 1e-6"))
    assert (made.epsilon, made.delta) == (Fraction(3, 2), Fraction(1, 10**8))
    assert [each.name for each in made.columns] == ["age", "region", "pay"]
    assert [each.mechanism.value for each in made.columns] == [
        "auto",
        "subset-selection",
        "piecewise",
    ]
    assert [each.weight for each in made.columns] == [Fraction(1, 2), 1, 1]
    assert made.columns[0].group.edges == ("0", "18", "65", "120")


@pytest.mark.parametrize("word", ["auto", "randomized-response", "subset-selection"])
def test_a_mechanism_for_all_columns(table, word):
    made = table((COLUMNS, f'columns = ["region", "age", "ill"]\nmechanism = "{word}"'))
    assert {each.mechanism.value for each in made.columns} == {word}
    assert [len(each.group.labels) for each in made.columns] == [3, 3, 2]


@pytest.mark.parametrize("word", ["laplace", "piecewise"])
def test_bounds_are_taken_where_the_mechanism_is_for_numbers(table, word):
    made = table((COLUMNS, f'columns = ["age", "pay"]\nmechanism = "{word}"'))
    assert [each.quantity.grid.upper for each in made.columns] == [120, 1001]
    assert [each.group for each in made.columns] == [None, None]


def test_a_chance_of_the_truth(table):
    made = table((COLUMNS, LABELS + "\ntruth = 0.75"))
    assert (made.epsilon, made.truth) == (None, Fraction(3, 4))


@pytest.mark.parametrize(
    ("declared", "fill", "chosen"),
    [
        ("", 500, True),
        ('nulls = "drop"', 500, True),
        ("nulls = 7", 7, False),
        ("nulls = 0", 0, False),
        ("step = 7\nnulls = 18", 3, False),  # to the nearest step
        ("step = 7\nnulls = 1000", 143, False),
    ],
)
def test_what_stands_for_a_null_number(release, declared, fill, chosen):
    made = release(("upper = 1_001", f"upper = 1_001\n{declared}"))
    pay = made.perturbs[0].columns[1]
    assert (pay.quantity.null_fill, pay.null_chosen) == (fill, chosen)
    if not chosen:
        assert find_null_fill(made.columns["pay"]) == fill


def test_labels_for_all_else_and_for_nulls(table):
    region = table(('"east"]', '"east"]\nother = "away"\nnulls = "away"')).columns[0].group
    assert region.labels == ("north", "south", "east", "away")
    assert (region.other, region.null_label, region.private) == ("away", "away", False)


def test_other_makes_a_second_label(table):
    made = table((COLUMNS, 'columns = ["one"]'), ('keys = ["a"]', 'keys = ["a"]\nother = "b"'))
    assert made.columns[0].group.labels == ("a", "b")


def test_several_tables_beside_queries(release):
    second = TABLE.replace("people", "again").replace("pay", "ill") + "truth = 0.9\n"
    second = second.replace('"region", ', "")
    made = release((TABLE, QUERY + TABLE + "epsilon = 1\n" + second))
    assert [(each.name, each.number) for each in made.perturbs] == [("people", 0), ("again", 1)]
    assert [each.name for each in made.queries] == ["heads"]
    assert made.warnings == ()


def test_the_total_may_be_left_out(release):
    made = release(("epsilon = 2\n", ""), (COLUMNS, COLUMNS + "\nepsilon = 1"))
    assert made.privacy.epsilon is None


def test_a_mapping_is_read_alike(tmp_path):
    spec = builders.spec(
        release={"name": "s"},
        privacy={"adjacency": "replace-one", "epsilon": 0.5},
        columns={"ill": {"type": "boolean"}},
        perturb=[{"name": "t", "columns": ("ill",), "weights": {"ill": 2.0}}],
        query=[],
    )
    (made,) = load(spec, base=str(tmp_path)).perturbs
    assert made.columns[0].weight == 2
    spec["perturb"][0]["mechanism"] = Mechanism.RANDOMIZED_RESPONSE
    (made,) = load(spec, base=str(tmp_path)).perturbs
    assert made.columns[0].mechanism is Mechanism.RANDOMIZED_RESPONSE


def test_periods_and_other_places(release, tmp_path):
    made = release(('path = "people.csv"', 'path = "people-{period}.csv"'), period="2026")
    assert made.data.written_path == "people-2026.csv"
    assert made.perturbs == release().perturbs


# Neighbours and people


def test_alone_add_remove_is_taken_as_replace_one_with_a_word(release):
    made = release(('"replace-one"', '"add-remove"'))
    assert made.privacy.adjacency is Adjacency.REPLACE_ONE
    (warning,) = made.warnings
    assert (warning.code, warning.key) == ("W215", "privacy.adjacency")
    assert (warning.place.line, warning.place.column) == (9, 13)
    assert warning.hint == 'write `adjacency = "replace-one"`'
    assert replace(made, warnings=()) == release()


def test_people_need_a_bound_on_rows_alone(release):
    made = release(('unit = "row"', PEOPLE), (LEDGER, BOUNDS + LEDGER))
    assert made.privacy.bounding == Bounding(3, 3, 3)
    assert made.warnings == ()


def test_bounds_on_groups_do_nothing_where_there_are_none(release):
    more = "max_groups_per_unit = 1\nmax_rows_per_unit_per_group = 2\n"
    made = release(('unit = "row"', PEOPLE), (LEDGER, BOUNDS + more + LEDGER))
    assert made.privacy.bounding == Bounding(3, 3, 3)
    assert [(each.code, each.place.line) for each in made.warnings] == [("W216", 14), ("W216", 15)]


def test_bounds_on_groups_are_asked_for_where_there_are_some(complaints, release):
    edits = ('unit = "row"', PEOPLE), MIXED
    (found,) = complaints(builders.edit(ALONE, *edits, (LEDGER, BOUNDS + LEDGER)))
    assert (found.code, found.key, found.place.line) == ("E110", "privacy.bounding", 12)
    made = release(*edits, (LEDGER, BOUNDS + "max_groups_per_unit = 2\n" + LEDGER))
    assert made.privacy.bounding == Bounding(3, 2, 3)


def test_rows_that_only_the_records_use_are_no_idle_bound(release):
    units = MIXED[1].replace('"count"\nby = ["region"]', '"count_units"')
    bounds = BOUNDS + "max_groups_per_unit = 1\n"
    made = release(('unit = "row"', PEOPLE), (LEDGER, bounds + LEDGER), (TABLE, units))
    assert made.warnings == ()
    inside = BOUNDS.replace("3", "9") + "max_groups_per_unit = 2\nmax_rows_per_unit_per_group = 1\n"
    made = release(('unit = "row"', PEOPLE), (LEDGER, inside + LEDGER), MIXED)
    assert made.warnings == ()  # 9 rows are no more than the table of records takes


def test_many_rows_of_one_unit_are_worth_a_word(release):
    made = release(('unit = "row"', PEOPLE), (LEDGER, BOUNDS.replace("3", "1001") + LEDGER))
    (warning,) = made.warnings
    assert (warning.code, warning.place.line) == ("W213", 13)
    assert "each has 1/1,001 of the table's epsilon" in warning.message


def test_a_large_delta_is_seen_in_a_table_too(release):
    made = release((COLUMNS, COLUMNS + "\nepsilon = 1\ndelta = 0.1"))
    assert [each.code for each in made.warnings] == ["W207", "W206"]


def test_no_grid_is_too_fine_for_64_bits():
    assert 2 * LARGEST_STEPS < 2**60


# Mistakes


@pytest.mark.parametrize("total", ['epsilon = 2\naccounting = "pure"', "rho = 0.1\ndelta = 1e-6"])
def test_without_a_delta_it_goes_with_every_total(release, total):
    made = release(("epsilon = 2", total), (COLUMNS, COLUMNS + "\nepsilon = 1\ndelta = 0"),
                   (LEDGER, LEDGER + "\ndelta_cap = 1e-5"))  # fmt: skip
    assert made.perturbs[0].delta == 0
