"""What a spec asks: groups and queries."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model.columns import Column, ColumnType, Expression, Grid

HIDDEN = "(in no group)"
"""A label that is never published."""


class Group(Struct, frozen=True):
    """One grouping column of a query: it maps each record to a label, or to none.

    A ``private`` group has no public labels: each value is its own label (canonical text, of a text
    one line, see ``sources.shared.key_normalization``), nulls have ``null_label`` or belong to no
    cell, and which labels appear is for the query's ``KeySelection`` to decide. Of any other group
    exactly one of ``keys`` (declared values) and ``edges`` (bins: half-open, the last one closed)
    is set. ``labels`` are the published labels in order: the keys or bins, then ``other`` unless
    it is one of them.
    Undeclared values go to ``other`` if set, else the record belongs to no cell; nulls go to
    ``null_label`` if set (one of ``labels``), else to no cell. A completed group may have a last
    label that stands for nulls, or for them and other values.
    """

    column: str
    type: ColumnType
    labels: tuple[str, ...]
    keys: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None
    other: str | None = None
    null_label: str | None = None
    private: bool = False

    @property
    def total(self) -> bool:
        """True if every record has a label. A boolean value is true, false or null."""
        booleans = self.type is ColumnType.BOOLEAN and set(self.keys or ()) == {"true", "false"}
        return self.null_label is not None and (self.other is not None or booleans)

    def complete(self) -> Group:
        """Add a last label for records that have none.

        Returns:
            The completed group; the group itself if it is private or every record has a label.
        """
        if self.total or self.private:
            return self
        # A label of the data may have the hidden one's name: it gets a name of its own.
        hidden = HIDDEN
        while hidden in self.labels:
            hidden += "'"
        return replace(
            self,
            labels=(*self.labels, hidden),
            other=hidden if self.other is None else self.other,
            null_label=hidden if self.null_label is None else self.null_label,
        )


class KeySelection(Struct, frozen=True):
    """``partition_selection``: the delta of revealing private keys, and the selecting epsilon."""

    delta: Fraction
    epsilon: Fraction | None = None


class Part(Struct, frozen=True):
    """The numerator or denominator of a ratio: a sum of ``column``, or without it a count."""

    column: Column | None = None
    where: Expression | None = None


class Candidates(Struct, frozen=True):
    """The public candidates of a ``best`` query, and what one record adds to the score of each.

    ``score`` reads columns and ``candidate``; on the ``grid``, whose lower bound is 0, it is
    clamped to score_upper. A score that is null or NaN counts 0.
    """

    texts: tuple[str, ...]
    type: ColumnType
    score: Expression
    grid: Grid


class CurveAxis(Struct, frozen=True):
    """A column of a density, in its unit: what its bins stand for, and where the curve is known.

    ``centres`` has the value of each bin, the labels of the query's group of that column.
    ``bandwidth`` is the standard deviation of the kernel. Releases of version 0.2 are not
    ``smooth``: a record counts in one wide bin, and intervals are of noise alone.
    """

    column: Column
    centres: tuple[Fraction, ...]
    bandwidth: Fraction
    points: tuple[Fraction, ...]
    smooth: bool = False

    @property
    def step(self) -> Fraction:
        """Distance of neighbouring values."""
        if self.column.grid is None:
            raise ValueError("a density is of columns with bounds")
        return self.column.grid.step

    @property
    def values(self) -> tuple[int, ...]:
        """Number of values that count in each bin, around its centre."""
        numbers, first = [], self.lower / self.step
        for centre in self.centres:
            last = 2 * centre / self.step - first
            numbers.append(int(last - first + 1))
            first = last + 1
        return tuple(numbers)

    @property
    def lower(self) -> Fraction:
        """Lower bound of the column."""
        return self._bound(upper=False)

    @property
    def upper(self) -> Fraction:
        """Upper bound of the column."""
        return self._bound(upper=True)

    def _bound(self, *, upper: bool) -> Fraction:
        grid = self.column.grid
        if grid is None:
            raise ValueError("a density is of columns with bounds")
        return (grid.upper if upper else grid.lower) * grid.step


class Accuracy(Struct, frozen=True):
    """An accuracy target: the noise is ``within`` so much with probability ``confidence``.

    In the unit of what is published; in ranks for quantiles. ``records``: for figures whose noise
    depends on how many records are behind them, at how many the target holds.
    """

    within: Fraction
    confidence: Fraction
    records: int | None = None


class ClipNorm(StrEnum):
    """A norm of a person's totals: of their absolute values the sum, or the root of the squares."""

    L1 = "l1"
    L2 = "l2"


