"""Keeps the names of record-level tables apart from all others."""

from __future__ import annotations

from collections.abc import Sequence

from dprelease.model import Query
from dprelease.spec.checks.queries.output_tables import RESERVED
from dprelease.spec.complaints.quoting import show
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.structure import Parts


def check_names(parts: Parts, queries: Sequence[Query], reporter: Reporter) -> None:
    """Complain of a table whose file, or whose name in a report, would be another's."""
    taken: dict[str, str] = {}
    for query in queries:
        taken.setdefault(query.table.casefold(), f"the table of the query {show(query.name)}")
    for part in parts.queries:
        for name, what in (
            (part.model.table, "the table of a query"),
            (part.model.name, "a query"),
        ):
            if name is not None:
                taken.setdefault(name.casefold(), what)
    for perturb in parts.perturbs:
        name = perturb.model.name
        if name is None:
            continue
        path = (*perturb.path, "name")
        if name.casefold() in RESERVED:
            message = f"{show(name)} is the name of a report, not of a table"
            reporter.complain("E220", message, path, "choose another name for the table")
        elif name.casefold() in taken:
            message = f"{show(name)} is already the name of {taken[name.casefold()]}"
            hint = "choose another name for the table; upper and lower case don't count"
            reporter.complain("E250", message, path, hint)
        else:
            taken[name.casefold()] = "another [[perturb]]"
