"""Uniform integers and coins: their laws by walking through all words, and what ties do."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from dprelease.kernel.chapters.many_draws.uniforms import (
    compare_digits,
    draw_coins,
    draw_integers_below,
    draw_shares,
    propose,
)
from dprelease.kernel.core.entropy import EntropyError

ALL16 = np.arange(1 << 16, dtype="<u2").tobytes()


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 255, 256, 1000, 4095, 4096, 50_001, 65_535])
def test_each_value_has_equally_many_words(bound: int, scripted) -> None:
    values, again = propose(bound, 16, 1 << 16, scripted(ALL16))
    counts = np.bincount(np.delete(values, again), minlength=bound)
    assert counts.tolist() == [(1 << 16) // bound] * bound
    assert values.max(initial=0) < bound


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("bound", [3, 1000, 65_537, 100_003, (1 << 28) - 57])
def test_wide_words_change_their_value_where_they_should(bits: int, bound: int, scripted) -> None:
    """Words next to every kind of border, against the definitions in plain integers."""
    whole, rest = 1 << bits, (1 << bits) % bound
    near = [v * whole // bound for v in (0, 1, 2, bound // 2, bound - 1, bound)]
    near += [0, rest, whole - rest, whole - 1, whole // 2]
    drawn = sorted(
        {max(0, min(whole - 1, each + step)) for each in near for step in (-2, -1, 0, 1, 2)}
    )
    answer = np.array(drawn, dtype=f"<u{bits // 8}").tobytes()
    values, again = propose(bound, bits, len(drawn), scripted(answer))
    for lane, word in enumerate(drawn):
        if bits == 64:
            assert (lane in again) == (word >= whole - rest)
            assert values[lane] == word % bound
        else:
            assert (lane in again) == (word * bound % whole < rest)
            assert values[lane] == word * bound // whole


def test_only_rejected_lanes_are_drawn_again_as_often_as_it_takes(scripted) -> None:
    """Bound 3 rejects the word 0 alone: 2^16 mod 3 = 1."""
    first = np.array([0, 1, 0, 65_535, 30_000], dtype="<u2").tobytes()
    second = np.array([65_535, 0], dtype="<u2").tobytes()
    third = np.array([22_000], dtype="<u2").tobytes()
    entropy = scripted(first, second, third)
    assert draw_integers_below(3, 5, entropy).tolist() == [2, 0, 1, 2, 1]
    assert entropy.answers == []


@pytest.mark.parametrize(
    ("bound", "item"),
    [(2, 2), (4096, 2), (4097, 4), (1 << 28, 4), ((1 << 28) + 1, 8), ((1 << 63) - 1, 8)],
)
def test_words_are_no_wider_than_it_takes(bound: int, item: int, scripted) -> None:
    ones = b"\xff" * item
    entropy = scripted(ones, b"\x77" * item)
    drawn = int(draw_integers_below(bound, 1, entropy)[0])
    assert 0 <= drawn < bound
    if item < 8:  # the highest word is kept, and gives the highest value
        assert drawn == bound - 1


def test_uniforms_without_a_choice_read_nothing(scripted) -> None:
    assert draw_integers_below(1, 3, scripted()).tolist() == [0, 0, 0]
    assert draw_integers_below(7, 0, scripted(b"")).size == 0
    assert draw_coins(F(1), 3, scripted()).all()
    assert not draw_coins(F(0), 3, scripted()).any()


@pytest.mark.parametrize("bound", [0, -1, 1 << 63])
def test_bounds_that_cannot_be(bound: int, scripted) -> None:
    with pytest.raises(ValueError, match="bound"):
        draw_integers_below(bound, 1, scripted())
    with pytest.raises(ValueError, match="whole"):
        draw_shares(np.zeros(1, dtype=np.int64), bound, scripted())


def test_uniforms_near_63_bits(hashed) -> None:
    bound = (1 << 62) + 12_345  # nearly half of the words are rejected by a careless bound
    drawn = draw_integers_below(bound, 20_000, hashed("63 bits"))
    assert drawn.min() >= 0
    assert drawn.max() < bound
    counts = np.bincount(drawn // (bound // 8 + 1), minlength=8)
    assert ((counts - 2500) ** 2 / 2500).sum() < 50  # 7 degrees: one in 10^8


@pytest.mark.parametrize("top", [1, 2, 777, 40_000, 65_535])
def test_a_coin_of_16_bits_by_all_its_words(top: int, scripted) -> None:
    """No rest: the word that agrees is decided without more."""
    assert draw_coins(F(top, 1 << 16), 1 << 16, scripted(ALL16)).sum() == top


@pytest.mark.parametrize("top", [0, 5, 65_535])
def test_a_coin_of_64_bits_asks_on_a_tie_alone(top: int, scripted) -> None:
    rest = 0x1234_5678_9ABC
    probability = F(top << 48 | rest, 1 << 64)
    more = [0, rest - 1, rest, rest + 1, (1 << 48) - 1]
    following = np.array([each << 16 | 0xFFFF for each in more], dtype="<u8").tobytes()
    first = np.array([top] * 5 + [max(top - 1, 0) if top else 9], dtype="<u2").tobytes()
    entropy = scripted(first, following)
    found = draw_coins(probability, 6, entropy)
    assert found.tolist() == [True, True, False, False, False, top > 0]
    assert entropy.answers == []


@pytest.mark.parametrize("bad", [F(-1, 2), F(3, 2), F(1, 3), F(1, 1 << 65)])
def test_a_coin_of_another_chance_is_none(bad: F, scripted) -> None:
    with pytest.raises(ValueError, match="2\\^-64"):
        draw_coins(bad, 1, scripted())


@pytest.mark.parametrize(
    ("share", "whole"),
    [
        (0, 1),
        (0, 7),
        (1, 2),
        (1, 3),
        (2, 3),
        (6, 7),
        (99_999, 100_000),
        ((1 << 47) - 2, (1 << 47) - 1),
    ],
)
def test_one_round_of_a_fraction_by_all_its_words(share: int, whole: int, scripted) -> None:
    """What is decided, and what is left to decide, add up to share/whole."""
    lanes = np.full(1 << 16, share, dtype=np.uint64)
    found, left = compare_digits(lanes, np.uint64(whole), scripted(ALL16))
    assert not (found & (left > 0)).any()
    chances = int(found.sum()) + F(int(left.sum()), whole)
    assert chances / (1 << 16) == F(share, whole)
    assert left.max() < whole


def test_fractions_are_each_its_own_lanes(scripted) -> None:
    """1/3 = 0.0101... in bits: words of 0x5555 leave it open, round after round."""
    share = np.array([1, 1, 1, 0, 2], dtype=np.int64)
    first = np.array([0x5555, 0x5554, 0x5555, 0, 0xAAAA], dtype="<u2").tobytes()
    second = np.array([0x5555, 0x5556, 0xAAA9], dtype="<u2").tobytes()
    third = np.array([0x5554], dtype="<u2").tobytes()
    entropy = scripted(first, second, third)
    assert draw_shares(share, 3, entropy).tolist() == [True, True, False, False, True]
    assert entropy.answers == []


@pytest.mark.parametrize("whole", [1 << 47, (1 << 62) + 1, (1 << 63) - 1])
def test_fractions_of_a_great_whole(whole: int, hashed) -> None:
    share = np.array([0, whole // 4, whole - 1], dtype=np.int64).repeat(20_000)
    found = draw_shares(share, whole, hashed(f"whole {whole}")).reshape(3, -1).sum(axis=1)
    assert found[0] == 0
    assert abs(found[1] - 5000) < 6 * 61.3
    assert found[2] == 20_000


@pytest.mark.parametrize("whole", [3, (1 << 62) + 1])
def test_a_short_read_is_no_draw(whole: int) -> None:
    class Short:
        def read(self, size: int) -> bytes:
            return b"\x00" * (size - 1)

    for draw in (
        lambda: draw_integers_below(whole, 5, Short()),
        lambda: draw_coins(F(1, 2), 5, Short()),
        lambda: draw_shares(np.ones(5, dtype=np.int64), whole, Short()),
    ):
        with pytest.raises(EntropyError):
            draw()
