"""The privacy hazards that NIST SP 800-226 asks a reviewer to go through, one row each.

``checked``: the tool rules it out for this release, by how it works or by a check before any data
is read. ``see``: the tool gives a number, which people judge. ``stated``: people say so in the
spec, and the tool can't know. ``not checked``: nobody says anything of what the tool can't know.
``attention``: somebody should look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from dprelease.language import say, word
from dprelease.model import Column, Dialect, NoiseFamily, Plan, Release
from dprelease.model.key_thresholds import compute_least_units
from dprelease.model.outputs import SUPPRESSED, UNRELIABLE
from dprelease.postprocess.intervals.number_text import join_names
from dprelease.reports.facts.unit_facts import PLANNED
from dprelease.reports.model.report_model import Hazard, TotalLoss
from dprelease.reports.text.shown_numbers import format_number, shorten, to_json_number, write_loss
from dprelease.statistics.read_release import build_views
from dprelease.statistics.statistic_registry import get_statistic

CHECKED, SEE, STATED = "checked", "see", "stated"
NOT_CHECKED, ATTENTION = "not checked", "attention"
HIGH_EPSILON = 3
MOST_WEAK = 0.1
"""A release with a larger share of figures that are too noisy or hidden should be looked at."""
SMALL_DELTA = Fraction(1, 10**9)
FEW_PUBLISHED = Fraction(1, 100)
"""So many units at most may a small delta publish the rows of, on average, in all the population.

