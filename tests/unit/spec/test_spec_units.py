"""People instead of rows: unit_column and the bounds on what one unit counts for."""

from __future__ import annotations

import pytest

from dprelease.model import Bounding

ROW = 'unit = "row"'
BOUNDING = "[privacy.bounding]\nmax_rows_per_unit = 4\nmax_groups_per_unit = 2\n"
COLUMN = 'unit = "column"\nunit_column = "staff_id"'
LEDGER = "[ledger]"
Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'


@pytest.mark.parametrize(
    ("more", "bounding", "warned"),
    [
        ("", Bounding(4, 2, 4), []),
        ("max_rows_per_unit_per_group = 3", Bounding(4, 2, 3), []),
        ("max_rows_per_unit_per_group = 9", Bounding(4, 2, 4), ["W210"]),
        ("max_rows_per_unit_per_group = 1.0", Bounding(4, 2, 1), ["W211"]),
    ],
)
def test_a_unit_that_need_not_be_declared(good, more, bounding, warned):
    release = good((ROW, COLUMN), (LEDGER, f"{BOUNDING}{more}\n{LEDGER}"))
    assert release.privacy.unit == "column"
    assert release.privacy.unit_column == "staff_id"
    assert release.privacy.bounding == bounding
    assert "staff_id" not in release.columns
    assert [each.code for each in release.warnings] == warned


def test_a_row_has_no_bounds(good):
    privacy = good().privacy
    assert (privacy.unit, privacy.unit_column, privacy.bounding) == ("row", None, None)


def test_more_groups_than_there_are_do_no_harm(good):
    many = BOUNDING.replace("= 2", "= 1_000_000_000")
    release = good((ROW, COLUMN), (LEDGER, many + LEDGER))
    assert release.privacy.bounding == Bounding(4, 10**9, 4)
    assert [each.code for each in release.warnings] == ["W212"]


def test_the_unit_may_be_declared_computed_and_counted(good):
    release = good(
        (ROW, COLUMN),
        (LEDGER, BOUNDING + LEDGER),
        (
            "[columns.salary]",
            '[columns.staff_id]\ntype = "string"\nexpression = "LOWER(region)"\nnulls = "nobody"\n'
            "[columns.salary]",
        ),
        (Q1, 'statistic = "count_distinct"\ncolumn = "staff_id"'),
    )
    assert release.columns["staff_id"].null_value == "nobody"
    assert release.queries[0].column.name == "staff_id"
    assert release.warnings == ()


MISTAKES = [
    ('unit = "column"', "", "E110", 10, 8, 'unit = "column" without `unit_column`',
     "says whose row it is"),
    ('unit = "column"', "", "E110", 10, 8, 'unit = "column" without [privacy.bounding]',
     "max_rows_per_unit, how many rows of one unit count"),
    ('unit = "columns"', "", "E105", 10, 8, '"columns" is no unit', 'did you mean "column"?'),
    ('unit = "row"\nunit_column = "staff_id"', "", "E111", 11, 1,
     "unit_column, but the unit is a row", 'unit = "column" protects'),
    (ROW, BOUNDING, "E111", 15, 1, "bounding, but the unit is a row", "leave it out"),
    (COLUMN, BOUNDING.replace("= 4", "= 0"), "E236", 17, 21, "0 is not a whole number from 1 on",
     "such as 4"),
    (COLUMN, BOUNDING.replace("= 4", "= -1"), "E236", 17, 21, "-1 is not a whole number", ""),
    (COLUMN, BOUNDING.replace("= 4", "= 2.5"), "E236", 17, 21, "2.5 is not a whole number", ""),
    (COLUMN, BOUNDING.replace("= 4", '= "4"'), "E236", 17, 21, '"4" is a text', "without quotes"),
    (COLUMN, BOUNDING.replace("= 4", "= true"), "E236", 17, 21, "true is no number", ""),
    (COLUMN, BOUNDING.replace("= 4", "= inf"), "E236", 17, 21, "not a finite number", ""),
    (COLUMN, BOUNDING.replace("= 2", "= 1_000_000_001"), "E236", 18, 23,
     "1000000001 is more than 1000000000", ""),
    (COLUMN, BOUNDING + "max_rows_per_unit_per_group = 0\n", "E236", 19, 31, "0 is not", ""),
    (COLUMN, BOUNDING.replace("max_groups_per_unit = 2\n", ""), "E110", 16, 1,
     "[privacy.bounding] has no `max_groups_per_unit`", "in how many groups of a table"),
    (COLUMN, BOUNDING.replace("max_rows_per_unit = 4\n", ""), "E110", 16, 1,
     "[privacy.bounding] has no `max_rows_per_unit`", "how many rows of one unit count"),
    (COLUMN, BOUNDING.replace("max_rows_per_unit", "max_row_per_unit"), "E102", 17, 1,
     'unknown key "max_row_per_unit" in [privacy.bounding]', '"max_rows_per_unit"'),
    (COLUMN.replace("staff_id", ""), BOUNDING, "E107", 11, 15, "empty", ""),
    (COLUMN.replace("staff_id", "Region"), BOUNDING, "E216", 11, 15,
     'column "Region" is not declared', 'did you mean "region"?'),
    (COLUMN.replace("staff_id", "region"), BOUNDING, "E237", 36, 7,
     '"region" tells units apart: each group or value would be one unit\'s own', "count_units"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "bounding", "code", "line", "column", "said", "hint"),
    MISTAKES,
    ids=[f"{row[2]}-{number}" for number, row in enumerate(MISTAKES)],
)
def test_a_mistake(spoilt, unit, bounding, code, line, column, said, hint):
    found = spoilt((ROW, unit), (LEDGER, bounding + LEDGER))
    first = [each for each in found if each.code == code and said in each.message]
    assert first, [str(each) for each in found]
    assert (first[0].place.line, first[0].place.column) == (line, column)
    assert hint in first[0].hint
    assert first[0].key


