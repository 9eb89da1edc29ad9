"""Files that are no TOML end in one complaint with its place, and fast."""

from __future__ import annotations

import os
import time
from decimal import Decimal

import pytest

from dprelease.errors import ExitCode, Failure
from dprelease.model.source_registry import SUFFIXES
from dprelease.specfile import load
from dprelease.specfile.complaints.reporter import MOST_SHOWN
from dprelease.specfile.toml.syntax import MAX_BYTES, read_decimal


def one(found):
    assert len(found) == 1
    complaint = found[0]
    return complaint.code, complaint.place.line, complaint.place.column


def test_a_key_without_a_value(spoilt):
    found = spoilt(("epsilon = 1.0", "epsilon = "))
    assert one(found) == ("E001", 13, 11)
    assert found[0].message == 'Invalid value: `epsilon = ` has nothing after "="'


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "said"),
    [
        ("a = # note", "E001", 1, 5, 'Invalid value: `a = ` has nothing after "="'),
        ("a = ", "E001", 1, 5, "nothing after"),
        ("x = 1\nname = staff", "E001", 2, 8, "write texts in quotes"),
        ("x = 1\nname = 'staff\ny = 1", "E001", 2, 8, "not closed"),
        ("x = [1,\n\ny = 2", "E001", 3, 1, ""),
        ("a = [1, ", "E001", 1, 9, ""),
        ('a = ["\\', "E001", 1, 8, ""),
        ("name", "E001", 1, 5, "Expected '='"),
        ("a = 1\nb = 2\n  a = 3", "E002", 3, 3, '"a" is defined twice'),
        ("a = 1\na = 2\n\nb = 3", "E002", 2, 1, '"a" is defined twice'),
        ("[p]\nx=1\n[q]\n[p]\ny=1", "E002", 4, 1, '"[p]" is defined twice'),
        ("a = { x = 1, x = 2 }", "E002", 1, 14, "defined twice"),
        ("a = " + "9" * 5000, "E003", 1, 5, "too many digits"),
        ("x = 1\na = " + "9" * 1_000_000, "E003", 2, 5, "too many digits"),
        ("a = " + "[" * 1_000_000, "E004", 1, 1, "nested"),
        ("a = " + "{a=" * 300_000, "E004", 1, 1, "nested"),
        (".".join("a" * 20_000) + " = 1", "E004", 1, 1, "nested"),
        (".".join("a" * 40) + " = 1", "E004", 1, 33, "nested"),
        ("a = " + "[" * 40 + "]" * 40, "E004", 1, 21, "nested"),
        ("[" * 1_000_000, "E001", 1, 3, ""),
        ("\x00", "E001", 1, 1, ""),
        ('a = "\x00"', "E001", 1, 6, "Illegal character"),
        ("a = 1\rb = 2", "E001", 1, 6, ""),
        ("a = 2024-13-45", "E001", 1, 9, ""),
    ],
)
def test_broken_toml(complaints, text, code, line, column, said):
    started = time.perf_counter()
    found = complaints(text)
    assert one(found) == (code, line, column)
    assert said in found[0].message + found[0].hint
    assert found[0].hint
    assert len(str(found[0])) < 600
    assert time.perf_counter() - started < 3


def test_bytes_that_are_not_utf_8_are_placed(complaints):
    assert one(complaints("a = 1\nb = 'é".encode() + b"\xff'")) == ("E005", 2, 7)
    assert one(complaints("a = 1".encode("utf-16"))) == ("E006", 1, 1)
    assert one(complaints(b"\xef\xbb\xbfa = 1")) == ("E006", 1, 1)


def test_a_file_beyond_the_limit_is_not_parsed(complaints):
    assert one(complaints(b"#" * (MAX_BYTES + 1))) == ("E008", 1, 1)


@pytest.mark.parametrize("name", ["missing.toml", "", "a\x00b", "." * 5000])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(Failure) as caught:
        load(os.path.join(tmp_path, name) if name != "" else str(tmp_path))
    assert caught.value.exit_code is ExitCode.SPEC
    assert [each.code for each in caught.value.complaints] == ["E007"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"k{i} = 1" for i in range(100_000)),
        "[privacy]\n" + "\n".join(f"epsilon{i} = 1" for i in range(100_000)),
        "\n".join(f"[columns.c{i}]\ntyp = 1" for i in range(20_000)),
        "[[query]]\n" * 30_000,
        "".join(f"[[query]]\nname='q{i}'\nstatistic='sum'\ncolumn='c'\n" for i in range(10_000)),
        "a = [" + "1," * 200_000 + "]",
    ],
    ids=["keys", "section", "columns", "queries", "sums", "list"],
)
def test_huge_specs_end_quickly_with_a_bounded_list(complaints, text):
    started = time.perf_counter()
    found = complaints(text)
    assert time.perf_counter() - started < 15
    assert len(found) <= MOST_SHOWN + 1
    if len(found) > MOST_SHOWN:
        assert found[-1].code == "E108"


def test_decimals_beyond_any_range_are_only_marked():
    assert read_decimal("1_0.5") == Decimal("10.5")
    assert read_decimal("1e999999999999999999999").adjusted() > 10**6
    assert read_decimal("-1e-999999999999999999999").adjusted() < -(10**6)
    assert read_decimal("inf") == Decimal("Infinity")


@pytest.mark.parametrize("suffix", [*sorted(SUFFIXES.keys() - {".txt"}), ".zip", ".sqlite", ".db"])
def test_data_named_as_the_spec_is_not_opened(tmp_path, suffix):
    file = tmp_path / f"staff{suffix}"
    file.write_text("CANARY = CANARY\n")
    with pytest.raises(Failure) as caught:
        load(file)
    assert [each.code for each in caught.value.complaints] == ["E007"]
    assert "CANARY" not in str(caught.value)
