"""Number of records up to each value or bin of an ordered column, and quantiles read from these.

The figure of a row is the number of records with its own label or one before it in the order.

*Running sums.* The counts x of the labels are released with noise of their own each: then the sum
of the first j has j draws. Or they are released mixed, as y = C x. C is a lower triangular Toeplitz
matrix of integers; its first column is 1,024 times the coefficients 1, 1/2, 3/8, 5/16, ... of
(1 - z)^(-1/2), rounded. The matrix of running sums, 1/(1 - z), is about the square of that. So
applying C^-1 and adding up gives figures whose noise grows with the logarithm of the number of
rows, where that of single counts grows with its square root (Henzinger, Upadhyay and Upadhyay,
"Almost Tight Error Bounds on Differentially Private Continual Counting", arXiv 2211.05006;
Fichtenberger, Henzinger and Upadhyay, "Constant matters", arXiv 2202.11205). A record adds a column
of C to y; the planner and certify compute its length from its integers.

The columns of C get shorter along the order: later ones have fewer entries. So each is multiplied
by a factor, a whole number of 1,024ths, that makes it about as long as the first. That takes 6 to
9 % off the mean variance and 11 to 16 % off the largest (Henzinger, Kalinin and Upadhyay,
"Normalized Square Root", arXiv 2509.14334); the mean error of 100, 365 and 1,000 rows is within
1.5 % of the least that any matrix has. Version 0.2 released them without factors.

The figure j is the sum over i <= j of 1/d_i times the sum of g_k y_(i-k), with d the factors and g
the coefficients of 1/c(z). These are kept in steps of 2^-160, which moves a figure below 2^60 by
less than 2^-80; figures are rounded to whole numbers. Half-widths are then those of the normal law,
with the distance of at most 1 by which each discrete draw can be coupled with a normal one,
``intervals.noise_mixture``. Those of sums of single counts come of their own law,
``intervals.combined_noise``. With Laplace noise the counts may be released as a tree instead,
``shared.tree_sums``.

*Quantiles.* Let S_j be the true number of records in the first j of n labels, and e_j the edge at
their end. The quantile q lies at or above e_j if T_j = S_j - q S_n < 0, and at or below it
otherwise. The noise of T_j is symmetric, and exceeds h_j with a probability of at most alpha. Take
the edges from the first on, without a gap, whose noisy T_j is below -h_j: the interval starts at
the last of them. It misses the quantile only if the first edge that is truly not below the quantile
is among them, which has a probability of at most alpha/2. The same holds from above. So one
interval holds its quantile with probability 1 - alpha, whatever the records are.

The quantile itself is read from the noisy numbers after these are made to rise. Within a bin of
numbers records are taken to be spread evenly. The quantile lies in the interval.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, floor, isqrt, prod
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import (
    EACH,
    AxisKind,
    AxisMatrix,
    Measure,
    MeasureKind,
    Noise,
    NoiseFamily,
    OutputColumn,
    Query,
    Step,
)
from dprelease.model.columns import NUMERIC_TYPES
from dprelease.model.sentences import NumberText, Text, sentence
from dprelease.postprocess.intervals.combined_noise import (
    Part,
    combine_parts,
    compute_combined_halfwidth,
)
from dprelease.postprocess.intervals.estimate_columns import Layout, estimate_columns
from dprelease.postprocess.intervals.fixed_point import count_decimals, write_decimal
from dprelease.postprocess.intervals.noise_mixture import (
    RowLength,
    bound_normal_halfwidth,
    measure_rows,
)
from dprelease.postprocess.intervals.number_text import list_numbers, number, write_percent
from dprelease.privacy.sensitivity import COUNT, Scalar
from dprelease.statistics.shared.spec_keys import ColumnUse, Details, Q, QueryReader
from dprelease.statistics.shared.statistic import (
    ESTIMATE,
    Noisy,
    Released,
    SpecKeys,
    Spell,
    Statistic,
    list_quantile_endings,
)
from dprelease.statistics.shared.tree_sums import TreeSums, build_tree

OF_QUANTILE = ("", "_low", "_high")
_FINE = 1000
_MOST_PRODUCTS = 1 << 24
MOST_LEAVES = 1 << 13
SCALE = 1 << 10
_BITS = 160
_ZERO = Fraction(0)


class Cumulative(Statistic):
    """Counts added up along the order of the last grouping column, which is the statistic's own."""

    name = "cumulative"
    word = "spec_words.statistic.cumulative"
    definition = "statistics.cumulative.definition"
    what = "statistics.cumulative.what"
    keys = SpecKeys(column=ColumnUse.GROUPS, ordered=True, may=(Q,))
    counts = "words.records"
    compared_with = ("statistics.count.reference", Fraction(1))
    reading = "statistics.cumulative.reading"
    explained = "statistics.cumulative.explained"

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the quantiles to derive from the counts."""
        return Details(spec.read_value(Q) or ())

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define the counts, and the quantiles that are read from them."""
        column = query.groups[-1].column
        defined = sentence(self.definition, column=column)
        if not query.quantiles:
            return (defined,)
        shares = list_numbers(query.quantiles)
        return (defined, sentence("statistics.cumulative.quantiles", column=column, shares=shares))

    def list_suffixes(self, query: Query) -> tuple[str, ...]:
        """List the columns of the counts, then those of each quantile."""
        return (
            *ESTIMATE,
            *(e + part for e in list_quantile_endings(query) for part in OF_QUANTILE),
        )

    def define_release(self, query: Query) -> Released:
        """Define one integer for each cell: its number of records."""
        return Released((Measure(MeasureKind.RECORDS, None, query.where),))

    def define_alternatives(self, query: Query) -> tuple[Released, ...]:
        """Define counts mixed along the order for Gaussian noise, and a tree for Laplace noise."""
        labels = len(query.groups[-1].labels)
        single, by = self.define_release(query), (EACH,) * (len(query.groups) - 1)
        alternatives: list[Released] = []
        if query.cells * labels <= _MOST_PRODUCTS:
            for matrix in (build_matrix(labels), build_scaled_matrix(labels)):
                unit = (Fraction(1, prod(row[0] for row in matrix.entries)),)
                alternatives.append(replace(single, unit=unit, axes=(*by, matrix)))
        # Each row of a tree has a law of its own, which takes half a millisecond.
        if labels <= MOST_LEAVES and (tree := build_tree(labels)) is not None:
            alternatives.append(replace(single, axes=(*by, tree)))
        return tuple(alternatives)

    def spread(self, query: Query, axes: Sequence[AxisMatrix]) -> Fraction:
        """Compute the mean over the rows."""
        return choose_reader(len(query.groups[-1].labels), axes).spread()

    def describe_row(self, query: Query) -> Scalar:
        """Return a count: each row adds 1."""
        return COUNT

    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Publish the sums along the order, and the quantiles read from them."""
        running = choose_reader(len(step.query.groups[-1].labels), step.axes)
        labels, integers = running.labels, running.outputs
        sums = [
            running.read(noisy[0][start : start + integers])
            for start in range(0, len(noisy[0]), integers)
        ]
        halves = [
            running.compute_halfwidth(step.noise, count, 1 - interval)
            for count in range(1, labels + 1)
        ]
        layout = Layout(
            step.query.name,
            0,
            sentence("tables.columns.with_noise", figure=sentence(self.what)),
            interval,
        )
        figures = [figure for block in sums for figure in block]
        published = estimate_columns(layout, figures, halves * len(sums))
        for q, ending in zip(step.query.quantiles, list_quantile_endings(step.query), strict=True):
            published += _build_quantile_columns(step, sums, q, ending, interval)
        return published

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the largest half-width."""
        return sentence(
            "statistics.cumulative.error",
            error=number(self.compute_halfwidth(step, interval), up=True),
        )

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction:
        """Compute the largest half-width of a row."""
        running = choose_reader(len(step.query.groups[-1].labels), step.axes)
        return Fraction(running.compute_largest_halfwidth(step.noise, 1 - interval))


