"""Noisy columns as Arrow arrays: the cells of a record-level table, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dprelease.local.cells import Cells, LabelCells, NumberCells
from dprelease.model import ColumnType
from dprelease.output.csv_table import field

if TYPE_CHECKING:
    import numpy.typing as npt

    Noisy = npt.NDArray[Any]

Maker = Callable[["Noisy"], pa.Array]

_TYPES = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
    ColumnType.STRING: pa.string(),
}
_PLAIN = 6  # Arrow writes decimals of more places with an exponent where they are small


def parquet_type(cells: Cells) -> pa.DataType:
    """The Arrow type of a column in Parquet."""
    if isinstance(cells, LabelCells):
        return _TYPES[cells.type] if cells.size == 1 else pa.string()
    if cells.parquet == "int64":
        return pa.int64()
    return pa.float64() if cells.parquet == "double" else pa.decimal128(38, cells.places)


def for_parquet(cells: Cells) -> Maker:
    """What turns a noisy column into its values in Parquet."""
    if isinstance(cells, LabelCells):
        if cells.size > 1:
            return _sets(cells, cells.labels, quoted=False)
        return _looked_up(pa.array(cells.values, type=parquet_type(cells)))
    if cells.levels is not None:
        return _looked_up(number_array(cells, cells.levels))
    return _numbers(cells)


def for_csv(cells: Cells) -> Maker:
    """What turns a noisy column into the fields of a CSV file, quoted where they must be."""
    if isinstance(cells, LabelCells):
        if cells.size > 1:
            return _sets(cells, cells.csv_labels, quoted=True)
        return _looked_up(pa.array([field(each) for each in cells.csv_labels], type=pa.string()))
    if cells.levels is not None:
        return _looked_up(pa.array([cells.text(each) for each in cells.levels], type=pa.string()))
    return _texts(cells)


def number_array(cells: NumberCells, scaled: Iterable[int]) -> pa.Array:
    """Cells of a numeric column as Parquet has them, one by one."""
    return pa.array([_value(cells, each) for each in scaled], type=parquet_type(cells))


def _value(cells: NumberCells, scaled: int) -> int | float | Decimal:
    if cells.parquet == "int64":
        return scaled
    if cells.parquet == "double":
        return float(Fraction(scaled, 10**cells.places))
    return Decimal(cells.text(scaled))  # of any number of digits, as arithmetic is not


def _looked_up(values: pa.Array) -> Maker:
    return lambda noisy: values.take(pa.array(noisy.reshape(-1)))


# --- sets of labels ------------------------------------------------------------------------------


def _sets(cells: LabelCells, firsts: Sequence[str], *, quoted: bool) -> Maker:
    """Sets as texts. ``firsts``: the labels as they begin a text."""
    if cells.numbered:
        return _numbered(cells)
    return _tabulated(cells, firsts, quoted=quoted)


def _numbered(cells: LabelCells) -> Maker:
    """The numbers of the labels, a blank between; all texts are equally long."""
    wide = cells.wide + 1
    words = "".join(f"{number:0{cells.wide}d} " for number in range(1, len(cells.labels) + 1))
    items = np.frombuffer(words.encode(), dtype=np.dtype((np.void, wide)))
    length = cells.size * wide - 1  # without the blank after the last

    def make(noisy: Noisy) -> pa.Array:
        texts = items.take(noisy.reshape(-1)).view(np.uint8).reshape(len(noisy), -1)
        offsets = np.arange(len(noisy) + 1, dtype=np.int32) * length
        content = np.ascontiguousarray(texts[:, :length])
        return pa.StringArray.from_buffers(
            len(noisy), pa.py_buffer(offsets), pa.py_buffer(content.reshape(-1))
        )

    return make


def _tabulated(cells: LabelCells, firsts: Sequence[str], *, quoted: bool) -> Maker:
    """Texts by the rank of the set among all sets of its size, in colexicographic order."""
    number, size = len(cells.labels), cells.size
    ranks = np.array([[comb(at, place + 1) for at in range(number)] for place in range(size)])
    texts = [""] * comb(number, size)
    for chosen in combinations(range(number), size):
        first, *rest = chosen
        words = [firsts[first], *(cells.labels[each] for each in rest)]
        text = (cells.separator or "").join(words)
        rank = sum(comb(at, place + 1) for place, at in enumerate(chosen))
        texts[rank] = field(text) if quoted else text
    table = pa.array(texts, type=pa.string())

    def make(noisy: Noisy) -> pa.Array:
        rank = sum(ranks[place][noisy[:, place]] for place in range(size))
        return table.take(pa.array(rank))

    return make


# --- numbers -------------------------------------------------------------------------------------


def _numbers(cells: NumberCells) -> Maker:
    if cells.parquet == "int64":
        return lambda noisy: pa.array(noisy * cells.factor)
    if cells.parquet == "double":
        # both are exact in a double, so that the quotient is the double nearest to the decimal
        return lambda noisy: pa.array((noisy * cells.factor).astype(np.float64) / 10**cells.places)
    return lambda noisy: number_array(cells, (each * cells.factor for each in noisy.tolist()))


def _texts(cells: NumberCells) -> Maker:
    fits = cells.parquet in {"int64", "double"}
    if fits and cells.places == 0:
        return lambda noisy: pa.array(noisy * cells.factor).cast(pa.string())
    if fits and cells.places <= _PLAIN:
        kind = pa.decimal128(38, cells.places)
        return lambda noisy: _decimals(noisy * cells.factor, kind).cast(pa.string())
    return lambda noisy: pa.array(
        [cells.text(each * cells.factor) for each in noisy.tolist()], type=pa.string()
    )


def _decimals(scaled: Noisy, kind: pa.Decimal128Type) -> pa.Array:
    """Whole numbers of the last place as decimals: 128 bits each, the sign in the upper half."""
    halves = np.empty((len(scaled), 2), dtype=np.int64)
    halves[:, 0] = scaled
    halves[:, 1] = scaled >> 63
    return pa.Array.from_buffers(kind, len(scaled), [None, pa.py_buffer(halves.tobytes())])
