"""Answers of single records follow their exact laws over many draws, and wrong laws are caught.

Chi-square on a deterministic stream. Were the stream another one, a right law would fail a test
here with a chance of 1e-7 at most for each statistic.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import combinations
from math import comb, floor

import numpy as np
import pytest
from hashed_bytes import Hashed
from record_laws import window_of_ratio
from scipy.stats import chi2

from dprelease.kernel.chapters.record_tables import subset_selection as subsets
from dprelease.kernel.chapters.record_tables.record_draws import respond
from dprelease.model import Grid
from dprelease.model.record_tables import LaplaceLaw, SubsetLaw, Window, WindowLaw

CAUGHT = 1e-12
PASSED = 1e-7
MILLION = 10**6


def compute_p_value(counts: np.ndarray, expected: np.ndarray) -> float:
    """Rows are tables of their own with a known total; levels of chance 0 must be empty."""
    assert counts.shape == expected.shape
    assert not counts[expected == 0].any()
    assert expected[expected > 0].min() > 5
    used = expected > 0
    statistic = ((counts[used] - expected[used]) ** 2 / expected[used]).sum()
    return float(chi2.sf(statistic, np.count_nonzero(used) - len(counts)))


def round_keep(value: F) -> F:
    return F(floor(value * (1 << 64)), 1 << 64)


# One of k labels: randomised response. 5000 labels go by another way than few.


def responses(labels: int, keep: F, truths: np.ndarray, drawn: np.ndarray) -> float:
    """How often each answer comes with each truth; -1 is the last row."""
    rows = np.where(truths < 0, labels, truths)
    counts = np.bincount(rows * labels + drawn[:, 0], minlength=(labels + 1) * labels)
    counts = counts.reshape(labels + 1, labels)
    law = np.full((labels + 1, labels), float((1 - keep) / (labels - 1)))
    np.fill_diagonal(law, float(keep))
    law[labels] = 1 / labels
    return compute_p_value(counts, law * counts.sum(axis=1, keepdims=True))


def offsets(labels: int, keep: F, truths: np.ndarray, drawn: np.ndarray) -> float:
    """How far answers are from the truth, around the circle, and how often each answer comes."""
    away = (drawn[:, 0].astype(np.int64) - truths) % labels
    counts = np.bincount(away, minlength=labels)[None, :]
    law = np.full((1, labels), float((1 - keep) / (labels - 1)))
    law[0, 0] = float(keep)
    ends = np.bincount(drawn[:, 0], minlength=labels)[None, :]  # even, as the truths are
    even = np.full((1, labels), truths.size / labels)
    return min(compute_p_value(counts, law * truths.size), compute_p_value(ends, even))


KEEPS = [(2, F(3, 4)), (2, round_keep(F(2, 3))), (3, F(1, 128)), (10, round_keep(F(232, 1000)))]
KEEPS += [(48, round_keep(F(1207, 10000))), (48, round_keep(F(9836, 10000)))]


@pytest.mark.parametrize(("labels", "keep"), KEEPS)
@pytest.mark.parametrize("way", ["tables", "coins"])
def test_randomised_response_follows_its_law(
    labels: int, keep: F, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "coins":
        monkeypatch.setattr(subsets, "is_small", lambda law: False)
    truths = np.arange(MILLION, dtype=np.int64) % (labels + 1) - 1
    drawn = respond(SubsetLaw(labels, 1, keep), truths, None, Hashed(f"{way} {labels} {keep}"))
    assert responses(labels, keep, truths, drawn) > PASSED


def test_many_labels_follow_their_law() -> None:
    truths = np.arange(MILLION, dtype=np.int64) % 5000
    drawn = respond(SubsetLaw(5000, 1, F(1, 8)), truths, None, Hashed("many"))
    assert offsets(5000, F(1, 8), truths, drawn) > PASSED


def wrong_keep(labels: int, keep: F, truths: np.ndarray) -> np.ndarray:
    wrong = SubsetLaw(labels, 1, round_keep(keep * F(101, 100)))
    return respond(wrong, truths, None, Hashed("wrong keep"))


def truth_among_the_others(labels: int, keep: F, truths: np.ndarray) -> np.ndarray:
    """What isn't kept is any label, the true one too."""
    more = round_keep(keep + (1 - keep) / labels)
    return respond(SubsetLaw(labels, 1, more), truths, None, Hashed("among"))


def next_is_likelier(labels: int, keep: F, truths: np.ndarray) -> np.ndarray:
    """A wrong label at the border of the numbers: the first of the others is taken too often."""
    drawn = respond(SubsetLaw(labels, 1, keep), truths, None, Hashed("next"))
    moved = (drawn[:, 0] == labels - 1) & (truths == 0) & (np.arange(truths.size) % 4 == 0)
    drawn[moved, 0] = 1
    return drawn


def no_label_is_the_first(labels: int, keep: F, truths: np.ndarray) -> np.ndarray:
    return respond(SubsetLaw(labels, 1, keep), np.maximum(truths, 0), None, Hashed("first"))


