"""Quantiles of a bounded column by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from dprelease.model import (
    AxisMatrix,
    Form,
    OutputColumn,
    Query,
    Sensitivity,
    Step,
)
from dprelease.model.sentences import NumberText, Sentence, Text, sentence
from dprelease.postprocess.intervals.fixed_point import (
    count_decimals,
    to_fixed_point,
    write_decimal,
)
from dprelease.postprocess.intervals.number_text import (
    list_numbers,
    number,
    write_percent,
)
from dprelease.statistics.shared.spec_keys import LISTS, ColumnUse, Details, Q, QueryReader
from dprelease.statistics.shared.statistic import (
    BY_CHOICE,
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Spell,
    Statistic,
    build_quantity,
    build_weight,
    count_cells,
    find_largest_weight,
    list_quantile_endings,
    weight_step,
)

PARTS = ("", "_rank_moe", "_flag")
OF_VALUES = SpecKeys(column=ColumnUse.NUMBERS, may=LISTS, mechanisms=BY_CHOICE)
FEW_VALUES = 100
"""A grid or list with fewer values is coarse: many records share a value."""

OF_RANKS = "statistics.quantile.rank_moe"
OF_WEIGHT = "statistics.quantile.rank_moe_weighted"
OF_SEVERAL = "statistics.quantile.of_several"
MULTIPLE, LISTED = "statistics.quantile.multiple", "statistics.quantile.listed"
"""Ids of sentences on the possible values: each value moves to the nearest of them."""


class Quantile(Statistic):
    """Values of the column's grid that have the wanted shares of the records below them."""

    name = "quantile"
    word = "spec_words.statistic.quantile"
    definition = "statistics.quantile.definition"
    what = "statistics.quantile.what"
    what_weighted = "statistics.quantile.what_weighted"
    suffixes = PARTS
    in_ranks = True
    fixed_quantile: Fraction | None = None
    """The quantile that the statistic releases; None if the query names its quantiles."""
    remark = ""
    keys = OF_VALUES._replace(needs=(Q,))
    processing = "statistics.quantile.processing"
    reading = "statistics.quantile.reading"
    hazard = Hazard(
        4,
        Sentence("statistics.quantile.hazard.title"),
        Sentence("statistics.quantile.hazard.note"),
    )

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the quantiles and the values that they may take."""
        # A list of values takes the place of the grid.
        points, listed = None, any(spec.read_value(key) is not None for key in LISTS)
        if listed and spec.column is not None and spec.column.grid is not None:
            points = spec.read_points(spec.column, spec.column.grid)
            if points is None:
                return None
        fixed = self.fixed_quantile
        quantiles = spec.read_value(Q) if fixed is None else (fixed,)
        return None if quantiles is None else Details(quantiles, points)

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define the shares below the values, and the values that are possible."""
        if query.column is None or query.column.grid is None:
            raise ValueError("a quantile is of a column with bounds")
        column, step = query.column.name, query.column.grid.step
        defined = (
            sentence(self.definition, column=column, share=list_numbers(query.quantiles))
            if len(query.quantiles) == 1
            else sentence(
                "statistics.quantile.definitions",
                column=column,
                shares=list_numbers(query.quantiles),
            )
        )
        if query.points is None:
            return (defined,)
        values = list_numbers([point * step for point in query.points])
        return (defined, sentence("statistics.quantile.points", values=values))

    def iter_hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Add the hazards of coarse grids and of ends."""
        yield from super().iter_hazards(step, interval)
        name = step.query.name
        if step.points and len(step.query.points or range(step.points.grid.width)) < FEW_VALUES:
            is_counted = step.form is Form.NUMBERS
            yield Hazard(
                5,
                Sentence("statistics.quantile.coarse_grid.title"),
                Sentence("statistics.quantile.coarse_grid.counted")
                if is_counted
                else Sentence("statistics.quantile.coarse_grid.note"),
                name,
            )
        if (needed := self.find_meaningful_count(step, interval)) is not None:
            yield Hazard(
                6,
                Sentence("statistics.quantile.ends.title"),
                Sentence("statistics.quantile.ends.note"),
                sentence("statistics.quantile.ends.name", name=name, needed=needed),
            )

    def explain_step(self, step: Step) -> Text:
        """Explain how quantiles are read from a tree of counts, if they are."""
        if step.form is not Form.NUMBERS:
            return super().explain_step(step)
        return sentence("statistics.quantile.from_tree", values=step.sizes[-1])

    def list_suffixes(self, query: Query) -> tuple[str, ...]:
        """List the columns of each quantile."""
        return tuple(ending + part for ending in list_endings(query) for part in PARTS)

    def define_release(self, query: Query) -> Released:
        """Define a grid integer for each cell and quantile, found in the cell's sorted values."""
        column_quantity, several = build_quantity(query.column), len(query.quantiles)
        units, weight = (column_quantity.grid.step,) * several, build_weight(query)
        return Released(
            (), ((),) * several, units, Form.QUANTILES, column_quantity, survey_weight=weight
        )

    def define_alternatives(self, query: Query) -> tuple[Released, ...]:
        """Define a tree of counts of all values, for many quantiles."""
        # Imported here for start-up: to load a spec needs no mechanism.
        from dprelease.statistics.shared.tree_quantiles import define_tree

        tree = define_tree(query, build_quantity(query.column))
        return () if tree is None else (tree,)

    def spread(self, query: Query, axes: Sequence[AxisMatrix]) -> Fraction:
        """Compute the mean variance of ranks, so that a tree can be compared with selections."""
        from dprelease.statistics.shared import tree_quantiles

        if axes:
            values = build_quantity(query.column).grid.width + 1
            return tree_quantiles.compute_tree_spread(query, values, axes[-1])
        if not self.define_alternatives(query):
            return super().spread(query, axes)
        return tree_quantiles.compute_selected_spread(query.quantiles)

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the number of one unit's rows in all cells together (``l1``)."""
        # The scheme determines what a row costs that comes, goes or is replaced. A weighted row is
        # as many rows as its weight has steps: see ``survey_weights``.
        rows = neighbours.contribution.limit_cells(count_cells(query)).rows
        noun, weight = neighbours.noun, build_weight(query)
        text = sentence("sensitivity.values.rows_of_unit", unit=sentence(noun), rows=rows)
        if not neighbours.people:
            text = sentence("sensitivity.values.single")
        if weight is not None:
            text = sentence(
                "sensitivity.values.weighted",
                rows=text,
                steps=weight.grid.upper,
                step=NumberText(write_decimal(weight.grid.step)),
            )
            rows *= weight.grid.upper
        return Sensitivity(rows, rows**2, rows, (), text)

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish each quantile and its rank error."""
        published: list[OutputColumn] = []
        if step.form is Form.NUMBERS:
            from dprelease.statistics.shared.tree_quantiles import find_quantiles

            noisy = find_quantiles(step, noisy[0])
        for at, ending in enumerate(list_endings(step.query)):
            published.extend(self._build_columns(step, noisy[at], interval, at, ending))
        return published

    def _build_columns(
        self, step: Step, integers: Sequence[int], interval: Fraction, at: int, ending: str
    ) -> list[OutputColumn]:
        query, unit = step.query, build_quantity(step.query.column).grid.step
        name, places, cells = query.name + ending, count_decimals(unit), len(integers)
        factor = to_fixed_point(unit, places)
        kind = "number" if places else "integer"
        q, ranks = query.quantiles[at], _bound_ranks(step, interval, at)
        of_ranks = count_decimals(weight_step(query))
        subject, of_error = self.what, OF_RANKS
        is_plain = len(query.quantiles) == 1 or step.form is Form.NUMBERS
        if query.survey_weight is not None:
            subject, of_error = self.what_weighted, OF_WEIGHT
        claim = sentence(
            of_error,
            interval=write_percent(interval),
            name=name,
            possible=sentence(LISTED) if query.points else sentence(MULTIPLE),
        )
        return [
            OutputColumn(
                name,
                kind,
                [factor * k for k in integers],
                self._add_remark(sentence(subject, q=NumberText(write_decimal(q)))),
                places,
                query.name,
            ),
            OutputColumn(
                f"{name}_rank_moe",
                "number" if of_ranks else "integer",
                [to_fixed_point(ranks, of_ranks)] * cells,
                claim if is_plain else sentence(OF_SEVERAL, claim=claim),
                of_ranks,
                query.name,
            ),
            OutputColumn(
                f"{name}_flag",
                "text",
                [None] * cells,
                sentence("statistics.quantile.no_count", name=name),
                0,
                query.name,
            ),
        ]

    def find_meaningful_count(self, step: Step, interval: Fraction) -> int | None:
        """Find the number of values from which a minimum or maximum is near the end at all."""
        if not self.end:
            return None
        # A share s of n values lies beyond the quantile that stands for the end, s n ranks. With a
        # rank error r above s n, that is for n < r/s, the figure may lie beyond all values.
        q = step.query.quantiles[0]
        return ceil(_bound_ranks(step, interval, 0) / min(q, 1 - q))

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the rank error; of several quantiles the largest."""
        ranks = bound_rank_error(step, interval)
        if step.query.survey_weight is not None:
            size = number(ranks, up=True)
            return self._add_remark(sentence("statistics.quantile.within_size", size=size))
        return self._add_remark(sentence("statistics.quantile.within_ranks", ranks=int(ranks)))

    def _add_remark(self, text: Sentence) -> Sentence:
        """Add the remark of a minimum or maximum."""
        if not self.remark:
            return text
        return sentence("words.remark", text=text, remark=sentence(self.remark))


