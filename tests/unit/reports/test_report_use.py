"""Sentences to quote and examples of use, in the report of a release."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from report_specs import PEOPLE, spec

from dprelease.cli.app import app
from dprelease.planning.planner import make_plan
from dprelease.release.bundle import Publication
from dprelease.reports.sections import how_to_read
from dprelease.specfile import load

VISITS = {"name": "visits", "statistic": "count", "by": ["region"]}
WAIT = {"name": "wait", "statistic": "mean", "column": "days", "by": ["region"]}
TOTAL = {"name": "stays", "statistic": "count", "title": "Stays", "unit": "stays"}
FEW = {"name": "few", "statistic": "count", "where": "days > 3", "hide_below": 10**6}
Make = Callable[..., Any]


@pytest.fixture
def publish(planned: Make, published: Make, tmp_path: Path) -> Callable[..., str]:
    """Publish queries of which every released integer is 5,000, and give report.md."""

    def make(*queries: dict[str, Any], value: int = 5000) -> str:
        made: Publication = published(planned(*queries), value)
        for name, content in made.files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        return (tmp_path / "report.md").read_text(encoding="utf-8")

    return make


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_example_is_what_combine_gives(publish: Callable[..., str], tmp_path: Path) -> None:
    text = section(publish(VISITS, WAIT), "Use these figures")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)[2:]
    assert [what for what, *_ in rows] == [
        "sum of all cells",
        "difference of two groups",
        "share of the total, in percent",
        "mean over all groups, by the numbers behind",
    ]
    for _, escaped, value, interval in rows:
        expression = re.sub(r"\\(.)", r"\1", escaped)
        answer = CliRunner().invoke(app, ["combine", str(tmp_path), expression])
        assert f"  {value}\n" in answer.stdout
        assert f"noise interval: {interval}\n" in answer.stdout


def test_large_tables_have_no_examples(
    publish: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their exact sums would take longer than all else."""
    monkeypatch.setattr(how_to_read, "MOST_ROWS", 1)
    text = section(publish(VISITS, WAIT), "Use these figures")
    assert "sum of all cells" not in text
    assert "figures of this release have a noise interval" in text


def test_it_says_how_many_intervals_miss(publish: Callable[..., str], tmp_path: Path) -> None:
    text = section(publish(VISITS, WAIT), "Use these figures")
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    halves = sum(
        table["rows"]
        for table in report["tables"]
        for column in table["columns"]
        if column["name"].endswith("_noise_moe")
    )
    assert f"- {halves} figures of this release have a noise interval of 95%." in text


def test_changed_figures_are_said_to_have_the_interval_of_those_before(
    publish: Callable[..., str],
) -> None:
    said = "enter as they were published. The interval is that of the figures before (`raw`"
    assert said in section(publish(VISITS | {"nonnegative": True}), "Use these figures")
    assert said not in section(publish(VISITS), "Use these figures")


def test_equal_figures_are_not_told_apart(publish: Callable[..., str]) -> None:
    text = section(publish(VISITS), "Sentences to quote")
    assert "visits: no region can be shown to be highest; the noise hides the order of " in text
    assert "clearly" not in text


def test_what_is_hidden_is_neither_quoted_nor_used(publish: Callable[..., str]) -> None:
    text = publish(FEW)
    assert section(text, "Sentences to quote") == ""
    assert "| sum of all cells" not in text


def test_sentences_have_titles_units_labels_and_bins_in_words(
    published: Make, tmp_path: Path
) -> None:
    given = spec(
        VISITS | {"title": "Visits", "unit": "stays"},
        {"name": "ages", "statistic": "histogram", "column": "age", "bins": [0, 18, 36]},
    )
    given["columns"]["region"] |= {"label": "Region of stay", "labels": {"north": "The North"}}
    given["columns"]["age"] = {"type": "integer", "label": "Age group"}
    text = published(make_plan(load(given)), 5000).files["report.md"].decode()
    text = section(text, "Sentences to quote")
    assert "Visits: no Region of stay can be shown to be highest; the noise hides" in text
    assert "the order of The North and south." in text
    assert "ages: no Age group can be shown to be highest; the noise hides" in text
    assert "the order of 0 to 17 and 18 to 36." in text
    total = published(make_plan(load(spec(TOTAL))), 5000).files["report.md"].decode()
    assert "- Stays: 5,000 stays (4," in section(total, "Sentences to quote")


