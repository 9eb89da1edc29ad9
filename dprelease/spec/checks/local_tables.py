"""Record-level tables, made of their sections: columns, mechanisms, budgets and names."""

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
from dprelease.spec.checks.columns.column import DeclaredColumn, find_column
from dprelease.spec.checks.queries.groups import make_group
from dprelease.spec.checks.queries.output_tables import RESERVED
from dprelease.spec.checks.queries.query_context import QueryContext
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.complaints.wording import listed, meant, show, show_fraction
from dprelease.spec.schema.models import PerturbSection, PrivacySection
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
        numbered = [(number, self._find(number, name)) for number, name in enumerate(names)]
        if "mechanism" in self.part.bad:
            return []
        columns = [self._read(number, column) for number, column in numbered if column is not None]
        return [column for column in columns if column is not None]

    def _complain(self, code: str, message: str, hint: str, *keys: str | int) -> None:
        self.reporter.complain(code, message, (*self.part.path, *keys), hint)

    def _check_listed(self, key: str, names: Sequence[str]) -> None:
        """Complain of columns of a table of mechanisms or weights that are not perturbed."""
        table = getattr(self.part.model, key)
        for name in table if isinstance(table, Mapping) else ():
            if name in names:
                continue
            hint = meant(name, names, "add it to columns, or leave it out")
            message = f"{key} of {show(name)}, which is not among the columns of the table"
            self._complain("E244", message, hint, key, name)

    def _find(self, number: int, name: str) -> DeclaredColumn | None:
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

    def _read(self, number: int, declared: DeclaredColumn) -> PerturbedColumn | None:
        mechanism = self._mechanism(declared.column.name)
        weight = (self.part.model.weights or {}).get(declared.column.name, Fraction(1))
        if mechanism in OF_NUMBERS:
            return self._number(declared, mechanism, weight)
        group = make_group(declared.column)
        if group is not None:
            return self._labels(group, mechanism, weight, number)
        if mechanism is Mechanism.AUTO and declared.keyless and not _boundless(declared):
            return self._number(declared, mechanism, weight)
        if declared.keyless:  # else its keys or bins were refused
            self._without_labels(declared, mechanism, number)
        return None

    def _without_labels(self, declared: DeclaredColumn, mechanism: Mechanism, number: int) -> None:
        name = declared.column.name
        if _boundless(declared):
            message = f"{show(name)} has neither public values nor bounds, and it takes one of them"
            self._complain("E245", message, _declare(declared.column), "columns", number)
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
        self, declared: DeclaredColumn, mechanism: Mechanism, weight: Fraction
    ) -> PerturbedColumn | None:
        column, key = declared.column, self._mechanism_key(declared.column.name)
        if _boundless(declared):
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


def _boundless(declared: DeclaredColumn) -> bool:
    """Say whether a column surely has no bounds of its own: that of a boolean is none."""
    column = declared.column
    whole = column.type in NUMERIC_TYPES and column.type is not ColumnType.BOOLEAN
    return declared.unbounded or not whole


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


def check_names(parts: Parts, queries: Sequence[Query], reporter: Reporter) -> None:
    """Complain of a table whose file, or whose name in a report, would be another's."""
    taken: dict[str, str] = {}
    for query in queries:
        taken.setdefault(query.table.casefold(), f"the table of the query {show(query.name)}")
    for part in parts.queries:
        for name, what in (
            (part.model.table, "the table of a query"),
            (part.model.name, "a query"),
        ):
            if name is not None:
                taken.setdefault(name.casefold(), what)
    for perturb in parts.perturbs:
        name = perturb.model.name
        if name is None:
            continue
        path = (*perturb.path, "name")
        if name.casefold() in RESERVED:
            message = f"{show(name)} is the name of a report, not of a table"
            reporter.complain("E220", message, path, "choose another name for the table")
        elif name.casefold() in taken:
            message = f"{show(name)} is already the name of {taken[name.casefold()]}"
            hint = "choose another name for the table; upper and lower case don't count"
            reporter.complain("E250", message, path, hint)
        else:
            taken[name.casefold()] = "another [[perturb]]"


_ADJACENCY = ("privacy", "adjacency")


