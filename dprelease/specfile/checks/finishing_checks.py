"""What is done to the figures of each query after the noise: `[postprocess]`, or keys of its own.

A key of a `[[query]]` must fit its statistic. One of `[postprocess]` is for all queries whose
statistic it fits, and at least one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from msgspec.structs import replace

from dprelease.language import word
from dprelease.model import AS_RELEASED, Expression, Finish, Query
from dprelease.postprocess.finishing.lattice import Circle, build_scheme, identify_rows, number_axes
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import PostprocessSection, QuerySection
from dprelease.specfile.schema.structure import Parts
from dprelease.statistics.shared.statistic import Statistic
from dprelease.statistics.statistic_registry import get_statistic

KEYS = tuple(PostprocessSection.KEYS)
SHOWING = ("publish_if", "hide_below")
COUNTED, OWN_COUNT = "_count", "count"

Home = Part[QuerySection] | Part[PostprocessSection]
Wrong = tuple[Home, str, str, str]
"""Where a complaint goes, its code, what is wrong, and what to do."""


class Rule(NamedTuple):
    """Which queries take a key, and what is said of those that don't."""

    takes: Callable[[Query, Statistic], bool]
    reason: str


def _is_nonnegative(query: Query, statistic: Statistic) -> bool:
    grid = query.column.grid if query.column is not None else None
    if not statistic.one_number:
        return False
    return bool(statistic.counts) or (grid is not None and grid.lower >= 0)


RULES: Mapping[str, Rule] = {
    "consistent": Rule(
        lambda query, statistic: statistic.adds_up and not query.private,
        "only counts of records and sums, over public groups, add up over tables",
    ),
    "nonnegative": Rule(
        _is_nonnegative, "it is only for counts, and for sums with a lower bound of 0 or more"
    ),
    "integer": Rule(lambda _, statistic: statistic.one_number, "it is only for counts and sums"),
    "hide_below": Rule(
        lambda _, statistic: statistic.one_number,
        "it is only for counts and sums; use publish_if for other figures, such as "
        'publish_if = "count >= 20"',
    ),
    "publish_if": Rule(lambda _, __: True, ""),
    "round_to": Rule(lambda _, statistic: not statistic.names, "names can't be rounded"),
    "flag_unreliable_at": Rule(
        lambda _, statistic: not statistic.in_ranks,
        "the half-width of a quantile in values is private, so it has no flag",
    ),
}


def add_finishes(queries: Sequence[Query], parts: Parts) -> tuple[Query, ...]:
    """Give each query what is done to its figures; complain of what can't be."""
    if not any(part.list_given(*KEYS) for part in _list_homes(parts)):
        return tuple(queries)
    _check_both(parts)
    _check_used(queries, parts)
    finished = [replace(query, finish=_read_finish(query, parts)) for query in queries]
    wrongs: dict[object, Wrong] = {}
    for query in finished:
        if wrong := _find_wrong_condition(query, finished, _find_home(query, parts, "publish_if")):
            wrongs.setdefault(wrong[0].path, wrong)
    for home, code, message, hint in wrongs.values():
        home.complain(code, message, "publish_if", hint=hint)
    return tuple(_list_agreeing(finished, parts))


def _find_own(query: Query, parts: Parts) -> Part[QuerySection] | None:
    """Find the query's section; None for a query that is not in the spec."""
    return None if query.implied else parts.queries[query.number]


def _list_homes(parts: Parts) -> list[Home]:
    return [parts.postprocess, *parts.queries]


def _find_home(query: Query, parts: Parts, *keys: str) -> Home:
    """Find where one of the keys is stated for a query."""
    own = _find_own(query, parts)
    return own if own is not None and own.list_given(*keys) else parts.postprocess


def _check_both(parts: Parts) -> None:
    for part in _list_homes(parts):
        if len(part.list_given(*SHOWING)) > 1:
            hint = 'keep one; "value >= 20" in publish_if says the same as hide_below = 20'
            part.complain(
                "E111", "the query has both publish_if and hide_below", "hide_below", hint=hint
            )


def _check_used(queries: Sequence[Query], parts: Parts) -> None:
    """Complain of a key that its query can't take, and one of `[postprocess]` that none can."""
    for number, part in enumerate(parts.queries):
        tables = [query for query in queries if query.number == number and not query.implied]
        for key in part.list_given(*KEYS):
            if getattr(part.model, key) and not any(
                _is_fitting(RULES[key], query) for query in tables
            ):
                message = f"a {part.model.statistic} can't have `{key}`: {RULES[key].reason}"
                part.complain("E260", message, key)
    for key in parts.postprocess.list_given(*KEYS):
        rule = RULES[key]
        if queries and not any(_is_fitting(rule, query) for query in queries):
            message = f"no query of the spec can have `{key}`: {rule.reason}"
            parts.postprocess.complain("E260", message, key, at="key")


def _is_fitting(rule: Rule, query: Query) -> bool:
    return rule.takes(query, get_statistic(query.statistic))


def _read_finish(query: Query, parts: Parts) -> Finish:
    own, settings = _find_own(query, parts), {}
    for key, rule in RULES.items():
        value = None if own is None else getattr(own.model, key)
        if value is None and _is_fitting(rule, query):
            value = getattr(parts.postprocess.model, key)
        if value is not None and _is_fitting(rule, query):
            settings[key] = value
    if own is not None and own.list_given(*SHOWING):  # either in place of both
        settings = {
            key: value
            for key, value in settings.items()
            if key not in SHOWING or own.list_given(key)
        }
    names = get_statistic(query.statistic).names
    if "publish_if" in settings and names and not (own and own.list_given("publish_if")):
        del settings["publish_if"]  # of [postprocess]: names have no value
    condition = settings.pop("publish_if", None)
    expression = None if condition is None else Expression(str(condition), ())
    return replace(AS_RELEASED, **settings, publish_if=expression)


