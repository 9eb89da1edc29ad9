"""Numbers in reports are never smaller than what they stand for, and markup can't slip in."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dprelease.model import Adjacency, Loss, Privacy
from dprelease.postprocess.intervals.fixed_point import (
    choose_places,
    count_decimals,
    to_fixed_point,
    write_fixed_point,
)
from dprelease.postprocess.intervals.number_text import number, write_halfwidth
from dprelease.reports.facts.unit_facts import (
    compute_posterior,
    round_outward,
    tabulate_beliefs,
    tabulate_groups,
)
from dprelease.reports.model.report_model import Belief
from dprelease.reports.renderers.markdown_page import render_cell
from dprelease.reports.text.shown_numbers import (
    compute_root,
    format_number,
    to_json_number,
    write_exact,
)

POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**15)


ROUNDING = Fraction(1, 10**15)  # a double beside the decimal that it stands for


@given(POSITIVE)
@example(Fraction(10**18 + 33, 10**30))  # the next decimal of 12 digits lies 10^-11 above
def test_upward_is_never_below_and_close(value: Fraction) -> None:
    shown = Fraction(to_json_number(value))
    assert value * (1 - ROUNDING) <= shown
    assert shown <= value * (1 + Fraction(1, 10**11)) * (1 + ROUNDING)


@given(POSITIVE)
def test_root_is_never_below_and_close(value: Fraction) -> None:
    shown = Fraction(compute_root(value)) ** 2
    assert value * (1 - ROUNDING) <= shown <= value * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize(
    ("value", "shown"), [("0.1", "0.1"), ("2", "2"), ("1/3", "1/3"), ("2000000", "2000000")]
)
def test_exact_texts(value: str, shown: str) -> None:
    assert write_exact(Fraction(value)) == shown


@given(POSITIVE)
def test_errors_are_rounded_up_for_people(value: Fraction) -> None:
    shown = number(value, 3, up=True).replace(",", "")
    assert value <= Fraction(shown) <= value * Fraction(1011, 1000) + Fraction(1, 10**20)


def test_json_numbers_for_people() -> None:
    """Thousands separated, exponents without noughts."""
    shown = {
        409_440_000: "409,440,000",
        0: "0",
        12: "12",
        1.0: "1",
        26666.6666667: "26,666.6666667",
        0.0001: "0.0001",
        1e-05: "1e-5",
        1.001e-08: "1.001e-8",
        2.5e-07: "2.5e-7",
        1e22: "1e22",
        -1234.5: "-1,234.5",
    }
    assert {value: format_number(value) for value in shown} == shown
    assert {value: render_cell(value) for value in shown} == shown
    assert render_cell("1e-08") == "1e-08"


def test_numbers_for_people() -> None:
    assert number(Fraction(12345)) == "12,345"
    assert number(Fraction(1, 3)) == "0.333"
    assert write_halfwidth(Fraction(1, 3)) == "± 0.334"
    assert number(Fraction(1, 10**9)) == "1.00e-9"


@given(st.integers(-(10**20), 10**20), st.integers(0, 9))
def test_placed_writes_the_fixed_point_exactly(value: int, places: int) -> None:
    shown = write_fixed_point(value, places)
    assert Fraction(shown) == Fraction(value, 10**places)
    assert len(shown.partition(".")[2]) == places


def test_decimals() -> None:
    assert [count_decimals(Fraction(each)) for each in ("1", "0.01", "0.25", "20")] == [0, 2, 2, 0]
    with pytest.raises(ValueError, match="finite"):
        count_decimals(Fraction(1, 3))
    assert to_fixed_point(Fraction("1.234"), 3) == 1234
    assert to_fixed_point(Fraction("1.234"), 2) == 124
    assert choose_places(Fraction(10**7)) == 0
    assert choose_places(Fraction(1)) == 7


def test_what_epsilon_means() -> None:
    low, high = compute_posterior(0.5, 1.0)
    assert (round(low, 3), round(high, 3)) == (0.269, 0.731)
    low, high = compute_posterior(0.1, 1.0)
    assert (round(low, 3), round(high, 3)) == (0.039, 0.232)
    table: Any = tabulate_beliefs("whether the row is there", Loss(Fraction(1)), 1)
    half = next(row for row in table.rows if row.prior == 0.5)
    assert half == Belief(prior=0.5, posterior_low=0.2689, posterior_high=0.7311)
    # another content is two steps away under add-remove: e^2 / (1 + e^2)
    table = tabulate_beliefs("what the row says", Loss(Fraction(1), Fraction(1, 10**6)), 2)
    half = next(row for row in table.rows if row.prior == 0.5)
    assert half == Belief(prior=0.5, posterior_low=0.1192, posterior_high=0.8808)
    assert table.epsilon == 2
    assert table.delta == pytest.approx(1e-6 * (1 + math.e))
    assert round_outward(0.5, 10.0) == (0.000045, 0.999955)
    assert round_outward(0.01, 8.0)[0] == 0.0000033
    assert round_outward(0.5, 50.0) == (0, 1)
    assert compute_posterior(0.5, 1e6) == (pytest.approx(0), 1.0)


def test_losses_of_several_units_together() -> None:
    loss = Loss(Fraction(1, 2), Fraction(1, 10**6))
    rows = tabulate_groups(Privacy("row", Adjacency.ADD_REMOVE), loss)
    assert [row.units for row in rows] == [1, 2, 5, 10]
    assert [row.epsilon for row in rows] == [0.5, 1, 2.5, 5]
    assert rows[1].delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    # About what a row says, a row more is two neighbours away: what is in it, and whether it is.
    assert rows[0].beliefs == (round_outward(0.5, 0.5)[1], round_outward(0.5, 1.0)[1])
    assert rows[3].beliefs == (round_outward(0.5, 5.0)[1], None)  # delta of 20 neighbours: 0.03
    assert [row.protected for row in rows] == [True, True, True, False]
    pure = tabulate_groups(Privacy("row", Adjacency.REPLACE_ONE), Loss(Fraction(1)))
    assert [(row.delta, len(row.beliefs)) for row in pure] == [(0, 1)] * 4


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "\\<script\\>"),
        ("mean_wait", "mean_wait"),
        ("_x_", "\\_x\\_"),
        ("[a](b)", "\\[a\\](b)"),
        ("two\nlines", "two lines"),
        (None, "-"),
    ],
)
def test_cells_carry_no_markup(raw: object, written: str) -> None:
    assert render_cell(raw) == written
