"""Selections: exactness where it can be seen without statistics, and what they refuse."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from dprelease.kernel.chapters.choices import choice_sampler as choice
from dprelease.kernel.chapters.choices.choice_sampler import (
    choose,
    compute_distances,
    draw_exponential,
    draw_permute_and_flip,
    select_in_turn,
)
from dprelease.kernel.chapters.choices.weights import (
    WeightBuckets,
    cast_to_integers,
    locate,
    sum_exactly,
)
from dprelease.kernel.distributions.intervals import Interval


def flip(distances: Any, rate: F, entropy: Any, sizes: Any = None) -> tuple[int, int]:
    return draw_permute_and_flip(WeightBuckets(distances, rate, sizes), entropy)


BOTH = [choose, flip]
DRAWS = [draw_exponential, draw_permute_and_flip]
MANY = 10**6


class Leading:
    """Words of ones first, then zeros in each byte: U lies just below 1 - 2^-(64 ones)."""

    def __init__(self, ones: int) -> None:
        self.left = ones

    def read(self, size: int) -> bytes:
        self.left -= 1
        return (b"\xff" if self.left >= 0 else b"\x00") * size


@pytest.mark.parametrize("ones", [8, 9, 10, 12])
@pytest.mark.parametrize("as_array", [False, True])
def test_an_unlikely_candidate_is_taken_exactly_where_its_probability_begins(
    ones: int, as_array: bool
) -> None:
    """P(second) = e^-400/(1 + e^-400) is 2^-577.08: reached by 577 leading ones and no fewer."""
    distances: Any = [400, 0]
    found = choose(np.array(distances) if as_array else distances, F(1), Leading(ones))
    assert found == ((0, 0) if 64 * ones > 577 else (1, 0))


def test_an_unlikely_candidate_among_many_is_taken_too() -> None:
    distances = np.full(1000, 2000, dtype=np.int64)
    distances[77] = 0
    index, _ = choose(distances, F(1, 2), Leading(30))
    assert index != 77
    assert choose(distances, F(1, 2), Leading(2)) == (77, 0)


class Spelled:
    """One word, then zeros or ones."""

    def __init__(self, word: int, rest: bytes) -> None:
        self.words, self.rest = [word], rest

    def read(self, size: int) -> bytes:
        return self.words.pop().to_bytes(size, "little") if self.words else self.rest * size


def test_a_word_that_leaves_it_open_decides_nothing() -> None:
    """The first 64 bits of the cut itself, 1/(1 + 1/e): what follows decides."""
    with mp.workdps(60):
        word = int(mp.floor(2**64 / (1 + mp.exp(-1))))
    for near, following, index in (
        (word, b"\x00", 0),
        (word, b"\xfe", 1),
        (word - 1, b"\xfe", 0),
        (word + 1, b"\x00", 1),
    ):
        assert choose([0, 1], F(1), Spelled(near, following)) == (index, 0)


def test_a_chance_is_met_to_the_last_bit() -> None:
    """Of 1/3 the first 64 bits leave it open; 1/2 is known exactly, and is not below itself."""
    third = (1 << 64) // 3
    for word, following, answer in (
        (third, b"\x00", True),
        (third, b"\xff", False),
        (third - 1, b"\xff", True),
        (third + 1, b"\x00", False),
    ):
        drawn = Spelled(word, following)
        chance = choice.draw_event(
            lambda bits: Interval((1 << bits) // 3, (1 << bits) // 3 + 1), drawn
        )
        assert chance is answer
    for word in (1 << 63, (1 << 63) - 1):
        drawn = Spelled(word, b"\x00")
        half = choice.draw_event(lambda bits: Interval(1 << bits - 1, 1 << bits - 1), drawn)
        assert half == (word < 1 << 63)


@pytest.mark.parametrize("draw", BOTH)
def test_one_candidate(draw: Any, hashed: Any) -> None:
    assert draw([0], F(1, 10**9), hashed("one")) == (0, 0)
    index, offset = draw([0], F(50), hashed("sized"), [1 << 60])
    assert index == 0
    assert 0 <= offset < 1 << 60


@pytest.mark.parametrize("draw", BOTH)
@pytest.mark.parametrize("rate", [F(1, 10**9), F(50), F(1, 2**80)])
def test_huge_distances_and_sizes(draw: Any, rate: F, hashed: Any) -> None:
    distances = [2**70, 0, 2**70 + 5, 3]
    sizes = [1 << 60, 1, 1 << 60, 2]
    for count, held in ((None, distances), (sizes, np.array(distances, dtype=object))):
        index, offset = draw(held, rate, hashed("huge"), count)
        assert type(index) is int
        assert type(offset) is int
        assert 0 <= offset < (sizes[index] if count else 1)
        if rate > F(1, 2**70):
            assert index in {1, 3}


@pytest.mark.parametrize(
    ("distances", "rate", "sizes", "kind"),
    [
        ([], F(1), None, ValueError),
        ([1, 2], F(1), None, ValueError),
        ([0, -1], F(1), None, ValueError),
        ([0, 1], F(0), None, ValueError),
        ([0, 1], F(-1), None, ValueError),
        ([0, 1], F(1), [1], ValueError),
        ([0, 1], F(1), [1, 0], ValueError),
        ([0.0, 1.0], F(1), None, TypeError),
        (np.array([0.0, 1.0]), F(1), None, TypeError),
        ([True, False], F(1), None, TypeError),
    ],
)
def test_what_is_refused(distances: Any, rate: F, sizes: Any, kind: type, hashed: Any) -> None:
    with pytest.raises(kind):
        choose(distances, rate, hashed("bad"), sizes)


LAID_OUT = {
    "distinct": (np.arange(MANY), F(1, 10**9)),
    "equal": (np.zeros(MANY, dtype=np.int64), F(1, 3)),
    "geometric": (np.arange(MANY) & -np.arange(MANY), F(1, 1000)),
    "far": (np.r_[0, np.full(MANY - 1, 10**4)], F(1, 700)),
}


@pytest.mark.parametrize("draw", BOTH)
@pytest.mark.parametrize("name", list(LAID_OUT))
def test_a_million_candidates_take_less_than_two_seconds(draw: Any, name: str, hashed: Any) -> None:
    distances, rate = LAID_OUT[name]
    start = time.perf_counter()
    index, _ = draw(distances, rate, hashed(name))
    assert time.perf_counter() - start < 2
    assert 0 <= index < MANY


# --- permute-and-flip as a tree of decisions, whose probabilities add up to the law ---------------

Law = dict[int, float]


def compute_by_permutations(chances: list[float]) -> Law:
    """The law as it was published: a random order, and a coin each."""
    law = dict.fromkeys(range(len(chances)), 0.0)
    for order in permutations(range(len(chances))):
        still = 1.0
        for index in order:
            law[index] += still * chances[index] / math.factorial(len(chances))
            still *= 1 - chances[index]
    return law


class Pruned(Exception):
    """The decisions so far are too unlikely to go on."""


class Tree:
    """Runs a function with every sequence of decisions that is likely enough."""

    def __init__(self, least: float) -> None:
        self.least = least
        self.ahead: list[list[int]] = [[]]

    def decide(self, shares: list[float]) -> int:
        if self.at == len(self.path):
            for other in range(1, len(shares)):
                self.ahead.append([*self.path, other])
            self.path.append(0)
        taken = self.path[self.at]
        self.at += 1
        self.weight *= shares[taken]
        if self.weight < self.least:
            raise Pruned
        return taken

    def leaves(self, run: Callable[[], int]) -> Iterator[tuple[int, float]]:
        while self.ahead:
            self.path, self.at, self.weight = self.ahead.pop(), 0, 1.0
            try:
                result = run()
            except Pruned:
                continue
            yield result, self.weight


def flip_tree(distances: list[int], rate: F, monkeypatch: pytest.MonkeyPatch) -> tuple[Law, float]:
    """What permute-and-flip does, each of its decisions replaced by both of its outcomes."""
    tree = Tree(3e-5)
    buckets = WeightBuckets(distances, rate)
    width = max(1, int(1 / rate))
    proposals = [math.exp(-rate * (d - d % width)) for d in distances]
    shares = [each / sum(proposals) for each in proposals]

    def happens(chance: Callable[[int], Any], entropy: Any) -> bool:
        low, high = chance(128)
        assert high - low < 1 << 16
        share = low / (1 << 128)
        return tree.decide([share, 1 - share]) == 0

    def keep(exponent: F, entropy: Any) -> bool:
        share = math.exp(-exponent)
        return tree.decide([share, 1 - share]) == 0

    monkeypatch.setattr(buckets, "propose", lambda entropy: (tree.decide(shares), 0))
    monkeypatch.setattr(choice, "draw_event", happens)
    monkeypatch.setattr(choice, "keep", keep)
    law = dict.fromkeys(range(len(distances)), 0.0)
    for index, weight in tree.leaves(lambda: draw_permute_and_flip(buckets, None)[0]):  # type: ignore[arg-type]
        law[index] += weight
    return law, 1 - sum(law.values())


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("distances", "rate"),
    [([0, 1], F(1)), ([0, 1, 3], F(7, 10)), ([2, 0, 4], F(3, 10)), ([0, 2, 1, 3], F(2))],
)
def test_the_decisions_of_permute_and_flip_add_up_to_its_law(
    distances: list[int], rate: F, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, open_share = flip_tree(distances, rate, monkeypatch)
    law = compute_by_permutations([math.exp(-rate * d) for d in distances])
    assert open_share < 0.02
    for index, probability in law.items():
        assert found[index] - 1e-9 <= probability <= found[index] + open_share + 1e-9


@pytest.mark.parametrize("gaps", [(1, 1, 1), (2, 1, 1), (3, 0, 2)])
def test_what_is_known_of_time_is_neither_lost_nor_made_up(
    gaps: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clocks rang and a third was silent, in a time of gaps with the law Exp(V).

    Each clock is asked after some more gaps; the same chance by inclusion and exclusion, where
    clocks of the rates a are all silent during a gap with probability V/(V + sum of a).
    """
    exponents, proposals = (F(1, 2), F(3), F(1)), 1.5
    rates = [1 - math.exp(-each) for each in exponents]
    tree = Tree(0)

    def happens(chance: Callable[[int], Any], entropy: Any) -> bool:
        share = chance(128).low / (1 << 128)
        return tree.decide([share, 1 - share]) == 0

    def v(bits: int) -> Interval:
        return Interval(3 << bits - 1, 3 << bits - 1)

    def answers() -> int:
        pieces: list[list[F]] = []
        found = 0
        for more, exponent in zip(gaps, exponents, strict=True):
            pieces.extend([] for _ in range(more))
            found = 2 * found + choice.is_silent(exponent, pieces, v, None)  # type: ignore[arg-type]
        return found

    def silent(clocks: tuple[int, ...]) -> float:
        times = [sum(rates[c] for c in clocks if c >= turn) for turn in range(3)]
        return math.prod(
            (proposals / (proposals + t)) ** n for t, n in zip(times, gaps, strict=True)
        )

    monkeypatch.setattr(choice, "draw_event", happens)
    law = dict.fromkeys(range(8), 0.0)
    for found, weight in tree.leaves(answers):
        law[found] += weight
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    expected = silent((2,)) - silent((0, 2)) - silent((1, 2)) + silent((0, 1, 2))
    assert law[0b001] == pytest.approx(expected, abs=1e-12)


