"""What is done to a query's figures after the noise, in sentences, and how it biases them.

Numbers are of the plan alone: no figure is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import pi, sqrt
from typing import NamedTuple

from dprelease.finishing.tables import (
    Noisy,
    deeds,
    group_of,
    noisy_figures,
    observed_of,
)
from dprelease.language import counted, say, template
from dprelease.model import AS_RELEASED, Finish, NoiseFamily, Plan, Query, Read
from dprelease.model.outputs import SUPPRESSED
from dprelease.postprocess.number_text import listing, number, percent
from dprelease.report.facts.model import Finishing
from dprelease.report.numbers import text

MOST_TABLES = 12
RAW = template("report.json holds the figure as it was released (`raw`)")


def finishings(plan: Plan) -> dict[str, Finishing]:
    """State what is done to the figures of each query, by name, where anything is."""
    groups: dict[object, list[Read]] = {}
    for read in plan.reads:
        if read.query.finish != AS_RELEASED:
            groups.setdefault(group_of(read.query) or read.query.name, []).append(read)
    stated = {}
    for reads in groups.values():
        figures = noisy_figures(plan, reads)
        deviations = [sqrt(noisy.variance or 0) for noisy in figures]
        after = _after(figures) if len(reads) > 1 else deviations
        tables = list(dict.fromkeys(read.query.table for read in reads))
        for read, before, final in zip(reads, deviations, after, strict=True):
            upward = UPWARD.get(plan.step(read).noise.family, 0.5)
            agrees_with = reads[0].query.name if read is not reads[0] else None
            words = _words(read.query, _Noise(before, final, upward, tables, agrees_with))
            stated[read.query.name] = _stated(read.query.finish, tuple(words))
    return stated


def _stated(finish: Finish, explained: tuple[str, ...]) -> Finishing:
    usual = finish.flag_unreliable_at == AS_RELEASED.flag_unreliable_at
    return Finishing(
        consistent=finish.consistent,
        nonnegative=finish.nonnegative,
        integer=finish.integer,
        publish_if=condition_of(finish),
        round_to=None if finish.round_to is None else text(finish.round_to),
        flag_unreliable_at=None if usual else text(finish.flag_unreliable_at),
        explained=explained,
    )


def finishing_words(plan: Plan) -> list[str]:
    """Say in short what is done to figures, once for all queries that have it alike."""
    queries: dict[str, dict[str, None]] = {}
    for query in (read.query for read in plan.reads):
        condition = condition_of(query.finish)
        parts = deeds(query.finish) + (
            [] if condition is None else [say("shown if {condition}", condition=condition)]
        )
        if parts:
            queries.setdefault(", ".join(parts), {})[query.column_name] = None
    return [
        say("After the noise, {names}: {what}.", names=listing([*names]), what=what)
        for what, names in queries.items()
    ]


def condition_of(finish: Finish) -> str | None:
    """Write the condition on which a figure is shown."""
    if finish.hide_below is not None:
        return f"value >= {text(finish.hide_below)}"
    return None if finish.publish_if is None else finish.publish_if.text


class _Noise(NamedTuple):
    """Standard deviations of a cell's noise before and after agreement, and what it is about.

    ``upward``: the mean of what is above 0 of the noise, as a share of that. ``tables`` agree:
    they are told of with the first query, which is ``agrees_with`` of all others.
    """

    before: float
    after: float
    upward: float
    tables: Sequence[str]
    agrees_with: str | None


def _agreement(noise: _Noise) -> Iterator[str]:
    """Say what agrees: with the first query by the names of all tables, then by that query."""
    if noise.agrees_with is not None:
        yield say(
            "Made to agree with {query} and the tables named there: cells add up to totals "
            "exactly.",
            query=noise.agrees_with,
        )
        return
    more = len(noise.tables) - MOST_TABLES
    tables = [
        *noise.tables[:MOST_TABLES],
        *([say("{more} more", more=more)] if more > 0 else []),
    ]
    yield counted(
        len(tables),
        "Made to agree in the table {tables}: cells add up to totals exactly.",
        "Made to agree in the tables {tables}: cells add up to totals exactly.",
        tables=listing(tables),
    )
    yield say(
        "That is the weighted least squares of all noisy figures of the same records. It biases "
        "nothing, if all records count in each of these tables."
    )


def _words(query: Query, noise: _Noise) -> Iterator[str]:
    finish = query.finish
    if finish.consistent:
        yield from _agreement(noise)
        if noise.before:
            yield say(
                "The standard deviation of a cell's noise goes from {before} to {after} by that.",
                before=_size(noise.before),
                after=_size(noise.after),
            )
    if finish.nonnegative and noise.after:
        yield from _nonnegative(query, noise.after * noise.upward, alone=not finish.consistent)
    if finish.integer:
        yield say(
            "Rounded to whole numbers so that totals are kept: the largest remainders are rounded "
            "up. A figure moves by about 1 at most by that, as often up as down."
        )
    if finish.consistent or finish.nonnegative or finish.integer:
        yield (
            say(
                "The half-width is that of the noisy figure before all this, or of the one made to "
                "agree where that is larger; {raw}.",
                raw=say(RAW),
            )
            if finish.consistent
            else say(
                "The half-width is that of the noisy figure before all this; {raw}.", raw=say(RAW)
            )
        )
    if (condition := condition_of(finish)) is not None:
        yield say(
            "Shown only where {condition}; else it is empty, and its flag is {suppressed}.",
            condition=condition,
            suppressed=SUPPRESSED,
        )
        yield say(
            "That hides what is not reliable. It protects nobody: privacy comes from the noise "
            "alone, and totals or other tables of the same records may tell what is hidden. Near "
            "the limit, figures that are shown are larger than the truth on average."
        )
    if finish.round_to is not None:
        yield say(
            "Rounded to the nearest multiple of {round_to} at last. The half-width allows for "
            "that: it is larger by {round_to_2}.",
            round_to=number(finish.round_to, 12),
            round_to_2=number(finish.round_to / 2, 12),
        )
        yield say("Rounded figures need not add up; {raw}.", raw=say(RAW))
    if finish.flag_unreliable_at != AS_RELEASED.flag_unreliable_at:
        share = percent(finish.flag_unreliable_at)
        yield say(
            "Flagged low_reliability where the half-width exceeds {share} of the figure.",
            share=share,
        )


UPWARD = dict.fromkeys((NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN), 1 / sqrt(2 * pi))
"""The mean of max(0, X), X the noise, is at most so much of its standard deviation.

