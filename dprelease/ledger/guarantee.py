"""What a charge is about: one dataset's losses add up for one unit and one kind of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dprelease.errors import Complaint, ExitCode, Failure, Place
from dprelease.ledger.entries import Account
from dprelease.ledger.unit_definitions import Definition, unit_definition, unit_differences
from dprelease.model import Release

DEFINITION = "unit_definition"
DESCRIPTION = "unit_description"


def guarantee_of(release: Release) -> dict[str, object]:
    """What a release's loss is about, as charges note it.

    Bounds on a unit's rows are not part of it: releases with other bounds have the same neighbours.
    How the unit is described is for people, and is not compared.
    """
    privacy = release.privacy
    unit = privacy.unit if privacy.unit_column is None else f"column {privacy.unit_column}"
    definition, described = unit_definition(release), privacy.unit_description
    return {
        "unit": unit,
        "adjacency": str(privacy.adjacency),
        **({DEFINITION: definition} if definition is not None else {}),
        **({DESCRIPTION: described} if described is not None else {}),
    }


def definition_in(detail: Mapping[str, object]) -> Definition | None:
    """How the unit of a charge is defined; None for rows, and in charges of early versions."""
    found = detail.get(DEFINITION)
    return found if isinstance(found, Mapping) else None


def check_guarantee(account: Account, detail: Mapping[str, object], place: Place | None) -> None:
    """Refuses (exit 3) a run whose unit or neighbours are not those of the dataset's other runs.

    Losses about different neighbours don't add up: a count that replace-one leaves exact has no
    finite loss under add-remove. Beside charges of early versions, which don't say how their unit
    is defined, a unit may be a column of the file, but not one that is computed.
    """
    definition = definition_in(detail)
    for run in account.runs:
        for what in ("unit", "adjacency"):
            if run.detail.get(what) != detail.get(what):
                raise _other(account.dataset, what, place)
        known = definition_in(run.detail)
        if definition is not None and known is not None:
            if differences := unit_differences(known, definition):
                raise _defined_otherwise(account.dataset, run.seq, differences, place)
        elif definition is not None and "expression" in definition:
            raise _unknown(account.dataset, run.seq, place)


def _other(dataset: str, what: str, place: Place | None) -> Failure:
    message = (
        f'the releases charged to "{dataset}" declare another {what}; such losses do not add up'
    )
    return _refused(message, f"use one {what} for all releases of a data set", place)


def _defined_otherwise(
    dataset: str, seq: int, differences: Iterable[str], place: Place | None
) -> Failure:
    message = (
        f'entry {seq} of the ledger charged "{dataset}" for a unit that is defined otherwise '
        f"({', '.join(differences)}); such losses do not add up"
    )
    hint = "define the unit, and read the file, as in the spec of that entry"
    return _refused(message, hint, place)


def _unknown(dataset: str, seq: int, place: Place | None) -> Failure:
    message = (
        f'entry {seq} of the ledger charged "{dataset}" without noting how its unit is computed, '
        "as early versions did: whether it is the same unit can't be told"
    )
    hint = (
        "make the unit a column of the file, or name another dataset with a cap that is lower by "
        "what was spent on this one"
    )
    return _refused(message, hint, place)


def _refused(message: str, hint: str, place: Place | None) -> Failure:
    return Failure(ExitCode.BUDGET, Complaint("E304", message, hint, place))
