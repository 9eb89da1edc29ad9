"""In German and French, reports say the words of a spec as natives do, and write dates out."""

import re
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

import dprelease
from dprelease.language import ENGLISH, LANGUAGES, load_catalogue, say, use_language
from dprelease.model import ColumnType
from dprelease.model.loss import NoiseFamily
from dprelease.reports.text.spec_words import (
    DECISION_WORDS,
    MECHANISM_WORDS,
    TYPE_WORDS,
    write_date,
)
from dprelease.specfile.schema.sections import Decision
from dprelease.statistics.statistic_registry import STATISTICS

SPEC = Path(__file__).parents[3] / "release_specs" / "clinic_visits.toml"
REVIEW = '\n[review]\nreviewer = "A. Person"\ndate = "2026-01-15"\ndecision = "approved"\n'
OTHERS = [language for language in LANGUAGES if language != ENGLISH]
LEFT_IN_ENGLISH = (
    r"\b(approved|drop|dropped|string|integer|decimal|laplace|count|mean|sum|histogram) *(\||$)"
    r"|\b(mean|sum|histogram) (von|de) |\bapproved\b|low_reliability (oder|ou)|[0-9]{4}-01-15"
)


def test_every_word_of_a_spec_has_its_own() -> None:
    assert all(statistic.word for statistic in STATISTICS.values())
    assert set(MECHANISM_WORDS) == set(NoiseFamily)
    assert set(TYPE_WORDS) == set(ColumnType)
    assert set(DECISION_WORDS) == set(Decision.__args__)


def test_english_says_the_words_of_the_spec() -> None:
    for words in (
        {name: statistic.word for name, statistic in STATISTICS.items()},
        MECHANISM_WORDS,
        TYPE_WORDS,
        DECISION_WORDS,
    ):
        assert {say(key) for key in words.values()} == set(words)


@pytest.mark.parametrize("language", OTHERS)
def test_no_word_of_a_spec_is_left_in_english(language, tmp_path, entropy) -> None:
    spec = tmp_path / "release_specs" / "spec.toml"
    spec.parent.mkdir()
    (tmp_path / "sample_data").symlink_to(SPEC.parents[1] / "sample_data")
    spec.write_text(SPEC.read_text() + REVIEW)
    release = replace(dprelease.load(spec), report_language=language)
    dprelease.run(
        release, ledger=tmp_path / "ledger.sqlite", output=tmp_path / "out", entropy=entropy
    )
    lines = (tmp_path / "out" / "report.md").read_text().splitlines()
    assert [line for line in lines if re.search(LEFT_IN_ENGLISH, line)] == []
    assert any(f"15{'.' * (language == 'de')} " in line for line in lines)


@pytest.mark.parametrize(
    ("language", "day", "written"),
    [
        ("en", date(2026, 1, 1), "1 January 2026"),
        ("de", date(2026, 1, 15), "15. Januar 2026"),
        ("de", date(2026, 3, 1), "1. März 2026"),
        ("fr", date(2026, 1, 15), "15 janvier 2026"),
        ("fr", date(2026, 8, 1), "1er août 2026"),
    ],
)
def test_dates_are_written_out(language, day, written) -> None:
    with use_language(language):
        assert write_date(day.isoformat()) == written


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", r"Verantwortliche Stelle|Datenschutzbericht|Ausgabenbuch|Körnung|\bAnnahme|Maßstab"),
        (
            "fr",
            r"\bregistre\b(?! des déploiements)|si la (ligne|personne) est dans|second regard"
            r"|\bproducteur\b|imputé",
        ),
    ],
)
def test_one_thing_has_one_word(language, words) -> None:
    found = {key: text for key, text in load_catalogue(language).items() if re.search(words, text)}
    assert found == {}
