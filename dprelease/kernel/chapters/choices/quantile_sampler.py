"""Quantiles drawn by a scheme, each selection with exactly its law.

What a scheme is and costs: ``dprelease.mechanisms.quantiles``. A selection is among the values of
its part, or, if later parts end there, among the slots of these values (below), one and all:
P proportional to exp(-rate d/slots), d in units of a b-th of a slot's mass.

They are far too many to list. The line is cut into blocks instead, each with a lower bound of d in
it; ``choose`` draws a block and a place in it, all alike, by the bounds, and the place is kept
with probability exp(-rate (d - bound)). So it has the right law, whatever the blocks. Where d
rises steeply they are short, so that most places are kept: one block for each gap between
neighbouring values of the data; one for each value, or, if many records share it and slots are
drawn, several of about 1/rate. Far from the target, where hardly any place is ever drawn, one block
holds all the rest on either side, with the d of its near end.

Slots: possible outputs ("candidates") are numbered from 0 in rising order, and each has the same
number of slots, a power of two; slot s belongs to candidate s // slots. A record's mass, ``slots``
in these units, is spread evenly over the slots of its value, one for each. Records between two
candidates lie between their slots, all in one place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dprelease.kernel.chapters.choices.choice_sampler import Values, choose, keep, transpose_ranks
from dprelease.kernel.chapters.choices.weights import Integers, cast_to_integers, sum_exactly
from dprelease.kernel.core.entropy import Entropy
from dprelease.model.plans import QuantileScheme, QuantileStep, Step

Int64s = npt.NDArray[np.int64]

_FITS = 1 << 62
_FINE = 12  # bits of a slot's number, where the outputs leave room for them
_ROOM = 60


class Grid(Struct, frozen=True):
    """Every integer from lower to upper is a possible output."""

    lower: int
    upper: int

    def __post_init__(self) -> None:
        if not -_FITS < self.lower <= self.upper < _FITS:
            raise ValueError("the bounds of an output rise and fit 63 bits")

    def __len__(self) -> int:
        return self.upper - self.lower + 1

    def __getitem__(self, index: int) -> int:
        return self.lower + index

    def count_spans(self, values: Int64s) -> tuple[Int64s, Int64s]:
        """Count the outputs below each value, and those below or at it."""
        return values - self.lower, values - (self.lower - 1)


class Listed(Struct, frozen=True):
    """The possible outputs, one by one, in rising order."""

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in pairwise(self.values))
        if not self.values or not rising or max(map(abs, self.values)) >= _FITS:
            raise ValueError("possible outputs rise and fit 63 bits")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index]

    def count_spans(self, values: Int64s) -> tuple[Int64s, Int64s]:
        """Count the outputs below each value, and those below or at it."""
        outputs = np.array(self.values, dtype=np.int64)
        low, high = np.searchsorted(outputs, values), np.searchsorted(outputs, values, side="right")
        return low.astype(np.int64), high.astype(np.int64)


Outputs = Grid | Listed


class Mass(Struct, frozen=True, eq=False):
    """Records of one cell: values, how many hold each, and how many lie before each (and all)."""

    outputs: Outputs
    slots: int
    points: Int64s
    counts: Int64s
    before: Int64s

    @property
    def total(self) -> int:
        """The mass of all records."""
        return int(self.before[-1]) * self.slots

    def sum_below(self, slot: int) -> int:
        """Sum the mass under a slot."""
        return self._get_mass(slot, slot % self.slots)

    def sum_up_to(self, slot: int) -> int:
        """Sum the mass under a slot and in it."""
        return self._get_mass(slot, slot % self.slots + 1)

    def _get_mass(self, slot: int, filled: int) -> int:
        value = self.outputs[slot // self.slots]
        place = bisect_left(self.points, value)
        mass = int(self.before[place]) * self.slots
        if bisect_right(self.points, value, lo=place) > place:
            mass += int(self.counts[place]) * filled
        return mass


def count_slots(outputs: int, parted: bool) -> int:
    """Count the slots of each of so many outputs: one, if no part ever ends within a value."""
    return 1 << max(0, min(_FINE, _ROOM - outputs.bit_length())) if parted else 1


def gather(points: Integers, counts: Integers, outputs: Outputs, slots: int) -> Mass:
    """Gather the mass of a sparse histogram.

    TypeError for numbers that aren't integers; ValueError unless values rise and counts are
    positive, and both, and the sum of counts, are below 2^62.
    """
    values, sizes = cast_to_integers(points), cast_to_integers(counts)
    if values.ndim != 1 or values.shape != sizes.shape:
        raise ValueError("a histogram has one count for each value")
    if object in {values.dtype, sizes.dtype} or sum_exactly(sizes) >= _FITS:
        raise ValueError("a histogram holds values and counts below 2^62")
    if values.size and ((values[1:] <= values[:-1]).any() or sizes.min() < 1):
        raise ValueError("the values of a histogram rise, and their counts are positive")
    before = np.zeros(values.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=before[1:])
    return Mass(outputs, slots, values, sizes, before)


def move_to_nearest(
    points: Integers, counts: Integers, candidates: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Move the values of a histogram to the nearest candidates, of two as near to the lower one.

    Each record is moved by itself, so that neighbouring tables stay neighbours. Moving keeps the
    order: what the quantile of all values is moved to is the quantile of moved values. So what
    holds of ranks among these holds of a value to which the released candidate is the nearest.

    Args:
        points: The different values, rising.
        counts: How many records hold each.
        candidates: Integers that rise, at least one.

    Returns:
        The candidates to which a value is moved, rising, and how many records each then holds.

    Raises:
        ValueError: The records are 2^62 or more.

    """
    values, sizes = cast_to_integers(points), cast_to_integers(counts)
    if sum_exactly(sizes) >= _FITS:
        raise ValueError("a histogram holds counts below 2^62")
    listed = np.array(candidates, dtype=np.int64)
    middles = listed[:-1] + np.diff(listed) // 2  # up to here the lower one is as near
    places, starts = np.unique(np.searchsorted(middles, values), return_index=True)
    if not places.size:
        return (), ()
    return listed[places].tolist(), np.add.reduceat(sizes, starts).tolist()


