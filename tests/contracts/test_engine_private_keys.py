"""Groups without public keys: the combinations that occur, each by the one text of its values."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import ENGINES, FORMS, T, asked, by_key, hidden, inputs, keyed, sql, written
from thorough import examples

from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Dialect,
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
COUNT = (Measure(M.RECORDS),)
TYPES = {"p": T.INTEGER, "a": T.STRING, "b": T.STRING, "x": T.INTEGER}
X = Quantity("x", Grid(Fraction(1), 0, 100))
SETTINGS = settings(
    deadline=None,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TEXTS: list[tuple[T, dict[str, int], list[str]]] = [
    (
        T.INTEGER,
        {"7": 5, "-3": 1, "0": 2, "9007199254740993": 1, "1000": 1},
        ["7", "07", "+7", "7.0", " 7 ", "-3", "-0", "0", "9007199254740993", "1e3", "x", "1.5"],
    ),
    (
        T.FLOAT,
        {"0.1": 3, "0": 2, "12": 2, "-2.5": 1, "0.00001": 1, "1" + "0" * 23: 1, "inf": 2,
         "-inf": 1},
        ["0.1", ".10", "1e-1", "-0.0", "0", "12", "12.0", "-2.5", "1e-5", "1e23", "inf", "1e999",
         "-inf", "nan", "y"],
    ),
    (
        T.DECIMAL,
        {"0.1": 2, "1.005": 1, "100": 2, "123456.789": 1, "-7": 1},
        ["0.1", "0.10", "1.005", "100.00", "1e2", "123456.789", "-7", ""],
    ),
    (T.STRING, {"a": 1, "A": 1, "01": 1, "1": 1, " a": 1, "é": 1, "=cmd()": 1, "null": 1},
     ["a", "A", "01", "1", " a", "é", "=cmd()", "null", "NULL", ""]),
    (T.BOOLEAN, {"true": 4, "false": 2}, ["true", "T", "1", "yes", "0", "False", "on"]),
    (T.DATE, {"2026-01-31": 2, "0001-01-01": 1, "9999-12-31": 1},
     ["2026-01-31", "2026-01-31", "0001-01-01", "9999-12-31", "2026-02-30", "31.1.2026"]),
    (
        T.TIMESTAMP,
        {"2026-01-31 10:00:00": 3, "2026-01-31 10:00:00.500000": 2, "0001-01-01 00:00:00": 1,
         "2026-01-31 10:00:00.000001": 1},
        ["2026-01-31 10:00:00", "2026-01-31T10:00:00", "2026-01-31 10:00:00.000",
         "2026-01-31 10:00:00.5", "2026-01-31T10:00:00.500", "0001-01-01 00:00:00",
         "2026-01-31 10:00:00.000001999", "2026-01-31", "z"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "labels", "texts"), TEXTS, ids=[each[0] for each in TEXTS])
@pytest.mark.parametrize("null", [None, "none"])
def test_a_label_is_the_one_text_of_its_value(
    engine: str,
    tmp_path: Path,
    kind: T,
    labels: dict[str, int],
    texts: list[str],
    null: str | None,
) -> None:
    path = tmp_path / "keys.csv"
    path.write_text("k,y\n" + "".join(f"{text},1\n" for text in texts), encoding="utf-8")
    source = Source(str(path), "csv", Dialect(null_values=("", "NULL")))
    request = AggregateRequest(source, inputs({"k": kind}), (hidden("k", kind, null),), COUNT)
    expected = {(label,): [count] for label, count in labels.items()}
    nulls = len(texts) - sum(labels.values())
    if null and nulls:
        expected["none",] = [nulls]
    assert by_key(engine, request) == expected


@pytest.mark.parametrize("form", ["parquet", "parquet files"])
def test_labels_of_parquet(engine: str, tmp_path: Path, form: str) -> None:
    columns: list[tuple[T, list[object], list[str]]] = [
        (T.INTEGER, [2**62 + 1, -5, None], ["4611686018427387905", "-5", "none"]),
        (T.FLOAT, [2.50, -0.0, float("nan")], ["2.5", "0", "none"]),
        (T.STRING, ["a b", "", None], ["a b", "", "none"]),
        (T.BOOLEAN, [True, False, None], ["true", "false", "none"]),
        (
            T.TIMESTAMP,
            [datetime(2026, 1, 31, 10), datetime(2026, 1, 31, 10, 0, 0, 20), None],
            ["2026-01-31 10:00:00", "2026-01-31 10:00:00.000020", "none"],
        ),
    ]
    for kind, values, labels in columns:
        source = written(tmp_path / "t", {"k": kind}, [(value,) for value in values], form)
        group = hidden("k", kind, "none")
        request = AggregateRequest(source, inputs({"k": kind}), (group,), COUNT)
        assert by_key(engine, request) == {(label,): [1] for label in labels}


def test_texts_of_any_kind_are_told_apart(engine: str, tmp_path: Path) -> None:
    texts = ["a", "a ", " a", "a  ", "'", '"', "a,b", "a|b", "\\", "x" * 1000, "😀", "e", "\u00e9"]
    texts += ["\u0301", "\ufffd", "\u200b", "\\n", "\\x41", "0", "None", "NULL"]
    rows = [(None, a, b, 1) for a in texts for b in texts]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    request = AggregateRequest(source, inputs(TYPES), (hidden("a"), hidden("b")), COUNT)
    assert by_key(engine, request) == {(a, b): [1] for a in texts for b in texts}


ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, None]),
        st.sampled_from(["u", "v", "w", "none", None]),
        st.sampled_from(["k", "l", "elsewhere", None]),
        st.sampled_from([0, 1, 7, None]),
    ),
    max_size=20,
)
MEASURES = (
    *COUNT,
    Measure(M.SUM, X),
    Measure(M.DISTINCT, column="x"),
    Measure(M.RECORDS, where=sql("x = 7", "x")),
)


@given(rows=ROWS, form=st.sampled_from(FORMS), null=st.sampled_from([None, "none"]))
@SETTINGS
def test_combinations_that_occur_and_no_others(
    engine: str,
    tmp_path: Path,
    rows: list[tuple[int | None, str | None, str | None, int | None]],
    form: str,
    null: str | None,
) -> None:
    """Private beside public groups; a null whose label is somebody's value shares its cell."""
    source = written(tmp_path / "t", TYPES, rows, form)
    public = Group("b", T.STRING, ("k", "l", "rest"), keys=("k", "l"), other="rest")
    expected: dict[tuple[str, ...], list[int]] = {}
    values: dict[tuple[str, ...], set[int]] = {}
    for _, a, b, x in rows:
        if b is None or (a is None and null is None):
            continue
        key = (a or "none", b if b in ("k", "l") else "rest")
        found = expected.setdefault(key, [0, 0, 0, 0])
        if x is not None:
            values.setdefault(key, set()).add(x)
        changes = (1, x or 0, 0, x == 7)
        expected[key] = [old + int(new) for old, new in zip(found, changes, strict=True)]
        expected[key][2] = len(values.get(key, ()))
    groups = (hidden("a", null=null), public)
    request = AggregateRequest(source, inputs(TYPES), groups, MEASURES)
    assert by_key(engine, request) == expected
    turned = {(b, a): found for (a, b), found in expected.items()}
    assert by_key(engine, replace(request, groups=groups[::-1])) == turned


