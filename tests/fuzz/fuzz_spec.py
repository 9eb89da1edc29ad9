"""Damaged specs, as texts and as trees: each loads and plans, or is refused in words.

python tests/fuzz/fuzz_spec.py --minutes 10
"""

from __future__ import annotations

import copy
import datetime
import re
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomli
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from timed import main  # noqa: E402

import dprelease  # noqa: E402
from dprelease.errors import ExitCode, Failure  # noqa: E402

TEXTS = [
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "release_specs").glob("*.toml"))
]
TREES = [tomli.loads(text, parse_float=Decimal) for text in TEXTS]
LINES = sorted({line for text in TEXTS for line in text.splitlines() if line.strip()})
WORDS = sorted({word for text in TEXTS for word in re.findall(r"[\w.-]+", text)})
NUMBERS = ["0", "-1", "1e400", "1e-400", "nan", "inf", "9" * 30, "0.1", "1e18", "-9e17", "0x10",
           "2147483648", "1_000", "1e-12", "3.0000000000001", "9" * 5000]  # fmt: skip
PIECES = ["", "[", "]", "=", '"', "'", "\n", "#", ",", ".", "{", "}", "\\", "\t", "\x00", "\r", "é",
          "-", "[[query]]", "[columns.x]", "\ufeff", "\u2028", '"""', "by = []", "_", "true", "[]",
          "\\u0000", "\\ud800", "../", "{period}", "[" * 99, "a." * 30]  # fmt: skip
EXPRESSIONS = ["x", "age > 1", "1 / 0", "(", "a || b", "CASE", "SELECT 1", "read_csv('x')", "; --",
               "urgent AND cost > 0", "candidate", "NOT " * 99, "LOWER(region) = 'x'", "NULL",
               "cost IN (1, 2)", "CAST(cost AS integer) % 7", "'" * 3, "waiting_days" * 20,
               "COALESCE(cost, 1) BETWEEN 1 AND 2", "YEAR(visit_date)"]  # fmt: skip
ODD = [
    None, True, 0, -1, 10**30, Decimal("NaN"), Decimal("-Infinity"), Decimal("1e999999"), 1.5, "",
    "\x00", "\ud800", "x" * 20_000, "../..", "{period}", [], [[]], [1, "a", None], ["", ""], {},
    {"a": {"b": 1}}, datetime.date(2026, 1, 1), datetime.time(1), b"x", {1}, 1j, [0] * 50,
    Decimal("1e-12"), Decimal("1e17"), 2**63, list(range(300)), ["region"] * 3,
]  # fmt: skip

SOME = st.integers(0, 10**6)
EDIT = st.one_of(
    st.tuples(st.just("cut"), SOME, st.integers(0, 40), st.sampled_from(PIECES)),
    st.tuples(st.just("number"), SOME, st.just(0), st.sampled_from(NUMBERS)),
    st.tuples(st.just("word"), SOME, st.just(0), st.sampled_from(WORDS + EXPRESSIONS)),
    st.tuples(st.just("line"), SOME, st.integers(0, 3), st.sampled_from(LINES)),
    st.tuples(st.just("twice"), SOME, st.integers(1, 300), st.just("")),
    st.tuples(st.just("byte"), SOME, st.integers(0, 255), st.just("")),
)
TREE_EDIT = st.one_of(
    st.tuples(st.just("odd"), SOME, st.sampled_from(ODD)),
    st.tuples(st.just("text"), SOME, st.sampled_from(WORDS + EXPRESSIONS)),
    st.tuples(st.just("gone"), SOME, st.just(None)),
    st.tuples(st.just("moved"), SOME, SOME),
    st.tuples(st.just("key"), SOME, st.sampled_from(WORDS)),
)
CASES = st.one_of(
    st.tuples(st.just("text"), SOME, st.lists(EDIT, max_size=6)),
    st.tuples(st.just("tree"), SOME, st.lists(TREE_EDIT, max_size=6)),
)
FOLDER = Path(tempfile.gettempdir())


def edited(text: str, edits: list[tuple[str, int, int, str]]) -> bytes:
    """The text with some damage done to it."""
    raw = text.encode()
    for kind, place, size, piece in edits:
        start = place % (len(raw) + 1)
        if kind == "cut":
            raw = raw[:start] + piece.encode() + raw[start + size :]
        elif kind in ("number", "word"):
            pattern = rb"-?[0-9][0-9_.e-]*" if kind == "number" else rb"[A-Za-z_][\w-]*"
            found = list(re.finditer(pattern, raw))
            if found:
                match = found[place % len(found)]
                raw = raw[: match.start()] + piece.encode() + raw[match.end() :]
        elif kind == "line":
            rows = raw.split(b"\n")
            at = place % len(rows)
            rows[at : at + size] = [piece.encode()]
            raw = b"\n".join(rows)
        elif kind == "twice":
            raw = raw[: start + size] + raw[start:]
        elif start < len(raw):
            raw = raw[:start] + bytes([size]) + raw[start + 1 :]
    return raw[:200_000]


def spots(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from spots(value, (*path, key))


def changed(whole: dict[str, Any], edits: list[tuple[str, int, Any]]) -> dict[str, Any]:
    """The tree with some of its parts replaced, removed, moved or renamed."""
    tree = copy.deepcopy(whole)
    for kind, place, value in edits:
        known = list(spots(tree))
        if not known:
            break
        path = known[place % len(known)]
        parent: Any = tree
        for key in path[:-1]:
            parent = parent[key]
        if kind == "gone":
            del parent[path[-1]]
        elif kind == "moved":
            other: Any = tree
            for key in known[value % len(known)]:
                other = other[key]
            parent[path[-1]] = copy.deepcopy(other)
        elif kind == "key" and isinstance(parent, dict):
            parent[value] = parent.pop(path[-1])
        else:
            parent[path[-1]] = copy.deepcopy(value)
    return tree


def check(case: tuple[str, int, list[Any]]) -> None:
    """Load and plan; anything but a release or a refusal in words escapes."""
    kind, number, edits = case
    spec: Any
    if kind == "tree":
        spec = changed(TREES[number % len(TREES)], edits)
    else:
        spec = FOLDER / f"dprelease-fuzz-{number % 4}.toml"
        spec.write_bytes(edited(TEXTS[number % len(TEXTS)], edits))
    found = refusal(spec)
    if found is None:
        return
    assert found.exit_code in (ExitCode.SPEC, ExitCode.BUDGET), found
    assert found.complaints
    for complaint in found.complaints:
        assert complaint.message
        assert complaint.hint, complaint
        assert str(complaint).isprintable()
        str(complaint).encode()


def refusal(spec: Any) -> Failure | None:
    """What is said against the spec, if anything is."""
    try:
        dprelease.plan(dprelease.load(spec))
    except Failure as failure:
        return failure
    return None


def use_folder(folder: Path) -> None:
    """Damaged texts are written here."""
    global FOLDER  # noqa: PLW0603 - one for a process
    FOLDER = folder


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        use_folder(Path(made))
        sys.exit(main(sys.argv[1:], "specs", check, CASES))
