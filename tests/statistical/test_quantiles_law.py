"""Drawn quantiles follow their exact law, wrong laws are caught, and errors are as small as said.

Draws are compared with P of every outcome, added up over all slots from the definition (with
counts of records, not through the blocks that are drawn from). Errors of one quantile are summed
over the exact law; those of nine are measured on a deterministic stream.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction as F
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import pytest
from drawn_laws import judge_outcomes
from hashed_bytes import Hashed

from dprelease.kernel.chapters.choices import weights as buckets
from dprelease.kernel.chapters.choices.quantile_sampler import (
    Grid,
    cut,
    find_part,
    gather,
    release,
    select,
)
from dprelease.mechanisms.quantile_error import rank_halfwidth
from dprelease.mechanisms.quantiles import plan_levels
from dprelease.model.plans import QuantileScheme

CAUGHT, PASSED = 1e-9, 1e-6
SLOTS = 8
DECILES = tuple(F(k, 10) for k in range(1, 10))
Table = dict[int, int]


@pytest.fixture(autouse=True, scope="module")
def _quick() -> Iterator[None]:
    """Weights of buckets are computed once for all draws of this file; nothing else changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            buckets, "enclose_exp_negative", lru_cache(maxsize=None)(buckets.enclose_exp_negative)
        )
        yield


def weights(
    table: Table, low: F, high: F, candidates: Sequence[tuple[F, F]], target: F, rate: F
) -> list[float]:
    """exp(-rate b rank distance) of candidates (from, to) on a line where value v is [v, v+1)."""

    def under(place: F) -> F:
        return sum((n * min(max(place - v, F(0)), F(1)) for v, n in table.items()), F(0))

    base, mass = under(low), under(high) - under(low)
    found = []
    for start, stop in candidates:
        below, upto = (min(max(under(x) - base, F(0)), mass) for x in (start, stop))
        rank = target * mass
        distance = max(F(0), below - rank, rank - upto)
        found.append(math.exp(-float(rate * target.denominator * distance)))
    return found


def law_of_two(
    table: Table, upper: int, slots: int, scheme: QuantileScheme
) -> dict[tuple[int, int], float]:
    """P of (first, second) for a scheme that selects quantile ``root`` and then the other."""
    root, leaf = scheme.steps
    every = [F(slot, slots) for slot in range((upper + 1) * slots + 1)]
    top = weights(table, F(0), every[-1], list(pairwise(every)),
                  root.target, root.rate)  # fmt: skip
    law: dict[tuple[int, int], float] = Counter()
    whole = math.fsum(top)
    for slot, chance in enumerate(top):
        cut, value = every[slot], slot // slots
        low, high = (cut, every[-1]) if leaf.index > root.index else (F(0), cut)
        values = range(value, upper + 1) if leaf.index > root.index else range(value + 1)
        inner = weights(table, low, high, [(F(v), F(v + 1)) for v in values],
                        leaf.target, leaf.rate)  # fmt: skip
        for other, weight in zip(values, inner, strict=True):
            pair = (value, other) if leaf.index > root.index else (other, value)
            law[pair] += chance / whole * weight / math.fsum(inner)
    return law


TABLES: list[tuple[Table, int, tuple[F, ...]]] = [
    ({0: 1, 2: 5, 3: 1}, 4, (F(1, 3), F(2, 3))),
    ({1: 30, 4: 2}, 5, (F(1, 4), F(1, 2))),
    ({3: 2}, 5, (F(2, 5), F(9, 10))),
]


