"""Record-level tables of a plan for people, in tables that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dprelease.cli.views.numbers import rounded_up
from dprelease.cli.views.tables import new_table
from dprelease.report.facts.model import RecordColumn, RecordTable
from dprelease.report.facts.record_words import (
    amount,
    answer_of,
    error_of,
    halfwidth_head,
    halfwidth_rows,
    percent,
)

if TYPE_CHECKING:
    from rich.table import Table

Facts = Mapping[str, Any]

CAPTION = "Error of one answer, where it is largest; least: of any mechanism that loses as little."


def record_tables(
    perturbs: Sequence[RecordTable], percent_kept: float
) -> Iterator[tuple[Table, str]]:
    """What is published of each record, how it is protected, and what estimates will be worth."""
    yield _what(perturbs), CAPTION
    yield _how(perturbs), ""
    yield (
        _worth(perturbs),
        f"Half-widths of {percent_kept:g}% intervals, about and at most; of the noise alone.",
    )


def _what(perturbs: Sequence[RecordTable]) -> Table:
    table = new_table("What is published record by record")
    for heading in ("table and column", "an answer is", "expected error", "least"):
        table.add_column(heading, overflow="fold")
    for part in perturbs:
        table.add_row(part.name, "", "", "")
        for column in part.columns:
            least = amount(column, column.error.floor)
            table.add_row(
                f"  {column.name}",
                answer_of(column),
                error_of(column, column.error.expected),
                least,
            )
    return table


def _how(perturbs: Sequence[RecordTable]) -> Table:
    with_delta = any(part.delta for part in perturbs)
    table = new_table("How each record is protected")
    for heading in ("table and column", "mechanism"):
        table.add_column(heading, overflow="fold")
    for heading in ("truth", "scale", "epsilon", *(["delta"] if with_delta else [])):
        table.add_column(heading, justify="right", overflow="fold")
    for part in perturbs:
        most = part.rows_per_unit
        kept = "" if most == 1 else f"at most {most:,} rows of one person"
        table.add_row(part.name, kept, "", "", *_losses(part, with_delta))
        for column in part.columns:
            scale = column.error.scale
            table.add_row(
                f"  {column.name}",
                column.mechanism,
                "" if column.truth is None else percent(column.truth.own),
                "" if scale is None else rounded_up(scale),
                *_losses(column, with_delta),
            )
    return table


def _losses(facts: RecordTable | RecordColumn, with_delta: bool) -> list[str]:
    return list(map(rounded_up, (facts.epsilon, facts.delta) if with_delta else (facts.epsilon,)))


def _worth(perturbs: Sequence[RecordTable]) -> Table:
    table = new_table("What estimates are worth")
    head = halfwidth_head(perturbs[0])
    for heading in head[:2]:
        table.add_column(heading, overflow="fold")
    for heading in head[2:]:
        table.add_column(heading, justify="right", overflow="fold")
    for part in perturbs:
        for name, *rest in halfwidth_rows(part):
            table.add_row(f"{part.name}: {name}" if len(perturbs) > 1 else name, *rest)
    return table


def what_if_rows(
    options: Sequence[Facts], perturbs: Sequence[RecordTable]
) -> Iterator[tuple[str, list[str]]]:
    """What an answer errs at other totals: a row for each column."""
    for part in perturbs:
        for column in part.columns:
            cells = []
            for option in options:
                known = option["perturb"]
                if known is None:
                    cells.append("too little")
                    continue
                cells.append(amount(column, known[part.name][column.name]))
            yield f"{part.name}: {column.name}", cells
