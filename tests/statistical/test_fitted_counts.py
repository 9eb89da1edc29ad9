"""Shares of the same records: their one count and each share hold the truth as often as stated."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from planned_figures import FAMILIES, LEVELS, build_query, find_missed, is_plausible, with_noise
from redrawn import Redrawn
from scipy.stats import binom

from dprelease.combination.combined_figures import Published
from dprelease.combination.combined_intervals import mean_interval
from dprelease.kernel.chapters.many_draws.sampler import sample
from dprelease.model import Noise, NoiseFamily
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.fitted_count import (
    KNOTS,
    count_together,
    fit_count,
)
from dprelease.statistics.proportion import Proportion

CELLS = 10_000
SCALES = {
    "little noise": ["1/3", "3/5"],
    "two alike": ["20", "20"],
    "25 alike": ["25"] * 25,
    "one much less": ["2", "9", "40"],
    "one does not count": ["2", "200"],
}
TOO_NARROW = 0.75


def get_noises(scales: list[str], family: NoiseFamily) -> dict[str, Noise]:
    sizes = [Fraction(scale) for scale in scales]
    return {
        f"s{at}": Noise(family, size if family is NoiseFamily.LAPLACE else size**2)
        for at, size in enumerate(sizes)
    }


@pytest.mark.one_in(10)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scales", SCALES.values(), ids=list(SCALES))
@pytest.mark.parametrize(("records", "share"), [(400, 0.0), (4000, 0.3), (4000, 1.0)])
def test_counts_and_shares_hold_the_truth(
    records: int, share: float, scales: list[str], family: NoiseFamily, entropy: Any
) -> None:
    noises = get_noises(scales, family)
    hits = int(share * records)
    values = {
        name: [
            [count + draw for draw in sample(noise, CELLS, entropy)]
            for count in (hits, records - hits)
        ]
        for name, noise in noises.items()
    }
    fit, counts = fit_count(noises), []
    together = count_together(fit, "s0", values)
    for own in ("s0", f"s{len(scales) - 1}"):
        step = with_noise(replace(build_query("proportion"), name=own), noises[own])
        for level in LEVELS:
            made = Proportion().build_joint_columns(
                step, values[own], level, together._replace(own=own)
            )
            columns = {column.name: column for column in made}
            counts.append(columns[f"{own}_count"].values)
            for figure, truth in ((own, hits / records), (f"{own}_count", records)):
                assert is_plausible(find_missed(columns, figure, truth), level), (figure, level)
                if "200" in scales or float(Fraction(scales[0])) < 1 or figure == own:
                    continue
                assert not is_plausible(find_missed(columns, figure, truth, TOO_NARROW), level)
    assert all(count == counts[0] for count in counts)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scale", ["1/5", "3/5", "1", "5/2"])
@pytest.mark.parametrize("number", [2, 3, 25])
def test_quantiles_hold_between_the_knots(number: int, scale: str, family: NoiseFamily) -> None:
    """By the exact law: it takes steps, so that it may fall where those of all numbers rise."""
    noises = get_noises([scale] * number, family)
    fit, noise, weight = fit_count(noises), noises["s0"], Fraction(1, number)
    for level in LEVELS:
        for place in range(4 * KNOTS + 1):
            off = Fraction(place, 8 * KNOTS)
            parts = [
                Part(noise, Fraction(1, 2) + off * weight, 1),
                Part(noise, Fraction(1, 2) - off * weight, 1),
                Part(noise, off * weight, 2 * number - 2),
            ]
            bound = fit.bound_share_noise("s0", 1 - level, -(-place // 4))
            assert compute_combined_halfwidth(combine_parts(parts), 1 - level) <= bound


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scales", SCALES.values(), ids=list(SCALES))
def test_no_variance_is_larger_than_alone(scales: list[str], family: NoiseFamily) -> None:
    """By the formulas: (A - B)/2 and what N has of all of them."""
    fit = fit_count(get_noises(scales, family))
    spread = {
        name: float(Fraction(scale)) ** 2 * (2 if family is NoiseFamily.LAPLACE else 1)
        for name, scale in zip(fit.law_of, scales, strict=True)
    }
    of_count = sum(2 * float(fit.weight(name)) ** 2 * size for name, size in spread.items())
    for size in spread.values():
        assert of_count <= 2 * size * (1 + 1e-3)
        for share in np.linspace(0, 1, 21):
            alone = size * ((1 - share) ** 2 + share**2)
            assert size / 2 + (0.5 - share) ** 2 * of_count <= alone * (1 + 1e-3)


CONDITIONS = ("sex = 'f'", "sex <> 'f'", "sex IN ('f', 'd')")
QUERIES = [
    {"name": f"share_{at}", "statistic": "proportion", "where": where, "by": ["region"]}
    for at, where in enumerate(CONDITIONS)
]


@pytest.mark.parametrize(
    "releases", [100, pytest.param(2000, marks=pytest.mark.thorough)], ids=["few", "many"]
)
@pytest.mark.parametrize(
    "privacy", [{"epsilon": 0.9}, pytest.param({"rho": 0.1}, marks=pytest.mark.thorough)]
)
def test_combined_shares_hold_the_truth(
    privacy: dict[str, Any], releases: int, entropy: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """`combine` knows the noise of one group's share, and of several groups together."""
    monkeypatch.chdir(tmp_path)
    made = Redrawn(tmp_path, QUERIES, **privacy)
    exact: dict[str, Any] = {}
    for job, table in made.jobs:
        for step, places in zip(job.steps, job.positions, strict=True):
            measures = [table.reveal()[place] for place in places]
            exact[step.query.name] = [np.array(row) @ np.array(measures) for row in step.transform]
    facts, wrong = made.facts(entropy), {}
    for _ in range(releases):
        published = Published(facts, made.tables(entropy))
        for figures in published.figures:
            if figures.share is None:
                continue
            hits, others = exact[figures.name]
            for places in ([1], [0, 1, 2, 3]):
                within = mean_interval(published, figures, places, Fraction(1, 20))
                truth = hits[places].sum() / (hits + others)[places].sum()
                missed_it = within is not None and not within.low <= truth <= within.high
                key = figures.name, len(places)
                wrong[key] = wrong.get(key, 0) + missed_it
    assert len(wrong) == 6
    for number in wrong.values():
        assert binom.sf(number - 1, releases, 0.05) > 1e-8
        assert number > releases / 200  # and is no wider than it need be
