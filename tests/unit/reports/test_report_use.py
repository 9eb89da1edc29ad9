"""Examples of use, in the report of a release."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from pages import write_files

from dprelease.cli.app import app
from dprelease.reports.sections import how_to_read

VISITS = {"name": "visits", "statistic": "count", "by": ["region"]}
WAIT = {"name": "wait", "statistic": "mean", "column": "days", "by": ["region"]}


def find_use(publication) -> str:
    text = publication.files["report.md"].decode()
    return text.partition("## Use these figures\n")[2].partition("\n## ")[0]


def test_every_example_is_what_combine_gives(planned, published, tmp_path) -> None:
    made = published(planned(VISITS, WAIT), 5000)
    write_files(made, tmp_path)
    table = r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$"
    rows = re.findall(table, find_use(made), re.MULTILINE)[2:]
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


def test_large_tables_have_no_examples(planned, published, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their exact sums would take longer than all else."""
    monkeypatch.setattr(how_to_read, "MOST_ROWS", 1)
    text = find_use(published(planned(VISITS, WAIT), 5000))
    assert "sum of all cells" not in text
    assert "figures of this release have a noise interval" in text
