"""Noise that is drawn together: its parts exactly, and its draws by their law, few and many."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, exp

import numpy as np
import pytest
import strategy_plans as plans
from drawn_laws import judge_counts

from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.kernel.chapters.many_draws.uniforms import draw_below_each
from dprelease.kernel.chapters.many_draws.vectorized import draw_lanes
from dprelease.kernel.chapters.together import cube_draws
from dprelease.kernel.distributions.laws import compute_noise_variance
from dprelease.kernel.distributions.tails import CubeStart, list_eulerian_numbers
from dprelease.model import Noise, NoiseFamily

Integers = np.ndarray
CAUGHT, PASSED = 1e-9, 1e-3
REACH = 40


def law(scale: str, integers: int) -> Noise:
    return Noise(NoiseFamily.CUBE, Fraction(scale), integers=integers)


LAWS = [law("1", 1), law("1", 2), law("1/3", 2), law("3/2", 3), law("2", 2)]


# --- the parts of a reach, exactly ----------------------------------------------------------------


@pytest.mark.parametrize("integers", range(1, 9))
def test_a_start_and_geometric_variables_add_up_to_the_reach(integers: int) -> None:
    """As power series: the numbers of points of all cubes, (2r+1)^D, come out of the parts."""
    numbers = list_eulerian_numbers(integers)
    assert len(numbers) == integers + 1
    assert min(numbers) > 0
    for reach in range(3 * integers):
        ways = sum(
            number * comb(reach - start + integers, integers)
            for start, number in enumerate(numbers)
            if start <= reach
        )
        assert ways == (2 * reach + 1) ** integers


@pytest.mark.parametrize("scale", ["1/4", "1", "17/3", "1000"])
@pytest.mark.parametrize("integers", [1, 2, 5, 40])
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_chances_of_the_start_are_enclosed(scale: str, integers: int, bits: int) -> None:
    found = CubeStart(Fraction(scale), integers).list_survivals(bits)
    rate, numbers = float(1 / Fraction(scale)), list_eulerian_numbers(integers)
    weights = [number * exp(-place * rate) for place, number in enumerate(numbers)]
    assert found[-1].high <= 1
    for place, enclosure in enumerate(found, start=1):
        share = sum(weights[place:]) / sum(weights)
        assert 0 <= enclosure.low <= enclosure.high <= 1 << bits
        assert enclosure.high - enclosure.low <= 1
        assert abs(enclosure.low / (1 << bits) - share) <= 1e-12 + 2 / (1 << bits)


def test_codes_of_a_start_are_undone() -> None:
    """The table gives 0, -1, 1, -2, 2, ... for 0, 1, 2, 3, 4, ..."""
    codes = np.array([0, -1, 1, -2, 2, -3], dtype=np.int64)
    assert cube_draws.undo_code(codes).tolist() == list(range(6))


# --- draws ----------------------------------------------------------------------------------------


def draw_few(noise: Noise, cells: int, entropy: object) -> Integers:
    return cube_draws.draw_cubes(noise, cells * noise.integers, entropy, few=True)


def draw_many(noise: Noise, cells: int, entropy: object) -> Integers:
    return cube_draws.draw_cubes(noise, cells * noise.integers, entropy, few=False)


SAMPLERS: dict[str, tuple[Callable[[Noise, int, object], Integers], int]] = {
    "few": (draw_few, 3000),
    "many": (draw_many, 200_000),
}


def judge(noise: Noise, drawn: Integers) -> float:
    """P-value of cells; those that lie further out than the table count as at its edge."""
    places = np.arange(-REACH, REACH + 1)
    axes = np.meshgrid(*[np.abs(places)] * noise.integers, indexing="ij")
    weights = np.exp(-np.maximum.reduce(axes) / float(noise.parameter))
    cells = np.clip(drawn.reshape(-1, noise.integers).astype(np.int64), -REACH, REACH) + REACH
    counts = np.bincount(
        np.ravel_multi_index(tuple(cells.T), weights.shape), minlength=weights.size
    )
    return judge_counts(counts, weights.ravel() / weights.sum())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_draws_follow_the_law(noise: Noise, name: str, hashed) -> None:
    draw, cells = SAMPLERS[name]
    drawn = draw(noise, cells, hashed(f"cube {noise} {name}"))
    assert drawn.size == cells * noise.integers
    assert judge(noise, drawn) > PASSED


def draw_wrongly(wrong: str, noise: Noise, cells: int, entropy: object) -> Integers:
    """Cells of laws that are near by, but not the noise's."""
    size = noise.integers
    laplace = Noise(NoiseFamily.LAPLACE, noise.parameter)
    if wrong == "independent integers":
        return draw_lanes(laplace, cells * size, entropy)
    if wrong == "shells without their size":  # the reach of a single integer
        reach = np.repeat(np.abs(draw_lanes(laplace, cells, entropy)), size)
        return draw_below_each(2 * reach + 1, entropy) - reach
    drawn = draw_many(noise, cells, entropy).reshape(cells, size)
    if wrong == "one geometric variable less":
        other = draw_many(law(str(noise.parameter), size - 1), cells, entropy)
        reach = np.repeat(np.abs(other.reshape(cells, size - 1)).max(axis=1), size)
        return draw_below_each(2 * reach + 1, entropy) - reach
    if wrong == "one sign":
        drawn = np.where(drawn < 0, -drawn, drawn)
    elif wrong == "other partners":
        drawn = np.column_stack([drawn[:, 0], np.roll(drawn[:, 1], 1)])
    return drawn.reshape(-1) if wrong != "unequal steps" else (drawn * [1, 2]).reshape(-1)


