"""Write the README's spec reference from the models that read the spec.

Run: python tests/docs/spec_reference.py        (rewrites README.md between its two marks)
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from spec_words import SECTIONS, WORDS

from dprelease.spec import fields, models

README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- spec reference: begin (written by tests/docs/spec_reference.py) -->"
END = "<!-- spec reference: end -->"

KINDS: list[tuple[Any, str]] = [
    (fields.Text, "text"),
    (fields.Line, "line"),
    (fields.SafeName, "file-safe name"),
    (fields.Option, "text"),
    (fields.Flag, "true or false"),
    (fields.Number, "number"),
    (fields.Budget, "number above 0"),
    (fields.Weight, "number above 0"),
    (fields.Delta, "number in [0, 1)"),
    (fields.Texts, "list of texts"),
    (fields.Scalars, "list of values"),
    (fields.Scalar, "value"),
]


def sections() -> list[type[models.Section]]:
    """Every section's model, in the order of the spec."""
    return [getattr(models, name) for name in SECTIONS]


def choices(annotation: Any) -> Iterator[str]:
    """The texts that a Literal allows."""
    for each in get_args(annotation):
        yield f'`"{each}"`'


def kind(annotation: Any) -> str:
    """What a key takes, in words. KeyError for a type that has none yet."""
    if get_origin(annotation) is Literal:
        return " ".join(choices(annotation))
    for known, words in KINDS:
        if annotation == known:
            return words
    if get_origin(annotation) in {Union, types.UnionType}:
        inner = [each for each in get_args(annotation) if each is not type(None)]
        return kind(inner[0])
    raise KeyError(str(annotation))


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", "\\|")


def default(text: str) -> str:
    """Literal defaults as code, descriptions as they are."""
    literal = text[:1] in {'"', "["} or text in {"true", "false", "0", "1", "0.95"}
    return f"`{text}`" if literal else text


def lines() -> Iterator[str]:
    """The reference, line by line."""
    for section in sections():
        title, words = SECTIONS[section.__name__]
        yield f"#### `{title}`"
        yield ""
        yield words
        yield ""
        yield "| key | takes | if left out | meaning |"
        yield "|---|---|---|---|"
        for name, field in section.model_fields.items():
            absent, meaning = WORDS[section.__name__][name]
            takes = kind(field.annotation)
            yield f"| `{name}` | {cell(takes)} | {cell(default(absent))} | {cell(meaning)} |"
        yield ""


def reference() -> str:
    """The whole reference with its marks."""
    body = "\n".join(lines())
    return f"{BEGIN}\n\n{body}\n{END}"


def replaced(text: str) -> str:
    """The README with the reference in place. ValueError when a mark is missing."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + reference() + after


if __name__ == "__main__":
    README.write_text(replaced(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