@pytest.mark.parametrize("form", FORMS)
def test_where_nothing_occurs_there_are_no_keys(engine: str, tmp_path: Path, form: str) -> None:
    rows = [(1, "u", "k", 1), (2, "v", "k", 2), (3, None, "k", 9)]
    source = written(tmp_path / "t", TYPES, rows, form)
    request = AggregateRequest(
        source, inputs(TYPES), (hidden("a"),), (*COUNT, Measure(M.SUM, X)), sql("x > 5", "x")
    )
    table = get(engine).aggregate(request)
    assert list(table.reveal_keys()) == []
    assert [list(column) for column in table.reveal()] == [[], []]


def test_a_filter_hides_keys_and_a_condition_of_a_measure_does_not(
    engine: str, tmp_path: Path
) -> None:
    rows = [(1, "u", "k", 1), (2, "v", "k", 2), (3, "v", "k", None)]
    source = written(tmp_path / "t", TYPES, rows, "csv")
    two = sql("x = 2", "x")
    request = AggregateRequest(
        source, inputs(TYPES), (hidden("a"),), (Measure(M.RECORDS, where=two),)
    )
    assert by_key(engine, request) == {("u",): [0], ("v",): [1]}
    assert by_key(engine, replace(request, where=two)) == {("v",): [1]}


