"""Best of some public candidates by cell, chosen by the sum of the records' scores."""

from __future__ import annotations

from msgspec.structs import replace

from dprelease.model import Adjacency, Candidates, Form, Query, Sensitivity
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.number_text import join_few_names, number
from dprelease.privacy.sensitivity import Scalar
from dprelease.statistics.shared.choices import Choices
from dprelease.statistics.shared.spec_keys import (
    CANDIDATES,
    EXPRESSION,
    LISTS,
    NUMBER,
    Details,
    OwnKey,
    QueryReader,
)
from dprelease.statistics.shared.statistic import (
    BY_CHOICE,
    Neighbours,
    Released,
    SpecKeys,
    Spell,
    count_cells,
)

SCORE = OwnKey(
    "score",
    EXPRESSION,
    "what a record adds to the score of `candidate`, a number; below 0 and null count 0",
    example='write score = "...", which a record adds to the score of `candidate`',
    has_columns=True,
)
SCORE_UPPER = OwnKey(
    "score_upper",
    NUMBER,
    "the most that one record adds; more counts as this",
    example="write the most that one record can add to a score",
)
SCORE_STEP = OwnKey(
    "score_step", NUMBER, "the grid of scores, as `step` of a column", "1, or chosen"
)


class Best(Choices):
    """The candidate with the largest sum of scores over a cell's records."""

    name = "best"
    word = "spec_words.statistic.best"
    definition = "statistics.best.definition"
    what = "statistics.best.what"
    unit_noun = "statistics.best.points"
    keys = SpecKeys(
        needs=(CANDIDATES, SCORE, SCORE_UPPER),
        may=(*LISTS, SCORE_STEP),
        mechanisms=BY_CHOICE,
    )
    processing = "statistics.best.processing"

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the candidates and their score."""
        candidates = spec.read_scored_candidates()
        return None if candidates is None else Details(candidates=candidates)

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define the score, and list the candidates."""
        candidates = _get_candidates(query)
        upper = number(candidates.grid.upper * candidates.grid.step, 12)
        names = join_few_names(list(candidates.texts))
        return (
            sentence(self.definition),
            sentence(
                "statistics.best.scored",
                score=spell(candidates.score),
                upper=upper,
                step=number(candidates.grid.step, 12),
            ),
            sentence("statistics.best.candidates", names=names, n=len(candidates.texts)),
        )

    def list_candidates(self, query: Query) -> tuple[str, ...]:
        """List the candidates of the query."""
        return _get_candidates(query).texts

    def define_release(self, query: Query) -> Released:
        """Define no measures: the engine computes the sums of scores."""
        return Released((), ((),), (_get_candidates(query).grid.step,), Form.CHOICE)

    def describe_row(self, query: Query) -> Scalar:
        """Describe a score from 0 to its upper bound for each candidate, all in one direction."""
        grid = _get_candidates(query).grid
        return Scalar(grid.lower, grid.upper, "statistics.best.score")

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all scores, and of those a choice depends on (``choice_l1``)."""
        pick_sensitivity = super().bound_sensitivity(query, neighbours)
        candidate_count = len(self.list_candidates(query))
        rows = neighbours.contribution.limit_cells(count_cells(query)).rows
        return replace(
            pick_sensitivity,
            l1=candidate_count * pick_sensitivity.l1,
            l2_squared=candidate_count * pick_sensitivity.l2_squared,
            coordinates=candidate_count * pick_sensitivity.coordinates,
            shapes=(),
            derivation=sentence(
                "sensitivity.for_each_candidate", derivation=pick_sensitivity.derivation
            ),
            monotone=neighbours.adjacency is Adjacency.ADD_REMOVE,
            # A choice depends on the range of the changes (see ``AxisChoice``): at most the upper
            # bound for each row.
            choice_l1=rows * _get_candidates(query).grid.upper,
        )


def _get_candidates(query: Query) -> Candidates:
    labels = query.candidates
    if labels is None or labels.grid.lower != 0:
        raise ValueError("candidates have scores from 0 on")
    return labels
