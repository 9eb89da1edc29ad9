"""Statistics that name values: mode, top_k, best.

Candidates are public, and every one has an integer score in each cell. Noisy scores choose the
names, and only names are published. ``mechanisms.exponential`` bounds how far the score of a chosen
name may fall short of the best, whatever the scores are.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from dprelease.model import (
    Adjacency,
    Form,
    Group,
    Measure,
    MeasureKind,
    NoiseFamily,
    OutputColumn,
    Query,
    Sensitivity,
    Step,
)
from dprelease.model.outputs import OK, UNRELIABLE
from dprelease.model.sentences import Sentence, Text, sentence
from dprelease.postprocess.intervals.fixed_point import count_decimals, to_fixed_point
from dprelease.postprocess.intervals.number_text import number, write_percent
from dprelease.privacy.sensitivity import COUNT, Contribution, Row
from dprelease.statistics.shared.spec_keys import ColumnUse, Details, QueryReader
from dprelease.statistics.shared.statistic import (
    BY_CHOICE,
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Statistic,
    compute_noise_halfwidth,
    count_cells,
)

Positions = list[list[int | None]]


class Choices(Statistic):
    """Names chosen among public candidates."""

    what = "words.value"
    names = True
    unit_noun = "words.records"
    keys = SpecKeys(column=ColumnUse.CHOICES, mechanisms=BY_CHOICE)
    reading = "statistics.choice.reading"
    hazard = Hazard(
        1,
        Sentence("statistics.choice.hazard.title"),
        Sentence("statistics.choice.hazard.note"),
    )

    def list_candidates(self, query: Query) -> tuple[str, ...]:
        """List the candidates' names by position."""
        raise TypeError("a choice has candidates")

    def list_endings(self, query: Query) -> tuple[str, ...]:
        """List the suffixes of the columns that hold names."""
        return ("",)

    def list_suffixes(self, query: Query) -> tuple[str, ...]:
        """List a suffix for each name, then those of the half-width and the flag."""
        return (*self.list_endings(query), "_noise_moe", "_flag")

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the names, and how far they may fall short of the best ones."""
        name, candidates = step.query.name, self.list_candidates(step.query)
        chosen = _find_positions(step, noisy, len(candidates))
        cells = len(chosen[0])
        places = count_decimals(step.unit[0])
        short = to_fixed_point(self.compute_shortfall(step, interval), places)
        return [
            *(
                OutputColumn(
                    name + ending,
                    "text",
                    [None if at is None else candidates[at] for at in positions],
                    self._describe_rank(step, rank),
                    0,
                    name,
                )
                for rank, (ending, positions) in enumerate(
                    zip(self.list_endings(step.query), chosen, strict=True), 1
                )
            ),
            OutputColumn(
                f"{name}_noise_moe",
                "number" if places else "integer",
                [short] * cells,
                sentence(
                    "statistics.choice.noise_moe",
                    interval=write_percent(interval),
                    name=name,
                    points=sentence(self.unit_noun),
                ),
                places,
                name,
            ),
            OutputColumn(
                f"{name}_flag",
                "text",
                _judge_names(step, noisy, chosen, self.compute_shortfall(step, interval)),
                sentence(
                    "statistics.choice.flag",
                    name=name,
                    share=write_percent(step.query.finish.flag_unreliable_at),
                ),
                0,
                name,
            ),
        ]

    def _describe_rank(self, step: Step, rank: int) -> Sentence:
        choice = sentence(self.what)
        if rank == 1:
            return sentence("statistics.choice.what", choice=choice)
        return sentence("statistics.choice.number_of", rank=rank, choice=choice)

    def compute_shortfall(self, step: Step, interval: Fraction) -> Fraction:
        """Bound how far the score of a chosen name lies below that of its true rank, in values."""
        # Imported here for start-up: to load a spec needs no mechanism.
        from dprelease.mechanisms.exponential import find_shortfall

        candidates, alpha = len(self.list_candidates(step.query)), 1 - interval
        if step.form is Form.NUMBERS:
            return step.unit[0] * _compute_count_shortfall(step, candidates, alpha)
        flips, rate = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP, step.noise.parameter
        picks = step.query.picks
        return step.unit[0] * find_shortfall(flips, candidates, picks, rate, alpha)

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the shortfall."""
        short = number(self.compute_shortfall(step, interval), up=True)
        below = (
            sentence("statistics.choice.best")
            if step.query.picks == 1
            else sentence("statistics.choice.true_of_rank")
        )
        return sentence(
            "statistics.choice.error",
            short=short,
            points=sentence(self.unit_noun),
            best=below,
            candidates=len(self.list_candidates(step.query)),
            interval=write_percent(interval),
        )

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Return the shortfall, which is the same for every cell."""
        return self.compute_shortfall(step, interval)


def _compute_count_shortfall(step: Step, candidates: int, alpha: Fraction) -> int:
    """Bound how far the largest noisy counts fall short of the true counts of their ranks."""
    best = min(step.query.picks, candidates)
    # Let the i-th chosen fall short of the i-th best count by more than h. Only i - 1 noisy counts
    # are above its own, so one of the i best is not: their noises are more than h apart, in a given
    # direction, which has half the chance of their being as far apart in either. There are
    # C - 1, C - 2, ... pairs of one of the best and one with a smaller count; alpha is shared out
    # among them.
    pairs = best * candidates - best * (best + 1) // 2
    return compute_noise_halfwidth(step.noise, 2 * alpha / pairs, 2) if pairs else 0


def _find_positions(step: Step, noisy: Noisy, candidates: int) -> Positions:
    """Find the chosen positions: [rank][cell]."""
    picks = step.query.picks
    if step.form is Form.CHOICE:
        positions_by_rank: Positions = [list(positions) for positions in noisy]
        # With fewer candidates than picks the last ranks have no name.
        missing: Positions = [
            [None] * len(positions_by_rank[0]) for _ in range(picks - len(positions_by_rank))
        ]
        return positions_by_rank + missing
    from dprelease.mechanisms.permute_and_flip import find_noisy_top  # for start-up, as above

    tops: Positions = []
    for start in range(0, len(noisy[0]), candidates):
        best: list[int | None] = list(find_noisy_top(noisy[0][start : start + candidates], picks))
        tops.append(best + [None] * (picks - len(best)))
    return [[top[rank] for top in tops] for rank in range(picks)]


def _judge_names(step: Step, noisy: Noisy, chosen: Positions, short: Fraction) -> list[str | None]:
    """Flag names by the least chosen count, where noisy counts were released."""
    cells = len(chosen[0])
    if step.form is Form.CHOICE:
        return [None] * cells
    size = len(noisy[0]) // cells if cells else 0
    flags: list[str | None] = []
    share = step.query.finish.flag_unreliable_at
    for cell in range(cells):
        counts = [
            noisy[0][cell * size + at]
            for positions in chosen
            if (at := positions[cell]) is not None
        ]
        # Names are as reliable as the one with the least count.
        lowest = step.unit[0] * min(counts, default=0)
        flags.append(UNRELIABLE if short > share * abs(lowest) else OK)
    return flags


class AxisChoice(Choices):
    """A choice among the labels of the query's axis by the number of records with each."""

    def read_details(self, spec: QueryReader) -> Details | None:
        """Take the group of the column as the axis."""
        return Details(axis=spec.axis)

    def list_candidates(self, query: Query) -> tuple[str, ...]:
        """List the labels of the axis."""
        return _get_axis(query).labels

    def define_release(self, query: Query) -> Released:
        """Define the score of each label: the number of records of the cell with it."""
        return Released((Measure(MeasureKind.RECORDS, None, query.where),), form=Form.CHOICE)

    def describe_row(self, query: Query) -> Row:
        """Return a count: each row adds 1 to its label."""
        return COUNT

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all counts, and of those that a choice depends on (``choice_l1``)."""
        # A unit's rows in a cell may have any labels: it is in up to as many cells of the table by
        # groups and axis as it has rows, with no more rows in one of them than in a cell.
        limits = neighbours.contribution.limit_cells(count_cells(query))
        wide = Contribution(limits.rows, limits.rows, limits.per_group)
        fine = replace(query, groups=(*query.groups, _get_axis(query)))
        counts = super().bound_sensitivity(fine, replace(neighbours, contribution=wide))
        return replace(
            counts,
            # A choice in one cell costs in proportion to the range of its changes, the largest less
            # the smallest, and cells add up. Rows that come move the counts of a cell by between 0
            # and their number: ranges add up to at most the unit's rows, attained if all have one
            # label. Of replaced rows those that leave add as much as those that enter, so the
            # ranges are at most twice that, which is what choice_l1 means if not monotone.
            monotone=neighbours.adjacency is Adjacency.ADD_REMOVE,
            choice_l1=limits.rows if counts.l1 else 0,
        )


def _get_axis(query: Query) -> Group:
    if query.axis is None or query.axis.private:
        raise ValueError("a value is chosen among public ones")
    return query.axis
