"""Codes, exact numbers, wording and guesses."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.errors import Place
from dprelease.model import ColumnType, Source
from dprelease.postprocess.intervals.fixed_point import write_decimal
from dprelease.specfile.checks.columns.domains import write_canonical
from dprelease.specfile.complaints.complaint_wording import (
    find_nearest,
    join_quoted,
    show,
    show_fraction,
)
from dprelease.specfile.complaints.reporter import Refused, Reporter
from dprelease.specfile.complaints.spec_paths import (
    get_fixed_part,
    is_inside,
    is_reading,
    make_absolute,
)
from dprelease.specfile.keys.number_texts import read_budget, read_exact, read_probability
from dprelease.specfile.schema.sections import QuerySection
from dprelease.specfile.toml.positions import find_positions
from dprelease.statistics.statistic_registry import STATISTICS


@given(st.integers(-(10**19), 10**19), st.integers(0, 14), st.integers(-3, 3))
def test_canonical_numbers_are_those_of_exact_fractions(digits, places, more):
    value = Decimal(digits).scaleb(-places + more)
    try:
        wanted = write_decimal(read_exact(value))
    except Refused:
        with pytest.raises(Refused):
            write_canonical(ColumnType.DECIMAL, value)
        return
    assert write_canonical(ColumnType.DECIMAL, value) == wanted
    if value == int(value):
        assert write_canonical(ColumnType.INTEGER, int(value)) == wanted


@given(st.decimals(min_value=-(10**17), max_value=10**17, places=12))
def test_numbers_are_exact(value):
    assert read_exact(value) == Fraction(value)
    assert read_exact(Fraction(value)) == Fraction(value)


@pytest.mark.parametrize(
    "value",
    ["1e18", "-1e18", "1e999999999", "1e-13", "0.1234567890123", "1e-999999999", "nan", "inf",
     "sNaN", "1" + "0" * 10_000, "0." + "0" * 10_000 + "1"],
)  # fmt: skip
def test_numbers_beyond_the_range_are_refused_unbuilt(value):
    with pytest.raises(Refused):
        read_exact(Decimal(value))


@pytest.mark.parametrize(
    "value", [True, "1", None, [], {}, 10**18, -(10**400), 1.5, Fraction(1, 3)]
)
def test_other_values_are_no_numbers(value):
    with pytest.raises(Refused) as caught:
        read_exact(value)
    assert caught.value.hint


def test_numbers_at_the_border_pass():
    assert read_exact(Decimal("1e-12")) == Fraction(1, 10**12)
    assert read_exact(Decimal("1.000000000000" + "0" * 5000)) == 1
    assert read_exact(Decimal("0e-99999999")) == 0
    assert read_exact(10**18 - 1) == 10**18 - 1
    assert read_budget(10**6) == 10**6
    assert read_probability(Decimal("0.999999999999")) < 1


@given(st.one_of(st.integers(), st.decimals(), st.fractions(), st.text(), st.dates(), st.none(),
                 st.binary(), st.lists(st.integers())))  # fmt: skip
def test_anything_can_be_shown(value):
    shown = show(value)
    assert len(shown) < 700
    assert shown.isprintable()
    shown.encode()


@given(st.integers(-(10**20), 10**20), st.integers(0, 12))
def test_plain_notation_is_exact_and_canonical(digits, places):
    number = Fraction(digits, 10**places)
    text = show_fraction(number)
    assert Fraction(text) == number
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
    assert text != "-0"


def test_a_third_has_no_plain_notation():
    assert show(Fraction(1, 3)) == "1/3"


@pytest.mark.parametrize(
    ("word", "close"),
    [
        ("cont", "count"), ("Mean", "mean"), ("histogramm", "histogram"), ("smu", "sum"),
        ("xyzzy", None), ("", None), ("c" * 1000, None),
    ],
)  # fmt: skip
def test_guesses(word, close):
    assert find_nearest(word, STATISTICS) == close


def test_words_are_listed():
    assert join_quoted(["a"]) == '"a"'
    assert join_quoted(["a", "b", "c"]) == '"a", "b" or "c"'
    assert QuerySection.mechanism.words == ("auto", "laplace", "gaussian", "exponential")


def test_paths(tmp_path):
    base = str(tmp_path)
    assert make_absolute(base, "../x/./y") == str(tmp_path.parent / "x" / "y")
    assert make_absolute(base, "/x") == "/x"
    assert get_fixed_part("/a/b*/c/d.csv") == "/a"
    assert get_fixed_part("/a/b") == "/a/b"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_inside(str(tmp_path / "link"), str(tmp_path / "real" / "x"))
    assert not is_inside(str(tmp_path / "rea"), str(tmp_path / "real"))


@pytest.mark.parametrize(
    ("pattern", "path", "part"),
    [
        ("/d/*.csv", "/d/a.csv", True),
        ("/d/*.csv", "/d/e/a.csv", False),
        ("/d/**/*.csv", "/d/e/f/a.csv", True),
        ("/d/**/*.csv", "/d/a.csv", True),
        ("/d/*.csv", "/d/a.txt", False),
        ("/d", "/d/e/a", True),
        ("/d/a.csv", "/d/a.csv", True),
        ("/d/a.csv", "/d/a.csv2", False),
    ],
)
def test_what_the_data_takes_in(pattern, path, part):
    assert is_reading(Source(pattern, "csv"), path) == part


def test_what_is_absent_is_placed_at_the_nearest_table():
    reporter = Reporter("f", find_positions("[a]\n[a.b]\nc = 1"))
    assert reporter.place(("a", "b", "x", "y")) == Place("f", 2, 1)
    assert reporter.place(("a", "b", "c")) == Place("f", 3, 5)
    assert reporter.place(("a", "b", "c"), "key") == Place("f", 3, 1)
    assert reporter.place(("z",)) == Place("f", 1, 1)
    assert Reporter("f", None).place(("a",)) is None
