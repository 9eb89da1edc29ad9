"""Conditions on figures: what holds, exactly; what can't be read; what never holds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.expressions import ExpressionError
from dprelease.postprocess.finishing.conditions import evaluate_rows, is_never_true, read

NAMES = ["value", "noise_moe", "visits"]
ROWS = {"value": [900, 899, None], "noise_moe": [100, None, 5], "visits": [3, -4, 0]}


def true_for(text: str) -> list[bool]:
    node = read(text, NAMES)
    places = {"value": 1, "noise_moe": 1, "visits": 0}
    return evaluate_rows(node, [(ROWS[name], places[name]) for name in node.list_columns()])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("value >= 90", [True, False, False]),
        ("value >= 89.9", [True, True, False]),
        ("value = 89.9", [False, True, False]),
        ("NOT value >= 90", [False, True, False]),
        ("value IS NULL", [False, False, True]),
        ("noise_moe < 0.5 * value", [True, False, False]),
        ("noise_moe < 0.5 * value OR visits < 0", [True, True, False]),
        ("value >= 90 AND visits <> 3", [False, False, False]),
        ("value / visits > 10", [True, False, False]),
        ("ABS(-visits) BETWEEN 3 AND 3", [True, False, False]),
        ("value + noise_moe - 1 > 98 AND TRUE", [True, False, False]),
        ("value / 3 * 3 = 90", [True, False, False]),
    ],
)
def test_a_condition_holds_exactly(text, rows):
    assert true_for(text) == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("value", "true or false"),
        ("vlue > 1", 'unknown column "vlue"'),
        ("value > 'a'", "float and string can't be combined"),
        ("FLOOR(value) > 1", "no FLOOR"),
        ("CASE WHEN value > 1 THEN TRUE ELSE FALSE END", "no CASE"),
        ("COALESCE(value, 0) > 1", "no COALESCE"),
        ("value > 1 AND DATE '2026-01-01' < DATE '2026-01-02'", "no LITERAL"),
        ("value > 1 AND 'a' = 'a'", "no LITERAL"),
        ("value IN (1, 2)", "no IN"),
        ("value >", "not a row expression"),
    ],
)
def test_a_condition_that_is_none_is_refused(text, said):
    with pytest.raises(ExpressionError, match=said):
        read(text, NAMES)


@pytest.mark.parametrize(
    ("text", "hopeless"),
    [
        ("value >= 90 AND value < 10", True),
        ("value >= 10 AND value < 90", False),
        ("value > 5 AND 5 >= value", True),
        ("value >= 5 AND 5 >= value", False),
        ("value < 0", True),
        ("value <= 0", False),
        ("value < 0 OR value < -1", True),
        ("value < 0 OR visits > 1", False),
        ("visits < 0", False),
        ("visits > 1 AND (value < 0 OR value < -1)", True),
        ("1 = 2", True),
        ("NULL", True),
        ("NOT value < 0", False),
        ("value = 3 AND value = 4", True),
    ],
)
def test_a_condition_that_never_holds_is_seen(text, hopeless):
    assert is_never_true(read(text, NAMES), {"value": Fraction(0)}) is hopeless


COMPARED = st.builds(
    "{} {} {}".format,
    st.sampled_from(["value", "visits", "2"]),
    st.sampled_from(["<", "<=", "=", "<>", ">=", ">"]),
    st.sampled_from(["value", "visits", "0", "2", "3"]),
)
CONDITIONS = st.recursive(
    COMPARED,
    lambda inner: (
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=4,
)


@given(CONDITIONS)
def test_what_is_said_never_to_hold_holds_nowhere(text):
    node = read(text, NAMES)
    if is_never_true(node, {"value": Fraction(0)}):
        rows = [(value, visits) for value in range(5) for visits in range(-2, 5)]
        places = {"value": 0, "visits": 1}
        columns = [([row[places[name]] for row in rows], 0) for name in node.list_columns()]
        assert not any(evaluate_rows(node, columns))