# --- running sums --------------------------------------------------------------------------------


def build_matrix(labels: int) -> AxisMatrix:
    """Build the matrix C for so many labels."""
    column, exact = [], Fraction(SCALE)
    for place in range(1, labels + 1):
        column.append(round(exact))
        exact *= Fraction(2 * place - 1, 2 * place)
    return AxisMatrix(AxisKind.RUNNING, (tuple(column),))


def build_scaled_matrix(labels: int) -> AxisMatrix:
    """Build the matrix C with factors that make no column longer than the first."""
    (column,) = build_matrix(labels).entries
    lengths = list(accumulate(entry * entry for entry in column))[::-1]
    factors = tuple(isqrt(SCALE**2 * lengths[0] // length) for length in lengths)
    return AxisMatrix(AxisKind.SCALED, (column, factors))


class RunningSums(Struct, frozen=True):
    """The reader of one block of rows: ``labels`` in order, equal in all other groups.

    ``column`` is the first column of C; it is empty where counts are released as they are.
    ``factors`` are those of its columns, if these have any.
    """

    labels: int
    column: tuple[int, ...] = ()
    factors: tuple[int, ...] = ()

    @property
    def outputs(self) -> int:
        """Number of noisy integers of a block."""
        return self.labels

    def read(self, block: Sequence[int]) -> list[int]:
        """Compute the sums along the order from the noisy integers of the labels."""
        if not self.column:
            return list(accumulate(block))
        # Adding a half before the shift rounds to nearest.
        half = 1 << _BITS - 1
        if self.factors:
            inverse = _invert_series(self.column)
            counts = (
                sum(inverse[at - place] * block[place] for place in range(at + 1)) // factor
                for at, factor in enumerate(self.factors)
            )
            return [(total + half) >> _BITS for total in accumulate(counts)]
        factors = _compute_factors(self.column)
        return [
            (sum(factors[at - place] * block[place] for place in range(at + 1)) + half) >> _BITS
            for at in range(self.labels)
        ]

    def spread(self) -> Fraction:
        """Compute the mean variance of the sums, in units of that of one draw."""
        if not self.column:
            return Fraction(self.labels + 1, 2)
        if self.factors:
            lengths = _measure_rows(self.column, self.factors)
            return sum((row.squares for row in lengths), Fraction(0)) / self.labels
        squares = accumulate(factor * factor for factor in _compute_factors(self.column))
        return Fraction(sum(squares), self.labels << 2 * _BITS)

    def compute_halfwidth(self, noise: Noise, count: int, alpha: Fraction) -> int:
        """Bound the noise of the first ``count`` labels' sum, but for a chance of alpha."""
        if not self.column:
            half = compute_combined_halfwidth(
                combine_parts([Part(noise, Fraction(1), _round_up_draws(count))]), alpha
            )
            return half.numerator // half.denominator
        if self.factors:
            row = _measure_rows(self.column, self.factors)[count - 1]
            half = row.bound_halfwidth(noise, alpha)
        else:
            half = _compute_mixed_halfwidth(noise, _compute_factors(self.column)[:count], alpha)
        return floor(half + Fraction(1, 2))

    def compute_largest_halfwidth(self, noise: Noise, alpha: Fraction) -> int:
        """Bound the noise of the sum that errs most, but for a chance of alpha."""
        if not self.factors:  # the last one
            return self.compute_halfwidth(noise, self.labels, alpha)
        return max(self.compute_halfwidth(noise, at, alpha) for at in range(1, self.labels + 1))

    def balance_half(self, noise: Noise, count: int, q: Fraction, alpha: Fraction) -> Fraction:
        """Bound the noise of the first ``count`` labels' sum less q times that of all."""
        if not self.column:
            # The first labels enter with 1 - q, the others with -q.
            below, above = _round_up_draws(count), _round_up_draws(self.labels - count)
            return compute_combined_halfwidth(
                combine_parts([Part(noise, 1 - q, below), Part(noise, q, above)]), alpha
            )
        if self.factors:
            row = _measure_rows(self.column, self.factors, q)[count - 1]
            return row.bound_halfwidth(noise, alpha) + (1 + q) / 2
        factors = _compute_factors(self.column)
        a, b = q.numerator, q.denominator
        weights = [
            b * (factors[count - 1 - place] if place < count else 0)
            - a * factors[self.labels - 1 - place]
            for place in range(self.labels)
        ]
        return _compute_mixed_halfwidth(noise, weights, alpha) / b + (1 + q) / 2


def _round_up_draws(draws: int) -> int:
    """Round a number of draws up, by at most a 64th."""
    # Only few different numbers of draws are then looked up in the cached laws.
    rough = max(draws.bit_length() - 7, 0)
    return -(-draws >> rough) << rough


def choose_reader(labels: int, axes: Sequence[AxisMatrix]) -> RunningSums | TreeSums:
    """Choose the reader of the sums over so many labels, by how the last axis is released."""
    if not axes:
        return RunningSums(labels)
    if axes[-1].kind is AxisKind.TREE:
        (widths,) = axes[-1].entries
        return TreeSums(labels, widths)
    return RunningSums(labels, *axes[-1].entries)


@lru_cache(maxsize=16)
def _compute_factors(column: tuple[int, ...]) -> tuple[int, ...]:
    """Compute the coefficients of the inverse of the series c, added up, in steps of 2^-_BITS."""
    return tuple(accumulate(_invert_series(column)))


@lru_cache(maxsize=16)
def _invert_series(column: tuple[int, ...]) -> tuple[int, ...]:
    """Compute the coefficients g of the inverse of the series c, in steps of 2^-_BITS."""
    inverse: list[int] = []
    for place in range(len(column)):
        rest = (1 << _BITS if place == 0 else 0) - sum(
            column[before] * inverse[place - before] for before in range(1, place + 1)
        )
        inverse.append((2 * rest + column[0]) // (2 * column[0]))
    return tuple(inverse)


@lru_cache(maxsize=64)
def _measure_rows(
    column: tuple[int, ...], factors: tuple[int, ...], q: Fraction = _ZERO
) -> tuple[RowLength, ...]:
    """Measure the weights of the draws in each running sum less q times that of all."""
    coefficients = [Fraction(coefficient, 1 << _BITS) for coefficient in _invert_series(column)]
    return measure_rows(coefficients, factors, q)


def _compute_mixed_halfwidth(noise: Noise, weights: Sequence[int], alpha: Fraction) -> Fraction:
    """Compute the half-width of the sum of draws with these weights, in steps of 2^-_BITS."""
    if noise.family is NoiseFamily.NONE:
        return Fraction(0)
    squares = Fraction(sum(weight * weight for weight in weights), 1 << 2 * _BITS)
    whole = Fraction(sum(map(abs, weights)), 1 << _BITS)
    return bound_normal_halfwidth(noise, squares, whole, 1 - alpha)


# --- quantiles ----------------------------------------------------------------------------------


class Place(NamedTuple):
    """Position of a quantile: the edges around it, and ``at``, edge index plus fraction of the bin.

    ``at`` is None if the block appears to be empty.
    """

    low: int
    high: int
    at: Fraction | None


def find_place(sums: Sequence[int], q: Fraction, limits: Sequence[int]) -> Place:
    """Find a quantile among noisy sums along the order.

    ``limits`` are the half-widths h_1, h_2, ... of all edges but the last, times the denominator of
    q, rounded down.
    """
    total = q.numerator * sums[-1]
    balances = [q.denominator * number - total for number in sums[:-1]]
    pairs = list(zip(balances, limits, strict=True))
    # Start at the last of the edges, without a gap from the first, that are clearly below the
    # quantile, and end at the first of those that are clearly above it.
    low = next((j for j, (balance, h) in enumerate(pairs) if balance >= -h), len(pairs))
    from_top = enumerate(reversed(pairs))
    above = next((j for j, (balance, h) in from_top if balance <= h), len(pairs))
    high = len(sums) - above
    # Noise can make sums fall; made to rise they have one place for the target.
    rising = list(accumulate((0, *sums), max))
    if not rising[-1]:
        return Place(low, high, None)
    target = q * rising[-1]
    upper = bisect_left(rising, target)
    before = rising[upper - 1]
    at = upper - 1 + (target - before) / (rising[upper] - before)
    return Place(low, high, min(max(at, Fraction(low)), Fraction(high)))


def _build_quantile_columns(
    step: Step, sums: Sequence[Sequence[int]], q: Fraction, ending: str, interval: Fraction
) -> list[OutputColumn]:
    """Publish a quantile of each block of rows in all of its rows."""
    query, group = step.query, step.query.groups[-1]
    running = choose_reader(len(group.labels), step.axes)
    labels = running.labels
    halves = [
        running.balance_half(step.noise, count, q, 1 - interval) for count in range(1, labels)
    ]
    limits = [half.numerator * q.denominator // half.denominator for half in halves]
    places = [find_place(block, q, limits) for block in sums]
    values: list[tuple[int | str | None, ...]]
    decimals = 0
    if group.edges is not None and group.type in NUMERIC_TYPES:
        edges = [Fraction(edge) for edge in group.edges]
        decimals = max(map(count_decimals, edges))
        while (edges[-1] - edges[0]) * 10**decimals < _FINE:
            decimals += 1
        kind = "number" if decimals else "integer"
        values = [_compute_value(place, edges, 10**decimals) for place in places]
    else:
        kind, values = "text", [_find_labels(place, group.labels) for place in places]
    name, level, share = (
        query.column_name + ending,
        write_percent(interval),
        NumberText(write_decimal(q)),
    )
    words = (
        sentence(
            "statistics.cumulative.quantile.value",
            share=share,
        ),
        sentence("statistics.cumulative.quantile.low", level=level, name=name),
        sentence("statistics.cumulative.quantile.high", level=level, name=name),
    )
    published = []
    for at, (part, word) in enumerate(zip(OF_QUANTILE, words, strict=True)):
        # Every row of a block shows the block's quantile.
        repeated = [value[at] for value in values for _ in range(labels)]
        published.append(OutputColumn(name + part, kind, repeated, word, decimals, query.name))
    return published


def _compute_value(
    place: Place, edges: Sequence[Fraction], unit: int
) -> tuple[int | None, int, int]:
    """Compute value and interval of a quantile among bins of numbers, in parts of 1/unit."""
    low, high = int(edges[place.low] * unit), int(edges[place.high] * unit)
    if place.at is None:
        return None, low, high
    whole = min(int(place.at), len(edges) - 2)
    width = edges[whole + 1] - edges[whole]
    return round((edges[whole] + (place.at - whole) * width) * unit), low, high


def _find_labels(place: Place, labels: Sequence[str]) -> tuple[str | None, str, str]:
    """Find the label in which a quantile lies, and the first and last in which it may."""
    value = None if place.at is None else labels[max(ceil(place.at) - 1, place.low)]
    return value, labels[place.low], labels[place.high - 1]
