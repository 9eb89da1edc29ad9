"""What is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from dprelease.model.columns import ColumnType
from dprelease.model.queries import name_column
from dprelease.model.sentences import Text


class ColumnNames(Struct, frozen=True):
    """Texts shown in place of a published column's name and keys; its file keeps those.

    ``labels`` are texts for keys; ``bins`` is the type of the edges where keys are bins.
    ``decimals``: so many are shown of a figure. Title and description are those of the whole query.
    """

    title: str | None = None
    unit: str | None = None
    decimals: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bins: ColumnType | None = None
    description: str | None = None


AS_WRITTEN = ColumnNames()


class Names(Struct, frozen=True):
    """All names for people of a spec: by column, by query, and the titles of tables."""

    columns: Mapping[str, ColumnNames] = field(default_factory=dict)
    queries: Mapping[str, ColumnNames] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)

    def get_description(self, query: str) -> str | None:
        """Return what the spec says of a query, with a full stop: its definition follows."""
        text = self.queries.get(name_column(query), AS_WRITTEN).description
        return text if text is None or text.endswith((".", "!", "?", "\u2026")) else f"{text}."


NO_NAMES = Names()


BESIDE = ("_noise_moe", "_rank_moe", "_flag", "_low", "_high")
"""Endings of the columns that say how exact a figure is; the figure's name stands before."""


OK, UNRELIABLE, SUPPRESSED, BOUNDED = "ok", "low_reliability", "suppressed", "bounded"
"""Words of a flag of a figure: bounded besides ok (then alone) or besides low_reliability."""


def split_flag(flag: object) -> frozenset[str]:
    """Split a flag into its words; none where a figure is not judged."""
    return frozenset(str(flag or "").split())


def is_weak(flag: object) -> bool:
    """Tell if a flag calls the figure unreliable or suppressed."""
    return not split_flag(flag).isdisjoint((UNRELIABLE, SUPPRESSED))


def name_suffix(column: str, query: str | None) -> str:
    """Return what follows the query's name in a column's name; "" without a query."""
    # A query may be named like a column of another one: only what follows its own name tells what
    # its column is.
    return "" if query is None else column.removeprefix(name_column(query))


def get_ending(column: str, query: str | None) -> str:
    """Get the ending of `BESIDE` of a column that describes a figure; "" for keys and figures."""
    suffix = name_suffix(column, query)
    return next((ending for ending in BESIDE if suffix.endswith(ending)), "")


def place_columns(columns: Sequence[tuple[str, str | None]]) -> dict[int, dict[str, int]]:
    """Find the figures and keys of a table, and the columns that describe each figure.

    Args:
        columns: Name of each column of the table, with its query if it has one.

    Returns:
        Places of the columns that stand for themselves, in order; each with the places of those
        that describe it, by ending of `BESIDE`.
    """
    places = {(query, name): place for place, (name, query) in enumerate(columns)}
    # An ending alone does not make a column describe a figure: that figure must be there too.
    owners: dict[int, tuple[int, str]] = {}
    for place, (name, query) in enumerate(columns):
        ending = get_ending(name, query)
        owner = places.get((query, name.removesuffix(ending))) if ending else None
        if owner is not None:
            owners[place] = owner, ending
    beside: dict[int, dict[str, int]] = {
        place: {} for place in range(len(columns)) if place not in owners
    }
    for place, (owner, ending) in owners.items():
        if owner in beside:
            beside[owner][ending] = place
    return beside


class OutputColumn(Struct, frozen=True):
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
    description: Text
    decimals: int = 0
    query: str | None = None
    type: ColumnType | None = None  # of a key
    names: ColumnNames = AS_WRITTEN

    @property
    def suffix(self) -> str:
        """Part of the column's name after that of the query; "" without a query."""
        return name_suffix(self.name, self.query)

    @property
    def aspect(self) -> str:
        """Ending of `BESIDE` of a column that describes a figure; "" for others."""
        return get_ending(self.name, self.query)

    @property
    def figure(self) -> str:
        """Name of the described figure; the column's own name if it is a figure."""
        return self.name.removesuffix(self.aspect)


class OutputTable(Struct, frozen=True):
    """A published table: rows in declared key order, all cells of the public domain present."""

    name: str
    columns: tuple[OutputColumn, ...]
    title: str = ""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0
