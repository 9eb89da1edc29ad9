"""How numbers and dates are written: which keys may say so, and that they count in the identity."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dprelease.ledger.identity import build_canonical_form
from dprelease.model import Release

CSV, PARQUET = 'path = "staff.csv"', 'path = "staff.parquet"'
SEEN = '[columns.seen]\ntype = "{}"\n{}'
ISO = 'format = "%Y-%m-%dT%H:%M:%S%z"\n'


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
    assert build_canonical_form(one) != build_canonical_form(other)
    assert '"decimal"' not in build_canonical_form(other)
    assert '"zone"' not in build_canonical_form(other)


def test_the_default_mark_may_be_stated(load_text: Callable[..., Release], simple: str) -> None:
    stated = load_text(simple.replace(CSV, f'{CSV}\ndecimal = "."\nmultiline = false'))
    assert build_canonical_form(stated) == build_canonical_form(load_text(simple))
