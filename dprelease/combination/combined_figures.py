"""Published figures as linear forms of released integers, from a report and its tables alone.

The noise of a figure is a sum of fixed factors times independent draws, one for each released
integer: ``StrategyTerm`` and ``LinearFigure`` say which. So the noise of any weighted sum of
figures is known too, whatever integers they have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from dprelease.language import use_language
from dprelease.model import Noise, NoiseFamily, OutputColumn, OutputTable
from dprelease.model.queries import name_column
from dprelease.postprocess.intervals.combined_noise import Part, combine_parts
from dprelease.reports.model.report_model import PublishedTable, Query, ReportFacts
from dprelease.reports.model.strategy_model import (
    Agreement,
    CombinedQuery,
    LinearFigure,
    ObservedCounts,
    StrategyFacts,
    StrategyStep,
)
from dprelease.reports.text.shown_names import get_column_title, write_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dprelease.postprocess.finishing.agreement import Counts, Fit

    Cells = NDArray[np.object_]

MOST_INTEGERS = 10**6
"""Figures that so many released integers enter are not combined."""
MOST_AGREED = 10**5
"""Tables that were made to agree by more integers are not combined: it takes too long."""


class Term(NamedTuple):
    """``factor`` times the integers at ``row`` of a step that have a figure's labels.

    These are its labels in the columns ``groups``. Over the others, cells are added up.
    """

    step: str
    row: int
    factor: Fraction
    groups: frozenset[str]


class Released(NamedTuple):
    """A step: the law of its noise, its groups with their sizes, and the centred ones."""

    noise: Noise
    groups: tuple[tuple[str, int], ...]
    centred: frozenset[str] = frozenset()


class Share(NamedTuple):
    """Of a mean or proportion its values at a share of 0 and of 1, and the number behind it.

    ``contrast``: half of what the share has of its own integers less half of what it lacks.
    The share of a cell errs by that and (1/2 - share) times the error of the number.
    """

    low: Fraction
    high: Fraction
    behind: Figures
    contrast: Figures


class Figures(NamedTuple):
    """A published column. ``rows`` are the labels of its cells, ``values`` None where suppressed.

    ``labels`` are what people read of those of each group, as ``group_title`` of the first group's
    name, and ``unit_text`` after a figure; ``report_labels`` are those in the report's language.
    ``raw``: they are from before changes after the noise, and ``published`` after them. ``unit`` is
    that of the last decimal.
    Without ``terms`` figures are no linear form; with them they are multiples of ``unit`` but for
    their noise. ``rounding`` is how far rounding may have moved a published one. With ``agreed``
    they are those that agree with other tables; ``terms`` are of the ones that were released.
    ``ends`` are those of the published intervals, where they have columns.
    """

    table: str
    name: str
    query: Query
    groups: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: Values
    raw: bool
    unit: Fraction
    title: str
    labels: tuple[Mapping[str, str], ...]
    report_labels: tuple[Mapping[str, str], ...]
    group_title: str
    unit_text: str | None
    terms: tuple[Term, ...] | None = None
    rounding: Fraction = Fraction(0)
    share: Share | None = None
    published: Values | None = None
    agreed: Agreed | None = None
    ends: tuple[Values, Values] | None = None

    def restore_published(self) -> Figures:
        """Return the figures as published, after the changes that followed the noise."""
        if self.published is None:
            return self
        share = self.share
        if share is not None:
            share = share._replace(behind=share.behind.restore_published())
        return self._replace(values=self.published, share=share)

    @property
    def is_behind(self) -> bool:
        """Check for a number that is published beside its query's figures, such as a count."""
        return self.name != name_column(self.query.name)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of labels of each group; every combination of labels has a row."""
        return tuple(len({row[place] for row in self.rows}) for place in range(len(self.groups)))


class Agreed(NamedTuple):
    """How figures of a table by ``axes`` were made to agree; ``observed`` are what they are of."""

    fit: Fit
    axes: tuple[int, ...]
    observed: tuple[ObservedCounts, ...]


class Pooled(NamedTuple):
    """The mean or proportion of some cells together."""

    figures: Figures
    places: tuple[int, ...]


Weights = Mapping[int, Fraction]
Weighted = Sequence[tuple[Figures, Weights]]
"""Weights of cells, by the place of their row, for one or several columns."""


class Published:
    """The figures of a release that can be combined.

    Its constructor takes a report, and the tables by file name.

    Attributes:
        steps: What was released, by the names of steps.
    """

    def __init__(self, facts: ReportFacts, tables: Mapping[str, OutputTable]) -> None:
        """Take a report, and its tables by file name."""
        self._facts, self._tables = facts, tables
        self.steps: dict[str, Released] = {}
        self._released: dict[tuple[str, str], Figures] = {}  # by query and column
        self._terms_by_count: dict[str, tuple[Term, ...]] = {}

    @property
    def alpha(self) -> Fraction:
        """The chance that a published interval misses."""
        return 1 - Fraction(self._facts.provenance.interval)

    @property
    def groups_per_unit(self) -> int | None:
        """In how many cells of a table a unit counts at most; None without a limit."""
        return self._facts.deployment.privacy_unit.groups_per_unit

    @cached_property
    def figures(self) -> tuple[Figures, ...]:
        """Every published figure, in the order of the tables."""
        result: list[Figures] = []
        for described in self._facts.tables:
            if described.file in self._tables:
                result.extend(self._read_table(described, self._tables[described.file]))
        return tuple(result)

    @cached_property
    def other_columns(self) -> Mapping[str, OutputColumn]:
        """Every published column that is no figure, by its name and by that after its table's."""
        names = {(figures.table, figures.name) for figures in self.figures}
        return {
            name: column
            for described in self._facts.tables
            if described.file in self._tables
            for column in self._tables[described.file].columns
            if (described.name, column.name) not in names
            for name in (column.name, f"{described.name}.{column.name}")
        }

    @cached_property
    def _strategies(self) -> dict[str, tuple[StrategyFacts, CombinedQuery, tuple[Term, ...]]]:
        queries = {}
        for strategy in self._facts.strategies:
            steps = {step.name: step for step in strategy.steps}
            for query in strategy.queries:
                terms = tuple(
                    Term(
                        term.step,
                        term.row,
                        Fraction(term.factor),
                        frozenset(
                            strategy.groups[steps[term.step].groups[place]].column
                            for place in term.groups
                        ),
                    )
                    for term in query.terms
                )
                if all(axis.kind in _KINDS for step in steps.values() for axis in step.axes):
                    queries[query.name] = strategy, query, terms
        return queries

    def _read_table(self, described: PublishedTable, table: OutputTable) -> Iterator[Figures]:
        queries = {query.name: query for query in self._facts.queries}
        keys = [column for column in table.columns if column.kind == "key"]
        labels_of = ([_label(value) for value in key.values] for key in keys)
        rows = tuple(zip(*labels_of, strict=True)) if keys else ((),)
        raws = {column.name: column.raw for column in described.columns}
        agreed = {column.name: column.agreed for column in described.columns}
        by_name = {column.name: column for column in table.columns}
        first = keys[0] if keys else None
        labels = _write_labels(keys)
        with use_language(self._facts.language):
            report_labels = _write_labels(keys)
        counts: dict[str, Figures] = {}
        result: list[Figures] = []
        for column in table.columns:
            if column.query is None or column.kind not in {"integer", "number"}:
                continue
            query = queries[column.query]
            linear = {column.column: column for column in query.linear}
            number = [f"{query.name}_count"] if self._is_quotient(query.name) else []
            if column.name not in {name_column(query.name), *linear, *number}:
                continue
            groups = tuple(key.name for key in keys)
            values = Values(column, raws.get(column.name))
            raw = raws.get(column.name) is not None
            figures = Figures(
                described.name,
                column.name,
                query,
                groups,
                rows,
                values,
                raw,
                Fraction(1, 10**column.decimals),
                column.names.title or column.name,
                labels,
                report_labels,
                get_column_title(first) if first else "",
                column.names.unit,
            )
            if raw:
                figures = figures._replace(published=Values(column, None))
            figures = self._attach_terms(figures, linear.get(column.name))
            ends = [by_name.get(f"{column.name}{end}") for end in ("_low", "_high")]
            if None not in ends:
                of_low, of_high = (Values(end, None) for end in ends)
                figures = figures._replace(ends=(of_low, of_high))
            self._released[query.name, column.name] = figures
            if (estimates := agreed.get(column.name)) is not None:
                figures = self._attach_agreement(figures, estimates)
            if column.suffix == "_count" and figures.terms is not None:
                counts[query.name] = figures
            result.append(figures)
        for figures in result:
            if self._is_quotient(figures.query.name) and not figures.is_behind:
                yield self._attach_share(figures, counts)
                continue
            shares = [linear for linear in figures.query.linear if linear.share]
            if figures.terms is None and shares and figures.query.name in counts:
                low, high = map(Fraction, shares[0].share)
                behind = counts[figures.query.name]
                share = Share(low, high, behind, _build_contrast(behind, shares[0]))
                yield figures._replace(share=share)
            else:
                yield figures

    def _attach_terms(self, figures: Figures, linear: LinearFigure | None) -> Figures:
        name, terms = figures.query.name, None
        # Where cells are missing, as with private keys, cells and integers do not correspond.
        if prod(figures.sizes) != len(figures.rows):
            return figures
        if linear is not None:
            terms = self._list_linear_terms(figures, linear)
        elif name in self._strategies and self._is_quotient(name) == figures.is_behind:
            strategy, query, terms = self._strategies[name]
            if figures.is_behind:
                terms = _scale_parts(query, terms, (Fraction(1), Fraction(1)))
            for step in strategy.steps:
                self.steps.setdefault(step.name, _build_strategy_release(strategy, step))
        # Integers times multiples of the last decimal need no rounding.
        exact = terms and all((t.factor / figures.unit).denominator == 1 for t in terms)
        rounding = Fraction(0) if exact else figures.unit / 2
        return figures._replace(terms=terms, rounding=rounding)

    def _attach_agreement(
        self, figures: Figures, estimates: Sequence[int | float | None]
    ) -> Figures:
        """Attach how figures were made to agree, with what they were before they moved further."""
        for agreement in self._facts.agreements:
            for table in agreement.tables:
                sizes = tuple(agreement.sizes[axis] for axis in table.axes)
                if table.query == figures.query.name and sizes == figures.sizes:
                    agreed = Agreed(_build_fit(agreement), table.axes, agreement.observed)
                    return figures._replace(
                        values=Values(None, estimates), agreed=agreed, rounding=Fraction(0)
                    )
        return figures

    def _is_quotient(self, name: str) -> bool:
        return name in self._strategies and self._strategies[name][1].is_quotient

    def _attach_share(self, figures: Figures, counts: Mapping[str, Figures]) -> Figures:
        """Attach to a mean or share of combined parts the number behind it, if its law is known."""
        behind = counts.get(figures.query.name)
        if behind is None:
            return figures
        _, query, terms = self._strategies[figures.query.name]
        low, high = map(Fraction, query.share)
        contrast = _scale_parts(query, terms, (Fraction(1, 2), Fraction(-1, 2)))
        return figures._replace(share=Share(low, high, behind, behind._replace(terms=contrast)))

    def _list_linear_terms(self, figures: Figures, linear: LinearFigure) -> tuple[Term, ...]:
        """List terms of integers that are not mixed; those of a fitted count only once."""
        if linear.fitted in self._terms_by_count:
            return self._terms_by_count[linear.fitted]
        groups = frozenset(figures.groups)
        parts = self._figures_by_count[linear.fitted] if linear.fitted else {linear.step: linear}
        for step, part in parts.items():
            sizes = dict(zip(figures.groups, figures.sizes, strict=True))
            sizes |= {group.column: len(group.labels) for group in part.merged}
            noise = Noise(NoiseFamily(part.family), Fraction(part.parameter), *part.stairs)
            self.steps.setdefault(step, Released(noise, tuple(sorted(sizes.items()))))
        terms = tuple(
            Term(step, row, Fraction(factor) * Fraction(part.weight or 1), groups)
            for step, part in parts.items()
            for row, factor in zip(part.rows, part.factors, strict=True)
        )
        if linear.fitted:
            self._terms_by_count[linear.fitted] = terms
        return terms

    @cached_property
    def _figures_by_count(self) -> dict[str, dict[str, LinearFigure]]:
        """What is stated of the steps of each fitted count."""
        fitted: dict[str, dict[str, LinearFigure]] = {}
        for query in self._facts.queries:
            for linear in query.linear:
                if linear.fitted:
                    fitted.setdefault(linear.fitted, {})[linear.step] = linear
        return fitted

    def collect_noise(self, weighted: Weighted) -> tuple[Part, ...]:
        """Return the noise of a weighted sum of cells, as independent draws with factors.

        Args:
            weighted: Linear figures, each with weights by the place of its rows.

        Returns:
            One part for each law and absolute weight, with its number of draws.

        Raises:
            ValueError: The noise is not known, or too many released integers enter.
        """
        import numpy as np

        integers: dict[tuple[str, int], Cells] = {}
        agreed: dict[tuple[ObservedCounts, ...], tuple[Fit, dict[frozenset[int], Cells]]] = {}
        for figures, weights in weighted:
            cells: Cells = np.zeros(len(figures.rows), dtype=object)
            for place, weight in weights.items():
                cells[place] += weight
            if figures.agreed is None:
                self._enter_figures(integers, figures, cells)
                continue
            fit, axes, observed = figures.agreed
            _, by_axes = agreed.setdefault(observed, (fit, {}))
            ordered = cells.reshape(figures.sizes).transpose(np.argsort(axes))
            by_axes[frozenset(axes)] = _add(by_axes.get(frozenset(axes)), ordered)
        for observed, (fit, by_axes) in agreed.items():
            self._enter_agreed(integers, observed, fit, by_axes)
        # Independent draws: of each integer, or of all integers of a cell that have noise together.
        drawn: dict[tuple[str, int], list[Any]] = {}
        for (name, row), entering in integers.items():
            alone = self.steps[name].noise.family is not NoiseFamily.CUBE
            drawn.setdefault((name, row if alone else 0), []).append(entering)
        parts: list[Part] = []
        for (name, _), several in drawn.items():
            # All laws are symmetric, so that the sign of a weight does not matter.
            cells_weights = zip(*(entering.flat for entering in several), strict=True)
            draws = Counter(tuple(map(abs, weights)) for weights in cells_weights if any(weights))
            noise = self.steps[name].noise
            parts += [Part(noise, own[0], number, own[1:]) for own, number in draws.items()]
        return combine_parts(parts)

    def _enter_figures(
        self, integers: dict[tuple[str, int], Cells], figures: Figures, cells: Cells
    ) -> None:
        """Add the weights of released integers in a weighted sum of released figures."""
        if figures.terms is None:
            raise ValueError("not a linear form")
        for term in figures.terms:
            step, integer = self.steps[term.step], (term.step, term.row)
            spread = _spread(cells.reshape(figures.sizes), figures.groups, term, step)
            integers[integer] = _add(integers.get(integer), spread)

    def _enter_agreed(
        self,
        integers: dict[tuple[str, int], Cells],
        observed: Sequence[ObservedCounts],
        fit: Fit,
        cells: Mapping[frozenset[int], Cells],
    ) -> None:
        """Add the weights of released integers in a weighted sum of figures that agree."""
        import numpy as np

        from dprelease.postprocess.finishing.agreement import spread_weights

        if sum(_count_integers(fit, counts) for counts in fit.observed) > MOST_AGREED:
            raise ValueError("too many integers")
        for place, weights in spread_weights(fit, cells).items():
            counts = observed[place]
            if counts.query:
                released = self._released[counts.query, name_column(counts.query)]
                self._enter_figures(integers, released, weights.reshape(-1))
                continue
            sizes = [size for _, size in self.steps[counts.step].groups]
            added = tuple(at for at, axis in enumerate(counts.axes) if axis is None)
            spread = np.broadcast_to(np.expand_dims(weights, added), sizes)
            integer = counts.step, 0
            integers[integer] = _add(integers.get(integer), spread)