def check_adjacency(parts: Parts, reporter: Reporter) -> None:
    """A table of records shows how many there are: only replace-one is then protected."""
    if parts.privacy.model.adjacency != "add-remove":
        return
    shown = "a table of records shows how many there are, which add-remove would protect"
    if parts.perturbs_only:
        message = f'{shown}: adjacency is taken as "replace-one"'
        reporter.warn("W215", message, _ADJACENCY, 'write adjacency = "replace-one"')
    else:
        hint = 'adjacency = "replace-one"; or two specs, one of them with all [[perturb]]'
        reporter.complain("E242", shown, _ADJACENCY, hint)


def check_budget(
    part: Part[PerturbSection],
    privacy: Part[PrivacySection],
    reporter: Reporter,
    *,
    alone: bool,
) -> None:
    """Check that the table has a budget, in terms that don't contradict each other.

    ``alone``: nothing else is asked, so that the table may have the total.
    """
    model, total = part.model, privacy.model
    if model.truth is not None:
        _check_truth_alone(part, reporter)
    elif model.delta and model.epsilon is None and part.sound("epsilon", "truth"):
        path = (*part.path, "delta")
        reporter.complain("E224", "delta without epsilon", path, "state epsilon as well")
    if model.delta and total.accounting == "pure":
        message = 'accounting = "pure" has no room for the delta of a table'
        hint = 'leave delta out, or accounting = "auto"'
        reporter.complain("E225", message, (*part.path, "delta"), hint)
    elif model.delta and (total.rho is not None or total.accounting == "zcdp"):
        hint = 'leave delta out; or accounting = "auto" and a total epsilon with a delta'
        message = "a table with a delta has no rho"
        reporter.complain("E225", message, (*part.path, "delta"), hint)
    if model.epsilon is None and model.truth is None and part.sound("epsilon", "truth"):
        _check_total(part, privacy, reporter, alone=alone)


def _check_truth_alone(part: Part[PerturbSection], reporter: Reporter) -> None:
    model = part.model
    if model.epsilon is not None:
        hint = "keep one: epsilon, or the chance of the true answer, which fixes epsilon"
        reporter.complain("E224", "both epsilon and truth", (*part.path, "truth"), hint)
    if model.delta:
        hint = "leave delta out; or state epsilon instead of truth"
        reporter.complain("E224", "both truth and delta", (*part.path, "delta"), hint)
    if model.weights is not None:
        hint = "leave weights out: truth is that of every column"
        reporter.complain("E224", "both truth and weights", (*part.path, "weights"), hint)


def _check_total(
    part: Part[PerturbSection],
    privacy: Part[PrivacySection],
    reporter: Reporter,
    *,
    alone: bool,
) -> None:
    if not alone:
        message = "the table has no budget, and takes no share of the total beside others"
        hint = "state epsilon, or truth, in this [[perturb]]"
    elif privacy.model.epsilon is not None or not privacy.sound("epsilon", "rho"):
        return
    elif privacy.model.rho is not None:
        message = "the table has no budget, and a total rho is none for answers of records"
        hint = "state epsilon, or truth, in this [[perturb]]; or a total epsilon"
    else:
        message = "the table has no budget, and there is no total"
        hint = "state epsilon in [privacy], or epsilon or truth in this [[perturb]]"
    reporter.complain("E223", message, part.path, hint, "key")


def check_truth(
    part: Part[PerturbSection], columns: Sequence[PerturbedColumn], reporter: Reporter
) -> None:
    """Check that a chance of the true answer says something, and of columns that have answers."""
    truth, path = part.model.truth, (*part.path, "truth")
    if truth is None:
        return
    for column in columns:
        if column.group is None:
            message = f"truth, but {show(column.name)} is a number, which has no true answer"
            hint = "state epsilon instead, or declare bins; or make two tables"
            reporter.complain("E248", message, path, hint)
        elif column.mechanism is Mechanism.SUBSET_SELECTION:
            message = f"truth, but {show(column.name)} is answered by a set of labels"
            hint = 'mechanism = "randomized-response"; or state epsilon instead of truth'
            reporter.complain("E248", message, path, hint)
        elif truth * len(column.group.labels) == 1:
            labels = len(column.group.labels)
            message = (
                f"truth {show_fraction(truth)} is that of a pure guess among the {labels} labels "
                f"of {show(column.name)}: the answers would say nothing"
            )
            reporter.complain("E248", message, path, "more than that, such as truth = 0.75")
