"""Record-level tables in the local model: what is asked, the laws of the cells, what comes out.

Every cell is perturbed on its own, from its own true value alone. A *code* is what stands for a
cell: of a column with labels the number of its label, or -1 where it has none; of a numeric
column its grid integer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from dprelease.model.loss import Loss
from dprelease.model.queries import Group
from dprelease.model.requests import Bound, InputColumn, Quantity, Source

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[Any]

WIDEST_SCALE = 1 << 55
WIDEST_VALUE = 1 << 62


# --- what a spec asks: ``[[perturb]]`` ----------------------------------------------------------


class Mechanism(StrEnum):
    """Mechanism that perturbs a column; AUTO is the one with the least error."""

    AUTO = "auto"
    RANDOMIZED_RESPONSE = "randomized-response"
    SUBSET_SELECTION = "subset-selection"
    LAPLACE = "laplace"
    PIECEWISE = "piecewise"


class PerturbedColumn(Struct, frozen=True):
    """A column of a record-level table: exactly one of ``group`` and ``quantity`` is set.

    ``group`` is never private. A record without a label (code -1) is answered as if it had one of
    the labels, drawn evenly. ``quantity`` always has a ``null_fill``; ``null_chosen``: it is the
    middle of the grid, as the spec says nothing of nulls. ``weight``: the share of the budget.
    """

    name: str
    group: Group | None = None
    quantity: Quantity | None = None
    mechanism: Mechanism = Mechanism.AUTO
    weight: Fraction = Fraction(1)
    null_chosen: bool = False


class Perturb(Struct, frozen=True):
    """One ``[[perturb]]``: a table with the same columns and one row for each record.

    ``epsilon`` and ``delta`` are what the whole table costs one unit: all columns of all its rows.
    ``truth``, instead of epsilon: the chance of the true answer in each column, of labels all.
    Both None: the release's total, as nothing else is asked.
    """

    name: str
    columns: tuple[PerturbedColumn, ...]
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    truth: Fraction | None = None
    number: int = 0  # position in the spec, from 0


# --- by which laws each cell is perturbed -------------------------------------------------------


class SubsetLaw(Struct, frozen=True):
    """The answer is a set of ``size`` of ``labels`` labels; with size 1, k-ary randomised response.

    ``keep`` is the chance that the true label is in the set, a multiple of 2^-64. The other labels
    of the set are a uniform subset of the others. Of one label, keep is 1. A record without a label
    (-1) is first given one of all labels, each with the same chance.
    """

    labels: int
    size: int
    keep: Fraction


class LaplaceLaw(Struct, frozen=True):
    """Discrete Laplace noise of ``scale`` grid steps on a grid integer; nothing is clamped.

    It can be drawn up to ``WIDEST_SCALE`` around grid integers below ``WIDEST_VALUE``: then a noisy
    value fits 64 bits but for one draw in e^100.
    """

    scale: Fraction


class Window(Struct, frozen=True):
    """One of ``levels`` levels: those of a window of ``width`` are ``ratio`` times as likely.

    Let P = levels - width >= 1. A grid integer k of a grid from L to U has the place
    f = (k - L) P / (U - L); the window starts at level floor(f) or, with the chance f - floor(f),
    one higher. Of the levels 0, 1, ..., each outside the window has the chance
    1/(levels - width + ratio width), each inside ``ratio`` times that.
    Level j stands for (L + U)/2 + (2 j - (levels - 1))/2 * gap * (U - L)/2 in grid integers:
    ``gap`` is the distance of levels in half ranges of the column, and such that what a level
    stands for is on average exactly k.
    """

    levels: int
    width: int
    ratio: Fraction
    gap: Fraction


class WindowLaw(Struct, frozen=True):
    """With the chance ``share`` (a multiple of 2^-64) by ``first``, else by ``second``.

    The answer is a level: those of ``first`` are numbered from 0 on, those of ``second`` from
    ``first.levels`` on. ``second`` None: always by ``first``, and share is 1.
    """

    first: Window
    second: Window | None = None
    share: Fraction = Fraction(1)


Law = SubsetLaw | LaplaceLaw | WindowLaw


class Response(Struct, frozen=True):
    """One column and its law. ``loss`` is that of one cell; ``mechanism`` is never AUTO."""

    column: PerturbedColumn
    mechanism: Mechanism
    law: Law
    loss: Loss


class RecordStep(Struct, frozen=True):
    """A record-level table as it will be made. ``rows``: so many rows of a unit are kept.

    ``loss`` is that of one unit: ``rows`` times the sum of the columns' losses.
    """

    perturb: Perturb
    responses: tuple[Response, ...]
    rows: int
    loss: Loss


# --- what an engine is asked, and what comes out ------------------------------------------------


class RecordRequest(Struct, frozen=True):
    """The codes of all records of a source, in any order: none is left out but by ``bound``.

    ``columns`` are read in order: a label's number or -1, a grid integer that is never missing.
    ``bound``, where units have many rows: ``rows`` of each unit are kept (as of any request whose
    records all lie in one cell).
    """

    source: Source
    inputs: tuple[InputColumn, ...]
    columns: tuple[Group | Quantity, ...]
    bound: Bound | None = None


class ExactRecords:
    """A stream of batches of exact codes: one int64 array for each column, all of equal length.

    Private: seen by engines and ``record_draws`` only. It shows nothing of itself.
    """

    __slots__ = ("_batches",)

    def __init__(self, batches: Iterator[tuple[Codes, ...]]) -> None:
        self._batches = batches

    def reveal(self) -> Iterator[tuple[Codes, ...]]:
        """Return the batches, which can be taken once; for ``perturb`` and tests only."""
        return self._batches

    def __repr__(self) -> str:
        return "<ExactRecords: private>"

    def __reduce__(self) -> str:
        raise TypeError("exact records can't be pickled")


class Tally(Struct, frozen=True):
    """Counts of a record-level table, from which its estimates are made. Public.

    ``rows`` is the number of records. ``labels[column][i]`` is how many answers hold label i.
    ``sums[column]`` is the exact sum of what the answers of a numeric column stand for, in grid
    integers. ``pairs[(first, second)][i][j]`` is how many records hold label i of the first and
    label j of the second column.
    """

    rows: int
    labels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sums: Mapping[str, Fraction] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], tuple[tuple[int, ...], ...]] = field(default_factory=dict)


class StoredTable(Struct, frozen=True):
    """A record-level table that was drawn and kept: where, in which format, and its digest."""

    path: str
    format: str  # "csv" | "parquet"
    sha256: str
    size: int  # bytes
    tally: Tally
