"""The privacy hazards that NIST SP 800-226 asks a reviewer to go through, one row each.

``checked``: the tool rules it out for this release, by how it works or by a check before any data
is read. ``stated``: people say so in the spec, and the tool can't know. ``not checked``: nobody
says anything of what the tool can't know. ``attention``: somebody should look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dprelease.language import say, template
from dprelease.model import Dialect, NoiseFamily, Plan, Query, Release, Review
from dprelease.model.outputs import SUPPRESSED, UNRELIABLE
from dprelease.report.facts.meaning_model import TotalLoss
from dprelease.report.facts.model import Hazard
from dprelease.report.numbers import loss_text, shortened, upward, written
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.read_release import views

CHECKED, STATED = template("checked"), template("stated")
NOT_CHECKED, ATTENTION = template("not checked"), template("attention")
HIGH_EPSILON = 3
MOST_WEAK = 0.1
"""A release with a larger share of figures that are too noisy or hidden should be looked at."""
NO_FLAGS: Mapping[str, int] = {}
SMALL_DELTA = Fraction(1, 10**9)
FEW_PUBLISHED = Fraction(1, 100)
"""So many units at most may a small delta publish the rows of, on average, in all the population.

That is the chance, at most, that there is a single one of them.
"""


class Row(NamedTuple):
    """A hazard, how it stands, and why; ``key`` is its name in ``[review.attestations]``."""

    hazard: str
    status: str
    note: str
    key: str = ""


def hazards(
    plan: Plan,
    totals: Sequence[TotalLoss],
    records: Sequence[tuple[str, ...]] = (),
    flags: Mapping[str, int] = NO_FLAGS,
) -> tuple[Hazard, ...]:
    """Go through the hazards for this release; ``records`` are those of record-level tables.

    ``totals`` are the losses of the dataset, ``flags`` says how many figures have which.
    """
    rows = (
        _size_of_epsilon(plan, totals),
        _size_of_delta(plan, totals),
        _unit(plan.release),
        *_framing(plan.release.data.source.dialect),
        _repeated(plan),
        _declared(plan),
        *_built_in(plan),
        *_figure_hazards(plan),
        *_utility(flags),
        *(Row(*record) for record in records),
        *_beyond_the_tool(),
    )
    return tuple(_attested(row, plan.release.review) for row in rows)


def _attested(row: Row, review: Review) -> Hazard:
    """Let a statement of the reviewer stand for what the tool can't check."""
    text = review.attestations.get(row.key)
    if text is None:
        return Hazard(hazard=row.hazard, status=row.status, note=row.note)
    note = say("{reviewer} states: {text}", reviewer=review.reviewer, text=text)
    return Hazard(hazard=row.hazard, status=STATED, note=note)


def _attention(doubtful: bool) -> str:
    return ATTENTION if doubtful else CHECKED


def _size_of_epsilon(plan: Plan, totals: Sequence[TotalLoss]) -> Row:
    """What a person may lose is the total of the dataset, in the end its cap."""
    here = plan.loss.epsilon
    notes = [say("This release: {epsilon}.", epsilon=written(shortened(upward(here))))]
    for total in totals:
        epsilon = written(shortened(total.epsilon))
        if total.of == "cap":
            notes.append(say("If the cap is used up: {epsilon}.", epsilon=epsilon))
        else:
            said = say("All releases of the data set so far: {epsilon}.", epsilon=epsilon)
            notes.append(said)
    high = max(here, *(Fraction(str(total.epsilon)) for total in totals)) >= HIGH_EPSILON
    if high:
        notes.append(say("{n} or more promises little: see the table of beliefs.", n=HIGH_EPSILON))
    else:
        notes.append(say("Below {n}: the table of beliefs says what it promises.", n=HIGH_EPSILON))
    return Row(say("size of epsilon"), _attention(high), " ".join(notes))