# --- conditions -----------------------------------------------------------------------------------


def _iter_figures(query: Query) -> Iterator[str]:
    """Iterate over the numeric columns of a query; half-widths of quantiles are always empty."""
    statistic = get_statistic(query.statistic)
    for suffix in statistic.list_suffixes(query):
        of_half = suffix.endswith("_noise_moe")
        filled = not statistic.in_ranks if of_half else not statistic.names
        if filled and not suffix.endswith("_flag"):
            yield query.column_name + suffix


def _find_wrong_condition(query: Query, queries: Sequence[Query], home: Home) -> Wrong | None:
    """Say what is wrong with a condition: it can't be read, names no figure, or never holds."""
    if query.finish.publish_if is None:
        return None
    # Imported here for start-up: the parser is large.
    from dprelease.expressions import ExpressionError
    from dprelease.postprocess.finishing.conditions import is_never_true, read

    mates = [mate for mate in queries if mate.table == query.table]
    names = {name for mate in mates for name in _iter_figures(mate)}
    statistic = get_statistic(query.statistic)
    names |= set() if statistic.names else {"value"}
    names |= set() if statistic.names or statistic.in_ranks else {"noise_moe"}
    if COUNTED in statistic.list_suffixes(query) or statistic.counts:
        names |= {OWN_COUNT}
    try:
        node = read(query.finish.publish_if.text, sorted(names))
    except ExpressionError as error:
        hint = error.hint
        if "under [columns]" in hint:
            hint = (
                f"the rows of {query.column_name} have the figures "
                f"{word(join_names(sorted(names)))}"
            )
        message = error.message.replace("unknown column", "no figure")
        return home, "E215", f"{message}, for query {show(query.column_name)}", hint
    minimums = {"noise_moe": Fraction(0)}
    if query.finish.nonnegative:
        minimums |= {"value": Fraction(0), query.column_name: Fraction(0)}
    if not node.list_columns():
        return home, "E261", "publish_if names no figure", "write a condition such as value >= 20"
    if is_never_true(node, minimums):
        message = f"publish_if is never true, so {show(query.column_name)} would be empty"
        return home, "E261", message, "correct the condition, or leave the query out"
    return None


# --- agreement ------------------------------------------------------------------------------------


def _list_agreeing(queries: Sequence[Query], parts: Parts) -> list[Query]:
    """List the queries to be consistent: those with others to agree with."""
    groups: dict[object, list[Query]] = {}
    for query in queries:
        if query.finish.consistent:
            groups.setdefault(identify_rows(query), []).append(query)
    alone = [members[0] for members in groups.values() if len(members) == 1]
    together = [members for members in groups.values() if len(members) > 1]
    section = parts.postprocess
    if section.model.consistent and groups and not together:
        message = "consistent has no effect: no two tables count the same records"
        section.complain("E262", message, "consistent", hint=_write_agreement_hint(queries))
    for query in alone:
        own = _find_own(query, parts)
        if own is not None and own.model.consistent:
            message = f"no other table counts the same records as {show(query.name)}"
            own.complain("E262", message, "consistent", hint=_write_agreement_hint(queries))
    for members in together:
        _check_group(members, parts)
    lone = {query.name for query in alone}
    return [
        replace(query, finish=replace(query.finish, consistent=False))
        if query.name in lone
        else query
        for query in queries
    ]


def _write_agreement_hint(queries: Sequence[Query]) -> str:
    """Write the hint: in what the first two tables that could agree differ.

    If no two differ, it says what to add.
    """
    able = [query for query in queries if _is_fitting(RULES["consistent"], query)]
    for left, right in combinations(able, 2):
        first, second = identify_rows(left), identify_rows(right)
        parts = zip(first._fields, first, second, strict=True)
        if names := [name for name, was, now in parts if was != now]:
            return f"{left.name} and {right.name} differ in {word(join_names(names))}"
    return "give another query of the same count, with other groups, consistent = true too"


def _check_group(members: Sequence[Query], parts: Parts) -> None:
    """Check that tables can agree, and warn where their records may not be the same."""
    first, last = members[0], members[-1]
    home, numbers, axes = _find_home(last, parts, "consistent"), *number_axes(members)
    alike = {(query.finish.nonnegative, query.finish.integer) for query in members}
    if len(alike) > 1:
        message = "tables that agree must have the same nonnegative and integer"
        names = word(join_names([query.name for query in members]))
        hint = f"write both in [postprocess], or the same in {names}"
        home.complain("E262", message, "consistent", hint=hint)
    try:
        build_scheme([frozenset(table) for table in axes])
    except Circle as circle:
        columns = [column for column, _ in numbers]
        sets = [" by ".join(columns[i] for i in sorted(table)) for table in circle.tables]
        tables = word(join_names(sets))
        message = f"the tables {tables} overlap in a circle, so they can't be made to agree"
        hint = f"leave one out, or add a table by all of {word(join_names(columns))}"
        home.complain("E262", message, "consistent", hint=hint)
    open_columns = {
        group.column
        for query in members
        for group in query.groups
        if not group.total and not all(group in other.groups for other in members)
    }
    why = ""
    if parts.privacy.model.unit == "column":
        why = "each table keeps its own choice of a unit's rows"
    elif open_columns:
        names = word(join_names(sorted(map(show, open_columns))))
        why = f"records with undeclared values or nulls of {names} are in one and not in the other"
    if why:
        message = f"tables of {first.name} and {last.name} may not have the same records: {why}"
        home.warn("W220", message, "consistent")
