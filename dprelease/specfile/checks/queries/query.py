"""Makes queries of their sections, with all checks within one query."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from dprelease.model import (
    Accuracy,
    Candidates,
    Clip,
    ClipNorm,
    Column,
    Grid,
    Group,
    Query,
)
from dprelease.model import Part as RatioPart
from dprelease.specfile.checks.columns.grids import LARGEST_STEPS
from dprelease.specfile.checks.queries.groups import (
    MAX_CELLS,
    build_own_group,
    check_picks,
    read_groups,
    read_selection,
)
from dprelease.specfile.checks.queries.output_tables import name_default_table
from dprelease.specfile.checks.queries.query_context import QueryContext, SpecQuery
from dprelease.specfile.complaints.complaint_wording import join_quoted, show, suggest_word
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.query_keys import Half
from dprelease.specfile.schema.sections import QuerySection
from dprelease.statistics.count import LEVELS
from dprelease.statistics.marginals import WEIGH
from dprelease.statistics.shared.spec_keys import BOUNDING, ColumnUse, Details, OwnKey
from dprelease.statistics.shared.statistic import SpecKeys
from dprelease.statistics.statistic_registry import STATISTICS, list_own_keys

WEIGHTED = "weight_by_survey"


def resolve_query(part: Part[QuerySection], context: QueryContext) -> tuple[Query, ...]:
    """Make a query, one for each of its tables; none when it lacks a part that others need.

    Each part that is missing has a complaint.
    """
    query, model = SpecQuery(part, context), part.model
    statistic = query.statistic
    takes = statistic.keys if statistic is not None else SpecKeys()
    if statistic is None:
        _report_statistic(part)
    groups = read_groups(query)
    column = None
    if statistic is not None:
        column = _find_column(query, takes)
        _check_keys(query, takes)
    own, curve = None, None
    if takes.column.has_bins and column is not None:
        own = build_own_group(query, column)
        groups = None if groups is None or own is None else (*groups, own)
    if takes.column is ColumnUse.CURVE:
        # Imported where it is needed: most specs have no curves.
        from dprelease.specfile.checks.queries.curve_checks import read_curve

        curve = read_curve(query, groups)
        groups = None if groups is None or curve is None else (*groups, *(c.group for c in curve))
        column = curve[0].axis.column if curve and len(curve) == 1 else None
    where = query.read_condition(model.where, "where") if not takes.where_is_numerator else None
    details: Details | None = Details()
    if statistic is not None:
        details = statistic.read_details(StatisticQuery(part, context, column, own))
    several = None
    if groups is not None and (takes.tables_of or part.value(LEVELS) is not None):
        # Imported where it is needed, as above.
        from dprelease.specfile.checks.queries.several_tables import build_counts, read_sets

        several = read_sets(query, groups)
        if several is None:
            return ()
    if takes.column.needs_column and column is None:
        return ()
    if groups is None or not _has_few_cells(part, groups, details):
        return ()
    if own is not None and takes.column is ColumnUse.CHOICES:
        if details is not None:
            check_picks(query, own, details.picks)
        groups = groups[:-1]
    if statistic is None or details is None or model.name is None:
        return ()
    resolved = Query(
        model.name,
        takes.tables_of or statistic.name,
        model.table or (model.name if curve is not None else name_default_table(groups)),
        groups,
        column,
        where,
        model.epsilon,
        model.delta,
        model.rho,
        model.weight if model.weight is not None else Fraction(1),
        choose_mechanism(model.mechanism, details.clip),
        int(part.path[1]),
        key_selection=read_selection(query),
        accuracy=read_target(query),
        curve=tuple(part.axis for part in curve or ()),
        survey_weight=read_weight(query, details, column),
        **details._asdict(),
    )
    by_cells = _read_weighing(part) == "cells"
    return (resolved,) if several is None else build_counts(resolved, several, by_cells=by_cells)


def _read_weighing(part: Part[QuerySection]) -> str | None:
    """Read what shares the weight of marginals; a stated budget has even parts in any case."""
    weighing = part.value(WEIGH)
    for budget in ("epsilon", "rho", "accuracy"):
        if weighing is not None and getattr(part.model, budget) is not None:
            part.complain(
                "E111",
                f"weigh shares the weight of a query, but this one states its {budget}",
                "weigh",
                hint=f"leave out one of them: without {budget} the query has a part of the total",
            )
    return weighing


def choose_mechanism(stated: str, clip: Clip | None) -> str:
    """Choose Gaussian noise for totals whose L2 norm is bounded, unless the spec asks for it."""
    return "gaussian" if clip is not None and clip.norm is ClipNorm.L2 else stated


def read_weight(query: SpecQuery, details: Details, column: Column | None) -> Column | None:
    """Give the survey weight of a query's records; None where each counts once.

    Complain of a statistic that can't be weighted, and of products that would not be exact.
    """
    part, name, declared = query.part, query.model.weight_by_survey, query.context.weight
    if name and not declared.stated:
        message = "weight_by_survey needs a column of survey weights in [data]"
        part.complain(
            "E111", message, WEIGHTED, hint='write weight = "..." in [data], or leave it out'
        )
    if name is False or not declared.stated:
        return None
    if query.statistic is None or not query.statistic.what_weighted:
        message = f"{query.model.statistic} can't be weighted by the survey weight of [data]"
        key = WEIGHTED if part.list_given(WEIGHTED) else "statistic"
        part.complain("E265", message, key)
        return None
    weight = declared.column
    parts = {"numerator": details.numerator, "denominator": details.denominator}
    summed = {key: half.column for key, half in parts.items() if half is not None}
    if not details.quantiles:
        summed["column"] = column
    for key, number in summed.items():
        if weight is None or weight.grid is None or number is None or number.grid is None:
            continue
        steps = weight.grid.magnitude * number.grid.magnitude
        if steps > LARGEST_STEPS:
            message = (
                f"{show(number.name)} times its survey weight can be {steps:,} steps, more than "
                "2^53 - 1"
            )
            hint = f"declare a larger step of {show(number.name)} or {show(weight.name)}"
            part.complain("E264", message, key, hint=hint)
    return weight


def _report_statistic(part: Part[QuerySection]) -> None:
    name, hint = part.model.statistic, f"use {join_quoted(STATISTICS)}"
    if name is not None:
        hint = suggest_word(name, STATISTICS, hint)
        part.complain("E101", f"unknown statistic {show(name)}", "statistic", hint=hint)


def _find_column(query: SpecQuery, takes: SpecKeys) -> Column | None:
    part, name, statistic = query.part, query.model.column, query.model.statistic
    if takes.column is ColumnUse.CURVE:
        name = None
    elif takes.column is ColumnUse.NONE:
        if name is not None:
            hint = f"where = '{show(name)} IS NOT NULL' counts its values"
            for key in takes.needs:
                hint = f"name it in {key.name}" if key.has_columns else hint
            part.complain("E217", f"{statistic} takes no column", "column", hint=hint)
    elif name is None:
        query.note_missing("column", 'write column = "..."')
    if query.model.bins is not None and not takes.column.has_bins:
        hint = "declare the bins in the column and name it in by"
        part.complain("E111", f"{statistic} takes no bins", "bins", hint=hint)
    declared = (
        query.find(name, "column") if name is not None and takes.column.needs_column else None
    )
    if declared is None:
        return None
    if takes.column is ColumnUse.NUMBERS and statistic is not None:
        query.check_numeric(declared, statistic, "column")
    return declared.column


def _check_keys(query: SpecQuery, takes: SpecKeys) -> None:
    """Complain of keys that other statistics take, and of missing ones that this one needs."""
    part = query.part
    for name, key in list_own_keys().items():
        keys = part.list_given(name)
        if keys and key not in takes.own:
            owners = [owner.name for owner in STATISTICS.values() if key in owner.keys.own]
            message = f"{part.model.statistic} takes no {name}"
            part.complain(
                "E111", message, name, hint=f"leave it out; it is for {join_quoted(owners)}"
            )
        elif not keys and key in takes.needs:
            substitute = key.instead or name
            if not part.list_given(substitute) and part.is_sound(substitute):
                query.note_missing(name, key.example)


def _has_few_cells(
    part: Part[QuerySection], groups: tuple[Group, ...], details: Details | None
) -> bool:
    if any(group.private for group in groups):
        return True  # how many of the cells occur is not known
    cells, noun = prod(len(group.labels) for group in groups), "groups"
    hint = "group by fewer columns, or fewer keys"
    if details is not None and details.candidates is not None:
        cells, noun = cells * len(details.candidates.texts), "groups and candidates"
        hint = f"{hint}; or fewer candidates"
    if cells <= MAX_CELLS:
        return True
    message = f"the {noun} make {cells} cells, more than {MAX_CELLS}"
    part.complain("E222", message, "by" if part.model.by else "column", hint=hint)
    return False


class StatisticQuery(SpecQuery, frozen=True):
    """A query as its statistic reads it, see ``QueryReader``."""

    column: Column | None
    axis: Group | None

    def read_clip(self) -> Clip | None:
        """Read what the totals of a person are scaled to."""
        if self.part.value(BOUNDING) is None:
            return None
        # Imported where it is needed, as below: most queries limit rows.
        from dprelease.specfile.checks.queries.clip_checks import read_clip

        return read_clip(self, self.column)

    def read_points(self, column: Column, grid: Grid) -> tuple[int, ...] | None:
        """Read the values that a quantile may take."""
        # Imported where it is needed, as below: most specs have no candidates.
        from dprelease.specfile.checks.queries.candidate_checks import read_points

        return read_points(self, column, grid)

    def read_scored_candidates(self) -> Candidates | None:
        """Read the candidates of a choice and their score."""
        from dprelease.specfile.checks.queries.candidate_checks import read_best

        return read_best(self)

    def read_ratio_part(self, key: OwnKey[object]) -> RatioPart | None:
        """Make the numerator or denominator of a ratio."""
        half = self.part.value(key)
        if not isinstance(half, Half):
            return None
        section = half.section
        where = self.read_condition(section.where, key.name, *(() if half.short else ("where",)))
        statistic = STATISTICS.get(section.statistic or "")
        is_sum = statistic is not None and statistic.keys.column is ColumnUse.NUMBERS
        if section.column is None:
            if not is_sum:
                return RatioPart(None, where)
            message = f"the sum in the {key.name} has no `column`"
            self.part.complain("E110", message, key.name, hint='write column = "..."', at="key")
            return None
        if statistic is not None and not is_sum:
            hint = f"where = '{show(section.column)} IS NOT NULL' counts its values"
            message = f"a count takes no column in the {key.name}"
            self.part.complain("E217", message, key.name, "column", hint=hint)
            return None
        declared = self.find(section.column, key.name, "column")
        if declared is None:
            return None
        self.check_numeric(declared, "sum", key.name, "column")
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
