"""A query while it is read: its section, what is known around it, and where complaints go.

Known to all queries is the column of survey weights that ``[data] weight`` names.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple, TypeVar

from msgspec import Struct

from dprelease.model import NUMERIC_TYPES, Column, ColumnType, Expression
from dprelease.specfile.checks.columns.column import DeclaredColumn, find_column
from dprelease.specfile.checks.columns.expression_checks import read_expression
from dprelease.specfile.checks.columns.list_files import Lists
from dprelease.specfile.complaints.complaint_wording import show, show_fraction
from dprelease.specfile.complaints.reporter import Reporter
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import DataSection, QuerySection
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.shared.spec_keys import OwnKey
from dprelease.statistics.shared.statistic import Statistic
from dprelease.statistics.statistic_registry import STATISTICS, get_statistic

T = TypeVar("T")

LARGEST_SQUARED = 2**31
"""Squares of so many steps add up in 128 bits over any number of records."""


MOST_WEIGHT_STEPS = 4_000_000
"""Weights of so many steps add up exactly over 2^40 records, more than any file will hold."""


class SurveyWeight(NamedTuple):
    """Whether a column of weights is named, and that column if it is usable."""

    stated: bool
    column: Column | None


UNWEIGHTED = SurveyWeight(stated=False, column=None)


class QueryContext(NamedTuple):
    """What the checks of a query know: the columns, the types of those in the file, the unit's.

    ``lists`` reads the files of candidates. ``parts`` are all sections of the spec. ``weight`` is
    what `[data]` says of survey weights.
    """

    columns: Mapping[str, DeclaredColumn | None]
    base_types: Mapping[str, ColumnType]
    reporter: Reporter
    unit_column: str | None
    lists: Lists
    parts: Parts
    weight: SurveyWeight = UNWEIGHTED


class SpecQuery(Struct, frozen=True):
    """One query, and the checks that all kinds of statistics share."""

    part: Part[QuerySection]
    context: QueryContext

    @property
    def model(self) -> QuerySection:
        """The section as it was read."""
        return self.part.model

    @property
    def statistic(self) -> Statistic | None:
        """Its statistic, None where there is none of that name."""
        return STATISTICS.get(self.model.statistic or "")

    def note_missing(self, key: str, hint: str) -> None:
        """Note that a key which the statistic needs is absent, if it surely is."""
        if self.part.is_sound(key):
            message = f"{self.model.statistic} has no `{key}`"
            self.part.complain("E110", message, hint=hint, at="key")

    def read_value(self, key: OwnKey[T]) -> T | None:
        """Give the value of a key of the query."""
        return self.part.value(key)

    def complain(self, code: str, message: str, hint: str, *keys: str | int) -> None:
        """Complain of what stands at some keys."""
        self.part.complain(code, message, *keys, hint=hint)

    def find(self, name: str, *keys: str | int) -> DeclaredColumn | None:
        """Look up a declared column that is named at a key; complain if there is none."""
        return find_column(name, self.context.columns, self.part, *keys)

    def find_new(
        self, name: str, before: Container[str], *keys: str | int
    ) -> DeclaredColumn | None:
        """Look up a column of an axis; complain if it is named before, too, or holds units."""
        if name in before:
            self.part.complain("E231", f"{show(name)} is named twice", *keys)
            return None
        return self.find(name, *keys) if self.check_shared(name, *keys) else None

    def read_condition(self, text: str | None, *keys: str | int) -> Expression | None:
        """Read a condition; complain and give None if it is refused."""
        return read_expression(text, self.context.base_types, "condition", self.part, *keys)

    def read_where(self) -> str | None:
        """Give the text of the query's condition."""
        return self.model.where

    def check_shared(self, name: str, *keys: str | int) -> bool:
        """Complain when groups or values to choose from would be the units themselves."""
        if name != self.context.unit_column:
            return True
        message = f"{show(name)} identifies units: each group or value would belong to one unit"
        self.part.complain("E237", message, *keys)
        return False

    def check_numeric(self, declared: DeclaredColumn, statistic: str, *keys: str | int) -> bool:
        """Say whether a statistic can do arithmetic with a column; complain where it can't."""
        column, reporter = declared.column, self.context.reporter
        subject, spot = f"{statistic} of {show(column.name)}", ("columns", column.name)
        if column.type not in NUMERIC_TYPES:
            hint = "histogram counts its values"
            if column.type is not ColumnType.STRING:
                hint = "derive a number by an expression, such as days since a date"
            message = f"{subject} needs numbers, but the column is a {column.type.value}"
            self.part.complain("E217", message, *keys, hint=hint)
        elif declared.unbounded:
            reporter.complain("E201", f"{subject} needs lower and upper", spot, at="key")
        elif is_null_label(column, statistic, reporter):
            return False
        elif (
            get_statistic(statistic).keys.squares
            and column.grid is not None
            and column.grid.magnitude > LARGEST_SQUARED
        ):
            message = f"{subject} squares numbers of more than 2^31 steps"
            reporter.complain("E239", message, spot, at="key")
        else:
            if column.name == self.context.unit_column:
                message = f"{subject} is not possible: the column only identifies units"
                self.part.warn("W208", message, *keys)
            return True
        return False


