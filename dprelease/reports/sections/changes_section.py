"""What changed since the last release, as a signer and a reader see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dprelease.language import say, say_count
from dprelease.model import OutputColumn, OutputTable
from dprelease.reports.model.report_model import Changes, FigureChange, ReportFacts
from dprelease.reports.sections.document import Bullets, Heading, Paragraph, Part, Table
from dprelease.reports.text.shown_names import write_key

MOST_ROWS = 24
Keys = Mapping[str, Sequence[OutputColumn]]


def build_changes_parts(
    facts: ReportFacts, tables: Mapping[str, OutputTable], level: float
) -> tuple[Part, ...]:
    """Lay out what changed; nothing where the spec names no last release.

    ``tables`` are the published ones by file: their names for people stand in place of keys.
    """
    changes = facts.changes
    if changes is None:
        return ()
    keys = {
        described.name: [column for column in table.columns if column.kind == "key"]
        for described in facts.tables
        if (table := tables.get(described.file))
    }
    return (Heading(say("changes.title")), *_iter_parts(changes, keys, level))


def _iter_parts(changes: Changes, keys: Keys, level: float) -> Iterator[Part]:
    yield Paragraph(
        say("changes.last_release", run=changes.run_id[:12], day=changes.released_at[:10])
    )
    lines = [
        say("changes.change", what=row.what, before=row.before, now=row.now)
        for row in changes.guarantee
    ]
    lines = lines or [say("changes.same_guarantee")]
    lines += [say("changes.new_table", table=table) for table in changes.new_tables]
    lines += [say("changes.table_gone", table=table) for table in changes.missing_tables]
    lines += [say("changes.other_definition", query=name) for name in changes.redefined]
    lines += [
        say("changes.halfwidth", query=row.what, before=row.before, now=row.now)
        for row in changes.noise
    ]
    yield Bullets(tuple(lines))
    if changes.compared:
        yield Paragraph(
            say_count(
                changes.compared,
                "changes.compared",
                real=changes.real,
                expected=max(1.0, changes.compared * (100 - level) / 100),
            )
        )
        figures = changes.figures[:MOST_ROWS]
        caption = say("changes.table.title")
        if changes.compared > len(figures):
            caption = say("changes.table.first", n=len(figures), all=changes.compared)
        head = (
            say("changes.table.figure"),
            say("changes.table.difference"),
            say("changes.table.verdict"),
        )
        yield Table("changes", caption, head, tuple(_build_row(change, keys) for change in figures))


def _build_row(change: FigureChange, keys: Keys) -> tuple[str, str, str]:
    labels = zip(keys.get(change.table, ()), change.labels, strict=False)
    cell = ", ".join(write_key(column, label or None) for column, label in labels)
    name = f"{change.table}.{change.column}" + (f": {cell}" if cell else "")
    verdict = say("changes.more_than_noise") if change.real else say("changes.within_noise")
    return name, f"{change.difference} ± {change.noise_halfwidth}", verdict
