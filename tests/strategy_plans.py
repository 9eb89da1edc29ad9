"""Plans with strategies, written out by hand: nothing of the planner is in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import prod
from typing import Any

from msgspec.structs import replace

from dprelease import load
from dprelease.kernel.core.additive_loss import bound_pure_rho
from dprelease.model import (
    CENTRED,
    EACH,
    AxisKind,
    AxisMatrix,
    Expression,
    Group,
    Loss,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    Plan,
    Query,
    Read,
    Reading,
    Release,
    Sensitivity,
    Step,
    Term,
)

ONE, HALF, QUARTER = Fraction(1), Fraction(1, 2), Fraction(1, 4)
Row = tuple[int, ...]

COLUMNS: dict[str, Any] = {
    "g": {"type": "string", "keys": ["a", "b"]},
    "h": {"type": "string", "keys": ["u", "v", "w"]},
    "k": {"type": "string", "keys": ["a", "b"], "other": "rest", "nulls": "rest"},
    "m": {"type": "string", "keys": ["x"]},
    "y": {"type": "integer", "lower": 0, "upper": 10},
}


@cache
def release(*queries: tuple[tuple[str, ...], str | None], **privacy: Any) -> Release:
    """Counts by groups and a filter, named q0, q1, ... in this order."""
    asked = [
        {"name": f"q{at}", "statistic": "count"}
        | ({"by": list(by)} if by else {})
        | ({"where": where} if where else {})
        for at, (by, where) in enumerate(queries)
    ]
    if privacy.pop("people", False):
        cells = privacy.pop("in_cells", 2)
        bounding = {"max_rows_per_unit": 2, "max_groups_per_unit": cells}
        privacy |= {"unit": "column", "unit_column": "p", "bounding": bounding}
    return load(
        {
            "release": {"name": "r"},
            "data": {"path": "t.csv"},
            "output": {"path": "out/r"},
            "privacy": {"unit": "row", "adjacency": "add-remove", "epsilon": 1} | privacy,
            "columns": {name: {"source": "p"} | rest for name, rest in COLUMNS.items()},
            "query": asked,
        }
    )


def step(
    name: str,
    l1: int,
    l2_squared: int,
    groups: Iterable[Group] = (),
    axes: tuple[AxisMatrix, ...] = (),
    filters: Sequence[Expression | None] = (None,),
    transform: tuple[Row, ...] = ((1,),),
) -> Step:
    """A strategy's step that loses a quarter of epsilon 1, if what it states of itself is right."""
    return Step(
        Query(name, "count", "t", tuple(groups), where=filters[-1], implied=True),
        tuple(Measure(MeasureKind.RECORDS, None, where) for where in filters),
        transform,
        (ONE,) * len(transform),
        Sensitivity(l1, l2_squared, l1),
        Noise(NoiseFamily.LAPLACE, Fraction(4 * l1)),
        Loss(QUARTER, Fraction(0), bound_pure_rho(QUARTER)),
        axes=axes,
    )


def combine(made: Release, steps: Sequence[Step], terms: Sequence[Sequence[Term]]) -> Plan:
    """A plan of these steps, and of figures combined of these terms."""
    reads = tuple(
        Read(query, parts[0].step, (), Reading.COMBINED, terms=tuple(parts))
        for query, parts in zip(made.queries, terms, strict=True)
    )
    table = made.queries[0].table
    own = tuple(replace(step, query=replace(step.query, table=table)) for step in steps)
    basic = Loss(sum((step.loss.epsilon for step in own), Fraction(0)))
    return Plan(made, own, Loss(ONE), "basic", basic, reads=reads)


def build_centred(**privacy: Any) -> Plan:
    """The total, and tables by g, by h and by both, of centred cells: 3 and 4 labels."""
    made = release(((), None), (("g",), None), (("h",), None), (("g", "h"), None), **privacy)
    g, h = (group.complete() for group in made.queries[3].groups)
    replaced = privacy.get("adjacency") == "replace-one"
    norms = {(): (1, 1), (g,): (4, 6), (h,): (6, 12), (g, h): (24, 72)}
    if replaced:  # both records are counted; of labels of one axis alone, the other differs
        norms = {(): (0, 0), (g,): (6, 18), (h,): (8, 32), (g, h): (36, 216)}
    rows = 2 if privacy.get("people") else 1
    steps = [
        step(_name(inner), rows * l1, rows**2 * l2, inner, (CENTRED,) * len(inner))
        for inner, (l1, l2) in norms.items()
    ]
    if replaced:
        steps[0] = replace(
            steps[0],
            noise=Noise(NoiseFamily.NONE, Fraction(0)),
            loss=Loss(Fraction(0), Fraction(0), Fraction(0)),
        )
    return combine(made, steps, [list_terms(query) for query in made.queries])


