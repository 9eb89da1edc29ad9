"""What any engine counts and adds up: measures, filters, scores and points, by plain loops."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tables import ENGINES, FORMS, T, asked, inputs, keyed, sql, written
from thorough import examples

from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Expression,
    Grid,
    Group,
    InputColumn,
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

M = MeasureKind
TYPES = {"g": T.STRING, "x": T.FLOAT, "i": T.INTEGER}
CELLS = ("a", "b")
X = Quantity("x", Grid(Fraction(1, 2), -7, 9))
FILLED = replace(X, null_fill=-3)
WEIGHT = Quantity("i", Grid(Fraction(1), 0, 2))  # a survey weight
HEAVY = replace(WEIGHT, null_fill=2)
SHARED = Expression("i >= 2 OR g = 'b'", ("i", "g"))

Row = tuple[str | None, float | None, int | None]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([*CELLS, "elsewhere", None]),
        st.sampled_from([0.0, 0.25, 0.75, 1.0, -1.5, 100.0, math.inf, -math.inf, math.nan, None]),
        st.sampled_from([0, 1, 2, 3, None]),
    ),
    max_size=20,
)
SETTINGS = settings(
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def grid_integer(x: float | None, fill: int | None) -> int | None:
    if x is None or math.isnan(x):
        return fill
    if math.isinf(x):
        return 9 if x > 0 else -7
    return max(-7, min(9, round(Fraction(x) * 2)))


def passes(row: Row) -> bool:
    g, _, i = row
    return (i is not None and i >= 2) or g == "b"


def weight_of(row: Row, weight: Quantity | None) -> int:
    """How often a row counts."""
    if weight is None:
        return 1
    i = weight.null_fill if row[2] is None else row[2]
    return 0 if i is None else min(i, 2)


def expected(rows: Sequence[Row], measure: Measure) -> list[int]:
    """The measure of column x or i in each of the cells."""
    totals = []
    for cell in CELLS:
        own = [row for row in rows if row[0] == cell and (not measure.where or passes(row))]
        if measure.kind in (M.RECORDS, M.UNITS):
            totals.append(sum(weight_of(row, measure.survey_weight) for row in own))
        elif measure.kind is M.DISTINCT:
            taken = {row[2] if measure.column == "i" else row[1] for row in own}
            totals.append(len({each for each in taken if each is not None and each == each}))
        else:
            assert measure.quantity is not None
            weights = [weight_of(row, measure.survey_weight) for row in own]
            found = [grid_integer(row[1], measure.quantity.null_fill) for row in own]
            known = [(k, w) for k, w in zip(found, weights, strict=True) if k is not None]
            power = {M.VALUES: 0, M.SUM: 1, M.SQUARES: 2}[measure.kind]
            totals.append(sum(w * k**power for k, w in known))
    return totals


MEASURES = tuple(
    measure
    for where in (None, SHARED)
    for measure in (
        Measure(M.RECORDS, where=where),
        Measure(M.UNITS, where=where),
        *(
            Measure(kind, quantity, where)
            for kind in (M.VALUES, M.SUM, M.SQUARES)
            for quantity in (X, FILLED)
        ),
        *(Measure(M.DISTINCT, None, where, column) for column in ("x", "i")),
        *(
            Measure(kind, quantity, where, survey_weight=weight)
            for kind, quantity in ((M.RECORDS, None), (M.VALUES, X), (M.SUM, X), (M.SUM, FILLED))
            for weight in (WEIGHT, HEAVY)
        ),
    )
)


@given(rows=ROWS, form=st.sampled_from(FORMS), filtered=st.booleans())
@SETTINGS
def test_measures_are_those_of_plain_loops(
    engine: str, tmp_path: Path, rows: list[Row], form: str, filtered: bool
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    where = sql("x < 2 AND i <> 1", "x", "i") if filtered else None
    request = AggregateRequest(source, inputs(TYPES), (keyed("g", CELLS),), MEASURES, where)
    left = rows
    if filtered:  # what is not true for a null is not true: the row is out
        left = [(g, x, i) for g, x, i in rows if x is not None and x < 2 and i in (0, 2, 3)]
    assert asked(engine, request) == [expected(left, measure) for measure in MEASURES]


def test_a_filter_can_read_columns_computed_from_others(engine: str, tmp_path: Path) -> None:
    rows = [("a", 1.0, 2), ("a", 4.0, 2), ("b", 9.0, None), ("b", None, 1)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    twice = InputColumn("twice", T.FLOAT, sql("per + per", "per"))
    per = InputColumn("per", T.FLOAT, sql("x / i", "x", "i"))
    quantity = Quantity("twice", Grid(Fraction(1), 0, 100))
    request = AggregateRequest(
        source,
        (twice, *inputs(TYPES), per),
        (keyed("g", CELLS),),
        (Measure(M.RECORDS), Measure(M.SQUARES, quantity), Measure(M.DISTINCT, column="per")),
        sql("twice IS NOT NULL AND twice > 1", "twice"),
    )
    assert asked(engine, request) == [[1, 0], [16, 0], [1, 0]]


def test_squares_are_wider_than_64_bits(engine: str, tmp_path: Path) -> None:
    top = 2**53
    rows = [("a", float(top), 1), ("a", -float(top), 1), ("b", 2.0**52, 1)] * 40
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    quantity = Quantity("x", Grid(Fraction(1), -top, top))
    request = AggregateRequest(
        source,
        inputs(TYPES),
        (keyed("g", CELLS),),
        (Measure(M.SQUARES, quantity), Measure(M.SUM, quantity)),
    )
    assert asked(engine, request) == [[80 * top**2, 40 * 2**104], [0, 40 * 2**52]]


def test_weighted_sums_are_wider_than_64_bits(engine: str, tmp_path: Path) -> None:
    top = 2**53 - 1
    rows = [("a", float(top), 2**40), ("b", -float(top), 2**40), ("b", 1.0, None)] * 40
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    quantity = Quantity("x", Grid(Fraction(1), -top, top))
    weight = Quantity("i", Grid(Fraction(1), 0, 2**40))
    measures = (
        Measure(M.SUM, quantity, survey_weight=weight),
        Measure(M.RECORDS, survey_weight=weight),
    )
    request = AggregateRequest(source, inputs(TYPES), (keyed("g", CELLS),), measures)
    whole = 40 * 2**40
    assert asked(engine, request) == [[whole * top, -whole * top], [whole, whole]]


# --- distinct values -----------------------------------------------------------------------------

TEXTS = [
    (T.INTEGER, ["1", "01", "1.0", "1e0", " 1", "x", "1.5", ""], 1),
    (T.INTEGER, ["9007199254740993", "9007199254740992", "-9007199254740993", "1e30"], 3),
    (T.FLOAT, ["0.1", ".10", "1e-1", "0", "-0.0", "nan", "NULL", ""], 2),
    (T.FLOAT, ["inf", "1e999", "-inf", "1e308"], 3),
    (T.DECIMAL, ["0.1", "0.10", "0.100", "+0.1", "0.2", "y"], 2),
    (T.STRING, ["a", "A", "é", "e\u0301", " a", "a ", "NULL", "01", "1", ""], 7),
    (T.BOOLEAN, ["true", "T", "1", "yes", "no", "maybe"], 2),
    (T.DATE, ["2026-01-31", "2026-01-31", "0001-01-01", "2026-02-30", "2026-1-31"], 2),
    (T.TIMESTAMP, ["2026-01-31 10:00:00", "2026-01-31T10:00:00.0", "2026-01-31 10:00:00.5"], 2),
]


@pytest.mark.parametrize(("kind", "texts", "number"), TEXTS)
def test_distinct_values_are_typed_ones(
    engine: str, tmp_path: Path, kind: T, texts: list[str], number: int
) -> None:
    path = tmp_path / "texts.csv"
    lines = [f"{text},{place}\n" for place, text in enumerate(texts)]
    path.write_text("c,n\n" + "".join(lines * 2), encoding="utf-8")
    source = Source(str(path), "csv")
    source = replace(source, dialect=replace(source.dialect, null_values=("", "NULL")))
    first = sql("n = 0", "n")
    request = AggregateRequest(
        source,
        inputs({"c": kind, "n": T.INTEGER}),
        (),
        (Measure(M.DISTINCT, column="c"), Measure(M.DISTINCT, where=first, column="c")),
    )
    assert asked(engine, request) == [[number], [1]]


TYPED = [
    (T.INTEGER, [1, -1, 2**62, 2**62 + 1, None], 4),
    (T.FLOAT, [0.5, 0.0, -0.0, math.nan, None], 2),
    (T.STRING, ["a", "A", "", None], 3),
    (T.BOOLEAN, [True, False, None], 2),
    (T.DATE, [date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 1), None], 2),
    (T.TIMESTAMP, [datetime(2026, 1, 31, 10, 0, 0, each) for each in (0, 1)], 2),
]


@pytest.mark.parametrize(("kind", "values", "number"), TYPED)
@pytest.mark.parametrize("form", ["parquet", "parquet files"])
def test_distinct_values_of_parquet(
    engine: str, tmp_path: Path, kind: T, values: list[object], number: int, form: str
) -> None:
    types = {"c": kind, "g": T.STRING}
    rows = [(value, g) for value in values * 2 for g in ("a", "elsewhere", "a")]
    source = written(tmp_path / "t", types, rows, form)
    count = (Measure(M.DISTINCT, column="c"),)
    request = AggregateRequest(source, inputs(types), (keyed("g", CELLS),), count)
    assert asked(engine, request) == [[number, 0]]


def test_distinct_values_are_counted_among_the_rows_that_are_kept(
    engine: str, tmp_path: Path
) -> None:
    types = {"p": T.INTEGER, "x": T.INTEGER}
    source = written(tmp_path / "t", types, [(p, x) for p in (1, 2) for x in range(9)], "csv")
    measures = (Measure(M.DISTINCT, column="x"), Measure(M.RECORDS))
    request = AggregateRequest(source, inputs(types), (), measures, bound=Bound("p", 3, 1, 3, 0))
    (distinct,), (records,) = asked(engine, request)
    assert records == 6
    assert 3 <= distinct <= 6


# --- scores of candidates ------------------------------------------------------------------------


def best(texts: Sequence[str], kind: T, score: Expression, grid: Grid) -> Candidates:
    return Candidates(tuple(texts), kind, score, grid)


ONE = Grid(Fraction(1), 0, 1)


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_row_major_and_on_their_grid(engine: str, tmp_path: Path, form: str) -> None:
    rows = [("a", 1.0, 1), ("a", 3.1, 1), ("b", 0.25, None), ("b", None, 1), ("b", -9.0, 1)]
    rows += [("a", math.inf, 1), ("a", -math.inf, 1), ("a", math.nan, 1), (None, 5.0, 1)]
    source = written(tmp_path / "t", TYPES, rows, form)
    scores = best(
        ["0.5", "2", "10"],
        T.DECIMAL,
        sql("x * candidate", "x", "candidate"),
        Grid(Fraction(1, 4), 0, 20),
    )
    request = AggregateRequest(source, inputs(TYPES), (keyed("g", CELLS),), (), scores=scores)
    # a: 1 and 3.1 (6.2 is 6), inf; b: 0.125 is half a step (0), 0.5, 2.5
    assert asked(engine, request) == [[2 + 6 + 20, 8 + 20 + 20, 20 + 20 + 20, 0, 2, 10]]
    request = replace(request, where=sql("i = 1", "i"))
    assert asked(engine, request) == [[2 + 6 + 20, 8 + 20 + 20, 20 + 20 + 20, 0, 0, 0]]


TYPED_CANDIDATES = [
    (T.STRING, ["a", "it's", "é"], "CASE WHEN c = candidate THEN 1 ELSE 0 END"),
    (T.INTEGER, ["3", "-4", "5"], "CASE WHEN c = candidate THEN 1 END"),
    (T.FLOAT, ["0.1", "-2", "1000"], "CAST(c = candidate AS integer)"),
    (T.BOOLEAN, ["true", "false"], "CASE WHEN candidate THEN CASE WHEN c THEN 1 END "
     "WHEN NOT c THEN 1 END"),
    (T.DATE, ["2026-01-31", "2024-02-29"], "CASE WHEN DATE_DIFF('day', c, candidate) = 0 THEN 1 "
     "ELSE 0 END"),
    (T.TIMESTAMP, ["2026-01-31 10:00:00", "2026-01-31 10:00:00.500000"],
     "CASE WHEN c = candidate THEN 2 END"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "texts", "score"), TYPED_CANDIDATES)
def test_a_candidate_is_a_literal_of_its_type(
    engine: str, tmp_path: Path, kind: T, texts: list[str], score: str
) -> None:
    path = tmp_path / "c.csv"
    lines = [f"{text}\n" * (place + 1) for place, text in enumerate(texts)]
    path.write_text("c\n" + "".join(lines) + "?\n", encoding="utf-8")
    scores = best(texts, kind, sql(score, "c", "candidate"), ONE)
    request = AggregateRequest(Source(str(path), "csv"), inputs({"c": kind}), (), (), scores=scores)
    assert asked(engine, request) == [list(range(1, len(texts) + 1))]


def test_a_score_need_not_read_the_candidate_or_a_column(engine: str, tmp_path: Path) -> None:
    source = written(tmp_path / "t", TYPES, [("a", 1.0, 1), ("b", 2.0, None)], "csv")
    grid = Grid(Fraction(1, 100), 0, 500)
    for text, columns, expected_ in (
        ("i", ("i",), [100, 100]),
        ("candidate", ("candidate",), [200, 600]),
        ("NULL", (), [0, 0]),
        ("LENGTH(g)", ("g",), [200, 200]),
        ("1e300 * 1e300", (), [1000, 1000]),
    ):
        scores = best(["1", "3"], T.INTEGER, Expression(text, columns), grid)
        request = AggregateRequest(source, inputs(TYPES), (), (), scores=scores)
        assert asked(engine, request) == [expected_], text


def test_scores_are_added_over_the_rows_that_are_kept(engine: str, tmp_path: Path) -> None:
    rows = [(g, 1.0, i) for i in (1, 2, 3) for g in ("a", "b") for _ in range(5)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    scores = best(["1", "2"], T.INTEGER, sql("candidate", "candidate"), Grid(Fraction(1), 0, 5))
    request = AggregateRequest(
        source,
        inputs(TYPES),
        (keyed("g", CELLS),),
        (),
        bound=Bound("i", 4, 1, 4, 1),
        scores=scores,
    )
    a1, a2, b1, b2 = asked(engine, request)[0]
    assert (a2, b2) == (2 * a1, 2 * b1)
    assert 3 <= a1 + b1 <= 12
    request = replace(request, bound=Bound("i", 4, 2, 4, 1))
    assert sum(asked(engine, request)[0]) == 12 + 24


# --- points --------------------------------------------------------------------------------------


@given(rows=ROWS, form=st.sampled_from(FORMS), fill=st.sampled_from([None, -3]))
@SETTINGS
def test_points_are_the_grid_integers_of_each_cell(
    engine: str, tmp_path: Path, rows: list[Row], form: str, fill: int | None
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    groups: tuple[Group, ...] = (keyed("g", CELLS), keyed("i", ("1", "2"), T.INTEGER, "none"))
    request = AggregateRequest(source, inputs(TYPES), groups, (), points=replace(X, null_fill=fill))
    counts = Counter(
        (CELLS.index(g) * 3 + (2 if i is None else i - 1), k)
        for g, x, i in rows
        if g in CELLS and i in (1, 2, None)
        for k in [grid_integer(x, fill)]
        if k is not None
    )
    found = sorted((cell, k, count) for (cell, k), count in counts.items())
    assert asked(engine, request) == [[each[place] for each in found] for place in range(3)]


@given(rows=ROWS, form=st.sampled_from(FORMS), weight=st.sampled_from([WEIGHT, HEAVY]))
@SETTINGS
def test_weighted_points_are_the_sums_of_weights_above_0(
    engine: str, tmp_path: Path, rows: list[Row], form: str, weight: Quantity
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    request = AggregateRequest(
        source, inputs(TYPES), (keyed("g", CELLS),), (), points=X, survey_weight=weight
    )
    counts: Counter[tuple[int, int]] = Counter()
    for row in rows:
        k = grid_integer(row[1], None)
        if row[0] in CELLS and k is not None and weight_of(row, weight):
            counts[CELLS.index(row[0]), k] += weight_of(row, weight)
    found = sorted((cell, k, count) for (cell, k), count in counts.items())
    assert asked(engine, request) == [[each[place] for each in found] for place in range(3)]


def test_points_of_a_filter_and_of_no_groups(engine: str, tmp_path: Path) -> None:
    rows = [("a", float(x % 5), x) for x in range(100)]
    source = written(tmp_path / "t", TYPES, rows, "csv files")
    request = AggregateRequest(
        source, inputs(TYPES), (), (), sql("x <> 3 AND i < 50", "x", "i"), points=X
    )
    assert asked(engine, request) == [[0] * 4, [0, 2, 4, 8], [10] * 4]
    nothing = replace(request, where=sql("i < 0", "i"))
    assert asked(engine, nothing) == [[], [], []]
