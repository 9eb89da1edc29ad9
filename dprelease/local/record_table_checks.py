"""Record-level tables, made of their sections: columns, mechanisms, budgets and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dprelease.engines.engine_registry import WITHOUT_RECORDS
from dprelease.local.perturb_section import PerturbSection
from dprelease.model import (
    NUMERIC_TYPES,
    Column,
    ColumnType,
    Grid,
    Mechanism,
    Perturb,
    PerturbedColumn,
    Quantity,
    Query,
    Source,
)
from dprelease.specfile.checks.columns.column import DeclaredColumn, find_column
from dprelease.specfile.checks.queries.groups import make_group
from dprelease.specfile.checks.queries.output_tables import RESERVED
from dprelease.specfile.checks.queries.query_context import QueryContext, is_null_label
from dprelease.specfile.complaints.complaint_wording import (
    join_quoted,
    show,
    show_fraction,
    suggest_word,
)
from dprelease.specfile.keys.section_reader import Part

OF_NUMBERS = frozenset({Mechanism.LAPLACE, Mechanism.PIECEWISE})
_OF_LABELS = (Mechanism.RANDOMIZED_RESPONSE, Mechanism.SUBSET_SELECTION)


def resolve_perturbs(
    context: QueryContext, queries: Sequence[Query], source: Source | None
) -> tuple[Perturb, ...]:
    """Make every record-level table; one that lacks a part is left out, with a complaint."""
    parts = context.parts
    _check_engine(context)
    _check_adjacency(context)
    _check_names(context, queries)
    alone = parts.perturbs_only and len(parts.perturbs) == 1
    tables: list[Perturb] = []
    for part in parts.perturbs:
        model, columns = part.model, _Columns(part, context).read()
        _check_budget(part, context, alone=alone)
        _check_truth(part, columns)
        if model.name is not None and columns:
            delta, number = model.delta or Fraction(0), int(part.path[1])
            tables.append(
                Perturb(model.name, tuple(columns), model.epsilon, delta, model.truth, number)
            )
    if source is not None and not source.is_framed:
        for part in parts.perturbs:
            _complain_of_count(part)
    return tuple(tables)


class _Columns:
    """The columns of one table while they are read."""

    def __init__(self, part: Part[PerturbSection], context: QueryContext) -> None:
        self.part = part
        self.context = context

    def read(self) -> list[PerturbedColumn]:
        """Give the columns that can be perturbed; all others have a complaint."""
        names = self.part.model.columns
        if names is None:
            return []
        if not names:
            self.part.complain("E249", "columns is empty", "columns")
        for key in ("mechanism", "weights"):
            self._check_listed(key, names)
        numbered = [(number, self._find(number, name)) for number, name in enumerate(names)]
        if "mechanism" in self.part.bad:
            return []
        columns = [self._read(number, column) for number, column in numbered if column is not None]
        return [column for column in columns if column is not None]

    def _check_listed(self, key: str, names: Sequence[str]) -> None:
        """Complain of columns of a table of mechanisms or weights that are not perturbed."""
        table = getattr(self.part.model, key)
        for name in table if isinstance(table, Mapping) else ():
            if name not in names:
                hint = suggest_word(name, names, "add it to columns, or leave it out")
                message = f"{key} names {show(name)}, which is not a column of the table"
                self.part.complain("E244", message, key, name, hint=hint)

    def _find(self, number: int, name: str) -> DeclaredColumn | None:
        spot = ("columns", number)
        if name in (self.part.model.columns or ())[:number]:
            self.part.complain("E231", f"{show(name)} is named twice", *spot)
            return None
        if name == self.context.unit_column:
            message = (
                f"{show(name)} identifies units: a record-level table must not contain an "
                "identifier"
            )
            self.part.complain("E246", message, *spot)
            return None
        return find_column(name, self.context.columns, self.part, *spot)

    def _read(self, number: int, declared: DeclaredColumn) -> PerturbedColumn | None:
        name, requested = declared.column.name, self.part.model.mechanism or Mechanism.AUTO
        table = isinstance(requested, Mapping)
        mechanism = (
            requested.get(name, Mechanism.AUTO) if isinstance(requested, Mapping) else requested
        )
        spot = ("mechanism", name) if table else ("mechanism",)  # where the mechanism stands
        weight = (self.part.model.weights or {}).get(name, Fraction(1))
        group = make_group(declared.column) if mechanism not in OF_NUMBERS else None
        if group is not None and len(group.labels) > 1:
            return PerturbedColumn(name, group, None, mechanism, weight)
        if group is not None:
            message = f"{show(name)} has {len(group.labels)} label: every answer would be the same"
            self.part.complain("E247", message, "columns", number)
            return None
        boundless = _is_boundless(declared)
        by_bounds = mechanism is Mechanism.AUTO and declared.keyless and not boundless
        if mechanism in OF_NUMBERS or by_bounds:
            return self._number(declared, mechanism, weight, spot)
        if declared.keyless and boundless:  # else its keys or bins were refused
            message = f"{show(name)} has neither public values nor bounds, and needs one of them"
            self.part.complain("E245", message, "columns", number, hint=_declare(declared.column))
        elif declared.keyless:
            message = f"{mechanism} needs keys or bins, but {show(name)} has only bounds"
            hint = f"declare bins for ranges; or use {join_quoted(sorted(OF_NUMBERS))}"
            self.part.complain("E243", message, *spot, hint=hint)
        return None

    def _number(
        self, declared: DeclaredColumn, mechanism: Mechanism, weight: Fraction, spot: Sequence[str]
    ) -> PerturbedColumn | None:
        column = declared.column
        if _is_boundless(declared):
            hint = f"use {join_quoted(_OF_LABELS)}, which need keys or bins"
            if column.type is ColumnType.BOOLEAN:
                have, hint = "is a boolean", f"use {join_quoted(_OF_LABELS)}"
            elif column.type in NUMERIC_TYPES:
                have, hint = "has none", f"declare both, from a public rule; or {hint}"
            else:
                have = f"is a {column.type.value}"
            message = f"{mechanism} needs lower and upper, but {show(column.name)} {have}"
            self.part.complain("E243", message, *spot, hint=hint)
            return None
        # Without a grid its bounds were refused.
        if column.grid is None or is_null_label(column, mechanism, self.part.reporter):
            return None
        fill, chosen = _fill(column.grid, column.null_value)
        quantity = Quantity(column.name, column.grid, fill)
        return PerturbedColumn(column.name, None, quantity, mechanism, weight, chosen)


def _is_boundless(declared: DeclaredColumn) -> bool:
    """Say whether a column surely has no bounds of its own: that of a boolean is none."""
    kind = declared.column.type
    return declared.unbounded or kind not in NUMERIC_TYPES or kind is ColumnType.BOOLEAN


def _fill(grid: Grid, null_value: str | None) -> tuple[int, bool]:
    """Give the grid integer of a null, and whether it was chosen here: then the middle."""
    if null_value is None:
        return (grid.lower + grid.upper) // 2, True
    return min(max(round(Fraction(null_value) / grid.step), grid.lower), grid.upper), False


def _declare(column: Column) -> str:
    """Say what to declare for a column without labels and bounds."""
    if column.type in NUMERIC_TYPES:
        return "declare lower and upper, from a public rule; or keys or bins"
    if column.type is ColumnType.STRING:
        return (
            'declare keys or keys_file, from a public list; other = "..." collects all other values'
        )
    return "declare bins or keys, from a public rule"


def _check_names(context: QueryContext, queries: Sequence[Query]) -> None:
    """Complain of a table whose file, or whose name in a report, would be another's."""
    parts = context.parts
    places: dict[str, str] = {}
    for query in queries:
        places.setdefault(query.table.casefold(), f"the table of the query {show(query.name)}")
    for part in parts.queries:
        for name, noun in (
            (part.model.table, "the table of a query"),
            (part.model.name, "a query"),
        ):
            if name is not None:
                places.setdefault(name.casefold(), noun)
    for perturb in parts.perturbs:
        name = perturb.model.name
        if name is None:
            continue
        if name.casefold() in RESERVED:
            message = f"{show(name)} is the name of a report, not of a table"
            perturb.complain("E220", message, "name")
        elif name.casefold() in places:
            message = f"{show(name)} is already the name of {places[name.casefold()]}"
            perturb.complain("E250", message, "name")
        else:
            places[name.casefold()] = "another [[perturb]]"