def _size_of_delta(plan: Plan, totals: Sequence[TotalLoss]) -> Row:
    """Judge delta by the population that the spec states; where it states none, by 1e-9."""
    so_far = [Fraction(str(total.delta or 0)) for total in totals if total.of != "cap"]
    delta, privacy = max(plan.loss.delta, *so_far, Fraction(0)), plan.release.privacy
    hazard = say("size of delta")
    if not delta:
        return Row(hazard, CHECKED, say("Delta is 0."))
    shown = written(shortened(upward(delta)))
    worst = say("Delta is {delta}, all releases so far included.", delta=shown)
    if privacy.population is not None:
        expected = delta * privacy.population
        note = say(
            "The spec states that there are {population:,} units in all, which the tool can't "
            "know. Delta times that number is {published}: it would allow to publish the rows of "
            "so many of them, on average. At most {few} counts as small.",
            population=privacy.population,
            published=written(shortened(upward(expected))),
            few=written(upward(FEW_PUBLISHED)),
        )
        status = STATED if expected <= FEW_PUBLISHED else ATTENTION
        return Row(hazard, status, f"{worst} {note}")
    if delta <= SMALL_DELTA:
        return Row(hazard, CHECKED, say("Delta is {delta}, at most 1e-9.", delta=loss_text(delta)))
    if privacy.unit_column is None:
        published = say("It would allow to publish 1 row in {n:,}.", n=int(1 / delta))
    else:
        published = say(
            "It would allow to publish the rows of 1 person in {n:,}.", n=int(1 / delta)
        )
    note = say(
        "It should be at most 1e-9, or at most {few} divided by the number of units that the data "
        "could be about, a public number, where the spec states it as `population`.",
        few=written(upward(FEW_PUBLISHED)),
    )
    return Row(hazard, ATTENTION, f"{worst} {published} {note}")


def _unit(release: Release) -> Row:
    hazard = say("unit of privacy")
    described, column = release.privacy.unit_description, release.privacy.unit_column
    if column is None:
        note = say(
            "One row is protected. A person with several rows is protected less: see the group "
            "table."
        )
        if described:
            sentence = say("The spec says what a row is: {unit}", unit=described)
        else:
            sentence = say("The spec does not say what a row is.")
        return Row(hazard, ATTENTION, f"{note} {sentence}")
    note = say('All rows with the same value of "{column}" are protected together.', column=column)
    if described:
        sentence = say("The spec says what one value stands for: {unit}", unit=described)
        return Row(hazard, STATED, f"{note} {sentence}")
    sentence = say("The spec does not say what one value stands for.")
    return Row(hazard, ATTENTION, f"{note} {sentence}")


def _framing(dialect: Dialect) -> Iterator[Row]:
    """Say what it rests on which lines of a file are one record."""
    if dialect.max_lines > 1:
        note = say(
            "Quotes tell which lines of the file are one record. That is right, whatever texts "
            "say, if the program that wrote the file doubles quotes in them, and if no record has "
            "more than {n:,} lines. A record that is not so can count once for each of its lines, "
            "and can change how records in the lines behind it are read.",
            n=dialect.max_lines,
        )
        yield Row(say("records over several lines"), NOT_CHECKED, note)


def _repeated(plan: Plan) -> Row:
    caps, hazard = plan.release.ledger, say("repeated releases")
    said = say("A ledger adds up all releases of the data set that are charged to it.")
    if caps.epsilon_cap is None and caps.rho_cap is None:
        return Row(hazard, ATTENTION, f"{said} {say('The spec has no cap that stops them.')}")
    if plan.loss.delta and caps.delta_cap is None and caps.rho_cap is None:
        return Row(
            hazard, ATTENTION, f"{said} {say('The spec has no cap that stops them in delta.')}"
        )
    note = say(
        "This release was held against the cap of its spec. A spec without a cap is "
        "stopped by one of the ledger only."
    )
    return Row(hazard, STATED, f"{said} {note}")


