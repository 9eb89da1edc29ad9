"""Grids, keys, bins and null replacements of columns."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dprelease.model import ColumnType
from dprelease.specfile.checks.columns.domains import find_bin_label, read_bins, write_bin_labels
from dprelease.specfile.checks.columns.grids import (
    LARGEST_STEPS,
    LEAST_STEPS,
    choose_default_step,
    make_grid,
)
from dprelease.specfile.complaints.reporter import Refused

DECIMAL = ColumnType.DECIMAL


def column(load_text, simple, text, extra=""):
    spec = simple.replace('path = "staff.csv"', f'path = "staff.csv"\n{extra}')
    return load_text(f"{spec}\n[columns.x]\nsource = 'public'\n{text}").columns["x"]


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        ("0", "1", "1/100000"),
        ("0", "100", "1/1000"),
        ("0", "99", "1/10000"),
        ("-1/2", "1/2", "1/100000"),
        ("0", "1000000", "10"),
        ("0.01", "500", "1/1000"),
        ("0.0001", "500000", "1/10000"),
        ("5", "1000000", "1"),
    ],
)
def test_the_default_step(lower, upper, step):
    assert choose_default_step(Fraction(lower), Fraction(upper)) == Fraction(step)


NUMBERS = st.builds(Fraction, st.integers(-(10**9), 10**9), st.sampled_from([1, 10, 10**4, 10**9]))


def find_refusal(lower, upper, step):
    try:
        make_grid(DECIMAL, lower, upper, step)
    except Refused as refused:
        return refused
    return None


@given(lower=NUMBERS, upper=NUMBERS)
def test_default_grids_divide_and_are_the_coarsest_allowed(lower, upper):
    refused = find_refusal(lower, upper, None)
    if refused is not None:
        assert refused.code == ("E206" if lower >= upper else "E208")
        return
    grid, chosen = make_grid(DECIMAL, lower, upper, None)
    assert chosen
    assert (grid.lower * grid.step, grid.upper * grid.step) == (lower, upper)
    assert grid.width >= LEAST_STEPS
    assert grid.magnitude <= LARGEST_STEPS
    coarser = grid.step * 10
    whole = (lower / coarser).denominator == 1 and (upper / coarser).denominator == 1
    assert not whole or (upper - lower) / coarser < LEAST_STEPS


@given(lower=NUMBERS, upper=NUMBERS, step=NUMBERS)
def test_declared_steps_divide_or_the_hint_names_one_that_does(lower, upper, step):
    if lower >= upper or step <= 0:
        return
    refused = find_refusal(lower, upper, step)
    if refused is None:
        grid, _ = make_grid(DECIMAL, lower, upper, step)
        assert (grid.lower * step, grid.upper * step) == (lower, upper)
    elif refused.code == "E208":
        assert max(abs(lower), abs(upper)) / step > LARGEST_STEPS
    else:
        assert refused.code == "E207"
        fitting = Fraction(refused.hint.split()[2])
        assert fitting <= step
        assert (lower / fitting).denominator == (upper / fitting).denominator == 1


@pytest.mark.parametrize(
    ("kind", "keys", "texts"),
    [
        ("integer", "[1, -2, 0x10]", ("1", "-2", "16")),
        ("decimal", "[1, 1.50, -0.0, 1e3, 100]", None),
        ("decimal", "[1, 1.50, -0.0, 1e3]", ("1", "1.5", "0", "1000")),
        ("boolean", "[true, false]", ("true", "false")),
        ("boolean", "[true]", ("true",)),
        ("date", "[2026-01-31, '2026-02-01']", ("2026-01-31", "2026-02-01")),
        (
            "timestamp",
            "[2026-01-31 12:00:00, '2026-01-31T12:00:00.5', 2026-02-01]",
            ("2026-01-31 12:00:00", "2026-01-31 12:00:00.500000", "2026-02-01 00:00:00"),
        ),
        ("string", "[' a', 'B']", (" a", "B")),
    ],
)
def test_keys_have_canonical_texts(load_text, simple, kind, keys, texts):
    if texts is None:
        texts = ("1", "1.5", "0", "1000", "100")
    assert column(load_text, simple, f"type = '{kind}'\nkeys = {keys}").keys == texts


@pytest.mark.parametrize(
    ("kind", "content", "keys"),
    [
        ("string", "a\r\nb c\r\n\r\n  \n d", ("a", "b c", " d")),
        ("string", "\ufeffé\n", ("é",)),
        ("string", "a\x0b", None),
        ("string", "a\u2028b", None),
        ("integer", "007\n+3\n-0", ("7", "3", "0")),
        ("integer", "1.0", None),
        ("integer", "9" * 5000, None),
        ("decimal", "1.50\n2e1", ("1.5", "20")),
        ("decimal", "1e999999999", None),
        ("boolean", "true", ("true",)),
        ("boolean", "yes", None),
        ("date", "2026-01-31", ("2026-01-31",)),
        ("string", "a\nb\na", None),
        ("string", "\n \n", None),
        ("string", b"\xff", None),
    ],
)
def test_keys_files(load_text, complaints, simple, tmp_path, kind, content, keys):
    file = tmp_path / "keys.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    text = f"type = '{kind}'\nkeys_file = 'keys.txt'"
    if keys is not None:
        assert column(load_text, simple, text).keys == keys
        return
    (found,) = complaints(f"{simple}\n[columns.x]\nsource = 's'\n{text}")
    assert found.code in ("E112", "E210", "E211")
    assert (found.key, found.place.line) == ("columns.x.keys_file", 48)
    assert found.hint


def test_lines_of_a_keys_file_are_never_shown(complaints, simple, tmp_path):
    (tmp_path / "k.txt").write_text("CANARY\nCANARY\n")
    for kind in ("string", "integer"):
        found = complaints(f"{simple}\n[columns.x]\ntype = '{kind}'\nkeys_file = 'k.txt'")
        assert "CANARY" not in "".join(map(str, found))
        assert "line " in found[0].message


def test_a_keys_file_that_is_a_directory(complaints, simple):
    found = complaints(f"{simple}\n[columns.x]\ntype = 'string'\nkeys_file = '.'")
    assert "E112" in [each.code for each in found]


@pytest.mark.parametrize(
    ("kind", "edges", "labels"),
    [
        ("integer", "[0, 10, 20]", ("[0, 10)", "[10, 20]")),
        ("float", "[-1.50, 0, 2e1]", ("[-1.5, 0)", "[0, 20]")),
        ("date", "[2026-01-01, 2026-02-01]", ("[2026-01-01, 2026-02-01]",)),
        (
            "timestamp",
            "[2026-01-01, '2026-01-01 00:00:00.5', 2026-01-01 00:00:01]",
            (
                "[2026-01-01 00:00:00, 2026-01-01 00:00:00.500000)",
                "[2026-01-01 00:00:00.500000, 2026-01-01 00:00:01]",
            ),
        ),
    ],
)
def test_bins(load_text, simple, kind, edges, labels):
    found = column(load_text, simple, f"type = '{kind}'\nbins = {edges}")
    assert write_bin_labels(found.edges) == labels


@pytest.mark.parametrize(
    ("kind", "edges", "hint"),
    [
        ("date", "[2026-01-01, 2026-02-01, 2026-03-01]", '"2026-02-28"'),
        ("date", "[2025-01-01, '2026-01-01']", '"2025-12-31"'),
        ("timestamp", "[2026-01-01, 2026-02-01 00:00:00]", '"2026-01-31 23:59:59.999999"'),
        ("date", "[2026-01-01, 2026-01-31]", ""),
        ("date", "[2026-01-05, 2026-02-01]", ""),
        ("timestamp", "[2026-01-01, 2026-02-01 00:00:01]", ""),
        ("integer", "[20260101, 20260201]", ""),
    ],
)
@pytest.mark.parametrize("place", ["column", "query"])
def test_a_last_bin_with_the_first_day_of_the_next_month(
    load_text, simple, place, kind, edges, hint
):
    declared = f"\n[columns.c]\ntype = '{kind}'\nsource = 's'\n"
    query = "\n[[query]]\nname = 'h'\nstatistic = 'histogram'\ncolumn = 'c'\n"
    bins = f"bins = {edges}\n"
    parts = [declared, bins, query] if place == "column" else [declared, query, bins]
    warnings = load_text(simple + "".join(parts)).warnings
    found = [warning for warning in warnings if warning.code == "W219"]
    assert len(found) == bool(hint)
    for warning in found:
        assert warning.hint.startswith(f"write {hint} if")
        assert warning.key.endswith(f".bins[{edges.count(',')}]")


@given(
    edges=st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True).map(sorted),
    value=st.integers(-60, 60),
)
def test_every_value_falls_into_the_bin_its_label_says(edges, value):
    texts = read_bins(ColumnType.INTEGER, edges)
    label = find_bin_label(ColumnType.INTEGER, texts, str(value))
    inside = edges[0] <= value <= edges[-1]
    assert (label is not None) == inside
    if label is not None:
        low, high = (int(part) for part in label[1:-1].split(", "))
        assert low <= value < high or (value == high == edges[-1])


@pytest.mark.parametrize(
    ("text", "null_value", "label"),
    [
        ("type = 'string'\nkeys = ['a', '?']\nnulls = '?'", "?", "?"),
        ("type = 'string'\nkeys = ['a']\nother = 'rest'\nnulls = 'rest'", "rest", "rest"),
        ("type = 'string'\nkeys = ['\u00e9']\nnulls = 'e\u0301'", "\u00e9", "\u00e9"),
        ("type = 'string'\nkeys = ['e\u0301']\nnulls = '\u00e9'", "e\u0301", "e\u0301"),
        (
            "type = 'string'\nkeys = ['a']\nother = 'e\u0301'\nnulls = '\u00e9'",
            "e\u0301",
            "e\u0301",
        ),
        ("type = 'string'\nkeys = ['a']\nnulls = 'drop'", None, None),
        ("type = 'integer'\nkeys = [1]\nother = 'rest'\nnulls = 'rest'", "rest", "rest"),
        ("type = 'integer'\nbins = [0, 5, 9]\nnulls = 5", "5", "[5, 9]"),
        ("type = 'integer'\nbins = [0, 9]\nother = 'rest'\nnulls = 'rest'", "rest", "rest"),
        ("type = 'boolean'\nnulls = false", "false", "false"),
        ("type = 'date'\nkeys = [2026-01-01]\nnulls = '2026-01-01'", "2026-01-01", "2026-01-01"),
    ],
)
def test_nulls_take_their_declared_path(load_text, simple, text, null_value, label):
    spec = simple.replace('by = ["region"]\nepsilon = 0.4', 'by = ["x"]\nepsilon = 0.4')
    release = load_text(f"{spec}\n[columns.x]\nsource = 's'\n{text}")
    assert release.columns["x"].null_value == null_value
    assert release.queries[0].groups[0].null_label == label


def test_other_is_the_last_label(load_text, simple):
    spec = simple.replace('source = "public: R', 'other = "rest"\nsource = "public: R')
    release = load_text(spec)
    assert release.queries[0].groups[0].labels == ("north", "south", "east", "rest")


def test_a_boolean_column_has_bounds_and_keys_by_itself(load_text, simple):
    spec = simple.replace('by = ["region"]\nepsilon = 0.4', 'by = ["b"]\nepsilon = 0.4')
    spec = spec.replace('column = "salary"', 'column = "b"')
    release = load_text(f"{spec}\n[columns.b]\ntype = 'boolean'")
    assert release.queries[0].groups[0].labels == ("false", "true")
    assert release.queries[1].column.grid.width == 1
    assert release.warnings == ()


def test_nulls_outside_the_bins_of_a_histogram_are_undeclared(load_text, simple):
    text = simple.replace('source = "public: stat', 'nulls = 20_000\nsource = "public: stat')
    text = text.replace(
        'statistic = "count"', 'statistic = "histogram"\ncolumn = "salary"\nbins = [0, 9]'
    )
    assert load_text(text).queries[0].groups[1].null_label is None


def test_the_grid_ends_where_exact_conversion_does():
    whole = ColumnType.INTEGER
    zero, last = Fraction(0), Fraction(2**53 - 1)
    assert find_refusal(zero, last, Fraction(1)) is None
    assert find_refusal(-last, zero, Fraction(1)) is None
    assert find_refusal(zero, last + 1, Fraction(1)).code == "E208"
    with pytest.raises(Refused) as caught:
        make_grid(whole, -last - 1, zero, None)
    assert (caught.value.code, caught.value.key) == ("E208", "upper")
