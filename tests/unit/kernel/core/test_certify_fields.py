"""Whatever changes in a certified plan is refused, or stands in a short list of what may change.

Changed is every field, in every way that its type allows, in the plans of the specs in
``release_specs`` and of small ones here. What may change is what a plan may claim too much of, what
is only told, and what nothing but the release states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import builders
import pytest
from msgspec.structs import replace
from plan_changes import Difference, Parts, find_differences, list_changes
from thorough import is_in_diagonal, is_thorough

from dprelease import Failure, load
from dprelease.kernel.certification import certify
from dprelease.kernel.core.chapters import is_of_strategy
from dprelease.model import Adjacency, Form, Group, NoiseFamily, Plan, Query
from dprelease.release.plan import plan_and_certify

SPECS = sorted((Path(__file__).parents[4] / "release_specs").glob("*.toml"))
RELEASED = {path.stem for path in SPECS}

# --- what may change ------------------------------------------------------------------------------


class Neutral(NamedTuple):
    """Fields that may change, if the change is one that ``allows`` lets pass, and why."""

    path: str
    allows: Callable[[Plan, Difference], bool]
    reason: str


def is_any_change(plan: Plan, at: Difference) -> bool:
    return True


def is_one_times(plan: Plan, at: Difference) -> bool:
    """Whether a figure is one times what it was: no factor says the same."""
    return {at.old, at.new} == {(), (Fraction(1),)}


def is_more(plan: Plan, at: Difference) -> bool:
    return at.new is None or bool(at.old is not None and at.new > at.old)


def is_more_or_new(plan: Plan, at: Difference) -> bool:
    return at.old is None or is_more(plan, at)


def is_enough(plan: Plan, at: Difference) -> bool:
    """A total that holds what is claimed, or none: then what queries state holds it."""
    field = at.path.rsplit(".", maxsplit=1)[1]
    claimed = getattr(plan.loss, field)
    if field != "rho" and plan.release.privacy.rho is not None:
        return True  # the total is declared in rho
    return at.new is None or claimed is None or at.new >= claimed


def is_above_nothing(plan: Plan, at: Difference) -> bool:
    return bool(at.new > 0)


def is_fewer(plan: Plan, at: Difference) -> bool:
    return 0 < at.new < at.old


def is_in_other_order(plan: Plan, at: Difference) -> bool:
    return sorted(map(repr, at.old)) == sorted(map(repr, at.new))


def get_step(plan: Plan, at: Difference) -> Any:
    return plan.steps[int(re.findall(r"\[([0-9]+)\]", at.path)[0])]


def has_more_noise(plan: Plan, at: Difference) -> bool:
    """A larger scale, or a lower rate of a choice."""
    if get_step(plan, at).form is Form.NUMBERS:
        return bool(at.new > at.old)
    return is_fewer(plan, at)


def is_more_or_not_used(plan: Plan, at: Difference) -> bool:
    return get_step(plan, at).form is not Form.NUMBERS or is_more(plan, at)


def is_more_rows_or_not_used(plan: Plan, at: Difference) -> bool:
    return get_step(plan, at).form is Form.CHOICE or is_more(plan, at)


def is_more_or_no_choice(plan: Plan, at: Difference) -> bool:
    return get_step(plan, at).form is not Form.CHOICE or is_more(plan, at)


def is_more_or_no_cube(plan: Plan, at: Difference) -> bool:
    return get_step(plan, at).noise.family is not NoiseFamily.CUBE or is_more(plan, at)


def is_not_monotone_or_no_choice(plan: Plan, at: Difference) -> bool:
    return get_step(plan, at).form is not Form.CHOICE or at.new is False


def has_own_axes(plan: Plan, at: Difference) -> bool:
    return not is_of_strategy(get_step(plan, at))


def is_step_of_strategy(plan: Plan, at: Difference) -> bool:
    return is_of_strategy(get_step(plan, at))


def has_more_groups(plan: Plan, at: Difference) -> bool:
    """Groups of a strategy behind those that it has, to whose places terms point."""
    return is_step_of_strategy(plan, at) and at.new[: len(at.old)] == at.old


def is_same_sum(plan: Plan, at: Difference) -> bool:
    """Terms in another order; an integer that counts 0 times; or as the statistic reads its own."""
    read, *places = map(int, re.findall(r"\[([0-9]+)\]", at.path))
    if places:
        return at.path.endswith(f".rows[{places[0]}]") and not plan.reads[read].factors[places[0]]
    return at.new == () or is_in_other_order(plan, at)


def is_not_repeated(plan: Plan, at: Difference) -> bool:
    """Of a column of no query; of one of records, the type of numbers, or the grid of labels."""
    answers = [answer.column for step in plan.records for answer in step.responses]
    used = {column for query in plan.release.queries for column in list_columns(query)}
    if at.path.endswith("].type"):
        used |= {group.column for query in plan.release.queries for group in list_groups(query)}
        used |= {column.name for column in answers if column.group is not None}
    elif "].grid" in at.path:
        used |= {column.name for column in answers if column.quantity is not None}
    names = re.findall(r"^\.release\.columns\[([^\]]*)\]", at.path)
    if names:
        return names[0] not in used
    return used <= at.new.keys() and all(at.new[name] == at.old[name] for name in used)


def list_columns(query: Query) -> Iterator[str]:
    parts = [part.column for part in (query.numerator, query.denominator) if part is not None]
    curve = [axis.column for axis in query.curve]
    for column in (query.column, query.survey_weight, *parts, *curve):
        if column is not None:
            yield column.name


def list_groups(query: Query) -> tuple[Group, ...]:
    return query.groups if query.axis is None else (*query.groups, query.axis)


def has_fewer_neighbours(plan: Plan, at: Difference) -> bool:
    return at.new is Adjacency.ADD_REMOVE and not plan.records


def is_known_word(plan: Plan, at: Difference) -> bool:
    return at.new in {"basic", "mixed", "zcdp", "pld"}


SPEC = (
    "file|about|data|ledger|output|report_formats|report_language|period|warnings|places|lists|names"
    "|review|rehearsal"
)
NEUTRAL = [
    # The release is the spec: a plan is certified for every spec whose queries it answers.
    Neutral(rf"\.release\.({SPEC})\b.*", is_any_change, "no figure and no loss depends on it"),
    Neutral(r"\.release\.columns.*", is_not_repeated, "nothing but the release says what it is"),
    Neutral(
        r"\.release\.privacy\.(unit_description|population|accounting)", is_any_change, "it is told"
    ),
    Neutral(r"\.release\.privacy\.has_fixed_records", is_any_change, "it is held to the source"),
    Neutral(r"\.release\.privacy\.unit_column", is_any_change, "nothing but the release names it"),
    Neutral(
        r"\.release\.privacy\.(epsilon|delta|rho)", is_enough, "no more is claimed than declared"
    ),
    Neutral(
        r"\.release\.privacy\.bounding\.\w+",
        is_above_nothing,
        "certification counts by these bounds",
    ),
    Neutral(
        r"\.release\.privacy\.adjacency", has_fewer_neighbours, "a unit does less than paid for"
    ),
    Neutral(r"\.reads\[\d+\]\.factors", is_one_times, "it is the same figure"),
    # Claims, which may be larger than they have to be.
    Neutral(r"(\.records\[.*)?\.loss\.(epsilon|delta)", is_more, "an upper bound"),
    Neutral(r"\.steps\[\d+\]\.loss\.(epsilon|delta)", is_more, "an upper bound"),
    Neutral(r"(\.records\[.*|\.steps\[\d+\])?\.loss\.rho", is_more_or_new, "an upper bound"),
    Neutral(r"\.steps\[\d+\]\.sensitivity\.l1", is_more_rows_or_not_used, "an upper bound"),
    Neutral(
        r"\.steps\[\d+\]\.sensitivity\.(l2_squared|coordinates)",
        is_more_or_not_used,
        "an upper bound",
    ),
    Neutral(r"\.steps\[\d+\]\.sensitivity\.choice_l1", is_more_or_no_choice, "an upper bound"),
    Neutral(r"\.steps\[\d+\]\.sensitivity\.cube", is_more_or_no_cube, "an upper bound"),
    Neutral(
        r"\.steps\[\d+\]\.sensitivity\.monotone", is_not_monotone_or_no_choice, "twice the range"
    ),
    Neutral(
        r"\.steps\[\d+\]\.sensitivity\.shapes.*", is_any_change, "the planner's; nowhere shown"
    ),
    # What is only told.
    Neutral(r"\.method", is_known_word, "told beside the loss"),
    Neutral(r"\.(advanced|notes|alone)\b.*", is_any_change, "told beside the loss"),
    Neutral(r"\.basic\.rho", is_any_change, "the sum, or not told"),
    Neutral(r"\.steps\[\d+\]\.sensitivity\.derivation\b.*", is_any_change, "told beside the noise"),
    Neutral(
        r"\.steps\[\d+\]\.query\.(table|number)", is_step_of_strategy, "a strategy is in no table"
    ),
    Neutral(
        r"\.steps\[\d+\]\.query\.mechanism",
        is_step_of_strategy,
        "noise is held to queries of the release",
    ),
    Neutral(r"\.steps\[\d+\]\.query\.groups", has_more_groups, "their cells are added up"),
    # How much noise there is, and by what it is read again: it costs no more than is claimed.
    Neutral(r"\.steps\[\d+\]\.noise\.parameter", has_more_noise, "intervals are of this noise"),
    Neutral(r"\.steps\[\d+\]\.noise\.family", is_any_change, "the spec leaves the mechanism open"),
    Neutral(r"\.steps\[\d+\]\.noise\.(stair|first)", is_any_change, "intervals are of this noise"),
    Neutral(r"\.steps\[\d+\]\.scheme\.steps\[\d+\]\.rate", is_fewer, "the less a choice tells"),
    Neutral(r"\.steps\[\d+\]\.scheme\.steps", is_in_other_order, "parts are cut independently"),
    Neutral(r"\.steps\[\d+\]\.threshold", is_more, "the fewer keys are shown"),
    Neutral(r"\.steps\[\d+\]\.axes\[\d+\]\.entries.*", has_own_axes, "read by these very matrices"),
    Neutral(r"\.records\[\d+\]\.responses\[\d+\]\.law\b.*", is_any_change, "read by this very law"),
    # The same by other words.
    Neutral(r"\.steps", is_in_other_order, "each is drawn by itself, and found by its name"),
    Neutral(r"\.reads\[\d+\]\.(rows|factors|merged|terms)(\[\d+\])?", is_same_sum, "the same sum"),
    Neutral(
        r"\.reads\[\d+\]\.terms\[\d+\]\.groups", is_in_other_order, "places, whatever their order"
    ),
    Neutral(r"\.reads\[\d+\]\.screened", is_any_change, "how records without a value are read"),
    Neutral(r"\.reads\[\d+\]\.decimals", is_any_change, "how a combined figure is rounded"),
]


def is_neutral(plan: Plan, at: Difference) -> bool:
    return any(re.fullmatch(entry.path, at.path) and entry.allows(plan, at) for entry in NEUTRAL)


def is_loss_of_another_law(at: Difference, found: Sequence[Difference]) -> bool:
    """Whether an answer got another law together with its loss: certify holds one to the other."""
    answer = re.fullmatch(r"(\.records\[\d+\]\.responses\[\d+\])\.loss\.\w+", at.path)
    return answer is not None and any(other.path.startswith(f"{answer[1]}.law") for other in found)


# --- plans ----------------------------------------------------------------------------------------

KEYS: dict[str, Any] = {"type": "string", "keys": ["a", "b"], "source": "p"}
COLUMNS: dict[str, Any] = {
    "g": KEYS,
    "h": KEYS | {"other": "rest", "nulls": "rest"},
    "s": {"type": "string"},
    "x": {"type": "integer", "lower": -2, "upper": 10, "nulls": 0, "source": "p"},
    "y": {"type": "decimal", "lower": 0, "upper": 5, "step": 0.5, "source": "p"},
    "z": {"type": "integer", "lower": 0, "upper": 9, "source": "p"},
    "w": {"type": "integer", "lower": 1, "upper": 4, "nulls": 1, "source": "p"},
}
COUNT: dict[str, Any] = {"statistic": "count"}
RATIO: dict[str, Any] = {
    "statistic": "ratio",
    "numerator": {"column": "x", "where": "y > 2"},
    "denominator": {"statistic": "count", "where": "z > 1"},
}
SUMS: list[dict[str, Any]] = [
    COUNT | {"by": ["g"]},
    {"statistic": "sum", "column": "y", "by": ["g"]},
    {"statistic": "mean", "column": "y", "by": ["g"]},
    {"statistic": "variance", "column": "y", "by": ["g"]},
]
CHOICES: list[dict[str, Any]] = [
    {"statistic": "mode", "column": "g"},
    {"statistic": "top_k", "column": "g", "k": 2, "where": "x > 1", "mechanism": "laplace"},
    {"statistic": "quantile", "column": "x", "q": [0.25, 0.5, 0.9]},
    {"statistic": "median", "column": "y", "by": ["g"]},
    {"statistic": "count_distinct", "column": "s"},
]
TABLES: list[dict[str, Any]] = [
    COUNT | {"by": ["g", "h"]},
    COUNT | {"by": ["g"]},
    COUNT | {"by": ["h"]},
    COUNT,
    COUNT | {"where": "x > 3"},
    COUNT | {"where": "y > 3"},
]
PRIVATE: list[dict[str, Any]] = [
    COUNT | {"by": ["s"], "partition_selection": {"delta": 1e-8}},
    {"statistic": "sum", "column": "x", "by": ["s"], "partition_selection": {"delta": 1e-8}},
]
ALONG: list[dict[str, Any]] = [
    {"statistic": "cumulative", "column": "z", "bins": [*range(10)], "by": ["g"]},
    {"statistic": "density", "column": "z", "points": 4},
    {"statistic": "histogram", "column": "z", "bins": [0, 4, 9]},
]
PEOPLE: dict[str, Any] = {
    "unit": "column",
    "unit_column": "p",
    "bounding": {"max_rows_per_unit": 3, "max_groups_per_unit": 2},
}
REPLACED: dict[str, Any] = {"adjacency": "replace-one"}
GAUSSIAN: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
OWN = [COUNT | {"epsilon": 0.5}, RATIO | {"epsilon": 0.5, "mechanism": "laplace"}]
CLIPPED: list[dict[str, Any]] = [
    {"statistic": "count", "bounding": {"clip": "l1", "bound": 3}},
    {"statistic": "sum", "column": "x", "by": ["g"], "bounding": {"clip": "l1", "bound": 7}},
    {"statistic": "sum", "column": "x", "by": ["g"], "bounding": {"clip": "l2", "bound": 7}},
]
SMALL: dict[str, tuple[list[dict[str, Any]], dict[str, Any], bool]] = {
    "sums": (SUMS, {}, False),
    "sums, replaced, rho": (SUMS[:3], REPLACED | {"rho": 0.5, "epsilon": None}, False),
    "shares": ([RATIO, {"statistic": "proportion", "where": "x > 3", "by": ["g"]}], {}, False),
    "shares, replaced, Gaussian": ([RATIO], REPLACED | GAUSSIAN, False),
    "choices": (CHOICES, {}, False),
    "choices of people": (CHOICES[:4], PEOPLE | REPLACED, False),
    "clipped people": (CLIPPED, PEOPLE | GAUSSIAN, False),
    "clipped people, replaced": (CLIPPED[:2], PEOPLE | REPLACED, False),
    "tables": (TABLES, {}, False),
    "tables, Gaussian, replaced": (TABLES, GAUSSIAN | REPLACED, False),
    "private keys": (PRIVATE, GAUSSIAN, False),
    "along a column, Gaussian": (ALONG, GAUSSIAN, False),
    "stated budgets": (OWN, {"epsilon": None}, False),
    "weights": ([*SUMS[:3], RATIO, CHOICES[2]], {}, True),
}
PERTURBED: list[dict[str, Any]] = [
    {"name": "r", "columns": ["g", "x", "z"], "epsilon": 4},
    {"name": "s", "columns": ["z"], "epsilon": 1, "delta": 0.01, "mechanism": "laplace"},
    {"name": "t", "columns": ["g"], "truth": 0.75},
]


@cache
def plan_named(name: str) -> Plan:
    if name == "record-level tables":
        tables = builders.spec(privacy=REPLACED, columns=COLUMNS, perturb=PERTURBED)
        return plan_and_certify(load(tables)).plan
    if name not in SMALL:
        return plan_and_certify(load(next(path for path in SPECS if path.stem == name))).plan
    queries, privacy, is_weighted = SMALL[name]
    spec: dict[str, Any] = builders.spec(
        data={"path": "t.csv"} | ({"weight": "w"} if is_weighted else {}),
        privacy={"epsilon": 1} | privacy,
        columns={key: column for key, column in COLUMNS.items() if is_weighted or key != "w"},
        query=[{"name": f"q{at}"} | query for at, query in enumerate(queries)],
    )
    return plan_and_certify(load(spec)).plan


PLANS = [*SMALL, "record-level tables", *(path.stem for path in SPECS)]


def is_certified(plan: Plan) -> bool:
    """Whether a plan is certified; what is not is refused as a fault of ours, and no other way."""
    try:
        certify(plan)
    except Failure as failure:
        if {complaint.code for complaint in failure.complaints} != {"E702"}:
            raise
        return False
    return True


def sample_changes(name: str, every: Iterator[Any]) -> Iterator[Any]:
    """Some of all changes: of large plans fewer."""
    large = 1 if name not in RELEASED else max(1, len(plan_named(name).release.queries))
    step = large * (2 if is_thorough() else 32 if name in RELEASED else 16)
    return (change for place, change in enumerate(every) if is_in_diagonal(place, step))


# --- tests ----------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PLANS)
def test_a_changed_field_is_refused_or_may_change(name: str) -> None:
    plan = plan_named(name)
    for changed in sample_changes(name, list_changes(plan, Plan, Parts([plan]))):
        if is_certified(changed):
            found = list(find_differences(plan, changed))
            others = [at for at in found if not is_loss_of_another_law(at, found)]
            assert [at for at in others if not is_neutral(plan, at)] == []


def ask_otherwise(plan: Plan, query: Query, other: Query) -> Plan:
    """The same plan for a release that asks another query."""

    def swapped(one: Query) -> Query:
        return other if one == query else one

    release = replace(plan.release, queries=tuple(map(swapped, plan.release.queries)))
    steps = tuple(replace(step, query=swapped(step.query)) for step in plan.steps)
    reads = tuple(replace(read, query=swapped(read.query)) for read in plan.reads)
    return replace(plan, release=release, steps=steps, reads=reads)


ALIKE = [
    {"count", "histogram", "cumulative"},
    {"variance", "stddev"},
    {"mode", "top_k"},
    {"quantile", "median", "min", "max"},
]
"""Statistics that are read of the same integers, or selected alike."""
OPEN = {
    "implied", "name", "mechanism", "groups", "axis", "candidates", "points", "picks", "curve",
    "accuracy", "weight", "finish", "max_unreadable", "number", "table", "clip",
}  # fmt: skip
"""What nothing but the query states, and engines, noise or figures take from it."""


def is_free(plan: Plan, query: Query) -> bool:
    """Whether all that a query is read from is the same for all neighbours."""
    used = {name for read in plan.reads if read.query == query for name in read.steps}
    return not any(step.loss.epsilon for step in plan.steps if step.query.name in used)


def may_ask(plan: Plan, query: Query, at: Difference) -> bool:
    """Whether a plan may be right for two queries that differ so."""
    field = at.path.split(".")[1].split("[")[0]
    if field in {"epsilon", "delta", "rho", "key_selection"}:
        return (
            at.path.startswith(".key_selection")
            or at.new is None
            or at.old is None
            or at.new > at.old
            or is_free(plan, query)
        )
    if field == "where":
        return query.statistic in {"best", *ALIKE[3]}
    if field == "statistic":
        return any({at.old, at.new} <= alike for alike in ALIKE)
    if at.path == ".column" and query.statistic == "density":
        return at.new is None  # its curve has the column
    if field == "quantiles":
        return query.statistic == "cumulative"
    return field in OPEN


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_refused_for_a_release_that_asks_for_another_figure(name: str) -> None:
    """Changed is a query in all places where a plan holds it: the spec's, so to speak."""
    plan = plan_named(name)
    parts = Parts([plan])
    every = (
        (query, other)
        for query in plan.release.queries
        for other in list_changes(query, Query, parts)
    )
    for query, other in sample_changes(name, every):
        if is_certified(ask_otherwise(plan, query, other)):
            assert [
                at for at in find_differences(query, other) if not may_ask(plan, query, at)
            ] == []


@pytest.mark.thorough
def test_what_may_change_does_change_in_some_plan() -> None:
    """No entry of the list is there for nothing."""
    seen: set[str] = set()
    for name in ("clinic_records", "clinic_gaussian", *SMALL):
        plan = plan_named(name)
        for changed in list_changes(plan, Plan, Parts([plan])):
            for at in find_differences(plan, changed):
                seen |= {entry.path for entry in NEUTRAL if re.fullmatch(entry.path, at.path)}
    assert [entry.path for entry in NEUTRAL if entry.path not in seen] == []
