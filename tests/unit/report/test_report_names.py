"""What people read of a published table: titles, labels, and bins in words."""

from __future__ import annotations

import pytest

from dprelease.model import ColumnNames, ColumnType, OutputColumn
from dprelease.report.names import bin_text, column_title, key_text, title_with_unit

INTEGER, DECIMAL, DATE = ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.DATE


@pytest.mark.parametrize(
    ("kind", "key", "words"),
    [
        (INTEGER, "[18, 40)", "18 to 39"),
        (INTEGER, "[40, 65]", "40 to 65"),
        (INTEGER, "[-5, -4)", "\u22125"),
        (INTEGER, "[2000, 2010)", "2000 to 2009"),
        (INTEGER, "[10000, 20000)", "10,000 to 19,999"),
        (INTEGER, "rest", "rest"),
        (DECIMAL, "[18, 40)", "18 to under 40"),
        (DECIMAL, "[0.5, 1]", "0.5 to 1"),
        (ColumnType.FLOAT, "[-0.5, 0)", "\u22120.5 to under 0"),
        (DATE, "[2025-01-01, 2025-02-01)", "Jan 2025"),
        (DATE, "[2024-02-01, 2024-02-29]", "Feb 2024"),
        (DATE, "[2025-02-01, 2025-02-02)", "1 Feb 2025"),
        (DATE, "[2025-01-01, 2025-04-01)", "Jan to Mar 2025"),
        (DATE, "[2025-11-01, 2026-02-01)", "Nov 2025 to Jan 2026"),
        (DATE, "[2025-01-01, 2026-01-01)", "2025"),
        (DATE, "[2024-01-01, 2026-01-01)", "2024 to 2025"),
        (DATE, "[2025-11-05, 9999-12-31]", "5 Nov 2025 to 31 Dec 9999"),
        (ColumnType.TIMESTAMP, "[2025-01-01 00:00:00, 2025-02-01 00:00:00)", "Jan 2025"),
        (
            ColumnType.TIMESTAMP,
            "[2025-01-01 06:00:00, 2025-01-01 18:00:00)",
            "2025-01-01 06:00:00 to before 2025-01-01 18:00:00",
        ),
        (
            ColumnType.TIMESTAMP,
            "[2025-01-01 00:00:00, 2025-02-01 00:00:00]",
            "2025-01-01 00:00:00 to 2025-02-01 00:00:00",
        ),
    ],
)
def test_bins_are_read_as_words(kind, key, words):
    assert bin_text(kind, key) == words


def test_a_label_comes_before_the_words_of_a_bin_and_a_key_stays_without():
    names = ColumnNames(labels={"[0, 18)": "Children"}, bins=INTEGER)
    keys = ["[0, 18)", "[18, 40)", None]
    column = OutputColumn("age", "key", keys, "", names=names)
    assert [key_text(column, key) for key in keys] == ["Children", "18 to 39", "(none)"]
    assert key_text(OutputColumn("c", "key", ["[0, 18)"], ""), "[0, 18)") == "[0, 18)"


@pytest.mark.parametrize(
    ("part", "title"),
    [
        ("", "Mean wait (days)"),
        ("_noise_moe", "Mean wait: noise half-width (days)"),
        ("_count", "Mean wait: number of values"),
        ("_p25", "Mean wait: p25 (days)"),
    ],
)
def test_a_title_is_that_of_the_query_and_says_what_stands_beside_it(part, title):
    names = ColumnNames("Mean wait", "days")
    column = OutputColumn(f"wait{part}", "number", [], "", 1, "wait:by_x", names=names)
    assert title_with_unit(column) == title
    assert column_title(OutputColumn(f"wait{part}", "number", [], "", 1, "wait")) == f"wait{part}"
