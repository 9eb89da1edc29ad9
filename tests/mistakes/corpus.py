"""Mistakes in specs, and what is said of each: the files beside this one.

A folder has a good spec, ``base.toml``, and a file for each code. A file holds cases, parted by
``---``: the sections that differ from the good spec, then what is said, each line after ``>``. All
tables of a list (``[[query]]``) are replaced together; ``# without [output]`` leaves a section out.
After a change of words,

    python tests/mistakes/corpus.py

writes what is said afresh.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dprelease.errors import Complaint, Failure
from dprelease.specfile import load

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/E*.txt"))
PARTED = "\n---\n"


class Case(NamedTuple):
    """Sections of a spec, what is said of it, and the line where it begins."""

    text: str
    said: str
    line: int


def cases(file: Path) -> Iterator[Case]:
    line = 1
    for part in file.read_text(encoding="utf-8").split(PARTED):
        lines = part.strip("\n").split("\n")
        said = [each for each in lines if each.startswith("> ")]
        yield Case("\n".join(lines[: len(lines) - len(said)]), "\n".join(said), line)
        line += part.count("\n") + 2


def whole(file: Path, text: str) -> str:
    """Give the spec of a case: its sections, then those of the good spec that it doesn't have."""
    good = (file.parent / "base.toml").read_text(encoding="utf-8")
    own = set(re.findall(r"^(?:# without )?(\[.*\])", text, re.MULTILINE))
    others = [part for part in good.split("\n\n") if part.split("\n", 1)[0] not in own]
    return "\n\n".join([text, *others])


def complaints(spec: str) -> list[Complaint]:
    """Give what is said of a spec that stands in a folder by itself, which is shown as ``here``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.toml"
        path.write_text(spec, encoding="utf-8")
        try:
            load(path)
        except Failure as failure:
            return [
                each._replace(
                    message=each.message.replace(folder, "here"),
                    own_hint=each.hint.replace(folder, "here"),
                )
                for each in failure.complaints
            ]
    return []


def told(complaint: Complaint) -> str:
    """Give a complaint as its line in a file: as users see it, without the file's name."""
    assert complaint.place is not None
    return "> " + str(complaint).removeprefix(f"{complaint.place.file}:")


def rewrite(file: Path) -> None:
    """Write what is said of the cases of a file as it is now."""
    parts = [
        "\n".join([case.text, *map(told, complaints(whole(file, case.text)))])
        for case in cases(file)
    ]
    file.write_text(PARTED.join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for each in FILES:
        rewrite(each)
