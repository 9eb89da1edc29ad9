"""The facts of counts planned together as values: what is released, and how figures are made of it.

As in ``model.report_model``, fields have the names and the order of the keys of report.json. With
these the variance and covariance of all sums of figures can be computed: every released integer has
independent noise of its step's law. What a term means is said by ``model.strategies.Term``.
"""

from __future__ import annotations

from dprelease.reports.model.record_model import Fact, Number


class StrategyGroup(Fact, frozen=True, kw_only=True):
    """What cells are made by: a column, and all its labels, a last one for other records too."""

    column: str
    labels: tuple[str, ...]


class StrategyAxis(Fact, frozen=True, kw_only=True):
    """How labels of an axis are mixed: "each", "centred", "running" or "basis"."""

    kind: str
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
    family: str
    parameter: str
    epsilon: Number
    delta: Number
    rho: Number | None


class StrategyTerm(Fact, frozen=True, kw_only=True):
    """What a step adds to a figure; ``groups`` are places in those of the step."""

    step: str
    row: int
    factor: str
    groups: tuple[int, ...]


class CombinedQuery(Fact, frozen=True, kw_only=True):
    """A query whose figures are combined; standard deviations of their noise, and alone."""

    name: str
    deviation: Number
    alone: Number
    decimals: int
    terms: tuple[StrategyTerm, ...]

    @property
    def saved(self) -> int:
        """How many percent less the deviation is than alone, rounded down."""
        return saved(self.deviation, self.alone)


class StrategyFacts(Fact, frozen=True, kw_only=True):
    """Queries planned together; losses are those of all their steps."""

    explained: tuple[str, ...]
    epsilon: Number
    delta: Number
    rho: Number | None
    groups: tuple[StrategyGroup, ...]
    steps: tuple[StrategyStep, ...]
    queries: tuple[CombinedQuery, ...]


class LinearFigure(Fact, frozen=True, kw_only=True):
    """A published column of a query whose figures are factors times integers of one step.

    ``parameter`` of the noise is a scale, or a Gaussian's variance. The cells over ``merged`` are
    added up. Of a share of two sums ``share`` has the lowest and the highest value, and this
    column is the number of what is behind it. All columns of one ``fitted`` are one number: the sum
    of what is stated of each step times its ``weight``.
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
    fitted: str = ""
    weight: str = ""


def saved(deviation: Number, alone: Number) -> int:
    """How many percent less, rounded down."""
    return int(100 * (1 - deviation / alone)) if alone > deviation else 0
