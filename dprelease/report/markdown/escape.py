"""Markdown that a value can't break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dprelease.report.numbers import written

_MARKUP = re.compile(r"[\\|*`<>\[\]#~]")
# Controls, and what turns the direction of a line: a page may be read on a terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")


def cell(value: object) -> str:
    """Write a number, or a text so that it can't break a Markdown table or smuggle markup in."""
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return written(value)
    text = _MARKUP.sub(r"\\\g<0>", str(value))
    # an underscore inside a word is no markup, and names are full of them
    text = _UNDERSCORE.sub(r"\\_", text)
    return _CONTROL.sub("\ufffd", " ".join(text.split()))


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lay out a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell(value) for value in row) + " |"