_KINDS = ("each", "centred")


def _write_labels(keys: Sequence[OutputColumn]) -> tuple[Mapping[str, str], ...]:
    return tuple(
        {_label(value): write_key(key, value) for value in dict.fromkeys(key.values)}
        for key in keys
    )


def _label(value: object) -> str:
    return "" if value is None else str(value)


class Values(Sequence[Fraction | None]):
    """The figures of a column, made one by one: of a large table few are asked for.

    Without a column they are exactly those before the changes.
    """

    def __init__(
        self, column: OutputColumn | None, raw: Sequence[int | float | None] | None
    ) -> None:
        self._scale: int | None = None if column is None else 10**column.decimals
        self._column, self._raw = () if column is None else column.values, raw

    def __len__(self) -> int:
        return len(self._column if self._raw is None else self._raw)

    def __getitem__(self, place: Any) -> Any:
        if self._raw is not None:
            raw = self._raw[place]
            if raw is None:
                return None
            if self._scale is None:
                return Fraction(str(raw))
            return Fraction(round(Fraction(raw) * self._scale), self._scale)
        value = self._column[place]
        return Fraction(value, self._scale or 1) if isinstance(value, int) else None


def _build_fit(agreement: Agreement) -> Fit:
    """Build least squares as ``spread_weights`` reads them: without what was observed."""
    from dprelease.postprocess.finishing.agreement import Counts, Fit

    observed = [
        Counts(
            tuple(axis for axis in counts.axes if axis is not None),
            (),
            Fraction(1),
            frozenset(counts.hidden),
            frozenset(counts.centred),
        )
        for counts in agreement.observed
    ]
    shares = {frozenset(part.axes): dict(part.weights) for part in agreement.parts}
    return Fit([table.axes for table in agreement.tables], observed, agreement.sizes, {}, shares)