def _check_engine(context: QueryContext) -> None:
    data = context.parts.data
    if data.model.engine in WITHOUT_RECORDS:
        message = f'engine = "{data.model.engine}" can\'t make record-level tables'
        data.complain("E111", message, "engine", hint='leave engine out: "duckdb" can')


def _complain_of_count(perturb: Part[PerturbSection]) -> None:
    message = (
        "the table shows the number of records, which the contents of a record can change here"
    )
    perturb.complain("E253", message, at="key")


def _check_adjacency(context: QueryContext) -> None:
    """Require replace-one, or assume it with a warning if all tables are record-level."""
    parts = context.parts
    if parts.privacy.model.adjacency != "add-remove":
        return
    problem = "a record-level table shows the number of records, which add-remove would protect"
    if parts.perturbs_only:
        message = f'{problem}: adjacency is taken as "replace-one"'
        parts.privacy.warn("W215", message, "adjacency")
    else:
        parts.privacy.complain("E242", problem, "adjacency")


def _check_budget(part: Part[PerturbSection], context: QueryContext, *, alone: bool) -> None:
    """Check that the table has a budget, in terms that don't contradict each other.

    ``alone``: nothing else is asked, so that the table may have the total.
    """
    privacy = context.parts.privacy
    model, total = part.model, privacy.model
    if model.truth is not None:
        _check_truth_alone(part)
    elif model.delta and model.epsilon is None and part.is_sound("epsilon", "truth"):
        part.complain("E224", "a delta needs an epsilon", "delta", hint="state epsilon as well")
    if model.delta and total.accounting == "pure":
        message = 'accounting = "pure" does not allow the delta of a table'
        part.complain("E225", message, "delta", hint='leave delta out, or accounting = "auto"')
    elif model.delta and (total.rho is not None or total.accounting == "zcdp"):
        hint = 'leave delta out; or accounting = "auto" and a total epsilon with a delta'
        part.complain(
            "E225", "a table with a delta can't be part of a budget in rho", "delta", hint=hint
        )
    if part.list_given("epsilon", "truth") or not part.is_sound("epsilon", "truth"):
        return
    if not alone:
        message = (
            "the table has no budget, and only a [[perturb]] that is alone in a spec can use the "
            "total"
        )
        hint = "state epsilon, or truth, in this [[perturb]]"
    elif total.epsilon is not None or not privacy.is_sound("epsilon", "rho"):
        return
    elif total.rho is not None:
        message = (
            "the table has no budget, and a total in rho can't be used for record-level tables"
        )
        hint = "state epsilon, or truth, in this [[perturb]]; or a total epsilon"
    else:
        message = "the table has no budget, and [privacy] has no total"
        hint = "state epsilon in [privacy], or epsilon or truth in this [[perturb]]"
    part.complain("E223", message, hint=hint, at="key")


