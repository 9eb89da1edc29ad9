"""The unit of privacy in words, and what a privacy loss means for it in numbers.

A unit is a row, or a person with all rows of one value of a column. "Person" stands for whatever
the column names (a patient, a household, a firm); the guarantee says which, in the curator's words.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from msgspec import Struct

from dprelease.language import say, say_count
from dprelease.model import Adjacency, Loss, Plan, Privacy, Query, Release, Step
from dprelease.model import Bounding as ModelBounding
from dprelease.postprocess.intervals.number_text import number
from dprelease.reports.model.record_model import Number
from dprelease.reports.model.report_model import (
    Belief,
    Beliefs,
    Bounding,
    Cap,
    GroupLoss,
    Ledger,
    LedgerStanding,
    PrivacyUnit,
    TotalLoss,
)
from dprelease.reports.text.shown_numbers import number_or_none, to_json_number
from dprelease.statistics.statistic_registry import get_statistic

NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "units.neighbours.add_remove_row",
    Adjacency.REPLACE_ONE: "units.neighbours.replace_row",
}
PEOPLE_NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "units.neighbours.add_remove_person",
    Adjacency.REPLACE_ONE: "units.neighbours.replace_person",
}


class Unit(Struct, frozen=True):
    """The nouns of a unit, and what neighbours and beliefs are about."""

    one: str
    neighbours: str
    presence: str  # what add-remove protects first of all
    content: str  # what is said, if it is there

    @property
    def people(self) -> bool:
        """True if a unit is a person: all rows with one value of a column."""
        return self.one == "person"


def choose_unit(privacy: Privacy) -> Unit:
    """Choose the words for the unit of a release."""
    if privacy.unit_column is None:
        return Unit(
            "row",
            say(NEIGHBOURS[privacy.adjacency]),
            say("units.about.row_is_there"),
            say("units.about.row_says"),
        )
    return Unit(
        "person",
        say(PEOPLE_NEIGHBOURS[privacy.adjacency]),
        say("units.about.person_is_there"),
        say("units.about.person_says"),
    )


def describe_protection(privacy: Privacy) -> str:
    """Finish the sentence "differential privacy for one ..."."""
    described, column = privacy.unit_description, privacy.unit_column
    if column is None:
        row = say("units.row")
        if not described:
            return row
        return f"{row} {say('units.row_stands_for', described=described)}"
    rows = say("units.all_rows_of", column=column)
    return (
        say("units.person_described", described=described, rows=rows)
        if described
        else say("units.person_of_column", column=column, rows=rows)
    )


def describe_unit(release: Release) -> PrivacyUnit:
    """State the unit."""
    privacy, limits = release.privacy, release.privacy.bounding
    return PrivacyUnit(
        unit=privacy.unit,
        unit_column=privacy.unit_column,
        description=privacy.unit_description,
        adjacency=str(privacy.adjacency),
        bounding=None
        if limits is None
        else Bounding(
            max_rows_per_unit=limits.rows,
            max_groups_per_unit=limits.groups,
            max_rows_per_unit_per_group=limits.per_group,
        ),
        population=privacy.population,
    )


def list_rows_cut(plan: Plan) -> dict[str, int]:
    """Give of each table in which fewer rows of a person can count than in others how many.

    A table that is planned together with others is a part of a finer one, where its cells do not
    tell. Queries that count people count each once, whatever the rows.
    """
    limits = plan.release.privacy.bounding
    if limits is None:
        return {}
    rows = {
        read.query.table: limits.count_rows_in(read.query.cells)
        for read in plan.reads
        if not (
            read.terms
            or read.query.private
            or read.query.clip
            or get_statistic(read.query.statistic).counts_units
        )
    }
    return {table: row_count for table, row_count in rows.items() if row_count < limits.rows}


def word_bounding(plan: Plan) -> list[str]:
    """Say what is kept of a person with much in the data, and what that may bias.

    Empty if a unit is a row.
    """
    release = plan.release
    limits = release.privacy.bounding
    if limits is None:
        return []
    clipped = [read for read in plan.reads if read.query.clip is not None]
    return [
        *(_word_limits(plan, limits) if len(clipped) < len(plan.reads) else ()),
        *(_word_clipping(read.query, plan.step(read)) for read in clipped),
        *([say("units.clipped.bias")] if clipped else ()),
        say_without_unit(release),
    ]


def say_without_unit(release: Release) -> str:
    """Say what becomes of rows without a value in the column that tells people apart."""
    name = release.privacy.unit_column or ""
    is_skipped = name not in release.columns or release.columns[name].null_value is None
    key = "units.without_unit.left_out" if is_skipped else "units.without_unit.one_person"
    return say(key, unit_column=name)


def _word_clipping(query: Query, step: Step) -> str:
    """Say to what the totals of a person are scaled."""
    clip = query.clip
    if clip is None:
        raise ValueError("limits on rows are said of all tables together")
    bound = number(clip.bound * step.unit[0], 6)
    words = {"name": query.name, "norm": clip.norm.upper(), "bound": bound}
    if query.where is not None:
        return say("units.clipped.rows_where", condition=query.where.text, **words)
    return say("units.clipped.rows", **words)


def _word_limits(plan: Plan, limits: ModelBounding) -> list[str]:
    """Say what limits on rows keep."""
    return [
        say(
            "units.bounds",
            rows=say_count(limits.rows, "words.rows_counted"),
            groups=say_count(limits.groups, "units.groups_counted"),
            per_group=limits.per_group,
        ),
        *(
            say("units.few_groups", table=table, rows=say_count(rows, "words.rows_counted"))
            for table, rows in list_rows_cut(plan).items()
        ),
        say("units.cut.counts"),
        say("units.cut.means"),
        say("units.cut.by_lot"),
        say("units.cut.not_published"),
    ]


PRIORS = (0.01, 0.1, 0.5, 0.9)
GROUPS = (1, 2, 5, 10)


def compute_posterior(prior: float, epsilon: float) -> tuple[float, float]:
    """Bound what an observer may believe afterwards who believed ``prior`` before.

    Pure epsilon: pi / (pi + (1 - pi) e^eps) to pi / (pi + (1 - pi) e^-eps).
    """
    low = prior / (prior + (1 - prior) * math.exp(min(epsilon, 700.0)))
    high = prior / (prior + (1 - prior) * math.exp(-epsilon))
    return low, high


def round_outward(prior: float, epsilon: float) -> tuple[float, float]:
    """Round ``compute_posterior`` outward: to 4 decimals, or near 0 and 1 to two digits."""
    low, opposite = (compute_posterior(share, epsilon)[0] for share in (prior, 1 - prior))
    return float(_round_down(low)), float(1 - _round_down(opposite))


def _round_down(share: float) -> Decimal:
    """Round a share down. What is less than 1e-12 is nothing."""
    if share >= 0.001:
        return Decimal(math.floor(share * 1e4)) / 10**4
    floor = Context(prec=2, rounding=ROUND_FLOOR)
    return floor.create_decimal(Decimal(math.floor(share * 10**12)) / 10**12)


def tabulate_beliefs(about: str, loss: Loss, steps: int) -> Beliefs:
    """Tabulate prior and posterior beliefs about something that takes ``steps`` neighbours.

    Rounded outward; but for the stated delta.
    """
    epsilon, delta = compose_group_loss(loss.epsilon, loss.delta, steps)
    rows = []
    for prior in PRIORS:
        low, high = round_outward(prior, float(epsilon))
        rows.append(Belief(prior=prior, posterior_low=low, posterior_high=high))
    return Beliefs(about=about, epsilon=to_json_number(epsilon), delta=delta, rows=tuple(rows))


def compose_group_loss(epsilon: Fraction, delta: Fraction, steps: int) -> tuple[Fraction, float]:
    """Loss between tables ``steps`` neighbours apart: k epsilon, delta times a growing sum."""
    if not delta:
        return epsilon * steps, 0.0
    grown = sum(math.exp(min(float(epsilon) * i, 700.0)) for i in range(steps))
    return epsilon * steps, min(1.0, float(delta) * grown)


NO_PROTECTION = (0.999, 0.01)
"""From a belief above the first, or a delta from the second on, a bound promises nothing."""


def tabulate_groups(privacy: Privacy, loss: Loss) -> tuple[GroupLoss, ...]:
    """Tabulate the loss for k units together: k epsilon, and delta (e^(k eps) - 1)/(e^eps - 1).

    And what a belief of 50% about all of them may become, for each thing that ``build_beliefs``
    tabulates beliefs about.
    """
    rows = []
    for size in GROUPS:
        grown, failing = compose_group_loss(loss.epsilon, loss.delta, size)
        beliefs = tuple(
            _bound_belief(loss, size * steps) for steps in _count_steps(privacy.adjacency)
        )
        rows.append(
            GroupLoss(
                units=size,
                epsilon=to_json_number(grown),
                delta=failing or 0,
                posterior_high=beliefs[0],
                protected=all(high is not None and high <= NO_PROTECTION[0] for high in beliefs),
                beliefs=beliefs,
            )
        )
    return tuple(rows)


def _bound_belief(loss: Loss, steps: int) -> float | None:
    """Bound what a belief of 50% becomes, so many steps away; None where delta leaves no bound."""
    epsilon, delta = compose_group_loss(loss.epsilon, loss.delta, steps)
    return None if delta >= NO_PROTECTION[1] else round_outward(0.5, float(epsilon))[1]


def _count_steps(adjacency: Adjacency) -> tuple[int, ...]:
    """Count the neighbours on the way to what each belief is about; see ``build_beliefs``."""
    return (1,) if adjacency is Adjacency.REPLACE_ONE else (1, 2)


def build_beliefs(privacy: Privacy, loss: Loss) -> tuple[Beliefs, ...]:
    """Build what somebody may come to believe, of each thing that the neighbours speak about.

    Under add-remove, a unit with other contents is two steps away: it is taken out and another
    one put in. Under replace-one it is one step, and that the unit is there is not protected.
    """
    unit = choose_unit(privacy)
    subjects = [unit.content]
    if privacy.adjacency is Adjacency.ADD_REMOVE:
        statements = (
            say("units.people_in_table", people=unit.content)
            if unit.people
            else say("units.person_in_table", person=unit.content)
        )
        subjects = [unit.presence, statements]
    return tuple(
        tabulate_beliefs(subject, loss, steps)
        for subject, steps in zip(subjects, _count_steps(privacy.adjacency), strict=True)
    )


SO_FAR = "so far"
PLANNED = "planned"
"""Of all releases and the one that is only planned: others may be charged before it."""


def describe_total_losses(
    release: Release, standing: Ledger | LedgerStanding | None
) -> tuple[TotalLoss, ...]:
    """State the loss of all releases of the dataset, this one included, and that of its cap.

    ``standing`` is where its ledger stands, None where that is not known. What is held against
    the caps counts: plain sums, or composed where that is less.
    """
    settings = release.ledger
    if standing is None:
        accounting = None
        cap = Cap(
            epsilon=number_or_none(settings.epsilon_cap),
            delta=number_or_none(settings.delta_cap),
            rho=number_or_none(settings.rho_cap),
        )
    else:
        accounting = standing.after if standing.composed is None else standing.composed.after
        cap = standing.cap
    of = SO_FAR if isinstance(standing, Ledger) else PLANNED
    totals = (
        []
        if accounting is None
        else [_describe_total(release, of, accounting.epsilon, accounting.delta)]
    )
    if cap.epsilon is not None:
        totals.append(_describe_total(release, "cap", cap.epsilon, cap.delta))
    return tuple(totals)


def _describe_total(release: Release, of: str, epsilon: Number, delta: Number | None) -> TotalLoss:
    loss = Loss(Fraction(str(epsilon)), Fraction(str(delta or 0)))
    about = build_beliefs(release.privacy, loss)
    return TotalLoss(of=of, epsilon=epsilon, delta=delta, beliefs=about)


def describe_accounting(method: str) -> str:
    """Say how the losses of the queries were added."""
    if method == "zcdp":
        return say("composition.zcdp")
    if method == "pld":
        return say("composition.numerical")
    if method == "mixed":
        return say("composition.partly_zcdp")
    return say("composition.plain_sum")