# --- the parts ------------------------------------------------------------------------------------


def test_proposals_and_totals_are_enclosed() -> None:
    rate, distances, sizes = F(3, 10), [0, 2, 7, 400], [1, 5, 1 << 60, 1 << 60]
    buckets = WeightBuckets(distances, rate, sizes)
    for bits in (16, 64, 200):
        low, high = buckets.sum_weights(0, bits)
        true = sum(n * math.exp(-0.3 * (d - d % 3)) for d, n in zip(distances, sizes, strict=True))
        assert low <= high <= low + 4
        assert low / 2**bits == pytest.approx(true, rel=1e-9, abs=2 / 2**bits)


def test_totals_are_relative_to_the_best_wherever_it_stands_on_its_rung() -> None:
    buckets = WeightBuckets([2, 4, 7], F(3, 10))
    low, high = buckets.sum_weights(2, 64)
    assert low <= high <= low + 4
    assert low / 2**64 == pytest.approx(sum(math.exp(-0.3 * (each - 2)) for each in (0, 3, 6)))


def test_totals_follow_candidates_that_are_taken_away() -> None:
    buckets = WeightBuckets([0, 1, 5, 900], F(1))
    for index, nearest in ((0, 1), (1, 5), (2, 900)):
        buckets.take(index)
        assert buckets.find_best() == nearest
        low, _ = buckets.sum_weights(nearest, 64)
        left = (0, 1, 5, 900)[index + 1 :]
        assert low / 2**64 == pytest.approx(sum(math.exp(nearest - d) for d in left))


