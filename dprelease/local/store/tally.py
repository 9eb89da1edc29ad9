"""Counts over a record-level table: batches of noisy columns in, a ``Tally`` out.

Everything is counted exactly, in memory that does not depend on the number of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from dprelease.local.store.answer_cells import get_grid, list_level_values
from dprelease.model.record_tables import LaplaceLaw, RecordStep, SubsetLaw, Tally, WindowLaw

MOST_CELLS = 100
MOST_PAIRS = 10
_BLOCK = 1 << 15  # records; as floats of 32 bits their counts are exact
_PAIRINGS = 25  # so many counts of codes are cheaper than a product of matrices
_LOW = (1 << 32) - 1

Noisy = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
Marks = npt.NDArray[np.float32]


def choose_pairs(step: RecordStep) -> tuple[tuple[str, str], ...]:
    """Choose the pairs of labelled columns whose cross tables are counted.

    Args:
        step: The table's columns with their laws.

    Returns:
        The first 10 pairs of names whose cross table has at most 100 cells.
    """
    labelled = [response for response in step.responses if isinstance(response.law, SubsetLaw)]
    pairs = [
        (first.column.name, second.column.name)
        for first, second in combinations(labelled, 2)
        if _count_width(first.law) * _count_width(second.law) <= MOST_CELLS
    ]
    return tuple(pairs[:MOST_PAIRS])


class Tallier:
    """Adds batches up. ``pairs``: of which columns with labels the cross tables are counted.

    A batch has one array for each response of the step: for labels (n, size) label numbers, each
    row without repetition; for Laplace noise n grid integers; for windows n level numbers.
    Raises ValueError when a pair names a column that has no labels, or one column twice.
    """

    def __init__(self, step: RecordStep, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._responses = step.responses
        self._rows = 0
        self._sums = [0] * len(step.responses)
        self._counts = [
            np.zeros(_count_width(response.law), dtype=np.int64) for response in step.responses
        ]
        places = {response.column.name: place for place, response in enumerate(step.responses)}
        self._pairs = {pair: (places.get(pair[0], -1), places.get(pair[1], -1)) for pair in pairs}
        self._tables: dict[tuple[str, str], Counts] = {}
        for pair, (first, second) in self._pairs.items():
            if min(first, second) < 0 or first == second:
                raise ValueError("a pair is two columns of the table")
            laws = step.responses[first].law, step.responses[second].law
            if not all(isinstance(law, SubsetLaw) for law in laws):
                raise ValueError("a column of a pair has no labels")
            self._tables[pair] = np.zeros(
                (_count_width(laws[0]), _count_width(laws[1])), dtype=np.int64
            )

    def add(self, columns: Sequence[Noisy]) -> None:
        """Count one more batch."""
        rows = len(columns[0])
        if any(len(column) != rows for column in columns):
            raise ValueError("columns of unlike lengths")
        self._rows += rows
        for place, (response, noisy) in enumerate(zip(self._responses, columns, strict=True)):
            if isinstance(response.law, LaplaceLaw):
                self._sums[place] += _sum(noisy)
            else:
                counts = self._counts[place]
                counts += np.bincount(noisy.ravel(), minlength=len(counts))
        if self._pairs:
            for start in range(0, rows, _BLOCK):
                self._add_pairs([column[start : start + _BLOCK] for column in columns])

    def tally(self) -> Tally:
        """Return the counts so far."""
        labels: dict[str, tuple[int, ...]] = {}
        sums = {}
        for place, response in enumerate(self._responses):
            name, law, counts = response.column.name, response.law, self._counts[place].tolist()
            if isinstance(law, SubsetLaw):
                labels[name] = tuple(counts)
            elif isinstance(law, WindowLaw):
                values = list_level_values(law, get_grid(response))
                sums[name] = sum(map(mul, counts, values), Fraction(0))
            else:
                sums[name] = Fraction(self._sums[place])
        tables = {
            pair: tuple(tuple(row) for row in table.tolist())
            for pair, table in self._tables.items()
        }
        return Tally(self._rows, labels, sums, tables)

    def _add_pairs(self, columns: Sequence[Noisy]) -> None:
        marks: dict[int, Marks] = {}
        for pair, (first_name, second_name) in self._pairs.items():
            table = self._tables[pair]
            first, second = columns[first_name], columns[second_name]
            # Small sets are counted label by label; for large ones a product of matrices is faster.
            if first.shape[1] * second.shape[1] <= _PAIRINGS:
                table += _count_pairs(first, second, table.shape)
                continue
            for place, width in ((first_name, table.shape[0]), (second_name, table.shape[1])):
                if place not in marks:
                    marks[place] = _mark_labels(columns[place], width)
            table += (marks[first_name].T @ marks[second_name]).astype(np.int64)


def _count_width(law: object) -> int:
    """Return how many labels or levels are counted."""
    if isinstance(law, SubsetLaw):
        return law.labels
    if isinstance(law, WindowLaw):
        return law.first.levels + (law.second.levels if law.second else 0)
    return 0


def _sum(values: Noisy) -> int:
    """Sum 64-bit integers exactly."""
    # The high and low halves are summed apart: neither can overflow 64 bits in a batch.
    return (int((values >> 32).sum()) << 32) + int((values & _LOW).sum())


def _count_pairs(first: Noisy, second: Noisy, shape: tuple[int, ...]) -> Counts:
    """Count how often each label of the first stands with each of the second."""
    total: Counts = np.zeros(shape, dtype=np.int64)
    for first_place in range(first.shape[1]):
        scaled = first[:, first_place].astype(np.int64) * shape[1]
        for second_place in range(second.shape[1]):
            joint = np.bincount(scaled + second[:, second_place], minlength=shape[0] * shape[1])
            total += joint.reshape(shape)
    return total


def _mark_labels(codes: Noisy, width: int) -> Marks:
    """Build a 0/1 matrix: a row for each record, a column for each label."""
    marks: Marks = np.zeros((len(codes), width), dtype=np.float32)
    starts = np.arange(0, len(codes) * width, width, dtype=np.int64)[:, None]
    marks.reshape(-1)[(starts + codes).ravel()] = 1
    return marks
