"""Sums of scores over more rows than are scored abreast, and over sums that 64 bits don't hold."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.engine import get
from tables import ENGINES, FORMS, T, asked, hidden, inputs, keyed, sql, written
from thorough import examples

from dprelease.model import AggregateRequest, Bound, Candidates, Grid

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.one_in(2),  # on one of the engines
]

TYPES = {"g": T.STRING, "h": T.STRING, "i": T.INTEGER, "p": T.INTEGER}
CELLS = ("a", "b", "c")
TEXTS = ("1", "-3", "12", "30")
SCORE = sql("CASE WHEN i >= candidate THEN i + LENGTH(h) END", "i", "h", "candidate")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(CELLS),
        st.sampled_from(["", "x", "xyz", None]),
        st.one_of(st.integers(-40, 40), st.none()),
        st.integers(1, 3),
    ),
    max_size=60,
)
SETTINGS = settings(
    deadline=None,
    max_examples=examples(8),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
Row = tuple[str, str | None, int | None, int]


def scores(upper: int) -> Candidates:
    return Candidates(TEXTS, T.INTEGER, SCORE, Grid(Fraction(1), 0, upper))


def expected(rows: list[Row], cell: str, candidate: int, form: str, upper: int) -> int:
    total = 0
    for g, h, i, _ in rows:
        # an empty field of CSV is a null, and a score that is null counts 0
        known = h is not None and (h or form.startswith("parquet"))
        if g == cell and known and h is not None and i is not None and i >= candidate:
            total += max(0, min(upper, i + len(h)))
    return total


@given(rows=ROWS, form=st.sampled_from(FORMS), upper=st.sampled_from([1, 25, 2**23, 2**52]))
@SETTINGS
def test_scores_of_many_rows(
    engine: str, tmp_path: Path, rows: list[Row], form: str, upper: int
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    request = AggregateRequest(
        source, inputs(TYPES), (keyed("g", CELLS),), (), scores=scores(upper)
    )
    found = [expected(rows, g, int(text), form, upper) for g in CELLS for text in TEXTS]
    assert asked(engine, request) == [found]
    # nobody has more rows than are kept
    request = AggregateRequest(
        source,
        inputs(TYPES),
        (keyed("g", CELLS),),
        (),
        scores=scores(upper),
        bound=Bound("p", 60, 3, 60, leading=1),
    )
    assert asked(engine, request) == [found]


@given(rows=ROWS, form=st.sampled_from(FORMS))
@SETTINGS
def test_scores_by_private_keys(engine: str, tmp_path: Path, rows: list[Row], form: str) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    request = AggregateRequest(source, inputs(TYPES), (hidden("g"),), (), scores=scores(25))
    table = get(engine).aggregate(request)
    (column,) = table.reveal()
    found = {
        key: list(column[place * len(TEXTS) : (place + 1) * len(TEXTS)])
        for place, (key,) in enumerate(table.reveal_keys())
    }
    assert found == {
        g: [expected(rows, g, int(text), form, 25) for text in TEXTS] for g, *_ in rows
    }


def test_scores_beyond_64_bits(engine: str, tmp_path: Path) -> None:
    rows = [("a", "x", number, 1) for number in range(20)] * 150
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    upper = 2**53 - 1
    best = Candidates(("1", "2"), T.INTEGER, sql("1e18 * candidate + i", "i", "candidate"),
                      Grid(Fraction(1), 0, upper))  # fmt: skip
    request = AggregateRequest(source, inputs(TYPES), (), (), scores=best)
    assert 3000 * upper > 2**64
    assert asked(engine, request) == [[3000 * upper, 3000 * upper]]


def test_a_score_without_columns_counts_every_row(engine: str, tmp_path: Path) -> None:
    rows = [(g, "x", 1, 1) for g in "aab" for _ in range(9)]
    source = written(tmp_path / "t", TYPES, rows, "csv")
    best = Candidates(("1", "2"), T.INTEGER, sql("candidate", "candidate"), Grid(Fraction(1), 0, 5))
    request = AggregateRequest(source, inputs(TYPES), (keyed("g", CELLS),), (), scores=best)
    assert asked(engine, request) == [[18, 36, 9, 18, 0, 0]]