That is the chance, at most, that there is a single one of them.
"""


def list_hazards(
    plan: Plan,
    totals: Sequence[TotalLoss],
    records: Sequence[tuple[str, ...]],
    flags: Mapping[str, int],
) -> tuple[Hazard, ...]:
    """Go through the hazards for this release; ``records`` are those of record-level tables.

    ``totals`` are the losses of the dataset, ``flags`` says how many figures have which.
    """
    review = plan.release.review
    rows = [
        _judge_epsilon(plan, totals),
        _judge_delta(plan, totals),
        _judge_unit(plan.release),
        *_judge_framing(plan.release.data.source.dialect),
        _judge_repetition(plan),
        _judge_declarations(plan),
        *_iter_built_in(plan),
        *_list_figure_hazards(plan),
        *_judge_utility(flags),
    ]
    # Some have a key in [review.attestations]: what the reviewer states there stands for the note.
    for hazard, status, note, *keys in (*records, *_iter_unchecked()):
        texts = [review.attestations[key] for key in keys if key in review.attestations]
        if texts:
            stated = say("hazards.reviewer_states", reviewer=review.reviewer, text=texts[0])
            rows.append(_row(hazard, STATED, stated))
        else:
            rows.append(_row(hazard, status, note))
    return tuple(rows)


_OLD = {"pass": CHECKED, "attested": NOT_CHECKED}


def translate_status(status: str) -> str:
    """Translate the status of a hazard from version 0.2, in which nobody attested anything."""
    return _OLD.get(status, status)


def _row(hazard: str, status: str, note: str) -> Hazard:
    return Hazard(hazard=hazard, status=status, note=note)


def _judge_epsilon(plan: Plan, totals: Sequence[TotalLoss]) -> Hazard:
    """Judge the total of the dataset, and in the end its cap: that is what a person may lose."""
    epsilon_here = plan.loss.epsilon
    notes = [
        say(
            "hazards.epsilon.of_release",
            epsilon=format_number(shorten(to_json_number(epsilon_here))),
        )
    ]
    for total in totals:
        epsilon = format_number(shorten(total.epsilon))
        if total.of == "cap":
            notes.append(say("hazards.epsilon.of_cap", epsilon=epsilon))
        elif total.of == PLANNED:
            notes.append(say("hazards.epsilon.planned", epsilon=epsilon))
        else:
            notes.append(say("hazards.epsilon.of_dataset", epsilon=epsilon))
    high = max(epsilon_here, *(Fraction(str(total.epsilon)) for total in totals)) >= HIGH_EPSILON
    if high:
        notes.append(say("hazards.epsilon.large", limit=HIGH_EPSILON))
    else:
        notes.append(say("hazards.epsilon.small"))
    return _row(say("hazards.epsilon.title"), ATTENTION if high else SEE, " ".join(notes))


def _judge_delta(plan: Plan, totals: Sequence[TotalLoss]) -> Hazard:
    """Judge delta by the population that the spec states; where it states none, by 1e-9."""
    so_far = [Fraction(str(total.delta or 0)) for total in totals if total.of != "cap"]
    delta, privacy = max(plan.loss.delta, *so_far, Fraction(0)), plan.release.privacy
    hazard = say("hazards.delta.title")
    if not delta:
        return _row(hazard, CHECKED, say("hazards.delta.none"))
    text = format_number(shorten(to_json_number(delta)))
    worst = say("hazards.delta.of_all", delta=text)
    if privacy.population is not None:
        expected = delta * privacy.population
        note = say(
            "hazards.delta.population",
            population=privacy.population,
            people=format_number(shorten(to_json_number(expected))),
            limit=format_number(to_json_number(FEW_PUBLISHED)),
        )
        status = STATED if expected <= FEW_PUBLISHED else ATTENTION
        return _row(hazard, status, f"{worst} {note}")
    if delta <= SMALL_DELTA:
        return _row(hazard, SEE, say("hazards.delta.small", delta=write_loss(delta)))
    if privacy.unit_column is None:
        published = say("hazards.delta.publishes_row", n=int(1 / delta))
    else:
        published = say("hazards.delta.publishes_person", n=int(1 / delta))
    note = say("hazards.delta.should_be", limit=format_number(to_json_number(FEW_PUBLISHED)))
    return _row(hazard, ATTENTION, f"{worst} {published} {note}")


def _judge_unit(release: Release) -> Hazard:
    hazard = say("hazards.unit.title")
    described, column = release.privacy.unit_description, release.privacy.unit_column
    if column is None:
        note = say("hazards.unit.row")
        if described:
            sentence = say("hazards.unit.row_described", description=described)
        else:
            sentence = say("hazards.unit.row_not_described")
        return _row(hazard, ATTENTION, f"{note} {sentence}")
    note = say("hazards.unit.people", column=column)
    if described:
        sentence = say("hazards.unit.value_described", description=described)
        return _row(hazard, STATED, f"{note} {sentence}")
    sentence = say("hazards.unit.value_not_described")
    return _row(hazard, ATTENTION, f"{note} {sentence}")


def _judge_framing(dialect: Dialect) -> Iterator[Hazard]:
    """Say what it rests on which lines of a file are one record."""
    if dialect.max_lines > 1:
        note = say("hazards.multiline.note", n=dialect.max_lines)
        yield _row(say("hazards.multiline.title"), NOT_CHECKED, note)


def _judge_repetition(plan: Plan) -> Hazard:
    caps, hazard = plan.release.ledger, say("hazards.repeated.title")
    sentence = say("hazards.repeated.ledger")
    if caps.epsilon_cap is None and caps.rho_cap is None:
        return _row(hazard, ATTENTION, f"{sentence} {say('hazards.repeated.no_cap')}")
    if plan.loss.delta and caps.delta_cap is None and caps.rho_cap is None:
        return _row(hazard, ATTENTION, f"{sentence} {say('hazards.repeated.no_cap_of_delta')}")
    note = say("hazards.repeated.cap")
    return _row(hazard, SEE, f"{sentence} {note}")


def _judge_declarations(plan: Plan) -> Hazard:
    """Say whether what the spec declares comes with the source that it was taken from."""
    hazard, release = say("hazards.public.title"), plan.release
    declared = [
        column
        for column in release.columns.values()
        if (column.step_chosen or column.grid or column.keys or column.edges)
        and str(column.type) != "boolean"
        and column.observed_column is None
    ]
    sources = [column.source for column in declared if column.source is not None]
    silent = [column.name for column in declared if column.source is None]
    silent += [
        say("hazards.public.candidates", query=query.name)
        for query in release.queries
        if query.candidates is not None
    ]
    silent += [
        say("hazards.public.bins", column=group.column, query=query.name)
        for query in release.queries
        for group in (
            *get_statistic(query.statistic).list_published_groups(query),
            *((query.axis,) if query.axis else ()),
        )
        if group.edges is not None
        and (column := release.columns.get(group.column)) is not None
        and column.edges != group.edges
    ]
    notes = []
    if any(step.threshold is not None for step in plan.steps):
        notes = [say("hazards.public.private_keys")]
    if silent:
        names = ", ".join(dict.fromkeys(silent))
        sentence = say("hazards.public.no_source", names=names)
        return _row(hazard, ATTENTION, " ".join([sentence, *notes]))
    if not sources:
        sentence = say("hazards.public.nothing_declared")
        return _row(hazard, CHECKED, " ".join([sentence, *notes]))
    sentence = say("hazards.public.sources")
    return _row(hazard, STATED, " ".join([sentence, *notes]))


def _judge_keys(plan: Plan) -> Hazard:
    hazard = say("hazards.groups.title")
    thresholds = [
        say(
            "hazards.groups.threshold",
            table=step.query.table,
            count=compute_least_units(step),
            delta=format_number(to_json_number(selection.delta)),
        )
        for step in plan.steps
        if step.threshold is not None and (selection := step.query.key_selection) is not None
    ]
    if thresholds:
        note = say(
            "hazards.groups.private_keys_of_rows"
            if plan.release.privacy.unit_column is None
            else "hazards.groups.private_keys",
            thresholds=", ".join(thresholds),
        )
        return _row(hazard, ATTENTION, note)
    if plan.reads:
        note = say("hazards.groups.public")
        return _row(hazard, CHECKED, note)
    return _row(hazard, CHECKED, say("hazards.groups.none"))


def _iter_built_in(plan: Plan) -> Iterator[Hazard]:
    arithmetic = say("hazards.floats.laws")
    sensitivity = say("hazards.sensitivity.cells")
    if plan.reads:
        arithmetic = say("hazards.floats.integers")
        sensitivity = say("hazards.sensitivity.bounds")
    yield _row(say("hazards.floats.title"), CHECKED, arithmetic)
    yield _row(say("words.sensitivity"), CHECKED, sensitivity)
    yield _judge_keys(plan)
    sentence = say("hazards.truncated.note")
    yield _row(say("hazards.truncated.title"), CHECKED, sentence)
    exact = [step.query.name for step in build_views(plan) if step.noise.family is NoiseFamily.NONE]
    exact += [say("hazards.exact.rows_of_table", table=step.perturb.name) for step in plan.records]
    note = say("hazards.exact.none")
    if exact:
        note = say("hazards.exact.equal", names=", ".join(exact))
    yield _row(say("hazards.exact.title"), ATTENTION if exact else CHECKED, note)


def _iter_unchecked() -> Iterator[tuple[str, ...]]:
    """Give hazard, status, note and key of what the tool can't check."""
    yield (
        say("hazards.side_channels.title"),
        NOT_CHECKED,
        say("hazards.side_channels.note"),
        "side_channels",
    )
    yield (
        say("hazards.access.title"),
        NOT_CHECKED,
        say("hazards.access.note"),
        "security_and_access",
    )
    yield (
        say("hazards.collection.title"),
        NOT_CHECKED,
        say("hazards.collection.note"),
        "data_collection_and_minimisation",
    )
    yield (
        say("hazards.staff.title"),
        NOT_CHECKED,
        say("hazards.staff.note"),
        "staff_who_see_the_data",
    )


