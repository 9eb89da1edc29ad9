"""What holds for all answers of records: entropy, refusals, and Laplace on a column."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction as F

import numpy as np
import pytest

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.record_tables import record_draws
from dprelease.kernel.chapters.record_tables.record_draws import prepare_responses, respond
from dprelease.kernel.core.entropy import EntropyError
from dprelease.model import Grid, Noise, NoiseFamily
from dprelease.model.record_tables import LaplaceLaw, Law, SubsetLaw, Window, WindowLaw

GRID = Grid(F(1, 100), -5, 94)
HALF = F(1, 2)
WINDOWS = WindowLaw(Window(2, 1, F(3), F(4)), Window(7, 2, F(19, 3), F(2)), HALF)
LAWS: list[Law] = [
    SubsetLaw(95, 1, HALF),
    SubsetLaw(95, 2, HALF),
    SubsetLaw(95, 20, HALF),
    SubsetLaw(3000, 1, HALF),
    WINDOWS,
    LaplaceLaw(F(37, 5)),
    LaplaceLaw(F(10**9)),
]


def list_codes(size: int) -> np.ndarray:
    """Labels that are there, and values of the grid."""
    return np.arange(size, dtype=np.int64) * 7919 % 95


class Counting:
    """Notes how much is asked for at once; fails at one of the reads if told to."""

    def __init__(self, inner, short_at: int | None = None) -> None:
        self.inner, self.short_at = inner, short_at
        self.sizes: list[int] = []

    def read(self, size: int) -> bytes:
        self.sizes.append(size)
        data = self.inner.read(size)
        return data[:-1] if len(self.sizes) - 1 == self.short_at else data


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_nothing_is_kept_from_call_to_call(law: Law, hashed) -> None:
    """The same bytes give the same answers, whatever was drawn before; other bytes, others."""
    codes = list_codes(3000)
    first = respond(law, codes, GRID, hashed("same"))
    other = respond(law, codes, GRID, hashed("other"))
    again = respond(law, codes, GRID, hashed("same"))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_reads_are_large_but_not_too_large(law: Law, hashed) -> None:
    """Few calls of the kernel, each of at most 1 MB."""
    entropy = Counting(hashed("reads"))
    respond(law, list_codes(200_000), GRID, entropy)
    assert max(entropy.sizes) <= 1 << 20
    assert sum(entropy.sizes) < 200_000 * (60 if isinstance(law, SubsetLaw) else 14)
    assert len(entropy.sizes) < 400


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_short_read_anywhere_is_an_error(law: Law, hashed) -> None:
    codes = list_codes(2000)
    codes[::7] = -1 if isinstance(law, SubsetLaw) else 0
    counting = Counting(hashed("short"))
    respond(law, codes, GRID, counting)
    for place in range(len(counting.sizes)):
        if counting.sizes[place]:
            with pytest.raises(EntropyError):
                respond(law, codes, GRID, Counting(hashed("short"), place))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_preparing_draws_nothing_and_changes_nothing(law: Law, hashed) -> None:
    prepare_responses(law)
    drawn = respond(law, list_codes(500), GRID, hashed("prepared"))
    prepare_responses(law)
    assert (respond(law, list_codes(500), GRID, hashed("prepared")) == drawn).all()


@pytest.mark.parametrize("size", [0, 1, 100, 101, 70_000])
def test_laplace_is_the_noise_of_vectors_on_the_codes(size: int, hashed) -> None:
    codes = list_codes(size) - 5
    scale = F(700_001, 7)
    found = respond(LaplaceLaw(scale), codes, GRID, hashed("laplace"))
    noise = sample(Noise(NoiseFamily.LAPLACE, scale), size, hashed("laplace"))
    assert (found.dtype, found.shape) == (np.int64, (size,))
    assert (found == codes + noise).all()


@pytest.mark.parametrize("size", [0, 1, 200])
def test_laplace_that_might_leave_64_bits_is_refused_before_a_draw(size: int, scripted) -> None:
    codes = np.zeros(size, dtype=np.int64)
    with pytest.raises(OverflowError, match="64 bits"):
        respond(LaplaceLaw(F((1 << 55) + 1)), codes, GRID, scripted())
    with pytest.raises(OverflowError, match="64 bits"):
        respond(LaplaceLaw(F(1)), codes, Grid(F(1), 0, 1 << 62), scripted())


def test_the_widest_laplace_that_fits(hashed) -> None:
    """Scale and grid at their limits: nothing wraps."""
    top = (1 << 62) - 1
    codes = np.array([-top, top], dtype=np.int64).repeat(5000)
    found = respond(LaplaceLaw(F(1 << 55)), codes, Grid(F(1), -top, top), hashed("widest"))
    assert found.dtype == np.int64
    away = [abs(int(a) - int(b)) for a, b in zip(found, codes, strict=True)]
    assert max(away) < 30 << 55
    assert (1 << 55) * 0.9 < sum(away) / len(away) < (1 << 55) * 1.1


def test_a_draw_beyond_64_bits_is_an_error_not_a_wrapped_number(
    monkeypatch: pytest.MonkeyPatch, scripted
) -> None:
    far = np.array([1 << 70], dtype=object)
    monkeypatch.setattr(record_draws, "sample", lambda *_: far)
    with pytest.raises(OverflowError, match="64 bits"):
        respond(LaplaceLaw(F(1)), np.zeros(1, dtype=np.int64), GRID, scripted())


@pytest.mark.parametrize("bad", [-6, 95, -(1 << 63)])
def test_laplace_refuses_codes_outside_the_grid_without_their_value(bad: int, scripted) -> None:
    with pytest.raises(ValueError, match="outside the grid") as caught:
        respond(LaplaceLaw(F(1)), np.array([0, bad]), GRID, scripted())
    assert str(bad) not in str(caught.value)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_codes_are_a_vector_of_64_bit_integers(law: Law, scripted) -> None:
    for codes in (np.zeros((2, 1), dtype=np.int64), np.zeros(2), np.zeros(2, dtype=np.int32)):
        with pytest.raises(ValueError, match="64-bit integers"):
            respond(law, codes, GRID, scripted())


@pytest.mark.parametrize("law", [WINDOWS, LaplaceLaw(F(1))], ids=repr)
def test_a_numeric_law_needs_its_grid(law: Law, scripted) -> None:
    with pytest.raises(ValueError, match="needs a grid"):
        respond(law, np.zeros(1, dtype=np.int64), None, scripted())


FORK = """
import os
from fractions import Fraction as F
import numpy as np
from dprelease.model import Grid
from dprelease.model.record_tables import LaplaceLaw, SubsetLaw, Window, WindowLaw
from dprelease.kernel.core.entropy import SystemEntropy
from dprelease.kernel.chapters.record_tables.record_draws import respond
entropy, codes = SystemEntropy(), np.full(200, 3)
laws = [SubsetLaw(50, 1, F(1, 4)), SubsetLaw(50, 20, F(1, 2)), LaplaceLaw(F(10)),
        WindowLaw(Window(8, 3, F(3), F(1)))]
def draw():
    return [respond(law, codes, Grid(F(1), 0, 7), entropy).tobytes().hex() for law in laws]
draw()
for _ in range(2):
    child = os.fork()
    if child == 0:
        os.write(1, (" ".join(draw()) + "\\n").encode())
        os._exit(0)
    os.waitpid(child, 0)
os.write(1, (" ".join(draw()) + "\\n").encode())
"""


def test_forked_children_answer_differently() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    answers = done.stdout.split()
    assert len(answers) == 12
    assert len(set(answers)) == 12
