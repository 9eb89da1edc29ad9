"""What changed since the last release, as a signer and a reader see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dprelease.language import counted, say
from dprelease.model import OutputColumn, OutputTable
from dprelease.report.document import Bullets, Heading, Paragraph, Part, Table
from dprelease.report.facts.model import Changes, FigureChange, ReportFacts
from dprelease.report.names import key_text

MOST_ROWS = 24
Keys = Mapping[str, Sequence[OutputColumn]]


def changes_parts(
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
    return (Heading(say("What changed since the last release")), *_parts(changes, keys, level))


def _parts(changes: Changes, keys: Keys, level: float) -> Iterator[Part]:
    yield Paragraph(
        say(
            "The last release is run {run}, of {day}. Its files are those that were released.",
            run=changes.run_id[:12],
            day=changes.released_at[:10],
        )
    )
    lines = [
        say("{what}: {before} before, {now} now.", what=row.what, before=row.before, now=row.now)
        for row in changes.guarantee
    ]
    lines = lines or [say("The guarantee is the same: epsilon, delta, unit and neighbours.")]
    lines += [say("New table: {table}.", table=table) for table in changes.new_tables]
    lines += [say("No longer there: {table}.", table=table) for table in changes.missing_tables]
    lines += [
        say(
            "{query} is defined otherwise (condition, bounds, groups or limits of a unit). Its "
            "figures can differ by that alone: only those with another condition are compared.",
            query=name,
        )
        for name in changes.redefined
    ]
    lines += [
        say(
            "The half-width of the noise of {query} was {before}, and is {now}.",
            query=row.what,
            before=row.before,
            now=row.now,
        )
        for row in changes.noise
    ]
    yield Bullets(tuple(lines))
    if changes.compared:
        yield Paragraph(
            counted(
                changes.compared,
                "{n:,} figure of both releases is compared.",
                "{n:,} figures of both releases are compared. {real:,} of them differ by more than "
                "the noise of both. By noise alone, up to about {expected:.0f} would.",
                real=changes.real,
                expected=max(1.0, changes.compared * (100 - level) / 100),
            )
        )
        shown = changes.figures[:MOST_ROWS]
        caption = say("Figures now, less those of the last release")
        if changes.compared > len(shown):
            caption = say(
                "The first {n} of {all:,} figures now, less those of the last release",
                n=len(shown),
                all=changes.compared,
            )
        head = say("Figure"), say("Difference"), say("What it is")
        yield Table("changes", caption, head, tuple(_row(change, keys) for change in shown))


def _row(change: FigureChange, keys: Keys) -> tuple[str, str, str]:
    labels = zip(keys.get(change.table, ()), change.labels, strict=False)
    cell = ", ".join(key_text(column, label or None) for column, label in labels)
    name = f"{change.table}.{change.column}" + (f": {cell}" if cell else "")
    verdict = say("more than the noise") if change.real else say("within noise")
    return name, f"{change.difference} ± {change.noise_halfwidth}", verdict