def _add(total: Cells | None, cells: Cells) -> Cells:
    """Add two arrays; without axes they stay arrays."""
    import numpy as np

    return np.asarray(cells if total is None else total + cells, dtype=object)


def _count_integers(fit: Fit, counts: Counts) -> int:
    return prod(counts.count_labels(axis, fit.sizes) for axis in counts.axes)


def _build_contrast(behind: Figures, linear: LinearFigure) -> Figures:
    """Build half of what a share has less half of what it lacks, in the unit of its number.

    Of two sums these are the first and the second. Of a mean that is read from the three sums of a
    variance, of s^2, 2ts and t^2, they are s t + t^2 and s^2 + s t: their difference has no 2ts.
    """
    groups = frozenset(behind.groups)
    signs = (1, -1) if len(linear.rows) == 2 else (-1, 0, 1)
    terms = tuple(
        Term(linear.step, row, sign * Fraction(factor) / 2, groups)
        for sign, row, factor in zip(signs, linear.rows, linear.factors, strict=True)
        if sign
    )
    return behind._replace(terms=terms)


def _scale_parts(
    query: CombinedQuery, terms: Sequence[Term], factors: Sequence[Fraction]
) -> tuple[Term, ...]:
    """Add up the parts of a quotient, each times its factor, in records."""
    record = Fraction(query.record)
    return tuple(
        term._replace(factor=term.factor * record * factors[stated.part])
        for term, stated in zip(terms, query.terms, strict=True)
    )