def is_null_label(column: Column, subject: str, reporter: Reporter) -> bool:
    """Complain when nulls count as the label `other`, and something needs a number."""
    if column.null_value is None or column.null_value != column.other:
        return False
    message = f"nulls of {show(column.name)} is a label, but {subject} needs a number"
    hint = 'write nulls = a number, or "drop"; or declare a second column by an expression'
    reporter.complain("E214", message, ("columns", column.name, "nulls"), hint)
    return True


# --- survey weights -----------------------------------------------------------------------------


def read_survey_weight(
    part: Part[DataSection], columns: Mapping[str, DeclaredColumn | None]
) -> SurveyWeight:
    """Read ``[data] weight``; complain of a column that can't say how often a record counts."""
    name = part.model.weight
    if name is None:
        if part.model.design_effect is not None:
            hint = "add weight, or leave design_effect out"
            part.complain("E263", "design_effect needs a survey weight", "design_effect", hint=hint)
        return UNWEIGHTED
    declared = find_column(name, columns, part, "weight")
    usable = declared is not None and _check_weight_column(declared, part)
    return SurveyWeight(stated=True, column=declared.column if declared and usable else None)


def _check_weight_column(declared: DeclaredColumn, part: Part[DataSection]) -> bool:
    """Complain of a column that can't hold survey weights; return whether it can."""
    column, reporter = declared.column, part.reporter
    subject, spot = f"survey weights in {show(column.name)}", ("columns", column.name)
    grid = column.grid
    if column.type not in NUMERIC_TYPES:
        message = f"{subject} must be numbers, but the column is a {column.type.value}"
        part.complain(
            "E263", message, "weight", hint='declare a numeric type, such as type = "decimal"'
        )
    elif declared.unbounded:
        hint = "declare both from the sampling design of the survey, never from the data"
        reporter.complain("E201", f"{subject} need lower and upper", spot, hint, "key")
    elif grid is None:
        return False  # its bounds have had their complaints
    elif grid.lower < 0:
        lower = show_fraction(grid.lower * grid.step)
        hint = "write a lower of 0 or more; negative weights in the data count as the lower bound"
        message = f"{subject} can be below 0: lower is {lower}"
        reporter.complain("E263", message, (*spot, "lower"), hint)
    elif column.null_value is not None and column.null_value == column.other:
        message = f"nulls of {show(column.name)} is a label, but a survey weight is a number"
        hint = 'write nulls = a number, or "drop"'
        reporter.complain("E214", message, (*spot, "nulls"), hint)
    elif grid.upper > MOST_WEIGHT_STEPS:
        hint = "declare a larger step, or a lower upper bound"
        message = (
            f"{subject} have {grid.upper:,} steps up to upper, more than {MOST_WEIGHT_STEPS:,}"
        )
        reporter.complain("E264", message, spot, hint, "key")
    else:
        return True
    return False
