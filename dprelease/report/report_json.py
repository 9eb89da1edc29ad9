"""The report as one dict of JSON values: everything the renderers may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dprelease.model import Adjacency, Column, OutputTable, Plan, Release, StoredTable
from dprelease.report.local.wording import record_facts, record_words
from dprelease.report.numbers import text, upward, written
from dprelease.report.query_json import MECHANISM_WORDS, accounting_facts, query_facts
from dprelease.report.wording.extremes import plan_warnings
from dprelease.report.wording.hazards import hazards
from dprelease.report.wording.list_files import list_facts
from dprelease.report.wording.meaning import beliefs, group_privacy
from dprelease.report.wording.processing import processing
from dprelease.report.wording.units import bounding_words, protected, unit_facts, unit_of
from dprelease.statistics.shared.read_release import views


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run knows beyond its plan; nothing of it depends on the private data."""

    run_id: str
    released_at: str
    ledger: Mapping[str, object]
    versions: Mapping[str, str]
    files: Mapping[str, str]  # table file -> sha256
    tables: Sequence[Mapping[str, object]]  # of each table its ``table_facts``
    remarks: tuple[str, ...] = ()  # on the published figures
    records: Mapping[str, StoredTable] = field(default_factory=dict)


def build(plan: Plan, outcome: Outcome) -> dict[str, object]:
    """Build the report of a release."""
    release = plan.release
    return {
        "schema": "dprelease/report/1",
        **planned_facts(plan, outcome.records),
        "tables": [dict(each) for each in outcome.tables],
        "ledger": dict(outcome.ledger),
        "notes": [*plan.notes, *outcome.remarks],
        "warnings": [warning.message for warning in (*release.warnings, *plan_warnings(plan))],
        "provenance": {
            "run_id": outcome.run_id,
            "released_at": outcome.released_at,
            "snapshot": release.data.snapshot,
            "period": release.period,
            "versions": dict(outcome.versions),
            "files": dict(outcome.files),
            "interval": text(release.output.interval),
        },
    }


def planned_facts(
    plan: Plan, records: Mapping[str, StoredTable] | None = None
) -> dict[str, object]:
    """State what is known of a release before any data is opened, and of ``records`` if drawn."""
    release = plan.release
    local = record_words(plan)
    return {
        "deployment": _deployment(release, plan),
        "guarantee": _guarantee(plan) + local.guarantee,
        "bounding": [*(bounding_words(release) if plan.reads else ()), *local.bounding],
        "queries": [query_facts(plan, read) for read in plan.reads],
        **record_facts(plan, records),
        "accounting": accounting_facts(plan),
        "meaning": {
            "beliefs": _beliefs(plan),
            "of": unit_of(release.privacy).one,
            "groups": group_privacy(plan.loss.epsilon, plan.loss.delta),
        },
        "not_protected": [*_not_protected(release, plan), *local.unprotected],
        "data": _data(release),
        "columns": [_column(column, _private(plan)) for column in release.columns.values()],
        **list_facts(release),
        "processing": processing(plan, local.processing),
        "hazards": hazards(release, plan, local.hazards),
    }


def table_facts(table: OutputTable, file: str) -> dict[str, object]:
    """Describe a released table so that its file can be read again to the letter."""
    return {
        "name": table.name,
        "file": file,
        "title": table.title,
        "rows": table.rows,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "decimals": column.decimals,
                "type": None if column.type is None else str(column.type),
                "query": column.query,
                "description": column.description,
            }
            for column in table.columns
        ],
    }


def _beliefs(plan: Plan) -> list[dict[str, object]]:
    """What somebody may come to believe, of each thing that the neighbours speak about.

    Under add-remove, a unit with other contents is two steps away: it is taken out and another
    one put in. Under replace-one it is one step, and that the unit is there is not protected.
    """
    unit = unit_of(plan.release.privacy)
    if plan.release.privacy.adjacency is Adjacency.REPLACE_ONE:
        return [beliefs(unit.content, plan.loss, 1)]
    there = f"{unit.content}, if {'they are' if unit.people else 'it is'} in the table"
    return [beliefs(unit.presence, plan.loss, 1), beliefs(there, plan.loss, 2)]


