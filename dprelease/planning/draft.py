"""A query before it has noise: what it releases and how far a neighbour can move it."""

from __future__ import annotations

from dataclasses import dataclass

from dprelease.model import Loss, Noise, Query, Release, Sensitivity, Step
from dprelease.privacy.shift import Shift
from dprelease.statistics.base import Released
from dprelease.statistics.registry import statistic_of


@dataclass(frozen=True, slots=True)
class Draft:
    """A query with its released integers and their sensitivity."""

    query: Query
    released: Released
    sensitivity: Sensitivity

    @property
    def shift(self) -> Shift:
        """The changes between neighbours, as the Gaussian calibration wants them."""
        known = self.sensitivity
        return Shift(known.l2_squared, known.coordinates, known.shapes)

    @property
    def free(self) -> bool:
        """True when no neighbour changes anything, so that no noise is needed."""
        return self.sensitivity.l1 == 0

    def step(self, noise: Noise, loss: Loss) -> Step:
        """Complete the draft."""
        return Step(
            query=self.query,
            measures=self.released.measures,
            transform=self.released.transform,
            unit=self.released.unit,
            sensitivity=self.sensitivity,
            noise=noise,
            loss=loss,
        )


def drafts_of(release: Release) -> list[Draft]:
    """Draft every query of the spec."""
    drafts = []
    for query in release.queries:
        statistic = statistic_of(query.statistic)
        sensitivity = statistic.sensitivity(query, release.privacy.adjacency)
        drafts.append(Draft(query, statistic.released(query), sensitivity))
    return drafts