def test_a_computed_column_can_be_a_private_group(engine: str, tmp_path: Path) -> None:
    rows = [(1, "u", "k", 10), (2, "v", "k", 5), (3, "v", "k", None)]
    source = written(tmp_path / "t", TYPES, rows, "parquet")
    half = InputColumn("half", T.DECIMAL, sql("x / 4", "x"))
    request = AggregateRequest(
        source, (*inputs(TYPES), half), (hidden("half", T.DECIMAL, "none"),), COUNT
    )
    assert by_key(engine, request) == {("2.5",): [1], ("1.25",): [1], ("none",): [1]}


# --- with what one unit may add ------------------------------------------------------------------


@given(
    rows=ROWS,
    form=st.sampled_from(FORMS),
    bound=st.builds(
        Bound,
        column=st.just("p"),
        rows=st.sampled_from([1, 3, 99]),
        groups=st.sampled_from([1, 2, 99]),
        per_group=st.sampled_from([1, 99]),
        leading=st.just(2),
        salt=st.integers(0, 2**64 - 1),
    ),
)
@SETTINGS
def test_a_unit_reveals_no_more_keys_than_cells_it_may_be_in(
    engine: str,
    tmp_path: Path,
    rows: list[tuple[int | None, str | None, str | None, int | None]],
    form: str,
    bound: Bound,
) -> None:
    source = written(tmp_path / "t", TYPES, rows, form)
    groups = (hidden("a"), keyed("b", ("k", "l")))
    request = AggregateRequest(
        source, inputs(TYPES), groups, (*COUNT, Measure(M.UNITS)), bound=bound
    )
    found = by_key(engine, request)
    there: Counter[tuple[str, ...]] = Counter(
        (a, b) for p, a, b, _ in rows if p is not None and a is not None and b in ("k", "l")
    )
    assert set(found) <= set(there)
    assert all(1 <= found[key][0] <= there[key] for key in found)
    assert all(1 <= units <= min(2, count) for count, units in found.values())
    cells = {p: {row[1:3] for row in rows if row[0] == p and row[1:3] in there} for p in (1, 2)}
    sizes = {p: sum(row[0] == p and row[1:3] in there for row in rows) for p in (1, 2)}
    limit = min(bound.rows, bound.groups)
    assert sum(units for _, units in found.values()) <= sum(
        min(limit, len(cells[p])) for p in (1, 2)
    )
    assert sum(count for count, _ in found.values()) <= sum(
        min(bound.rows, sizes[p]) for p in (1, 2)
    )
    if bound.rows == bound.groups == bound.per_group == 99:
        assert {key: count for key, (count, _) in found.items()} == there


def test_a_private_cell_counts_like_a_public_one(engine: str, tmp_path: Path) -> None:
    """Alone in the table, one person of one row in each of fifty cells keeps three of them."""
    rows = [(1, f"v{number}", "k", 1) for number in range(50)]
    source = written(tmp_path / "t", TYPES, rows, "csv")
    chosen = set()
    for salt in range(5):
        request = AggregateRequest(
            source,
            inputs(TYPES),
            (hidden("a"),),
            COUNT,
            bound=Bound("p", 99, 3, 99, leading=1, salt=salt),
        )
        found = by_key(engine, request)
        assert list(found.values()) == [[1]] * 3
        chosen.add(frozenset(found))
    assert len(chosen) == 5


# --- scores and points ---------------------------------------------------------------------------


