"""What the figures of a release are: a definition of each, and which records are in no row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dprelease.language import say, word
from dprelease.model.queries import name_column
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.model.report_model import Query
from dprelease.reports.sections.document import Bullets, Definitions, Details, Part


def build_definitions(queries: Sequence[Query]) -> Details | None:
    """Define the figures of queries; None for a report of a version that made none."""
    defined = [query for query in queries if query.definition]
    if not defined:
        return None
    return Details(say("definitions.title"), tuple(_iter_parts(defined)))


def _iter_parts(queries: Sequence[Query]) -> Iterator[Part]:
    names: dict[str, list[str]] = {}
    for query in queries:
        text = " ".join(filter(None, (query.description, *query.definition)))
        names.setdefault(text, []).append(name_column(query.name))
    yield Definitions(
        tuple((word(join_names([*dict.fromkeys(own)])), text) for text, own in names.items())
    )
    # The tables themselves list their groups.
    outside = tuple(dict.fromkeys(sentence for query in queries for sentence in query.outside))
    if outside:
        yield Bullets(outside)
