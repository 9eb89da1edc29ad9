"""The kernel's README names every file of the kernel, and says how much there is to read."""

from __future__ import annotations

import re
from pathlib import Path

import dprelease.kernel

KERNEL = Path(dprelease.kernel.__file__ or "").parent
TEXT = (KERNEL / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \[[^\]]*\]\(([^)]*)\) \| ([0-9]+) \|", re.MULTILINE)
MOST_OF_THE_CORE = 2800
NEAR = 0.05


def lines(path: str) -> int:
    return len((KERNEL / path).read_text(encoding="utf-8").splitlines())


def chapters() -> list[tuple[int, list[tuple[str, int]]]]:
    """What each chapter says it has in all, and of each file."""
    parts = re.split(r"^## .*about ([0-9,]+) lines$", TEXT, flags=re.MULTILINE)[1:]
    return [
        (int(total.replace(",", "")), [(path, int(n)) for path, n in ROW.findall(text)])
        for total, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def test_every_file_is_named_once_and_is_there() -> None:
    named = [path for _, rows in chapters() for path, _ in rows]
    assert len(named) == len(set(named))
    inside = {
        file.relative_to(KERNEL).as_posix()
        for file in KERNEL.rglob("*.py")
        if file.name != "__init__.py"
    }
    assert {path for path in named if not path.startswith("../")} == inside
    assert all((KERNEL / path).is_file() for path in named)


def test_tests_that_are_named_are_there() -> None:
    tests = Path(__file__).parents[2]
    there = {file.name for file in tests.rglob("test_*.py")}
    assert set(re.findall(r"test_[a-z_]+\.py", TEXT)) <= there


def test_so_much_is_to_be_read() -> None:
    for total, rows in chapters():
        assert abs(sum(lines(path) for path, _ in rows) - total) <= NEAR * total
        for path, said in rows:
            assert abs(lines(path) - said) <= max(5, NEAR * said), path
    assert sum(lines(path) for path, _ in chapters()[0][1]) <= MOST_OF_THE_CORE
