"""The README taken apart: its code blocks, and the commands of its console blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line it begins in."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what the README says that it prints."""

    text: str
    expected: str
    line: int


def readme() -> str:
    return README.read_text(encoding="utf-8")


def blocks(language: str | None = None) -> list[Block]:
    """All fenced blocks, or those of one language."""
    text = readme()
    found = [
        Block(match[1], match[2], text[: match.start()].count("\n") + 2)
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]
    return [block for block in found if language in (None, block.language)]


def commands() -> Iterator[Command]:
    """Every command of every console block, in order."""
    for block in blocks("console"):
        parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        line = block.line
        if parts[0]:
            raise ValueError(f"line {line}: a console block begins with a command")
        for part in parts[1:]:
            command, _, expected = part.partition("\n")
            yield Command(command, expected, line)
            line += part.count("\n")


def pattern(expected: str) -> re.Pattern[str]:
    """What an output must look like.

    ``...`` alone on a line stands for any number of lines, inside a line for any text. All else
    must be there to the letter, but for blanks at the ends of lines.
    """
    lines = []
    for line in expected.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*".join(map(re.escape, line.rstrip().split("..."))) + r"\n")
    return re.compile("".join(lines))


def matches(expected: str, output: str) -> bool:
    """Whether an output is as the README says."""
    text = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
    return pattern(expected).fullmatch(text) is not None
