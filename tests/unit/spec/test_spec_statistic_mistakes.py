"""Every mistake in a query of the newer statistics has its code, its exact place and a remedy."""

from __future__ import annotations

import time

import pytest
import tomli

from dprelease.errors import Failure
from dprelease.spec import load
from dprelease.statistics.registry import STATISTICS

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
QUANTILE = 'statistic = "quantile"\ncolumn = "salary"\n'
BEST = 'statistic = "best"\nscore = "salary * candidate"\nscore_upper = 1\n'

# What stands from line 31 on; code, line, column; what is said, and the remedy.
MISTAKES = [
    # quantiles
    ('statistic = "quantile"\ncolumn = "salary"', "E110", 29, 1, "quantile has no `q`", "q = 0.5"),
    ('statistic = "median"\ncolumn = "region"', "E217", 32, 10,
     'median of "region", which is a string', "histogram"),
    ('statistic = "median"', "E110", 29, 1, "median has no `column`", "column ="),
    ('statistic = "median"\ncolumn = "salary"\nq = 0.5', "E111", 33, 5, "median takes no q",
     'it is for "cumulative" or "quantile"'),
    (QUANTILE + "q = 1", "E232", 33, 5, "1 is not between 0 and 1", "0.5 is the median"),
    (QUANTILE + "q = 0", "E232", 33, 5, "0 is not between 0 and 1", ""),
    (QUANTILE + "q = [0.5, -0.1]", "E232", 33, 11, "-0.1 is not between 0 and 1", ""),
    (QUANTILE + "q = [0.5, 0.50]", "E232", 33, 11, "0.5 is named twice", "keep one"),
    (QUANTILE + "q = []", "E232", 33, 5, "q is empty", "such as q = [0.25, 0.5, 0.75]"),
    (QUANTILE + "q = [0.5, nan]", "E232", 33, 11, "nan is not a finite number", ""),
    (QUANTILE + 'q = "0.5"', "E232", 33, 5, '"0.5" is a text, not a number', "without quotes"),
    (QUANTILE + f"q = {[n / 1000 for n in range(1, 102)]}", "E232", 33, 5,
     "q has 101 quantiles, more than 100", "less exact"),
    (QUANTILE + "q = 0.5\ncandidates = []", "E234", 34, 14, "candidates is empty", "leave it out"),
    (QUANTILE + "q = 0.5\ncandidates = [15_000, 1]", "E234", 34, 23,
     '1 is outside of the bounds of "salary"', "from 15000 to 120000"),
    (QUANTILE + "q = 0.5\ncandidates = [120_000.5]", "E234", 34, 15, "outside of the bounds", ""),
    (QUANTILE + "q = 0.5\ncandidates = [15_000.5]", "E234", 34, 15,
     '15000.5 is no multiple of the step of "salary"', "the step is 1"),
    (QUANTILE + "q = 0.5\ncandidates = [15_000, 15_000.0]", "E234", 34, 23, "listed twice",
     "keep one"),
    (QUANTILE + 'q = 0.5\ncandidates = ["a"]', "E234", 34, 15, '"a" is a text', ""),
    (QUANTILE + 'q = 0.5\nmechanism = "laplace"', "E235", 34, 13,
     "quantile can't use the laplace mechanism", 'use "auto" or "exponential"'),
    # cumulative counts
    ('statistic = "cumulative"', "E110", 29, 1, "cumulative has no `column`", ""),
    ('statistic = "cumulative"\ncolumn = "salary"', "E202", 32, 10, "no public keys", "bins"),
    ('statistic = "cumulative"\ncolumn = "region"\nq = 2', "E232", 33, 5, "not between", ""),
    ('statistic = "cumulative"\ncolumn = "region"\nby = ["region"]', "E217", 32, 10, "in by", ""),
    ('statistic = "cumulative"\ncolumn = "region"\npartition_selection = { delta = 1e-8 }',
     "E202", 33, 23, "would leave gaps", "declare the keys"),
    # choices among the values of a column
    ('statistic = "mode"', "E110", 29, 1, "mode has no `column`", ""),
    ('statistic = "mode"\ncolumn = "salary"', "E202", 32, 10,
     '"salary" has no public keys, so mode has nothing public to choose from', "keys or keys_file"),
    ('statistic = "mode"\ncolumn = "region"\nby = ["region"]', "E217", 32, 10,
     '"region" is in by and the column of the mode', "out of by"),
    ('statistic = "mode"\ncolumn = "region"\nk = 2', "E111", 33, 5, "mode takes no k", '"top_k"'),
    ('statistic = "mode"\ncolumn = "region"\nmechanism = "gaussian"', "E235", 33, 13,
     "mode can't use the gaussian mechanism", ""),
    ('statistic = "mode"\ncolumn = "region"\nmechanism = "laplace"', "E235", 33, 13, "laplace", ""),
    ('statistic = "top_k"\ncolumn = "region"', "E110", 29, 1, "top_k has no `k`", "k = 3"),
    ('statistic = "top_k"\ncolumn = "region"\nk = 4', "E233", 33, 5,
     'k is 4, but "region" has 3 public values', "at most k = 3"),
    ('statistic = "top_k"\ncolumn = "region"\nk = 0', "E233", 33, 5,
     "0 is not a whole number from 1 on", "k = 3"),
    ('statistic = "top_k"\ncolumn = "region"\nk = 1.5', "E233", 33, 5, "not a whole number", ""),
    ('statistic = "top_k"\ncolumn = "region"\nk = true', "E233", 33, 5, "true is no number", ""),
    ('statistic = "top_k"\ncolumn = "region"\nk = 1e7', "E233", 33, 5, "more than 1000000", ""),
    ('statistic = "top_k"\ncolumn = "region"\nk = 2\nmechanism = "gaussian"', "E235", 34, 13,
     "top_k can't use the gaussian mechanism", 'use "auto", "laplace" or "exponential"'),
    # best
    ('statistic = "best"', "E110", 29, 1, "best has no `candidates`", "to choose from"),
    ('statistic = "best"', "E110", 29, 1, "best has no", ""),
    (BEST + "candidates = []", "E234", 34, 14, "candidates is empty", "list what to choose from"),
    (BEST + "candidates = 3", "E103", 34, 14, "3 is not a list", "in [ ]"),
    (BEST + "candidates = [1, [2]]", "E103", 34, 14, "a list or a table", ""),
    (BEST + "candidates = [1, 2, 1.0]", "E234", 34, 21, '"1" is declared twice', "keep one"),
    (BEST + 'candidates = ["\\u00e9", "e\\u0301"]', "E234", 34, 25, "how accents are encoded", ""),
    (BEST + 'candidates = [1, "2"]', "E234", 34, 18, '"2" stands among numbers', "all texts"),
    (BEST + 'candidates = ["a", 2]', "E234", 34, 20, "2 stands among texts", "all numbers"),
    (BEST + "candidates = [true]", "E234", 34, 15, "true is no number and no text", ""),
    (BEST + "candidates = [2026-01-01]", "E234", 34, 15, "2026-01-01 is no number and no text", ""),
    (BEST + 'candidates = ["a", ""]', "E234", 34, 20, "the empty text", "name it"),
    (BEST + 'candidates = ["\\u0000"]', "E234", 34, 15, "control character", "remove"),
    (BEST + "candidates = [nan]", "E234", 34, 15, "nan is not a finite number", ""),
    (BEST + "candidates = [1e30]", "E234", 34, 15, "too large", ""),
    (BEST + 'candidates = ["a"]', "E215", 32, 9, "", ""),
    (BEST + "candidates = [1]\nscore_step = 0.3", "E207", 35, 14,
     "score_step 0.3 does not divide score_upper", "score_step = 0.2 does"),
    (BEST + "candidates = [1]\nscore_step = 0", "E205", 35, 14, "step 0 is not above 0", ""),
    (BEST.replace("= 1", "= 0") + "candidates = [1]", "E205", 33, 15,
     "score_upper 0 is not above 0", "from 0 up to it"),
    (BEST.replace("= 1", "= -1") + "candidates = [1]", "E205", 33, 15, "-1 is not above 0", ""),
    (BEST.replace("* candidate", "") + "candidates = [1]", "E215", 32, 9,
     "the score does not use `candidate`, so all would score the same", "CASE WHEN price"),
    (BEST.replace("salary", "slary") + "candidates = [1]", "E215", 32, 9,
     'unknown column "slary"', '"salary"'),
    (BEST.replace("salary *", "1 + MAX") .replace("candidate", "(candidate)") + "candidates = [1]",
     "E215", 32, 9, "not allowed", "columns, literals"),
    (BEST.replace("salary * candidate", "salary > candidate") + "candidates = [1]", "E215", 32, 9,
     "a score is a number, this is boolean", "THEN 1 ELSE 0"),
    (BEST.replace("salary * candidate", "NULL") + "candidates = [1]", "E215", 32, 9,
     "this is null", ""),
    (BEST + 'candidates = [1]\ncolumn = "salary"', "E217", 35, 10, "best takes no column",
     "name it in score"),
    (BEST + 'candidates = [1]\nmechanism = "gaussian"', "E235", 35, 13, "gaussian", ""),
    ('statistic = "mean"\ncolumn = "salary"\nscore = "1"', "E111", 33, 9, "mean takes no score",
     'it is for "best"'),
    ('statistic = "sum"\ncolumn = "salary"\ncandidates = [1]', "E111", 33, 14,
     "sum takes no candidates", '"quantile", "median", "min", "max" or "best"'),
    # counts, spreads, parts
    ('statistic = "count_distinct"', "E110", 29, 1, "count_distinct has no `column`", ""),
    ('statistic = "count_units"\ncolumn = "salary"', "E217", 32, 10, "count_units takes no column",
     "IS NOT NULL"),
    ('statistic = "variance"\ncolumn = "region"', "E217", 32, 10, "variance of", ""),
    ('statistic = "variance"\ncolumn = "salary"\nbins = [1, 2]', "E111", 33, 8, "no bins", ""),
    ('statistic = "count"\nmechanism = "exponential"', "E235", 32, 13,
     "count can't use the exponential mechanism", '"laplace" or "gaussian"'),
    ('statistic = "vairance"\ncolumn = "salary"', "E101", 31, 13, "unknown statistic",
     'did you mean "variance"?'),
    ('statistic = "top-k"\ncolumn = "region"', "E101", 31, 13, "unknown", 'did you mean "top_k"?'),
    ('statistic = "proportion"', "E110", 29, 1, "proportion has no `where`", "the condition whose"),
    ('statistic = "proportion"\nwhere = "salary"', "E215", 32, 9, "true or false", ""),
    ('statistic = "ratio"\nnumerator = "salary > 5"', "E110", 29, 1, "ratio has no `denominator`",
     'denominator = { column = "..." }'),
    ('statistic = "ratio"\nnumerator = "slary > 5"\ndenominator = {}', "E215", 32, 13, '"slary"',
     '"salary"'),
    ('statistic = "ratio"\nnumerator = { where = "slary > 5" }\ndenominator = {}', "E215", 32, 23,
     '"slary"', '"salary"'),
    ('statistic = "ratio"\nnumerator = 5\ndenominator = {}', "E103", 32, 13, "5 is not a table",
     "{ }"),
    ('statistic = "ratio"\nnumerator = ""\ndenominator = {}', "E107", 32, 13, "empty", ""),
    ('statistic = "ratio"\nnumerator = { colum = "salary" }\ndenominator = {}', "E102", 32, 15,
     'unknown key "colum" in [query.numerator]', '"column"'),
    ('statistic = "ratio"\nnumerator = { column = "salry" }\ndenominator = {}', "E216", 32, 24,
     '"salry" is not declared', '"salary"'),
    ('statistic = "ratio"\nnumerator = { column = "region" }\ndenominator = {}', "E217", 32, 24,
     'sum of "region", which is a string', ""),
    ('statistic = "ratio"\nnumerator = { statistic = "sum" }\ndenominator = {}', "E110", 32, 1,
     "the sum in the numerator has no `column`", "column ="),
    ('statistic = "ratio"\nnumerator = {}\n'
     'denominator = { column = "salary", statistic = "count" }', "E217", 33, 26,
     "a count takes no column in the denominator", "IS NOT NULL"),
    ('statistic = "ratio"\nnumerator = { statistic = "mean" }\ndenominator = {}', "E105", 32, 27,
     '"mean" is no statistic', '"sum" or "count"'),
    ('statistic = "ratio"\nnumerator = {}\ndenominator = {}\ncolumn = "salary"', "E217", 34, 10,
     "ratio takes no column", "name it in denominator"),
    ('statistic = "mean"\ncolumn = "salary"\nnumerator = {}', "E111", 33, 13,
     "mean takes no numerator", 'it is for "ratio"'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "said", "hint"),
    MISTAKES,
    ids=[f"{row[1]}-{number}" for number, row in enumerate(MISTAKES)],
)
def test_a_mistake(spoilt, text, code, line, column, said, hint):
    found = spoilt((Q1, text))
    wanted = (code, line, column)
    first = [each for each in found if (each.code, each.place.line, each.place.column) == wanted]
    assert first, [str(each) for each in found]
    assert said in first[0].message
    assert hint in first[0].hint
    assert first[0].key.startswith("query[0]")
    assert all(each.hint for each in found)


