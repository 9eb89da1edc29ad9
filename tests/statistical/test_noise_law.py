"""One contract for every sampler: draws follow the exact law, and wrong laws are caught.

Two chi-square statistics on a deterministic stream: over bins of the value (all integers where the
law is narrow, about 100 quantile bins where it is wide, both tails open), and over the position of
the magnitude inside blocks of a power of two, which sees the low digits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from drawn_laws import cut_laplace, gaussian, judge_counts, laplace, staircase
from hashed_bytes import Hashed
from scipy.stats import chi2

from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.chapters.many_draws.vectorized import draw_lanes
from dprelease.kernel.core.sample import draw_discrete_gaussian, draw_discrete_laplace
from dprelease.model import Noise, NoiseFamily

CAUGHT = 1e-9
PASSED = 1e-3


LAWS = [laplace(each) for each in ("1/3", "1", "7/3", "10", "700001/7", "1e9")]
LAWS += [gaussian(each) for each in ("1/4", "1", "25", "3000001/3", "1e14")]


def draw_scalar(noise: Noise, size: int, entropy: Hashed) -> np.ndarray:
    one = draw_discrete_laplace if noise.family is NoiseFamily.LAPLACE else draw_discrete_gaussian
    return np.array([one(noise.parameter, entropy) for _ in range(size)])


SAMPLERS = {"scalar": (draw_scalar, 5000), "lanes": (draw_lanes, 400_000)}


def exact_below(noise: Noise, edges: np.ndarray) -> np.ndarray:
    """P(X < edge): closed form, or sums of weights (continuous beyond sigma = 10^6)."""
    parameter = float(noise.parameter)
    if noise.family is NoiseFamily.LAPLACE:
        a = np.exp(-1 / parameter)
        far = np.where(edges > 0, edges, 1 - edges) / parameter
        upper = np.exp(-far) / (1 + a)  # P(X >= e) = P(X <= -e), and X < e is X <= e - 1
        return np.where(edges > 0, 1 - upper, upper)
    if parameter > 1e12:
        from scipy.special import ndtr

        return ndtr((edges - 0.5) / parameter**0.5)
    reach = int(12 * parameter**0.5) + 30
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k.astype(float) ** 2) / (2 * parameter))
    below = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return below[edges + reach]


def value_edges(noise: Noise, size: int) -> np.ndarray:
    """Edges of bins that each expect 15 draws or more."""
    parameter = float(noise.parameter)
    spread = parameter if noise.family is NoiseFamily.LAPLACE else parameter**0.5
    grid = np.unique(np.rint(np.linspace(-9, 9, 161) * max(spread, 1)).astype(np.int64))
    below = exact_below(noise, grid)
    last = 0.0
    edges = []
    for edge, share in zip(grid, below, strict=True):
        if (share - last) * size >= 15 and (1 - share) * size >= 15:
            edges.append(int(edge))
            last = share
    return np.array(edges, dtype=np.int64)


def judge_values(noise: Noise, drawn: np.ndarray) -> float:
    edges = value_edges(noise, drawn.size)
    counts = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=edges.size + 1)
    below = np.concatenate([[0.0], exact_below(noise, edges), [1.0]])
    return judge_counts(counts, np.diff(below))


def judge_digits(noise: Noise, drawn: np.ndarray, block: int, parts: int) -> float:
    """Position of X >= 0 within blocks, in equal parts, against sums of the exact law."""
    drawn = drawn[drawn >= 0]
    counts = np.bincount(drawn % block // (block // parts), minlength=parts)
    spread = float(noise.parameter)
    spread = spread if noise.family is NoiseFamily.LAPLACE else spread**0.5
    starts = np.arange(0, int(40 * spread / block) + 2, dtype=np.int64) * block
    width = block // parts
    limit = int(11 * spread) if noise.family is NoiseFamily.GAUSSIAN else int(45 * spread)
    shares = []
    for part in range(parts):
        low = np.minimum(starts + part * width, limit)
        high = np.minimum(low + width, limit)
        shares.append((exact_below(noise, high) - exact_below(noise, low)).sum())
    return judge_counts(counts, np.array(shares) / sum(shares))


def blocks(noise: Noise) -> list[tuple[int, int]]:
    """Block lengths from a single digit up to a few times the spread."""
    spread = float(noise.parameter)
    spread = spread if noise.family is NoiseFamily.LAPLACE else spread**0.5
    if spread < 100 or spread > 1e6:
        return []
    return [(1 << bits, 16) for bits in (7, 9, 11, 12, 13) if 1 << bits < 3 * spread]


@pytest.mark.one_in(11)
@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_draws_follow_the_law(noise: Noise, name: str) -> None:
    draw, size = SAMPLERS[name]
    drawn = draw(noise, size, Hashed(f"{name} {noise}"))
    assert judge_values(noise, drawn) > PASSED
    for block, parts in blocks(noise):
        assert judge_digits(noise, drawn, block, parts) > PASSED


@pytest.mark.one_in(11)
@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_both_samplers_agree(noise: Noise) -> None:
    """Two-sample chi-square, with no formula in between."""
    small = draw_scalar(noise, 5000, Hashed(f"two {noise}"))
    large = draw_lanes(noise, 200_000, Hashed(f"two {noise}"))
    edges = value_edges(noise, 5000)
    few, many = (
        np.bincount(np.searchsorted(edges, each, side="right"), minlength=edges.size + 1)
        for each in (small, large)
    )
    ratio = (many.sum() / few.sum()) ** 0.5
    statistic = ((ratio * few - many / ratio) ** 2 / (few + many)).sum()
    assert chi2.sf(statistic, few.size - 1) > PASSED


def scale(factor: Fraction) -> Callable[[Noise, Hashed], np.ndarray]:
    def draw(noise: Noise, entropy: Hashed) -> np.ndarray:
        return draw_lanes(Noise(noise.family, noise.parameter * factor), 400_000, entropy)

    return draw


def shift(noise: Noise, entropy: Hashed) -> np.ndarray:
    return draw_lanes(noise, 400_000, entropy) + 1


def two_zeros(noise: Noise, entropy: Hashed) -> np.ndarray:
    """A fair sign on the magnitude, without rejecting negative zero."""
    drawn = draw_lanes(noise, 800_000, entropy)
    magnitude = np.concatenate([drawn[drawn >= 0], drawn[drawn == 0]])
    sign = np.frombuffer(entropy.read(magnitude.size), dtype=np.uint8) & 1
    return np.where(sign == 1, magnitude, -magnitude)


def tailless(noise: Noise, entropy: Hashed) -> np.ndarray:
    drawn = draw_lanes(noise, 400_000, entropy)
    limit = np.quantile(np.abs(drawn), 0.995)
    return drawn[np.abs(drawn) <= max(limit, 1)]


NARROW = [each for each in LAWS if each.parameter <= 25]
WRONG = [
    *((noise, scale(Fraction(13, 10)), "too wide") for noise in LAWS),
    *((noise, scale(Fraction(7, 10)), "too narrow") for noise in LAWS),
    *((noise, shift, "shifted by one") for noise in NARROW),
    *((noise, two_zeros, "two zeros") for noise in NARROW),
    *((noise, tailless, "no tail") for noise in LAWS if noise.parameter >= 1),
]


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("noise", "draw"), [(n, d) for n, d, _ in WRONG], ids=[f"{w}-{n}" for n, _, w in WRONG]
)
def test_a_wrong_law_is_caught(noise: Noise, draw: Callable[[Noise, Hashed], np.ndarray]) -> None:
    assert judge_values(noise, draw(noise, Hashed(f"wrong {noise}"))) < CAUGHT


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("noise", [laplace("1"), laplace("10"), gaussian("25")], ids=repr)
def test_wrong_laws_are_caught_in_both_samplers(noise: Noise, name: str) -> None:
    draw, size = SAMPLERS[name]
    wide = draw(Noise(noise.family, noise.parameter * 13 / 10), size, Hashed(f"{name} wide"))
    right = draw(noise, size, Hashed(f"{name} right"))
    assert judge_values(noise, wide) < 1e-4
    assert judge_values(noise, right + (1 if noise.parameter < 5 else 2)) < 1e-4


DIGITS = [laplace("700001/7"), gaussian("836353/3")]  # 12 and 4 fine bits


def judge_all(noise: Noise, drawn: np.ndarray) -> float:
    fine = (1 << 12) if noise.family is NoiseFamily.LAPLACE else 1 << 4
    found = [judge_values(noise, drawn), judge_digits(noise, drawn, fine, 2)]
    return min(*found, *(judge_digits(noise, drawn, block, 16) for block in (fine, 16, 128)))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("noise", DIGITS, ids=repr)
@pytest.mark.parametrize("wrong", ["no thinning", "swapped digit", "carried digit", "stuck bit"])
def test_a_wrong_digit_is_caught(noise: Noise, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decomposition of wide laws with one thing wrong each."""
    if wrong == "no thinning":
        monkeypatch.setattr(
            "dprelease.kernel.chapters.many_draws.vectorized.keep_lanes",
            lambda low, high, exponent, entropy: np.ones(low.size, dtype=bool),
        )
    drawn = draw_lanes(noise, 4_000_000, Hashed(f"digit {noise}"))
    fine = (1 << 12) if noise.family is NoiseFamily.LAPLACE else 1 << 4
    if wrong == "swapped digit":
        drawn = drawn ^ (fine // 2 * (drawn % 16 == 0))
        drawn = np.where(drawn >= 0, drawn + fine // 8 * (drawn % fine < fine // 8), drawn)
    elif wrong == "carried digit":
        drawn = np.where(drawn % fine >= fine - fine // 8, drawn - fine + 1, drawn)
    elif wrong == "stuck bit":
        drawn = drawn & ~8
    assert judge_all(noise, drawn) < CAUGHT


@pytest.mark.thorough
def test_the_right_digits_pass_the_same_judges() -> None:
    for noise in DIGITS:
        assert judge_all(noise, draw_lanes(noise, 4_000_000, Hashed(f"digit {noise}"))) > PASSED


# --- noise that is cut, and staircases: each integer by itself ------------------------------------

CUT = [cut_laplace("1", 3), cut_laplace("7/2", 4), cut_laplace("6", 15)]
STAIRS = [
    staircase("25", 100, 20), staircase("1/2", 2, 1), staircase("6", 3, 1), staircase("9", 5, 5),
    staircase("50", 7, 3), staircase("25/2", 100, 6),
]  # fmt: skip
FAR = 3000


def judge_integers(noise: Noise, drawn: np.ndarray) -> float:
    """P-value of all integers up to ``FAR``, straight from the definition of the law."""
    k = np.abs(np.arange(-FAR, FAR + 1))
    weights = np.where(k <= noise.reach, np.exp(-k / float(noise.parameter)), 0)
    if noise.family is NoiseFamily.STAIRCASE:
        levels = (k + noise.stair - noise.first) // noise.stair
        weights = np.exp(-float(noise.stair / noise.parameter)) ** levels.astype(float)
    counts = np.bincount(np.clip(drawn, -FAR, FAR) + FAR, minlength=2 * FAR + 1)
    return judge_counts(counts, weights / weights.sum(), 15)


@pytest.mark.parametrize("noise", [*CUT, *STAIRS], ids=repr)
def test_integers_follow_the_law(noise: Noise) -> None:
    size = 20_000 if noise in CUT else 200_000
    prepare_sample(noise, size)
    many = sample(noise, size, Hashed(f"many {noise}"))
    few = np.concatenate([sample(noise, 50, Hashed(f"few {at}")) for at in range(40)])
    assert (many.size, few.size) == (size, 2000)
    assert min(judge_integers(noise, many), judge_integers(noise, few)) > PASSED


NINE = staircase("9", 5, 3)
CHANGES: dict[str, Callable[[Noise, np.ndarray], np.ndarray]] = {
    "clamped": lambda noise, drawn: np.clip(drawn, -noise.reach, noise.reach),
    "stopped before": lambda noise, drawn: drawn[abs(drawn) < noise.reach],
    "gone on": lambda noise, drawn: drawn[abs(drawn) <= noise.reach + 1],
    "shifted": lambda noise, drawn: drawn + 1,
    "two zeros": lambda noise, drawn: np.concatenate([drawn, drawn[drawn == 0]]),
    "one sign": lambda noise, drawn: np.where(drawn < -3, -drawn, drawn),
    "another law": lambda noise, drawn: drawn,
}


@pytest.mark.parametrize(
    ("noise", "change", "other"),
    [
        *(
            (noise, change, Noise(NoiseFamily.LAPLACE, noise.parameter))
            for noise in CUT
            for change in ("clamped", "stopped before", "gone on")
        ),
        *((NINE, change, NINE) for change in ("shifted", "two zeros", "one sign")),
        *(
            (NINE, "another law", staircase(*law))
            for law in (("10", 5, 3), ("9", 6, 3), ("9", 5, 2))
        ),
    ],
    ids=str,
)
def test_wrong_integers_are_caught(noise: Noise, change: str, other: Noise) -> None:
    drawn = sample(other, 40_000 if noise in CUT else 200_000, Hashed("wrong"))
    assert judge_integers(noise, CHANGES[change](noise, drawn)) < CAUGHT
