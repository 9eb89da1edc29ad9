"""The report as one dict of JSON values: everything the renderers may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dprelease.model import Adjacency, Column, Plan, Release
from dprelease.report.hazards import hazards
from dprelease.report.meaning import beliefs, group_privacy
from dprelease.report.numbers import text, upward
from dprelease.report.steps import MECHANISM_WORDS, accounting_facts, step_facts


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run knows beyond its plan; nothing of it depends on the private data."""

    run_id: str
    released_at: str
    ledger: Mapping[str, object]
    versions: Mapping[str, str]
    files: Mapping[str, str]  # table file -> sha256
    remarks: tuple[str, ...] = ()  # on the published figures


NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "two tables are neighbours when one has a single row more than the other",
    Adjacency.REPLACE_ONE: (
        "two tables are neighbours when they have equally many rows and differ in a single row"
    ),
}


def build(plan: Plan, outcome: Outcome) -> dict[str, object]:
    """Build the report of a release."""
    release = plan.release
    return {
        "schema": "dprelease/report/1",
        "deployment": _deployment(release, plan),
        "guarantee": _guarantee(plan),
        "queries": [step_facts(step, release.output.interval) for step in plan.steps],
        "accounting": accounting_facts(plan),
        "meaning": {
            "beliefs": _beliefs(plan),
            "groups": group_privacy(plan.loss.epsilon, plan.loss.delta),
        },
        "not_protected": _not_protected(release, plan),
        "data": _data(release),
        "columns": [_column(column) for column in release.columns.values()],
        "processing": _processing(release),
        "ledger": dict(outcome.ledger),
        "hazards": hazards(release, plan),
        "notes": [*plan.notes, *outcome.remarks],
        "warnings": [warning.message for warning in release.warnings],
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


def _beliefs(plan: Plan) -> list[dict[str, object]]:
    """What somebody may come to believe, of each thing that the neighbours speak about.

    Under add-remove, a row with another content is two steps away: it is taken out and another
    one put in. Under replace-one it is one step, and that the row is there is not protected.
    """
    if plan.release.privacy.adjacency is Adjacency.REPLACE_ONE:
        return [beliefs("what the row says", plan.loss, 1)]
    return [
        beliefs("whether the row is in the table", plan.loss, 1),
        beliefs("what the row says, if it is in the table", plan.loss, 2),
    ]


def _deployment(release: Release, plan: Plan) -> dict[str, object]:
    about, privacy = release.about, release.privacy
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
        "privacy_unit": {
            "unit": privacy.unit,
            "description": privacy.unit_description,
            "adjacency": str(privacy.adjacency),
        },
        "dp_variant": "pure" if plan.loss.delta == 0 else "approximate",
        "privacy_loss": {
            "epsilon": upward(plan.loss.epsilon),
            "delta": upward(plan.loss.delta),
            "rho": None if plan.loss.rho is None else upward(plan.loss.rho),
        },
        "model": "central",
        "accounting": {"composition": plan.method},
        "implementation": {
            "tool": "dprelease",
            "mechanisms": sorted({MECHANISM_WORDS[step.noise.family] for step in plan.steps}),
        },
    }


def _guarantee(plan: Plan) -> str:
    privacy = plan.release.privacy
    loss = f"epsilon = {text_up(plan.loss.epsilon)}"
    if plan.loss.delta:
        loss += f" and delta = {text_up(plan.loss.delta)}"
    described = privacy.unit_description
    row = f" A row stands for {described}." if described else ""
    neighbours = NEIGHBOURS[privacy.adjacency]
    return (
        f"Everything in this release together satisfies differential privacy with {loss} for one "
        f"row.{row} {neighbours[0].upper()}{neighbours[1:]}."
    )


def text_up(value: Fraction) -> str:
    """Write a loss for a sentence, rounded up where it must be rounded."""
    return str(upward(value))


def _not_protected(release: Release, plan: Plan) -> list[str]:
    said = [
        "What the spec declares: columns, bounds, groups, filters and the size of the noise.",
        "What is true of people whether or not they are in the table: a pattern that holds for a "
        "whole region can be learnt and applied to anyone there.",
        "A person with several rows is protected for each row; for all of them together the "
        "group table applies.",
    ]
    if release.privacy.adjacency is Adjacency.REPLACE_ONE:
        said.append("The number of rows of the table, which all neighbouring tables share.")
    said.extend(
        f"{step.query.name}: published without noise, as it is equal in all neighbouring tables."
        for step in plan.steps
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


def _column(column: Column) -> dict[str, object]:
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
        "bins": None if column.edges is None else list(column.edges),
        "other": column.other,
        "nulls": "drop" if column.null_value is None else column.null_value,
        "expression": column.expression.text if column.expression else None,
        "source": column.source,
    }


def _processing(release: Release) -> list[str]:
    said = [
        "Values outside a column's bounds count as the nearest bound; that biases sums and means "
        "where many lie outside.",
        "Values are rounded to the column's step before they are added up.",
        "Nulls and unreadable values follow the column's `nulls`; values outside the declared "
        "groups follow `other`, and are left out of the table where there is none.",
        "Means are read from two noisy sums; they and their counts are post-processing of these.",
    ]
    if release.data.source.format == "csv":
        said.append(
            "A CSV record is one line. A line that cannot be read as a record counts as a record "
            "without values."
        )
    return said