def test_scores_and_points_go_by_the_keys_that_occur(engine: str, tmp_path: Path) -> None:
    rows = [(1, "u", "k", 1), (1, "u", "k", 3), (2, "v", "k", 3), (3, "w", "k", None)]
    source = written(tmp_path / "t", TYPES, rows, "parquet files")
    plain = AggregateRequest(source, inputs(TYPES), (hidden("a"),), ())
    score = sql("x * candidate", "x", "candidate")
    grid = Grid(Fraction(1), 0, 100)
    scored = get(engine).aggregate(
        replace(plain, scores=Candidates(("1", "10"), T.INTEGER, score, grid))
    )
    (column,) = (list(each) for each in scored.reveal())
    pairs = dict(zip((key for (key,) in scored.reveal_keys()), pairwise(column), strict=True))
    assert pairs == {"u": (4, 40), "v": (3, 30), "w": (0, 0)}
    table = get(engine).aggregate(replace(plain, points=X))
    keys = [key for (key,) in table.reveal_keys()]
    cells, points, counts = (list(each) for each in table.reveal())
    assert sorted(keys) == ["u", "v", "w"]  # of w there is a record, if no point
    triples = list(zip(cells, points, counts, strict=True))
    assert triples == sorted(triples)
    assert {(keys[cell], k): count for cell, k, count in triples} == {
        ("u", 1): 1,
        ("u", 3): 1,
        ("v", 3): 1,
    }


def pairwise(column: list[int]) -> list[tuple[int, int]]:
    return list(zip(column[::2], column[1::2], strict=True))


PUBLIC = Group("b", T.STRING, ("k", "l", "rest"), keys=("k", "l"), other="rest")
AXIS = Group("x", T.INTEGER, ("0", "7", "more"), keys=("0", "7"), other="more")
NULLS = st.sampled_from([None, "none"])
BOUND = Bound("p", 99, 99, 99, leading=2, salt=5)  # nobody has more


def placed(
    row: tuple[int | None, str | None, str | None, int | None],
    groups: tuple[Group, ...],
    bound: Bound | None,
) -> tuple[str, ...] | None:
    """The labels of a row in the groups over a and b."""
    p, a, b, _ = row
    labels = {"a": a if a is not None else next(g.null_label for g in groups if g.private),
              "b": None if b is None else b if b in ("k", "l") else "rest"}  # fmt: skip
    found = tuple(label for g in groups if (label := labels[g.column]) is not None)
    return found if len(found) == 2 and (bound is None or p is not None) else None


@given(
    rows=ROWS,
    form=st.sampled_from(FORMS),
    null=NULLS,
    turned=st.booleans(),
    bound=st.sampled_from([None, BOUND]),
    where=st.sampled_from([None, 7]),
)
@settings(parent=SETTINGS, max_examples=examples(20))
def test_what_quantiles_and_choices_ask_for_by_private_keys(
    engine: str,
    tmp_path: Path,
    rows: list[tuple[int | None, str | None, str | None, int | None]],
    form: str,
    null: str | None,
    turned: bool,
    bound: Bound | None,
    where: int | None,
) -> None:
    """Points, scores, and counts by the labels of an axis: as ``ExactTable`` says."""
    source = written(tmp_path / "t", TYPES, rows, form)
    groups = (hidden("a", null=null), PUBLIC)[:: -1 if turned else 1]
    located = [
        (key, row[3])
        for row in rows
        if (key := placed(row, groups, bound)) is not None and where in {None, row[3]}
    ]
    plain = AggregateRequest(
        source, inputs(TYPES), groups, (), None if where is None else sql("x = 7", "x"), bound
    )

    table = get(engine).aggregate(replace(plain, points=X))
    keys = list(table.reveal_keys())
    assert Counter(keys) == Counter({key for key, _ in located})
    triples = list(zip(*(list(each) for each in table.reveal()), strict=True))
    assert triples == sorted(triples)
    points = Counter((key, x) for key, x in located if x is not None)
    assert {(keys[cell], k): often for cell, k, often in triples} == points
    assert len(triples) == len(points)

    score = sql("CASE WHEN x >= candidate THEN candidate END", "x", "candidate")
    asked_for = Candidates(("1", "5", "9"), T.INTEGER, score, Grid(Fraction(1), 0, 4))
    table = get(engine).aggregate(replace(plain, scores=asked_for))
    keys = list(table.reveal_keys())
    (column,) = (list(each) for each in table.reveal())
    assert Counter(keys) == Counter({key for key, _ in located})
    assert len(column) == 3 * len(keys)
    for place, key in enumerate(keys):
        own = [x for other, x in located if other == key and x is not None]
        wanted = [min(4, each) * sum(x >= each for x in own) for each in (1, 5, 9)]
        assert column[3 * place : 3 * place + 3] == wanted

    by_axis = by_key(engine, replace(plain, groups=(*groups, AXIS), measures=COUNT))
    labels = {0: "0", 7: "7"}
    assert by_axis == {
        (*key, label): [count]
        for (key, label), count in Counter(
            (key, labels.get(x, "more")) for key, x in located if x is not None
        ).items()
    }


