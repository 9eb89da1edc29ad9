"""What a report says holds for the figures of its release, by statistic and by query."""

from __future__ import annotations

import json
from decimal import Decimal

from report_specs import spec

from dprelease.planning.planner import make_plan
from dprelease.reports.model.json_form import read_report_json
from dprelease.reports.sections.how_to_read import build_reading_section
from dprelease.specfile import load


def list_words(made):
    (bullets,) = build_reading_section(read_report_json(made.report)).parts
    return " ".join(bullets.lines)


def test_only_counts_and_sums_are_added_and_can_be_negative(planned, published):
    medians = {"name": "middle", "statistic": "median", "column": "days"}
    names = {"name": "first", "statistic": "mode", "column": "region"}
    said = list_words(published(planned(medians, names)))
    assert "negative" not in said
    assert "add the values" not in said
    assert "totals released by another query" not in said
    assert "Do not add up figures of middle" in said
    counts = {"name": "visits", "statistic": "count", "by": ["region"]}
    said = list_words(published(planned(medians, names, counts)))
    assert "A count can be negative: noise was added to a small number." in said
    assert "To combine cells of visits, add the values." in said
    means = {"name": "wait", "statistic": "mean", "column": "days"}
    said = list_words(published(planned(means)))
    assert "A count can be negative" in said  # the one beside the mean
    assert "add the values" not in said
    assert "Do not add up figures of wait" in said
    sums = {"name": "total", "statistic": "sum", "column": "days"}
    said = list_words(published(planned(sums)))
    assert "A sum of positive values can be negative" in said
    assert "A count can be negative" not in said


def test_shares_say_which_records_they_are_of(planned, published):
    share = {"name": "urgent_share", "statistic": "proportion", "where": "urgent"}
    plan = planned(share)
    said = list_words(published(plan))
    assert "Shares of urgent_share are of the records for which it is known whether" in said
    every = json.loads(json.dumps(published(plan).report))
    del every["queries"][0]["among"]
    (bullets,) = build_reading_section(read_report_json(every)).parts
    assert "Shares of urgent_share are of all records." in " ".join(bullets.lines)


def test_an_error_is_told_at_the_records_asked_for(planned, published):
    asked = {"within": 2, "records": 5000}
    mean = {"name": "wait", "statistic": "mean", "column": "days", "accuracy": asked}
    content = spec(mean)
    del content["query"][0]["epsilon"]
    made = published(make_plan(load(content)))
    (query,) = made.report["queries"]
    assert query["example_halfwidth"]["values"] == 5000
    assert query["example_halfwidth"]["halfwidth"] <= 2
    assert query["expected_error"].endswith(" at 5,000 values")
    page = made.files["report.md"].decode()
    assert "± 2 at 5,000 values with 0.95 certainty" in page
    assert "at 1,000 values" not in page


def test_no_public_file_tells_the_folders_of_the_data(published):
    content = spec({"statistic": "count"})
    content["data"]["path"] = "../private folder/of ours/visits-*.csv"
    made = published(make_plan(load(content)))
    assert json.loads(made.files["report.json"])["data"]["path"] == "visits-*.csv"
    for name, text in made.files.items():
        assert b"private folder" not in text, name


def test_the_ranks_of_a_quantile_do_not_read_as_its_unit(planned, published):
    made = published(planned({"name": "middle", "statistic": "median", "column": "days"}))
    for page in (made.files["report.html"].decode(), made.files["report.md"].decode()):
        assert " ranks)" in page
        (ranks,) = {query["expected_error"].split()[1] for query in made.report["queries"]}
        assert f"(within {ranks} ranks)" in page


def test_a_budget_of_one_query_is_not_told_in_the_plural(planned, published):
    made = published(planned({"statistic": "count", "epsilon": Decimal(1)}))
    page = made.files["report.html"].decode()
    assert "Only q costs privacy: epsilon 1." in page
    assert "1 releases" not in page


def test_it_says_which_records_are_in_totals_only(planned, published):
    total = {"name": "visits", "statistic": "count"}
    by = {"name": "by_region", "statistic": "count", "by": ["region"], "epsilon": 2}
    left_out = "Records without a listed value of region are in no row of the tables by it"
    assert left_out in list_words(published(planned(total, by)))
    assert "in no row" not in list_words(published(planned(by)))
    raw = spec(total, by)
    raw["columns"]["region"] |= {"other": "elsewhere", "nulls": "elsewhere"}
    assert "in no row" not in list_words(published(make_plan(load(raw))))


def test_what_one_release_is_spent_for_is_told_with_each_epsilon(planned, published):
    total = {"name": "total", "statistic": "sum", "column": "days", "epsilon": Decimal("0.25")}
    visits = {"name": "visits", "statistic": "count", "epsilon": Decimal("0.125")}
    made = published(planned(total, visits))
    steps = {query["name"]: query for query in made.report["queries"]}
    told = " ".join(steps["visits"]["explained"])
    assert steps["visits"]["shares"] is not None
    assert "are spent together, once: visits 0.125 and total 0.25." in told
    # It has the noise of several numbers, so that `combine` knows no law of it.
    assert "made of 3 noisy numbers of that release" in told
    assert "To combine cells of total, add the values." in list_words(made)
