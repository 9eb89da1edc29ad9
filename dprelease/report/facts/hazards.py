"""The privacy hazards that NIST SP 800-226 asks a reviewer to go through, one row each.

``pass``: ruled out by how the tool works or by what the spec declares. ``attention``: somebody
should look. ``attested``: outside the tool's reach, the curator vouches for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dprelease.model import NoiseFamily, Plan, Release
from dprelease.report.facts.model import Hazard
from dprelease.report.numbers import upward, written
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.read_release import views

HIGH_EPSILON = 3
HIGH_DELTA_DENOMINATOR = 100_000


def hazards(
    release: Release, plan: Plan, records: Sequence[tuple[str, str, str]] = ()
) -> list[Hazard]:
    """Go through the hazards for this release; ``records`` are those of record-level tables."""
    return [
        *_parameters(release, plan),
        *_declared(release, plan),
        *_built_in(plan),
        *(_row(*each) for each in (*figure_hazards(plan), *records)),
        *_attested(),
    ]


def _row(hazard: str, status: str, note: str) -> Hazard:
    return Hazard(hazard=hazard, status=status, note=note)


def _unit(release: Release) -> Hazard:
    described, column = release.privacy.unit_description, release.privacy.unit_column
    if column is None:
        said = f"the curator says a row is: {described}"
        return _row(
            "unit of privacy",
            "attention",
            "one row is protected: a person with several rows is protected less, see the "
            f"group table; {said if described else 'the curator has not said what a row is'}",
        )
    said = f"the curator says that is: {described}"
    return _row(
        "unit of privacy",
        "pass" if described else "attention",
        f'all rows with the same value of "{column}" are protected together; '
        + (said if described else "the curator has not said what one value stands for"),
    )


def _keys(plan: Plan) -> Hazard:
    hazard = "groups that appear only when non-empty"
    thresholds = [
        f"{step.query.table} from {step.threshold:,} on (delta {written(upward(selection.delta))})"
        for step in plan.steps
        if step.threshold is not None and (selection := step.query.key_selection) is not None
    ]
    if not thresholds:
        return _row(
            hazard,
            "pass",
            "every cell of the public domain is published, each with a noise draw of its own"
            if plan.reads
            else "nothing is counted by group; each record has a row",
        )
    return _row(
        hazard,
        "attention",
        "keys that no list declares are shown where their noisy count reaches a threshold: "
        + ", ".join(thresholds)
        + "; that a key is shown or absent tells of one person's rows no more than epsilon, but "
        "for a probability of delta",
    )


def _parameters(release: Release, plan: Plan) -> list[Hazard]:
    capped = release.ledger.epsilon_cap is not None and (
        plan.loss.delta == 0 or release.ledger.delta_cap is not None
    )
    large = plan.loss.epsilon >= HIGH_EPSILON
    delta_large = plan.loss.delta * HIGH_DELTA_DENOMINATOR > 1
    return [
        _row(
            "size of epsilon",
            "attention" if large else "pass",
            f"{HIGH_EPSILON} or more: the table of beliefs shows how little it promises"
            if large
            else f"below {HIGH_EPSILON}; the table of beliefs says what it promises",
        ),
        _row(
            "size of delta",
            "attention" if delta_large else "pass",
            "above 1 in 100,000: it would allow to publish somebody's row with that chance"
            if delta_large
            else "at most 1 in 100,000",
        ),
        _unit(release),
        _row(
            "repeated releases",
            "pass" if capped else "attention",
            "a ledger adds up all releases of the dataset, and this release's cap stops it"
            if capped
            else "a ledger adds up all releases of the dataset, but no cap stops them"
            + (" in delta" if release.ledger.epsilon_cap is not None else ""),
        ),
    ]


def _declared(release: Release, plan: Plan) -> list[Hazard]:
    """Say whether what the spec declares comes with the source that it was taken from."""
    silent = [
        column.name
        for column in release.columns.values()
        if column.source is None
        and (column.step_chosen or column.grid or column.keys or column.edges)
        and str(column.type) != "boolean"
    ]
    silent += [
        f"the candidates and scores of {query.name}"
        for query in release.queries
        if query.candidates is not None
    ]
    silent += [
        f"the bins of {group.column} in {query.name}"
        for query in release.queries
        for group in (*query.groups, *((query.axis,) if query.axis else ()))
        if group.edges is not None
        and (found := release.columns.get(group.column)) is not None
        and found.edges != group.edges
    ]
    private = any(step.threshold is not None for step in plan.steps)
    known = "every bound and declared category comes from the spec, with its public source"
    said = "no public source is given for: " + ", ".join(dict.fromkeys(silent)) if silent else known
    if private:
        said += "; the private keys come from the data, through the noise of their counts"
    return [
        _row(
            "bounds and categories taken from the data",
            "attention" if silent else "pass",
            said,
        )
    ]


def _built_in(plan: Plan) -> list[Hazard]:
    exact = [step.query.name for step in views(plan) if step.noise.family is NoiseFamily.NONE]
    exact += [f"the number of rows of {step.perturb.name}" for step in plan.records]
    return [
        _row(
            "floating point",
            "pass",
            "exact integer noise on a public grid; integer sums"
            if plan.reads
            else "exact laws on labels and on a public grid",
        ),
        _row(
            "sensitivity",
            "pass",
            "derived from the bounds, then derived again by a second path before anything is read"
            if plan.reads
            else "a cell's loss follows from its law and bounds; it is derived again by a second "
            "path before anything is read",
        ),
        _keys(plan),
        _row("noise truncated or drawn again", "pass", "never done"),
        _row(
            "figures without noise",
            "attention" if exact else "pass",
            "equal in all neighbouring tables, so published as they are: " + ", ".join(exact)
            if exact
            else "none",
        ),
    ]


def _attested() -> list[Hazard]:
    return [
        _row("side channels", "attested", "how long a run takes is not hidden from its operator"),
        _row("security and access", "attested", "who can read the private table and the machine"),
        _row("data collection and minimisation", "attested", "what was collected, and why"),
        _row("staff who see the data", "attested", "the curator is trusted with the private table"),
    ]


Row = tuple[str, str, str]

FEW_VALUES = 100
"""A grid of fewer values is coarse: many records share one."""


def figure_hazards(plan: Plan) -> Iterator[Row]:
    """Give hazard, status and note of what this release has."""
    if plan.reads:
        yield from _bounding(plan)
    interval, subjects = plan.release.output.interval, dict[tuple[int, str, str], list[str]]()
    for step in views(plan):
        for hazard in statistic_of(step.query.statistic).hazards(step, interval):
            subjects.setdefault(hazard[:3], []).append(hazard.subject)
    for (_, title, note), names in sorted(subjects.items()):
        yield title, "attention", f"{note}: {', '.join(names)}"


def _bounding(plan: Plan) -> Iterator[Row]:
    limits = plan.release.privacy.bounding
    if limits is not None:
        yield (
            "rows left out by bounding",
            "attention",
            f"of one person at most {limits.rows:,} rows in at most {limits.groups:,} groups of a "
            "table count: figures are too low where people have more, by an amount that is not "
            "published; the bounds come from the spec, and must not be taken from the data",
        )
