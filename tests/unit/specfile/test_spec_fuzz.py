"""Whatever is written, a spec loads or is refused with exit code 2, places and remedies."""

from __future__ import annotations

import copy
import datetime
from decimal import Decimal
from pathlib import Path

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples, some

from dprelease.errors import ExitCode, Failure
from dprelease.model import Release
from dprelease.specfile import load

FOLDER = Path(__file__).parents[3] / "release_specs"
# What each spec is given besides: keys that it does not use.
MORE = {
    "every_statistic_people": """
[[query]]
name = "spare"
statistic = "sum"
column = "waiting_days"
by = ["diagnosis_as_written"]
partition_selection = { delta = 1e-9, epsilon = 0.1 }
table = "costs"
weight = 2

[[query]]
name = "spare_price"
statistic = "best"
candidates = [1, 2.5]
score = "waiting_days * candidate"
score_upper = 100
score_step = 0.5
""",
    "every_statistic_rows": """
[[query]]
name = "spare"
statistic = "histogram"
column = "waiting_days"
bins = [0, 10, 180]
table = "extra"
mechanism = "gaussian"
rho = 0.1

[[query]]
name = "spare_share"
statistic = "ratio"
numerator = { column = "waiting_days", where = "waiting_days > 1", statistic = "sum" }
denominator = "waiting_days > 1"
epsilon = 0.5
delta = 1e-10
mechanism = "gaussian"

[report]
formats = ["md", "json"]
""",
    "clinic_records": """
[[perturb]]
name = "more"
columns = ["region", "waiting_days"]
mechanism = { region = "subset-selection" }
epsilon = 0.5
delta = 1e-9

[[perturb]]
name = "guesses"
columns = ["department"]
mechanism = "auto"
truth = 0.5
""",
}
SPECS = {
    name: (FOLDER / f"{name}.toml")
    .read_text(encoding="utf-8")
    .replace("\ndelta = 1e-8", "\ndelta = 1e-7")  # room for a second selection
    + more
    for name, more in MORE.items()
}
MISSING = object()
ODD = [
    MISSING, None, True, 0, -1, 10**30, Decimal("NaN"), Decimal("-Infinity"), Decimal("1e999999"),
    1.5, "", "\x00", "\ud800", "x" * 20_000, "../..", "{period}", [], [[]], [1, "a", None],
    ["", ""], ["region", "age"], {}, {"a": {"b": 1}}, datetime.date(2026, 1, 1), datetime.time(1),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), b"x", object(), {1}, 1j, "mean", "gaussian",
    "laplace", "subset-selection",
]  # fmt: skip


def find_outcome(spec):
    """Load, and give the complaints; anything but a release or a refusal escapes."""
    failure = find_refusal(spec)
    if failure is None:
        return []
    assert failure.exit_code is ExitCode.SPEC
    assert failure.complaints
    for complaint in failure.complaints:
        assert complaint.hint
        assert str(complaint).isprintable()
        str(complaint).encode()
    return failure.complaints


def find_refusal(spec):
    try:
        loaded = load(spec, base=str(FOLDER)) if isinstance(spec, dict) else load(spec)
        assert isinstance(loaded, Release)
    except Failure as failure:
        return failure
    return None


def iter_parts(tree):
    """Specs with all sections and one query or table of records, each with paths to spoil."""
    listed = [(name, each) for name in ("query", "perturb") for each in tree.get(name, [])]
    sections = {name: tree[name] for name in tree if name not in {"query", "perturb"}}
    yield sections | {listed[0][0]: [listed[0][1]]}, list(iter_paths(sections))
    for name, each in listed:
        yield sections | {name: [each]}, [(name, 0, *path) for path in iter_paths(each)]


def iter_paths(tree, path=()):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from iter_paths(value, (*path, key))


def spoil(whole, path, value):
    """A copy of the tree with another value at a path; without the path if there is no value."""
    tree = copy.deepcopy(whole)
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    if value is MISSING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return tree


@pytest.mark.parametrize("name", SPECS)
def test_any_odd_value_anywhere(name):
    tree = tomli.loads(SPECS[name], parse_float=Decimal)
    assert find_outcome(tree) == []
    cases = [
        (part, path, value) for part, paths in iter_parts(tree) for path in paths for value in ODD
    ]
    for part, path, value in some(cases, 15):
        find_outcome(spoil(part, path, value))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


PIECES = st.sampled_from(
    ["", "[", "]", "=", '"', "'", "\n", "#", ",", ".", "{", "}", "\\", "\t", "\x00", "\r", "é", "1",
     "-", "e", "[[query]]", "nan", "\ufeff", "\u2028", '"""', "by = []", "_"]
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(
    text=st.sampled_from(list(SPECS.values())),
    edits=st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 30), PIECES), max_size=3),
)
def test_any_damage_to_the_text(text, edits, folder):
    for place, length, piece in edits:
        start = place % (len(text) + 1)
        text = text[:start] + piece + text[start + length :]
    file = folder / "spec.toml"
    file.write_bytes(text.encode())
    lines = text.replace("\r\n", "\n").split("\n")
    for complaint in find_outcome(file):
        place = complaint.place
        assert place.file == str(file)
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1
