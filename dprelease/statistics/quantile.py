"""Quantiles of a bounded column by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from dprelease.language import say, template
from dprelease.model import Form, OutputColumn, Query, Sensitivity, Step
from dprelease.postprocess.fixed_point import decimal, decimals_of, fixed_point
from dprelease.postprocess.number_text import percent
from dprelease.statistics.base import (
    BY_CHOICE,
    LISTS,
    Hazard,
    Neighbours,
    Noisy,
    Released,
    SpecKeys,
    Statistic,
    cells_of,
    quantile_endings,
    quantity,
)

PARTS = ("", "_rank_moe", "_flag")
OF_VALUES = SpecKeys(column=True, numeric=True, may=LISTS, mechanisms=BY_CHOICE)
FEW_VALUES = 100
"""A grid of fewer values is coarse: many records share one."""

_LISTED = template(", if all values are among the listed ones")


class Quantile(Statistic):
    """Values of the column's grid that leave the wanted shares of the records below them."""

    name = "quantile"
    suffixes = PARTS
    in_ranks = True
    remark = ""
    keys = OF_VALUES._replace(needs=("q",))
    processing = template("Quantiles are values of the column's grid; nulls have no rank.")
    reading = template(
        "Beside a quantile, `_rank_moe` says within how many ranks it is right: if 1,000 values "
        "are put in order, a median is right where number 500 stands. How far a rank is in values "
        "is private. Where the table has a count of the same records, `_flag` is `low_reliability` "
        "if the ranks exceed a tenth of it."
    )
    hazard = Hazard(
        4,
        template("quantiles"),
        template(
            "exact in ranks, not in values: where values are few and far apart, or a group is no "
            "larger than the rank error, a figure can be anywhere between the bounds"
        ),
    )

    def hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Ranks, coarse grids, and ends."""
        yield from super().hazards(step, interval)
        name = step.query.name
        if step.points and step.points.grid.width < FEW_VALUES:
            yield Hazard(
                5,
                say("quantiles of a coarse grid"),
                say(
                    "many records share a value, and a figure is no finer than the step; where one "
                    "value has more than 4,096 records of a group, the rank error of several "
                    "quantiles grows by that number/4,096"
                ),
                name,
            )
        if self.end:
            needed = self.meaningful_from(step, interval)
            yield Hazard(
                6,
                say("minimum and maximum"),
                say(
                    "one record in a hundred lies beyond the quantile that stands for each: a "
                    "group with fewer than a hundred times its rank error of records may show any "
                    "of its values instead, and its figure says nothing of the end"
                ),
                say("{name} (in groups of fewer than {needed:,} values)", name=name, needed=needed),
            )

    def suffixes_of(self, query: Query) -> tuple[str, ...]:
        """The columns of each quantile."""
        return tuple(ending + part for ending in endings(query) for part in PARTS)

    def released(self, query: Query) -> Released:
        """For each cell and quantile a grid integer, found in the cell's values put in order."""
        wanted, number = quantity(query.column), len(query.quantiles)
        units = (wanted.grid.step,) * number
        return Released((), ((),) * number, units, Form.QUANTILES, wanted)

    def sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """State how many rows one unit has, in all cells together (``l1``).

        What a row that comes, goes, or is replaced costs is a matter of the scheme.
        """
        rows = neighbours.contribution.within(cells_of(query)).rows
        noun = neighbours.noun
        text = say(
            "a {noun} has at most {rows:,} rows in all cells together", noun=say(noun), rows=rows
        )
        if not neighbours.people:
            text = say("a record is one value of one cell")
        return Sensitivity(rows, rows**2, rows, (), text)

    def columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish each quantile, and how many ranks it may be off."""
        published: list[OutputColumn] = []
        for at, ending in enumerate(endings(step.query)):
            published.extend(self._columns(step, noisy[at], interval, at, ending))
        return published

    def _columns(
        self, step: Step, integers: Sequence[int], interval: Fraction, at: int, ending: str
    ) -> list[OutputColumn]:
        query, unit = step.query, step.unit[at]
        name, places, cells = query.name + ending, decimals_of(unit), len(integers)
        factor = fixed_point(unit, places)
        kind = "number" if places else "integer"
        q = query.quantiles[at]
        return [
            OutputColumn(
                name,
                kind,
                [factor * k for k in integers],
                say(
                    "value with a share {q} of the clamped values below it, chosen with noise "
                    "among those between the bounds{remark}",
                    q=decimal(q),
                    remark=say(self.remark),
                ),
                places,
                query.name,
            ),
            OutputColumn(
                f"{name}_rank_moe",
                "integer",
                [_ranks(step, interval, at)] * cells,
                say(
                    "with {interval} certainty {name} is no more than so many ranks (values in "
                    "order) away from the true quantile{listed}",
                    interval=percent(interval),
                    name=name,
                    listed=say(_LISTED) if query.points else "",
                ),
                0,
                query.name,
            ),
            OutputColumn(
                f"{name}_flag",
                "text",
                [None] * cells,
                say("empty, as no count of the same records stands beside {name}", name=name),
                0,
                query.name,
            ),
        ]

    def meaningful_from(self, step: Step, interval: Fraction) -> int | None:
        """Give, of a minimum or maximum, the values from which on it is near the end at all.

        A share s of n values lies beyond the quantile that stands for it, s n ranks. Where it
        may be off by more ranks than these, it may lie beyond all values: the rank half-width r
        exceeds s n for n < r/s.
        """
        if not self.end:
            return None
        q = step.query.quantiles[0]
        return ceil(_ranks(step, interval, 0) / min(q, 1 - q))

    def expected_error(self, step: Step, interval: Fraction) -> str:
        """The rank half-width; of several quantiles the largest."""
        ranks = ranks_half(step, interval)
        return say("within {ranks:,} ranks{remark}", ranks=ranks, remark=say(self.remark))


def ranks_half(step: Step, interval: Fraction) -> int:
    """How many ranks the quantiles of a step may be off: of several the most."""
    return max(_ranks(step, interval, at) for at in range(len(step.query.quantiles)))


def _ranks(step: Step, interval: Fraction, at: int) -> int:
    # Imported here for start-up: to load a spec needs no mechanism.
    from dprelease.mechanisms.quantile_error import rank_halfwidth

    if step.scheme is None:
        raise ValueError("quantiles are searched by a scheme")
    grid, points = quantity(step.query.column).grid, step.query.points
    lower, upper = (grid.lower, grid.upper) if points is None else (0, len(points) - 1)
    return rank_halfwidth(step.scheme, at, lower, upper, 1 - interval)


def endings(query: Query) -> tuple[str, ...]:
    """What follows the query's name: nothing for one quantile, _q12_5 for 0.125 of several."""
    if len(query.quantiles) == 1:
        return ("",)
    return quantile_endings(query)
