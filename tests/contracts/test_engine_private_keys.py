"""Groups without public keys: the combinations that occur, each by the one text of its values."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from oracle.engine import get
from tables import ENGINES, FORMS, T, by_key, drawing, hidden, inputs, keyed, sql, written

from dprelease.model import (
    AggregateRequest,
    Bound,
    Candidates,
    Grid,
    Group,
    Measure,
    MeasureKind,
    Quantity,
)

pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.one_in(2),  # on one of the engines
]

M = MeasureKind
COUNT = (Measure(M.RECORDS),)
TYPES = {"p": T.INTEGER, "a": T.STRING, "b": T.STRING, "x": T.INTEGER}
X = Quantity("x", Grid(Fraction(1), 0, 100))
SETTINGS = drawing(30)


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


AXIS = Group("x", T.INTEGER, ("0", "7", "more"), keys=("0", "7"), other="more")


@given(rows=ROWS, form=st.sampled_from(FORMS), salt=st.integers(0, 2**64 - 1))
@drawing(15)
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