def _declared(plan: Plan) -> Row:
    """Say whether what the spec declares comes with the source that it was taken from."""
    hazard, release = say("bounds and categories taken from the data"), plan.release
    declared = [
        column
        for column in release.columns.values()
        if (column.step_chosen or column.grid or column.keys or column.edges)
        and str(column.type) != "boolean"
        and column.state_of is None
    ]
    sources = [column.source for column in declared if column.source is not None]
    silent = [column.name for column in declared if column.source is None]
    silent += [
        say("the candidates and scores of {query}", query=query.name)
        for query in release.queries
        if query.candidates is not None
    ]
    silent += [
        say("the bins of {column} in {query}", column=group.column, query=query.name)
        for query in release.queries
        for group in (
            *statistic_of(query.statistic).published(query),
            *((query.axis,) if query.axis else ()),
        )
        if group.edges is not None
        and (column := release.columns.get(group.column)) is not None
        and column.edges != group.edges
    ]
    notes = []
    if any(step.threshold is not None for step in plan.steps):
        notes = [say("The private keys come from the data, through the noise of their counts.")]
    if silent:
        names = ", ".join(dict.fromkeys(silent))
        sentence = say("The spec gives no public source for: {names}.", names=names)
        return Row(hazard, ATTENTION, " ".join([sentence, *notes]))
    if not sources:
        sentence = say("The release uses no declared bounds or categories.")
        return Row(hazard, CHECKED, " ".join([sentence, *notes]))
    sentence = say(
        "The spec names a source for every bound and declared category. The tool can't know "
        "whether they come from there."
    )
    return Row(hazard, STATED, " ".join([sentence, *notes]))


def _keys(plan: Plan) -> Row:
    hazard = say("groups that appear only when non-empty")
    thresholds = [
        say(
            "{table} from {n:,} on (delta {delta})",
            table=step.query.table,
            n=step.threshold,
            delta=written(upward(selection.delta)),
        )
        for step in plan.steps
        if step.threshold is not None and (selection := step.query.key_selection) is not None
    ]
    if thresholds:
        note = say(
            "Keys that no list declares are shown where their noisy count reaches a threshold: "
            "{thresholds}. That a key is shown or absent tells of one person's rows no more than "
            "epsilon, but for a probability of delta.",
            thresholds=", ".join(thresholds),
        )
        return Row(hazard, ATTENTION, note)
    if plan.reads:
        note = say("Every cell of the public domain has a row, whether or not it has records.")
        return Row(hazard, CHECKED, note)
    return Row(hazard, CHECKED, say("Nothing is counted by group. Each record has a row."))


def _built_in(plan: Plan) -> Iterator[Row]:
    arithmetic = say("Exact laws on labels and on a public grid.")
    sensitivity = say(
        "A cell's loss follows from its law and bounds. It is derived again by a second path "
        "before anything is read."
    )
    if plan.reads:
        arithmetic = say("Exact integer noise on a public grid, and integer sums.")
        sensitivity = say(
            "It is derived from the bounds, then derived again by a second path before anything is "
            "read."
        )
    yield Row(say("floating point"), CHECKED, arithmetic)
    yield Row(say("sensitivity"), CHECKED, sensitivity)
    yield _keys(plan)
    drawn = say(
        "Noise is never truncated, nor drawn again once it is sealed. A run with new noise is "
        "charged anew."
    )
    yield Row(say("noise truncated or drawn again"), CHECKED, drawn)
    exact = [step.query.name for step in views(plan) if step.noise.family is NoiseFamily.NONE]
    exact += [
        say("the number of rows of {table}", table=step.perturb.name) for step in plan.records
    ]
    note = say("Every figure has noise.")
    if exact:
        note = say(
            "Equal in all neighbouring tables, so published as they are: {names}.",
            names=", ".join(exact),
        )
    yield Row(say("figures without noise"), _attention(bool(exact)), note)


def _beyond_the_tool() -> Iterator[Row]:
    """What the tool can't check: a text of the reviewer can state it."""
    for hazard, note, key in (
        (
            say("side channels"),
            say("How long a run takes is not hidden from its operator."),
            "side_channels",
        ),
        (
            say("security and access"),
            say("Who can read the private table and the machine."),
            "security_and_access",
        ),
        (
            say("data collection and minimisation"),
            say("What was collected, and why."),
            "data_collection_and_minimisation",
        ),
        (
            say("staff who see the data"),
            say("They are trusted with the private table."),
            "staff_who_see_the_data",
        ),
    ):
        yield Row(hazard, NOT_CHECKED, note, key)


