"""The facts of counts planned together as values: what is released, and how figures are made of it.

As in ``model.report_model``, fields have the names and the order of the keys of report.json. With
these the law of all sums of figures can be computed: every released integer has independent noise
of its step's law; only those of one cell, where it is "cube", have theirs together. What a term
means is said by ``model.strategies.Term``.
"""

from __future__ import annotations

from typing import Annotated

from dprelease.reports.model.record_model import Fact, Number, extend_schema


class StrategyGroup(Fact, frozen=True, kw_only=True):
    """What cells are made by: a column, and all its labels, a last one for other records too."""

    column: str
    labels: tuple[str, ...]


class StrategyAxis(Fact, frozen=True, kw_only=True):
    """How labels of an axis are mixed: "each", "centred", "running" or "basis"."""

    kind: Annotated[str, extend_schema(enum=["each", "centred", "running", "basis"])]
    entries: tuple[tuple[int, ...], ...] = ()


class StrategyStep(Fact, frozen=True, kw_only=True):
    """What is released at once.

    ``groups`` are places in those of the strategy, each with one of ``axes``. ``rows`` says what
    the integers of a cell are. ``parameter`` of the noise is a scale, or a Gaussian's variance.
    """

    name: str
    where: str | None
    groups: tuple[int, ...]
    axes: tuple[StrategyAxis, ...]
    rows: tuple[str, ...]
    family: Annotated[str, extend_schema(enum=["none", "laplace", "gaussian", "cube"])]
    parameter: Annotated[str, extend_schema(pattern="^[0-9]+(/[0-9]+)?$")]
    epsilon: Number
    delta: Number
    rho: Number | None


class StrategyTerm(Fact, frozen=True, kw_only=True):
    """What a step adds to a figure; ``groups`` are places in those of the step.

    ``part``: of a quotient, such as a mean, what it is added to: the share above the lower end (0)
    or below the upper end (1), in steps of the column; their sum is in the denominator.
    """

    step: str
    row: int
    factor: Annotated[str, extend_schema(pattern="^-?[0-9]+(/[0-9]+)?$")]
    groups: tuple[int, ...]
    part: int = 0


class CombinedQuery(Fact, frozen=True, kw_only=True):
    """A query whose figures are combined; standard deviations of their noise, and alone.

    Of a quotient ``share`` has the lowest and the highest value, and ``record`` is what one step of
    its parts is of a record: so much of both parts together is the number behind it.
    """

    name: str
    deviation: Number
    alone: Number
    decimals: int
    terms: tuple[StrategyTerm, ...]
    share: tuple[str, ...] = ()
    record: str = ""

    @property
    def is_quotient(self) -> bool:
        """True if its figures are quotients of sums, not sums of terms."""
        return any(term.part for term in self.terms)

    @property
    def saving(self) -> int:
        """How many percent less the deviation is than alone, rounded down."""
        return compute_saving(self.deviation, self.alone)


class StrategyFacts(Fact, frozen=True, kw_only=True):
    """Queries planned together; losses are those of all their steps."""

    explained: tuple[str, ...]
    epsilon: Number
    delta: Number
    rho: Number | None
    groups: Annotated[
        tuple[StrategyGroup, ...],
        extend_schema(
            "What cells are made by. A last label may be for records in no published group."
        ),
    ]
    steps: Annotated[
        tuple[StrategyStep, ...],
        extend_schema(
            "What is released: groups are places in those of the strategy, rows say what "
            "the integers of a cell are, parameter is a scale or a Gaussian's variance."
        ),
    ]
    queries: Annotated[
        tuple[CombinedQuery, ...],
        extend_schema(
            "Standard deviations of a figure's noise, planned together and alone, and "
            "the terms that add up to it: factor times the integers at a row of a step. "
            "Along each centred axis of n labels these are first replaced by n times "
            "each less the sum of all. groups are places in those of the step: cells "
            "with the figure's labels there are added up."
        ),
    ]


class LinearFigure(Fact, frozen=True, kw_only=True):
    """A published column of a query whose figures are factors times integers of one step.

    ``parameter`` of the noise is a scale, or a Gaussian's variance. The cells over ``merged`` are
    added up. Of a share of two sums ``share`` has the lowest and the highest value, and this
    column is the number of what is behind it; so it is where a mean is read from the three sums of
    a variance. All columns of one ``fitted`` are one number: the sum of what is stated of each step
    times its ``weight``.
    """

    column: str
    step: str
    rows: tuple[int, ...]
    factors: tuple[str, ...]
    family: str
    parameter: str
    stairs: tuple[int, ...] = ()
    merged: tuple[StrategyGroup, ...] = ()
    share: tuple[str, ...] = ()
    fitted: Annotated[
        str,
        extend_schema(
            "Columns with the same name here are one number: the sum of what is stated "
            "of each step times its weight."
        ),
    ] = ""
    weight: str = ""


class ObservedCounts(Fact, frozen=True, kw_only=True):
    """Noisy numbers that tables were made to agree by: integers of a step, or a query's figures.

    ``axes`` are those of the groups of the step, null where it is added up over one, or of the
    figures. Along a ``hidden`` axis they have a last label more, which no table has. Along a
    ``centred`` one of n labels, each is n times its cell less the sum of all n.
    """

    step: str = ""
    query: str = ""
    axes: tuple[int | None, ...]
    hidden: tuple[int, ...] = ()
    centred: tuple[int, ...] = ()


class AgreedPart(Fact, frozen=True, kw_only=True):
    """How numbers are weighed into a part of tables: pairs of a place in ``observed`` and a weight.

    The part is the table by ``axes``. Weights are in proportion.
    """

    axes: tuple[int, ...]
    weights: tuple[tuple[int, int], ...]


class AgreedTable(Fact, frozen=True, kw_only=True):
    """The axes of a query's figures, in the order of its groups."""

    query: str
    axes: tuple[int, ...]


class Agreement(Fact, frozen=True, kw_only=True):
    """How the figures of several tables were made to agree, before they were moved further.

    ``sizes`` are the numbers of labels of the axes that tables have.
    """

    sizes: tuple[int, ...]
    tables: tuple[AgreedTable, ...]
    observed: tuple[ObservedCounts, ...]
    parts: tuple[AgreedPart, ...]


def compute_saving(deviation: Number, alone: Number) -> int:
    """Compute how much smaller a standard deviation is than ``alone``.

    Returns:
        The saving in percent, rounded down; 0 if there is none.
    """
    return int(100 * (1 - deviation / alone)) if alone > deviation else 0
