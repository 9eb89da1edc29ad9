"""The planner: every query's noise and the loss of them all, fixed before any data is opened.

``plan_alternatives`` plans again with other totals. Where queries share by weight, what others
state by themselves and their targets stay as they are. Where all of it is stated, all of it is
multiplied, and so is the epsilon of record-level tables; what follows from a chance of true answers
stays.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar

from msgspec.structs import replace

from dprelease.errors import Failure
from dprelease.local.record_table_plan import plan_tables
from dprelease.model import Adjacency, Loss, Perturb, Plan, Privacy, Query, Release, Source
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.model.source_registry import SOURCES, Records
from dprelease.planning.budgets import Total, build_failure, is_delta_ours, read_total
from dprelease.planning.shared_releases import find_repeated_queries
from dprelease.planning.solve import choose_best_solution
from dprelease.postprocess.intervals.combined_figure import assign_decimals
from dprelease.postprocess.intervals.number_text import join_names, number, write_budget
from dprelease.privacy import composition as accounting
from dprelease.privacy.composition import BASIC, compose_advanced


def make_plan(
    release: Release,
    *,
    margin: Fraction | None = accounting.MARGINS[0],
    jointly: bool = True,
    as_version_02: bool = False,
) -> Plan:
    """Plan a release: choose the noise of every query and compose the loss of them all.

    Record-level tables are paid for first; their losses are added to those of the queries.

    Args:
        release: The release as its spec describes it.
        margin: Factor above 1 by which a numerically composed epsilon exceeds the computed one;
            None: compose numerically only if the spec's accounting is pld.
        jointly: Plan counts together where that errs less; if False, plan every query by itself.
        as_version_02: Choose among the strategies that version 0.2 had, as it chose, so that its
            runs are found again.

    Returns:
        The plan. Its composed loss is at most the declared total.

    Raises:
        Failure: The queries' budgets or accuracy targets do not fit into the total (exit code 2).
    """
    total = read_total(release)
    if margin is not None:
        total = replace(total, margin=margin)
    elif total.accounting == "auto":
        total = replace(total, accounting="plain")
    records = plan_tables(release)
    table_loss = accounting.compose_basic([step.loss for step in records])
    if not release.queries:
        _check_total(release, table_loss, total)
        notes = _collect_notes(release, total, table_loss)
        return Plan(release, (), table_loss, BASIC, table_loss, notes, records=records)
    # A table's loss adds up with all others, so it is taken off the total before queries are
    # planned.
    remaining = total.subtract_loss(table_loss)
    if (remaining.epsilon or 0) < 0 or (remaining.rho or 0) < 0 or remaining.delta < 0:
        _check_total(release, table_loss, total)
        raise _build_composition_failure(release, total)
    if remaining.accounting in {"zcdp", "pld"} and remaining.delta == 0:
        raise _build_composition_failure(release, total)
    try:
        solution = choose_best_solution(
            release, remaining, jointly=jointly, as_version_02=as_version_02
        )
    except ValueError:
        raise _build_composition_failure(release, total) from None
    drafts = solution.drafts
    steps = tuple(draft.step(solution.choices[draft.name]) for draft in drafts)
    loss = accounting.compose_basic([solution.loss, table_loss])
    _check_total(release, loss, total)
    losses = [step.loss for step in steps]
    basic = accounting.compose_basic([*losses, *(step.loss for step in records)])
    # Drafts are in the order of releases, reads in that of the spec's queries.
    by_name = {read.query.name: read for draft in drafts for read in draft.reads}
    # A count that nobody asked for is not released where a mean selects keys.
    reads = tuple(by_name[query.name] for query in release.queries if query.name in by_name)
    notes = _collect_notes(release, total, loss)
    compared = compose_advanced(losses, remaining.delta) if remaining.delta else None
    if compared is not None:
        compared = accounting.compose_basic([compared, table_loss])
    basic = Loss(basic.epsilon, basic.delta)
    method, alone = solution.method, solution.alone
    plan = Plan(release, steps, loss, method, basic, notes, compared, reads, records, alone)
    return assign_decimals(plan) if alone else plan


def _build_composition_failure(release: Release, total: Total) -> Failure:
    return build_failure(
        release,
        "privacy.accounting",
        "E315",
        f"the queries' budgets can't be composed by accounting = \"{total.accounting}\""
        + ("" if total.delta else " without a delta"),
        "let accounting be auto, or change the deltas of [privacy] and of the queries"
        if total.delta
        else "give [privacy] a delta, at least the sum of those of its queries",
    )


def _check_total(release: Release, loss: Loss, total: Total) -> None:
    kind, spent, allowed = "epsilon", loss.epsilon, total.epsilon
    if total.rho is not None:
        kind, spent, allowed = "rho", loss.rho or Fraction(0), total.rho
    if allowed is not None and spent > allowed:
        raise build_failure(
            release,
            f"privacy.{kind}",
            "E311",
            f"the queries need {kind} {write_budget(spent)} together, more than "
            f"the total {number(allowed, 6)}",
            f"lower the queries' budgets, or raise the total to {write_budget(spent)}",
        )
    if loss.delta >= 1:
        raise build_failure(
            release,
            "privacy.delta",
            "E314",
            f"the spec asks for delta {number(loss.delta, 3, up=True)}: "
            "a delta of 1 or more promises nothing",
            "lower the deltas, including those of record-level tables, below 1 in total",
        )
    if release.privacy.epsilon is not None and loss.delta > release.privacy.delta:
        raise build_failure(
            release,
            "privacy.delta",
            "E314",
            f"the queries need delta {number(loss.delta, 3, up=True)}, more than the total "
            f"{number(release.privacy.delta, 3)}",
        )


def _collect_notes(release: Release, total: Total, loss: Loss) -> tuple[Text, ...]:
    notes: list[Text] = []
    privacy, source = release.privacy, release.data.source
    replaced = privacy.adjacency is Adjacency.REPLACE_ONE and privacy.unit == "row"
    if replaced and not privacy.has_fixed_records:
        notes.append(
            sentence("plan.notes.count_has_noise", reason=_explain_missing_records(source))
        )
    elif replaced and not source.has_fixed_records:  # sealed by an earlier version
        notes.append(
            sentence("plan.notes.count_was_released", reason=_explain_missing_records(source))
        )
    if is_delta_ours(release) and loss.delta:
        notes.append(sentence("plan.notes.delta_beside_rho", delta=number(total.delta)))
    notes += [
        sentence("plan.notes.equal_queries", names=join_names(names))
        for names in find_repeated_queries(release.queries)
    ]
    total_epsilon = total.epsilon
    # A rest that shows in no digit comes of rounding, as zCDP leaves it.
    if total_epsilon is not None and number(loss.epsilon, 6, up=True) != number(
        total_epsilon, 6, up=True
    ):
        notes.append(
            sentence(
                "plan.notes.unused_epsilon",
                unused=number(total_epsilon - loss.epsilon, 3),
                total=number(total_epsilon, 6),
            )
        )
    return tuple(notes)


def _explain_missing_records(source: Source) -> Sentence:
    """Explain why the content of a record can decide whether it is there."""
    listed = SOURCES[source.format]
    if listed.records is Records.LINES:
        return sentence("plan.notes.quotes_decide_records")
    return sentence(listed.explanation)


# --- the same release with other totals -----------------------------------------------------------

Stated = TypeVar("Stated", Privacy, Query, Perturb)
FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


def plan_alternatives(plan: Plan) -> list[tuple[Fraction, Plan | None]]:
    """Plan at a quarter, half, once, twice and four times the total.

    These plans are not certified: nothing is run by them.

    Args:
        plan: The plan of the release.

    Returns:
        Pairs of factor and plan; the plan is None where stated budgets or targets leave none. Empty
        if accuracy targets decide everything.
    """
    release = plan.release
    has_query_with_budget = any(
        _has_stated_budget(query) or _has_weight(query) for query in release.queries
    )
    if not has_query_with_budget and all(perturb.truth is not None for perturb in release.perturbs):
        return []
    return [(factor, plan if factor == 1 else _plan_scaled(release, factor)) for factor in FACTORS]


def _plan_scaled(release: Release, factor: Fraction) -> Plan | None:
    privacy = _multiply_budget(release.privacy, factor)
    queries, perturbs = release.queries, release.perturbs
    if not any(map(_has_weight, queries)):
        queries = tuple(_multiply_budget(query, factor) for query in queries)
        perturbs = tuple(_multiply_budget(perturb, factor) for perturb in perturbs)
    try:
        return make_plan(replace(release, privacy=privacy, queries=queries, perturbs=perturbs))
    except (Failure, ValueError):
        return None


def _has_stated_budget(query: Query) -> bool:
    return query.epsilon is not None or query.rho is not None


def _has_weight(query: Query) -> bool:
    return not _has_stated_budget(query) and query.accuracy is None


def _multiply_budget(amounts: Stated, factor: Fraction) -> Stated:
    """Multiply the stated epsilon and rho."""
    budgets = {name: getattr(amounts, name, None) for name in ("epsilon", "rho")}
    larger: dict[str, Any] = {
        name: budget * factor for name, budget in budgets.items() if budget is not None
    }
    return replace(amounts, **larger)
