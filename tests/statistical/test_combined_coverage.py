"""Intervals of `combine` for shares and quotients, held against the exact law of little noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from redrawn import Redrawn

from dprelease.combination.combined_figures import Figures, Published
from dprelease.combination.combined_intervals import (
    Interval,
    MeanTerm,
    bound_mean_errors,
    compute_quotient_interval,
    mean_interval,
)
from dprelease.combination.expression import combine
from dprelease.model import Noise, NoiseFamily
from dprelease.release.bundle import build_tables

ROWS, HITS = 60, 30  # in the first region
LEAST = 1e-6


def compute_chances(noise: Noise) -> dict[int, float]:
    """The law of one draw, without values that are less probable than ``LEAST``."""
    size = float(noise.parameter)
    is_laplace = noise.family is NoiseFamily.LAPLACE
    sizes = {
        k: math.exp(-abs(k) / size if is_laplace else -k * k / (2 * size)) for k in range(-30, 31)
    }
    law = {k: value / sum(sizes.values()) for k, value in sizes.items()}
    return {k: chance for k, chance in law.items() if chance >= LEAST}


def publish(queries: list[dict[str, Any]], folder: Path, entropy: Any, privacy: Any) -> Published:
    made = Redrawn(folder, queries, **privacy)
    return Published(made.facts(entropy), made.tables(entropy))


def with_value(figures: Figures, value: Fraction) -> Figures:
    return figures._replace(values=(value, *[None] * 3))  # type: ignore[arg-type]


def find(published: Published, name: str) -> Figures:
    return next(figures for figures in published.figures if figures.name == name)


# Little noise: a variance of 1, and a scale of about 3/5.
LAWS = [
    pytest.param({"rho": 0.5}, Fraction(1, 20), id="gaussian"),
    pytest.param({"epsilon": 1.6667}, Fraction(1, 10), id="laplace"),
]


@pytest.mark.parametrize(("privacy", "alpha"), LAWS)
def test_a_share_is_held(
    privacy: Any, alpha: Fraction, entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quantile at a share further from one half is not enough on the integers."""
    monkeypatch.chdir(tmp_path)
    query = {"name": "s", "statistic": "proportion", "where": "days > 4", "by": ["region"]}
    published = publish([query], tmp_path, entropy, privacy)
    figures = find(published, "s")
    assert figures.share is not None
    (part,) = published.collect_noise([(figures.share.behind, {0: Fraction(1)})])
    law = compute_chances(part.noise)
    for hits in (HITS, HITS // 2):
        missed = 0.0
        for x, y in product(law, law):
            total = ROWS + x + y
            value = Fraction(round(Fraction(hits + x, total) / figures.unit)) * figures.unit
            behind = with_value(figures.share.behind, Fraction(total))
            drawn = with_value(figures, value)._replace(share=figures.share._replace(behind=behind))
            interval = mean_interval(published, drawn, [0], alpha)
            assert interval is not None
            missed += law[x] * law[y] * is_missing(interval, Fraction(hits, ROWS))
        assert missed <= alpha


@pytest.mark.parametrize(
    ("above", "below"),
    [(30, 60), (60, 60), (90, 45)],
)
@pytest.mark.parametrize(("privacy", "alpha"), LAWS)
@pytest.mark.one_in(6)
def test_a_quotient_is_held(
    privacy: Any, alpha: Fraction, above: int, below: int, entropy: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    query = {"name": "n", "statistic": "count", "by": ["region"]}
    published = publish([query], tmp_path, entropy, privacy)
    figures = find(published, "n")
    first, second = {0: Fraction(1)}, {1: Fraction(1)}
    (part,) = published.collect_noise([(figures, first)])
    law, missed = (
        {k: chance for k, chance in compute_chances(part.noise).items() if chance > 1e-4},
        0.0,
    )
    for x, y in product(law, law):
        drawn = figures._replace(
            values=(Fraction(above + x), Fraction(below + y), None, None)  # type: ignore[arg-type]
        )
        interval = compute_quotient_interval(published, [(drawn, first)], [(drawn, second)], alpha)
        assert interval is not None
        missed += law[x] * law[y] * is_missing(interval, Fraction(above, below))
    assert missed <= alpha


def is_missing(interval: Interval, truth: Fraction) -> bool:
    return not interval.low <= truth <= interval.high


def test_shares_that_are_planned_together_are_held_as_published(
    entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one cell `combine` has the interval of the table, by the same joint law."""
    monkeypatch.chdir(tmp_path)
    shares = [
        {"name": f"p{at}", "statistic": "proportion", "where": f"days > {at}", "by": ["region"]}
        for at in range(6)
    ]
    count = {"name": "n", "statistic": "count", "by": ["region"]}
    made = Redrawn(tmp_path, [count, *shares], rho=2)
    tables = made.tables(entropy)
    facts = made.facts(entropy)
    assert sum(query.is_quotient for query in facts.strategies[0].queries) == len(shares)
    published = Published(facts, tables)
    for number in range(6):
        figures = find(published, f"p{number}")
        assert figures.share is not None
        (table,) = tables.values()
        halves = {column.name: column for column in table.columns}[f"p{number}_noise_moe"]
        interval = mean_interval(published, figures, [0], Fraction(1, 20))
        assert interval is not None
        half = max(interval.high - interval.value, interval.value - interval.low)
        own = Fraction(str(halves.values[0])) / 10**halves.decimals
        assert own <= half * Fraction(101, 100)
        assert half <= own * Fraction(103, 100)


@pytest.mark.parametrize(
    ("others", "rho"), [([], 0.5), (["stddev"], 2)], ids=["two-sums", "three-sums"]
)
def test_a_difference_of_means_errs_less_than_both_together(
    others: list[str], rho: float, entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both errors are independent: about the root of the sum of the squared half-widths is left."""
    monkeypatch.chdir(tmp_path)
    query = {"name": "s", "statistic": "mean", "column": "days", "by": ["region"]}
    queries = [query, *(query | {"name": name, "statistic": name} for name in others)]
    published = publish(queries, tmp_path, entropy, {"rho": rho})
    alpha = Fraction(1, 20)
    north, south = (combine(published, f"s[region={of}]", alpha)[1] for of in ("north", "south"))
    apart = combine(published, "s[region=south] - s[region=north]", alpha)[1]
    root = math.hypot(north.half, south.half)
    assert root <= apart.half <= 1.5 * root
    assert apart.half < north.half + south.half


@pytest.mark.parametrize("others", [[], ["stddev"]], ids=["two-sums", "three-sums"])
def test_what_a_mean_is_made_of(
    others: list[str], entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The middle of its bounds, and its contrast over the number behind, times their distance."""
    monkeypatch.chdir(tmp_path)
    query = {"name": "s", "statistic": "mean", "column": "days", "by": ["region"]}
    queries = [query, *(query | {"name": name, "statistic": name} for name in others)]
    made = Redrawn(tmp_path, queries, rho=2)
    noisy = made.noisy(entropy)
    tables = {f"{table.name}.csv": table for table in build_tables(made.plan, noisy)}
    figures = find(Published(made.facts(entropy), tables), "s")
    assert figures.share is not None
    for cell, value in enumerate(figures.values):
        contrast, behind = (
            sum(term.factor * noisy.values[term.step][term.row][cell] for term in of.terms or ())
            for of in (figures.share.contrast, figures.share.behind)
        )
        share = Fraction(1, 2) + Fraction(contrast) / behind
        exact = figures.share.low + (figures.share.high - figures.share.low) * share
        assert value is not None
        assert abs(value - exact) <= figures.unit


def test_two_releases_are_compared_by_the_law_of_both(
    entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = {"name": "s", "statistic": "mean", "column": "days", "by": ["region"]}
    first, second = (publish([query], tmp_path, entropy, {"rho": 0.5}) for _ in range(2))
    figures = [find(of, "s") for of in (first, second)]
    one = Fraction(1)
    means = [MeanTerm(first, figures[0], [0], one), MeanTerm(second, figures[1], [0], -one)]
    both = bound_mean_errors(means, Fraction(1, 20))
    halves = [mean_interval(*mean[:3], Fraction(1, 20)) for mean in means]
    root = math.hypot(*(half.half for half in halves if half is not None))
    assert both is not None
    assert root <= both <= 1.5 * root


def test_means_of_the_same_integers_are_not_taken_for_independent(
    entropy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = {"name": "s", "statistic": "mean", "column": "days", "by": ["region"]}
    published = publish([query], tmp_path, entropy, {"rho": 0.5})
    figures, one = find(published, "s"), Fraction(1)
    means = [MeanTerm(published, figures, places, one) for places in ([0], [0, 1])]
    assert bound_mean_errors(means, Fraction(1, 20)) is None
