"""`[postprocess]`: which queries get which of its keys, and every mistake at its place."""

from __future__ import annotations

from fractions import Fraction

import builders
import pytest

from dprelease.errors import Failure
from dprelease.model import AS_RELEASED, Finish
from dprelease.specfile import load

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
TOTAL = '\n[[query]]\nname = "total"\nstatistic = "count"\nweight = 1\n\n[output]'
OTHER = 'keys = ["north", "south", "east"]\nother = "x"\nnulls = "x"'
KEYS = 'keys = ["north", "south", "east"]'
NO_EPSILON = ("epsilon = 0.6", "weight = 1")


def get_finishes(release):
    return {query.name: query.finish for query in release.queries}


def test_without_keys_figures_are_published_as_released(good):
    assert set(get_finishes(good()).values()) == {AS_RELEASED}


def test_keys_of_the_section_are_for_the_queries_that_they_fit(good):
    section = "[postprocess]\nnonnegative = true\ninteger = true\nhide_below = 20\nround_to = 5\n"
    found = get_finishes(good(("[output]", f"{section}flag_unreliable_at = 0.2\n[output]")))
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
    finish = get_finishes(good((Q1, Q1 + own), ("[output]", section)))["headcount"]
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


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ({}, ["W220"]),
        ({"nulls": False}, []),
        ({"nulls": True, "keys": [True]}, ["W220"]),
        ({"nulls": True, "keys": [True, False]}, []),
    ],
)
def test_booleans_have_all_their_values_unless_keys_leave_one_out(more, codes):
    release = load(
        builders.spec(
            data={"path": "x.csv"},
            columns={"on": {"type": "boolean", **more}},
            postprocess={"consistent": True},
            query=[
                {"name": "n", "statistic": "count"},
                {"name": "by_on", "statistic": "count", "by": ["on"]},
            ],
        )
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
    assert "its own choice" in next(w.message for w in release.warnings if w.code == "W220")


def test_figures_of_the_row_are_named_by_their_columns(good):
    own = 'epsilon = 0.6\npublish_if = "headcount >= 20 AND count > 5 AND mean_salary_count > 5"'
    assert (
        get_finishes(good(("epsilon = 0.6", own)))["mean_salary"].publish_if.text[:9] == "headcount"
    )


def test_a_condition_of_the_section_is_not_for_names(good):
    mode = 'statistic = "mode"\ncolumn = "region"'
    section = '[postprocess]\npublish_if = "count > 5"\n[output]'
    found = get_finishes(good((Q1, mode), ("[output]", section)))
    assert found["headcount"].publish_if is None
    assert found["mean_salary"].publish_if is not None


def test_tables_in_a_circle_are_refused_until_there_is_one_of_all():
    columns = {f"c{n}": {"type": "boolean"} for n in range(4)}
    triples = [["c0", "c1", "c2"], ["c0", "c1", "c3"], ["c0", "c2", "c3"], ["c1", "c2", "c3"]]

    def spec(sets):
        return builders.spec(
            data={"path": "x.csv"},
            columns=columns,
            postprocess={"consistent": True},
            query=[{"name": f"q{n}", "statistic": "count", "by": by} for n, by in enumerate(sets)],
        )

    with pytest.raises(Failure) as caught:
        load(spec(triples))
    (complaint,) = caught.value.complaints
    assert complaint.code == "E262"
    assert "overlap in a circle" in complaint.message
    assert complaint.hint == "leave one out, or add a table by all of c0, c1, c2 and c3"
    assert load(spec([*triples, ["c3", "c2", "c1", "c0"]])).queries
