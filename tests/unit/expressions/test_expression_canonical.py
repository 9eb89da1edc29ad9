"""The one text of an expression: the same for other ways to write it, and for nothing else."""

import pytest

from dprelease.expressions.canonical import write_canonical
from dprelease.model import ColumnType as T

TYPES = {"i": T.INTEGER, "x": T.FLOAT, "s": T.STRING, "a b": T.STRING, "b": T.BOOLEAN}
TYPES |= {"d": T.DATE, "u": T.TIMESTAMP}

ALIKE = [
    ("i+1", " ( i ) +   1"),
    ("lower(s)", "LOWER(s)"),
    ("\"s\" || 'x'", "s||'x'"),
    ("CASE WHEN b THEN 1 ELSE 0 END", "case when (b) then 1 else 0 end"),
    ("YEAR(d)", "EXTRACT(year FROM d)"),
    ("1.50 * x", "15e-1 * x"),
]

DIFFERENT = [
    "s", "i", "'s'", '"a b"', "'a b'", "b", "NULL", "1", "1.0", "'1'", "TRUE", "-1", "0.0", "-0.0",
    "i + 1", "i + 1.0", "i - 1", "1 - i", "i + x", "x + i", "i = 1", "i IN (1)", "i IN (1, 2)",
    "s || 'x'", "CONCAT(s, 'x')", "COALESCE(s, 'x')", "NULLIF(s, 'x')", "s || '\"'", "s || '''x'",
    "s || 'x, y'", "s || 'x' || 'y'", "s || ('x' || 'y')", "SUBSTRING(s, 1, 2)",
    "SUBSTRING(s, 1)", "SUBSTRING(s, 2)", "LOWER(s)", "UPPER(s)", "DATE '2026-01-01'",
    "'2026-01-01'", "TIMESTAMP '2026-01-01 00:00:00'", "TIMESTAMP '2026-01-01 00:00:00.5'",
    "DATE_DIFF('day', d, u)", "DATE_DIFF('day', u, d)", "CASE WHEN b THEN 1 ELSE 0 END",
    "CASE WHEN b THEN 0 ELSE 1 END", "CASE WHEN b THEN 1 END", "NOT b", "b AND i = 1",
    "s LIKE 'x%'", "s NOT LIKE 'x%'", "i BETWEEN 1 AND 2", "ROUND(x, 1)", "ROUND(x, 2)",
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_other_ways_to_write_the_same(one: str, other: str) -> None:
    assert write_canonical(one, TYPES) == write_canonical(other, TYPES)


def test_no_two_expressions_share_a_text() -> None:
    texts = [write_canonical(each, TYPES) for each in DIFFERENT]
    assert len(set(texts)) == len(texts)


def test_a_type_that_changes_the_meaning_changes_the_text() -> None:
    assert write_canonical("i / 2", TYPES) != write_canonical("i / 2", TYPES | {"i": T.FLOAT})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("s || '-é'", '||("s", string "-\\u00e9")'),
        ("i / 2", '/(to_float("i"), to_float(integer 2))'),
        ("COALESCE(i, 0.1)", 'coalesce(to_float("i"), float 0.1)'),
        ("d < DATE '2026-01-31'", '<("d", date 2026-01-31)'),
        ("u = TIMESTAMP '2026-01-31 10:00:00'", '=("u", timestamp 2026-01-31 10:00:00)'),
        ("CASE WHEN b THEN i END", 'case("b", "i", integer null)'),
        ("b = FALSE", '=("b", boolean false)'),
    ],
)
def test_the_texts_are_the_same_in_every_version(text: str, written: str) -> None:
    # Ledgers hold them: if this fails, whoever has computed units can't go on.
    assert write_canonical(text, TYPES) == written
