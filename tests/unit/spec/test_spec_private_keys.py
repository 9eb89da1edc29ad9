"""Groups without public keys: what is asked for, who selects them, and what doesn't fit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dprelease.errors import Failure
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


def test_what_is_chosen_from_may_not_be_private(queries):
    dept = ("[columns.sex]", '[columns.dept]\ntype = "string"\n[columns.sex]')
    with pytest.raises(Failure, match="mode has nothing public to choose from"):
        queries(COUNT, MODE.replace('"sex"', '"dept"'), SEX, dept)


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


MISTAKES = [
    (COUNT.replace(selection(), ""), MEAN, "E202", "query[0].by",
     '"region" has no public keys, so which groups appear would leak',
     "keys, keys_file or bins; or partition_selection = { delta = 1e-8 }"),
    (COUNT.replace("1e-8", "0"), MEAN, "E238", "query[0].partition_selection.delta",
     "with a delta of 0 no private key can be shown", "such as 1e-8"),
    (COUNT.replace("1e-8", "0.01"), MEAN, "E238", "query[0].partition_selection.delta",
     "delta 0.01 is too large", "such as 1e-8"),
    (COUNT.replace("1e-8", "1"), MEAN, "E204", "query[0].partition_selection.delta",
     "not in [0, 1)", ""),
    (COUNT.replace("1e-8", "-1"), MEAN, "E204", "query[0].partition_selection.delta", "-1", ""),
    (COUNT.replace("1e-8", '"1e-8"'), MEAN, "E204", "query[0].partition_selection.delta",
     "is a text", "without quotes"),
    (COUNT.replace("delta = 1e-8", ""), MEAN, "E110", "query[0].partition_selection",
     "[query.partition_selection] has no `delta`", "such as delta = 1e-8"),
    (COUNT.replace("1e-8", "1e-8, espilon = 1"), MEAN, "E102",
     "query[0].partition_selection.espilon", 'unknown key "espilon"', '"epsilon"'),
    (COUNT.replace("1e-8", "1e-8, epsilon = 0"), MEAN, "E203",
     "query[0].partition_selection.epsilon", "0 is not above 0", ""),
    (COUNT.replace("{ delta = 1e-8 }", "1e-8"), MEAN, "E103", "query[0].partition_selection",
     "is not a table", "{ }"),
    ('statistic = "count"\nby = ["sex"]\n' + selection(), MEAN, "E111",
     "query[0].partition_selection", "partition_selection, but no group has private keys",
     "leave it out"),
    ('statistic = "count"\n' + selection(), MEAN, "E111", "query[0].partition_selection",
     "no group has private keys", ""),
    (COUNT, MEAN.replace("1e-8", "1e-9"), "E238", "query[1].partition_selection.delta",
     'queries "headcount" and "mean_salary" share the table "by_region", but not the delta',
     "once for the whole table"),
    (COUNT.replace("1e-8", "1e-8, epsilon = 1"), MEAN.replace("1e-8", "1e-8, epsilon = 2"), "E238",
     "query[1].partition_selection.epsilon", "not the epsilon of its selection", "write the same"),
    (COUNT.replace("1e-8", "1e-8, epsilon = 0.3") + "epsilon = 0.4", MEAN, "E224",
     "query[0].partition_selection.epsilon", '"headcount" selects the keys, and has another budget',
     "state it once"),
    (COUNT + "weight = 2", MEAN.replace("1e-8", "1e-8, epsilon = 0.3"), "E224",
     "query[1].partition_selection.epsilon", '"headcount" selects the keys', ""),
    (COUNT + "rho = 0.1", MEAN, "E225", "query[0].rho",
     '"headcount" selects private keys, which has no rho', "state epsilon instead"),
    (SUM + "epsilon = 0.4", MEAN + "epsilon = 0.6", "E223", "query[0].partition_selection",
     'nothing says how much of the budget selects the keys of "by_region"',
     'epsilon = 0.1 }, or a query with statistic = "count" and the same by'),
    ('statistic = "mode"\ncolumn = "region"\n', MEAN, "E202", "query[0].column",
     "so mode has nothing public to choose from", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "code", "key", "said", "hint"),
    MISTAKES,
    ids=[f"{row[2]}-{number}" for number, row in enumerate(MISTAKES)],
)
def test_a_mistake(spoilt, first, second, code, key, said, hint):
    found = spoilt((KEYS, ""), (Q1, first), (Q2, second), SEX)
    assert [(each.code, each.key) for each in found] == [(code, key)]
    assert said in found[0].message
    assert hint in found[0].hint
    assert found[0].hint
    assert found[0].place.line >= 30


def test_a_query_has_the_name_of_the_implied_count(spoilt):
    found = spoilt((KEYS, ""), (Q1, SUM), (Q2, MEAN), SEX, ('"mean_salary"', '"By_region_rows"'))
    assert [(each.code, each.key) for each in found] == [("E218", "query[0].partition_selection")]
    assert found[0].hint == 'rename the query "By_region_rows"'


def test_a_column_of_the_implied_count_is_taken(spoilt):
    named = ('"mean_salary"', '"by_region_rows_flag"')
    found = spoilt((KEYS, ""), (Q1, SUM), (Q2, MEAN), SEX, named)
    assert [(each.code, each.key) for each in found] == [("E219", "query[1].name")]


@pytest.mark.parametrize(
    ("total", "said"),
    [
        ("rho = 1", "the selection of private keys has no rho"),
        ('epsilon = 1\ndelta = 1e-6\naccounting = "zcdp"', "has no rho"),
        ('epsilon = 1\naccounting = "pure"', "no room for the delta of private keys"),
    ],
)
def test_a_total_that_no_selection_fits_into(spoilt, total, said):
    found = spoilt((KEYS, ""), (Q1, COUNT), (Q2, MEAN), (EPS, total))
    assert [(each.code, each.key) for each in found] == [("E225", "query[0].partition_selection")]
    assert said in found[0].message


def test_another_mistake_does_not_bring_complaints_about_the_selection(spoilt):
    first = COUNT.replace("1e-8", "1e-8, epsilon = 0.3").replace('"count"', '"cuont"')
    second = MEAN + "epsilon = 0.6"
    found = spoilt((KEYS, ""), (Q1, first), (Q2, second), (EPS, ""))
    assert [(each.code, each.key) for each in found] == [("E101", "query[0].statistic")]
