"""Sentences of a report in the language that is spoken."""

import pytest

from dprelease import language
from dprelease.language import catalogue, counted, number_text, say, speaking, spoken


@pytest.fixture
def french(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of two sentences for French."""
    known = {
        "{n:,} row of {name}": "{n:,} ligne de {name}",
        "{n:,} rows of {name}": "{n:,} lignes de {name}",
        "{share:.1f} of {name}": "{name} : {share:.1f}",
    }
    monkeypatch.setattr(language, "catalogue", lambda _: known)


def test_english_is_said_as_it_is_written() -> None:
    assert say("{n:,} rows of {name}", n=1234, name="a.b") == "1,234 rows of a.b"
    assert counted(1, "{n} row", "{n} rows") == "1 row"
    assert counted(0, "{n} row", "{n} rows") == "0 rows"
    assert number_text("1,234.5") == "1,234.5"


@pytest.mark.usefixtures("french")
def test_a_language_has_its_words_order_separators_and_singular() -> None:
    with speaking("fr"):
        many = counted(1234, "{n:,} row of {name}", "{n:,} rows of {name}", name="a.b")
        none = counted(0, "{n:,} row of {name}", "{n:,} rows of {name}", name="a.b")
        assert say("{share:.1f} of {name}", share=0.25, name="x.y") == "x.y : 0,2"
        assert number_text("1,234.5") == "1\u202f234,5"
    assert (many, none) == ("1\u202f234 lignes de a.b", "0 ligne de a.b")


def test_a_language_is_spoken_inside_its_block_only() -> None:
    with speaking("de"):
        with speaking("fr"):
            assert spoken() == "fr"
        assert spoken() == "de"
    assert spoken() == "en"


def test_every_language_but_english_has_a_catalogue() -> None:
    for name in language.LANGUAGES:
        assert isinstance(catalogue(name), dict)
