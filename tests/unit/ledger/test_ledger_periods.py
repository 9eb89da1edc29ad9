"""Which runs one unit can be in, held against every single day."""

from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples

from dprelease.ledger.privacy_filter import Caps, Terms, wrap_loss
from dprelease.ledger.totals import (
    compute_total,
    is_meeting,
    iter_running_totals,
    list_concurrent_runs,
    sum_spent,
)
from dprelease.model import Loss
from dprelease.model.periods import Span, is_nearly_a_date, parse_period

CAPS = Caps(Fraction(10), Fraction(1, 10**5))


def run(period: str | None, epsilon: Fraction = Fraction(1), disjoint: bool = True) -> Terms:
    loss = Loss(epsilon)
    return Terms(loss, wrap_loss(loss), period, disjoint)


@pytest.mark.parametrize(
    ("period", "first", "last"),
    [
        ("2026", "2026-01-01", "2026-12-31"),
        ("2026-02", "2026-02-01", "2026-02-28"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-12", "2026-12-01", "2026-12-31"),
        ("2026-01-31", "2026-01-31", "2026-01-31"),
        ("2026-Q1", "2026-01-01", "2026-03-31"),
        ("2026-q4", "2026-10-01", "2026-12-31"),
        ("2026-H2", "2026-07-01", "2026-12-31"),
        ("2026-h1", "2026-01-01", "2026-06-30"),
        ("2026-W01", "2025-12-29", "2026-01-04"),
        ("2026-w53", "2026-12-28", "2027-01-03"),
    ],
)
def test_known_periods_are_spans_of_days(period: str, first: str, last: str) -> None:
    assert parse_period(period) == Span(date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "period",
    ["spring", "2026-13", "2026-00", "2026-02-30", "2026-Q5", "2026-H3", "2025-W53", "0000", "26",
     "2026-1", "2026-01-1", "2026-01-01T00", "2026q1", "9999-W53", "2026-W00", "", "٢٠٢٦"],
)  # fmt: skip
def test_any_other_text_is_a_period_of_its_own(period: str) -> None:
    assert parse_period(period) is None


def test_disjoint_periods_cost_the_dearest_one() -> None:
    runs = [run("2026-01"), run("2026-02", Fraction(3)), run("2026-03")]
    assert sum_spent(runs).epsilon == 3


def test_overlapping_periods_add_up() -> None:
    runs = [run("2026-Q1"), run("2026-02"), run("2026"), run("2026-04"), run("2025")]
    assert sum_spent(runs).epsilon == 3


def test_a_run_that_declared_nothing_adds_to_all() -> None:
    runs = [run("2026-01"), run("2026-02"), run("2026-01", disjoint=False), run(None)]
    assert sum_spent(runs).epsilon == 3
    assert sum_spent([run("2026-01", disjoint=False), run("2026-02", disjoint=False)]).epsilon == 2


def test_the_same_period_twice_adds_up_however_it_is_written() -> None:
    assert sum_spent([run("2026-q1"), run("2026-Q1")]).epsilon == 2
    assert sum_spent([run("Spring"), run("spring"), run("autumn")]).epsilon == 2


def test_a_year_of_days_costs_one_day() -> None:
    days = [run((date(2026, 1, 1) + timedelta(day)).isoformat()) for day in range(365)]
    assert sum_spent(days).epsilon == 1
    assert compute_total([*days, run("2026-06")], CAPS).epsilon == 2


def test_gaussian_runs_of_one_period_compose_beside_those_of_others() -> None:
    loss = Loss(Fraction(1, 10), Fraction(1, 10**8), Fraction(2, 10**4))
    january, february = (
        Terms(loss, wrap_loss(loss), each, True) for each in ("2026-01", "2026-02")
    )
    alone = compute_total([january] * 50, CAPS)
    assert alone.composed
    assert compute_total([january, february] * 50, CAPS) == alone
    assert compute_total([*[january, february] * 50, run(None)], CAPS).epsilon > alone.epsilon


def test_the_deltas_of_the_period_that_has_most_are_held_against_the_cap() -> None:
    """Though another period has the largest epsilon."""
    loss = Loss(Fraction(1), Fraction(1, 2 * 10**5))
    risky = Terms(loss, wrap_loss(loss), "2026-02", True)
    for runs in ([run("2026-01", Fraction(3)), risky, risky], [risky, risky, run("2026-01")] * 2):
        found = compute_total(runs, CAPS)
        deltas = sum(each.loss.delta for each in runs)
        assert found.counted == deltas
        assert found.is_within(CAPS) == (deltas <= Fraction(1, 10**5))
        assert [total.counted for _, total in iter_running_totals(runs, CAPS)][-1] == deltas


PERIODS = st.sampled_from(
    ["2026", "2026-Q1", "2026-q2", "2026-H1", "2026-01", "2026-02", "2026-04", "2026-02-14",
     "2026-W07", "2026-W14", "2026-03-31", "spring", "autumn", "2025-12", "2026-W01", None]
)  # fmt: skip
RUNS = st.lists(
    st.builds(run, PERIODS, st.integers(1, 50).map(lambda each: Fraction(each, 10)), st.booleans()),
    max_size=12,
)


def day_by_day(runs: list[Terms]) -> list[list[Terms]]:
    """The runs that a unit can be in: one set for each day, and one for each text."""
    free = [each for each in runs if not each.disjoint or each.period is None]
    found = [free]
    for day in (date(2025, 11, 1) + timedelta(n) for n in range(450)):
        found.append(
            [
                each
                for each in runs
                if each in free
                or ((span := parse_period(str(each.period))) and span.first <= day <= span.last)
            ]
        )
    for text in ("spring", "autumn"):
        found.append([each for each in runs if each in free or each.period == text])
    return found


@settings(max_examples=examples(60), deadline=None)
@given(RUNS)
def test_the_most_over_all_days_is_found(runs: list[Terms]) -> None:
    expected = max(
        sum((each.loss.epsilon for each in met), Fraction(0)) for met in day_by_day(runs)
    )
    assert sum_spent(runs).epsilon == expected
    assert compute_total(runs, Caps()).epsilon == expected
    assert all(
        is_meeting(one, other) for met in list_concurrent_runs(runs) for one in met for other in met
    )


@settings(max_examples=examples(60), deadline=None)
@given(RUNS)
def test_totals_over_time_are_those_of_the_runs_so_far(runs: list[Terms]) -> None:
    for at, (plain, total) in enumerate(iter_running_totals(runs, CAPS), start=1):
        assert plain == sum_spent(runs[:at])
        assert total.epsilon == compute_total(runs[:at], CAPS).epsilon


@pytest.mark.parametrize("period", ["2026-1", "2026_02", "2026-02-30", "2026-Q0", "2025-W53",
                                    "2026-", "2026-02.", "202602", "20260214"])  # fmt: skip
def test_what_looks_like_a_date_and_is_none(period: str) -> None:
    assert is_nearly_a_date(period)


@pytest.mark.parametrize("period", ["2026", "2026-02", "2026-w07", "spring", "7", "batch-2026-1",
                                    "12345", "2026a"])  # fmt: skip
def test_what_is_a_date_or_looks_like_none(period: str) -> None:
    assert not is_nearly_a_date(period)
