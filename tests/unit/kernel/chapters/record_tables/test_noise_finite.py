"""Tables of finite laws equal the exact inverse, at 16 bits, at 64 bits and beyond."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction as F
from itertools import accumulate
from math import lcm

import numpy as np
import pytest

from dprelease.kernel.chapters.record_tables.finite import MOST_OUTCOMES, build_finite

ALL16 = np.arange(1 << 16, dtype="<u2").tobytes()
TINY = F(1, 1 << 70)
LAWS = [
    [F(1, 2), F(1, 2)],
    [F(1, 3), F(0), F(2, 3)],
    [F(0), F(1, 7), F(3, 7), F(3, 7), F(0)],
    [F(1, 10)] * 10,
    [TINY, 1 - 2 * TINY, TINY],
    [F(2 * i + 1, 48 * 48) for i in range(48)],
    [F(1, 3), TINY, TINY, F(2, 3) - 2 * TINY],
]


def inverse(law: list[F], low: F, high: F) -> set[int]:
    """The outcomes of all U in [low, high), by the definition."""
    ends = [F(0), *accumulate(law)]
    return {i for i, p in enumerate(law) if p and ends[i] < high and ends[i + 1] > low}


@pytest.mark.parametrize("law", LAWS)
def test_the_guide_is_the_inverse_at_every_prefix(law: list[F]) -> None:
    guide = build_finite(law).guide.tolist()
    outcomes = [i for i, p in enumerate(law) if p]
    common = lcm(*(p.denominator for p in law))
    cuts = [int(cut * common) << 16 for cut in accumulate(law[i] for i in outcomes)][:-1]
    for prefix in range(1 << 16):
        first = bisect_right(cuts, prefix * common)
        last = bisect_left(cuts, (prefix + 1) * common)
        assert guide[prefix] == (outcomes[first] if first == last else -1)


@pytest.mark.parametrize("law", LAWS)
def test_lanes_that_16_bits_leave_open(law: list[F], scripted) -> None:
    """64 bits around every cut: the inverse, or 64 more bits where that leaves it open too."""
    table = build_finite(law)
    for cut in table.cuts:
        middle = (cut.numerator << 64) // cut.denominator
        for prefix in {max(0, min((1 << 64) - 1, middle + step)) for step in (-9, -1, 0, 1, 9)}:
            answers = [(prefix >> 48).to_bytes(2, "little")]
            if table.guide[prefix >> 48] < 0:
                answers.append((prefix << 16 & (1 << 64) - 1 | 0xFFFF).to_bytes(8, "little"))
            found = inverse(law, F(prefix, 1 << 64), F(prefix + 1, 1 << 64))
            if len(found) > 1:
                for more in (0, 1, 1 << 58, (1 << 63) + 5, (1 << 64) - 1):
                    wider = prefix << 64 | more
                    exact = inverse(law, F(wider, 1 << 128), F(wider + 1, 1 << 128))
                    if len(exact) == 1:
                        entropy = scripted(*answers, more.to_bytes(8, "little"))
                        assert table.draw(1, entropy).tolist() == list(exact)
                        assert entropy.answers == []
            else:
                entropy = scripted(*answers)
                assert table.draw(1, entropy).tolist() == list(found)
                assert entropy.answers == []


def test_a_tie_at_128_bits_draws_on(scripted) -> None:
    """1/3 is 0x5555... for ever."""
    table = build_finite([F(1, 3), F(2, 3)])
    five = b"\x55" * 8
    for last, outcome in ((b"\x54" * 8, 0), (b"\x56" * 8, 1)):
        entropy = scripted(b"\x55" * 2, five, five, five, last)
        assert table.draw(1, entropy).tolist() == [outcome]
        assert entropy.answers == []


def test_dyadic_laws_by_all_their_words(scripted) -> None:
    law = [F(3, 8), F(1, 16), F(0), F(1 << 15, 1 << 16), F(4096, 1 << 16)]
    drawn = build_finite(law).draw(1 << 16, scripted(ALL16))
    assert np.bincount(drawn, minlength=5).tolist() == [int(p * (1 << 16)) for p in law]
    assert drawn.dtype == np.int16


def test_a_law_without_a_choice_reads_nothing(scripted) -> None:
    assert build_finite([F(0), F(1)]).draw(4, scripted()).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "bad", [[], [F(1, 2)], [F(3, 2), F(-1, 2)], [F(1, MOST_OUTCOMES + 1)] * (MOST_OUTCOMES + 1)]
)
def test_what_is_no_finite_law(bad: list[F]) -> None:
    with pytest.raises(ValueError, match="finite law"):
        build_finite(bad)


def test_the_most_outcomes_there_can_be(hashed) -> None:
    table = build_finite([F(1, MOST_OUTCOMES)] * MOST_OUTCOMES)
    counts = np.bincount(table.draw(400_000, hashed("most")), minlength=MOST_OUTCOMES)
    assert counts.min() > 30
    assert counts.max() < 200
