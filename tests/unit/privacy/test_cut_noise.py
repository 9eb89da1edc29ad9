"""Keys are shown above what cut noise reaches: how near it is cut, and where that is planned."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from builders import spec
from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.certification import certify
from dprelease.mechanisms import Choice
from dprelease.mechanisms.mechanism_registry import refine_selection
from dprelease.model import Adjacency, Loss, Noise, NoiseFamily, Release, Step
from dprelease.planning.planner import make_plan
from dprelease.planning.shared_releases import build_drafts
from dprelease.privacy.partition_selection import MOST_REACH, find_cut_noise

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE
TINY = Fraction(1, 10**6)


@pytest.mark.parametrize("delta", [Fraction(1, 1000), TINY, Fraction(1, 10**12)], ids=str)
@pytest.mark.parametrize("epsilon", ["2", "1", "1/3", "1/10", "1/200"])
def test_for_one_key_it_is_cut_where_the_published_formula_says(
    epsilon: str, delta: Fraction
) -> None:
    size = Fraction(epsilon)
    with mpmath.workdps(50):
        grown = mpmath.exp(mpmath.mpf(size.numerator) / size.denominator)
        chance = mpmath.mpf(delta.numerator) / delta.denominator
        inner = (grown + 2 * chance - 1) / ((grown + 1) * chance)
        published = int(mpmath.ceil(mpmath.log(inner) * size.denominator / size.numerator))
    noise = find_cut_noise(1 / size, 1, delta, ADD)
    assert noise == Noise(NoiseFamily.CUT_LAPLACE, 1 / size, reach=published)


def test_no_selection_shows_a_key_with_a_larger_chance() -> None:
    """The chance for n units is the largest that chances for fewer and more units leave."""
    noise = find_cut_noise(Fraction(5), 1, TINY, ADD)
    assert noise is not None
    with mpmath.workdps(40):
        ratio, reach = mpmath.exp(-mpmath.mpf(1) / 5), noise.reach
        weights = {z: ratio ** abs(z) for z in range(-reach, reach + 1)}
        whole = sum(weights.values())
        delta, best = weights[reach] / whole, mpmath.mpf(0)
        for units in range(1, 2 * reach + 3):
            shown = sum(weights[z] for z in weights if units + z > reach) / whole
            best = min(best / ratio + delta, 1 - ratio * (1 - best - delta), mpmath.mpf(1))
            assert abs(shown - best) < mpmath.mpf(10) ** -30


def test_more_keys_and_replaced_units_ask_for_more() -> None:
    scale = Fraction(20)
    one, two, four = (find_cut_noise(scale, keys, TINY, ADD) for keys in (1, 2, 4))
    assert None not in (one, two, four)
    assert one.reach < two.reach < four.reach
    assert find_cut_noise(scale, 2, TINY, REPLACE) == four


def test_noise_is_not_cut_below_its_scale_nor_beyond_what_is_certified() -> None:
    assert find_cut_noise(Fraction(1000), 1, Fraction(1, 2), ADD) is None
    assert find_cut_noise(Fraction(MOST_REACH), 1, TINY, ADD) is None
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="delta"):
            find_cut_noise(Fraction(1), 1, delta, ADD)


# --- where it is planned --------------------------------------------------------------------------


def load_count(epsilon: float, keys: int, mechanism: str) -> Release:
    rules: dict[str, Any] = {"unit": "row"}
    if keys:
        names = ("max_rows_per_unit", "max_groups_per_unit", "max_rows_per_unit_per_group")
        bounds = dict(zip(names, (keys, keys, 1), strict=True))
        rules = {"unit": "column", "unit_column": "p", "bounding": bounds}
    query = {
        "name": "q",
        "statistic": "count_units" if keys else "count",
        "by": ["s"],
        "partition_selection": {"delta": 1e-6},
        "mechanism": mechanism,
    }
    privacy = rules | {"adjacency": "add-remove", "epsilon": epsilon, "delta": 1e-6}
    columns = {"s": {"type": "string"}}
    return load(spec(privacy=privacy, columns=columns, query=[query]))


def plan(epsilon: float, keys: int = 0, *, mechanism: str = "auto", **how: bool) -> Step:
    made = make_plan(load_count(epsilon, keys, mechanism), **how)
    certify(made)
    (step,) = made.steps
    return step


def test_keys_of_fewer_units_are_shown_of_little_epsilon() -> None:
    cut, laplace = plan(0.1), plan(0.1, mechanism="laplace")
    assert cut.noise == Noise(NoiseFamily.CUT_LAPLACE, Fraction(10), reach=109)
    assert laplace.noise == Noise(NoiseFamily.LAPLACE, Fraction(10))
    assert (cut.threshold, laplace.threshold) == (110, 133)
    assert cut.loss == laplace.loss


def test_noise_is_cut_only_where_a_lower_threshold_comes_of_it() -> None:
    assert plan(1).noise.family is NoiseFamily.LAPLACE  # 15 units either way
    assert plan(0.7).noise.family is NoiseFamily.LAPLACE  # 20 in place of 21: hardly lower
    assert plan(1, 2).threshold == 28  # in place of 30 with Laplace noise
    assert plan(0.1, 2).threshold == 218  # in place of 253 with Gaussian noise
    assert plan(0.1, 4).noise.family is NoiseFamily.GAUSSIAN


def test_noise_that_errs_less_is_not_cut() -> None:
    """Not even for a lower threshold; nor what has a loss in rho."""
    (draft,) = build_drafts(load_count(0.1, 0, "auto"))
    loss = Loss(Fraction(1, 10), TINY)
    wide = Choice(Noise(NoiseFamily.GAUSSIAN, Fraction(210)), loss, threshold=10**6)
    assert refine_selection(draft, 1, wide).threshold == 110
    near = replace(wide, noise=replace(wide.noise, parameter=Fraction(190)))
    in_rho = replace(wide, loss=replace(loss, rho=TINY))
    for choice in (near, in_rho, replace(wide, threshold=None), replace(wide, threshold=110)):
        assert refine_selection(draft, 1, choice) == choice


@pytest.mark.parametrize("how", [{"as_version_02": True}, {"jointly": False}], ids=str)
def test_what_version_02_planned_is_planned_again(how: dict[str, bool]) -> None:
    step = plan(0.1, **how)
    assert (step.noise.family, step.threshold) == (NoiseFamily.LAPLACE, 133)