@cache
def draw_quantiles(case: int, size: int = 1200) -> Counter[Hashable]:
    """Draws as ``release`` does them, with a number of slots of the test's own."""
    table, upper, quantiles = TABLES[case]
    scheme = plan_levels(quantiles, F(2), 1, False)
    entropy = Hashed(f"two of {case}")
    mass = gather(list(table), list(table.values()), Grid(0, upper), SLOTS)
    draws = []
    for _ in range(size):
        found: dict[int, int] = {}
        for step in scheme.steps:
            part = find_part(mass, scheme, step, found)
            found[step.index] = select(mass, part, entropy) * part.size
        draws.append(tuple(found[index + 1] // SLOTS for index in range(len(found))))
    return Counter(draws)


@pytest.mark.thorough
@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", range(len(TABLES)))
def test_two_quantiles_follow_their_law(case: int) -> None:
    table, upper, quantiles = TABLES[case]
    scheme = plan_levels(quantiles, F(2), 1, False)
    assert judge_outcomes(draw_quantiles(case), law_of_two(table, upper, SLOTS, scheme)) > PASSED


@pytest.mark.thorough
def test_wrong_laws_are_caught() -> None:
    """Another rate, a record more, parts that end at whole values."""
    table, upper, quantiles = TABLES[0]
    scheme = plan_levels(quantiles, F(2), 1, False)
    other = plan_levels(quantiles, F(3), 1, False)
    assert judge_outcomes(draw_quantiles(0), law_of_two(table, upper, SLOTS, other)) < CAUGHT
    assert (
        judge_outcomes(draw_quantiles(0), law_of_two({**table, 2: 7}, upper, SLOTS, scheme))
        < CAUGHT
    )
    table, upper, quantiles = TABLES[1]
    scheme = plan_levels(quantiles, F(2), 1, False)
    assert judge_outcomes(draw_quantiles(1), law_of_two(table, upper, 1, scheme)) < CAUGHT


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1, 4, 10])
def test_slots_of_one_value_follow_their_law(count: int) -> None:
    """Where d differs within a block, a place is kept by its own d, not by the bound of the block.

    Without that step the law is a staircase whose stairs move with the data: less private than
    promised. It is caught.
    """
    slots = 16
    scheme = plan_levels([F(1, 3), F(2, 3)], F(2), 1, False)
    step = scheme.steps[0]
    mass = gather([0], [count], Grid(0, 0), slots)
    part = find_part(mass, scheme, step, {})
    edges = [F(slot, slots) for slot in range(slots + 1)]
    smooth = weights({0: count}, F(0), F(1), list(pairwise(edges)), step.target, step.rate)
    blocks, stairs = cut(mass, part), [0.0] * slots
    for start, size, bound in zip(blocks.starts, blocks.sizes, blocks.bounds, strict=True):
        stairs[start : start + size] = [math.exp(-float(part.rate) * int(bound))] * int(size)
    entropy = Hashed(f"slots of {count}")
    draws = [(select(mass, part, entropy),) for _ in range(4000)]
    right, wrong = (
        judge_outcomes(
            Counter(draws), {(slot,): weight / math.fsum(law) for slot, weight in enumerate(law)}
        )
        for law in (smooth, stairs)
    )
    assert right > PASSED
    assert wrong < CAUGHT


def test_one_quantile_on_a_line_follows_its_law() -> None:
    """Through ``release``: gaps of many values, heaps, and a tail on either side."""
    table = {-5: 1, 0: 3, 40: 1, 41: 2, 300: 1}
    scheme = plan_levels([F(1, 3)], F(1), 1, False)
    shifted = {value + 100: count for value, count in table.items()}
    values = range(501)
    law = weights(shifted, F(0), F(501), [(F(v), F(v + 1)) for v in values],
                  F(1, 3), scheme.steps[0].rate)  # fmt: skip
    edges = [0, 40, 95, 96, 100, 101, 120, 140, 141, 142, 220, 300, 400, 401, 450, 501]
    bins: dict[tuple[int, ...], float] = Counter()
    for value, weight in zip(values, law, strict=True):
        bins[(int(np.searchsorted(edges, value, side="right")),)] += weight / math.fsum(law)
    entropy = Hashed("line")
    draws = []
    for _ in range(2000):
        (value,) = release(list(table), list(table.values()), -100, 400, scheme, entropy)
        draws.append((int(np.searchsorted(edges, value + 100, side="right")),))
    assert judge_outcomes(Counter(draws), bins) > PASSED
    flat = {key: 0.5 * chance + 0.5 / len(bins) for key, chance in bins.items()}
    assert judge_outcomes(Counter(draws), flat) < CAUGHT


def exact_errors(size: int, target: F, rate: F) -> tuple[np.ndarray, np.ndarray]:
    """Rank errors of one quantile and their chances, for values 1, 3, 5, ... on an even grid.

    At odd values the rank interval has length 1, between them 0; gaps are wide, so the odd
    values count for nothing beside them.
    """
    ranks = np.arange(size + 1)
    errors = np.abs(ranks - float(target) * size)
    chances = np.exp(-float(rate) * target.denominator * errors)
    return errors, chances / chances.sum()