@pytest.mark.parametrize(
    "draw", [wrong_keep, truth_among_the_others, next_is_likelier, no_label_is_the_first]
)
def test_a_wrong_response_is_caught(draw: Callable[[int, F, np.ndarray], np.ndarray]) -> None:
    labels, keep = 10, round_keep(F(6, 10))
    truths = np.arange(MILLION, dtype=np.int64) % (labels + 1) - 1
    assert responses(labels, keep, truths, draw(labels, keep, truths)) < CAUGHT


# Sets of labels: how often each set comes, by truth.


def judge_sets(law: SubsetLaw, truths: np.ndarray, drawn: np.ndarray) -> float:
    every = list(combinations(range(law.labels), law.size))
    powers = law.labels ** np.arange(law.size)
    keys = {int((np.array(each) * powers).sum()): place for place, each in enumerate(every)}
    found, times = np.unique((drawn * powers).sum(axis=1) * law.labels + truths, return_counts=True)
    counts = np.zeros((law.labels, len(every)))
    for key, count in zip(found.tolist(), times.tolist(), strict=True):
        counts[key % law.labels, keys[key // law.labels]] = count
    with_truth = float(law.keep) / comb(law.labels - 1, law.size - 1)
    without = float(1 - law.keep) / comb(law.labels - 1, law.size)
    chances = np.array(
        [
            [with_truth if truth in each else without for each in every]
            for truth in range(law.labels)
        ]
    )
    return compute_p_value(counts, chances * counts.sum(axis=1, keepdims=True))


SETS = [SubsetLaw(10, 3, round_keep(F(7, 13))), SubsetLaw(5, 2, F(3, 8)), SubsetLaw(6, 5, F(7, 8))]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("law", SETS, ids=lambda law: f"{law.labels}-{law.size}")
@pytest.mark.parametrize("way", ["tables", "floyd"])
def test_every_set_is_as_frequent_as_it_should(
    law: SubsetLaw, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "floyd":
        monkeypatch.setattr(subsets, "is_small", lambda law: False)
    truths = np.arange(MILLION, dtype=np.int64) % law.labels
    drawn = respond(law, truths, None, Hashed(f"{way} {law}"))
    assert judge_sets(law, truths, drawn) > PASSED


def test_large_sets_hold_labels_and_pairs_alike() -> None:
    """9 of 30: how often each label is in, and each pair of other labels."""
    law, size = SubsetLaw(30, 9, F(5, 8)), 400_000
    drawn = respond(law, np.full(size, 13), None, Hashed("large"))
    held = np.zeros((size, 30), dtype=np.float32)
    np.put_along_axis(held, drawn.astype(np.int64), 1, axis=1)
    together = held.T @ held
    keep, others = float(law.keep), 29
    single = (keep * 8 + (1 - keep) * 9) / others
    pair = (keep * 8 * 7 + (1 - keep) * 9 * 8) / (others * (others - 1))
    for i, j in combinations(range(30), 2):
        chance = pair if 13 not in (i, j) else keep * 8 / others
        assert abs(together[i, j] - size * chance) < 6.5 * (size * chance) ** 0.5
    for i in range(30):
        chance = keep if i == 13 else single
        assert abs(together[i, i] - size * chance) < 6.5 * (size * chance) ** 0.5


@pytest.mark.parametrize("wrong", ["repeats shift", "truth not skipped", "first step kept"])
def test_a_wrong_set_is_caught(wrong: str) -> None:
    law, rng = SETS[0], Hashed(wrong)
    truths = np.arange(MILLION, dtype=np.int64) % law.labels
    drawn = respond(law, truths, None, rng).astype(np.int64)
    chosen = np.frombuffer(rng.read(MILLION), dtype=np.uint8)
    if wrong == "repeats shift":  # a label twice: the next one is taken instead, not the last
        moved = (drawn[:, 1] == drawn[:, 0] + 2) & (chosen < 26)
        drawn[moved, 1] -= 1
    elif wrong == "truth not skipped":  # numbers of others taken as labels
        none = ~(drawn == truths[:, None]).any(axis=1)
        low = none & (drawn[:, 0] == truths + 1)
        drawn[low, 0] -= 1
    else:  # the truth is added to a whole set of others, and one of them dropped: the highest
        moved = (drawn[:, 2] == 9) & (drawn[:, 1] < 8) & (chosen < 13)
        drawn[moved, 2] = 8
    assert judge_sets(law, truths, drawn) < CAUGHT


# Windows of levels.


GRID = Grid(F(1, 10), -500, 501)
VALUES = np.array([-500, -499, -137, 0, 1, 333, 500, 501])
WINDOWS = [
    WindowLaw(window_of_ratio(2, 1, F(2718281, 1000000))),
    WindowLaw(window_of_ratio(7, 2, F(19, 3))),
    WindowLaw(window_of_ratio(32, 9, F(54598, 1000))),
    WindowLaw(window_of_ratio(2, 1, F(7, 4)), window_of_ratio(8, 3, F(31, 7)), round_keep(F(1, 3))),
]


def level_law(law: WindowLaw, k: int) -> np.ndarray:
    pieces = [(law.first, law.share)]
    if law.second is not None:
        pieces.append((law.second, 1 - law.share))
    chances = []
    for each, share in pieces:
        place = F((k - GRID.lower) * (each.levels - each.width), GRID.width)
        whole = each.levels - each.width + each.ratio * each.width
        high = [place % 1 if floor(place) < level <= floor(place) + each.width else F(0)
                for level in range(each.levels)]  # fmt: skip
        low = [1 - place % 1 if floor(place) <= level < floor(place) + each.width else F(0)
               for level in range(each.levels)]  # fmt: skip
        inside = [a + b for a, b in zip(low, high, strict=True)]
        chances += [float(share * (1 + (each.ratio - 1) * part) / whole) for part in inside]
    return np.array(chances)


def levels(law: WindowLaw, drawn: np.ndarray) -> float:
    expected = np.array([level_law(law, int(k)) for k in VALUES])
    counts = np.array(
        [np.bincount(drawn[at :: VALUES.size], minlength=expected.shape[1])
         for at in range(VALUES.size)]
    )  # fmt: skip
    return compute_p_value(counts, expected * (drawn.size // VALUES.size))


def answer(law: WindowLaw, label: str, values: np.ndarray = VALUES) -> np.ndarray:
    return respond(law, np.tile(values, MILLION // VALUES.size), GRID, Hashed(label))


@pytest.mark.parametrize("law", WINDOWS, ids=range(len(WINDOWS)))
def test_levels_follow_their_law(law: WindowLaw) -> None:
    assert levels(law, answer(law, f"levels {law}")) > PASSED


def stand_for(law: WindowLaw) -> np.ndarray:
    found = []
    for each in (law.first, law.second):
        if each is not None:
            centred = np.arange(each.levels) - (each.levels - 1) / 2
            found += list(centred * float(each.gap) * GRID.width / 2 + 0.5)
    return np.array(found)


@pytest.mark.parametrize("law", WINDOWS, ids=range(len(WINDOWS)))
def test_what_levels_stand_for_is_the_value_on_average(law: WindowLaw) -> None:
    drawn = stand_for(law)[answer(law, f"mean {law}")].reshape(-1, VALUES.size)
    error = drawn.std(axis=0) / len(drawn) ** 0.5
    assert (abs(drawn.mean(axis=0) - VALUES) < 5.5 * error).all()


def shift_values(law: WindowLaw) -> np.ndarray:
    """Three of a hundred steps up, where there is room: a place that isn't quite right."""
    return answer(law, "shifted", np.minimum(VALUES + 30, GRID.upper))


def whole_places(law: WindowLaw) -> np.ndarray:
    """The window starts at the whole part of the place, without the coin."""
    reach = law.first.levels - law.first.width
    grid = Grid(F(1), 0, reach)
    starts = (VALUES - GRID.lower) * reach // GRID.width
    return respond(law, np.tile(starts, MILLION // VALUES.size), grid, Hashed("whole"))


def wrong_ratio(law: WindowLaw) -> np.ndarray:
    first = Window(law.first.levels, law.first.width, law.first.ratio * F(103, 100), law.first.gap)
    return answer(WindowLaw(first), "ratio")


@pytest.mark.parametrize("law", WINDOWS[:2], ids=range(2))
@pytest.mark.parametrize("draw", [shift_values, whole_places, wrong_ratio])
def test_wrong_levels_are_caught(law: WindowLaw, draw: Callable[[WindowLaw], np.ndarray]) -> None:
    assert levels(law, draw(law)) < CAUGHT


def test_a_wrong_share_of_windows_is_caught() -> None:
    law = WINDOWS[3]
    wrong = WindowLaw(law.first, law.second, round_keep(F(34, 100)))
    assert levels(law, answer(wrong, "share")) < CAUGHT


# Laplace on a column: the law of the noise has its own tests.


def test_laplace_answers_follow_their_law() -> None:
    scale, size = 10, 400_000
    codes = np.arange(size, dtype=np.int64) % 1002 - 500
    noise = respond(LaplaceLaw(F(scale)), codes, GRID, Hashed("laplace")) - codes
    a = np.exp(-1 / scale)
    inner = (1 - a) / (1 + a) * a ** np.abs(np.arange(-70, 71))
    tail = a**71 / (1 + a)
    counts = np.bincount(np.clip(noise, -71, 71) + 71, minlength=143)[None, :]
    expected = np.concatenate([[tail], inner, [tail]])[None, :] * size
    assert compute_p_value(counts, expected) > PASSED
    assert compute_p_value(np.roll(counts, 1, axis=1), expected) < CAUGHT
