"""The best of some public candidates by cell, by a score that every record adds to."""

from __future__ import annotations

from dataclasses import replace

from dprelease.model import Adjacency, Candidates, Form, Query, Sensitivity
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.base import BY_CHOICE, LISTS, Neighbours, Released, SpecKeys
from dprelease.statistics.shared.choices import Choices
from dprelease.statistics.shared.sensitivity import cells_of, may_be_outside, moved


class Best(Choices):
    """The candidate with the largest sum of scores over a cell's records."""

    name = "best"
    what = "candidate with the largest score"
    unit_noun = "points of the score"
    keys = SpecKeys(
        needs=("candidates", "score", "score_upper"),
        may=(*LISTS, "score_step"),
        mechanisms=BY_CHOICE,
    )
    processing = "Scores above `score_upper` count as that, scores below 0 and null ones as 0."

    def candidates(self, query: Query) -> tuple[str, ...]:
        """The candidates of the query."""
        return _candidates(query).texts

    def released(self, query: Query) -> Released:
        """No measures: the engine is asked for the sums of scores."""
        return Released((), ((),), (_candidates(query).grid.step,), Form.CHOICE)

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of the scores: of all of them, and of those a choice depends on.

        A row adds between 0 and the score's upper bound to each candidate, all in one direction.
        For ``choice_l1`` see ``AxisChoice``: rows times that bound, in ranges of changes.
        """
        given = _candidates(query)
        grid, number = given.grid, len(given.texts)
        row = Scalar(grid.lower, grid.upper, "score")
        one = moved(query, neighbours, row, outside=may_be_outside(query, neighbours))
        rows = neighbours.contribution.within(cells_of(query)).rows
        return replace(
            one,
            l1=number * one.l1,
            l2_squared=number * one.l2_squared,
            coordinates=number * one.coordinates,
            shapes=(),
            derivation=f"{one.derivation}, for each candidate",
            monotone=neighbours.adjacency is Adjacency.ADD_REMOVE,
            choice_l1=rows * grid.upper,
        )


def _candidates(query: Query) -> Candidates:
    given = query.candidates
    if given is None or given.grid.lower != 0:
        raise ValueError("candidates have scores from 0 on")
    return given
