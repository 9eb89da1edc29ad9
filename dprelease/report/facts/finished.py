"""What is done to a query's figures after the noise, in sentences, and how it biases them.

Numbers are of the plan alone: no figure is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import pi, sqrt

from dprelease.finishing.tables import SUPPRESSED, Noisy, deeds, forms_of, group_of, noisy_figures
from dprelease.model import AS_RELEASED, Finish, NoiseFamily, Plan, Query, Read
from dprelease.postprocess.number_text import listing, number, percent
from dprelease.report.facts.model import Finishing
from dprelease.report.numbers import text

RAW = "report.json holds the figure as it was released (`raw`)"


def finishing_of(plan: Plan, read: Read) -> Finishing | None:
    """State what is done to the figures of a query; None where they are published as released."""
    query, finish = read.query, read.query.finish
    if finish == AS_RELEASED:
        return None
    group = _group(plan, query)
    others = tuple(noisy.query.name for noisy in group if noisy.query != query)
    usual = finish.flag_unreliable_at == AS_RELEASED.flag_unreliable_at
    return Finishing(
        agrees_with=others,
        nonnegative=finish.nonnegative,
        integer=finish.integer,
        publish_if=condition_of(finish),
        round_to=None if finish.round_to is None else text(finish.round_to),
        flag_unreliable_at=None if usual else text(finish.flag_unreliable_at),
        explained=tuple(_words(query, group, plan.step(read).noise.family)),
    )


def finishing_words(plan: Plan) -> list[str]:
    """Say in short what is done to figures, once for all queries that have it alike."""
    queries: dict[str, dict[str, None]] = {}
    for query in (read.query for read in plan.reads):
        condition = condition_of(query.finish)
        parts = deeds(query.finish) + ([] if condition is None else [f"shown if {condition}"])
        if parts:
            queries.setdefault(", ".join(parts), {})[query.column_name] = None
    return [f"After the noise, {listing([*names])}: {what}." for what, names in queries.items()]


def condition_of(finish: Finish) -> str | None:
    """Write the condition on which a figure is shown."""
    if finish.hide_below is not None:
        return f"value >= {text(finish.hide_below)}"
    return None if finish.publish_if is None else finish.publish_if.text


def _group(plan: Plan, query: Query) -> Sequence[Noisy]:
    """The query, with those that its figures are made to agree with; none if nothing is done."""
    group = group_of(query)
    if group is None:
        return ()
    return noisy_figures(plan, [read for read in plan.reads if group_of(read.query) == group])


def _words(query: Query, group: Sequence[Noisy], family: NoiseFamily) -> Iterator[str]:
    finish = query.finish
    noisy = next((noisy for noisy in group if noisy.query == query), None)
    deviation = 0.0
    if noisy is not None and noisy.variance is not None:
        deviation = sqrt(noisy.variance)
    if len(group) > 1:
        after = _after(query, group)
        tables = list(dict.fromkeys(other.query.table for other in group))
        of = "tables" if len(tables) > 1 else "table"
        yield f"Made to agree in the {of} {listing(tables)}: cells add up to totals exactly."
        yield (
            "That is the weighted least squares of all noisy figures of the same records. It "
            "biases nothing, if all records count in each of these tables."
        )
        if deviation:
            yield (
                f"The standard deviation of a cell's noise goes from {_size(deviation)} to "
                f"{_size(after)} by that."
            )
        deviation = after
    if finish.nonnegative and deviation:
        yield from _nonnegative(query, deviation * UPWARD.get(family, 0.5), alone=len(group) < 2)
    if finish.integer:
        yield (
            "Rounded to whole numbers so that totals are kept: the largest remainders are rounded "
            "up. A figure moves by about 1 at most by that, as often up as down."
        )
    if len(group) > 1 or finish.nonnegative or finish.integer:
        yield f"The half-width is that of the noisy figure before all this; {RAW}."
    if (condition := condition_of(finish)) is not None:
        yield f"Shown only where {condition}; else it is empty, and its flag is {SUPPRESSED}."
        yield (
            "That hides what is not reliable. It protects nobody: privacy comes from the noise "
            "alone, and totals or other tables of the same records may tell what is hidden. Near "
            "the limit, figures that are shown are larger than the truth on average."
        )
    if finish.round_to is not None:
        yield (
            f"Rounded to the nearest multiple of {number(finish.round_to, 12)} at last. The "
            f"half-width allows for that: it is larger by {number(finish.round_to / 2, 12)}."
        )
        yield f"Rounded figures need not add up; {RAW}."
    if finish.flag_unreliable_at != AS_RELEASED.flag_unreliable_at:
        share = percent(finish.flag_unreliable_at)
        yield f"Flagged low_reliability where the half-width exceeds {share} of the figure."


UPWARD = dict.fromkeys((NoiseFamily.LAPLACE, NoiseFamily.GAUSSIAN), 1 / sqrt(2 * pi))
"""The mean of max(0, X), X the noise, is at most so much of its standard deviation.

1 / sqrt(2 pi) for Gaussian noise and mixtures of it, of which Laplace noise is one; else 1/2.
"""


def _nonnegative(query: Query, upward: float, *, alone: bool) -> Iterator[str]:
    """Say how cells are biased; what all cells of a table are lowered by makes it only less."""
    bias = f"{'at most' if alone else 'about'} {_size(upward)} on average"
    if not query.groups:
        yield (
            "Set to 0 if noise made it less. That biases a figure near 0 upward, one that is "
            f"truly 0 by {bias}."
        )
        return
    yield (
        "Moved to 0 or more: all cells are lowered alike and those below 0 set to 0, so that they "
        "still add up to the noisy total (or 0). That does not bias the total, but for one that is "
        "near 0 itself."
    )
    yield (
        f"Small cells are biased upward by that, a cell without records by {bias}; the others are "
        "biased downward by as much together."
    )


def _after(query: Query, group: Sequence[Noisy]) -> float:
    """The standard deviation of a cell's noise after least squares."""
    # Imported here for start-up: most releases are published as they are.
    from dprelease.finishing.agreement import Counts, noise_left

    forms, sizes = forms_of(group, [noisy.query.cells for noisy in group])
    variances = noise_left([Counts(axes, (), variance) for axes, variance in forms], sizes)
    place = next(i for i, noisy in enumerate(group) if noisy.query == query)
    return sqrt(variances[place])


def _size(value: float) -> str:
    return number(Fraction(value), 3, up=True)
