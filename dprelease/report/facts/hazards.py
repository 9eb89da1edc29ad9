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


Row = tuple[str, str, str]
"""Hazard, status and note."""


def hazards(release: Release, plan: Plan, records: Sequence[Row] = ()) -> tuple[Hazard, ...]:
    """Go through the hazards for this release; ``records`` are those of record-level tables."""
    rows = (
        *_parameters(release, plan),
        _declared(release, plan),
        *_built_in(plan),
        *_figure_hazards(plan),
        *records,
        *ATTESTED,
    )
    return tuple(Hazard(hazard=hazard, status=status, note=note) for hazard, status, note in rows)


def _attention(doubtful: bool) -> str:
    return "attention" if doubtful else "pass"


def _unit(release: Release) -> Row:
    described, column = release.privacy.unit_description, release.privacy.unit_column
    if column is None:
        said = f"the curator says a row is: {described}"
        return (
            "unit of privacy",
            "attention",
            "one row is protected: a person with several rows is protected less, see the "
            f"group table; {said if described else 'the curator has not said what a row is'}",
        )
    said = f"the curator says that is: {described}"
    return (
        "unit of privacy",
        _attention(not described),
        f'all rows with the same value of "{column}" are protected together; '
        + (said if described else "the curator has not said what one value stands for"),
    )


def _keys(plan: Plan) -> Row:
    hazard = "groups that appear only when non-empty"
    thresholds = [
        f"{step.query.table} from {step.threshold:,} on (delta {written(upward(selection.delta))})"
        for step in plan.steps
        if step.threshold is not None and (selection := step.query.key_selection) is not None
    ]
    if thresholds:
        return (
            hazard,
            "attention",
            "keys that no list declares are shown where their noisy count reaches a threshold: "
            + ", ".join(thresholds)
            + "; that a key is shown or absent tells of one person's rows no more than epsilon, "
            "but for a probability of delta",
        )
    if plan.reads:
        note = "every cell of the public domain is published, each with a noise draw of its own"
        return hazard, "pass", note
    return hazard, "pass", "nothing is counted by group; each record has a row"


def _parameters(release: Release, plan: Plan) -> Iterator[Row]:
    caps = release.ledger
    capped = caps.epsilon_cap is not None and (plan.loss.delta == 0 or caps.delta_cap is not None)
    large = plan.loss.epsilon >= HIGH_EPSILON
    delta_large = plan.loss.delta * HIGH_DELTA_DENOMINATOR > 1
    yield (
        "size of epsilon",
        _attention(large),
        f"{HIGH_EPSILON} or more: the table of beliefs shows how little it promises"
        if large
        else f"below {HIGH_EPSILON}; the table of beliefs says what it promises",
    )
    yield (
        "size of delta",
        _attention(delta_large),
        "above 1 in 100,000: it would allow to publish somebody's row with that chance"
        if delta_large
        else "at most 1 in 100,000",
    )
    yield _unit(release)
    yield (
        "repeated releases",
        _attention(not capped),
        "a ledger adds up all releases of the dataset, "
        + (
            "and this release's cap stops it"
            if capped
            else f"but no cap stops them{' in delta' if caps.epsilon_cap is not None else ''}"
        ),
    )


def _declared(release: Release, plan: Plan) -> Row:
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
        for group in (
            *statistic_of(query.statistic).published(query),
            *((query.axis,) if query.axis else ()),
        )
        if group.edges is not None
        and (column := release.columns.get(group.column)) is not None
        and column.edges != group.edges
    ]
    said = "every bound and declared category comes from the spec, with its public source"
    if silent:
        said = "no public source is given for: " + ", ".join(dict.fromkeys(silent))
    if any(step.threshold is not None for step in plan.steps):
        said += "; the private keys come from the data, through the noise of their counts"
    return "bounds and categories taken from the data", _attention(bool(silent)), said


def _built_in(plan: Plan) -> Iterator[Row]:
    exact = [step.query.name for step in views(plan) if step.noise.family is NoiseFamily.NONE]
    exact += [f"the number of rows of {step.perturb.name}" for step in plan.records]
    arithmetic = "exact laws on labels and on a public grid"
    sensitivity = "a cell's loss follows from its law and bounds; it is"
    if plan.reads:
        arithmetic = "exact integer noise on a public grid; integer sums"
        sensitivity = "derived from the bounds, then"
    again = "derived again by a second path before anything is read"
    yield "floating point", "pass", arithmetic
    yield "sensitivity", "pass", f"{sensitivity} {again}"
    yield _keys(plan)
    yield "noise truncated or drawn again", "pass", "never done"
    said = "equal in all neighbouring tables, so published as they are: " + ", ".join(exact)
    yield "figures without noise", _attention(bool(exact)), said if exact else "none"


ATTESTED = (
    ("side channels", "attested", "how long a run takes is not hidden from its operator"),
    ("security and access", "attested", "who can read the private table and the machine"),
    ("data collection and minimisation", "attested", "what was collected, and why"),
    ("staff who see the data", "attested", "the curator is trusted with the private table"),
)


def _figure_hazards(plan: Plan) -> Iterator[Row]:
    """What the bounding of people and the statistics of this release have."""
    limits = plan.release.privacy.bounding
    if plan.reads and limits is not None:
        yield (
            "rows left out by bounding",
            "attention",
            f"of one person at most {limits.rows:,} rows in at most {limits.groups:,} groups of a "
            "table count: figures are too low where people have more, by an amount that is not "
            "published; the bounds come from the spec, and must not be taken from the data",
        )
    interval, subjects = plan.release.output.interval, dict[tuple[int, str, str], list[str]]()
    for step in views(plan):
        for hazard in statistic_of(step.query.statistic).hazards(step, interval):
            subjects.setdefault(hazard[:3], []).append(hazard.subject)
    for (_, title, note), names in sorted(subjects.items()):
        yield title, "attention", f"{note}: {', '.join(names)}"
