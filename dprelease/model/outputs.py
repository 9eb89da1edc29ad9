"""What is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from dprelease.frozen import dataclass
from dprelease.model.columns import ColumnType


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What people read of a published column in place of its name and keys; its file keeps those.

    ``labels`` are texts for keys; ``bins`` is the type of the edges where keys are bins.
    ``decimals``: so many are shown of a figure. The title is that of the whole query.
    """

    title: str | None = None
    unit: str | None = None
    decimals: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bins: ColumnType | None = None


AS_WRITTEN = ColumnNames()


@dataclass(frozen=True, slots=True)
class Names:
    """All names for people of a spec: by column, by query, and the titles of tables."""

    columns: Mapping[str, ColumnNames] = field(default_factory=dict)
    queries: Mapping[str, ColumnNames] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


NO_NAMES = Names()


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a published table. ``kind``: "key", "integer", "number" or "text".

    "edge" is a number too, and no figure: where a bin begins or ends.
    Of a table of records also "label", which is no key, and whose values are all that may occur.
    The values of a "number" or "edge" column are fixed-point integers: ``v`` stands for
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
    names: ColumnNames = AS_WRITTEN


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