def _build_strategy_release(strategy: StrategyFacts, step: StrategyStep) -> Released:
    groups = [strategy.groups[place] for place in step.groups]
    centred = [
        group.column
        for group, axis in zip(groups, step.axes, strict=True)
        if axis.kind == "centred"
    ]
    family = NoiseFamily(step.family)
    together = len(step.rows) if family is NoiseFamily.CUBE else 0
    noise = Noise(family, Fraction(step.parameter), integers=together)
    sizes = tuple((group.column, len(group.labels)) for group in groups)
    return Released(noise, sizes, frozenset(centred))


def _spread(cells: Cells, names: Sequence[str], term: Term, step: Released) -> Cells:
    """Compute the weights of a step's integers in a weighted sum of cells, by one term."""
    import numpy as np

    if prod(size for _, size in step.groups) > MOST_INTEGERS:
        raise ValueError("too many integers")
    # Groups that the term does not have: its integers enter all of their cells.
    free_places = tuple(place for place, name in enumerate(names) if name not in term.groups)
    summed = np.array(cells.sum(axis=free_places), dtype=object)
    remaining = [name for name in names if name in term.groups]
    group_names = [name for name, _ in step.groups if name in remaining]
    summed = summed.transpose([remaining.index(name) for name in group_names])
    labels = iter(summed.shape)
    shape = [next(labels) if name in remaining else 1 for name, _ in step.groups]
    spread: Cells = np.zeros([size for _, size in step.groups], dtype=object)
    spread[
        tuple(
            slice(wide if name in remaining else size)
            for (name, size), wide in zip(step.groups, shape, strict=True)
        )
    ] = summed.reshape(shape)
    for axis, (name, size) in enumerate(step.groups):
        if name in step.centred:
            spread = spread * size - spread.sum(axis=axis, keepdims=True)
    weighted: Cells = np.array(spread * term.factor, dtype=object)
    return weighted
