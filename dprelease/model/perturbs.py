"""What a spec asks of record-level tables in the local model: ``[[perturb]]``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dprelease.model.queries import Group
from dprelease.model.requests import Quantity


class Mechanism(StrEnum):
    """How a column is perturbed. AUTO: the one with the least error."""

    AUTO = "auto"
    RANDOMIZED_RESPONSE = "randomized-response"
    SUBSET_SELECTION = "subset-selection"
    LAPLACE = "laplace"
    PIECEWISE = "piecewise"


@dataclass(frozen=True, slots=True)
class PerturbedColumn:
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


@dataclass(frozen=True, slots=True)
class Perturb:
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