MOST_CLIPPED = 1 << 50
"""The largest bound, and the most that one person's total in one cell counts, in grid steps."""


class Clip(Struct, frozen=True):
    """``bounding`` of a query: all rows of a person count, and their totals are scaled.

    A person's totals v, one for each cell of the query, are integers on the grid (numbers of rows
    for counts). Each is first held within ``MOST_CLIPPED`` of 0. If the norm of all of them
    exceeds ``bound`` C, each becomes the integer next to C v / norm on the side of 0, where the L2
    norm is the root of the sum of squares, rounded up. So the norm of what remains is at most C:
    sum |C v / norm| <= C, and sum (C v / root)^2 <= C^2.
    """

    norm: ClipNorm
    bound: int


def name_column(query: str) -> str:
    """Name the column that a query publishes; the tables of one query share it."""
    # Tables of one query are called ``name:table``; no name in a spec holds a colon.
    return query.partition(":")[0]


class Finish(Struct, frozen=True):
    """Post-processing of noisy figures before they are published, at no privacy cost.

    In this order: figures of the same records agree (``consistent``), are moved to 0 or more and to
    whole numbers that add up, are shown only where ``publish_if`` holds (over figures of the row)
    or the figure is at least ``hide_below``, and are rounded to multiples of ``round_to``.
    ``flag_unreliable_at``: the share of a figure beyond which its half-width has it flagged.
    """

    consistent: bool = False
    nonnegative: bool = False
    integer: bool = False
    publish_if: Expression | None = None
    hide_below: Fraction | None = None
    round_to: Fraction | None = None
    flag_unreliable_at: Fraction = Fraction(3, 10)

    @property
    def is_adjusted(self) -> bool:
        """True if figures are moved: to agree, to 0 or more, or to whole numbers."""
        return self.consistent or self.nonnegative or self.integer


AS_RELEASED = Finish()


class Query(Struct, frozen=True):
    """One ``[[query]]``, or one of its tables: then its name is that of both, ``name:table``.

    Budget: ``epsilon`` (and ``delta``), ``rho``, what ``accuracy`` takes, or else by ``weight``.
    """

    name: str
    statistic: str
    table: str
    groups: tuple[Group, ...] = ()
    column: Column | None = None
    where: Expression | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    weight: Fraction = Fraction(1)
    mechanism: str = "auto"  # "auto" | "laplace" | "gaussian" | "exponential"
    number: int = 0  # position in the spec, from 0
    quantiles: tuple[Fraction, ...] = ()  # rising, each inside (0, 1)
    points: tuple[int, ...] | None = None  # grid integers a quantile may take; None: all
    picks: int = 1  # how many values top_k names
    axis: Group | None = None  # the values among which mode and top_k choose
    candidates: Candidates | None = None
    numerator: Part | None = None
    denominator: Part | None = None
    among: Expression | None = None  # of a share: only records for which it is true; None: all
    key_selection: KeySelection | None = None
    accuracy: Accuracy | None = None
    curve: tuple[CurveAxis, ...] = ()  # of a density: a column each, the last groups are theirs
    implied: bool = False  # not in the spec: it selects private keys, or is of a strategy
    finish: Finish = AS_RELEASED
    max_unreadable: Fraction | None = None  # of a quality: the share with which a run goes on
    survey_weight: Column | None = None  # how often each record counts; None: once
    own: Struct | None = None  # values of the statistic's own keys that have no field above
    clip: Clip | None = None  # what a person's totals are scaled to; None: rows are limited

    @property
    def column_name(self) -> str:
        """Name of its published column; see ``name_column``."""
        return name_column(self.name)

    @property
    def is_one_of_several(self) -> bool:
        """True for one table of a query that has several."""
        return self.name != self.column_name

    @property
    def groups_and_axis(self) -> tuple[Group, ...]:
        """Its groups, and its axis if it has one."""
        return self.groups if self.axis is None else (*self.groups, self.axis)

    @property
    def cells(self) -> int:
        """Number of cells of the cross product of the groups; 1 without groups.

        Raises:
            ValueError: A group is private: its keys are not known before they are selected.
        """
        if self.private:
            raise ValueError("the number of private keys is not known in advance")
        return prod(len(group.labels) for group in self.groups)

    @property
    def private(self) -> bool:
        """True if a group has no public keys."""
        return any(group.private for group in self.groups)