def choose_quantiles(
    step: Step, measures: Sequence[Sequence[int]], cells: Sequence[int], entropy: Entropy
) -> Values:
    """Choose a grid integer by cell and quantile; ``measures`` are cells, points and counts."""
    if step.scheme is None or step.points is None:
        raise ValueError("quantiles need a scheme and a quantity")
    places, points, counts = measures
    grid, public = step.points.grid, step.query.points
    picked = []
    for cell in cells:
        start, end = bisect_left(places, cell), bisect_left(places, cell + 1)
        inside = points[start:end], counts[start:end]
        if public is not None:
            inside = move_to_nearest(*inside, public)
        picked.append(release(*inside, grid.lower, grid.upper, step.scheme, entropy, public))
    return transpose_ranks(picked, len(step.scheme.quantiles))


# --- selections -----------------------------------------------------------------------------------

_SPARE = 64  # what lies beyond the listed blocks has a probability of about 2^-64
_LARGE = 1 << 60


class Part(Struct, frozen=True):
    """What one selection is made from.

    Its units, values or slots, are numbered from ``first`` to ``last``, each of ``size`` slots. Its
    mass lies from ``low`` to ``high``; a/b is the target and ``rate`` that of a unit of d.
    """

    first: int
    last: int
    size: int
    low: int
    high: int
    a: int
    b: int
    rate: Fraction

    def measure_outside(self, below: int, upto: int) -> int:
        """D of a candidate with this mass below it, and below or in it."""
        target = self.a * (self.high - self.low)
        return max(0, self.b * (below - self.low) - target, target - self.b * (upto - self.low))

    def measure_distance(self, mass: Mass, unit: int) -> int:
        """D of a unit."""
        slot = unit * self.size
        return self.measure_outside(mass.sum_below(slot), mass.sum_up_to(slot + self.size - 1))


class Blocks(Struct, frozen=True, eq=False):
    """Runs of units: where each starts, how many it holds, and a lower bound of their d."""

    starts: Int64s
    sizes: Int64s
    bounds: Int64s


