"""Data, bounds and groups: where they come from, and what happens to values."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from dprelease.language import say
from dprelease.reports.model.report_model import Column, DataFile, PlanFacts
from dprelease.reports.sections.document import Bullets, Details, Heading, Section, Table
from dprelease.reports.text.shown_numbers import format_number
from dprelease.reports.text.spec_words import TYPE_WORDS

COLUMNS = (
    "words.column",
    "data.columns.type",
    "data.columns.bounds",
    "data.columns.groups",
    "words.nulls",
    "data.columns.source",
)


def build_data_section(facts: PlanFacts) -> Section:
    """Say where bounds and groups come from, what is left out, and what happens to values."""
    lists = Table(
        "lists",
        say("data.lists.title"),
        (say("words.file"), say("data.lists.named_by"), say("data.lists.lines"), "SHA-256"),
        tuple(
            (
                entry.file,
                say("data.key_of", key=entry.key, name=entry.name),
                entry.lines,
                entry.sha256,
            )
            for entry in facts.lists
        ),
    )
    file = say("data.reading.title")
    return Section(
        "data",
        say("data.title_with_groups"),
        say("data.title"),
        (
            Table(
                "columns",
                say("data.sources.title"),
                tuple(map(say, COLUMNS)),
                tuple(map(_build_column_row, facts.columns)),
            ),
            *((lists,) if facts.lists else ()),
            *(
                (Heading(say("data.left_out.title")), Bullets(facts.bounding))
                if facts.bounding
                else ()
            ),
            Heading(say("data.processing.title")),
            Bullets(facts.processing, code=True),
            Details(
                file,
                (
                    Table(
                        "file",
                        file,
                        (say("words.what"), say("data.reading.how")),
                        tuple(_iter_file_facts(facts.data)),
                    ),
                ),
            ),
        ),
    )


def _build_column_row(column: Column) -> tuple[str | int | float | None, ...]:
    return (
        column.name,
        " ".join(filter(None, (say(TYPE_WORDS[column.type]), column.written))),
        _write_bounds(column),
        _write_groups(column),
        say("spec_words.null.dropped") if column.nulls == "drop" else column.nulls,
        column.source or column.expression or say("data.sources.none"),
    )


def _write_bounds(column: Column) -> str:
    if column.lower is None or column.upper is None or column.step is None:
        return "-"
    chosen = column.step_chosen_by_tool
    step = say(
        "data.bounds.in_chosen_steps" if chosen else "data.bounds.in_steps",
        step=format_number(column.step),
    )
    return say(
        "data.bounds.range",
        lower=format_number(column.lower),
        upper=format_number(column.upper),
        step=step,
    )


def _write_groups(column: Column) -> str:
    """Say what groups a column has."""
    if column.bins:
        return say("data.groups.bins", bins=len(column.bins) - 1)
    if column.private_keys:
        return say("data.groups.private_keys")
    if column.keys:
        if column.other:
            return say("data.groups.keys_and_others", keys=column.keys, other=column.other)
        return say("data.groups.keys", keys=column.keys)
    return "-"


def _iter_file_facts(data: DataFile) -> Iterator[tuple[str, str]]:
    """Say how the file was read."""
    for name, value in asdict(data).items():
        if value is not None:
            is_several = isinstance(value, tuple)
            text = ", ".join(map(repr, value)) if is_several else str(value)
            yield name, text.lower() if isinstance(value, bool) else text
