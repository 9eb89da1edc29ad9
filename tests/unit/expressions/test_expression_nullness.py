"""Where an expression is null: what is said of its form holds of its values."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

from dprelease.expressions import parse_tree
from dprelease.expressions.nullness import find_null_columns
from dprelease.model import ColumnType as T

sys.path.insert(0, str(Path(__file__).parents[2] / "oracle"))

from expressions import evaluate

TYPES = {"i": T.INTEGER, "x": T.FLOAT, "s": T.STRING, "b": T.BOOLEAN, "d": T.DATE}
VALUES = {"i": (None, 0, 2**62), "x": (None, -1.5, 1e308), "s": (None, "", "Ab"),
          "b": (None, False, True)}  # fmt: skip

DECIDED: dict[str, set[str]] = {
    "b": {"b"},
    "NOT b": {"b"},
    "i >= 1": {"i"},
    "i >= 1.5": {"i"},
    "x < 2": {"x"},
    "i < i": {"i"},
    "x <> 2.5": {"x"},
    "s = 'Ab'": {"s"},
    "LOWER(TRIM(s)) = 'ab' ": {"s"},
    "LENGTH(UPPER(s)) > i": {"s", "i"},
    "i IN (1, 2)": {"i"},
    "s NOT LIKE 'A%'": {"s"},
    "i BETWEEN 1 AND 2": {"i"},
    "i >= 1 AND i <= 2": {"i"},
    "i = 0 OR NOT i = 0": {"i"},
    "i IS NULL": set(),
    "i IS NOT NULL AND s IS NULL": set(),
    "COALESCE(i >= 1, FALSE)": set(),
    "TRUE": set(),
}
NOT_DECIDED = [
    "i >= 1 AND s = 'Ab'", "i >= 1 OR b", "b AND TRUE", "i BETWEEN 1 AND LENGTH(s)", "i + i > 0",
    "-i > 0", "x * x > 0.0", "x / x > 0.0", "COALESCE(i >= 1, b)", "NULLIF(i, 0) > 1",
    "CASE WHEN b THEN TRUE END", "GREATEST(i, 1) > 0", "s || s = ''", "CONCAT(s, s) = ''",
    "CAST(s AS integer) > 1", "NULL", "i = NULL", "i BETWEEN 1 AND NULL",
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), DECIDED.items())
def test_the_columns_decide(text: str, columns: set[str]) -> None:
    node = parse_tree(text, TYPES)
    assert find_null_columns(node) == columns
    for values in product(*VALUES.values()):
        row = dict(zip(VALUES, values, strict=True))
        assert (evaluate(node, row) is None) == any(row[name] is None for name in columns)


@pytest.mark.parametrize("text", NOT_DECIDED)
def test_of_other_forms_nothing_is_said(text: str) -> None:
    assert find_null_columns(parse_tree(text, TYPES)) is None