@pytest.mark.parametrize("draw", DRAWS)
def test_selecting_in_turn_takes_every_candidate_once(draw: Any, hashed: Any) -> None:
    scores = [5, -2, 5, 900]
    assert sorted(select_in_turn(scores, 100, F(1, 3), draw, hashed("all"))) == [0, 1, 2, 3]
    assert len(select_in_turn(scores, 2, F(1), draw, hashed("two"))) == 2
    assert select_in_turn(scores, 4, F(50), draw, hashed("sure"))[::3] == [3, 1]


def test_one_of_several_candidates_of_an_entry_is_not_taken() -> None:
    with pytest.raises(ValueError, match="not taken away"):
        WeightBuckets([0, 1], F(1), [1, 2]).take(0)


def test_selecting_in_turn_through_wide_gaps(hashed: Any) -> None:
    scores = [2**80, 0, 2**70, -5]
    for draw in DRAWS:
        assert select_in_turn(scores, 4, F(50), draw, hashed("gaps")) == [0, 2, 1, 3]


def test_selecting_in_turn_needs_one(hashed: Any) -> None:
    with pytest.raises(ValueError, match="at least one"):
        select_in_turn([1, 2], 0, F(1), draw_exponential, hashed("none"))
    with pytest.raises(ValueError, match="needs a candidate"):
        select_in_turn([], 1, F(1), draw_exponential, hashed("none"))


