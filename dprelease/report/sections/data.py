"""Data, bounds and groups: where they come from, and what happens to values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from dprelease.language import say, template
from dprelease.report.document import Bullets, Details, Heading, Section, Table
from dprelease.report.facts.model import Column, DataFile, PlanFacts
from dprelease.report.numbers import written

COLUMNS = (
    template("column"),
    template("type"),
    template("bounds"),
    template("groups"),
    template("nulls"),
    template("source"),
)


def data_section(facts: PlanFacts) -> Section:
    """Say where bounds and groups come from, what is left out, and what happens to values."""
    lists = Table(
        "lists",
        say("Lists that were read from files"),
        (say("file"), say("named by"), say("its lines"), "SHA-256"),
        tuple(
            (
                named.file,
                say("{key} of {name}", key=named.key, name=named.name),
                named.lines,
                named.sha256,
            )
            for named in facts.lists
        ),
    )
    file = say("How the file is read")
    return Section(
        "data",
        say("Data, bounds and groups"),
        say("Data and bounds"),
        (
            Table(
                "columns",
                say("Where bounds and groups come from"),
                tuple(map(say, COLUMNS)),
                tuple(map(_column, facts.columns)),
            ),
            *((lists,) if facts.lists else ()),
            *(
                (Heading(say("What is left out of the data")), Bullets(facts.bounding))
                if facts.bounding
                else ()
            ),
            Heading(say("What happens to the data before and after")),
            Bullets(facts.processing, code=True),
            Details(
                file, (Table("file", file, (say("what"), say("how")), tuple(_file(facts.data))),)
            ),
        ),
    )


def _column(column: Column) -> tuple[str | int | float | None, ...]:
    return (
        column.name,
        " ".join(filter(None, (column.type, column.written))),
        _bounds(column),
        _groups(column),
        column.nulls,
        column.source or column.expression or say("no source given"),
    )


def _bounds(column: Column) -> str:
    if column.lower is None or column.upper is None or column.step is None:
        return "-"
    chosen = say(", chosen by the tool") if column.step_chosen_by_tool else ""
    step = say("in steps of {step}{chosen}", step=written(column.step), chosen=chosen)
    return say(
        "{lower} to {upper}, {step}",
        lower=written(column.lower),
        upper=written(column.upper),
        step=step,
    )


def _groups(column: Column) -> str:
    """Say what groups a column has."""
    if column.bins:
        return say("{bins} bins", bins=len(column.bins) - 1)
    if column.private_keys:
        return say("private keys")
    if column.keys:
        other = say(", others as {other}", other=column.other) if column.other else ""
        return say("{keys} keys{other}", keys=column.keys, other=other)
    return "-"


def _file(data: DataFile) -> Iterator[tuple[str, str]]:
    """Say how the file was read."""
    for fact in fields(data):
        value = getattr(data, fact.name)
        if value is not None:
            many = isinstance(value, tuple)
            text = ", ".join(map(repr, value)) if many else str(value)
            yield fact.name, text.lower() if isinstance(value, bool) else text