def bound_rank_error(step: Step, interval: Fraction) -> Fraction:
    """Bound the rank error of the quantiles of a step; of several the largest."""
    return max(_bound_ranks(step, interval, at) for at in range(len(step.query.quantiles)))


def _bound_ranks(step: Step, interval: Fraction, at: int) -> Fraction:
    """Bound the rank error of a quantile; a weighted record takes as many ranks as its weight."""
    # Imported here for start-up: to load a spec needs no mechanism.
    from dprelease.mechanisms.quantile_error import rank_halfwidth
    from dprelease.statistics.shared.tree_quantiles import bound_ranks, get_reader

    if (reader := get_reader(step)) is not None:
        return Fraction(bound_ranks(reader, step.noise, step.query.quantiles[at], 1 - interval))
    if step.scheme is None:
        raise ValueError("quantiles are searched by a scheme, or read from a tree")
    grid, points = build_quantity(step.query.column).grid, step.query.points
    lower, upper = (grid.lower, grid.upper) if points is None else (0, len(points) - 1)
    row_weight = find_largest_weight(step.query)
    ranks = rank_halfwidth(step.scheme, at, lower, upper, 1 - interval, largest=row_weight)
    return ranks * weight_step(step.query)


def list_endings(query: Query) -> tuple[str, ...]:
    """List the suffixes of the query's columns.

    None for a single quantile; of several, such as _q12_5 for the quantile 0.125.
    """
    if len(query.quantiles) == 1:
        return ("",)
    return list_quantile_endings(query)