@pytest.mark.parametrize(
    "text",
    [QUANTILE + "q = 2", BEST + "candidates = [1, 1]", 'statistic = "mode"\ncolumn = "salary"',
     'statistic = "ratio"\nnumerator = "slary > 5"\ndenominator = {}',
     'statistic = "mode"\ncolumn = "region"\nmechanism = "gaussian"'],
)  # fmt: skip
def test_one_mistake_is_one_complaint(spoilt, text):
    assert len(spoilt((Q1, text))) == 1


def test_all_that_is_missing_is_said_at_once(spoilt):
    found = spoilt((Q1, 'statistic = "best"\nk = 3\nmechanism = "laplace"\nq = [2, 3]'))
    assert [(each.code, each.key) for each in found] == [
        ("E110", "query[0]"),
        ("E110", "query[0]"),
        ("E110", "query[0]"),
        ("E111", "query[0].k"),
        ("E235", "query[0].mechanism"),
        ("E232", "query[0].q[0]"),
        ("E232", "query[0].q[1]"),
    ]


@pytest.mark.parametrize("statistic", ["median", "max", "stddev", "variance"])
def test_bounds_are_asked_for(complaints, simple, statistic):
    bounds = "lower = 15_000\nupper = 120_000\n"
    text = simple.replace(bounds, "").replace('statistic = "mean"', f'statistic = "{statistic}"')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E201", "columns.salary")
    assert found.message == f'{statistic} of "salary" needs lower and upper'


