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
    assert (warning.code, warning.message) == (
        "W202",
        "the spec does not say what one unit stands for",
    )


@pytest.mark.parametrize(
    ("kind", "codes"), [("decimal", ["W218"]), ("float", ["W218"]), ("integer", []), ("string", [])]
)
def test_a_unit_column_of_doubles_is_warned_of(good, kind: str, codes: list[str]) -> None:
    """Two people whose numbers differ after the 15th digit would be one."""
    declared = f'[columns.staff_id]\ntype = "{kind}"\n'
    release = good((ROW, COLUMN), (LEDGER, f"{BOUNDING}\n{declared}\n{LEDGER}"))
    assert [each.code for each in release.warnings] == codes
    assert all(each.key == "privacy.unit_column" for each in release.warnings)
