"""The rule that picks a unit's rows: its law over all starts, and the numbers of a unit."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate, combinations, product

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.sampling import Seeds, bits_of, sampled, seeds_of, text_of
from thorough import examples, for_each

from dprelease.engines.duckdb.bound_by_arrays import choose_places
from dprelease.engines.duckdb.bounding_rule import (
    Cut,
    compute_start,
    count_kept,
    hash_unit,
    is_kept,
)
from dprelease.expressions.nodes import Value
from dprelease.expressions.sqltext import Sql, literal

COUNTED = pytest.mark.parametrize("count", range(2, 25))


# --- every start ---------------------------------------------------------------------------------


@COUNTED
def test_every_row_is_kept_for_exactly_its_share_of_all_starts(count: int) -> None:
    for most in range(1, count):
        found: Counter[int] = Counter()
        for start in range(count):
            kept = sampled(count, most, start)
            assert len(set(kept)) == len(kept) == most
            assert list(kept) == sorted(kept)
            assert sampled(count, most, start + 7 * count) == kept
            found.update(kept)
        assert found == dict.fromkeys(range(count), most)


@pytest.mark.one_in(11)
@COUNTED
def test_of_rows_that_stand_together_their_share_is_kept(count: int) -> None:
    """Whatever the start: of each run of rows as many as its share, rounded down or up."""
    for most, start in product(range(1, count), range(count)):
        kept = set(sampled(count, most, start))
        for first, end in combinations(range(count + 1), 2):
            share = Fraction((end - first) * most, count)
            own = len(kept & set(range(first, end)))
            assert own in (math.floor(share), math.ceil(share))


@COUNTED
def test_the_mean_of_what_is_kept_is_unbiased(count: int) -> None:
    values = [(7 * place * place + 3) % 31 for place in range(count)]
    for most in range(1, count):
        means = [
            Fraction(sum(values[place] for place in sampled(count, most, start)), most)
            for start in range(count)
        ]
        assert sum(means) / count == Fraction(sum(values), count)


def test_ninety_and_ten_are_nine_and_one() -> None:
    for start in range(100):
        kept = sampled(100, 10, start)
        assert sum(place >= 90 for place in kept) == 1
        assert sum(place < 10 for place in kept) == 1
    assert sum(99 in sampled(100, 1, start) for start in range(100)) == 1


@pytest.mark.parametrize(("count", "most"), [(0, 1), (1, 1), (3, 3), (3, 9)])
def test_all_are_kept_where_there_are_no_more(count: int, most: int) -> None:
    assert list(sampled(count, most, 5)) == list(range(count))


# --- the same in SQL -----------------------------------------------------------------------------

COUNTS = st.one_of(st.integers(2, 40), st.integers(2, 10**6), st.integers(2**38, 2**40))


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, int]:
    count = draw(COUNTS)
    most = draw(st.one_of(st.integers(1, min(count - 1, 50)), st.integers(1, count - 1)))
    return count, min(most, 10**9), draw(st.integers(0, count - 1))


def whole(value: int) -> Sql:
    """A column of the data, not a literal."""
    return literal(value).cast("BIGINT")


def asked(query: Sql) -> object:
    ((found,),) = duckdb.execute(f"SELECT {query}").fetchall()
    return found


@given(case=cases(), data=st.data())
@settings(deadline=None, max_examples=examples(60))
def test_a_row_is_kept_in_sql_where_it_is_in_python(
    case: tuple[int, int, int], data: st.DataObject
) -> None:
    count, most, start = case
    kept = [(each * count + start) // most for each in (0, most // 2, most - 1)]
    near = [each + step for each in kept for step in (-1, 0, 1)]
    for place in [*near, data.draw(st.integers(0, count - 1))]:
        if 0 <= place < count:
            nearest = -((start - place * most) // count)  # the first that is not before the place
            expected = (nearest * count + start) // most == place
            args = (whole(place), whole(count), most, whole(start))
            assert asked(is_kept(*args)) is expected
            before, after = (
                asked(count_kept(whole(each), *args[1:])) for each in (place, place + 1)
            )
            assert isinstance(before, int)
            assert after == before + expected
    assert asked(count_kept(whole(0), whole(count), most, whole(start))) == 0
    assert asked(count_kept(whole(count), whole(count), most, whole(start))) == most


@pytest.mark.parametrize(("count", "most"), [(5, 2), (100, 10), (10**6, 1000), (7, 6), (2, 1)])
def test_the_places_in_arrays_are_those_in_python(count: int, most: int) -> None:
    """Of runs one after the other: some with fewer items than are kept, and large numbers."""
    counts, starts = [1, count, most, count, count], [5, 0, 1, count // 2, 7 * count - 1]
    begins = [0, *accumulate(counts)][:-1]
    found = choose_places((np.array(begins), np.array(counts)), most, np.array(starts))
    assert found.tolist() == [
        begin + place
        for begin, own, start in zip(begins, counts, starts, strict=True)
        for place in sampled(own, most, start)
    ]


UNITS = [None, "", "null", "=", "ann", "é😀", "a'b", "\0", "x" * 5000]


@pytest.mark.one_in(6)
@for_each("unit", UNITS)
@for_each("salt", [0, 1, 2**63, 2**64 - 1])
def test_a_unit_has_the_same_numbers_in_sql_as_in_python(unit: str | None, salt: int) -> None:
    seeds = seeds_of(salt, unit)
    with duckdb.connect() as connection:
        query = f"SELECT {hash_unit(salt, Sql('CAST($1 AS VARCHAR)'))}"
        (digest,) = connection.execute(query, [unit]).fetchone() or ("",)
        for cut, count in [(each, count) for each in Cut for count in (1, 10, 2**60, 2**40 - 1)]:
            start = compute_start(Sql(f"'{digest}'"), cut, whole(count))
            (found,) = connection.execute(f"SELECT {start}").fetchone() or (None,)
            assert found == seeds[cut] % count


# --- numbers and texts of units ------------------------------------------------------------------


def test_the_numbers_of_a_unit_are_digits_of_a_hash() -> None:
    """To the bit, so that nothing changes by accident."""
    digits = sha256(b"12:=ann").hexdigest()
    assert seeds_of(12, "ann") == Seeds(
        int(digits[:15], 16), int(digits[15:30], 16), int(digits[30:45], 16)
    )
    assert seeds_of(0, None).rows == int(sha256(b"0:").hexdigest()[:15], 16)


def test_no_two_units_or_salts_share_their_numbers() -> None:
    pairs = [(salt, unit) for salt in (0, 1, 10, 11, 2**64 - 1) for unit in UNITS]
    pairs += [(1, "0:=ann"), (10, ":=ann"), (1, "1"), (11, "")]
    assert len({seeds_of(*pair) for pair in pairs}) == len(set(pairs))
    assert len({seed for pair in pairs for seed in seeds_of(*pair)}) == 3 * len(set(pairs))


VALUES: list[list[Value]] = [
    [0, 1, -1, 2**63 - 1, -(2**63)],
    [0.0, 5e-324, 0.1, -0.1, 1e300, math.inf, -math.inf],
    [True, False],
    [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1)],
    ["", "a", " a", "A", "none", "None"],
]


@pytest.mark.parametrize("values", VALUES, ids=lambda values: type(values[0]).__name__)
def test_values_of_one_type_have_different_texts(values: list[Value]) -> None:
    assert len({text_of(value) for value in values}) == len(values)
    assert None not in {text_of(value) for value in values}
    assert text_of(None) is None


def test_texts_of_values() -> None:
    assert text_of(-0.0) == text_of(0.0) == bits_of(0.0) == "0" * 64
    assert bits_of(-0.0) == "1" + "0" * 63
    assert bits_of(math.nan) == bits_of(-math.nan) == "nan"
    assert text_of(date(1969, 12, 31)) == "-1"
    assert text_of(datetime(1969, 12, 31, 23, 59, 59, 999_999)) == "-1"
    assert text_of(datetime(9999, 12, 31, 23, 59, 59, 999_999)) == "253402300799999999"
    assert text_of(True) == "true"
    assert text_of(2**63 - 1) == "9223372036854775807"
