"""Whatever is written, a spec loads or is refused with exit code 2, places and remedies."""

from __future__ import annotations

import copy
import datetime
from decimal import Decimal

import pytest
import tomli
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import examples, some

from dprelease.errors import ExitCode, Failure
from dprelease.model import Release
from dprelease.specfile import load

EXTRA = """
[columns.age]
type = "integer"
bins = [0, 18, 65]
other = "older"
nulls = "older"
source = "public"

[columns.paid]
type = "decimal"
lower = 0
upper = 1000.5
step = 0.5
nulls = 3
source = "public"

[[query]]
name = "paid"
statistic = "sum"
column = "paid"
by = ["age", "region"]
weight = 2
mechanism = "gaussian"
delta = 1e-9
table = "extra"

[[query]]
name = "ages"
statistic = "histogram"
column = "age"
bins = [0, 10]
rho = 0.1

[report]
formats = ["md", "json"]
"""
UNIT = """unit = "column"
unit_column = "staff_id"
bounding = { max_rows_per_unit = 3, max_groups_per_unit = 2, max_rows_per_unit_per_group = 1 }
"""
PEOPLE = (
    EXTRA
    + """
[columns.city]
type = "string"

[[query]]
name = "cost"
statistic = "sum"
column = "paid"
by = ["city"]
partition_selection = { delta = 1e-8, epsilon = 0.1 }

[[query]]
name = "units"
statistic = "count_units"
mechanism = "laplace"

[[query]]
name = "quartiles"
statistic = "quantile"
column = "paid"
q = [0.25, 0.5]
candidates = [0, 0.5, 7]
mechanism = "exponential"

[[query]]
name = "cheapest"
statistic = "min"
column = "paid"

[[query]]
name = "usual"
statistic = "top_k"
column = "region"
k = 2

[[query]]
name = "price"
statistic = "best"
candidates = [1, 2.5]
score = "paid * candidate"
score_upper = 100
score_step = 0.5

[[query]]
name = "share"
statistic = "ratio"
numerator = { column = "paid", where = "paid > 1", statistic = "sum" }
denominator = "paid > 1"

[[query]]
name = "paying"
statistic = "proportion"
where = "paid > 1"
"""
)
TABLES = """
[[perturb]]
name = "answers"
columns = ["region", "paid"]
mechanism = { region = "subset-selection" }
weights = { paid = 0.5 }
epsilon = 0.5
delta = 1e-9

[[perturb]]
name = "guesses"
columns = ["age"]
mechanism = "auto"
truth = 0.5
"""
MISSING = object()
OFTEN = {"name", "by", "column", "mechanism"}  # in the other queries too
ODD = [
    None, True, 0, -1, 10**30, Decimal("NaN"), Decimal("-Infinity"), Decimal("1e999999"), 1.5, "",
    "\x00", "\ud800", "x" * 20_000, "../..", "{period}", [], [[]], [1, "a", None], ["", ""],
    ["region", "age"], {}, {"a": {"b": 1}}, datetime.date(2026, 1, 1), datetime.time(1),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), b"x", object(), {1}, 1j, "mean", "gaussian",
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
        assert isinstance(load(spec), Release)
    except Failure as failure:
        return failure
    return None


def iter_leaves(tree, path=()):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from iter_leaves(value, (*path, key))


def people(simple):
    return simple.replace('unit = "row"', UNIT) + PEOPLE


def records(simple):
    return simple.replace('"add-remove"', '"replace-one"') + EXTRA + TABLES


def test_the_spec_to_spoil_is_good(simple, tmp_path):
    file = tmp_path / "spec.toml"
    for text in (simple + EXTRA, people(simple), records(simple)):
        file.write_text(text)
        assert find_outcome(file) == []


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


def test_any_odd_value_anywhere(simple):
    whole = tomli.loads(simple + EXTRA, parse_float=Decimal)
    for path in iter_leaves(whole):
        for value in some(ODD, 5):
            find_outcome(spoil(whole, path, value))


def test_any_part_left_out(simple):
    whole = tomli.loads(people(simple), parse_float=Decimal)
    for path in iter_leaves(whole):
        find_outcome(spoil(whole, path, MISSING))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", range(8))
def test_any_odd_value_in_a_query_of_each_kind(simple, number):
    whole = tomli.loads(people(simple), parse_float=Decimal)
    whole["query"] = [whole["query"][4 + number]]
    for path in iter_leaves(whole["query"][0]):
        if path[0] not in OFTEN:
            for value in ODD:
                find_outcome(spoil(whole, ("query", 0, *path), value))


def test_any_odd_value_in_the_bounds_of_a_unit(simple):
    whole = tomli.loads(people(simple), parse_float=Decimal)
    whole["query"] = whole["query"][:2]
    for path in iter_leaves(
        {key: whole["privacy"][key] for key in ("unit", "unit_column", "bounding")}
    ):
        for value in ODD:
            find_outcome(spoil(whole, ("privacy", *path), value))


@pytest.mark.parametrize("alone", [False, True])
def test_any_odd_value_in_a_table_of_records(simple, alone):
    whole = tomli.loads(records(simple), parse_float=Decimal)
    if alone:
        del whole["query"]
        whole["privacy"]["adjacency"] = "add-remove"
    for path in iter_leaves({"perturb": whole["perturb"]}):
        for value in [MISSING, "laplace", "subset-selection", *([] if alone else some(ODD, 5))]:
            find_outcome(spoil(whole, path, value))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


PIECES = st.sampled_from(
    ["", "[", "]", "=", '"', "'", "\n", "#", ",", ".", "{", "}", "\\", "\t", "\x00", "\r", "é", "1",
     "-", "e", "[[query]]", "nan", "\ufeff", "\u2028", '"""', "by = []", "_"]
)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(edits=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 30), PIECES), max_size=3))
def test_any_damage_to_the_text(edits, folder):
    text = TEXT
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


TEXT = (
    """\
[release]
name = "r"
[data]
path = "staff.csv"
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 1.0
[columns.region]
type = "string"
keys = ["north", "south", "east"]
[columns."pay scale"]
type = "decimal"
lower = 0
upper = 10.5
[[query]]
name = "headcount"
statistic = "count"
by = ["region"]
[[query]]
name = "mean"
statistic = "mean"
column = "pay scale"
epsilon = 0.6
[output]
path = "out/staff"
"""
    + EXTRA.replace("[columns.age]", '[columns . "age"]')
    + TABLES
)