def _name(groups: Sequence[Group]) -> str:
    return "together: " + ("".join(group.column for group in groups) or "total")


def _size(groups: Sequence[Group]) -> int:
    return prod(len(group.labels) for group in groups)


def list_terms(query: Query) -> list[Term]:
    """The parts of a table: the centred cells of each set of its groups, centred once more."""
    groups = [group.complete() for group in query.groups]
    return [
        Term(
            _name(inner),
            Fraction(1, _size(groups) * _size(inner)),
            groups=tuple(range(len(inner))),
        )
        for size in range(len(groups) + 1)
        for inner in combinations(groups, size)
    ]


def plan_conditions(*by: str, where: str | None = None, **privacy: Any) -> Plan:
    """The records and those that meet each of two conditions; or so in each cell of groups."""
    made = release((by, None), (by, "y > 3"), (by, "y > 5"), **privacy)
    groups = [group.complete() for group in made.queries[0].groups]
    rows = 2 if privacy.get("people") else 1
    filters = [query.where for query in made.queries]
    steps = [
        step("total", rows, rows**2, groups),
        step(
            "both",
            2 * rows,
            2 * rows**2,
            groups,
            (),
            [*filters[1:], None],
            ((2, 0, -1), (0, 2, -1)),
        ),
    ]
    places = tuple(range(len(groups)))
    total = Term("total", ONE, 0, places)
    parts = [[Term("both", HALF, row, places), replace(total, factor=HALF)] for row in (0, 1)]
    return combine(made, steps, [[total], *parts])


def plan_together(*by: str, counts: bool = False, **privacy: Any) -> Plan:
    """As ``plan_conditions``, with noise that is drawn together; ``counts``: each as it is."""
    made = release((by, None), (by, "y > 3"), (by, "y > 5"), **privacy)
    groups = [group.complete() for group in made.queries[0].groups]
    rows = 2 if privacy.get("people") else 1
    cube = rows * (2 if privacy.get("adjacency") == "replace-one" else 1)
    filters = [query.where for query in made.queries]
    both = step(
        "together",
        3 * cube,
        3 * cube**2,
        groups,
        (),
        [*filters[1:], None],
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)) if counts else ((2, 0, -1), (0, 2, -1), (0, 0, 1)),
    )
    both = replace(
        both,
        sensitivity=replace(both.sensitivity, cube=cube),
        noise=Noise(NoiseFamily.CUBE, Fraction(4 * cube), integers=3),
    )
    places = tuple(range(len(groups)))
    total = Term("together", ONE, 2, places)
    own, behind = (ONE, Fraction(0)) if counts else (HALF, HALF)
    parts = [[Term("together", own, row, places), replace(total, factor=behind)] for row in (0, 1)]
    return combine(made, [both], [[total], *parts])


def plan_split(*by: str, **privacy: Any) -> Plan:
    """The records that meet a condition and all others, and all as the sum of both."""
    made = release((by, None), (by, "y > 3"), **privacy)
    groups = [group.complete() for group in made.queries[0].groups]
    rows = (2 if privacy.get("people") else 1) * (
        2 if privacy.get("adjacency") == "replace-one" else 1
    )
    filters = [made.queries[1].where, None]
    both = step("split", rows, rows**2, groups, (), filters, ((1, 0), (-1, 1)))
    places = tuple(range(len(groups)))
    terms = [Term("split", ONE, row, places) for row in (0, 1)]
    return combine(made, [both], [terms, terms[:1]])


