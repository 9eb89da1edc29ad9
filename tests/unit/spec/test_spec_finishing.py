"""`[postprocess]`: which queries get which of its keys, and every mistake at its place."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprelease.errors import Failure
from dprelease.model import AS_RELEASED, Finish
from dprelease.spec import load

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
TOTAL = '\n[[query]]\nname = "total"\nstatistic = "count"\nweight = 1\n\n[output]'
OTHER = 'keys = ["north", "south", "east"]\nother = "x"\nnulls = "x"'
KEYS = 'keys = ["north", "south", "east"]'
NO_EPSILON = ("epsilon = 0.6", "weight = 1")


def finishes(release):
    return {query.name: query.finish for query in release.queries}


def test_without_keys_figures_are_published_as_released(good):
    assert set(finishes(good()).values()) == {AS_RELEASED}


def test_keys_of_the_section_are_for_the_queries_that_they_fit(good):
    section = "[postprocess]\nnonnegative = true\ninteger = true\nhide_below = 20\nround_to = 5\n"
    found = finishes(good(("[output]", f"{section}flag_unreliable_at = 0.2\n[output]")))
    share = Fraction(1, 5)
    assert found["headcount"] == Finish(
        nonnegative=True,
        integer=True,
        hide_below=Fraction(20),
        round_to=Fraction(5),
        flag_unreliable_at=share,
    )
    assert found["mean_salary"] == Finish(round_to=Fraction(5), flag_unreliable_at=share)


def test_a_query_s_own_keys_come_first(good):
    own = '\nnonnegative = false\npublish_if = "value > 30"'
    section = "[postprocess]\nnonnegative = true\nhide_below = 20\n[output]"
    finish = finishes(good((Q1, Q1 + own), ("[output]", section)))["headcount"]
    assert (finish.nonnegative, finish.hide_below) == (False, None)
    assert finish.publish_if.text == "value > 30"


def test_tables_of_the_same_records_are_to_agree_and_no_other(good):
    section = "[postprocess]\nconsistent = true\n"
    release = good((KEYS, OTHER), NO_EPSILON, ("[output]", section + TOTAL))
    assert [query.finish.consistent for query in release.queries] == [True, False, True]
    assert release.warnings == ()


def test_tables_that_may_have_other_records_are_warned_of(good):
    section = "[postprocess]\nconsistent = true\n"
    (warning,) = good(NO_EPSILON, ("[output]", section + TOTAL)).warnings
    assert warning.code == "W220"
    assert (warning.place.line, warning.place.column) == (43, 14)
    assert 'undeclared values or nulls of "region"' in warning.message


@pytest.mark.parametrize(("nulls", "codes"), [({}, ["W220"]), ({"nulls": False}, [])])
def test_booleans_have_all_their_values(nulls, codes):
    release = load(
        {
            "schema": 1,
            "release": {"name": "x"},
            "data": {"path": "x.csv"},
            "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
            "columns": {"on": {"type": "boolean", **nulls}},
            "postprocess": {"consistent": True},
            "query": [
                {"name": "n", "statistic": "count"},
                {"name": "by_on", "statistic": "count", "by": ["on"]},
            ],
            "output": {"path": "out"},
        }
    )
    assert [w.code for w in release.warnings if w.code == "W220"] == codes


def test_people_are_warned_of_as_each_table_keeps_its_own_rows(good):
    unit = 'unit = "column"\nunit_column = "who"\nbounding = { max_rows_per_unit = 2, '
    release = good(
        ('unit = "row"', f"{unit}max_groups_per_unit = 2 }}"),
        (KEYS, OTHER),
        NO_EPSILON,
        ("[output]", "[postprocess]\nconsistent = true\n" + TOTAL),
    )
    assert "choice of its own" in next(w.message for w in release.warnings if w.code == "W220")


# Where they stand: in the query of line 29 behind line 32, or in a section at line 42.
OWN = [
    ("consistent = 1", "E103", 33, 14, "1 is not true or false"),
    ("round_to = 0", "E205", 33, 12, "0 is not above 0"),
    ("flag_unreliable_at = -0.1", "E205", 33, 22, "not above 0"),
    (
        'publish_if = "value >= 20"\nhide_below = 2',
        "E111",
        34,
        14,
        "both publish_if and hide_below",
    ),
    ('publish_if = "vlue >= 20"', "E215", 33, 14, 'no figure "vlue", for query "headcount"'),
    ('publish_if = "value >= 2 AND value < 1"', "E261", 33, 14, "never holds"),
    ('nonnegative = true\npublish_if = "value < 0"', "E261", 34, 14, "never holds"),
    ('publish_if = "1 = 1"', "E261", 33, 14, "names no figure"),
    ('publish_if = "value"', "E215", 33, 14, "true or false"),
    ("consistent = true", "E262", 33, 14, 'no other table is of the same records as "headcount"'),
]


@pytest.mark.parametrize(("keys", "code", "line", "column", "said"), OWN)
def test_a_mistake_in_a_query(spoilt, keys, code, line, column, said):
    (complaint,) = spoilt(("epsilon = 0.4", keys))
    assert (complaint.code, complaint.place.line, complaint.place.column) == (code, line, column)
    assert said in complaint.message
    assert complaint.hint


@pytest.mark.parametrize(
    ("statistic", "keys", "said"),
    [
        ('"mean"\ncolumn = "salary"', "nonnegative = true", "only counts, and sums with a lower"),
        ('"mean"\ncolumn = "salary"', "integer = true", "only counts and sums"),
        ('"mean"\ncolumn = "salary"', "hide_below = 20", 'publish_if = "count >= 20"'),
        ('"mean"\ncolumn = "salary"', "consistent = true", "only counts of records and sums"),
        ('"count_units"', "consistent = true", "only counts of records and sums"),
        ('"mode"\ncolumn = "region"', "hide_below = 20", "only counts and sums"),
        ('"mode"\ncolumn = "region"', "round_to = 5", "names can't be rounded"),
        ('"median"\ncolumn = "salary"', "flag_unreliable_at = 0.2", "is private"),
    ],
)
def test_a_key_that_the_statistic_can_t_take(spoilt, statistic, keys, said):
    by = "" if "mode" in statistic else '\nby = ["region"]'
    (complaint,) = spoilt((Q1, f"statistic = {statistic}{by}\n{keys}"))
    assert complaint.code == "E260"
    assert said in complaint.message


def test_a_sum_that_can_be_negative_is_not_cut(spoilt):
    query = 'statistic = "sum"\ncolumn = "salary"\nnonnegative = true'
    (complaint,) = spoilt((Q1, query), ("lower = 15_000", "lower = -15_000"))
    assert complaint.code == "E260"


def test_figures_of_the_row_are_named_by_their_columns(good, spoilt):
    own = 'epsilon = 0.6\npublish_if = "headcount >= 20 AND count > 5 AND mean_salary_count > 5"'
    assert finishes(good(("epsilon = 0.6", own)))["mean_salary"].publish_if.text[:9] == "headcount"
    (complaint,) = spoilt(("epsilon = 0.6", 'epsilon = 0.6\npublish_if = "heads > 1"'))
    assert 'no figure "heads"' in complaint.message
    assert "headcount" in complaint.hint


def test_names_have_no_value_but_may_be_hidden_by_other_figures(good, spoilt):
    mode = 'statistic = "mode"\ncolumn = "region"\npublish_if = '
    (complaint,) = spoilt((Q1, mode + '"value > 1"'))
    assert 'no figure "value"' in complaint.message
    assert "in the rows of headcount there are headcount_noise_moe" in complaint.hint


def test_a_condition_of_the_section_is_not_for_names(good):
    mode = 'statistic = "mode"\ncolumn = "region"'
    section = '[postprocess]\npublish_if = "count > 5"\n[output]'
    found = finishes(good((Q1, mode), ("[output]", section)))
    assert found["headcount"].publish_if is None
    assert found["mean_salary"].publish_if is not None


SECTION = [
    ("consistent = true", "E262", 43, 14, "no two tables count the same records"),
    ('publish_if = "valu > 1"', "E215", 43, 14, 'no figure "valu", for query "headcount"'),
    ("bins = 3", "E102", 43, 1, 'unknown key "bins" in [postprocess]'),
]


@pytest.mark.parametrize(("keys", "code", "line", "column", "said"), SECTION)
def test_a_mistake_in_the_section(spoilt, keys, code, line, column, said):
    complaint = spoilt(("[output]", f"[postprocess]\n{keys}\n[output]"))[0]
    assert (complaint.code, complaint.place.line, complaint.place.column) == (code, line, column)
    assert said in complaint.message


def test_a_key_of_the_section_that_is_for_no_query(spoilt):
    mean = 'statistic = "mean"\ncolumn = "salary"'
    (complaint,) = spoilt((Q1, mean), ("[output]", "[postprocess]\ninteger = true\n[output]"))
    assert complaint.code == "E260"
    assert "integer is for no query" in complaint.message


def test_tables_that_differ_in_their_records_are_told_by_how(spoilt):
    total = TOTAL.replace("weight = 1", 'weight = 1\nwhere = "salary > 20000"')
    complaint = spoilt(NO_EPSILON, ("[output]", "[postprocess]\nconsistent = true\n" + total))[0]
    assert complaint.code == "E262"
    assert complaint.hint == "headcount and total differ in where"


def test_tables_that_agree_are_finished_alike(spoilt):
    edits = NO_EPSILON, ("[output]", "[postprocess]\nconsistent = true\n" + TOTAL)
    (complaint,) = spoilt((Q1, Q1 + "\ninteger = true"), *edits)
    assert complaint.code == "E262"
    assert "alike" in complaint.message


def test_tables_in_a_circle_are_refused_until_there_is_one_of_all():
    columns = {f"c{n}": {"type": "boolean"} for n in range(4)}
    triples = [["c0", "c1", "c2"], ["c0", "c1", "c3"], ["c0", "c2", "c3"], ["c1", "c2", "c3"]]

    def spec(sets):
        return {
            "schema": 1,
            "release": {"name": "x"},
            "data": {"path": "x.csv"},
            "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1},
            "columns": columns,
            "postprocess": {"consistent": True},
            "query": [
                {"name": f"q{n}", "statistic": "count", "by": by} for n, by in enumerate(sets)
            ],
            "output": {"path": "out"},
        }

    with pytest.raises(Failure) as caught:
        load(spec(triples))
    (complaint,) = caught.value.complaints
    assert complaint.code == "E262"
    assert "overlap in a circle" in complaint.message
    assert complaint.hint == "leave one out, or add a table by all of c0, c1, c2 and c3"
    assert load(spec([*triples, ["c3", "c2", "c1", "c0"]])).queries
