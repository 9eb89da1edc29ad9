"""How numbers and dates are written: which keys may say so, and that they count in the identity."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dprelease.errors import Complaint
from dprelease.ledger.identity import canonical_form
from dprelease.model import Release

Spoil = Callable[..., list[Complaint]]
CSV, PARQUET = 'path = "staff.csv"', 'path = "staff.parquet"'
SEEN = '[columns.seen]\ntype = "{}"\n{}'
ISO = 'format = "%Y-%m-%dT%H:%M:%S%z"\n'


@pytest.mark.parametrize(
    ("keys", "code", "said", "hint"),
    [
        ('decimal = ";"', "E105", '";" is no', '","'),
        ('delimiter = ";"\nthousands = "x"', "E229", '"x" is no mark', "apostrophe"),
        ('delimiter = ";"\nthousands = "."', "E229", "the decimal mark too", 'decimal = ","'),
        (
            'delimiter = ";"\ndecimal = ","\nthousands = ","',
            "E229",
            "the decimal mark too",
            'decimal = "."',
        ),
        ('decimal = ","', "E229", "the delimiter too", 'delimiter = ";"'),
        ('thousands = ","', "E229", "the delimiter too", "quote"),
        ('decimal = ","\nquote = ""', "E229", "the delimiter too", "quote"),
        ('delimiter = ";"\nquote = "\'"\nthousands = "\'"', "E229", "the quote too", "another"),
        ('multiline = true\nquote = ""', "E111", "never quoted", "leave multiline"),
        ("max_lines_per_record = 9", "E111", "records have one line", "multiline = true"),
        ("multiline = true\nmax_lines_per_record = 1", "E229", "one line", "leave it out"),
        ("multiline = true\nmax_lines_per_record = 10001", "E229", "more than 10000", "such as"),
        ("multiline = true\nmax_lines_per_record = 2.5", "E229", "no", "such as"),
    ],
)
def test_marks_that_are_refused(spoilt: Spoil, keys: str, code: str, said: str, hint: str) -> None:
    (complaint,) = spoilt((CSV, f"{CSV}\n{keys}"))
    assert complaint.code == code
    assert said in complaint.message
    assert hint in complaint.hint


@pytest.mark.parametrize(
    ("kind", "keys", "code", "said", "hint"),
    [
        ("string", 'format = "%d.%m.%Y"', "E111", "the column is string", "leave it out"),
        ("integer", 'zone = "UTC"', "E111", "the column is integer", "leave it out"),
        ("date", 'format = "%d.%m.%y"', "E254", "%y is not read", "%Y: two digits"),
        ("date", 'format = "%d. %b %Y"', "E254", "%b is not read", "%m"),
        ("date", 'format = "%d.%q.%Y"', "E254", "%q is not read", "known are %Y"),
        ("date", 'format = "dd.mm.yyyy"', "E254", "has no %d", '"%d.%m.%Y"'),
        ("date", 'format = "%d.%d.%Y"', "E254", "%d stands twice", "once"),
        ("date", 'format = "%d.%m.%Y %"', "E254", "% is not read", "%%"),
        ("date", 'format = "%d.%m.%Y %M"', "E254", "has no %H", ""),
        ("timestamp", 'format = "%d.%m.%Y"', "E254", "has no %H", 'type = "date"'),
        ("timestamp", 'zone = "Europe/Berlin"', "E111", "no %z", "%z"),
        ("timestamp", f'{ISO}zone = "Europe/Berlni"', "E254", "no time zone", '"Europe/Berlin"'),
        # Far down in a list of 600.
        ("timestamp", f'{ISO}zone = "US/Easten"', "E254", "no time zone", '"US/Eastern"'),
        ("date", 'format = "%d.%m.%Y"\nexpression = "DATE \'2026-01-31\'"', "E111", "computed", ""),
    ],
)
def test_formats_and_zones_that_are_refused(
    spoilt: Spoil,
    kind: str,
    keys: str,
    code: str,
    said: str,
    hint: str,
) -> None:
    before = '[[query]]\nname = "headcount"'
    (complaint,) = spoilt((before, f"{SEEN.format(kind, keys)}\n\n{before}"))
    assert complaint.code == code
    assert said in complaint.message
    assert hint in complaint.hint


@pytest.mark.parametrize("keys", ['decimal = ","', 'thousands = " "', "multiline = true"])
def test_files_with_types_have_no_marks(spoilt: Spoil, keys: str) -> None:
    complaint = spoilt((CSV, f"{PARQUET}\n{keys}"))[0]
    assert (complaint.code, complaint.place and complaint.place.line) == ("E111", 8)


def test_files_with_types_have_no_format(spoilt: Spoil) -> None:
    column = SEEN.format("date", 'format = "%d.%m.%Y"')
    (complaint,) = spoilt((CSV, f"{PARQUET}\n\n{column}"))
    assert complaint.code == "E111"
    assert "the file itself has types" in complaint.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CSV, f'{CSV}\ndelimiter = ";"\ndecimal = ","'),
        (CSV, f'{CSV}\ndelimiter = ";"\nthousands = "\'"'),
        (CSV, f'{CSV}\nquote = "\\""\ndecimal = ","'),
        (CSV, f"{CSV}\nmultiline = true"),
        (CSV, f"{CSV}\nmultiline = true\nmax_lines_per_record = 5"),
        ('[[query]]\nname = "headcount"', SEEN.format("date", 'format = "%d.%m.%Y"')),
        ('[[query]]\nname = "headcount"', SEEN.format("date", ISO)),
        ('[[query]]\nname = "headcount"', SEEN.format("date", f'{ISO}zone = "Europe/Berlin"')),
    ],
)
def test_they_are_of_the_identity(
    load_text: Callable[..., Release], simple: str, before: str, after: str
) -> None:
    """What changes the figures is another release; the defaults, stated, are the same one."""
    new = ("decimal", "thousands", "format", "zone", "multiline", "max_lines_per_record")
    plain = "\n".join(line for line in after.splitlines() if line.split(" ")[0] not in new)
    with_query = "" if before == CSV else f"\n\n{before}"
    one = load_text(simple.replace(before, after + with_query))
    other = load_text(simple.replace(before, plain + with_query))
    assert canonical_form(one) != canonical_form(other)
    assert '"decimal"' not in canonical_form(other)
    assert '"zone"' not in canonical_form(other)


def test_the_default_mark_may_be_stated(load_text: Callable[..., Release], simple: str) -> None:
    stated = load_text(simple.replace(CSV, f'{CSV}\ndecimal = "."\nmultiline = false'))
    assert canonical_form(stated) == canonical_form(load_text(simple))