def test_bids_and_prices(hashed: Any) -> None:
    """Bids of 100, 100, 100, 401: 401 is the best price, 402 sells nothing."""
    bids, prices = [100, 100, 100, 401], [100, 101, 401, 402]
    scores = [price * sum(bid >= price for bid in bids) for price in prices]
    assert scores == [400, 101, 401, 0]
    assert compute_distances(scores).tolist() == [1, 300, 0, 401]
    found = {
        select_in_turn(scores, 1, F(1, 2), draw_exponential, hashed(f"{i}"))[0] for i in range(40)
    }
    assert found == {0, 2}


def test_distances_of_scores_that_64_bits_cannot_hold_apart() -> None:
    assert compute_distances([-(2**61), 2**61]).tolist() == [2**62, 0]
    assert compute_distances(np.array([-(2**63), 2**63 - 1])).tolist() == [2**64 - 1, 0]
    assert compute_distances(np.array([2**64 - 1, 0], dtype=np.uint64)).tolist() == [0, 2**64 - 1]


def test_whole_numbers_never_wrap() -> None:
    assert cast_to_integers([2**70, 1]).tolist() == [2**70, 1]
    assert cast_to_integers([np.int64(5), 2**62]).dtype == object
    assert all(
        type(each) is int for each in cast_to_integers(np.array([np.int8(1), 2**70])).tolist()
    )
    assert sum_exactly(np.full(1000, 2**61)) == 1000 * 2**61
    sizes = np.full(5000, 2**61)
    assert locate(sizes, 4999 * 2**61 + 7) == (4999, 7)
    assert locate(np.array([2**80, 3], dtype=object), 2**80 + 1) == (1, 1)
    assert locate(np.array([2, 3]), 1) == (0, 1)
    with pytest.raises(ValueError, match="beyond the last"):
        locate(np.array([2, 3]), 5)
