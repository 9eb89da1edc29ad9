"""Sentences of a report in the language that is spoken."""

import pytest

from dprelease import language
from dprelease.language import (
    get_language,
    load_catalogue,
    number_text,
    say,
    say_count,
    use_language,
)

WORDS = {
    "en": {
        "rows.one": "{n:,} row of {name}",
        "rows.many": "{n:,} rows of {name}",
        "share": "{share:.1f} of {name}",
    },
    "fr": {
        "rows.one": "{n:,} ligne de {name}",
        "rows.many": "{n:,} lignes de {name}",
        "share": "{name} : {share:.1f}",
    },
}


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catalogues of two sentences."""
    monkeypatch.setattr(language, "load_catalogue", WORDS.__getitem__)


@pytest.mark.usefixtures("words")
def test_english_is_said_as_its_catalogue_has_it() -> None:
    assert say_count(1234, "rows", name="a.b") == "1,234 rows of a.b"
    assert say_count(1, "rows", name="a.b") == "1 row of a.b"
    assert say_count(0, "rows", name="a.b") == "0 rows of a.b"
    assert number_text("1,234.5") == "1,234.5"


@pytest.mark.usefixtures("words")
def test_a_language_has_its_words_order_separators_and_singular() -> None:
    with use_language("fr"):
        many = say_count(1234, "rows", name="a.b")
        none = say_count(0, "rows", name="a.b")
        assert say("share", share=0.25, name="x.y") == "x.y : 0,2"
        assert number_text("1,234.5") == "1\u202f234,5"
    assert (many, none) == ("1\u202f234 lignes de a.b", "0 ligne de a.b")


@pytest.mark.usefixtures("words")
def test_a_sentence_that_no_catalogue_has_is_an_error() -> None:
    with pytest.raises(KeyError, match="shares"):
        say("shares", share=0.25, name="a.b")


def test_a_language_is_spoken_inside_its_block_only() -> None:
    with use_language("de"):
        with use_language("fr"):
            assert get_language() == "fr"
        assert get_language() == "de"
    assert get_language() == "en"


def test_every_language_has_a_catalogue_with_ids_of_several_parts() -> None:
    for name in language.LANGUAGES:
        assert all("." in key and text for key, text in load_catalogue(name).items())
        assert load_catalogue(name)["words.rows"]