@pytest.mark.parametrize(
    "wrong",
    [
        "independent integers",
        "shells without their size",
        "one geometric variable less",
        "one sign",
        "other partners",
        "unequal steps",
    ],
)
def test_a_wrong_law_is_caught(wrong: str, hashed) -> None:
    noise = law("2", 2)
    assert judge(noise, draw_wrongly(wrong, noise, 40_000, hashed(f"wrong {wrong}"))) < CAUGHT


@pytest.mark.one_in(2)
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("integers", [11, 40])
def test_many_integers_of_a_cell_have_their_moments(integers: int, few: bool, hashed) -> None:
    """The reach of the cells, and the square of an integer, by sums of the exact weights."""
    noise, cells = law("1", integers), 600 if few else 40_000
    drawn = cube_draws.draw_cubes(noise, cells * integers, hashed(f"{integers} {few}"), few=few)
    drawn = drawn.reshape(cells, integers).astype(float)
    largest = np.arange(0, 40 * integers, dtype=float)
    inner = np.where(largest > 0, 2 * largest - 1, 0)
    # shells, each with all its points
    logs = integers * np.log(2 * largest + 1) - largest
    shells = np.exp(logs - logs.max()) * (1 - (inner / (2 * largest + 1)) ** integers)
    shells /= shells.sum()
    mean = (shells * largest).sum()
    deviation = ((shells * largest**2).sum() - mean**2) ** 0.5
    assert abs(np.abs(drawn).max(axis=1).mean() - mean) < 5 * deviation / cells**0.5
    squares = (drawn**2).mean(axis=1)
    expected = compute_noise_variance(noise)
    assert abs(squares.mean() - expected) < 5 * squares.std() / cells**0.5


def test_variances_are_those_of_the_law() -> None:
    """Against all points of the plane, and in general against the mixture of uniform laws."""
    for scale in (0.25, 1.0, 3.0):
        side = range(-int(60 * scale + 10), int(60 * scale + 10) + 1)
        weights = {(a, b): exp(-max(abs(a), abs(b)) / scale) for a, b in product(side, side)}
        whole = sum(weights.values())
        variance = sum(a * a * weight for (a, _), weight in weights.items()) / whole
        assert compute_noise_variance(law(str(Fraction(scale)), 2)) == pytest.approx(variance)
        product_mean = sum(a * b * weight for (a, b), weight in weights.items()) / whole
        assert abs(product_mean) < 1e-12  # uncorrelated
    assert compute_noise_variance(law("1", 2)) == pytest.approx(3.9028, abs=1e-4)
    assert compute_noise_variance(law("1", 11)) == pytest.approx(51.9167, abs=1e-4)
    assert compute_noise_variance(law("1", 101)) == pytest.approx(102 * 103 / 3, rel=1e-4)
    assert compute_noise_variance(law("7/2", 1)) == pytest.approx(
        compute_noise_variance(Noise(NoiseFamily.LAPLACE, Fraction(7, 2)))
    )
    assert compute_noise_variance(law("1/1000", 5)) == 0


