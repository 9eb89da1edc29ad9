"""Bounds that contradict each other, do nothing, or cost a great deal: one warning for each."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from dprelease.errors import Complaint
from dprelease.model import Release
from dprelease.planning.planner import make_plan

Good = Callable[..., Release]
Changes = tuple[tuple[str, str], ...]

ROW = 'unit = "row"'
COLUMN = 'unit = "column"\nunit_column = "staff_id"'
LEDGER = "[ledger]"
Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
Q2 = 'statistic = "mean"\ncolumn = "salary"\nby = ["region"]\nepsilon = 0.6'
KEYS = 'keys = ["north", "south", "east"]\nsource = "public: Regions Act 2004"'
UNITS = ((Q1, Q1.replace("count", "count_units")), (Q2, Q1.replace("count", "count_units")))
OVERALL = tuple((old, new.replace('by = ["region"]\n', "")) for old, new in UNITS)
PRIVATE = (
    (KEYS, ""),
    (Q1, Q1.replace("count", "count_units") + "\npartition_selection = { delta = 1e-8 }"),
    (Q2, f"{Q2}\npartition_selection = {{ delta = 1e-8 }}"),
    ("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-7"),
    ("epsilon_cap = 2.0", "epsilon_cap = 2.0\ndelta_cap = 1e-6"),
)


def bounding(rows: int, groups: int, within: int | None = None) -> str:
    text = f"[privacy.bounding]\nmax_rows_per_unit = {rows}\nmax_groups_per_unit = {groups}\n"
    return text if within is None else f"{text}max_rows_per_unit_per_group = {within}\n"


def load_spec(
    good: Good, bounds: tuple[int, ...], changes: Changes = (), adjacency: str = ""
) -> Release:
    edits = [(ROW, COLUMN), (LEDGER, bounding(*bounds) + LEDGER), *changes]
    if adjacency:
        edits.append(("add-remove", adjacency))
    return good(*edits)


def list_warnings(
    good: Good, bounds: tuple[int, ...], changes: Changes = (), adjacency: str = ""
) -> tuple[Complaint, ...]:
    return load_spec(good, bounds, changes, adjacency).warnings


# Three groups of one column; two queries count rows unless the row says something else.
WARNINGS = [
    ("W209", (2, 3), (), "max_groups_per_unit", "max_groups_per_unit = 3 can't be reached: 2 rows "
     "can't be in more than 2 groups", "max_groups_per_unit = 2, which has the same effect; or "
     "raise "
     "max_rows_per_unit, which needs more noise"),
    ("W209", (1, 9), PRIVATE, "max_groups_per_unit", "1 row can't be in more than 1 group",
     "max_groups_per_unit = 1, which has the same effect"),
    ("W209", (3, 4), (), "max_groups_per_unit", "3 rows can't be in more than 3 groups", ""),
    ("W209", (2, 3), UNITS, "max_groups_per_unit", "2 rows can't be", ""),
    ("W210", (4, 2, 5), (), "max_rows_per_unit_per_group", "max_rows_per_unit_per_group = 5 can't "
     "be reached: at most 4 rows of one unit count in total", "leave it out, which has the "
     "same effect; or write less than max_rows_per_unit"),
    ("W211", (10, 3, 2), (), "max_rows_per_unit", "max_rows_per_unit = 10 can't be reached: 3 "
     "groups with at most 2 rows hold 6, and the noise covers that many",
     "max_rows_per_unit = 6 needs the same noise"),
    ("W211", (4, 2, 1), PRIVATE, "max_rows_per_unit", "2 groups with at most 1 row hold 2", ""),
    ("W212", (9, 4), (), "max_groups_per_unit", "max_groups_per_unit = 4 can't be reached: no "
     "table has more than 3 groups", "max_groups_per_unit = 3, which has the same effect"),
    ("W212", (9, 4), UNITS, "max_groups_per_unit", "no table has more than 3 groups", ""),
    ("W213", (1001, 3), (), "max_rows_per_unit", "1,001 rows of one unit can count in a table, and "
     "the noise has to hide all of them: with Laplace noise of epsilon 1 a count is off by ± "
     "3,003, not by "
     "± 3", "1 to 5 are usual"),
    ("W213", (5000, 1200), PRIVATE, "max_rows_per_unit", "5,000 rows of one unit", ""),
    ("W214", (4, 2), OVERALL, "", "no query is affected by these bounds: each counts a unit once, "
     "in a single group", "write 1 for both"),
    ("W214", (4, 2, 2), UNITS, "max_rows_per_unit_per_group", "has no effect: every query counts a "
     "unit once in each group", "leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "bounds", "changes", "key", "said", "hint"),
    WARNINGS,
    ids=[f"{row[0]}-{number}" for number, row in enumerate(WARNINGS)],
)
def test_one_warning_with_place_and_remedy(
    good: Good, code: str, bounds: tuple[int, ...], changes: Changes, key: str, said: str, hint: str
) -> None:
    (found,) = list_warnings(good, bounds, changes)
    assert found.code == code
    assert found.key == ".".join(["privacy", "bounding", *([key] if key else [])])
    assert said in found.message
    assert hint in found.hint
    assert found.hint
    header = 16
    lines = {"": (header, 1), "max_rows_per_unit": (header + 1, 21),
             "max_groups_per_unit": (header + 2, 23),
             "max_rows_per_unit_per_group": (header + 3, 31)}  # fmt: skip
    assert found.place is not None
    extra = 1 if changes and changes[0] == PRIVATE[0] else 0  # a delta above
    line, column = lines[key]
    assert (found.place.line, found.place.column) == (line + extra, column)


SILENT = [
    ((1, 1), ()),
    ((4, 2), ()),
    ((4, 2, 2), ()),
    ((4, 2, 3), ()),
    ((4, 3, 4), ()),
    ((3, 3, 1), ()),
    ((1000, 3), ()),
    ((1000, 3, 400), ()),
    ((100, 90), PRIVATE),
    ((1, 1), OVERALL),
    ((5, 2), UNITS),
    ((100_000, 3), UNITS),  # many rows cost a count of units nothing, and show more of its groups
]


@pytest.mark.parametrize(("bounds", "changes"), SILENT)
def test_sound_bounds_are_silent(good: Good, bounds: tuple[int, ...], changes: Changes) -> None:
    assert list_warnings(good, bounds, changes) == ()


def test_each_bound_has_its_own_warning(good: Good) -> None:
    found = list_warnings(good, (5_000, 9, 1_100))
    assert [each.code for each in found] == ["W212", "W211", "W213"]
    assert "3,300 rows" in found[2].message
    assert "3,300" in found[1].message


def test_a_replaced_unit_moves_a_count_both_ways(good: Good) -> None:
    (found,) = list_warnings(good, (2000, 3), adjacency="replace-one")
    assert "off by ± 12,000, not by ± 6" in found.message


def test_many_groups_of_a_count_of_units(good: Good) -> None:
    keys = "keys = [" + ", ".join(f'"k{number}"' for number in range(1500)) + "]"
    changes = (*UNITS, ('keys = ["north", "south", "east"]', keys))
    (found,) = list_warnings(good, (1400, 1300), changes)
    assert (found.code, found.key) == ("W213", "privacy.bounding.max_groups_per_unit")
    assert "in 1,300 groups" in found.message
    assert list_warnings(good, (1400, 900), changes) == ()


@pytest.mark.parametrize(
    ("bounds", "same", "changes"),
    [
        ((2, 3), (2, 2), ()),
        ((9, 4), (9, 3), ()),
        ((4, 2, 5), (4, 2), ()),
        ((10, 3, 2), (6, 3, 2), ()),
        ((4, 2, 1), (2, 2, 1), PRIVATE),
        ((4, 2, 2), (4, 2), UNITS),
        ((4, 2), (1, 1), OVERALL),
    ],
)
def test_the_remedy_needs_the_same_noise(
    good: Good, bounds: tuple[int, ...], same: tuple[int, ...], changes: Changes
) -> None:
    """What the hints say is so: the planner makes the same noise, and nothing is warned of."""
    assert list_warnings(good, bounds, changes)
    assert list_warnings(good, same, changes) == ()
    noises = [
        [(step.noise, step.sensitivity.l1, step.sensitivity.l2_squared) for step in plan.steps]
        for plan in (make_plan(load_spec(good, each, changes)) for each in (bounds, same))
    ]
    assert noises[0] == noises[1]


def test_the_noise_that_is_named_is_that_of_the_plan(good: Good) -> None:
    release = load_spec(good, (2_000, 3))
    plan = make_plan(release)
    read = next(read for read in plan.reads if read.query.statistic == "count")
    step = plan.step(read)
    factor = read.factors[0] if read.factors else 1  # of a release that others share
    assert step.noise.parameter * step.loss.epsilon * factor == 2_000  # the scale at epsilon 1
    named = re.search(r"± ([0-9,]+),", release.warnings[0].message)
    assert named is not None
    assert int(named[1].replace(",", "")) == 3 * 2_000
