"""A plan in JSON values."""

from __future__ import annotations

from fractions import Fraction

from dprelease.language import word
from dprelease.local.report.record_wording import record_words
from dprelease.model import Plan
from dprelease.planning.planner import plan_alternatives
from dprelease.postprocess.intervals.number_text import write_budget
from dprelease.reports.facts.approval import list_held_facts, list_left_open
from dprelease.reports.facts.explanations import plan_warnings
from dprelease.reports.facts.query_facts import (
    define_queries,
    describe_composition,
    describe_queries,
)
from dprelease.reports.facts.release_facts import list_files, record_tables
from dprelease.reports.facts.strategy_facts import describe_strategies
from dprelease.reports.facts.unit_facts import describe_unit, list_rows_cut
from dprelease.reports.model.json_form import to_json
from dprelease.reports.model.report_model import PlannedLedger, Query
from dprelease.reports.text.shown_numbers import to_json_number, write_exact
from dprelease.statistics import read_release as reading


def describe(plan: Plan, ledger: PlannedLedger | None = None) -> dict[str, object]:
    """Describe what a run would do and spend, as ``dprelease plan --json`` prints it."""
    release = plan.release
    privacy = release.privacy
    sentences = record_words(plan).unprotected
    queries = describe_queries(plan)
    return {
        "schema": "dprelease/plan/1",
        "release": release.about.name,
        "dataset": release.ledger.dataset,
        **{
            key: fact
            for key, fact in to_json(describe_unit(release)).items()
            if key != "description"
        },
        **({"rows_of_unit": cut} if (cut := list_rows_cut(plan)) else {}),
        "interval": write_exact(release.output.interval),
        "approval": {
            "holds": to_json(list_held_facts(release)),
            "leaves_open": list(list_left_open(release)),
        },
        "declared": {
            "epsilon": None if privacy.epsilon is None else write_exact(privacy.epsilon),
            "delta": write_exact(privacy.delta),
            "rho": None if privacy.rho is None else write_exact(privacy.rho),
        },
        "total": to_json(describe_composition(plan)),
        "steps": to_json(queries),
        DEFINITIONS: [_describe_definition(query) for query in define_queries(plan, queries)],
        **({"strategies": to_json(describe_strategies(plan))} if plan.strategies else {}),
        **({"perturb": to_json(record_tables(plan))} if plan.records else {}),
        **({"lists": to_json(list_files(release))} if release.lists else {}),
        **({"not_protected": list(sentences)} if sentences else {}),
        "notes": list(map(word, plan.notes)),
        "warnings": [warning.to_dict() for warning in (*release.warnings, *plan_warnings(plan))],
        "ledger": to_json(ledger),
    }


DEFINITIONS = "definitions"
"""What figures are in words: a saved plan has what they are made from, and leaves these out."""


def _describe_definition(query: Query) -> dict[str, object]:
    texts = query.definition, query.groups, query.outside
    return {
        "name": query.name,
        "table": query.table,
        **({} if query.description is None else {"description": query.description}),
        **dict(zip(("definition", "groups", "outside"), map(list, texts), strict=True)),
    }


MOST_QUERIES = 100
"""Of longer plans, five more would take too long."""


def describe_alternatives(plan: Plan) -> list[dict[str, object]]:
    """Describe the expected errors at a quarter, half, once, twice and four times the total.

    Returns:
        One entry for each factor, with its ``total`` ("epsilon 2", "rho 0.1", or "times 2" if
        only queries state budgets). ``errors`` and ``epsilon`` are None where no plan is possible.
        With record-level tables ``perturb`` has the error of an answer of each column. Empty for
        plans of very many queries.
    """
    if len(plan.release.queries) > MOST_QUERIES:
        return []
    interval = plan.release.output.interval
    return [
        {
            "times": write_exact(factor),
            "total": _write_total(plan, factor),
            "epsilon": None if plan2 is None else to_json_number(plan2.loss.epsilon),
            "errors": None
            if plan2 is None
            else {
                read.query.name: word(reading.describe_expected_error(read, plan2, interval))
                for read in plan2.reads
            },
            **({"perturb": _list_answer_errors(plan2)} if plan.records else {}),
        }
        for factor, plan2 in plan_alternatives(plan)
    ]


def _list_answer_errors(plan: Plan | None) -> dict[str, dict[str, int | float]] | None:
    if plan is None:
        return None
    from dprelease.local.report.table_facts import list_answer_errors

    return list_answer_errors(plan)


def _write_total(plan: Plan, factor: Fraction) -> str:
    privacy = plan.release.privacy
    if privacy.rho is not None:
        return f"rho {write_budget(privacy.rho * factor)}"
    if privacy.epsilon is not None:
        return f"epsilon {write_budget(privacy.epsilon * factor)}"
    return f"times {write_budget(factor)}"