def test_a_misspelt_bounding_is_not_also_missing(spoilt):
    found = spoilt((ROW, COLUMN), (LEDGER, BOUNDING.replace("bounding", "bouding") + LEDGER))
    assert [(each.code, each.key) for each in found] == [("E102", "privacy.bouding")]


def test_the_unit_is_looked_for_among_the_names_of_the_file(complaints, simple):
    text = simple.replace(ROW, COLUMN).replace(LEDGER, BOUNDING + LEDGER)
    names = 'path = "s.csv"\nheader = false\nnames = ["region", "salary", "staf_id"]'
    (found,) = complaints(text.replace('path = "staff.csv"', names))
    assert (found.code, found.key, found.hint) == (
        "E216",
        "privacy.unit_column",
        'did you mean "staf_id"?',
    )


def test_units_are_no_groups_and_need_not_be_declared_to_be_told(complaints, simple):
    text = simple.replace(ROW, COLUMN).replace(LEDGER, BOUNDING + LEDGER)
    found = complaints(text.replace('by = ["region"]', 'by = ["staff_id"]'))
    assert {(each.code, each.hint.partition(";")[0]) for each in found} == {
        ("E237", "count_units counts the units")
    }


@pytest.mark.parametrize("statistic", ["histogram", "mode"])
def test_units_are_no_values_to_publish(complaints, simple, statistic):
    text = simple.replace(ROW, COLUMN.replace("staff_id", "region"))
    text = text.replace(LEDGER, BOUNDING + LEDGER).replace('by = ["region"]\n', "")
    text = text.replace('statistic = "count"', f'statistic = "{statistic}"\ncolumn = "region"')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E237", "query[0].column")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('statistic = "median"\ncolumn = "salary"', "query[0].column"),
        (
            'statistic = "ratio"\nnumerator = { column = "salary" }\ndenominator = {}',
            "query[0].numerator.column",
        ),
    ],
)
def test_arithmetic_with_the_unit_is_a_warning(good, text, key):
    release = good(
        (ROW, COLUMN.replace("staff_id", "salary")), (LEDGER, BOUNDING + LEDGER), (Q1, text)
    )
    assert [(each.code, each.key) for each in release.warnings] == [
        ("W208", key),
        ("W208", "query[1].column"),
    ]


def test_the_description_that_is_missing_is_that_of_a_unit(good):
    release = good(
        (ROW, COLUMN),
        (LEDGER, BOUNDING + LEDGER),
        ('unit_description = "one employee"\n', ""),
    )
    (warning,) = release.warnings
    assert (warning.code, warning.message) == ("W202", "nothing says what one unit stands for")


@pytest.mark.parametrize(
    ("kind", "codes"), [("decimal", ["W218"]), ("float", ["W218"]), ("integer", []), ("string", [])]
)
def test_a_unit_column_of_doubles_is_warned_of(good, kind: str, codes: list[str]) -> None:
    """Two people whose numbers differ after the 15th digit would be one."""
    declared = f'[columns.staff_id]\ntype = "{kind}"\n'
    release = good((ROW, COLUMN), (LEDGER, f"{BOUNDING}\n{declared}\n{LEDGER}"))
    assert [each.code for each in release.warnings] == codes
    assert all(each.key == "privacy.unit_column" for each in release.warnings)


def test_a_unit_named_candidate_is_in_the_way_of_best(complaints, simple):
    text = simple.replace(ROW, COLUMN.replace("staff_id", "candidate"))
    text = text.replace(LEDGER, BOUNDING + LEDGER)
    best = 'statistic = "best"\nscore = "salary * candidate"\nscore_upper = 1\ncandidates = [1]'
    (found,) = complaints(text.replace(Q1, best))
    assert (found.code, found.key) == ("E231", "query[0].score")
