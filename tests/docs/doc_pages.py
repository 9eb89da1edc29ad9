"""The pages of the documentation taken apart: README.md and all Markdown below docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCED = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is saved as, its text, and its first line."""

    language: str
    title: str | None
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what the page says that it prints."""

    text: str
    expected: str
    line: int


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        """The path below the top of the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        """The whole page, as the site has it: with the parts that are built from the code."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.parent != DOCS / "reference":
            return text
        from build_reference import PARTS, fill

        return fill(self.path.name, text) if self.path.name in PARTS else text

    @property
    def prose(self) -> str:
        """The file without its fenced blocks."""
        return FENCED.sub("", self.text)

    @property
    def anchors(self) -> set[str]:
        """Anchors of the headings, as GitHub and the site make them."""
        titles = re.findall(r"^#+ (.*)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    def blocks(self, language: str | None = None) -> list[Block]:
        """All fenced blocks, or those of one language."""
        matches = [
            Block(match[1], match[2], match[3], self.text[: match.start()].count("\n") + 2)
            for match in FENCED.finditer(self.text)
        ]
        return [block for block in matches if language in (None, block.language)]

    def steps(self) -> Iterator[Block | Command]:
        """What a reader does in order: files to save, and commands to type."""
        for block in self.blocks():
            if block.title is not None:
                yield block
            if block.language == "console":
                yield from commands_of(block)

    def commands(self) -> list[Command]:
        """Every command of every console block, in order."""
        return [step for step in self.steps() if isinstance(step, Command)]


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that ends with a backslash goes on."""
    first, *rest = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    if first:
        raise ValueError(f"line {block.line}: a console block begins with a command")
    line = block.line
    for part in rest:
        match = re.match(r"(?:.*\\\n)*.*\n", part)
        assert match is not None
        yield Command(match[0].rstrip("\n"), part[match.end() :], line)
        line += part.count("\n")


README = Page(ROOT / "README.md")
PAGES = (README, *map(Page, sorted(DOCS.rglob("*.md"))))


def page(name: str) -> Page:
    """The page of a path below docs/."""
    return Page(DOCS / name)


FIRST = page("tutorials/first-release.md")


# A figure that each run draws anew, with its interval: "1,610 ± 12", "5.6%  3.8% to 7.5%".
DRAWN = r"-?\d[\d,.]*%?(?: ± [\d,.]+%?| +-?\d[\d,.]*%? to -?\d[\d,.]*%?)"


def pattern(expected: str) -> re.Pattern[str]:
    """What an output must look like.

    ``...`` alone on a line stands for any number of lines, inside a line for any text. A figure
    with its interval, as in ``1,610 ± 12``, stands for any such; where an output holds one,
    blanks and rules of its tables may be longer or shorter. All else must be there to the letter,
    but for blanks at the ends of lines.
    """
    noisy = re.search(DRAWN, expected) is not None
    lines = []
    for line in expected.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        parts = []
        for part in line.rstrip().split("..."):
            text = DRAWN.join(map(re.escape, re.split(DRAWN, part)))
            parts.append(re.sub(r"(?:\\ )+|─+", r"[ ─]+", text) if noisy else text)
        lines.append(".*".join(parts) + r"\n")
    return re.compile("".join(lines))


def matches(expected: str, output: str) -> bool:
    """Whether an output is as the page says."""
    text = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
    return pattern(expected).fullmatch(text) is not None
