"""The guarantee that a charge is about: which rows are one unit, and which tables are neighbours.

One dataset's losses add up for one unit and one kind of neighbours only. A bound for persons says
nothing of households, so two releases add up only if the same rows are one unit to both. A name of
a column does not tell that: two specs can compute it otherwise, or read another field of the file
by that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dprelease.errors import Complaint, ExitCode, Failure, Place
from dprelease.ledger.entries import Account
from dprelease.model import NUMERIC_TYPES, Adjacency, Column, ColumnType, Dialect, Release
from dprelease.model.source_registry import SOURCES

Definition = Mapping[str, object]

# Parts of a definition that are only told where more than whose rows are dropped follows from them.
OF_NULLS = frozenset({"null_values", "fields"})


def describe_unit(release: Release) -> dict[str, object] | None:
    """State in JSON values which records there are and which of them are one unit.

    Args:
        release: The checked spec.

    Returns:
        For a unit column: its type, text format, expression with all columns that it reads,
        treatment of nulls, and how fields of the file become texts. For rows: what else than its
        own line decides where a record ends, or None if nothing does.
    """
    name = release.privacy.unit_column
    if name is None:
        return _describe_records(release.data.source.dialect) or None
    column = release.columns.get(name)
    has_null = column is not None and column.null_value is not None
    computed = column is not None and column.expression is not None
    is_replaced = release.privacy.adjacency is not Adjacency.ADD_REMOVE
    # Null texts and the number of fields that a line must have may only decide whose rows are
    # dropped: under add-remove, with a column of the file and no unit of nulls, neighbours that
    # differ in a unit whose rows are dropped are equal, and no other unit changes. Then both are
    # left out. Options that version 0.2 left out are only here where they are stated, so that its
    # charges compare equal.
    return {
        **_describe_values(release, name),
        "nulls": "one unit" if has_null else "dropped",
        **_describe_reading(release, name, nulls=has_null or computed or is_replaced),
    }


def _describe_records(dialect: Dialect) -> dict[str, object]:
    """State what decides where records of CSV begin and end, unless each line is one."""
    # Without a header the first line is a record; over several lines, quotes decide.
    facts: dict[str, object] = {} if dialect.header else {"header": False}
    facts |= _describe_nondefault(dialect, "skip_rows")
    if dialect.max_lines == 1:
        return facts
    width = {} if dialect.header else {"fields": len(dialect.names or ())}
    return {
        **facts,
        **width,
        **_describe_dialect(dialect, "max_lines", "delimiter", "quote"),
        **_describe_nondefault(dialect, "unnamed_field"),
    }


def _describe_dialect(dialect: Dialect, *names: str) -> dict[str, object]:
    """Collect the named options of a dialect."""
    return {name: getattr(dialect, name) for name in names}


def list_unit_differences(left: Definition, right: Definition) -> list[str]:
    """Name the facts in which two definitions differ.

    Args:
        left: A definition as ``describe_unit`` states it.
        right: The definition to compare with.

    Returns:
        Names of the facts; empty if the same rows are one unit to both.
    """
    return [name for name in {**left, **right} if left.get(name) != right.get(name)]


_SPEC_WORDS = {
    "max_lines": "multiline, max_lines_per_record",
    "text_format": "format of the column",
    "fields": "number of fields",
    "reads": "columns that the expression reads",
}
"""Words of a spec for facts of a definition, where they differ."""


def describe_differences(differences: Sequence[str]) -> str:
    """List the facts in which two definitions differ, in the words of a spec."""
    return ", ".join(_SPEC_WORDS.get(name, name) for name in differences)


def _describe_values(release: Release, name: str) -> dict[str, object]:
    """Describe how the values of a column come about."""
    column = release.columns.get(name)
    if column is None:  # an undeclared column is read as texts
        return {"type": str(ColumnType.STRING)}
    facts: dict[str, object] = {"type": str(column.type)}
    # How texts of the file mean values, where that is not the default.
    if column.format:
        facts["text_format"] = column.format
    if column.zone not in {None, "UTC"}:
        facts["zone"] = column.zone
    if column.type in NUMERIC_TYPES and column.expression is None:
        facts |= _describe_nondefault(release.data.source.dialect, "decimal", "thousands")
    if column.expression is not None:
        # Imported here for start-up: most units are columns of the file.
        from dprelease.expressions.canonical import write_canonical

        types = {other: declared.type for other, declared in release.columns.items()}
        facts["expression"] = write_canonical(column.expression.text, types)
        facts["reads"] = {
            source: _describe_values(release, source) for source in column.expression.columns
        }
    return facts


def _describe_nondefault(dialect: Dialect, *names: str) -> dict[str, object]:
    """Collect the named options of a dialect that are not at their default."""
    default = Dialect()
    options = _describe_dialect(dialect, *names)
    return {name: value for name, value in options.items() if value != getattr(default, name)}


def _describe_reading(release: Release, name: str, *, nulls: bool) -> dict[str, object]:
    """Describe the text-decoding options that change values."""
    source = release.data.source
    dialect = source.dialect
    facts: dict[str, object] = {"format": source.format}
    if "encoding" not in SOURCES[source.format].options:
        return facts | _describe_nondefault(dialect, "strip", *(("null_values",) if nulls else ()))
    facts |= _describe_dialect(dialect, "delimiter", "quote", "encoding", "strip", "header")
    facts |= _describe_nondefault(dialect, "max_lines", "skip_rows", "unnamed_field")
    if not dialect.header:
        read = set(_iter_fields(release.columns, name))
        names = dialect.names or ()
        facts["names"] = {field: place for place, field in enumerate(names, 1) if field in read}
        facts |= {"fields": len(names)} if nulls else {}
    if nulls:
        facts["null_values"] = sorted(set(dialect.null_values))
    return facts


def _iter_fields(columns: Mapping[str, Column], name: str) -> Iterator[str]:
    """Name the columns of the file that a column is made of."""
    column = columns.get(name)
    if column is None or column.expression is None:
        yield name
        return
    for source in column.expression.columns:
        yield from _iter_fields(columns, source)


DEFINITION = "unit_definition"
DESCRIPTION = "unit_description"


def describe_guarantee(release: Release) -> dict[str, object]:
    """Describe the unit and the neighbours that a release's loss is about.

    Args:
        release: The checked spec.

    Returns:
        JSON values, as charges note them: ``unit``, ``adjacency``, and where stated the
        definition and the description of the unit.
    """
    privacy = release.privacy
    unit = privacy.unit if privacy.unit_column is None else f"column {privacy.unit_column}"
    # Bounds on a unit's rows are left out: releases with other bounds have the same neighbours. The
    # description is for people, and is not compared.
    definition, described = describe_unit(release), privacy.unit_description
    return {
        "unit": unit,
        "adjacency": str(privacy.adjacency),
        **({DEFINITION: definition} if definition is not None else {}),
        **({DESCRIPTION: described} if described is not None else {}),
    }


def read_definition(detail: Mapping[str, object]) -> Definition | None:
    """Read the definition of the unit of a charge; None if the charge has none."""
    definition = detail.get(DEFINITION)
    return definition if isinstance(definition, Mapping) else None


def check_guarantee(account: Account, detail: Mapping[str, object], place: Place | None) -> None:
    """Refuse a run whose unit or neighbours are not those of the dataset's other runs.

    Args:
        account: The runs of the dataset.
        detail: Facts of the new run; see ``describe_guarantee``.
        place: Where the spec states the budget.

    Raises:
        Failure: Exit code 3 if another unit, adjacency or definition was charged.
    """
    # Losses about different neighbours don't add up: a count that replace-one leaves exact has no
    # finite loss under add-remove. A fact that a charge does not note counts as the usual one.
    definition = read_definition(detail) or {}
    for run in account.runs:
        for part in ("unit", "adjacency"):
            if run.detail.get(part) != detail.get(part):
                raise _build_refusal(
                    f'the releases charged to "{account.dataset}" declare another {part}; '
                    "their losses do not add up",
                    f"use one {part} for all releases of a data set",
                    place,
                )
        if differences := list_unit_differences(read_definition(run.detail) or {}, definition):
            raise _build_refusal(
                f'entry {run.seq} of the ledger charged "{account.dataset}" for a unit that is '
                f"defined in another way ({describe_differences(differences)}); their losses do "
                "not add up",
                "define the unit, and read the file, as in the spec of that entry, or name "
                "another dataset with a cap that is lower by what was spent on this one",
                place,
            )


def _build_refusal(message: str, hint: str, place: Place | None) -> Failure:
    return Failure(ExitCode.BUDGET, Complaint("E304", message, hint, place))
