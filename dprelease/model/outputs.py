"""What is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dprelease.model.columns import ColumnType


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a published table. ``kind``: "key", "integer", "number" or "text".

    Of a table of records also "label", which is no key, and whose values are all that may occur.
    The values of a "number" column are fixed-point integers: ``v`` stands for
    ``v * 10**-decimals``, and exactly ``decimals`` places are printed.
    None is a missing value. ``query`` names the query it belongs to, if any.
    """

    name: str
    kind: str
    values: Sequence[str | int | None]
    description: str
    decimals: int = 0
    query: str | None = None
    type: ColumnType | None = None  # of a key


@dataclass(frozen=True, slots=True)
class OutputTable:
    """A published table: rows in declared key order, all cells of the public domain present."""

    name: str
    columns: tuple[OutputColumn, ...]
    title: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0
