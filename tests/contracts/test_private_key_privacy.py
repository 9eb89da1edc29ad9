"""Keys by threshold, then a name or a value for those selected: the whole release, by brute force.

A few rows in a few keys, all neighbours, every outcome: which keys are shown, each with its noisy
count and what was chosen for it. The laws are written down here from what a plan states (noise,
threshold, rates); the largest hockey-stick divergence is held against what the plan claims.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from builders import spec, with_step
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.model import Form, NoiseFamily, Step
from dprelease.planning.planner import make_plan
from dprelease.privacy.partition_selection import find_cut_noise

Law = npt.NDArray[np.float64]
Row = tuple[str, int]  # its key, and the number of what it holds; NOTHING is what a step leaves out
Unit = tuple[Row, ...]

NOTHING, HELD = 2, (0, 1, 2)
KEYS = "abc"
SELECTION = {"by": ["k"], "partition_selection": {"delta": 0.001}}
LABELS = {"column": "h", "where": "x > 0"}
STATISTICS: dict[str, dict[str, Any]] = {
    "permute and flip": {"statistic": "mode", **LABELS},
    "exponential": {"statistic": "mode", "mechanism": "exponential", **LABELS},
    "top_k": {"statistic": "top_k", "k": 2, "mechanism": "exponential", **LABELS},
    "best": {"statistic": "best", "candidates": [0, 5], "score": "x * candidate", "score_upper": 4},
    "median": {"statistic": "median", "column": "x"},
    "a high quantile": {"statistic": "quantile", "q": 0.9, "column": "x"},
}
LIMITS = {"row": (1, 1, 1), "two keys": (2, 2, 1), "two rows": (2, 1, 2)}
# What each of two rows adds to the scores of candidates, or to a histogram.
ADDED = {"best": ((4, 0), (0, 4))}
ONE_EACH = ((1, 0, 0), (0, 0, 1))


class Held(NamedTuple):
    """What a key has: how many units, and what the step counts of their rows."""

    units: int
    counts: tuple[int, ...]


class Release(NamedTuple):
    """The two steps of a plan: the count that selects, and what is chosen for its keys."""

    selecting: Step
    other: Step
    added: tuple[tuple[int, ...], ...]

    def held(self, rows: list[Row], units: int) -> Held:
        columns = zip(*(self.added[what] for _, what in rows if what != NOTHING), strict=True)
        none = (0,) * len(self.added[0])
        return Held(units, tuple(map(sum, columns)) or none)


def planned(
    what: str,
    adjacency: str,
    limits: tuple[int, int, int],
    epsilon: float = 1,
    *,
    is_cut: bool = False,
) -> Release:
    rules: dict[str, Any] = {"unit": "row"}
    if limits != (1, 1, 1):
        names = ("max_rows_per_unit", "max_groups_per_unit", "max_rows_per_unit_per_group")
        bounds = dict(zip(names, limits, strict=True))
        rules = {"unit": "column", "unit_column": "p", "bounding": bounds}
    count = {"name": "n", "statistic": "count" if limits == (1, 1, 1) else "count_units"}
    asked = [
        count | {"mechanism": "laplace", "epsilon": epsilon},
        {"name": "o", "epsilon": 1} | STATISTICS[what],
    ]
    made = make_plan(
        load(
            spec(
                privacy=rules | {"adjacency": adjacency, "epsilon": 2, "delta": 0.001},
                columns={
                    "k": {"type": "string"},
                    "h": {"type": "string", "keys": ["u", "v", "w"], "source": "p"},
                    "x": {"type": "integer", "lower": 0, "upper": 2, "source": "p"},
                },
                query=[SELECTION | each for each in asked],
            )
        )
    )
    if is_cut:  # the planner may prefer other noise, whose threshold is lower
        (at,) = (at for at, step in enumerate(made.steps) if step.threshold is not None)
        scale, delta = made.steps[at].noise.parameter, made.steps[at].loss.delta
        noise = find_cut_noise(scale, limits[1], delta, made.release.privacy.adjacency)
        assert noise is not None
        made = with_step(made, {"mechanism": "auto"}, at, noise=noise, threshold=noise.reach + 1)
    certify(made)
    steps = {step.query.name: step for step in made.steps}
    return Release(steps["n"], steps["o"], ADDED.get(what, ONE_EACH))


# --- laws ----------------------------------------------------------------------------------------


def chosen(step: Step, counts: tuple[int, ...]) -> Law:
    """What is drawn for a key that is shown."""
    if step.form is Form.QUANTILES:
        return ranked(step, counts)
    rate, picks = float(step.noise.parameter), step.query.picks
    chances = []
    for order in permutations(range(len(counts)), picks):
        left, chance = list(range(len(counts))), 1.0
        for one in order:
            chance *= picked(step.noise.family, [counts[each] for each in left], rate)[
                left.index(one)
            ]
            left.remove(one)
        chances.append(chance)
    return np.array(chances)


def picked(family: NoiseFamily, scores: list[int], rate: float) -> list[float]:
    """The exponential mechanism; or coins in all orders, as permute-and-flip was published."""
    weights = [math.exp(rate * (score - max(scores))) for score in scores]
    if family is NoiseFamily.EXPONENTIAL:
        return [weight / sum(weights) for weight in weights]
    found = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        still = 1.0
        for one in order:
            found[one] += still * weights[one] / math.factorial(len(scores))
            still *= 1 - weights[one]
    return found


def ranked(step: Step, counts: tuple[int, ...]) -> Law:
    """One quantile: by how far the target rank is from those of a value."""
    assert step.scheme is not None
    (only,) = step.scheme.steps
    a, b, all_of_them = only.target.numerator, only.target.denominator, sum(counts)
    weights = []
    for value in range(len(counts)):
        below, upto = sum(counts[:value]), sum(counts[: value + 1])
        away = max(0, b * below - a * all_of_them, a * all_of_them - b * upto)
        weights.append(math.exp(-float(only.rate) * away))
    return np.array(weights) / sum(weights)


def law_of_key(release: Release, held: Held, blank: bool) -> Law:
    """Hidden, or each noisy count with each choice; counts far above the threshold are as one.

    With ``blank``, which is wrong: a key without rows in the step is shown without a choice.
    """
    threshold = release.selecting.threshold
    assert threshold is not None
    noise = release.selecting.noise
    a = math.exp(-1 / float(noise.parameter))
    counts = range(threshold, threshold + 25)
    if noise.reach:
        counts = range(threshold, 3 * threshold + 2)  # all that there is, of ``tables``
        weights = {z: a ** abs(z) for z in range(-noise.reach, noise.reach + 1)}
        whole = sum(weights.values())
        shown = [weights.get(count - held.units, 0.0) / whole for count in counts]
    else:
        shown = [(1 - a) / (1 + a) * a ** abs(count - held.units) for count in counts]
        shown.append(a ** (counts[-1] + 1 - held.units) / (1 + a))
    if not held.units:
        shown = [0.0] * len(shown)
    choice = chosen(release.other, held.counts)
    if blank:
        empty = not any(held.counts)
        choice = np.append(choice * (not empty), float(empty))
    return np.concatenate(([1 - sum(shown)], np.outer(shown, choice).ravel()))


def divergence(one: Law, other: Law, epsilon: float) -> float:
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


# --- neighbours ----------------------------------------------------------------------------------


def units(limits: tuple[int, int, int]) -> list[Unit]:
    """Everybody that there can be, and nobody."""
    rows, groups, per_group = limits
    found: list[Unit] = [()]
    for size in range(1, rows + 1):
        for unit in combinations_with_replacement(list(product(KEYS, HELD)), size):
            each = Counter(key for key, _ in unit)
            if len(each) <= groups and max(each.values()) <= per_group:
                found.append(unit)
    return found


def tables(threshold: int, *, far: bool) -> Iterator[dict[str, tuple[int, int, int]]]:
    """Rows of others: how many of each kind, in two keys; ``c`` is new to whoever brings it."""
    kinds = [
        (0, 0, 0),
        (0, 0, threshold),
        (threshold - 1, 0, 0),
        (threshold // 2, threshold // 2, 3),
    ]
    if far:  # so that the least that cut noise makes of it is shown
        kinds.append((2 * threshold, 0, 0))
    for a, b in product(kinds, repeat=2):
        yield {"a": a, "b": b, "c": (0, 0, 0)}


def with_unit(release: Release, others: dict[str, tuple[int, int, int]], unit: Unit) -> list[Held]:
    """The keys of others, each of whom has one row, and of one unit more."""
    found = []
    for key in KEYS:
        own = [row for row in unit if row[0] == key]
        rows = [(key, what) for what, number in enumerate(others[key]) for _ in range(number)]
        found.append(release.held([*rows, *own], len(rows) + bool(own)))
    return found


def worst(release: Release, adjacency: str, limits: tuple[int, int, int], epsilon: float,
          blank: bool = False) -> float:  # fmt: skip
    """The largest divergence of neighbours that differ in at most two keys; more take too long."""
    assert release.selecting.threshold is not None

    @cache
    def law(held: Held) -> Law:
        return law_of_key(release, held, blank)

    @cache
    def together(one: tuple[Held, ...], other: tuple[Held, ...]) -> float:
        first, second = (
            laws[0] if len(laws) == 1 else np.outer(*laws).ravel()
            for laws in ([law(held) for held in side] for side in (one, other))
        )
        return divergence(first, second, epsilon)

    largest = 0.0
    everybody = units(limits)
    for others in tables(release.selecting.threshold, far=release.selecting.noise.reach > 0):
        states = [with_unit(release, others, unit) for unit in everybody]
        pairs = product(states[:1], states)
        for left, right in pairs if adjacency == "add-remove" else product(states, repeat=2):
            moved = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
            if 1 <= len(moved) <= 2:
                one, other = zip(*sorted(moved), strict=True)
                largest = max(largest, together(one, other), together(other, one))
    return largest


@pytest.mark.one_in(18)
@pytest.mark.parametrize("what", STATISTICS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("limits", LIMITS)
def test_keys_with_names_and_values_tell_no_more_than_is_claimed(
    what: str, adjacency: str, limits: str
) -> None:
    release = planned(what, adjacency, LIMITS[limits])
    claimed = release.selecting.loss.delta + release.other.loss.delta
    epsilon = float(release.selecting.loss.epsilon + release.other.loss.epsilon)
    assert (epsilon, float(claimed)) == (2, 0.001)
    found = worst(release, adjacency, LIMITS[limits], epsilon)
    assert found <= float(claimed) * (1 + 1e-9)
    assert found > 0.5 * float(claimed)


@pytest.mark.parametrize(
    ("adjacency", "limits"),
    [
        ("add-remove", "row"),
        ("add-remove", "two keys"),
        ("add-remove", "two rows"),
        ("replace-one", "row"),
        pytest.param("replace-one", "two rows", marks=pytest.mark.thorough),
    ],
)
def test_so_it_is_of_cut_noise(adjacency: str, limits: str) -> None:
    """And neither with a threshold that a count of 0 can reach, nor where it is cut nearer."""
    what, size = "permute and flip", LIMITS[limits]
    release = planned(what, adjacency, size, epsilon=0.5, is_cut=True)
    counted = release.selecting
    claimed, epsilon = 0.001, float(counted.loss.epsilon + release.other.loss.epsilon)
    found = worst(release, adjacency, size, epsilon)
    assert 0.5 * claimed < found <= claimed * (1 + 1e-9)
    least = replace(counted.noise, reach=counted.noise.reach - 1)
    for wrong in (
        replace(counted, threshold=counted.noise.reach),
        replace(counted, noise=least, threshold=counted.noise.reach),
    ):
        assert worst(release._replace(selecting=wrong), adjacency, size, epsilon) > claimed


def steeper(step: Step, factor: int) -> Step:
    """The step with all its rates times a factor."""
    noise = replace(step.noise, parameter=step.noise.parameter * factor)
    if step.scheme is None:
        return replace(step, noise=noise)
    steps = tuple(replace(each, rate=each.rate * factor) for each in step.scheme.steps)
    return replace(step, noise=noise, scheme=replace(step.scheme, steps=steps))


@pytest.mark.thorough
@pytest.mark.parametrize("what", STATISTICS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_comparison_can_fail(what: str, adjacency: str) -> None:
    """With rates eight times as high; a threshold of one less; and keys without a name or value."""
    release, row = planned(what, adjacency, (1, 1, 1)), (1, 1, 1)
    claimed = 0.001
    assert worst(release, adjacency, row, 2) <= claimed
    wrong = release._replace(other=steeper(release.other, 8))
    assert worst(wrong, adjacency, row, 2) > 1.5 * claimed
    assert release.selecting.threshold is not None
    less = replace(release.selecting, threshold=release.selecting.threshold - 1)
    assert worst(release._replace(selecting=less), adjacency, row, 2) > claimed
    if what != "best":  # whose rows all count, but with a score of 0
        assert worst(release, adjacency, row, 2, blank=True) > 0.3
