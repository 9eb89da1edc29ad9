"""Figures finished through the command line: files, reports, and no second charge."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

SECTION = """\
[postprocess]
consistent = true
nonnegative = true
integer = true

[[query]]
name = "all"
statistic = "count"
epsilon = 0.2

[[query]]
name = "by_days"
statistic = "histogram"
column = "days"
bins = [0, 10, 50, 100]
by = ["region"]
epsilon = 0.1
hide_below = 20

[output]
"""


@pytest.fixture
def finished(folder: Path) -> Path:
    """The small spec with three counts that agree, the finest of them with small cells hidden."""
    spec = folder / "small.toml"
    text = spec.read_text().replace("epsilon = 0.5", "epsilon = 0.35")
    text = text.replace("[output]\n", SECTION).replace(
        '[[query]]\nname = "mean_days"', '[[query]]\npublish_if = "count > 5"\nname = "mean_days"'
    )
    text = text.replace(
        'keys = ["north", "south"]', 'keys = ["north", "south", "void"]\nother = "x"\nnulls = "x"'
    )
    spec.write_text(text)
    return spec


def read_rows(folder: Path, table: str) -> list[dict[str, str]]:
    with open(folder / "out" / f"{table}.csv", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_published_counts_agree_and_small_ones_are_hidden(cli, folder, finished):
    assert cli("run", "small.toml").code == 0
    (overall,) = read_rows(folder, "overall")
    regions = read_rows(folder, "by_region")
    assert int(overall["all"]) == sum(int(row["visits"]) for row in regions)
    assert all(int(row["visits"]) >= 0 for row in regions)
    cells = read_rows(folder, "by_region_days")
    for row in cells:
        hidden = row["by_days"] == ""
        assert (row["by_days_flag"] == "suppressed") is hidden
        assert hidden or int(row["by_days"]) >= 20
    assert any(row["by_days"] == "" for row in cells)
    assert " suppressed: the spec hides the figure" in cli("show", "out").out


def test_the_report_says_what_was_done_holds_the_raw_figures_and_is_rendered_again(
    cli, folder, finished
):
    assert cli("run", "small.toml").code == 0
    report = json.loads((folder / "out/report.json").read_text())
    queries = {query["name"]: query for query in report["queries"]}
    done = queries["by_days"]["finishing"]
    assert done["publish_if"] == "value >= 20"
    assert done["consistent"] is done["nonnegative"] is done["integer"] is True
    assert "consistent" not in queries["mean_days"]["finishing"]
    columns = {column["name"]: column for table in report["tables"] for column in table["columns"]}
    assert len(columns["visits"]["raw"]) == 4
    assert "raw" not in columns["mean_days"]
    shown = [row["by_days"] != "" for row in read_rows(folder, "by_region_days")]
    assert [figure is not None for figure in columns["by_days"]["raw"]] == shown
    assert (
        "After the noise, visits and all: made to agree, at least 0, whole." in report["processing"]
    )
    for name in ("report.md", "report.html"):
        text = (folder / "out" / name).read_text()
        assert "That hides what is not reliable. It protects nobody" in text
        assert "a cell without records by about" in text
        assert "made whole so that totals are kept" in text
    for name, form in (("report.html", "html"), ("report.md", "md"), ("report.json", "json")):
        again = cli("report", "out", "--format", form)
        assert again.code == 0
        assert again.out.strip() == (folder / "out" / name).read_text().strip()


def test_the_plan_says_what_will_be_done_and_how_it_biases(cli, finished):
    assert "Made to agree" not in cli("plan", "small.toml").out
    answer = cli("plan", "--why", "small.toml")
    assert answer.code == 0
    said = answer.out.partition("How figures are changed after the noise\n")[2]
    assert said.count("Made to agree in the tables by_region, overall and by_region_days") == 1
    assert "Made to agree with visits and the tables named there: cells add up" in said
    assert said.count("That is the weighted least squares") == 1
    assert "The standard deviation of a cell's noise goes from" in said
    assert "mean_days: Shown only where count > 5" in said


def test_another_finish_is_the_same_release_and_costs_nothing(cli, folder, finished):
    assert cli("run", "small.toml").code == 0
    (folder / "before.toml").write_text(finished.read_text())
    finished.write_text(
        finished.read_text()
        .replace("hide_below = 20", "round_to = 10")
        .replace("integer = true", "integer = false")
    )
    answer = cli("diff", "before.toml", "small.toml")
    assert "query by_days: shown if: value >= 20 -> none" in answer.out
    assert "rounded to multiples of 10" in answer.out
    assert "costs nothing where the old one was run" in answer.out
    answer = cli("run", "small.toml")
    assert answer.code == 0
    assert "nothing was spent" in answer.out
    assert all(row["by_days"].endswith("0") for row in read_rows(folder, "by_region_days"))


def test_an_approved_plan_holds_the_run_to_its_finish(cli, finished):
    assert cli("plan", "-o", "plan.json", "small.toml").code == 0
    finished.write_text(finished.read_text().replace("hide_below = 20", "hide_below = 30"))
    answer = cli("run", "--plan", "plan.json", "small.toml")
    assert answer.code == 2
    assert "query.by_days.hide_below" in answer.err
