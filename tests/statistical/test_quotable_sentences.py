"""Sentences to quote: in at most 5 of 100 releases of known data one of them is wrong."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from redrawn import DAYS, REGIONS, SIZES, Redrawn
from scipy.stats import binom

from dprelease.combination.combined_figures import Published
from dprelease.reports.sections.quotable import iter_quotable

ALPHA = Fraction(5, 100)
ALARM = 1e-7
TRUTH = {
    "visits": dict(zip(REGIONS, SIZES, strict=True)),  # the two lowest are equal
    "wait": dict(zip(REGIONS, DAYS, strict=True)),
    "people": {"f": 263, "m": 132},
    "days": {"": sum(a * b for a, b in zip(SIZES, DAYS, strict=True))},
    "cases": {"": sum(SIZES)},
}
SENTENCE = re.compile(
    r"(?P<name>\w+): (?:(?P<end>highest|lowest) for \w+ (?P<label>\w+), )?(?P<value>\S+) "
    r"\((?P<low>\S+) to (?P<high>[^\s;)]+)[;)]"
)
ALONE = [
    {"name": "visits", "statistic": "count", "by": ["region"]},
    {"name": "wait", "statistic": "mean", "column": "days", "by": ["region"]},
    {"name": "days", "statistic": "sum", "column": "days"},
]
TOGETHER = [
    {"name": "visits", "statistic": "count", "by": ["region"]},
    {"name": "people", "statistic": "count", "by": ["sex"]},
    {"name": "both", "statistic": "count", "by": ["region", "sex"]},
    {"name": "cases", "statistic": "count"},
]


def number(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def is_wrong(sentence: str) -> bool:
    """Whether the known data refute it."""
    match = SENTENCE.match(sentence)
    if match is None:
        assert "can be shown to be" in sentence
        return False
    truth = TRUTH[match["name"]]
    label = match["label"] or ""
    others = [value for other, value in truth.items() if other != label]
    beyond = {
        None: False,
        "highest": any(value >= truth[label] for value in others),
        "lowest": any(value <= truth[label] for value in others),
    }
    return beyond[match["end"]] or not number(match["low"]) <= truth[label] <= number(match["high"])


def wrong_releases(made: Redrawn, alpha: Fraction, releases: int, entropy: Any) -> tuple[int, int]:
    """In how many releases a sentence is wrong, and how many sentences say which is at an end."""
    facts, wrong, telling = made.facts(entropy), 0, 0
    for _ in range(releases):
        published = Published(facts, made.tables(entropy))
        sentences = [said.text for said in iter_quotable(facts, published, alpha)]
        wrong += any(map(is_wrong, sentences))
        telling += sum("clearly" in sentence for sentence in sentences)
    return wrong, telling


CASES = [
    (ALONE, {"epsilon": 0.8}),
    pytest.param(ALONE, {"epsilon": 8.0}, marks=pytest.mark.thorough),
    pytest.param(ALONE, {"epsilon": 1.0, "delta": 1e-6}, marks=pytest.mark.thorough),
    (TOGETHER, {"rho": 0.02}),
    pytest.param(TOGETHER, {"epsilon": 1.0}, marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(
    "releases", [75, pytest.param(2000, marks=pytest.mark.thorough)], ids=["few", "many"]
)
@pytest.mark.parametrize(("queries", "privacy"), CASES)
def test_all_sentences_of_a_release_hold_together(
    queries: list[Any],
    privacy: dict[str, Any],
    releases: int,
    entropy: Any,
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Redrawn(tmp_path, queries, **privacy)
    wrong, telling = wrong_releases(made, ALPHA, releases, entropy)
    if releases == 2000:
        assert wrong <= 0.05 * releases
    assert binom.sf(wrong - 1, releases, 0.05) > ALARM
    assert telling > releases  # and they say something


def test_sentences_with_too_little_care_are_found_out(
    entropy: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """Of intervals that hold with 5% only, many are wrong: the data can refute sentences."""
    monkeypatch.chdir(tmp_path)
    made = Redrawn(tmp_path, ALONE, epsilon=0.8)
    wrong, _ = wrong_releases(made, Fraction(19), 60, entropy)
    assert binom.sf(wrong - 1, 60, 0.05) < ALARM