def test_a_column_named_candidate_is_in_the_way(complaints, simple):
    text = simple.replace(Q1, BEST + "candidates = [1]")
    text += '[columns.candidate]\ntype = "integer"\n'
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E231", "query[0].score")


@pytest.mark.thorough
def test_candidates_count_as_cells(complaints, simple):
    many = ", ".join(str(number) for number in range(400_000))
    text = simple.replace(Q1, BEST + f'by = ["region"]\ncandidates = [{many}]')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "1200000 cells" in found.message


def test_columns_of_a_list_of_quantiles_are_checked(complaints, simple):
    text = simple.replace(
        Q1, 'statistic = "quantile"\ncolumn = "salary"\nby = ["region"]\nq = [0.1, 0.25]'
    )
    (found,) = complaints(text.replace('"mean_salary"', '"headcount_q25"'))
    assert (found.code, found.key) == ("E219", "query[1].name")
    assert '"headcount_q25"' in found.message


@pytest.mark.parametrize("key", ["candidates", "q", "bins", "by"])
def test_ten_million_values_are_refused_at_once(simple, key):
    tree = tomli.loads(simple)
    tree["query"][0] |= {"statistic": "median", "column": "salary", key: [0.5] * 10**7}
    started = time.process_time()
    with pytest.raises(Failure) as caught:
        load(tree)
    assert time.process_time() - started < 0.5
    found = [each for each in caught.value.complaints if each.key == f"query[0].{key}"]
    assert found[0].code == "E234"
    assert found[0].message == "the list has 10000000 values, more than 1000000"
    assert found[0].hint


