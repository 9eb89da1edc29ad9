"""What a figure is, in whole sentences that are made from the spec alone."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dprelease.language import say, say_count, word
from dprelease.model import (
    AS_WRITTEN,
    Column,
    ColumnType,
    Expression,
    Group,
    Query,
    Release,
)
from dprelease.model.queries import ClipNorm
from dprelease.postprocess.intervals.number_text import number
from dprelease.reports.facts.spelled_expressions import spell_expression
from dprelease.reports.facts.unit_facts import say_without_unit
from dprelease.reports.text.shown_names import get_key_name, join_by_semicolons
from dprelease.statistics.statistic_registry import get_statistic

MOST_LABELS = 30
"""Of more labels only the ends are listed, with their number."""
_DIGITS = 12
_NORMS = {ClipNorm.L1: "definitions.unit.l1", ClipNorm.L2: "definitions.unit.l2"}


def define_figure(release: Release, query: Query) -> tuple[str, ...]:
    """Define the figure of a query: what is computed, of which records and values.

    Each key of the spec that changes what the figure is, and not only its noise, changes the
    sentences. What is done to noisy figures is not in them.
    """
    statistic = get_statistic(query.statistic)
    sentences = [
        *map(
            word,
            statistic.define_figure(query, lambda expression: _spell(release, query, expression)),
        )
    ]
    if query.where is not None:
        sentences.append(say("definitions.where", condition=_spell(release, query, query.where)))
    sentences += _define_values(release, query)
    if query.survey_weight is not None:
        sentences.append(
            say(
                "definitions.weight",
                column=query.survey_weight.name,
                **_list_bounds(query.survey_weight),
            )
        )
        sentences.append(_define_null(query.survey_weight))
    if query.axis is not None:
        sentences.append(_list_labels(release, query.axis, "definitions.choices.listed"))
        sentences += _say_outside(release, query.axis)
    return (*sentences, *_define_unit(release, query))


def define_groups(release: Release, query: Query) -> tuple[str, ...]:
    """Say for which groups there is a figure, in a sentence for each grouping column."""
    listing = "definitions.groups.listed"
    return tuple(_list_labels(release, group, listing) for group in _list_groups(query))


def define_outside(release: Release, query: Query) -> tuple[str, ...]:
    """Say in which group records are that have no value of a grouping column, or no listed one."""
    return tuple(
        sentence for group in _list_groups(query) for sentence in _say_outside(release, group)
    )


def _list_groups(query: Query) -> list[Group]:
    """List the published groups, but for the points of a curve."""
    curves = {axis.column.name for axis in query.curve}
    groups = get_statistic(query.statistic).list_published_groups(query)
    return [group for group in groups if group.column not in curves]


def _spell(release: Release, query: Query, expression: Expression) -> str:
    types = {name: column.type for name, column in release.columns.items()}
    if query.candidates is not None:
        types["candidate"] = query.candidates.type
    return spell_expression(expression, types)


def _define_values(release: Release, query: Query) -> Iterator[str]:
    """Say how values are held within bounds, what a missing one means, what is computed."""
    statistic = get_statistic(query.statistic)
    parts = [part for part in (query.numerator, query.denominator) if part is not None]
    columns = [axis.column for axis in query.curve]
    columns += [part.column for part in parts if part.column is not None]
    if query.column is not None and statistic.keys.column.is_numeric:
        columns.append(query.column)
    for column in {column.name: column for column in columns}.values():
        yield say("definitions.bounds", column=column.name, **_list_bounds(column))
        if parts and column.null_value is None:
            # In a ratio its record may still be counted by the other part.
            yield say("definitions.nulls.add_nothing", column=column.name)
        else:
            yield _define_null(column)
    # Conditions and scores read no computed column.
    read = [column.name for column in columns]
    read += [group.column for group in query.groups_and_axis]
    read += [query.column.name] if query.column else []
    read += [query.survey_weight.name] if query.survey_weight else []
    for name in dict.fromkeys(read):
        computed = release.columns[name].expression if name in release.columns else None
        if computed is not None and computed.state_of is None:
            yield say(
                "definitions.computed", column=name, expression=_spell(release, query, computed)
            )


def _list_bounds(column: Column) -> dict[str, str]:
    grid = column.grid
    if grid is None:
        raise ValueError("numbers have bounds")
    return {
        "lower": word(number(grid.lower * grid.step, _DIGITS)),
        "upper": word(number(grid.upper * grid.step, _DIGITS)),
        "step": word(number(grid.step, _DIGITS)),
    }


def _define_null(column: Column) -> str:
    """Say what a record without a value of a column counts."""
    if column.null_value is None:
        return say("definitions.nulls.left_out", column=column.name)
    return say("definitions.nulls.count_as", column=column.name, value=column.null_value)


def _define_unit(release: Release, query: Query) -> Iterator[str]:
    """Say which rows count of one person, and of none; nothing where each row is a unit."""
    limits, column = release.privacy.bounding, release.privacy.unit_column
    if column is None:
        return
    if query.clip is not None:
        (unit,) = get_statistic(query.statistic).define_release(query).unit
        bound = word(number(query.clip.bound * unit, _DIGITS))
        yield say(_NORMS[query.clip.norm], column=column, bound=bound)
    elif limits is not None:
        yield say(
            "definitions.unit.limits",
            column=column,
            rows=say_count(limits.rows, "words.rows_counted"),
            groups=say_count(limits.groups, "units.groups_counted"),
            per_group=limits.per_group,
        )
    yield say_without_unit(release)


def _list_labels(release: Release, group: Group, listing: str) -> str:
    """List the labels of a group; ``listing`` is the sentence that does."""
    column = release.columns[group.column]
    if column.observed_column is not None:
        states = join_by_semicolons(group.labels)
        return say("definitions.groups.states", column=column.observed_column.name, labels=states)
    if group.private:
        return say("definitions.groups.private", column=group.column)
    shown = release.names.columns.get(group.column, AS_WRITTEN)
    shown = replace(shown, bins=None if group.edges is None else group.type)
    labels = [get_key_name(shown, label) for label in group.labels]
    listed = join_by_semicolons(labels)
    if len(labels) > MOST_LABELS:
        listed = say("definitions.labels", n=len(labels), first=labels[0], last=labels[-1])
    return say(listing, column=group.column, labels=listed)


def _say_outside(release: Release, group: Group) -> Iterator[str]:
    column = release.columns[group.column]
    if column.observed_column is not None:  # every record has a state
        return
    is_complete = column.type is ColumnType.BOOLEAN and set(group.keys or ()) == _BOOLEANS
    if not is_complete and not group.private:
        if group.other is None and group.null_label is None:
            yield say("definitions.groups.left_out", column=group.column)
            return
        yield _say_label(_OTHERS, group.column, group.other)
    yield _say_label(_NULLS, group.column, group.null_label)


def _say_label(keys: tuple[str, str], column: str, label: str | None) -> str:
    """Say in which group, if any, values are that have none of their own."""
    left_out, counted = keys
    if label is None:
        return say(left_out, column=column)
    return say(counted, column=column, label=label)


_BOOLEANS = {"true", "false"}
_OTHERS = "definitions.groups.others_left_out", "definitions.groups.others_count_as"
_NULLS = "definitions.groups.nulls_left_out", "definitions.groups.nulls_count_as"
