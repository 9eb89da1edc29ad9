"""The ranges of the levels of a quantile tree: against the exact law, and told twice."""

from __future__ import annotations

from fractions import Fraction as F
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.kernel.chapters.choices import quantile_loss as quantile_verifier
from dprelease.mechanisms.quantiles import compute_loss, compute_spans, plan_levels

QUANTILES = st.lists(
    st.fractions(F(1, 50), F(49, 50), max_denominator=50), min_size=1, max_size=7, unique=True
).map(sorted)


@given(QUANTILES, st.integers(1, 4), st.booleans(), st.booleans())
def test_planner_and_verifier_tell_the_same(
    quantiles: list[F], rows: int, replace: bool, stays: bool
) -> None:
    stays = stays and replace and rows == 1
    scheme = plan_levels(quantiles, F(1), rows, replace, stays=stays)
    told = compute_spans(scheme, rows, replace, stays=stays)
    assert list(told) == quantile_verifier.bound_spans(scheme.steps, rows, replace, stays=stays)
    # no path through the tree loses more than all levels together
    assert compute_loss(scheme, rows, replace, stays=stays)[0] <= sum(told)


def test_one_quantile_has_the_range_of_its_loss() -> None:
    scheme = plan_levels([F(1, 2)], F(3, 4), 2, False)
    assert compute_spans(scheme, 2, False) == (F(3, 4),)


def _law(values: list[int], upper: int, rate: float, target: F) -> list[float]:
    """Of one selection among 0, ..., upper: P proportional to e^(-rate d)."""
    a, b = target.numerator, target.denominator
    weights = []
    for candidate in range(upper + 1):
        below = sum(value < candidate for value in values)
        upto = sum(value <= candidate for value in values)
        size = len(values)
        weights.append(
            2.718281828459045 ** (-rate * max(0, b * below - a * size, a * size - b * upto))
        )
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("target", [F(1, 2), F(1, 4), F(9, 10)])
@pytest.mark.parametrize("replace", [False, True])
def test_log_ratios_of_a_selection_lie_within_the_range(target: F, replace: bool) -> None:
    scheme = plan_levels([target], F(1), 1, replace, stays=replace)
    (span,) = compute_spans(scheme, 1, replace, stays=replace)
    rate = float(scheme.steps[0].rate)
    widest = 0.0
    for size in range(5):
        base = [0, 3, 3, 1, 2][:size]
        pairs = [([*base, new], base) for new in range(4)]
        if replace:
            pairs = [([*base, new], [*base, old]) for new in range(4) for old in range(4)]
        for one, other in pairs:
            laws = zip(_law(one, 3, rate, target), _law(other, 3, rate, target), strict=True)
            ratios = [log(p / q) for p, q in laws]
            widest = max(widest, max(ratios) - min(ratios))
    assert widest <= float(span) * (1 + 1e-9)
    assert widest > float(span) / 2, "the range is not much wider than it has to be"