def _list_figure_hazards(plan: Plan) -> Iterator[Hazard]:
    """List the hazards of bounding people and of the statistics of this release."""
    limits = plan.release.privacy.bounding
    clipped = [read.query.name for read in plan.reads if read.query.clip is not None]
    if len(clipped) < len(plan.reads) and limits is not None:
        note = say("hazards.bounding.note", rows=limits.rows, groups=limits.groups)
        yield _row(say("hazards.bounding.title"), ATTENTION, note)
    if clipped:
        note = say("hazards.clipped.note", names=join_names(clipped))
        yield _row(say("hazards.clipped.title"), ATTENTION, note)
    if plan.reads:
        yield _judge_bias(plan)
    interval, subjects = plan.release.output.interval, dict[tuple[int, str, str], list[str]]()
    for step in build_views(plan):
        for hazard in get_statistic(step.query.statistic).iter_hazards(step, interval):
            named = hazard.place, word(hazard.title), word(hazard.note)
            subjects.setdefault(named, []).append(word(hazard.subject))
    for (_, title, note), names in sorted(subjects.items()):
        yield _row(title, ATTENTION, say("words.labelled", label=note, text=", ".join(names)))


def _judge_utility(flags: Mapping[str, int]) -> Iterator[Hazard]:
    """Say how many of the published figures are too noisy or not shown."""
    figures, weak = sum(flags.values()), flags.get(UNRELIABLE, 0)
    hidden = flags.get(SUPPRESSED, 0)
    if figures:
        note = say("hazards.utility.note", judged=figures, weak=weak, hidden=hidden)
        useless = (weak + hidden) / figures > MOST_WEAK
        yield _row(say("hazards.utility.title"), ATTENTION if useless else SEE, note)


