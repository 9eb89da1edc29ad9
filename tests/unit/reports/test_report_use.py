"""Sentences to quote and examples of use, in the report of a release."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from report_specs import spec

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


def test_changed_figures_are_said_to_be_taken_as_released(publish: Callable[..., str]) -> None:
    said = "taken as they were released (`raw` in report.json)"
    assert said in section(publish(VISITS | {"nonnegative": True}), "Use these figures")
    assert said not in section(publish(VISITS), "Use these figures")


def test_equal_figures_are_not_told_apart(publish: Callable[..., str]) -> None:
    text = section(publish(VISITS), "Sentences to quote")
    assert "The noise does not tell for which region visits is highest: " in text
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
        {"name": "ages", "statistic": "histogram", "column": "age", "bins": [0, 18, 65]},
    )
    given["columns"]["region"] |= {"label": "Region of stay", "labels": {"north": "The North"}}
    given["columns"]["age"] = {"type": "integer", "label": "Age group"}
    text = published(make_plan(load(given)), 5000).files["report.md"].decode()
    text = section(text, "Sentences to quote")
    assert "for which Region of stay Visits is highest: The North and " in text
    assert "for which Age group ages is highest: 0 to 17 and 18 to 65 can't" in text
    total = published(make_plan(load(spec(TOTAL))), 5000).files["report.md"].decode()
    assert "- Stays is 5,000 stays (4," in section(total, "Sentences to quote")


def test_what_is_quoted_is_said_to_lie_within_bounds_and_limits(
    publish: Callable[..., str],
) -> None:
    text = section(publish(TOTAL), "Sentences to quote")
    assert "those within the spec's bounds and limits: what these cut off is not in them" in text
