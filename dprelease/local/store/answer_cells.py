"""Cells and columns of a record-level table: the same values in CSV and in Parquet.

Labels are written as those of other tables are: with one label to a cell a column has its declared
type in Parquet if all its labels fit it, else it is text. Sets of labels are text. A number is
written in plain notation, with as many places in every cell as its column needs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import comb

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import (
    About,
    ColumnType,
    Grid,
    OutputColumn,
    OutputTable,
    Plan,
    RecordStep,
    StoredTable,
)
from dprelease.model.record_tables import LaplaceLaw, Response, SubsetLaw, Window, WindowLaw
from dprelease.output.csv_table import FORMULA, escape_formula
from dprelease.output.key_types import KeyValue, choose_published_type, convert_labels
from dprelease.output.table_files import RecordFile
from dprelease.postprocess.intervals.fixed_point import count_decimals, write_fixed_point

SEPARATORS = "|;/&~^#%!?:*_., "
DOUBLE_DIGITS = 10**15  # whole numbers up to here come back from doubles, scaled by a power of ten
WHOLE = 2**63 - 1
MOST_SETS = 1 << 14  # of more sets than that, a cell is written as the numbers of its labels
DECIMAL_DIGITS = 10**38 - 1
REACH = 64  # scales: of Laplace noise, e^-64 of the draws are beyond


class LabelCells(Struct, frozen=True):
    """Cells that hold one label, or ``size`` of them in declared order with a separator between.

    Without a separator a set is written as the numbers of its labels, counted from 1 in declared
    order: rising, a blank between, all equally wide. That is for sets of which there are very many.
    ``values`` are the labels by ``type``, in order: what Parquet holds if ``size`` is 1.
    """

    labels: tuple[str, ...]
    size: int
    separator: str | None  # None with size 1, and of numbers
    type: ColumnType
    values: tuple[KeyValue, ...]

    @property
    def is_numbered(self) -> bool:
        """True if a cell holds the numbers of labels."""
        return self.size > 1 and self.separator is None

    @property
    def wide(self) -> int:
        """The number of digits in the number of a label."""
        return len(str(len(self.labels)))

    @property
    def csv_labels(self) -> tuple[str, ...]:
        """The labels as they begin a CSV cell, escaped if a spreadsheet would run them."""
        if self.type is not ColumnType.STRING:
            return self.labels
        return tuple(map(escape_formula, self.labels))


class NumberCells(Struct, frozen=True):
    """Cells that hold a decimal of ``places`` places, and what each grid integer k or level says.

    A cell is ``m * 10^-places`` for an integer m. Laplace: m = k * ``factor``. Windows: m is
    ``levels[j]`` for the level number j, where two levels can stand for the same. ``parquet``:
    "int64", "double" (nearest to the decimal; it comes back exactly), "decimal" of 38 digits.
    """

    places: int
    factor: int
    levels: tuple[int, ...] | None
    parquet: str

    def write_number(self, scaled: int) -> str:
        """Write the decimal of m."""
        return write_fixed_point(scaled, self.places)


Cells = LabelCells | NumberCells


def choose_cells(response: Response) -> Cells:
    """Choose how the cells of a column are written.

    Args:
        response: The column with its law.

    Returns:
        Cells of labels, or of decimals with their number of places.

    Raises:
        ValueError: The law does not fit the column, or its numbers are too large for a table.
    """
    law = response.law
    if isinstance(law, SubsetLaw):
        return _choose_label_cells(response, law)
    grid = get_grid(response)
    if isinstance(law, WindowLaw):
        return _choose_level_cells(list_level_values(law, grid), grid.step)
    return _choose_grid_cells(law, grid)


def get_grid(response: Response) -> Grid:
    """Return the grid of a numeric column.

    Args:
        response: The column with its law.

    Returns:
        The grid of its values.

    Raises:
        ValueError: The column has no bounds, and so no grid.
    """
    if response.column.quantity is None:
        raise ValueError("the law of numbers for a column without bounds")
    return response.column.quantity.grid


def choose_separator(labels: Sequence[str]) -> str:
    """Choose a character that no label holds and with which no formula begins.

    Raises ValueError where every character is taken.
    """
    characters = frozenset(chain.from_iterable(labels)) | frozenset(FORMULA)
    for symbol in chain(SEPARATORS, _iter_other_characters()):
        if symbol not in characters:
            return symbol
    raise ValueError("the labels hold every character that could stand between them")


def _iter_other_characters() -> Iterator[str]:
    """Iterate over symbols beyond ASCII that Unicode normalization leaves as they are."""
    for point in range(0xA1, 0x3000):
        char = chr(point)
        stable = all(unicodedata.normalize(form, char) == char for form in ("NFC", "NFKC"))
        if stable and unicodedata.category(char)[0] in "SP" and not unicodedata.combining(char):
            yield char


def list_level_values(law: WindowLaw, grid: Grid) -> tuple[Fraction, ...]:
    """List what each level stands for, in grid integers: the first window's, then the second's."""
    windows = [law.first] if law.second is None else [law.first, law.second]
    return tuple(value for window in windows for value in _iter_levels(window, grid))


def _iter_levels(window: Window, grid: Grid) -> Iterator[Fraction]:
    middle = Fraction(grid.lower + grid.upper, 2)
    half_gap = window.gap * Fraction(grid.upper - grid.lower, 4)
    for level in range(window.levels):
        yield middle + (2 * level - (window.levels - 1)) * half_gap


def _choose_label_cells(response: Response, law: SubsetLaw) -> LabelCells:
    group = response.column.group
    if group is None or len(group.labels) != law.labels:
        raise ValueError("the law of labels for a column that has not so many")
    if law.size > 1:
        # With very many sets, a table of all of them would be too large to look cells up in.
        numbered = comb(law.labels, law.size) > MOST_SETS
        between = None if numbered else choose_separator(group.labels)
        return LabelCells(group.labels, law.size, between, ColumnType.STRING, group.labels)
    # of bins the labels are texts, whatever the column's type is
    kind = ColumnType.STRING if group.edges is not None else group.type
    column = OutputColumn(response.column.name, "key", group.labels, "", type=kind)
    if choose_published_type(column) is ColumnType.STRING:
        return LabelCells(group.labels, 1, None, ColumnType.STRING, group.labels)
    kind, values = convert_labels(column)
    return LabelCells(group.labels, 1, None, kind, tuple(values[label] for label in group.labels))


def _choose_level_cells(values: Sequence[Fraction], step: Fraction) -> NumberCells:
    exact = [value * step for value in values]
    places = max(map(count_decimals, exact))
    scaled = tuple(int(number * 10**places) for number in exact)
    return NumberCells(places, 0, scaled, _choose_parquet_type(max(map(abs, scaled)), places))


def _choose_grid_cells(law: LaplaceLaw, grid: Grid) -> NumberCells:
    places = count_decimals(grid.step)
    factor = int(grid.step * 10**places)
    # The type holds every draw but those with a chance of e^-64: a table has one type a column.
    reach = grid.magnitude + int(REACH * law.scale) + REACH
    return NumberCells(places, factor, None, _choose_parquet_type(reach * factor, places))


def _choose_parquet_type(reach: int, places: int) -> str:
    if places == 0 and reach <= WHOLE:
        return "int64"
    if places > 0 and reach <= DOUBLE_DIGITS:
        return "double"
    if reach <= DECIMAL_DIGITS and places <= 38:
        return "decimal"
    raise ValueError("the noise is too large for a table's numbers")


def describe_table(step: RecordStep, about: About) -> OutputTable:
    """Describe a record-level table.

    Args:
        step: The table's columns with their laws.
        about: The release; gives the title.

    Returns:
        The table without rows: for each column its description and, for labels, the values that
        it can hold.
    """
    columns = tuple(_describe_column(response) for response in step.responses)
    return OutputTable(step.perturb.name, columns, about.title or about.name)


def list_record_files(plan: Plan, stored: Mapping[str, StoredTable]) -> list[RecordFile]:
    """List the files of a plan's record-level tables, with their published titles.

    Args:
        plan: The plan of a release.
        stored: Its drawn tables, by name.
    """
    about, titles = plan.release.about, plan.release.names.tables
    tables = [describe_table(step, about) for step in plan.records]
    return [
        RecordFile(replace(table, title=titles.get(table.name, table.title)), stored[table.name])
        for table in tables
    ]


def _describe_column(response: Response) -> OutputColumn:
    name, cells = response.column.name, choose_cells(response)
    if not isinstance(cells, LabelCells):
        words = f"{name} of one record, with noise of its own ({response.mechanism})"
        kind = "number" if cells.places else "integer"
        return OutputColumn(name, kind, (), words, decimals=cells.places)
    if cells.is_numbered:
        words = (
            f"numbers of {cells.size} of the {len(cells.labels)} labels of {name}, counted from 1 "
            "in declared order: the true one is more often among them than any other"
        )
        return OutputColumn(name, "text", (), words)
    if cells.size > 1:
        words = (
            f'{cells.size} of the {len(cells.labels)} labels of {name}, with "{cells.separator}" '
            "between them: the true one is more often among them than any other"
        )
        return OutputColumn(name, "text", cells.labels, words)
    words = f"{name} of one record, or another label in its place ({response.mechanism})"
    return OutputColumn(name, "label", cells.labels, words, type=cells.type)
