"""What statistics ask of a query while they read their own keys; and accuracy targets."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, TypeVar

from dprelease.model import Accuracy, Candidates, Column, Expression, Grid
from dprelease.model import Part as RatioPart
from dprelease.specfile.checks.queries.query_context import SpecQuery
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.schema.query_tables import Half
from dprelease.statistics.shared.spec_keys import ColumnUse, OwnKey
from dprelease.statistics.statistic_registry import STATISTICS

T = TypeVar("T")


class DetailsReader(NamedTuple):
    """A query as its statistic reads it, see ``QueryReader``."""

    query: SpecQuery

    def read_value(self, key: OwnKey[T]) -> T | None:
        """Give the value of a key of the query."""
        return self.query.part.value(key)

    def read_where(self) -> str | None:
        """Give the text of the query's condition."""
        return self.query.model.where

    def read_condition(self, text: str | None, *keys: str | int) -> Expression | None:
        """Read a condition."""
        return self.query.read_condition(text, *keys)

    def note_missing(self, key: str, hint: str) -> None:
        """Complain of an absent key."""
        self.query.note_missing(key, hint)

    def complain(self, code: str, message: str, hint: str, *keys: str | int) -> None:
        """Complain of what stands at some keys."""
        self.query.part.complain(code, message, *keys, hint=hint)

    def read_points(self, column: Column, grid: Grid) -> tuple[int, ...] | None:
        """Read the values that a quantile may take."""
        # Imported where it is needed, as below: most specs have no candidates.
        from dprelease.specfile.checks.queries.candidate_checks import read_points

        return read_points(self.query, column, grid)

    def read_scored_candidates(self) -> Candidates | None:
        """Read the candidates of a choice and their score."""
        from dprelease.specfile.checks.queries.candidate_checks import read_best

        return read_best(self.query)

    def read_ratio_part(self, key: OwnKey[object]) -> RatioPart | None:
        """Make the numerator or denominator of a ratio."""
        query, half = self.query, self.read_value(key)
        if not isinstance(half, Half):
            return None
        section = half.section
        where = query.read_condition(section.where, key.name, *(() if half.short else ("where",)))
        statistic = STATISTICS.get(section.statistic or "")
        is_sum = statistic is not None and statistic.keys.column is ColumnUse.NUMBERS
        if section.column is None:
            if not is_sum:
                return RatioPart(None, where)
            message = f"the sum in the {key.name} has no `column`"
            query.part.complain("E110", message, key.name, hint='write column = "..."', at="key")
            return None
        if statistic is not None and not is_sum:
            hint = f"where = '{show(section.column)} IS NOT NULL' counts its values"
            message = f"a count takes no column in the {key.name}"
            query.part.complain("E217", message, key.name, "column", hint=hint)
            return None
        declared = query.find(section.column, key.name, "column")
        if declared is None:
            return None
        query.check_numeric(declared, "sum", key.name, "column")
        return RatioPart(declared.column, where)


USUAL = Fraction(95, 100)


def read_target(query: SpecQuery) -> Accuracy | None:
    """Give the accuracy that a query wants; complain of one that can't be told."""
    section, statistic, described = query.model.accuracy, query.model.statistic, query.statistic
    if section is None or section.within is None:
        return None
    by_records = described is not None and described.error_by_records
    if by_records is (section.records is not None):
        return Accuracy(section.within, section.confidence or USUAL, section.records)
    if by_records:
        message = f"the noise of a {statistic} depends on the number of records"
        hint = "state the number of records for which the target holds, such as records = 1000"
    else:
        message = f"the noise of {statistic} does not depend on the number of records"
        hint = "leave records out"
    query.part.complain("E240", message, "accuracy", hint=hint)
    return None
