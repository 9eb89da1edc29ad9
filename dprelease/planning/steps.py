"""Steps before they have noise: what is released at once, and how far a neighbour moves it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dprelease.mechanisms import Choice
from dprelease.mechanisms.mechanism_registry import Options, list_options
from dprelease.model import Adjacency, AxisKind, Form, Query, Read, Sensitivity, Step
from dprelease.model.shift import Shift
from dprelease.planning.budgets import Demand
from dprelease.privacy.strategy_sensitivity import bound_mixed_change
from dprelease.statistics.shared.statistic import (
    Neighbours,
    Released,
    find_null_fill,
    may_be_outside,
)
from dprelease.statistics.statistic_registry import get_statistic

ALONE = Demand()

Choices = dict[str, Choice]
"""The noise chosen for each draft, by its name."""


class Draft(Struct, frozen=True, eq=False):  # each is itself: thousands are looked up
    """A release of some integers or choices before its noise is chosen, with all its ``reads``.

    ``query`` gives it name, groups and filter. ``selects``: its noisy count decides which private
    keys of its table are shown.
    """

    query: Query
    released: Released
    sensitivity: Sensitivity
    neighbours: Neighbours
    reads: tuple[Read, ...] = ()
    demand: Demand = ALONE
    selects: bool = False

    @property
    def name(self) -> str:
        """Return the name of the step."""
        return self.query.name

    @property
    def shift(self) -> Shift:
        """Return the changes between neighbours as Gaussian calibration needs them."""
        sensitivity = self.sensitivity
        return Shift(sensitivity.l2_squared, sensitivity.coordinates, sensitivity.shapes)

    @property
    def free(self) -> bool:
        """Return True if no neighbour changes anything, so that no noise is needed."""
        return self.sensitivity.l1 == 0 and not self.selects

    @property
    def additive(self) -> bool:
        """Return True if the noise is on integers, so that Gaussian noise is possible."""
        return self.released.form is Form.NUMBERS

    @property
    def form(self) -> Form:
        """Return the form of the release: numbers, choices or quantiles."""
        return self.released.form

    @property
    def integers(self) -> int:
        """Return how many integers of each cell are released."""
        return len(self.released.transform)

    @property
    def together(self) -> bool:
        """Return True if the noise of these is drawn together."""
        return self.released.together

    @property
    def adjacency(self) -> Adjacency:
        """Return the neighbour relation."""
        return self.neighbours.adjacency

    @property
    def stays(self) -> bool:
        """Return True if a replaced row certainly stays in its one cell."""
        query = self.query
        return (
            not self.neighbours.people
            and query.column is not None
            and find_null_fill(query.column) is not None
            and not query.private
            and query.cells == 1
            and not may_be_outside(query, self.neighbours)
        )

    @property
    def one_draw(self) -> bool:
        """Return True if every figure is the truth plus one draw of noise and none has a target."""
        return (
            self.additive
            and not self.selects
            and not self.demand.targeted
            and len(self.released.transform) == 1
            and self.query.axis is None
            and all(
                get_statistic(read.query.statistic).one_number and not read.merged
                for read in self.reads
            )
        )

    @property
    def mechanisms(self) -> Options:
        """Return the mechanisms that the spec leaves to choose from."""
        return list_options(self, self.query.mechanism)

    def step(self, choice: Choice) -> Step:
        """Build the step with the chosen noise."""
        return Step(
            query=self.query,
            measures=self.released.measures,
            transform=self.released.transform,
            unit=self.released.unit,
            sensitivity=self.sensitivity,
            noise=choice.noise,
            loss=choice.loss,
            form=choice.form,
            threshold=choice.threshold,
            scheme=choice.scheme,
            points=self.released.points,
            axes=self.released.axes,
            survey_weight=self.released.survey_weight,
            apart=self.released.apart,
        )


def iter_alternatives(draft: Draft, *, as_version_02: bool) -> Iterator[Draft]:
    """Iterate over other ways to release a draft's figures, which its statistic has.

    There are none if the draft is free, selects keys or has an accuracy target. Version 0.2
    had neither trees nor matrices whose columns have factors; the latter err less than the RUNNING
    matrices that it had.
    """
    if draft.free or draft.selects or draft.demand.targeted:
        return
    for released in get_statistic(draft.query.statistic).define_alternatives(draft.query):
        if not _OTHER_VERSION[as_version_02] & {axis.kind for axis in released.axes}:
            yield _switch_release(draft, released)


_OTHER_VERSION = {True: {AxisKind.SCALED, AxisKind.TREE}, False: {AxisKind.RUNNING}}
"""What is not tried: as version 0.2, and otherwise."""


def _switch_release(draft: Draft, released: Released) -> Draft:
    neighbours = draft.neighbours
    sizes = [len(group.labels) for group in draft.query.groups]
    if released.points is not None:
        sizes.append(released.points.grid.width + 1)
    replaced = neighbours.adjacency is Adjacency.REPLACE_ONE
    change = bound_mixed_change(neighbours.contribution, sizes, released.axes, replaced=replaced)
    demand = draft.demand
    # The draft is to have the same share of the budget as before. The weight stands for that with
    # Laplace noise, which trees are for; with Gaussian noise the L2 norm counts.
    if all(axis.kind is not AxisKind.TREE for axis in released.axes):
        before = draft.sensitivity
        part = Fraction(before.l2_squared * change.l1**2, before.l1**2 * change.l2_squared)
        demand = replace(demand, weight=demand.weight * part)
    return replace(draft, released=released, sensitivity=change, demand=demand)