def _deployment(release: Release, plan: Plan) -> dict[str, object]:
    about = release.about
    return {
        "basic": {
            "name": about.name,
            "title": about.title or about.name,
            "data_curator": about.curator,
            "contact": about.contact,
            "intended_use": about.purpose,
            "region": about.region,
            "sector": about.sector,
            "approved_by": about.approved_by,
        },
        "privacy_unit": unit_facts(release),
        "dp_variant": "pure" if plan.loss.delta == 0 else "approximate",
        "privacy_loss": {
            "epsilon": upward(plan.loss.epsilon),
            "delta": upward(plan.loss.delta),
            "rho": None if plan.loss.rho is None else upward(plan.loss.rho),
        },
        "model": _model(plan),
        "accounting": {"composition": plan.method},
        "implementation": {
            "tool": "dprelease",
            "mechanisms": [
                *sorted({MECHANISM_WORDS[step.noise.family] for step in plan.steps}),
                *record_words(plan).mechanisms,
            ],
        },
    }


def _model(plan: Plan) -> str:
    """Where noise is added: to figures of the whole table, or to each record."""
    if not plan.records:
        return "central"
    return "central and local" if plan.reads else "local"


def _guarantee(plan: Plan) -> str:
    privacy = plan.release.privacy
    loss = f"epsilon = {text_up(plan.loss.epsilon)}"
    if plan.loss.delta:
        loss += f" and delta = {text_up(plan.loss.delta)}"
    neighbours = unit_of(privacy).neighbours
    return (
        f"Everything in this release together satisfies differential privacy with {loss} for one "
        f"{protected(privacy)} {neighbours[0].upper()}{neighbours[1:]}."
    )


def text_up(value: Fraction) -> str:
    """Write a loss for a sentence, rounded up where it must be rounded."""
    return written(upward(value))


def _not_protected(release: Release, plan: Plan) -> list[str]:
    column = release.privacy.unit_column
    said = [
        "What the spec declares: columns, bounds, groups, filters and the size of the noise.",
        "What is true of people whether or not they are in the table: a pattern that holds for a "
        "whole region can be learnt and applied to anyone there.",
        "A person with several rows is protected for each row; for all of them together the "
        "group table applies."
        if column is None
        else f'A person who is in the table under several values of "{column}" is protected for '
        "each; for all of them together the group table applies.",
    ]
    if release.privacy.adjacency is Adjacency.REPLACE_ONE:
        many = unit_of(release.privacy).many
        said.append(f"The number of {many} of the table, which all neighbouring tables share.")
    said.extend(
        f"{step.query.name}: published without noise, as it is equal in all neighbouring tables."
        for step in views(plan)
        if step.noise.parameter == 0
    )
    return said


KEYS_SHOWN = 100


def _data(release: Release) -> dict[str, object]:
    """How the file is read: what counts as missing decides what is counted."""
    source = release.data.source
    told: dict[str, object] = {"format": source.format, "path": release.data.written_path}
    if source.format == "csv":
        dialect = source.dialect
        told |= {
            "delimiter": dialect.delimiter,
            "quote": dialect.quote,
            "encoding": dialect.encoding,
            "null_values": list(dialect.null_values),
            "header": dialect.header,
            "strip": dialect.strip,
        }
    return told


def _column(column: Column, private: frozenset[str]) -> dict[str, object]:
    grid = column.grid
    return {
        "name": column.name,
        "type": str(column.type),
        "lower": None if grid is None else upward(grid.lower * grid.step),
        "upper": None if grid is None else upward(grid.upper * grid.step),
        "step": None if grid is None else upward(grid.step),
        "step_chosen_by_tool": column.step_chosen,
        "keys": None if column.keys is None else len(column.keys),
        "key_list": list(column.keys[:KEYS_SHOWN]) if column.keys else None,
        "private_keys": column.name in private,
        "bins": None if column.edges is None else list(column.edges),
        "other": column.other,
        "nulls": "drop" if column.null_value is None else column.null_value,
        "expression": column.expression.text if column.expression else None,
        "source": column.source,
    }


def _private(plan: Plan) -> frozenset[str]:
    """Columns whose keys the data decide."""
    return frozenset(
        group.column for step in plan.steps for group in step.query.groups if group.private
    )
