"""Answers of k-ary randomised response and of subset selection, exactly by their law.

The law (Wang et al. 2016, Ye and Barg 2018): with the chance ``keep`` the set holds the true
label, and size - 1 of the other labels; else ``size`` of the others; all such sets alike.

Three ways lead to it. Numbering labels from the truth on, around the circle, the law of the set
is the same for every truth: where there are few sets, its number is one draw of a finite law.
With ``size`` 1 and many labels: a coin, and a uniform label of the others. Else: the coin, and
Floyd's algorithm (Bentley and Floyd 1987) for the others. With n others it takes the steps
j = n - m, ..., n - 1 for m of them: t uniform on 0, ..., j joins the set, or j if t is in it. The
steps for m - 1 are the last ones of those for m: sets that hold the truth leave out the first.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.kernel.chapters.many_draws.inversion import Int64s
from dprelease.kernel.chapters.many_draws.uniforms import (
    CHANCE_BITS,
    Bools,
    draw_below,
    draw_coins,
    draw_integers_below,
)
from dprelease.kernel.chapters.record_tables.finite import FiniteTable, build_finite
from dprelease.kernel.core.entropy import Entropy
from dprelease.model.record_tables import SubsetLaw

Labels = npt.NDArray[Any]

_CHUNK = 1 << 16
_CHUNK_CELLS = 1 << 20
_NARROW = (1 << 16) - 1  # so many labels are numbered by 16 bits
_MOST_LABELS = (1 << 32) - 1
_FEW_SETS = 1 << 11
_FEW_ENTRIES = 1 << 19


def respond_subset(law: SubsetLaw, codes: Int64s, entropy: Entropy) -> Labels:
    """Draw the noisy sets of a column: (n, size) label numbers, uint16 or uint32, each row rising.

    Raises ValueError for a law that is none, and for codes that are neither -1 nor a label's.
    """
    check_subset(law)
    if codes.size and not (codes.min() >= -1 and codes.max() < law.labels):
        raise ValueError("a code is not the number of a label")
    answers = np.empty((codes.size, law.size), dtype=_choose_dtype(law))
    chunk = max(1, min(_CHUNK, _CHUNK_CELLS // law.size))
    for start in range(0, codes.size, chunk):
        truth = codes[start : start + chunk]
        missing = np.flatnonzero(truth < 0)
        if missing.size:  # a uniform label for each that has none
            truth = truth.copy()
            truth[missing] = draw_integers_below(law.labels, missing.size, entropy)
        answers[start : start + chunk] = _draw(law, truth, entropy)
    return answers


def check_subset(law: SubsetLaw) -> None:
    """Raise ValueError for a law that can't be."""
    if not 1 <= law.size <= law.labels <= _MOST_LABELS:
        raise ValueError("a set is not empty and holds no more than all labels")
    if not 0 <= law.keep <= 1 or (law.keep * (1 << CHANCE_BITS)).denominator != 1:
        raise ValueError("the chance of the truth is a multiple of 2^-64 between 0 and 1")
    if law.size == law.labels and law.keep != 1:
        raise ValueError("a set of all labels always holds the truth")


def prepare_subset(law: SubsetLaw) -> None:
    """Build the tables of a law before there is anything to answer."""
    check_subset(law)
    if is_small(law):
        build_set_law(law)
        if law.size > 1:
            expand_sets(law.labels, law.size)


def _choose_dtype(law: SubsetLaw) -> npt.DTypeLike:
    return np.uint16 if law.labels <= _NARROW else np.uint32


def _draw(law: SubsetLaw, truth: Int64s, entropy: Entropy) -> Labels:
    """Draw the sets of one chunk; every truth is a label."""
    if is_small(law):
        number = build_set_law(law).draw(truth.size, entropy).astype(np.int64)
        if law.size == 1:
            label = truth + number
            label -= law.labels * (label >= law.labels)
            return label[:, None]
        rows: Labels = expand_sets(law.labels, law.size).take(number * law.labels + truth, axis=0)
        return rows
    truthful = draw_coins(law.keep, truth.size, entropy)
    if law.size == 1:
        return draw_label(law.labels, truthful, truth, entropy)
    return draw_set(law, truthful, truth, entropy)


def is_small(law: SubsetLaw) -> bool:
    """Tell whether all sets are few enough for tables."""
    if law.labels > _FEW_SETS:
        return False
    sets = comb(law.labels, law.size)
    return law.size == 1 or (sets <= _FEW_SETS and sets * law.labels * law.size <= _FEW_ENTRIES)


@lru_cache(maxsize=64)
def build_set_law(law: SubsetLaw) -> FiniteTable:
    """Build the law of a set's number, in the order of ``combinations``; label 0 is the truth."""
    others = law.labels - 1
    within, without = comb(others, law.size - 1), comb(others, law.size)
    absent = [(1 - law.keep) / without] * without if without else []
    probabilities: list[Fraction] = [law.keep / within] * within + absent  # those with 0 are first
    return build_finite(probabilities)


@lru_cache(maxsize=16)
def expand_sets(labels: int, size: int) -> Labels:
    """Row number * labels + truth: the set of this number, its labels counted from the truth on."""
    numbered = np.array(list(combinations(range(labels), size)), dtype=np.uint16)
    truths = np.arange(labels, dtype=np.uint16)
    turned = (numbered[:, None, :] + truths[None, :, None]) % np.uint16(labels)
    rows: Labels = np.sort(turned, axis=2).reshape(-1, size)
    return rows


def draw_label(labels: int, truthful: Bools, truth: Int64s, entropy: Entropy) -> Labels:
    """Keep the truth, or draw a uniform one of the other labels: shape (n, 1)."""
    answer = truth.copy()
    places = np.flatnonzero(~truthful)
    if places.size:
        offset = draw_integers_below(labels - 1, places.size, entropy)
        answer[places] = offset + (offset >= truth[places])
    return answer[:, None]


def draw_set(law: SubsetLaw, truthful: Bools, truth: Int64s, entropy: Entropy) -> Labels:
    """Draw sets by Floyd's algorithm: one column of all rows after the other."""
    others, size = law.labels - 1, law.size
    kind = _choose_dtype(law)
    dtype = np.dtype(kind).type
    picks = np.empty((size, truth.size), dtype=kind)
    picks[0] = others  # no number of an other label: it stands for the truth
    places = np.flatnonzero(~truthful)
    if places.size:
        picks[0, places] = draw_integers_below(others - size + 1, places.size, entropy)
    for step in range(1, size):
        last = others - size + step
        fresh = draw_below(last + 1, truth.size, entropy).astype(kind)
        repeats = fresh == picks[0]
        for before in range(1, step):
            repeats |= fresh == picks[before]
        picks[step] = np.maximum(fresh, repeats * dtype(last))  # the last is above all before it
    own = truth.astype(kind)
    first = np.where(truthful, own, picks[0] + (picks[0] >= own))
    picks[1:] += picks[1:] >= own
    picks[0] = first
    # NumPy sorts short rows of 32 bits several times as fast as those of 16.
    rows: Labels = np.sort(picks.T.astype(np.uint32), axis=1).astype(kind, copy=False)
    return rows