1 / sqrt(2 pi) for Gaussian noise and mixtures of it, of which Laplace noise is one; else 1/2.
"""


def _nonnegative(query: Query, upward: float, *, alone: bool) -> Iterator[str]:
    """Say how cells are biased; what all cells of a table are lowered by makes it only less."""
    bias = (
        say("at most {upward} on average", upward=_size(upward))
        if alone
        else say("about {upward} on average", upward=_size(upward))
    )
    if not query.groups:
        yield say(
            "Set to 0 if noise made it less. That biases a figure near 0 upward, one that is truly "
            "0 by {bias}.",
            bias=bias,
        )
        return
    yield say(
        "Moved to 0 or more: all cells are lowered alike and those below 0 set to 0, so that they "
        "still add up to the noisy total (or 0). That does not bias the total, but for one that is "
        "near 0 itself."
    )
    yield say(
        "Small cells are biased upward by that, a cell without records by {bias}; the others are "
        "biased downward by as much together.",
        bias=bias,
    )


def _after(group: Sequence[Noisy]) -> list[float]:
    """The standard deviations of cells' noise after least squares."""
    # Imported here for start-up: most releases are published as they are.
    from dprelease.finishing.agreement import least_squares, noise_left

    joint = observed_of(group, [noisy.query.cells for noisy in group])
    return list(map(sqrt, noise_left(least_squares(joint.tables, joint.observed, joint.sizes))))


def _size(value: float) -> str:
    return number(Fraction(value), 3, up=True)
