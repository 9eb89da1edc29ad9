"""The sentences that users read, in each language, by id.

Code names a sentence by its id and gives the values that it shows: ``say("summary.title")``. The
catalogue of a language, a file of this folder, holds the sentences, with the values in braces as
``str.format`` takes them. All catalogues have the same ids, and the same values for each. Numbers
get the separators of the language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import cache
from pathlib import Path
from string import Formatter
from typing import NamedTuple

from dprelease.model.sentences import NumberText, Sentence, Text


class Language(NamedTuple):
    """A language: its own name, and how it separates thousands and decimals."""

    name: str
    thousands: str
    decimal: str
    singular: tuple[int, ...] = (1,)


LANGUAGES: Mapping[str, Language] = {
    "en": Language("English", ",", "."),
    "de": Language("Deutsch", ".", ","),
    "fr": Language("Français", "\u202f", ",", (0, 1)),
}
ENGLISH = "en"

_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Make ``say`` use a language, a key of ``LANGUAGES``, inside the block."""
    before = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(before)


def get_language() -> str:
    """Return the language that ``say`` uses now, a key of ``LANGUAGES``."""
    return _spoken.get()


def say(sentence: str, /, **values: object) -> str:
    """Word a sentence in the language spoken now.

    Args:
        sentence: Id of the sentence in the catalogues.
        values: What the sentence shows, by the names in its braces. Sentences are worded too.

    Returns:
        The sentence, with numbers as the language writes them.

    Raises:
        KeyError: No catalogue has the id, or a value is missing.
    """
    language = get_language()
    text = load_catalogue(language)[sentence]
    texts = {
        name: word(value) if isinstance(value, Sentence | NumberText) else value
        for name, value in values.items()
    }
    if language == ENGLISH:  # as str.format writes numbers
        return text.format(**texts)
    return _IN_LANGUAGE.vformat(text, (), texts)


def word(text: Text) -> str:
    """Word a sentence or number, named without a language, in the one used now; texts stay."""
    if isinstance(text, Sentence):
        if text.count is None:
            return say(text.key, **dict(text.values))
        return say_count(text.count, text.key, **dict(text.values))
    return number_text(text) if isinstance(text, NumberText) else text


def say_count(n: int, sentence: str, /, **values: object) -> str:
    """Word a sentence about ``n`` things in its singular or plural form.

    Args:
        n: The number; the sentence shows it as ``{n}``.
        sentence: Id of the sentence, without ``.one`` or ``.many``.
        values: As for ``say``.
    """
    form = "one" if n in LANGUAGES[get_language()].singular else "many"
    return say(f"{sentence}.{form}", n=n, **values)


def number_text(english: str) -> str:
    """Put the separators of the language into a number that English writes, such as 1,234.5."""
    language = LANGUAGES[get_language()]
    return english.translate({ord(","): language.thousands, ord("."): language.decimal})


@cache
def load_catalogue(language: str) -> dict[str, str]:
    """Read the sentences of a language by id, once."""
    import tomli

    file = Path(__file__).parent / f"{language}.toml"
    return dict(_flatten(tomli.loads(file.read_text("utf-8"))))


def _flatten(table: Mapping[str, object], place: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{place}{key}.")
        else:
            yield f"{place}{key}", str(value)


class _InLanguage(Formatter):
    """``str.format``, with numbers in the language spoken now."""

    def format_field(self, value: object, format_spec: str) -> str:
        written: str = super().format_field(value, format_spec)
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return number_text(written) if is_number else written


_IN_LANGUAGE = _InLanguage()
