"""The exact table of a request, added up from the answers of its parts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dprelease.engines.duckdb.group_keys import Labels, build_labeller
from dprelease.model import AggregateRequest, ExactTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = tuple[Any, ...]
CHUNK = 100_000  # rows fetched at once where there may be very many


class Tallies(Protocol):
    """Sums of the answers of parts that share no record.

    An answer that fails while it is fetched adds nothing but keys that occur.
    """

    def add(self, answer: DuckDBPyConnection, places: Sequence[int]) -> int:
        """Fetch an answer and add it up.

        Args:
            answer: The answer to a statement of ``measures``.
            places: Places of the measures in it, among those of the request.

        Returns:
            The number of records of the answer.
        """
        ...

    def build_table(self) -> ExactTable:
        """Build the exact table of everything that was added."""
        ...


def build_tallies(request: AggregateRequest) -> Tallies:
    """Build the tallies that add up the answers to the request."""
    if request.points is not None:
        return KeyedPoints(request) if request.private else Points()
    return Counts(request)


class Counts:
    """Counts of every public cell in order, zero where no record lies.

    With private keys, of every combination of labels that occurs, in the order in which they were
    met.
    """

    def __init__(self, request: AggregateRequest) -> None:
        self.scored = request.scores is not None
        self.candidates = 1 if request.scores is None else len(request.scores.texts)
        self.labels = build_labeller(request.groups) if request.private else None
        self.places: dict[Labels, int] = {}
        size = 0 if request.private else request.cells * self.candidates
        columns = 1 if self.scored else len(request.measures)
        self.columns = [[0] * size for _ in range(columns)]

    def add(self, answer: DuckDBPyConnection, places: Sequence[int]) -> int:
        """See ``Tallies``."""
        records, starts = 0, array("q")
        values: list[list[int]] = [[] for _ in places]
        while rows := answer.fetchmany(CHUNK):
            records += sum(row[1] or 0 for row in rows)
            real = [row for row in rows if row[0] is not None and row[0] >= 0]
            starts.extend(self._start(row, 2 + len(places)) for row in real)
            for at, column in enumerate(values, 2):
                column.extend(int(row[at] or 0) for row in real)
        # Add only now that all rows are there: the answer may run out of memory at its last row.
        for place, column in zip(places, values, strict=True):
            total = self.columns[place]
            for start, value in zip(starts, column, strict=True):
                total[start] += value
        return records

    def _start(self, row: Row, end: int) -> int:
        """Find where the counts of a row are added; ``end`` is where those in the row end."""
        place = row[0]
        if self.labels is not None:
            labels = self.labels(row[0], row[end + self.scored :])
            place = self.places.setdefault(labels, len(self.places))
            if place * self.candidates == len(self.columns[0] if self.columns else ()):
                for column in self.columns:
                    column.extend([0] * self.candidates)
        return int(place * self.candidates + (row[end] if self.scored else 0))

    def build_table(self) -> ExactTable:
        """See ``Tallies``."""
        return ExactTable(self.columns, list(self.places))


class Points:
    """Cells, grid integers and the count of each, sorted once all are there."""

    def __init__(self) -> None:
        self.columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])

    def add(self, answer: DuckDBPyConnection, places: Sequence[int]) -> int:
        """See ``Tallies``."""
        fetched = answer.fetchnumpy()
        cells = fetched["cell"]
        real = cells >= 0
        for column, name in zip(self.columns, ("cell", "point", "often"), strict=True):
            column.append(fetched[name][real])
        return int(fetched["records"].sum()) if len(cells) else 0

    def build_table(self) -> ExactTable:
        """See ``Tallies``."""
        return ExactTable(_sort_points(*self.columns))


class KeyedPoints:
    """Points in the cells of the labels that occur, in the order in which these were met."""

    def __init__(self, request: AggregateRequest) -> None:
        self.labels = build_labeller(request.groups)
        self.places: dict[Labels, int] = {}
        self.columns = tuple(array("q") for _ in range(3))

    def add(self, answer: DuckDBPyConnection, places: Sequence[int]) -> int:
        """See ``Tallies``."""
        records, triples = 0, tuple(array("q") for _ in range(3))
        while rows := answer.fetchmany(CHUNK):
            for cell, own, point, often, *keys in rows:
                records += own or 0
                if cell < 0:
                    continue
                place = self.places.setdefault(self.labels(cell, keys), len(self.places))
                if point is not None:
                    for column, value in zip(triples, (place, point, often), strict=True):
                        column.append(value)
        for total, column in zip(self.columns, triples, strict=True):
            total.extend(column)
        return records

    def build_table(self) -> ExactTable:
        """See ``Tallies``."""
        import numpy as np

        columns = [[np.frombuffer(column, np.int64)] for column in self.columns]
        return ExactTable(_sort_points(*columns), list(self.places))


def _sort_points(
    cells: list[Any], points: list[Any], counts: list[Any]
) -> tuple[Sequence[int], ...]:
    """Sort points in rising order and add up the counts of equal ones; empties the lists."""
    import numpy as np

    columns = []
    for pieces in (cells, points, counts):
        columns.append(np.concatenate([np.zeros(0, np.int64), *pieces]))
        pieces.clear()
    order = np.lexsort((columns[1], columns[0]))
    for place, column in enumerate(columns):
        columns[place] = column[order]
    cell, point, often = columns
    if len(cell):
        new = np.concatenate([[True], (np.diff(cell) != 0) | (np.diff(point) != 0)])
        starts = np.flatnonzero(new)
        cell, point, often = cell[starts], point[starts], np.add.reduceat(often, starts)
    return tuple(_pack_integers(column) for column in (cell, point, often))


def _pack_integers(column: Any) -> Sequence[int]:
    """Pack integers into a compact array that returns Python ints."""
    integers = array("q")
    integers.frombytes(memoryview(column).cast("B"))
    return integers
