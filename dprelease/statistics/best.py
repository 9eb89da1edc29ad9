"""The best of some public candidates by cell, by a score that every record adds to."""

from __future__ import annotations

from msgspec.structs import replace

from dprelease.model import Adjacency, Candidates, Form, Query, Sensitivity
from dprelease.model.sentences import sentence
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.shared.choices import Choices
from dprelease.statistics.shared.statistic import (
    BY_CHOICE,
    LISTS,
    Neighbours,
    Released,
    SpecKeys,
    cells_of,
)


class Best(Choices):
    """The candidate with the largest sum of scores over a cell's records."""

    name = "best"
    what = "statistics.best.what"
    unit_noun = "statistics.best.points"
    keys = SpecKeys(
        needs=("candidates", "score", "score_upper"),
        may=(*LISTS, "score_step"),
        mechanisms=BY_CHOICE,
    )
    processing = "statistics.best.processing"

    def candidates(self, query: Query) -> tuple[str, ...]:
        """The candidates of the query."""
        return _candidates(query).texts

    def released(self, query: Query) -> Released:
        """No measures: the engine is asked for the sums of scores."""
        return Released((), ((),), (_candidates(query).grid.step,), Form.CHOICE)

    def row(self, query: Query) -> Scalar:
        """Between 0 and the score's upper bound for each candidate, all in one direction."""
        grid = _candidates(query).grid
        return Scalar(grid.lower, grid.upper, "statistics.best.score")

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of the scores: of all of them, and of those a choice depends on.

        For ``choice_l1`` see ``AxisChoice``: rows times the upper bound, in ranges of changes.
        """
        one, number = super().sensitivity(query, neighbours), len(self.candidates(query))
        rows = neighbours.contribution.within(cells_of(query)).rows
        return replace(
            one,
            l1=number * one.l1,
            l2_squared=number * one.l2_squared,
            coordinates=number * one.coordinates,
            shapes=(),
            derivation=sentence("sensitivity.for_each_candidate", derivation=one.derivation),
            monotone=neighbours.adjacency is Adjacency.ADD_REMOVE,
            choice_l1=rows * _candidates(query).grid.upper,
        )


def _candidates(query: Query) -> Candidates:
    given = query.candidates
    if given is None or given.grid.lower != 0:
        raise ValueError("candidates have scores from 0 on")
    return given