def test_the_median_of_a_thousand_is_off_by_one_and_a_half_ranks() -> None:
    """Root mean square, epsilon 1, over the exact law: sqrt(2)/epsilon, up to the grid."""
    (step,) = plan_levels([F(1, 2)], F(1), 1, False).steps
    errors, chances = exact_errors(1000, step.target, step.rate)
    assert 1.3 < math.sqrt((errors**2 * chances).sum()) <= 1.5


def ranks_off(points: np.ndarray, counts: np.ndarray, found: Sequence[int]) -> list[float]:
    total = counts.sum()
    off = []
    for q, value in zip(DECILES, found, strict=True):
        below, upto = counts[points < value].sum(), counts[points <= value].sum()
        off.append(max(0.0, below - float(q) * total, float(q) * total - upto))
    return off


def test_nine_deciles_of_a_thousand_are_off_by_less_than_eight_and_a_half_ranks() -> None:
    """And an even split of the same budget by more than twice as much."""
    rng, entropy = np.random.default_rng(5), Hashed("deciles")
    scheme = plan_levels(DECILES, F(1), 1, False)
    alone = [plan_levels([q], F(1, 9), 1, False) for q in DECILES]
    together, split = [], []
    for draw in range(40):
        values = rng.integers(0, 10**6, 1000)
        points, counts = np.unique(values, return_counts=True)
        found = release(points, counts, 0, 10**6 - 1, scheme, entropy)
        together.append(ranks_off(points, counts, found))
        if draw < 8:
            each = [release(points, counts, 0, 10**6 - 1, one, entropy)[0] for one in alone]
            split.append(ranks_off(points, counts, each))
    rms = [math.sqrt(np.mean(np.square(errors))) for errors in (together, split)]
    assert 5 < rms[0] <= 8.5
    assert rms[1] > 2 * rms[0]


def test_half_widths_hold_on_the_data_they_are_for() -> None:
    """A narrow cluster, the rest of the grid empty: the bound holds, and is not idle."""
    lower, upper, alpha = 0, 10**6 - 1, F(1, 20)
    size, start = 400, 1000
    for target in (F(1, 2), F(9, 10)):
        scheme = plan_levels([target], F(1), 1, False)
        rate = float(scheme.steps[0].rate) * target.denominator
        ranks = np.arange(size + 1)
        # Values start, start + 1, ...: each alone, all below and all above in one gap.
        errors = np.maximum(0, np.maximum(ranks[:-1] - float(target) * size,
                                          float(target) * size - ranks[1:]))  # fmt: skip
        errors = np.concatenate(([float(target) * size], errors, [float(1 - target) * size]))
        sizes = np.concatenate(([start - lower], np.ones(size), [upper - start - size + 1]))
        chances = sizes * np.exp(-rate * errors)
        chances /= chances.sum()
        width = rank_halfwidth(scheme, 0, lower, upper, alpha)
        assert chances[errors > width].sum() <= alpha
    # Tight: ranks beyond the cluster's end at just the distance where the gap outweighs it.
    size = 2 * 12
    (step,) = plan_levels([F(1, 2)], F(1), 1, False).steps
    far = upper * math.exp(-float(step.rate) * 2 * size / 2)
    assert far / (far + 20) > float(alpha)
    scheme = plan_levels([F(1, 2)], F(1), 1, False)
    assert size / 2 > 0.7 * rank_halfwidth(scheme, 0, lower, upper, alpha)


def test_half_widths_of_the_tree_hold() -> None:
    entropy = Hashed("widths")
    scheme = plan_levels(DECILES, F(2), 1, False)
    widths = [rank_halfwidth(scheme, k, 0, 10**6 - 1, F(1, 20)) for k in range(9)]
    for points, counts in (
        (np.arange(1000, 2500), np.ones(1500, dtype=np.int64)),
        (np.array([7, 500_000, 999_999]), np.array([300, 900, 300])),
    ):
        for _ in range(10):
            found = release(points, counts, 0, 10**6 - 1, scheme, entropy)
            off = ranks_off(points, counts, found)
            assert all(error <= width for error, width in zip(off, widths, strict=True))