def quoted(published: Make, *queries: dict[str, Any], value: int = 5000, **keys: Any) -> str:
    """The sentences to quote of queries of which every released integer is ``value``."""
    given = spec(*queries, **keys)
    given["columns"] |= {
        "age": {"type": "integer"},
        "day": {"type": "date"},
        "place": {"type": "string", "keys": ["a", "b", "c", "d", "e"]},
    }
    text = published(make_plan(load(given)), value).files["report.md"].decode()
    return section(text, "Sentences to quote")


AGES = {"name": "ages", "statistic": "histogram", "column": "age"}
DAYS = {"name": "days", "statistic": "histogram", "column": "day"}
MONTHS = ["2025-01-01", "2025-02-01", "2025-03-01"]


@pytest.mark.parametrize(
    ("query", "is_quoted"),
    [
        (AGES | {"bins": [0, 18, 36]}, True),
        (AGES | {"bins": [0, 18, 65]}, False),
        (DAYS | {"bins": MONTHS}, True),
        (DAYS | {"bins": ["2025-01-01", "2025-01-10", "2025-01-31"]}, False),
        ({"name": "n", "statistic": "quality"}, False),
        ({"name": "n", "statistic": "cumulative", "column": "age", "bins": [0, 18, 36]}, False),
    ],
)
def test_only_figures_without_a_caveat_are_quoted(
    published: Make, query: dict[str, Any], is_quoted: bool
) -> None:
    assert (quoted(published, query) != "") is is_quoted


def test_figures_of_a_weighted_survey_are_not_quoted(published: Make) -> None:
    given = spec(TOTAL, {"name": "share", "statistic": "proportion", "where": "urgent"})
    given["columns"]["weight"] = {"type": "integer", "lower": 0, "upper": 10, "source": "design"}
    given["data"] |= {"weight": "weight"}
    text = published(make_plan(load(given)), 5000).files["report.md"].decode()
    assert section(text, "Sentences to quote") == ""


def test_figures_of_people_with_limited_rows_are_not_quoted(published: Make) -> None:
    people = {"name": "people", "statistic": "count_units"}
    assert "people: 5,000 (" in quoted(published, people, **PEOPLE)
    assert quoted(published, people | {"by": ["region"]}, **PEOPLE) == ""
    assert quoted(published, VISITS, **PEOPLE) == ""
    assert quoted(published, {**WAIT, "by": []}, **PEOPLE) == ""


def test_sentences_say_the_bounds_within_which_values_count(published: Make) -> None:
    text = quoted(published, {"name": "total", "statistic": "sum", "column": "days"})
    assert re.search(
        r"total: [\d,]+ \([\d,]+ to [\d,]+; values from 0 to 180, others counted as", text
    )
    assert "values from" not in quoted(published, TOTAL)


def test_what_is_impossible_is_not_quoted(published: Make) -> None:
    """The ends of an interval are cut to what the figure can be, and so is a negative count."""
    assert "Stays: 1 stays (0 to " in quoted(published, TOTAL, value=1)
    assert "Stays: 0 stays (0 to 0)" in quoted(published, TOTAL, value=-500)
    share = {"name": "urgent", "statistic": "proportion", "where": "urgent"}
    assert "urgent: 50.0% (49.9% to 50.1%)" in quoted(published, share, value=5000)


def test_shares_are_quoted_in_percent_and_totals_first(published: Make) -> None:
    share = {"name": "urgent", "statistic": "proportion", "where": "urgent", "by": ["region"]}
    lines = [line for line in quoted(published, share, TOTAL, value=50).splitlines() if line]
    quotes = [line for line in lines if line.startswith("- ")]
    assert quotes[0].startswith("- Stays: ")
    assert "urgent: no region can be shown to be highest" in quotes[1]


def test_many_groups_that_cannot_be_told_apart_have_a_sentence_too(published: Make) -> None:
    text = quoted(published, VISITS | {"by": ["place"]})
    assert "visits: no place can be shown to be highest." in text
    assert "visits: no place can be shown to be lowest." in text
