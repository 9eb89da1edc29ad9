"""The map of the repository: every path in it exists."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
TEXT = (TOP / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATH = re.compile(r"`((?:dprelease|tests|benchmarks)/[^` ]+)`")
NAMES = re.compile(r"((?:`\w+`(?:, | and )?)+) ?(?:others )?in `([^` ]+\.py)`")


def test_every_path_of_the_map_is_there() -> None:
    paths = PATH.findall(TEXT)
    assert len(paths) > 75
    assert [path for path in paths if not (TOP / path).exists()] == []


def test_every_name_that_is_said_to_be_in_a_file_is_there() -> None:
    mapped = NAMES.findall(TEXT)
    assert len(mapped) > 10
    for names, path in mapped:
        source = (TOP / path).read_text(encoding="utf-8")
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            defined = rf"^ *(?:def |class )?{name}\b *[(:=]"
            assert re.search(defined, source, re.MULTILINE), f"{name} in {path}"


def test_every_folder_of_the_package_is_on_the_map() -> None:
    folders = {
        path.parent.relative_to(TOP).as_posix() for path in TOP.glob("dprelease/*/__init__.py")
    }
    assert {folder for folder in folders if f"| `{folder}` |" not in TEXT} == set()
