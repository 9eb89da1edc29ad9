"""The spec reference, from the sections that read the spec; ``build_reference`` builds its page."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from dprelease.specfile.keys.section_reader import TAKES, Choice, Key
from dprelease.specfile.schema import sections


def kind(key: Key[Any]) -> str:
    """What a key takes, in words. KeyError for a reading function that says nothing of it."""
    if isinstance(key, Choice):
        return " ".join(f'`"{word}"`' for word in key.words)
    return TAKES[key.read].words


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", "\\|")


def default(text: str) -> str:
    """Literal defaults as code, descriptions as they are."""
    literal = text[:1] in {'"', "["} or text in {"true", "false", "0", "1", "0.95"}
    return f"`{text}`" if literal else text


def lines() -> Iterator[str]:
    """The reference, line by line."""
    for section in sections.SECTIONS:
        yield f"## `{section.HEADER}`"
        yield ""
        yield from wrap(section.WORDS, 100, break_long_words=False, break_on_hyphens=False)
        yield ""
        yield "| key | takes | if left out | meaning |"
        yield "|---|---|---|---|"
        for name, key in section.KEYS.items():
            cells = cell(kind(key)), cell(default(key.absent)), cell(key.meaning)
            yield f"| `{name}` | {' | '.join(cells)} |"
        yield ""
