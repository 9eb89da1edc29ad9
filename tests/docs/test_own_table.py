"""What the first tutorial says of a table of one's own, tried with noise that is next to none."""

import re

import pytest
from doc_pages import page

import dprelease

ROWS = [
    "name,town,fee,day,remark",
    "a,Bonn,10,2025-12-31,fine",
    "b,bonn,10,2025-12-31,fine",
    'c,"Bonn ",10,31.12.2025,fine',
    'd,Bonn,"12,50",2025-12-31,fine',
    'e,Bonn,10,2025-12-31,"first line',
    'second line"',
]


@pytest.fixture
def counts(tmp_path):
    """The figures of the table above; ``counts(data, column)`` changes the spec."""
    (tmp_path / "towns.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")

    def figures(data=None, town=None):
        spec = {
            "schema": 1,
            "release": {"name": "towns"},
            "data": {"path": "towns.csv", **(data or {})},
            "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1000},
            "ledger": {"dataset": "towns"},
            "output": {"path": "out"},
            "columns": {
                "town": {"type": "string", "keys": ["Bonn"], **(town or {})},
                "fee": {"type": "decimal", "lower": 0, "upper": 20},
                "day": {"type": "date"},
            },
            "query": [
                {"name": "rows", "statistic": "count"},
                {"name": "fees", "statistic": "mean", "column": "fee"},
                {"name": "days", "statistic": "count", "where": "day IS NOT NULL"},
                {"name": "towns", "statistic": "count", "by": ["town"]},
            ],
        }
        tables = dprelease.run(dprelease.load(spec, base=str(tmp_path)), new_noise=True).tables
        overall = tables["overall"].to_pylist()[0]
        by_town = {row["town"]: row["towns"] for row in tables["by_town"].to_pylist()}
        return overall["rows"], overall["fees_count"], overall["days"], by_town

    return figures


def test_the_page_names_the_traps():
    text = page("tutorials/first-release.md").text
    own = text.split("\n## Your own table\n")[1]
    assert all(re.search(trap, own) for trap in ("line break", "strip = true", "12,50", "31.12."))


def test_a_line_is_a_record_and_what_cannot_be_read_is_missing(counts):
    rows, fees, days, by_town = counts()
    assert rows == 6  # the text with a line break makes two records, both without values
    assert fees == 3
    assert days == 3
    assert by_town == {"Bonn": 2}


def test_blanks_and_other_texts_count_when_the_spec_says_so(counts):
    *_, by_town = counts(data={"strip": True}, town={"other": "elsewhere"})
    assert by_town == {"Bonn": 3, "elsewhere": 1}
