"""Exact integers in, noisy integers out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dprelease.model import (
    ColumnType,
    ExactTable,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Query,
    Sensitivity,
    Step,
)
from dprelease.privatize import privatize

GROUP = Group("g", ColumnType.STRING, ("a", "b", "c"), keys=("a", "b", "c"))


def step(noise: Noise, transform: tuple[tuple[int, ...], ...] = ((1,),)) -> Step:
    return Step(
        Query("q", "count", "t", (GROUP,)),
        (Measure(MeasureKind.RECORDS),) * len(transform[0]),
        transform,
        (Fraction(1),) * len(transform),
        Sensitivity(1, 1, 1),
        noise,
        Loss(Fraction(1)),
    )


NONE = Noise(NoiseFamily.NONE, Fraction(0))
LAPLACE = Noise(NoiseFamily.LAPLACE, Fraction(50))


def test_the_transform_is_applied_in_integers_of_any_size(entropy: Any) -> None:
    exact = ExactTable([[1, 2, 3], [2**70, 0, -(2**70)]])
    found = privatize(exact, [step(NONE, ((-5, 1), (7, -1)))], [(0, 1)], entropy)
    assert found == {
        "q": (
            (2**70 - 5, -10, -(2**70) - 15),
            (7 - 2**70, 14, 21 + 2**70),
        )
    }


def test_every_cell_and_every_released_integer_gets_its_own_draw(entropy: Any) -> None:
    exact = ExactTable([[0] * 3])
    twice = step(LAPLACE, ((1,), (1,)))
    found = privatize(
        exact,
        [twice, replace(twice, query=Query("p", "count", "t", (GROUP,)))],
        [(0,), (0,)],
        entropy,
    )
    draws = [value for rows in found.values() for row in rows for value in row]
    assert len(draws) == 12
    assert len(set(draws)) > 9


def test_the_same_bytes_give_the_same_noise_and_other_bytes_other_noise() -> None:
    class Constant:
        def __init__(self, seed: bytes) -> None:
            self.seed, self.reads = seed, 0

        def read(self, size: int) -> bytes:
            import hashlib

            self.reads += 1
            return hashlib.shake_256(self.seed + bytes([self.reads % 256])).digest(size)

    exact = ExactTable([[0] * 3])
    first, second, other = (
        privatize(exact, [step(LAPLACE)], [(0,)], Constant(seed)) for seed in (b"a", b"a", b"b")
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("measures", [[[1, 2]], [[1, 2, 3, 4]]])
def test_a_table_of_another_size_stops_the_release(measures: list[list[int]], entropy: Any) -> None:
    with pytest.raises(ValueError, match="cell"):
        privatize(ExactTable(measures), [step(LAPLACE)], [(0,)], entropy)


def test_exact_tables_show_nothing() -> None:
    import pickle

    table = ExactTable([[123456]])
    assert "123456" not in repr(table)
    with pytest.raises(TypeError):
        pickle.dumps(table)