def test_a_long_list_of_mistakes_ends_quickly(simple):
    tree = tomli.loads(simple)
    tree["query"][0] = {"name": "n", "statistic": "best", "score": "salary * candidate",
                        "score_upper": 1, "candidates": [1] * 10**6}  # fmt: skip
    started = time.process_time()
    with pytest.raises(Failure) as caught:
        load(tree)
    assert time.process_time() - started < 4
    assert len(caught.value.complaints) == 151


NUMERIC = [
    {"statistic": name, "column": "age", **({"q": 0.5} if "q" in statistic.keys.needs else {})}
    for name, statistic in STATISTICS.items()
    if statistic.keys.numeric or statistic.keys.curve
] + [
    {"statistic": "density", "columns": ["age", "pay"]},
    {"statistic": "density", "columns": ["pay", "age"], "points": 5},
    {"statistic": "ratio", "numerator": {"column": "age"}, "denominator": {}},
    {"statistic": "ratio", "numerator": {}, "denominator": {"column": "age"}},
]


@pytest.mark.parametrize("query", NUMERIC, ids=str)
def test_nulls_that_are_a_label_are_no_number_for_any_statistic(query: dict[str, object]) -> None:
    bins = {"type": "integer", "lower": 0, "upper": 10, "bins": [0, 5, 10], "source": "p"}
    spec = {
        "schema": 1,
        "release": {"name": "r"},
        "data": {"path": "d.csv"},
        "privacy": {
            "unit": "row",
            "unit_description": "one record",
            "adjacency": "add-remove",
            "epsilon": 1,
        },
        "columns": {
            "age": {**bins, "other": "none", "nulls": "none"},
            "pay": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
        },
        "query": [{"name": "q", **query}],
        "output": {"path": "out"},
    }
    with pytest.raises(Failure) as caught:
        load(spec)
    assert [complaint.code for complaint in caught.value.complaints] == ["E214"]
