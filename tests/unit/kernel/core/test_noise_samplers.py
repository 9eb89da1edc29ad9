"""Probabilities of the reference samplers by walking through all byte strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import mpmath
import pytest

from dprelease.kernel.core.entropy import Entropy
from dprelease.kernel.core.sample import (
    draw_bernoulli,
    draw_bernoulli_exp,
    draw_discrete_gaussian,
    draw_discrete_laplace,
    draw_uniform_below,
)


class Exhausted(Exception):
    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted = wanted


class Prefix:
    """Gives a fixed string of bytes, then says how many more were wanted."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int) -> bytes:
        if len(self.data) < size:
            raise Exhausted(size - len(self.data))
        head, self.data = self.data[:size], self.data[size:]
        return head


def walk(draw: Callable[[Entropy], int], depth: int) -> tuple[Counter, Fraction]:
    """Exact probabilities of what is decided within ``depth`` bytes, and the open remainder."""
    decided: Counter = Counter()
    pending = [b""]
    left = Fraction(0)
    while pending:
        data = pending.pop()
        share = Fraction(1, 256 ** len(data))
        try:
            decided[draw(Prefix(data))] += share
        except Exhausted as error:
            if len(data) + error.wanted > depth:
                left += share
            else:
                pending += [data + bytes(more) for more in product(range(256), repeat=error.wanted)]
    return decided, left


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 8, 100, 255, 256])
def test_uniform_is_uniform(bound: int) -> None:
    decided, left = walk(lambda entropy: draw_uniform_below(bound, entropy), 2)
    assert set(decided) == set(range(bound))
    assert set(decided.values()) == {(1 - left) / bound}
    assert left < Fraction(1, 4)


@pytest.mark.parametrize("text", ["0", "1/3", "1/2", "5/7", "1"])
def test_bernoulli_is_exact(text: str) -> None:
    probability = Fraction(text)
    decided, left = walk(lambda entropy: draw_bernoulli(probability, entropy), 2)
    assert decided[True] == probability * (1 - left)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("text", ["0", "1/2", "1/4", "1"])
def test_bernoulli_exp_encloses_the_exponential(text: str) -> None:
    exponent = Fraction(text)
    decided, left = walk(lambda entropy: draw_bernoulli_exp(exponent, entropy), 2)
    truth = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
    assert decided[True] <= truth <= decided[True] + left
    assert left < Fraction(1, 2)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", ["1/3", "2/3", "7/5", "3", "11/2"])
def test_bernoulli_exp_frequency(text: str, hashed) -> None:
    entropy = hashed(f"exp {text}")
    exponent, size = Fraction(text), 4000
    share = sum(draw_bernoulli_exp(exponent, entropy) for _ in range(size)) / size
    truth = float(mpmath.exp(-float(exponent)))
    assert abs(share - truth) < 4 * (truth * (1 - truth) / size) ** 0.5


def test_wide_parameters_are_plain_integers(hashed) -> None:
    laplace = draw_discrete_laplace(Fraction(10**40, 7), hashed("wide"))
    gaussian = draw_discrete_gaussian(Fraction(10**80, 7), hashed("wide"))
    assert 10**36 < abs(laplace) < 10**42
    assert 10**36 < abs(gaussian) < 10**42


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 50)])
def test_tiny_scales_give_zero(scale: Fraction, hashed) -> None:
    entropy = hashed("tiny")
    assert {draw_discrete_laplace(scale, entropy) for _ in range(20)} == {0}
    assert {draw_discrete_gaussian(scale, entropy) for _ in range(20)} == {0}


def test_arguments_outside_the_domain(hashed) -> None:
    entropy = hashed("bad")
    for call in (
        lambda: draw_uniform_below(0, entropy),
        lambda: draw_bernoulli(Fraction(3, 2), entropy),
        lambda: draw_bernoulli(Fraction(-1, 2), entropy),
        lambda: draw_bernoulli_exp(Fraction(-1), entropy),
        lambda: draw_discrete_laplace(Fraction(0), entropy),
        lambda: draw_discrete_gaussian(Fraction(-1), entropy),
    ):
        with pytest.raises(ValueError, match=r"at least|probability|positive"):
            call()