def release(  # noqa: PLR0913, PLR0917 - a histogram, what may come out, how
    points: Integers,
    counts: Integers,
    lower: int,
    upper: int,
    scheme: QuantileScheme,
    entropy: Entropy,
    candidates: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Release the quantiles of a scheme, in its order: each at least the one before.

    ``points``: the different values of one cell's records, rising integers from ``lower`` to
    ``upper``; ``counts``: how many records hold each. Every integer from lower to upper can come
    out, or those of ``candidates`` alone, which are public, rise and lie within the bounds. A
    cell without records gives values that are uniform. Raises ValueError for a histogram or
    candidates that aren't so.
    """
    outputs = Grid(lower, upper) if candidates is None else Listed(tuple(candidates))
    if not lower <= outputs[0] <= outputs[len(outputs) - 1] <= upper:
        raise ValueError("possible outputs lie within the bounds")
    slots = count_slots(len(outputs), parted=len(scheme.steps) > 1)
    mass = gather(points, counts, outputs, slots)
    if mass.points.size and not lower <= mass.points[0] <= mass.points[-1] <= upper:
        raise ValueError("the values of a histogram lie within the bounds")
    selected: dict[int, int] = {}
    for step in scheme.steps:
        part = find_part(mass, scheme, step, selected)
        selected[step.index] = select(mass, part, entropy) * part.size
    return tuple(outputs[selected[index + 1] // slots] for index in range(len(selected)))


def find_part(
    mass: Mass, scheme: QuantileScheme, step: QuantileStep, selected: Mapping[int, int]
) -> Part:
    """Find the part that a step selects from, given the (first) slots selected before."""
    is_end = any(step.index in {other.lower, other.upper} for other in scheme.steps)
    size = 1 if is_end else mass.slots
    first, last = selected.get(step.lower, 0), selected.get(step.upper)
    return Part(
        first // size,
        (len(mass.outputs) * mass.slots - 1 if last is None else last) // size,
        size,
        mass.sum_below(first) if step.lower in selected else 0,
        mass.total if last is None else mass.sum_below(last),
        step.target.numerator,
        step.target.denominator,
        step.rate / mass.slots,
    )


def select(mass: Mass, part: Part, entropy: Entropy) -> int:
    """Select a unit of the part, with P proportional to exp(-rate d), exactly."""
    blocks = cut(mass, part)
    lowest_bound = int(blocks.bounds.min())
    while True:
        place, offset = choose(blocks.bounds - lowest_bound, part.rate, entropy, blocks.sizes)
        unit = int(blocks.starts[place]) + offset
        above = part.measure_distance(mass, unit) - int(blocks.bounds[place])
        if above < 0:
            raise ArithmeticError("a bound of a block doesn't hold")
        if keep(part.rate * above, entropy):
            return unit


def cut(mass: Mass, part: Part) -> Blocks:
    """Cut the part into blocks that hold every unit of it once."""
    slots, scale = mass.slots, part.b * mass.slots
    units = slots // part.size  # of one value
    target = part.b * part.low + part.a * (part.high - part.low)  # b times the mass below it
    # Weights beyond are below 2^-64 in all; ln 2 < 7/10.
    bits = _SPARE + (part.last - part.first + 1).bit_length()
    reach = 7 * bits * part.rate.denominator // (10 * part.rate.numerator) + 1
    reach = min(_LARGE, reach + _find_least_distance(mass, part))
    near = max(part.low // slots, (target - reach) // scale)
    far = min(-(-part.high // slots), -(-(target + reach) // scale))
    start = int(np.searchsorted(mass.before[1:], near))
    stop = int(np.searchsorted(mass.before[:-1], far, side="right"))

    # In turn: a gap (or all the rest), a value, a gap, a value, ..., a gap (or all the rest).
    under, through = mass.outputs.count_spans(mass.points[start:stop])
    edges = np.stack((under * units, through * units), axis=1).reshape(-1)
    edges = np.concatenate(([part.first], edges.clip(part.first, part.last + 1), [part.last + 1]))
    starts, sizes = edges[:-1], np.diff(edges)

    # Ranks about that of the target, cut off where d is beyond reach: a bound, and no overflow.
    middle = target // scale
    limit = reach // scale + 2
    ranks = (mass.before[start : stop + 1] - middle).clip(-limit, limit) * scale
    ranks = np.repeat(ranks + (scale * middle - target), 2)
    bounds = np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)

    steep = np.zeros(sizes.size, dtype=bool)
    if units > 1:  # a value's slots differ by b times its count, which is to be below 1/rate
        unit_rate = part.rate * slots * part.b
        steep[1::2] = mass.counts[start:stop] > unit_rate.denominator // unit_rate.numerator
    occupied = (sizes > 0) & ~steep
    pieces = [
        piece
        for place in np.flatnonzero((sizes > 0) & steep)
        for piece in _slice_pieces(
            mass, part, int(starts[place]), int(sizes[place]), start + int(place) // 2, reach
        )
    ]
    piece_array = np.array(pieces, dtype=np.int64).reshape(-1, 3)
    return Blocks(
        np.concatenate((starts[occupied], piece_array[:, 0])),
        np.concatenate((sizes[occupied], piece_array[:, 1])),
        np.concatenate((bounds[occupied], piece_array[:, 2])),
    )


def _find_least_distance(mass: Mass, part: Part) -> int:
    """Find the least d of the part: more than 0 where listed candidates are far from the target."""
    target = part.b * part.low + part.a * (part.high - part.low)
    units = range(part.first, part.last + 1)
    place = bisect_left(
        units, target, key=lambda unit: part.b * mass.sum_up_to((unit + 1) * part.size - 1)
    )
    near = units[max(place - 1, 0) : place + 1]
    return min(part.measure_distance(mass, unit) for unit in near)


def _slice_pieces(  # noqa: PLR0913, PLR0917 - a value of a part
    mass: Mass, part: Part, first: int, size: int, place: int, reach: int
) -> list[tuple[int, int, int]]:
    """Slice the slots of one value into pieces (start, size, bound of d), short at small d."""
    step = part.b * int(mass.counts[place])  # from slot to slot
    length = max(1, part.rate.denominator // (part.rate.numerator * step))
    target = part.a * (part.high - part.low) - part.b * (mass.sum_below(first) - part.low)
    near = min(max((target - reach) // step, 0), size)
    far = min(max((target + reach) // step + 1, near), size)
    cuts = [0, *range(near, far, length), far, size]
    pieces = []
    for low, high in pairwise(cuts):
        if low < high:
            start, last = first + low, first + high - 1
            bound = part.measure_outside(mass.sum_below(start), mass.sum_up_to(last))
            pieces.append((start, high - low, min(bound, _LARGE)))
    return pieces
