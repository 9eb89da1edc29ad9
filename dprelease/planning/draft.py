"""A query before it has noise: what it releases and how far a neighbour can move it."""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.model import (
    Form,
    Loss,
    Noise,
    QuantileScheme,
    Query,
    Release,
    Sensitivity,
    Step,
)
from dprelease.planning.selecting import selecting_queries
from dprelease.privacy.contribution import Contribution
from dprelease.privacy.shift import Shift
from dprelease.statistics.base import Neighbours, Released
from dprelease.statistics.registry import statistic_of


@dataclass(frozen=True, slots=True)
class Choice:
    """How a query is made private, and the loss that this means for the query alone."""

    noise: Noise
    loss: Loss
    form: Form = Form.NUMBERS
    scheme: QuantileScheme | None = None
    threshold: int | None = None

    @property
    def variance(self) -> float:
        """Variance of the continuous law, to compare choices with: nothing rests on it."""
        parameter = float(self.noise.parameter)
        if self.form is not Form.NUMBERS:
            return parameter**-2 if parameter else 0.0
        return 2 * parameter**2 if self.noise.family == "laplace" else parameter


@dataclass(frozen=True, slots=True)
class Draft:
    """A query with its released integers and their sensitivity.

    ``selects``: its noisy count decides which private keys of its table are shown.
    """

    query: Query
    released: Released
    sensitivity: Sensitivity
    neighbours: Neighbours
    selects: bool = False

    @property
    def shift(self) -> Shift:
        """The changes between neighbours, as the Gaussian calibration wants them."""
        known = self.sensitivity
        return Shift(known.l2_squared, known.coordinates, known.shapes)

    @property
    def free(self) -> bool:
        """True when no neighbour changes anything, so that no noise is needed."""
        return self.sensitivity.l1 == 0 and not self.selects

    @property
    def additive(self) -> bool:
        """True when it is noise on integers, so that Gaussian noise is possible."""
        return self.released.form is Form.NUMBERS

    def step(self, choice: Choice) -> Step:
        """Complete the draft."""
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
        )


def drafts_of(release: Release) -> list[Draft]:
    """Draft every query of the spec."""
    neighbours = neighbours_of(release)
    selecting = selecting_queries(release)
    drafts = []
    for query in release.queries:
        statistic = statistic_of(query.statistic)
        sensitivity = statistic.sensitivity(query, neighbours)
        selects = query.name in selecting
        drafts.append(Draft(query, statistic.released(query), sensitivity, neighbours, selects))
    return drafts


def neighbours_of(release: Release) -> Neighbours:
    """Read from the spec what neighbouring tables can differ in."""
    bounding = release.privacy.bounding
    if bounding is None:
        return Neighbours(release.privacy.adjacency, Contribution(1, 1, 1), people=False)
    limits = Contribution(bounding.rows, bounding.groups, bounding.per_group)
    return Neighbours(release.privacy.adjacency, limits, people=True)