def test_wide_cubes_are_drawn_in_python_integers(hashed) -> None:
    wide = law(str(1 << 70), 3)
    for few in (True, False):
        drawn = cube_draws.draw_cubes(wide, 600, hashed(f"wide {few}"), few=few)
        assert drawn.dtype == object
        spread = (sum(int(k) ** 2 for k in drawn) / 600) ** 0.5
        assert spread == pytest.approx((20 / 3) ** 0.5 * (1 << 70), rel=0.2)


def test_any_number_of_cells_is_drawn(hashed) -> None:
    noise = law("1", 3)
    for size in (0, 3, 99, 102, 3000):
        cube_draws.prepare_cubes(noise, size // 3)
        for few in (True, False):
            assert cube_draws.draw_cubes(noise, size, hashed(f"{size}"), few=few).size == size
    assert draw_many(law("1/1000", 4), 100, hashed("still")).tolist() == [0] * 400


@pytest.mark.parametrize(
    ("noise", "size"),
    [(law("0", 2), 4), (law("-1", 2), 4), (law("1", 0), 4), (law("1", 5000), 5000)],
)
def test_what_is_no_cube_is_refused(noise: Noise, size: int, hashed) -> None:
    with pytest.raises(ValueError, match="a cube has"):
        cube_draws.draw_cubes(noise, size, hashed("none"), few=True)


def test_a_cell_with_some_integers_only_is_refused(hashed) -> None:
    with pytest.raises(ValueError, match="drawn whole"):
        cube_draws.draw_cubes(law("1", 3), 4, hashed("none"), few=False)


@pytest.mark.parametrize("size", [4, 400])
def test_no_sampler_of_independent_integers_draws_a_cube(size: int, hashed) -> None:
    with pytest.raises(ValueError, match="not independent"):
        sample(law("1", 2), size, hashed("none"))


@pytest.mark.parametrize("cells", [3, 300])
def test_the_integers_of_each_cell_get_those_of_one_draw(cells: int, hashed) -> None:
    """Of rows of released integers, the same place in each is one cell."""
    (step,) = plans.plan_together("g").steps
    exact = [[1000 * row + cell for cell in range(cells)] for row in range(3)]
    noisy = cube_draws.add_joint_noise(exact, step, hashed("rows"))
    drawn = cube_draws.draw_cubes(step.noise, 3 * cells, hashed("rows"), few=3 * cells <= 100)
    for row, place in product(range(3), range(cells)):
        assert noisy[row][place] - exact[row][place] == drawn.reshape(cells, 3)[place, row]
    for wrong in (exact[:2], [*exact, exact[0]], [exact[0], exact[1], exact[2][1:]]):
        with pytest.raises(ValueError, match="an integer for each"):
            cube_draws.add_joint_noise(wrong, step, hashed("rows"))


# --- uniform integers below bounds of their own ---------------------------------------------------


def test_each_bound_has_all_its_integers_alike(hashed) -> None:
    bounds = np.tile(np.array([1, 2, 3, 7, 1000], dtype=np.int64), 20_000)
    drawn = draw_below_each(bounds, hashed("each"))
    assert ((drawn >= 0) & (drawn < bounds)).all()
    for bound in (2, 3, 7):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        assert judge_counts(counts, np.full(bound, 1 / bound)) > PASSED


def test_words_beyond_a_multiple_of_the_bound_are_drawn_again() -> None:
    """2^64 mod 3 is 1: the last word alone is not taken."""

    class Words:
        def __init__(self, *words: int) -> None:
            self.words = list(words)

        def read(self, size: int) -> bytes:
            taken, self.words = self.words[: size // 8], self.words[size // 8 :]
            return b"".join(word.to_bytes(8, "little") for word in taken)

    last = (1 << 64) - 1
    bounds = np.array([3, 3, 4], dtype=np.int64)
    assert draw_below_each(bounds, Words(last, last - 1, last, 7)).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="positive"):
        draw_below_each(np.array([0], dtype=np.int64), Words())
