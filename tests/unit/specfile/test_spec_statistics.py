"""What good queries of every kind of statistic become."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import tomli

from dprelease.errors import Failure
from dprelease.model import Candidates, ColumnType, Expression, Grid, Part
from dprelease.specfile import load
from dprelease.statistics.statistic_registry import get_statistic

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
OVER = Expression("salary > 50_000", ("salary",))


@pytest.fixture
def query(good):
    """Load the simple spec with another first query, and give that query."""

    def run(text, *edits):
        return good((Q1, text), *edits).queries[0]

    return run


@pytest.mark.parametrize("statistic", ["variance", "stddev", "sum", "mean"])
def test_statistics_of_a_bounded_column(query, statistic):
    found = query(f'statistic = "{statistic}"\ncolumn = "salary"')
    assert (found.statistic, found.column.name, found.table) == (statistic, "salary", "overall")
    assert get_statistic(found.statistic).list_suffixes(found)[:3] == ("", "_noise_moe", "_flag")


def test_counts_of_units_and_of_values(query):
    units = query('statistic = "count_units"\nby = ["region"]')
    assert (units.statistic, units.column, units.table) == ("count_units", None, "by_region")
    values = query('statistic = "count_distinct"\ncolumn = "region"')
    assert values.column.name == "region"
    assert values.column.grid is None


def test_a_ratio_of_a_sum_and_a_count(query):
    found = query(
        'statistic = "ratio"\nwhere = "region = \'north\'"\n'
        'numerator = { column = "salary", where = "salary > 50_000", statistic = "sum" }\n'
        'denominator = "salary > 50_000"'
    )
    assert found.numerator == Part(found.numerator.column, OVER)
    assert found.numerator.column.grid == Grid(Fraction(1), 15_000, 120_000)
    assert found.denominator == Part(None, OVER)
    assert found.where == Expression("region = 'north'", ("region",))
    assert found.column is None


def test_parts_of_a_ratio_need_no_statistic_and_no_condition(query):
    found = query('statistic = "ratio"\nnumerator = { column = "salary" }\ndenominator = {}')
    assert found.numerator.column.name == "salary"
    assert found.numerator.where is None
    assert found.denominator == Part(None, None)
    found = query(
        'statistic = "ratio"\nnumerator = { where = "salary > 50_000" }\n'
        'denominator = { statistic = "count" }'
    )
    assert (found.numerator, found.denominator) == (Part(None, OVER), Part())


def test_the_condition_of_a_proportion_filters_nothing(query):
    found = query('statistic = "proportion"\nby = ["region"]\nwhere = "salary > 50_000"')
    assert found.where is None
    assert (found.numerator, found.denominator) == (Part(None, OVER), Part())
    assert found.among == Expression("(salary > 50_000) IS NOT NULL", ("salary",))


@pytest.mark.parametrize(
    ("text", "quantiles", "suffixes"),
    [
        ('statistic = "median"', ["0.5"], ("",)),
        ('statistic = "min"', ["0.01"], ("",)),
        ('statistic = "max"', ["0.99"], ("",)),
        ('statistic = "quantile"\nq = 0.9', ["0.9"], ("",)),
        ('statistic = "quantile"\nq = [0.9]', ["0.9"], ("",)),
        ('statistic = "quantile"\nq = [0.9, 0.125, 0.001]', ["0.001", "0.125", "0.9"],
         ("_q0_1", "_q12_5", "_q90")),
    ],
)  # fmt: skip
def test_quantiles_rise_and_name_their_columns(query, text, quantiles, suffixes):
    found = query(f'{text}\ncolumn = "salary"')
    assert found.quantiles == tuple(Fraction(each) for each in quantiles)
    assert found.points is None
    assert get_statistic(found.statistic).list_suffixes(found) == tuple(
        start + end for start in suffixes for end in ("", "_rank_moe", "_flag")
    )


def test_the_points_of_a_quantile_are_grid_integers(query):
    edits = [('type = "integer"\n', 'type = "decimal"\nstep = 0.5\n')]
    text = 'statistic = "median"\ncolumn = "salary"\ncandidates = [120_000, 15_000.5, 15_000.0]'
    assert query(text, *edits).points == (30_000, 30_001, 240_000)


def test_the_values_of_a_choice_are_the_groups_of_its_column(query):
    edits = [('"east"]', '"east"]\nother = "elsewhere"\nnulls = "elsewhere"')]
    mode = query('statistic = "mode"\ncolumn = "region"', *edits)
    assert (mode.groups, mode.table, mode.picks) == ((), "overall", 1)
    assert mode.axis.keys == ("north", "south", "east")
    assert mode.axis.labels == ("north", "south", "east", "elsewhere")
    assert (mode.axis.other, mode.axis.null_label) == ("elsewhere", "elsewhere")
    top = query('statistic = "top_k"\ncolumn = "region"\nk = 4\nmechanism = "laplace"', *edits)
    assert (top.picks, top.axis, top.mechanism) == (4, mode.axis, "laplace")
    assert get_statistic(top.statistic).list_suffixes(top) == (
        "_1",
        "_2",
        "_3",
        "_4",
        "_noise_moe",
        "_flag",
    )


def test_a_choice_can_have_bins_of_its_own(query):
    found = query(
        'statistic = "mode"\ncolumn = "salary"\nbins = [15_000, 20_000, 120_000]\nby = ["region"]'
    )
    assert [group.column for group in found.groups] == ["region"]
    assert found.axis.labels == ("[15000, 20000)", "[20000, 120000]")
    assert found.cells == 3


SCORE = "CASE WHEN salary <= candidate THEN 1 ELSE 0 END"


def test_whole_scores_are_on_the_grid_of_whole_numbers(query):
    found = query(
        f'statistic = "best"\ncandidates = [20_000, 30_000]\nscore = "{SCORE}"\nscore_upper = 1\n'
        'mechanism = "exponential"'
    )
    assert found.candidates == Candidates(
        ("20000", "30000"),
        ColumnType.INTEGER,
        Expression(SCORE, ("salary", "candidate")),
        Grid(Fraction(1), 0, 1),
    )


@pytest.mark.parametrize(
    ("more", "grid"),
    [
        ("score_upper = 1.5", Grid(Fraction(1, 10**5), 0, 150_000)),
        ("score_upper = 2\nscore_step = 0.5", Grid(Fraction(1, 2), 0, 4)),
    ],
)
def test_other_scores_are_on_a_finer_grid(query, more, grid):
    found = query(
        f'statistic = "best"\ncandidates = [1, 2.50]\nscore = "salary * candidate"\n{more}'
    )
    assert found.candidates.texts == ("1", "2.5")
    assert found.candidates.type is ColumnType.DECIMAL
    assert found.candidates.grid == grid


def test_candidates_can_be_texts(query):
    score = "CASE WHEN region = candidate THEN 1 ELSE 0 END"
    found = query(
        f'statistic = "best"\ncandidates = ["b", "ä"]\nscore = "{score}"\nscore_upper = 1'
    )
    assert (found.candidates.texts, found.candidates.type) == (("b", "ä"), ColumnType.STRING)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["whole", "decimal", "float", "text"])
def test_a_million_candidates_are_checked_in_seconds(simple, kind):
    tree = tomli.loads(simple, parse_float=Decimal)
    make = {
        "whole": int,
        "decimal": lambda number: Decimal(number) / 8,
        "float": lambda number: number / 4,
        "text": "k{}".format,
    }[kind]
    score = SCORE if kind != "text" else "CASE WHEN region = candidate THEN 1 ELSE 0 END"
    tree["query"][0] = {
        "name": "n", "statistic": "best", "epsilon": 1, "score": score, "score_upper": 1,
        "candidates": [make(number) for number in range(10**6)],
    }  # fmt: skip
    started = time.process_time()
    found = load(tree).queries[0].candidates
    assert time.process_time() - started < 5 * SLOW
    assert (len(found.texts), found.texts[0]) == (10**6, "k0" if kind == "text" else "0")


SLOW = 2  # other tests may be running beside this one


def test_a_long_list_in_a_file_has_places_too(complaints, simple):
    many = ",\n".join(str(number) for number in range(5000))
    text = simple.replace(
        Q1, f'statistic = "best"\nscore = "{SCORE}"\nscore_upper = 1\ncandidates = [\n{many},\n 7]'
    )
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E234", "query[0].candidates[5000]")
    assert (found.place.line, found.place.column) == (35 + 5000, 2)


def test_the_keys_of_an_order_rise_and_other_has_no_place_in_it(load_text: Any) -> None:
    spec = """
release.name = "r"
data.path = "d.csv"
output.path = "o"
privacy = { unit = "row", adjacency = "add-remove", epsilon = 1 }
columns.year = { type = "integer", keys = [2024, 2026, 2025] }
columns.size = { type = "string", keys = ["s", "m", "l"], other = "?", nulls = "?" }
query = [{ name = "n", statistic = "cumulative", column = "%s", q = 0.5 }]
"""
    with pytest.raises(
        Failure, match=r'E252 the keys of "year" do not increase: 2025 comes after 202'
    ):
        load_text(spec % "year")
    (query,) = load_text(spec % "size").queries
    (group,) = query.groups
    assert group.labels == ("s", "m", "l")
    assert group.other is group.null_label is None
    assert query.quantiles == (Fraction(1, 2),)
