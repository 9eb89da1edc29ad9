"""Every statistic's sensitivity against all tiny tables and all their neighbours.

A unit is a record, or somebody with several rows within limits. What neighbours differ in is
enumerated here from the meaning of the measures alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

import pytest
from msgspec.structs import replace
from thorough import for_each

from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.model import (
    Adjacency,
    Bounding,
    Column,
    ColumnType,
    Expression,
    Form,
    Grid,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Part,
    Privacy,
    Query,
    Sensitivity,
    Step,
)
from dprelease.privacy.sensitivity import Contribution
from dprelease.statistics.shared.spec_keys import ColumnUse
from dprelease.statistics.shared.statistic import Neighbours, Released, conjoin
from dprelease.statistics.statistic_registry import STATISTICS

Vector = tuple[int, ...]


class Row(NamedTuple):
    """A row: its cell (None: in no cell), its raw value (None: null), two conditions, a weight."""

    cell: int | None
    value: int | None
    kept: bool  # what `where` says
    hit: bool | None  # what the numerator's condition says (None: null)
    weight: int | None = 1  # the raw survey weight (None: null)


Unit = tuple[Row, ...]

KEPT, HIT = Expression("kept", ("x",)), Expression("hit", ("x",))
KNOWN = Expression("(hit) IS NOT NULL", ("x",))
BOUNDS = [(0, 1), (-1, 2), (-2, -1), (1, 3)]
READS_VALUES = {"sum", "mean", "variance", "stddev", "ratio", "count_distinct"}
NUMBERS = [
    "count", "histogram", "count_units", "count_distinct", "sum", "mean", "variance", "stddev",
    "proportion", "ratio", "marginals", "quality", "cumulative",
]  # fmt: skip
LIMITS = [(1, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2), (3, 2, 2)]


class Case(NamedTuple):
    statistic: str
    adjacency: Adjacency
    cells: int
    closed: bool
    fill: int | None
    filtered: bool
    weights: tuple[int, int] | None = None  # bounds of the survey weight, if there is one
    weight_fill: int | None = None

    def query(self, bounds: tuple[int, int]) -> Query:
        """A query whose groups (if any) are closed, so that every record falls in, or not."""
        groups: tuple[Group, ...] = ()
        labels = tuple("abc"[: self.cells])
        other = labels[-1] if self.closed else None
        if self.cells > 1 or not self.closed:
            kind = ColumnType.STRING
            groups = (Group("g", kind, labels, keys=labels, other=other, null_label=other),)
        null = None if self.fill is None else str(self.fill)
        column = Column("x", ColumnType.INTEGER, grid=Grid(Fraction(1), *bounds), null_value=null)
        parts: dict[str, Part | Expression] = {}
        if self.statistic == "ratio":
            parts = {"numerator": Part(column, HIT), "denominator": Part()}
        if self.statistic == "proportion":
            parts = {"numerator": Part(None, HIT), "denominator": Part(), "among": KNOWN}
        return Query(
            "q",
            self.statistic,
            "t",
            groups,
            column if self.statistic in READS_VALUES - {"ratio"} else None,
            where=KEPT if self.filtered else None,
            survey_weight=self.survey_weight(),
            **parts,  # type: ignore[arg-type]
        )

    def survey_weight(self) -> Column | None:
        """The column of survey weights."""
        if self.weights is None:
            return None
        grid = Grid(Fraction(1), *self.weights)
        null = None if self.weight_fill is None else str(self.weight_fill)
        return Column("w", ColumnType.INTEGER, grid=grid, null_value=null)

    def rows(self, bounds: tuple[int, int]) -> list[Row]:
        """Every kind of row: each cell, each value from below to above the bounds, null."""
        cells: list[int | None] = list(range(self.cells))
        if not self.closed:
            cells.append(None)
        values: list[int | None] = [None]
        if self.statistic in READS_VALUES:
            values += range(bounds[0] - 1, bounds[1] + 2)
        hits: list[bool | None] = [True]
        if self.statistic in {"ratio", "proportion"}:
            hits = [True, False, None]
        weights: list[int | None] = [1]
        if self.weights is not None:
            low, high = self.weights
            weights = [None, -1, low, high, high + 1]
        return [
            Row(*each)
            for each in product(cells, values, [True, False][: 1 + self.filtered], hits, weights)
        ]


def passes(where: Expression | None, row: Row) -> bool:
    if where is None:
        return True
    truth = {
        KEPT: row.kept,
        HIT: row.hit,
        KNOWN: row.hit is not None,
        conjoin(KEPT, HIT): row.kept and row.hit,
        conjoin(KEPT, KNOWN): row.kept and row.hit is not None,
    }
    return bool(truth[where])


def weight_in(measure: Measure, row: Row) -> int:
    """How often a row counts."""
    weight = measure.survey_weight
    if weight is None:
        return 1
    raw = weight.null_fill if row.weight is None else row.weight
    return 0 if raw is None else min(max(raw, weight.grid.lower), weight.grid.upper)


def measured(measure: Measure, units: Iterable[Unit], cell: int) -> int:
    """What the engine would count."""
    held = [[row for row in unit if row.cell == cell and passes(measure.where, row)]
            for unit in units]  # fmt: skip
    rows = [row for unit in held for row in unit]
    if measure.kind is MeasureKind.UNITS:
        return sum(1 for unit in held if unit)
    if measure.kind is MeasureKind.RECORDS:
        return sum(weight_in(measure, row) for row in rows)
    if measure.kind is MeasureKind.DISTINCT:
        assert measure.column == "x"
        return len({row.value for row in rows} - {None})
    quantity = measure.quantity
    assert quantity is not None
    grid = quantity.grid
    raw = [
        (quantity.null_fill if row.value is None else row.value, weight_in(measure, row))
        for row in rows
    ]
    values = [(min(max(k, grid.lower), grid.upper), w) for k, w in raw if k is not None]
    power = {MeasureKind.VALUES: 0, MeasureKind.SUM: 1, MeasureKind.SQUARES: 2}[measure.kind]
    return sum(w * k**power for k, w in values)


def integers(released: Released, units: Iterable[Unit], cells: int) -> Vector:
    """All released integers of a table of units."""
    people = list(units)
    out: list[int] = []
    for cell in range(cells):
        values = [measured(measure, people, cell) for measure in released.measures]
        out += [sum(c * v for c, v in zip(row, values, strict=True)) for row in released.transform]
    return tuple(out)


def units_of(
    case: Case, rows: list[Row], limits: Contribution, people: bool, missing: bool
) -> Iterator[Unit]:
    """Every unit: a record is one row, or is missing; somebody has rows that are kept, or none."""
    if not people:
        yield from ((row,) for row in rows)
        yield from [()] * missing
        return
    # what is kept passes the filter and lies in a cell
    inside = [row for row in rows if row.cell is not None and row.kept]
    for size in range(limits.rows + 1):
        for unit in combinations_with_replacement(inside, size):
            held = Counter(row.cell for row in unit)
            if len(held) <= limits.groups and max(held.values(), default=0) <= limits.per_group:
                yield unit


def tables_by_rest(
    case: Case, bounds: tuple[int, int], limits: Contribution, people: bool, missing: bool
) -> Iterator[tuple[Vector, set[Vector]]]:
    """What is released of some other units, and of these and any one unit more."""
    query, released = (
        case.query(bounds),
        STATISTICS[case.statistic].define_release(case.query(bounds)),
    )
    rows = case.rows(bounds)
    if people and case.statistic in READS_VALUES:
        # a null, and values at, between and beyond the bounds: all that sums can tell apart
        rows = [row for row in rows if row.value is None or bounds[0] <= row.value <= bounds[1] + 1]
        if case.weights is not None:  # the ends of the bounds are in bounds too
            rows = [row for row in rows if row.value is None or row.value in bounds]
    if people and case.weights is not None:
        rows = [row for row in rows if row.weight is None or row.weight in case.weights]
    everybody = list(units_of(case, rows, limits, people, missing))
    additive = case.statistic not in {"count_distinct", "count_units"}
    rests: list[tuple[Unit, ...]] = [()]
    if not additive:
        rests += [((row,),) for row in rows if row.cell is not None]
    if additive:
        single = {row: integers(released, [(row,)], query.cells) for row in rows}
        nobody = integers(released, [], query.cells)
        yield (
            nobody,
            {
                tuple(map(sum, zip(nobody, *(single[row] for row in unit), strict=True)))
                for unit in everybody
            },
        )
        return
    for rest in rests:
        yield (
            integers(released, rest, query.cells),
            {integers(released, [*rest, unit], query.cells) for unit in everybody},
        )


def changes(
    case: Case,
    bounds: tuple[int, int],
    limits: Contribution,
    people: bool,
    missing: bool = False,
) -> set[Vector]:
    """Every way in which neighbours differ, up to order and sign."""
    found: set[Vector] = set()
    for rest, tables in tables_by_rest(case, bounds, limits, people, missing):
        pairs: Iterable[tuple[Vector, Vector]] = ((rest, table) for table in tables)
        if case.adjacency is Adjacency.REPLACE_ONE:
            pairs = combinations(tables, 2)
        for a, b in pairs:
            change = (abs(y - x) for x, y in zip(a, b, strict=True) if x != y)
            found.add(tuple(sorted(change, reverse=True)))
    return found | {()}


def covered(change: Vector, shapes: tuple[Vector, ...]) -> bool:
    """Is the change, up to order and sign, entry by entry at most one of the shapes?"""
    for shape in shapes:
        entries = sorted(shape, reverse=True)
        if len(change) <= len(entries) and all(
            a <= b for a, b in zip(change, entries, strict=False)
        ):
            return True
    return False


def hold(found: set[Vector], claimed: Sensitivity) -> tuple[int, int]:
    """Hold every change against the claim; the largest L1 and squared L2 that there are."""
    largest = max(map(sum, found)), max(sum(v * v for v in each) for each in found)
    assert largest[0] <= claimed.l1
    assert largest[1] <= claimed.l2_squared
    assert max(map(len, found)) <= claimed.coordinates
    for change in found if claimed.shapes else ():
        assert not change or covered(change, claimed.shapes), change
    return largest


CASES = [
    Case(name, adjacency, cells, closed, fill, filtered)
    for name in NUMBERS
    for adjacency in Adjacency
    for cells in (1, 2)
    for closed in (True, False)
    for fill in ((None, 0) if name in READS_VALUES - {"count_distinct"} else (None,))
    for filtered in (False, True)
]


WEIGHTED = [
    Case(name, adjacency, cells, closed, fill, False, weights, weight_fill)
    for name in ("count", "histogram", "sum", "mean", "proportion", "ratio")
    for adjacency in Adjacency
    for cells in (1, 2)
    for closed in (True, False)
    for fill in ((None, 0) if name in READS_VALUES else (None,))
    for weights in ((0, 2), (1, 3), (2, 3))
    for weight_fill in (None, 2)
]


def test_every_statistic_of_numbers_that_weighs_is_here() -> None:
    weighing = {name for name, statistic in STATISTICS.items() if statistic.what_weighted}
    assert weighing == {case.statistic for case in WEIGHTED} | {"quantile", "median"}


@pytest.mark.one_in(10)
@for_each("case", WEIGHTED)
def test_of_weighted_records_it_is_never_exceeded_and_is_reached(case: Case) -> None:
    for bounds in BOUNDS if case.statistic in READS_VALUES else BOUNDS[:1]:
        claimed = STATISTICS[case.statistic].bound_sensitivity(
            case.query(bounds), Neighbours(case.adjacency)
        )
        largest = hold(changes(case, bounds, Contribution(1, 1, 1), False), claimed)
        if case.statistic != "ratio" or case.adjacency is Adjacency.ADD_REMOVE:
            assert largest == (claimed.l1, claimed.l2_squared), bounds


@pytest.mark.one_in(20)
@for_each("rule", [(2, 1, 2), (2, 2, 1), (2, 2, 2)])
@for_each("case", [each for each in WEIGHTED if not each.closed])
def test_of_units_with_weighted_records_it_is_never_exceeded_and_is_reached(
    case: Case, rule: tuple[int, int, int]
) -> None:
    limits = Contribution(*rule)
    neighbours = Neighbours(case.adjacency, limits, people=True)
    for bounds in BOUNDS[:2] if case.statistic in READS_VALUES else BOUNDS[:1]:
        claimed = STATISTICS[case.statistic].bound_sensitivity(case.query(bounds), neighbours)
        largest = hold(changes(case, bounds, limits, True), claimed)
        if case.statistic != "ratio":
            assert largest == (claimed.l1, claimed.l2_squared), bounds


def test_a_weight_that_is_left_out_would_be_caught() -> None:
    case = Case("count", Adjacency.ADD_REMOVE, 2, False, None, False, (0, 3))
    found = changes(case, (0, 1), Contribution(1, 1, 1), False)
    for l1 in (1, 2):
        with pytest.raises(AssertionError):
            hold(found, Sensitivity(l1, l1 * l1, 1))
    assert hold(found, Sensitivity(3, 9, 1)) == (3, 9)


def test_every_statistic_of_numbers_is_here() -> None:
    bounds = (0, 1)
    for name, statistic in STATISTICS.items():
        if statistic.keys.column is ColumnUse.CURVE:
            continue  # tests/unit/statistics/test_density.py
        if name not in {"quantile", "median", "min", "max", "mode", "top_k", "best"}:
            case = Case(name, Adjacency.ADD_REMOVE, 1, True, None, False)
            assert statistic.define_release(case.query(bounds)).form is Form.NUMBERS
            assert name in NUMBERS


@pytest.mark.one_in(10)
@for_each("case", CASES)
def test_of_records_it_is_never_exceeded_and_is_reached(case: Case) -> None:
    for bounds in BOUNDS if case.statistic in READS_VALUES else BOUNDS[:1]:
        claimed = STATISTICS[case.statistic].bound_sensitivity(
            case.query(bounds), Neighbours(case.adjacency)
        )
        largest = hold(changes(case, bounds, Contribution(1, 1, 1), False), claimed)
        if case.statistic != "ratio" or case.adjacency is Adjacency.ADD_REMOVE:
            assert largest == (claimed.l1, claimed.l2_squared), bounds


@pytest.mark.one_in(5)
@for_each("case", [each for each in CASES if each.adjacency is Adjacency.REPLACE_ONE])
def test_of_records_that_may_be_missing_it_is_never_exceeded_and_is_reached(case: Case) -> None:
    """Where what a record holds decides whether it is there, on one side it may not be."""
    neighbours = Neighbours(case.adjacency, may_be_missing=True)
    for bounds in BOUNDS if case.statistic in READS_VALUES else BOUNDS[:1]:
        claimed = STATISTICS[case.statistic].bound_sensitivity(case.query(bounds), neighbours)
        largest = hold(changes(case, bounds, Contribution(1, 1, 1), False, missing=True), claimed)
        assert largest[0] > 0
        if case.statistic != "ratio":
            assert largest == (claimed.l1, claimed.l2_squared), bounds


@pytest.mark.one_in(20)
@for_each("rule", LIMITS)
@for_each("case", [each for each in CASES if each.closed != each.filtered])
def test_of_units_it_is_never_exceeded_and_is_reached(
    case: Case, rule: tuple[int, int, int]
) -> None:
    limits = Contribution(*rule)
    if (
        limits.rows > 2
        and case.statistic in READS_VALUES
        and case.adjacency is Adjacency.REPLACE_ONE
    ):
        limits = Contribution(2, 2, 2)
    neighbours = Neighbours(case.adjacency, limits, people=True)
    for bounds in BOUNDS[:2] if case.statistic in READS_VALUES else BOUNDS[:1]:
        claimed = STATISTICS[case.statistic].bound_sensitivity(case.query(bounds), neighbours)
        largest = hold(changes(case, bounds, limits, True), claimed)
        if case.statistic != "ratio":
            assert largest == (claimed.l1, claimed.l2_squared), bounds
        elif case.adjacency is Adjacency.ADD_REMOVE:
            assert largest[0] == claimed.l1, bounds


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_private_keys_are_as_many_cells_as_units_can_reach(name: str, adjacency: Adjacency) -> None:
    limits = Contribution(3, 2, 2)
    few = Case(name, adjacency, 2, False, None, False).query((0, 2))
    many = Group(
        "g", ColumnType.STRING, tuple(map(str, range(12))), keys=tuple(map(str, range(12)))
    )
    hidden = Group("g", ColumnType.STRING, (), private=True)
    claims = []
    for group in (many, hidden):
        query = Query(
            "q", name, "t", (group,), few.column, None,
            numerator=few.numerator, denominator=few.denominator,
        )  # fmt: skip
        claims.append(
            STATISTICS[name].bound_sensitivity(query, Neighbours(adjacency, limits, people=True))
        )
    assert claims[0] == claims[1]


def test_a_record_is_one_row() -> None:
    with pytest.raises(ValueError, match="one row"):
        Neighbours(Adjacency.ADD_REMOVE, Contribution(2, 1, 2))


def test_a_sensitivity_that_is_too_small_would_be_caught() -> None:
    case = Case("sum", Adjacency.REPLACE_ONE, 2, False, None, False)
    found = changes(case, (-2, 2), Contribution(1, 1, 1), False)
    with pytest.raises(AssertionError):
        hold(found, Sensitivity(2, 4, 1))
    with pytest.raises(AssertionError):
        hold(found, Sensitivity(4, 16, 2, ((2, 1),)))


# --- certification, which derives the same again ------------------------------------------------

CERTIFIED = [
    Case(name, adjacency, cells, closed, None, filtered)
    for name in ("count", "count_units", "count_distinct", "sum", "mean", "proportion", "ratio")
    for adjacency in Adjacency
    for cells in (1, 2)
    for closed in (True, False)
    for filtered in ((False,) if name == "proportion" else (False, True))  # it has no filter
]


def step_of(case: Case, bounds: tuple[int, int]) -> Step:
    """What is released, without noise: a step that states nothing of itself."""
    query = case.query(bounds)
    released = STATISTICS[case.statistic].define_release(query)
    none = Noise(NoiseFamily.NONE, Fraction(0))
    return Step(
        query,
        released.measures,
        released.transform,
        released.unit,
        Sensitivity(0, 0, 0),
        none,
        Loss(Fraction(0)),
    )


@for_each("rule", [None, (1, 1, 1), (2, 2, 1)])
@for_each("case", CERTIFIED)
def test_certification_bounds_whatever_neighbours_differ_in(
    case: Case, rule: tuple[int, int, int] | None
) -> None:
    """Rows that are in no cell on one side, units that have none, filters of parts: all tables."""
    people = rule is not None
    privacy = Privacy("row", case.adjacency)
    if rule is not None:
        privacy = Privacy("column", case.adjacency, unit_column="p", bounding=Bounding(*rule))
    worst = bound_step_change(step_of(case, (1, 2)), privacy)
    stated = Sensitivity(worst.l1, worst.shift.l2_squared, worst.shift.coordinates)
    found = changes(case, (1, 2), Contribution(*(rule or (1, 1, 1))), people)
    largest = hold(found, replace(stated, shapes=worst.shift.shapes))
    assert largest == (worst.l1, worst.shift.l2_squared)