@pytest.mark.parametrize("form", FORMS)
def test_no_points_and_no_scores_where_nothing_occurs(
    engine: str, tmp_path: Path, form: str
) -> None:
    source = written(tmp_path / "t", TYPES, [(1, "u", "k", 1), (2, None, "k", 9)], form)
    plain = AggregateRequest(source, inputs(TYPES), (hidden("a"),), (), sql("x > 5", "x"))
    grid = Grid(Fraction(1), 0, 9)
    given = Candidates(("1", "2"), T.INTEGER, sql("candidate", "candidate"), grid)
    for request, columns in ((replace(plain, points=X), 3), (replace(plain, scores=given), 1)):
        table = get(engine).aggregate(request)
        assert list(table.reveal_keys()) == []
        assert [list(column) for column in table.reveal()] == [[]] * columns


@given(rows=ROWS, form=st.sampled_from(FORMS), salt=st.integers(0, 2**64 - 1))
@settings(parent=SETTINGS, max_examples=examples(15))
def test_one_unit_has_no_more_points_and_scores_than_rows_it_may_have(
    engine: str,
    tmp_path: Path,
    rows: list[tuple[int | None, str | None, str | None, int | None]],
    form: str,
    salt: int,
) -> None:
    """Two people: 3 rows each in all, in 2 combinations, 2 in one; an axis changes none of that."""
    source = written(tmp_path / "t", TYPES, rows, form)
    bound = Bound("p", 3, 2, 2, leading=1, salt=salt)
    request = AggregateRequest(source, inputs(TYPES), (hidden("a"),), (), bound=bound)
    table = get(engine).aggregate(replace(request, points=X))
    there = {(p, a) for p, a, _, _ in rows if p is not None and a is not None}
    assert set(table.reveal_keys()) <= {(a,) for _, a in there}
    assert len(table.reveal_keys()) <= 4
    assert sum(table.reveal()[2]) <= 6
    given = Candidates(("1",), T.INTEGER, sql("candidate", "candidate"), Grid(Fraction(1), 0, 1))
    table = get(engine).aggregate(replace(request, scores=given))
    sizes = Counter(p for p, a, _, _ in rows if p is not None and a is not None)
    by_cell = Counter((p, a) for p, a, _, _ in rows if p is not None and a is not None)
    assert len(table.reveal_keys()) <= 4
    total, (scores,) = 0, table.reveal()
    for p in (1, 2):
        cells = sorted((min(2, by_cell[each]) for each in by_cell if each[0] == p), reverse=True)
        total += min(3, sizes[p], sum(cells[:2]))
    assert sum(scores) <= total
    by_axis = by_key(engine, replace(request, groups=(hidden("a"), AXIS), measures=COUNT))
    assert sum(count for (count,) in by_axis.values()) <= total
    assert len({a for a, _ in by_axis}) <= 4


def test_public_answers_have_no_keys(engine: str, tmp_path: Path) -> None:
    source = written(tmp_path / "t", TYPES, [(1, "u", "k", 1)], "csv")
    request = AggregateRequest(source, inputs(TYPES), (keyed("a", "uv"),), COUNT)
    assert asked(engine, request) == [[1, 0]]
    assert list(get(engine).aggregate(request).reveal_keys()) == []