def _figure_hazards(plan: Plan) -> Iterator[Row]:
    """What the bounding of people and the statistics of this release have."""
    limits = plan.release.privacy.bounding
    if plan.reads and limits is not None:
        note = say(
            "Of one person at most {rows:,} rows in at most {groups:,} groups of a table count. "
            "Figures lack the other rows: counts are too low, and the rest can err either way, by "
            "an amount that is not published. The bounds come from the spec, and must not be "
            "taken from the data.",
            rows=limits.rows,
            groups=limits.groups,
        )
        yield Row(say("rows left out by bounding"), ATTENTION, note)
    if plan.reads:
        yield _bias(plan)
    interval, subjects = plan.release.output.interval, dict[tuple[int, str, str], list[str]]()
    for step in views(plan):
        for hazard in statistic_of(step.query.statistic).hazards(step, interval):
            subjects.setdefault(hazard[:3], []).append(hazard.subject)
    for (_, title, note), names in sorted(subjects.items()):
        yield Row(title, ATTENTION, say("{label}: {text}", label=note, text=", ".join(names)))


def _utility(flags: Mapping[str, int]) -> Iterator[Row]:
    """Say how many of the published figures are too noisy or not shown."""
    figures, weak = sum(flags.values()), flags.get(UNRELIABLE, 0)
    hidden = flags.get(SUPPRESSED, 0)
    if figures:
        note = say(
            "Figures that are judged by their noise: {figures:,}. Of these {weak:,} are "
            "low_reliability and {hidden:,} suppressed. Only that is checked: whether the figures "
            "serve their purpose is for people to say.",
            figures=figures,
            weak=weak,
            hidden=hidden,
        )
        useless = (weak + hidden) / figures > MOST_WEAK
        yield Row(say("utility"), _attention(useless), note)


def _bias(plan: Plan) -> Row:
    """What moves figures one way, as far as the plan knows."""
    notes = []
    if columns := bounded_columns(plan):
        sentence = template("Values outside the bounds count as the nearest bound: {columns}.")
        notes.append(say(sentence, columns=", ".join(columns)))
    if plan.release.privacy.bounding is not None:
        notes.append(say("People with many rows count in part."))
    declared = plan.release.columns.values()
    states = {column.name for column in declared if column.state_of is not None}
    groups = {
        group.column
        for step in views(plan)
        for group in statistic_of(step.query.statistic).published(step.query)
        if not (group.total or group.private or group.column in states)
    }
    if groups:
        notes.append(
            say(
                "Records without a declared value are left out of tables by {columns}.",
                columns=", ".join(sorted(groups)),
            )
        )
    if any(step.threshold is not None for step in plan.steps):
        notes.append(say("Keys of few records are missing."))
    finishes = [query.finish for query in plan.release.queries]
    if any(finish.nonnegative for finish in finishes):
        notes.append(say("Small figures are moved to 0 or more."))
    if any(finish.publish_if or finish.hide_below is not None for finish in finishes):
        notes.append(say("Figures that fail a condition are hidden."))
    if not notes:
        sentence = say("Nothing in the plan moves figures one way: noise is as often up as down.")
        return Row(say("bias"), CHECKED, sentence)
    notes.append(say("No noise interval covers this. It can differ between groups of people."))
    return Row(say("bias"), ATTENTION, " ".join(notes))


def bounded_columns(plan: Plan) -> list[str]:
    """Name the columns whose values are held within bounds, for some query."""
    return list(dict.fromkeys(name for step in views(plan) for name in _bounded(step.query)))


def _bounded(query: Query) -> Iterator[str]:
    keys = statistic_of(query.statistic).keys
    if query.column is not None and keys.numeric:
        yield query.column.name
    for part in (query.numerator, query.denominator):
        if part is not None and part.column is not None:
            yield part.column.name
    yield from (axis.column.name for axis in query.curve)
    if query.survey_weight is not None:
        yield query.survey_weight.name