def _check_truth_alone(part: Part[PerturbSection]) -> None:
    if part.model.epsilon is not None:
        hint = "keep epsilon, or truth, which determines epsilon"
        part.complain("E224", "the table states both epsilon and truth", "truth", hint=hint)
    if part.model.delta:
        hint = "leave delta out; or state epsilon instead of truth"
        part.complain("E224", "the table states both truth and delta", "delta", hint=hint)
    if part.model.weights is not None:
        hint = "leave weights out: truth applies to every column"
        part.complain("E224", "the table states both truth and weights", "weights", hint=hint)


def _check_truth(part: Part[PerturbSection], columns: Sequence[PerturbedColumn]) -> None:
    """Check that a chance of the true answer says something, and of columns that have answers."""
    truth = part.model.truth
    for column in columns if truth is not None else ():
        name = show(column.name)
        if column.group is None:
            message = f"truth can't be used: {name} is a number, which has no true answer"
            hint = "state epsilon instead, or declare bins; or make two tables"
        elif column.mechanism is Mechanism.SUBSET_SELECTION:
            message = f"truth can't be used: {name} is answered by a set of labels"
            hint = 'write mechanism = "randomized-response", or state epsilon instead of truth'
        elif truth == Fraction(1, len(column.group.labels)):
            message = (
                f"truth {show_fraction(truth)} is the chance of a pure guess among the "
                f"{len(column.group.labels)} labels of {name}: the answers would carry no "
                "information"
            )
            hint = "write a larger chance, such as truth = 0.75"
        else:
            continue
        part.complain("E248", message, "truth", hint=hint)
