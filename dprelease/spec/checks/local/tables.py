"""Makes record-level tables of their sections, with all checks within one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.model import (
    NUMERIC_TYPES,
    Column,
    ColumnType,
    Group,
    Mechanism,
    Perturb,
    PerturbedColumn,
    Quantity,
    Query,
)
from dprelease.spec.checks.columns.column import Known
from dprelease.spec.checks.local.budgets import check_adjacency, check_budget, check_truth
from dprelease.spec.checks.local.names import check_names
from dprelease.spec.checks.queries.groups import find_column, make_group
from dprelease.spec.checks.queries.query_context import QueryContext
from dprelease.spec.complaints.did_you_mean import nearest
from dprelease.spec.complaints.quoting import listed, show
from dprelease.spec.schema.models import PerturbSection
from dprelease.spec.schema.structure import Part, Parts

OF_NUMBERS = frozenset({Mechanism.LAPLACE, Mechanism.PIECEWISE})
_OF_LABELS = (Mechanism.RANDOMIZED_RESPONSE, Mechanism.SUBSET_SELECTION)


def resolve_perturbs(
    parts: Parts, context: QueryContext, queries: Sequence[Query]
) -> tuple[Perturb, ...]:
    """Make every record-level table; one that lacks a part is left out, with a complaint."""
    check_adjacency(parts, context.reporter)
    check_names(parts, queries, context.reporter)
    alone = parts.perturbs_only and len(parts.perturbs) == 1
    made: list[Perturb] = []
    for part in parts.perturbs:
        columns = _Columns(part, context).read()
        check_budget(part, parts.privacy, context.reporter, alone=alone)
        check_truth(part, columns, context.reporter)
        if part.model.name is not None and columns:
            made.append(_perturb(part, part.model.name, columns))
    return tuple(made)


def _perturb(part: Part[PerturbSection], name: str, columns: Sequence[PerturbedColumn]) -> Perturb:
    model = part.model
    delta = model.delta if model.delta is not None else Fraction(0)
    return Perturb(name, tuple(columns), model.epsilon, delta, model.truth, int(part.path[1]))


class _Columns:
    """The columns of one table while they are read."""

    def __init__(self, part: Part[PerturbSection], context: QueryContext) -> None:
        self.part = part
        self.context = context
        self.reporter = context.reporter

    def read(self) -> list[PerturbedColumn]:
        """Give the columns that can be perturbed; all others have a complaint."""
        names = self.part.model.columns
        if names is None:
            return []
        if not names:
            hint = "list the columns of the table, such as those that have keys or bounds"
            self._complain("E249", "columns is empty", hint, "columns")
        for key in ("mechanism", "weights"):
            self._check_listed(key, names)
        found = [(number, self._find(number, name)) for number, name in enumerate(names)]
        if "mechanism" in self.part.bad:
            return []
        columns = [self._read(number, known) for number, known in found if known is not None]
        return [column for column in columns if column is not None]

    def _complain(self, code: str, message: str, hint: str, *keys: str | int) -> None:
        self.reporter.complain(code, message, (*self.part.path, *keys), hint)

    def _check_listed(self, key: str, names: Sequence[str]) -> None:
        """Complain of columns of a table of mechanisms or weights that are not perturbed."""
        table = getattr(self.part.model, key)
        for name in table if isinstance(table, Mapping) else ():
            if name in names:
                continue
            close = nearest(name, names)
            hint = f"did you mean {show(close)}?" if close else "add it to columns, or leave it out"
            message = f"{key} of {show(name)}, which is not among the columns of the table"
            self._complain("E244", message, hint, key, name)

    def _find(self, number: int, name: str) -> Known | None:
        spot = ("columns", number)
        if name in (self.part.model.columns or ())[:number]:
            self._complain("E231", f"{show(name)} is named twice", "keep one", *spot)
            return None
        if name == self.context.unit_column:
            message = f"{show(name)} tells units apart: no table of records may hold an identifier"
            hint = "leave it out; even perturbed it could point at somebody"
            self._complain("E246", message, hint, *spot)
            return None
        path = (*self.part.path, *spot)
        return find_column(name, self.context.columns, path, self.reporter)

    def _read(self, number: int, known: Known) -> PerturbedColumn | None:
        mechanism = self._mechanism(known.column.name)
        weight = (self.part.model.weights or {}).get(known.column.name, Fraction(1))
        if mechanism in OF_NUMBERS:
            return self._number(known, mechanism, weight)
        group = make_group(known.column)
        if group is not None:
            return self._labels(group, mechanism, weight, number)
        if mechanism is Mechanism.AUTO and known.keyless and not _boundless(known):
            return self._number(known, mechanism, weight)
        if known.keyless:  # else its keys or bins were refused
            self._without_labels(known, mechanism, number)
        return None

    def _without_labels(self, known: Known, mechanism: Mechanism, number: int) -> None:
        name = known.column.name
        if _boundless(known):
            message = f"{show(name)} has neither public values nor bounds, and it takes one of them"
            self._complain("E245", message, _declare(known.column), "columns", number)
        else:
            message = f"{mechanism} needs keys or bins, and {show(name)} has bounds alone"
            hint = f"declare bins for ranges; or use {listed(sorted(OF_NUMBERS))}"
            self._complain("E243", message, hint, *self._mechanism_key(name))

    def _mechanism(self, name: str) -> Mechanism:
        wanted = self.part.model.mechanism
        if wanted is None:
            return Mechanism.AUTO
        return wanted if isinstance(wanted, Mechanism) else wanted.get(name, Mechanism.AUTO)

    def _mechanism_key(self, name: str) -> tuple[str, ...]:
        """Where the mechanism of a column stands."""
        table = isinstance(self.part.model.mechanism, Mapping)
        return ("mechanism", name) if table else ("mechanism",)

    def _labels(
        self, group: Group, mechanism: Mechanism, weight: Fraction, number: int
    ) -> PerturbedColumn | None:
        if len(group.labels) > 1:
            return PerturbedColumn(group.column, group, None, mechanism, weight)
        message = f"{show(group.column)} has {len(group.labels)} label: every answer is the same"
        hint = 'declare all values, or where undeclared ones go: other = "..."'
        self._complain("E247", message, hint, "columns", number)
        return None

    def _number(
        self, known: Known, mechanism: Mechanism, weight: Fraction
    ) -> PerturbedColumn | None:
        column, key = known.column, self._mechanism_key(known.column.name)
        if _boundless(known):
            have = "is a boolean" if column.type is ColumnType.BOOLEAN else "has none"
            if column.type not in NUMERIC_TYPES:
                have = f"is a {column.type.value}"
            message = f"{mechanism} needs lower and upper, and {show(column.name)} {have}"
            hint = f"use {listed(_OF_LABELS)}, which need keys or bins"
            if column.type is ColumnType.BOOLEAN:
                hint = f"use {listed(_OF_LABELS)}"
            elif column.type in NUMERIC_TYPES:
                hint = f"declare both, from a public rule; or {hint}"
            self._complain("E243", message, hint, *key)
            return None
        if column.grid is None:
            return None  # its bounds were refused
        if column.null_value is not None and column.null_value == column.other:
            message = f"nulls of {show(column.name)} is a label, and {mechanism} needs a number"
            hint = 'nulls = a number, or "drop"; or declare a second column by an expression'
            self.reporter.complain("E214", message, ("columns", column.name, "nulls"), hint)
            return None
        fill, chosen = _fill(column)
        quantity = Quantity(column.name, column.grid, fill)
        return PerturbedColumn(column.name, None, quantity, mechanism, weight, chosen)


def _boundless(known: Known) -> bool:
    """Say whether a column surely has no bounds of its own: that of a boolean is none."""
    column = known.column
    whole = column.type in NUMERIC_TYPES and column.type is not ColumnType.BOOLEAN
    return known.unbounded or not whole


def _fill(column: Column) -> tuple[int, bool]:
    """Give the grid integer of a null, and whether it was chosen here: then the middle."""
    grid = column.grid
    if grid is None:
        raise ValueError("a column without bounds has no grid")
    if column.null_value is None:
        return (grid.lower + grid.upper) // 2, True
    nearest_step = round(Fraction(column.null_value) / grid.step)
    return min(max(nearest_step, grid.lower), grid.upper), False


def _declare(column: Column) -> str:
    """What to declare of a column without labels and bounds."""
    if column.type in NUMERIC_TYPES:
        return "declare lower and upper, from a public rule; or keys or bins"
    if column.type is ColumnType.STRING:
        return 'declare keys or keys_file, from a public list; other = "..." takes all else'
    return "declare bins or keys, from a public rule"
