"""The language of a report: English sentences in the code, other languages by a catalogue.

A sentence is made by ``say`` from a literal template. The catalogue of a language, a file of this
folder, gives each template in that language, with the same values; English needs none. Numbers
that ``say`` writes get the separators of the language.
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
def speaking(language: str) -> Iterator[None]:
    """Let ``say`` speak a language of ``LANGUAGES`` inside the block."""
    before = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(before)


def spoken() -> str:
    """The language that ``say`` speaks now, as a key of ``LANGUAGES``."""
    return _spoken.get()


def say(template: str, /, **values: object) -> str:
    """Say a sentence in the language spoken now.

    ``template`` is English, a literal, and names its ``values`` in braces, as ``str.format`` does.
    """
    language = spoken()
    if language == ENGLISH:
        return template.format(**values)
    return _IN_LANGUAGE.vformat(catalogue(language).get(template, template), (), values)


def counted(n: int, one: str, many: str, /, **values: object) -> str:
    """Say a sentence on a number of things, which templates name ``{n}``: one form or the other."""
    return say(one if n in LANGUAGES[spoken()].singular else many, n=n, **values)


def number_text(english: str) -> str:
    """Give a number as English writes it, such as 1,234.5, the separators of the language."""
    language = LANGUAGES[spoken()]
    return english.translate({ord(","): language.thousands, ord("."): language.decimal})


def template(text: str, /) -> str:
    """Mark a text that ``say`` is given later, by a name: a literal, for the catalogues."""
    return text


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The templates of a language by their English form; none for English."""
    import tomli

    if language == ENGLISH:
        return {}
    file = Path(__file__).parent / f"{language}.toml"
    return tomli.loads(file.read_text("utf-8"))


class _InLanguage(Formatter):
    """``str.format``, with numbers in the language spoken now."""

    def format_field(self, value: object, format_spec: str) -> str:
        written: str = super().format_field(value, format_spec)
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return number_text(written) if is_number else written


_IN_LANGUAGE = _InLanguage()