def _judge_bias(plan: Plan) -> Hazard:
    """Judge what moves figures one way, as far as the plan knows."""
    notes = []
    if columns := list_bounded_columns(plan):
        sentence = "hazards.bias.clamped"
        notes.append(say(sentence, columns=", ".join(columns)))
    clips = [query.clip for query in plan.release.queries]
    if plan.release.privacy.bounding is not None and (None in clips or plan.records):
        notes.append(say("hazards.bias.bounded"))
    if any(clips):
        notes.append(say("hazards.bias.clipped"))
    declared = plan.release.columns.values()
    states = {column.name for column in declared if column.observed_column is not None}
    groups = {
        group.column
        for step in build_views(plan)
        for group in get_statistic(step.query.statistic).list_published_groups(step.query)
        if not (group.total or group.private or group.column in states)
    }
    if groups:
        notes.append(say("hazards.bias.undeclared", columns=", ".join(sorted(groups))))
    if any(step.threshold is not None for step in plan.steps):
        notes.append(say("hazards.bias.private_keys"))
    finishes = [query.finish for query in plan.release.queries]
    if any(finish.nonnegative for finish in finishes):
        notes.append(say("hazards.bias.nonnegative"))
    if any(finish.publish_if or finish.hide_below is not None for finish in finishes):
        notes.append(say("hazards.bias.hidden"))
    if not notes:
        sentence = say("hazards.bias.none")
        return _row(say("hazards.bias.title"), CHECKED, sentence)
    notes.append(say("hazards.bias.no_interval"))
    return _row(say("hazards.bias.title"), ATTENTION, " ".join(notes))


def list_bounded_columns(plan: Plan) -> list[str]:
    """Name the columns whose values are held within bounds, for some query."""
    columns: list[Column | None] = []
    for query in (step.query for step in build_views(plan)):
        if get_statistic(query.statistic).keys.column.is_numeric:
            columns.append(query.column)
        parts = (query.numerator, query.denominator)
        columns += [part.column for part in parts if part is not None]
        columns += [axis.column for axis in query.curve]
        columns.append(query.survey_weight)
    return list(dict.fromkeys(column.name for column in columns if column is not None))
