"""Sentences as values: what the mathematics has to say, for the report to word in its language."""

from __future__ import annotations

from msgspec import Struct


class NumberText(str):
    """A number as English writes it, such as 1,234.5; a language puts its own separators."""

    __slots__ = ()


class Sentence(Struct, frozen=True):
    """A sentence of the catalogues that nobody has worded yet: a derivation, a note, a meaning.

    ``key`` is its id and ``values`` are what it shows, by name: numbers, names of the spec, and
    further sentences. With a ``count`` it has a form for one thing and a form for many.
    """

    key: str
    values: tuple[tuple[str, Shown], ...] = ()
    count: int | None = None

    def __str__(self) -> str:
        """Refuse: a text of it is in no language before it is worded."""
        raise TypeError("a sentence is worded by the report, not printed")

    def __format__(self, spec: str) -> str:
        return str(self)


Text = str | Sentence
"""A text of the spec as it is, or a sentence to be worded."""
Shown = Text | int


def sentence(key: str, /, **values: Shown) -> Sentence:
    """Name a sentence by its id, with the values that it shows."""
    return Sentence(key, tuple(values.items()))


def build_counted_sentence(n: int, key: str, /, **values: Shown) -> Sentence:
    """Name a sentence on ``n`` things, which its forms show as ``{n}``."""
    return Sentence(key, tuple(values.items()), n)
