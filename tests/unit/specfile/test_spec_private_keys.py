"""Groups without public keys: what is asked for, who selects them, and what doesn't fit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprelease.model import ColumnType, Group, KeySelection, Query

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
Q2 = 'statistic = "mean"\ncolumn = "salary"\nby = ["region"]\nepsilon = 0.6'
EPS = "epsilon = 1.0"
KEYS = 'keys = ["north", "south", "east"]\n'
COLUMN = (
    'unit = "row"',
    'unit = "column"\nunit_column = "id"\n'
    "bounding = { max_rows_per_unit = 2, max_groups_per_unit = 2 }",
)
NO_CAP = ("epsilon_cap = 2.0", "epsilon_cap = 2.0\ndelta_cap = 1e-6")
DELTA = Fraction(1, 10**8)
PRIVATE = Group("region", ColumnType.STRING, (), private=True)


def selection(*more):
    return f"partition_selection = {{ {', '.join(['delta = 1e-8', *more])} }}\n"


COUNT = 'statistic = "count"\nby = ["region"]\n' + selection()
MEAN = 'statistic = "mean"\ncolumn = "salary"\nby = ["region"]\n' + selection()
MODE = 'statistic = "mode"\ncolumn = "sex"\nby = ["region"]\n' + selection()
SUM = MEAN.replace("mean", "sum")
SEX = ("[columns.salary]", '[columns.sex]\ntype = "boolean"\n[columns.salary]')


@pytest.fixture
def queries(good):
    """Load the simple spec, its regions without keys, and give its queries."""

    def run(first, second, *edits):
        release = good((KEYS, ""), (Q1, first), (Q2, second), NO_CAP, *edits)
        assert release.warnings == ()
        return release.queries

    return run


def test_a_count_selects_the_keys_of_its_table(queries):
    count, mean = queries(COUNT + "epsilon = 0.4", MEAN + "epsilon = 0.6")
    assert count.groups == mean.groups == (PRIVATE,)
    assert count.private
    assert count.key_selection == mean.key_selection == KeySelection(DELTA)
    assert (count.table, count.epsilon, count.implied) == ("by_region", Fraction(2, 5), False)


def test_nulls_are_a_group_when_they_have_a_label(queries):
    count, _ = queries(COUNT, MEAN, ('type = "string"\n', 'type = "string"\nnulls = "none"\n'))
    assert count.groups[0].null_label == "none"


def test_private_and_public_groups_go_together(queries):
    both = 'by = ["sex", "region"]'
    count, mean = queries(
        COUNT.replace('by = ["region"]', both), MEAN.replace('by = ["region"]', both), SEX
    )
    assert [group.private for group in count.groups] == [False, True]
    assert mean.table == "by_sex_region"


BEST = MEAN.replace(
    '"mean"\ncolumn = "salary"',
    '"best"\ncandidates = [1, 2, 3]\nscore_upper = 1\n'
    "score = 'CASE WHEN salary > candidate THEN 1 ELSE 0 END'",
)
IN_ORDER = {
    "median": MEAN.replace("mean", "median"),
    "min": MEAN.replace("mean", "min"),
    "max": MEAN.replace("mean", "max"),
    "quantile": MEAN.replace("mean", "quantile") + "q = [0.1, 0.9]\n",
}
CHOSEN = {"mode": MODE, "top_k": MODE.replace("mode", "top_k") + "k = 2\n", "best": BEST}


@pytest.mark.parametrize("statistic", [*IN_ORDER, *CHOSEN])
def test_quantiles_and_choices_have_the_keys_that_the_count_selects(queries, statistic):
    count, other = queries(COUNT, (IN_ORDER | CHOSEN)[statistic], SEX)
    assert other.statistic == statistic
    assert other.groups == count.groups == (PRIVATE,)
    assert (other.table, other.key_selection) == ("by_region", count.key_selection)
    if statistic in {"mode", "top_k"}:  # what is chosen from stays public
        assert other.axis == Group("sex", ColumnType.BOOLEAN, ("false", "true"), ("false", "true"))


@pytest.mark.parametrize("statistic", [*IN_ORDER, *CHOSEN])
def test_a_table_of_nothing_else_gets_a_count_by_its_groups_alone(queries, statistic):
    asked = (IN_ORDER | CHOSEN)[statistic]
    implied, one, _ = queries(asked, MEAN, SEX)
    assert implied == IMPLIED
    assert (one.name, one.number) == ("headcount", 0)


IMPLIED = Query(
    "by_region_rows",
    "count",
    "by_region",
    (PRIVATE,),
    key_selection=KeySelection(DELTA),
    implied=True,
)


def test_a_table_without_a_count_gets_one_that_shares_by_weight(queries):
    implied, mode, mean = queries(SUM + "weight = 3", MEAN + "epsilon = 0.2", SEX)
    assert implied == IMPLIED
    assert (implied.weight, implied.epsilon) == (1, None)
    assert (mode.number, mean.number) == (0, 1)


def test_the_implied_count_has_the_epsilon_of_the_selection(queries):
    second = MEAN.replace("1e-8", "1e-8, epsilon = 0.3") + "epsilon = 0.2"
    implied, mode, mean = queries(SUM + "epsilon = 0.1", second, SEX)
    assert implied.epsilon == Fraction(3, 10)
    wanted = KeySelection(DELTA, Fraction(3, 10))
    assert implied.key_selection == mode.key_selection == mean.key_selection == wanted


def test_of_units_the_number_is_counted(queries):
    implied, _, _ = queries(COUNT, MEAN, COLUMN)
    assert (implied.name, implied.statistic) == ("by_region_units", "count_units")
    units, _ = queries(COUNT.replace('"count"', '"count_units"'), MEAN, COLUMN)
    assert not units.implied


def test_the_epsilon_of_the_selection_is_that_of_the_count(queries):
    by_selection = COUNT.replace("1e-8", "1e-8, epsilon = 0.3")
    assert queries(by_selection, MEAN)[0].epsilon == Fraction(3, 10)
    assert queries(by_selection + "epsilon = 0.3", MEAN)[0].epsilon == Fraction(3, 10)
    # Even where the release has no total to share.
    second = MEAN + "epsilon = 0.6"
    assert queries(by_selection, second, (EPS, "delta = 1e-6"))[0].epsilon == Fraction(3, 10)


def test_each_table_selects_its_own_keys(queries):
    second = MEAN.replace("1e-8", "1e-9") + 'table = "pay"'
    count, implied, mean = queries(COUNT, second)
    assert count.key_selection.delta == DELTA
    assert implied.key_selection.delta == mean.key_selection.delta == DELTA / 10
    assert (implied.name, implied.table, implied.number) == ("pay_rows", "pay", 1)


def test_the_least_filtered_count_selects(queries):
    where = COUNT.replace("1e-8", "1e-8, epsilon = 0.3") + "where = 'salary > 5'"
    filtered, count = queries(where, COUNT)
    assert (filtered.epsilon, count.epsilon) == (None, Fraction(3, 10))


def test_the_number_of_private_cells_is_not_limited(good):
    keys = ", ".join(f'"k{number}"' for number in range(1001))
    texts = "".join(
        f'[columns.{name}]\ntype = "string"\nkeys = [{keys}]\nsource = "x"\n'
        for name in ("r1", "r2")
    )
    by = 'by = ["region", "r1", "r2"]'
    release = good(
        (KEYS, ""), (Q1, COUNT.replace('by = ["region"]', by)), (Q2, COUNT), NO_CAP,
        ("[output]", texts + "[output]"),
    )  # fmt: skip
    assert len(release.queries[0].groups) == 3


def test_deltas_of_selections_are_seen(good):
    release = good((KEYS, ""), (Q1, COUNT.replace("1e-8", "1e-4")), (Q2, MEAN.replace("-8", "-4")))
    assert [(each.code, each.key) for each in release.warnings] == [
        ("W207", "query[0].partition_selection.delta"),
        ("W207", "query[1].partition_selection.delta"),
        ("W206", "ledger"),
    ]