def plan_apart(
    *by: str, first: str = "y < 3", second: str = "y > 5", total: bool = True, **privacy: Any
) -> Plan:
    """The records that meet each of two conditions, those that meet none, and all as their sum."""
    asked = [*([(by, None)] if total else []), (by, first), (by, second)]
    made = release(*asked, **privacy)
    groups = [group.complete() for group in made.queries[0].groups]
    rows = (2 if privacy.get("people") else 1) * (
        2 if privacy.get("adjacency") == "replace-one" else 1
    )
    filters = [*(query.where for query in made.queries[-2:]), None]
    cells = ((1, 0, 0), (0, 1, 0), (-1, -1, 1))
    both = replace(
        step("apart", rows, rows**2 if privacy.get("people") else rows, groups, (), filters, cells),
        apart=True,
    )
    places = tuple(range(len(groups)))
    terms = [Term("apart", ONE, row, places) for row in (0, 1, 2)]
    parts = [terms[:1], terms[1:2]]
    return combine(made, [both], [*([terms] if total else []), *parts])


def plan_by_filters(**privacy: Any) -> Plan:
    """The records and those that pass a filter, which are read with nothing of the others."""
    made = release(((), None), ((), "y > 3"), **privacy)
    rows = 2 if privacy.get("people") else 1
    filters = [query.where for query in made.queries]
    steps = [
        step(name, rows, rows**2, filters=[where])
        for name, where in zip(("all", "some"), filters, strict=True)
    ]
    terms = [[Term("all", ONE)], [Term("some", ONE), Term("all", Fraction(0))]]
    return combine(made, steps, terms)


def plan_full(**privacy: Any) -> Plan:
    """Tables by g and k and by each, of the cells by both as they are."""
    made = release((("g", "k"), None), (("g",), None), (("k",), None), ((), None), **privacy)
    groups = [group.complete() for group in made.queries[0].groups]
    terms = [[Term("cells", ONE, groups=places)] for places in ((0, 1), (0,), (1,), ())]
    return combine(made, [step("cells", 1, 1, groups)], terms)


def change_step(plan: Plan, at: int, query: dict[str, Any] | None = None, **changes: Any) -> Plan:
    """Change a step, or the query that it implies."""
    steps = list(plan.steps)
    steps[at] = replace(steps[at], query=replace(steps[at].query, **(query or {})), **changes)
    return replace(plan, steps=tuple(steps))


def read(plan: Plan, at: int, query: dict[str, Any] | None = None, **changes: Any) -> Plan:
    """Change how a figure is read, or the query of the release that it is of."""
    reads = list(plan.reads)
    reads[at] = replace(reads[at], query=replace(reads[at].query, **(query or {})), **changes)
    queries = tuple(one.query for one in reads)
    return replace(plan, reads=tuple(reads), release=replace(plan.release, queries=queries))


def term(plan: Plan, at: int, place: int, **changes: Any) -> Plan:
    """Change a term of a figure."""
    parts = list(plan.reads[at].terms)
    parts[place] = replace(parts[place], **changes)
    return read(plan, at, terms=tuple(parts), step=parts[0].step)


def build_matrix(axis: AxisMatrix, labels: int) -> list[list[int]]:
    """The matrix of an axis, by its definition."""
    every = range(labels)
    if axis.kind is AxisKind.EACH:
        return [[int(i == j) for j in every] for i in every]
    if axis.kind is AxisKind.CENTRED:
        return [[labels * (i == j) - 1 for j in every] for i in every]
    if axis.kind is AxisKind.RUNNING:
        (column,) = axis.entries
        return [[column[i - j] if i >= j else 0 for j in every] for i in every]
    if axis.kind is AxisKind.SCALED:
        column, factors = axis.entries
        return [[column[i - j] * factors[j] if i >= j else 0 for j in every] for i in every]
    if axis.kind is AxisKind.TREE:
        (widths,) = axis.entries
        nodes = [(width, at) for width in widths for at in range(-(-labels // width))]
        return [[int(j // width == at) for j in every] for width, at in nodes]
    return [list(row) for row in axis.entries]


def build_mixing(made: Step) -> list[list[int]]:
    """The whole matrix of a step: a row for each released integer, a column for each cell."""
    whole = [[1]]
    for at, group in enumerate(made.query.groups):
        axis = made.axes[at] if made.axes else EACH
        part = build_matrix(axis, len(group.labels))
        whole = [[a * b for a in one for b in other] for one in whole for other in part]
    return whole
