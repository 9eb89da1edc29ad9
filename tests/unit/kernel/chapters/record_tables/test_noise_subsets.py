"""Answers of labels: every set exactly as often as the law says, by walking through the draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from dprelease.kernel.chapters.record_tables import subset_selection as subsets
from dprelease.kernel.chapters.record_tables.record_draws import prepare_responses, respond
from dprelease.kernel.chapters.record_tables.subset_selection import (
    build_set_law,
    draw_label,
    draw_set,
    expand_sets,
    is_small,
)
from dprelease.model.record_tables import SubsetLaw

ALL16 = np.arange(1 << 16, dtype="<u2").tobytes()
HALF, MOST = F(1, 2), F(13, 16)


def law_of_sets(law: SubsetLaw, truth: int) -> dict[tuple[int, ...], F]:
    """By the definition: what ``SubsetLaw`` says of each set of labels."""
    within = comb(law.labels - 1, law.size - 1)
    without = comb(law.labels - 1, law.size)
    return {
        each: law.keep / within if truth in each else (1 - law.keep) / without
        for each in combinations(range(law.labels), law.size)
    }


def walk_uniforms(monkeypatch: pytest.MonkeyPatch, bounds: list[int]) -> int:
    """Make ``below`` walk through all tuples of draws, one for each row; how many rows that is."""
    rows = np.array(list(product(*(range(bound) for bound in bounds))), dtype=np.int64)
    left = list(zip(bounds, rows.reshape(len(rows), -1).T, strict=True))

    def below(bound: int, size: int, entropy: object) -> np.ndarray:
        expected, column = left.pop(0)
        assert (bound, size) == (expected, column.size)
        return column.copy()

    monkeypatch.setattr(subsets, "draw_integers_below", below)
    monkeypatch.setattr(subsets, "draw_below", below)
    return len(rows)


@pytest.mark.parametrize(("labels", "size"), [(3, 2), (5, 2), (6, 3), (7, 4), (6, 5), (9, 2)])
@pytest.mark.parametrize("kept", [False, True])
def test_floyd_draws_all_sets_alike(
    labels: int, size: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = SubsetLaw(labels, size, HALF)
    first = [] if kept else [labels - size]
    bounds = [*first, *range(labels - size + 1, labels)]
    for truth in range(labels):
        rows = walk_uniforms(monkeypatch, bounds)
        drawn = draw_set(law, np.full(rows, kept), np.full(rows, truth), None)
        counts = Counter(map(tuple, drawn.tolist()))
        allowed = [s for s in combinations(range(labels), size) if (truth in s) == kept]
        assert set(counts) == set(allowed)  # each rising, as combinations are
        assert set(counts.values()) == {rows // len(allowed)}


def test_rows_with_and_without_the_truth_stay_apart(hashed) -> None:
    """Coins and truths mixed in one chunk: every row has what its coin says."""
    law = SubsetLaw(40, 5, HALF)
    kept = np.arange(30_000) % 3 == 0
    truth = np.arange(30_000, dtype=np.int64) % 40
    drawn = draw_set(law, kept, truth, hashed("mixed"))
    assert ((drawn == truth[:, None]).any(axis=1) == kept).all()
    assert (np.diff(drawn.astype(int), axis=1) > 0).all()
    assert drawn.max() < 40


@pytest.mark.parametrize("labels", [2, 3, 9])
def test_another_label_is_any_of_the_others(labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for truth in range(labels):
        rows = walk_uniforms(monkeypatch, [labels - 1])
        found = draw_label(labels, np.zeros(rows, dtype=bool), np.full(rows, truth), None)
        assert sorted(found[:, 0].tolist()) == [i for i in range(labels) if i != truth]
    kept = draw_label(labels, np.ones(2, dtype=bool), np.array([1, 0]), None)
    assert kept.tolist() == [[1], [0]]


@pytest.mark.parametrize(("labels", "size"), [(3, 2), (10, 3), (6, 5), (4, 4), (11, 4)])
def test_tables_of_sets_are_the_law(labels: int, size: int) -> None:
    """Exact probabilities, from the cuts of the number and the rows they lead to."""
    law = SubsetLaw(labels, size, F(1) if size == labels else F(0xDEADBEEF, 1 << 32))
    assert is_small(law)
    table, rows = build_set_law(law), expand_sets(labels, size)
    ends = [F(0), *table.cuts, F(1)]
    for truth in range(labels):
        found: Counter[tuple[int, ...]] = Counter()
        for place, number in enumerate(table.outcomes.tolist()):
            row = tuple(rows[number * labels + truth].tolist())
            found[row] += ends[place + 1] - ends[place]
        assert found == law_of_sets(law, truth)


@pytest.mark.parametrize("small", [True, False], ids=["tables", "coins"])
def test_binary_answers_by_all_words(
    small: bool, scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsets, "is_small", lambda law: small)
    for truth in (0, 1):
        codes = np.full(1 << 16, truth, dtype=np.int64)
        drawn = respond(SubsetLaw(2, 1, MOST), codes, None, scripted(ALL16))
        assert np.count_nonzero(drawn == truth) == MOST * (1 << 16)


@pytest.mark.parametrize(("labels", "keep"), [(1, F(1)), (4, F(5, 8)), (5, HALF), (9, F(0))])
def test_answers_of_some_labels_by_all_words(labels: int, keep: F, scripted) -> None:
    """The chances of all labels are multiples of 2^-16: counts are exact."""
    for truth in range(labels):
        codes = np.full(1 << 16, truth, dtype=np.int64)
        entropy = scripted(ALL16) if labels > 1 else scripted()
        drawn = respond(SubsetLaw(labels, 1, keep), codes, None, entropy)
        exact = law_of_sets(SubsetLaw(labels, 1, keep), truth)
        counts = np.bincount(drawn[:, 0], minlength=labels).tolist()
        assert counts == [exact[(label,)] * (1 << 16) for label in range(labels)]


def test_no_label_is_any_label_first(scripted) -> None:
    """-1: first a uniform label (words at thirds of 2^16), then the coin of 1, which is silent."""
    words = np.array([10, 30_000, 65_000], dtype="<u2").tobytes()
    codes = np.array([2, -1, 0, -1, -1], dtype=np.int64)
    entropy = scripted(words)
    found = respond(SubsetLaw(3, 1, F(1)), codes, None, entropy)
    assert found[:, 0].tolist() == [2, 0, 0, 1, 2]
    assert codes.tolist() == [2, -1, 0, -1, -1]  # what is asked is left as it is


LAWS = [
    SubsetLaw(1, 1, F(1)),
    SubsetLaw(4, 4, F(1)),
    SubsetLaw(10, 1, F(1, 4)),
    SubsetLaw(10, 3, HALF),
    SubsetLaw(5000, 1, HALF),
    SubsetLaw(30, 9, HALF),
    SubsetLaw(200, 64, HALF),
    SubsetLaw(65_535, 2, HALF),
    SubsetLaw(65_536, 1, HALF),
    SubsetLaw(65_536, 2, HALF),
    SubsetLaw((1 << 32) - 1, 2, HALF),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.labels}-{law.size}")
@pytest.mark.parametrize("size", [0, 1, (1 << 16) + 3])
def test_shapes_types_and_order(law: SubsetLaw, size: int, hashed) -> None:
    codes = np.arange(size, dtype=np.int64) * 7919 % (law.labels + 1) - 1
    prepare_responses(law)
    found = respond(law, codes, None, hashed("shapes"))
    assert found.shape == (size, law.size)
    assert found.dtype == (np.uint16 if law.labels <= 65_535 else np.uint32)
    assert found.max(initial=0) < law.labels
    assert (np.diff(found.astype(np.int64), axis=1) > 0).all()
    if size > 1 and law.keep == HALF:
        known = codes >= 0
        held = (found == codes[:, None]).any(axis=1)[known].sum()
        assert abs(held - known.sum() / 2) < 6 * (known.sum() / 4) ** 0.5
        for border in (1 << 16, (1 << 20) // law.size):  # no chunk repeats another
            rest = size - border
            if rest > 100 and law.labels > 1000:
                assert not (found[:rest] == found[border:]).all()


def test_the_highest_and_lowest_labels_are_given(hashed) -> None:
    """Both ends of the numbers, next to truths at the ends, where sums could wrap."""
    for labels, size in ((65_535, 2), (65_536, 2), (300, 2), (300, 1)):
        law = SubsetLaw(labels, size, F(0))
        for truth in (0, labels - 1):
            codes = np.full(1 << 18, truth, dtype=np.int64)
            found = respond(law, codes, None, hashed(f"ends {labels} {truth}"))
            low, high = (1, labels - 1) if truth == 0 else (0, labels - 2)
            assert low <= found.min() <= low + labels // 1000
            assert high - labels // 1000 <= found.max() <= high


@pytest.mark.parametrize(
    "law",
    [
        SubsetLaw(3, 0, HALF),
        SubsetLaw(3, 4, HALF),
        SubsetLaw(3, 3, HALF),
        SubsetLaw(0, 0, HALF),
        SubsetLaw(1 << 32, 1, HALF),
        SubsetLaw(3, 1, F(1, 3)),
        SubsetLaw(3, 1, F(-1, 4)),
        SubsetLaw(3, 1, F(5, 4)),
    ],
)
def test_what_is_no_law_is_refused(law: SubsetLaw, scripted) -> None:
    with pytest.raises(ValueError, match=r"set|chance"):
        respond(law, np.zeros(1, dtype=np.int64), None, scripted())
    with pytest.raises(ValueError, match=r"set|chance"):
        prepare_responses(law)


@pytest.mark.parametrize("bad", [-2, 5, 1 << 62])
@pytest.mark.parametrize("labels", [5])
def test_codes_that_are_no_label_are_refused_without_their_value(
    bad: int, labels: int, scripted
) -> None:
    codes = np.array([0, bad, -1], dtype=np.int64)
    with pytest.raises(ValueError, match="is not the number of a label") as caught:
        respond(SubsetLaw(labels, 1, HALF), codes, None, scripted())
    assert str(bad) not in str(caught.value)
