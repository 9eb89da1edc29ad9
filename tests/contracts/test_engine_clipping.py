"""What any engine makes of people whose totals are scaled, in exact integers of any size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import isqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle.clipping import scaled
from tables import ENGINES, FORMS, T, asked, drawing, inputs, keyed, sql, written

from dprelease.model import (
    AggregateRequest,
    Bound,
    Clip,
    ClipNorm,
    Grid,
    Measure,
    MeasureKind,
    Quantity,
    Source,
)

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.one_in(2),  # on one of the engines
    pytest.mark.usefixtures("kept_sessions"),
]

TYPES = {"p": T.STRING, "g": T.STRING, "x": T.INTEGER}
PEOPLE, CELLS = ("ann", "bob", "cy"), ("a", "b", "c")
MOST = 2**50
LARGE = 2**53 - 1
QUANTITY = Quantity("x", Grid(Fraction(1), -LARGE, LARGE))
SUM, COUNT = Measure(MeasureKind.SUM, QUANTITY), Measure(MeasureKind.RECORDS)

Row = tuple[str | None, str | None, int | None]

VALUES = st.none() | st.integers(-9, 9) | st.integers(-LARGE, LARGE)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([*PEOPLE, None]), st.sampled_from([*CELLS, "elsewhere", None]), VALUES
    ),
    max_size=25,
)
CLIPS = st.builds(
    Clip,
    norm=st.sampled_from(ClipNorm),
    bound=st.integers(1, 20) | st.integers(1, MOST) | st.just(MOST),
)
SETTINGS = drawing(30)


def sums(
    engine: str, source: Source, clip: Clip, measure: Measure = SUM, *, null_unit: bool = False
) -> list[int]:
    """The sums of what remains, cell by cell."""
    bound = Bound("p", 0, 0, 0, 1, null_unit=null_unit, clip=clip)
    groups = (keyed("g", CELLS),)
    request = AggregateRequest(source, inputs(TYPES), groups, (measure,), bound=bound)
    (column,) = asked(engine, request)
    return column


def norm(column: Sequence[int], clip: Clip) -> int:
    """The norm of a vector, rounded up."""
    if clip.norm is ClipNorm.L1:
        return sum(map(abs, column))
    squares = sum(entry**2 for entry in column)
    return isqrt(max(squares - 1, 0)) + 1


def remains(rows: Iterable[Row], clip: Clip, measure: Measure) -> list[int]:
    """What remains of one person's rows, by the definition."""
    totals = dict.fromkeys(CELLS, 0)
    for _, cell, value in rows:
        if cell in totals:
            totals[cell] += 1 if measure is COUNT else value or 0
    rest = scaled({(cell,): total for cell, total in totals.items()}, clip)
    return [rest[cell,] for cell in CELLS]


@given(rows=ROWS, clip=CLIPS, form=st.sampled_from(FORMS), counts=st.booleans())
@SETTINGS
def test_totals_are_scaled_person_by_person(
    engine: str, tmp_path: Path, rows: list[Row], clip: Clip, form: str, counts: bool
) -> None:
    measure = COUNT if counts else SUM
    expected = [0, 0, 0]
    for person in PEOPLE:
        own = remains([row for row in rows if row[0] == person], clip, measure)
        assert norm(own, clip) <= clip.bound
        expected = [total + entry for total, entry in zip(expected, own, strict=True)]
    source = written(tmp_path / "rows", TYPES, rows, form)
    assert sums(engine, source, clip, measure) == expected
    nobody = remains([row for row in rows if row[0] is None], clip, measure)
    with_them = [total + entry for total, entry in zip(expected, nobody, strict=True)]
    assert sums(engine, source, clip, measure, null_unit=True) == with_them


@given(values=st.lists(st.integers(0, MOST), min_size=3, max_size=3), bound=st.integers(1, MOST))
@SETTINGS
def test_roots_are_exact(engine: str, tmp_path: Path, values: list[int], bound: int) -> None:
    """One row in each cell, so that the totals are any integers."""
    rows = [("ann", cell, value) for cell, value in zip(CELLS, values, strict=True)]
    source = written(tmp_path / "rows", TYPES, rows, "parquet")
    clip = Clip(ClipNorm.L2, bound)
    assert sums(engine, source, clip) == remains(rows, clip, SUM)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("root", [1, 2, 3, 2**26, 2**26 + 1, 3 * 2**40 + 1, 2**49 - 1])
@pytest.mark.parametrize("apart", [-1, 0, 1])
def test_squares_and_their_neighbours_have_their_roots(
    engine: str, tmp_path: Path, root: int, apart: int
) -> None:
    """Of 9 r^2 + 16 r^2 the root is 5 r; one cell one step more or less is beside that."""
    rows = [("ann", "a", 3 * root), ("ann", "b", 4 * root + apart)]
    if max(value for _, _, value in rows) > MOST:
        rows = [("ann", "a", root), ("ann", "b", abs(apart))]
    source = written(tmp_path / "rows", TYPES, rows, "parquet")
    for bound in (1, 5 * root - 1, 5 * root, min(5 * root + 1, MOST)):
        clip = Clip(ClipNorm.L2, min(bound, MOST))
        assert sums(engine, source, clip) == remains(rows, clip, SUM)


@pytest.mark.parametrize("power", [2**25, 2**40, 2**49])
def test_a_root_just_above_a_power_of_two_is_exact(engine: str, tmp_path: Path, power: int) -> None:
    """There the search for the root begins furthest off."""
    rows: list[Row] = [("ann", "a", power + 1), ("ann", "b", 1)]
    source = written(tmp_path / "rows", TYPES, rows, "parquet")
    clip = Clip(ClipNorm.L2, power)
    assert sums(engine, source, clip) == remains(rows, clip, SUM) == [power - 1, 0, 0]


def test_nothing_overflows(engine: str, tmp_path: Path) -> None:
    """Totals whose squares have more than 127 bits, and of both signs; each counts 2^50 at most."""
    often = zip("abc", (1, -1, 1), (2000, 3, 1), strict=True)
    rows = [("ann", cell, sign * LARGE) for cell, sign, number in often for _ in range(number)]
    source = written(tmp_path / "rows", TYPES, rows, "parquet")
    for clip in (Clip(kind, bound) for kind in ClipNorm for bound in (1, 1000, MOST)):
        found = sums(engine, source, clip)
        assert found == remains(rows, clip, SUM)
        assert norm(found, clip) <= clip.bound


def test_rows_that_fail_the_filter_do_not_count(engine: str, tmp_path: Path) -> None:
    rows: list[Row] = [("ann", "a", 6), ("ann", "b", 1000), ("ann", "b", 8), ("bob", "a", 1000)]
    source = written(tmp_path / "rows", TYPES, rows, "parquet")
    bound = Bound("p", 0, 0, 0, 1, clip=Clip(ClipNorm.L2, 5))
    request = AggregateRequest(
        source, inputs(TYPES), (keyed("g", CELLS),), (SUM,), where=sql("x < 100", "x"), bound=bound
    )
    assert asked(engine, request) == [[3, 4, 0]]
