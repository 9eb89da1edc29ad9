"""What an engine is asked, and what it answers: sources, measures, bounds, exact aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import prod

from msgspec import Struct, field

from dprelease.model.columns import ColumnType, Expression, Grid
from dprelease.model.queries import Candidates, Clip, Group
from dprelease.model.source_registry import SOURCES, Records


class Dialect(Struct, frozen=True):
    """Dialect of a CSV file; declared or defaulted, never sniffed.

    Numbers have the mark ``decimal``, and ``thousands`` between groups of three digits if it is not
    empty. A record has at most ``max_lines``: of more than one, line breaks stand between quotes.
    ``skip_rows`` lines stand before the header. ``unnamed_field``: "first" or "last" if each record
    has a field there that the header does not name.
    """

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ("",)
    header: bool = True
    names: tuple[str, ...] | None = None
    strip: bool = False
    decimal: str = "."
    thousands: str = ""
    max_lines: int = 1
    skip_rows: int = 0
    unnamed_field: str = ""


class Database(Struct, frozen=True):
    """A table or view of a database: ``table`` is its name, or those of its schema and itself.

    The environment variable ``uri_env`` has the URI. It holds secrets, so no value of ours does.
    """

    driver: str  # a registered one, such as "postgresql"
    uri_env: str
    table: tuple[str, ...]


class Source(Struct, frozen=True):
    """Place of the table: ``pattern`` is an absolute file, glob or directory, or a URI of one.

    Of a table of a ``database`` it is the name, as the spec writes it. ``own`` are the
    keys of its format alone that the spec has, with their values. ``must_end``: the last line of
    a CSV file must have its line feed, as the number of records is public.
    """

    pattern: str
    format: str  # a registered one, such as "csv"
    dialect: Dialect = field(default_factory=Dialect)
    database: Database | None = None
    own: tuple[tuple[str, str], ...] = ()
    must_end: bool = False

    def get_own(self, key: str) -> str | None:
        """Return the value of a key that the format alone takes; None if it is left out."""
        return dict(self.own).get(key)

    @property
    def remote(self) -> bool:
        """True for a URI or a database: no file of this machine is known to belong to it."""
        return self.database is not None or "://" in self.pattern

    @property
    def has_lines(self) -> bool:
        """True if line ends delimit records, whatever the records hold."""
        # Quotes delimit records of several lines.
        return self._records is Records.LINES and self.dialect.max_lines == 1

    @property
    def is_framed(self) -> bool:
        """True if rows or line ends delimit records, whatever the records hold."""
        return self.has_lines or self._records is Records.ROWS

    @property
    def has_fixed_records(self) -> bool:
        """True if no content of a record changes the number of records."""
        # An empty last line is a record only if it has a line feed.
        return self.is_framed and (self.must_end or not self.has_lines)

    @property
    def _records(self) -> Records:
        listed = SOURCES.get(self.format)
        # A doctored plan can name any format; of content the least is claimed.
        return Records.CONTENT if listed is None else listed.records


class MeasureKind(StrEnum):
    """Quantity that is counted or added up over the records of a cell.

    RECORDS: number of records; VALUES: number of records with a value; SUM: sum of their k;
    SQUARES: sum of their k squared; UNITS: number of distinct units; DISTINCT: number of distinct
    values of a column, nulls not counted.
    """

    RECORDS = "records"
    VALUES = "values"
    SUM = "sum"
    SQUARES = "squares"
    UNITS = "units"
    DISTINCT = "distinct"


class Quantity(Struct, frozen=True):
    """A numeric column put on its grid: ``k = clamp(round(x / step), lower, upper)``.

    Nulls, NaN and unreadable values become ``null_fill`` (a grid integer inside the bounds) or,
    when it is None, the record has no value. Infinities clamp to the bounds.
    """

    column: str
    grid: Grid
    null_fill: int | None = None


class Measure(Struct, frozen=True):
    """One exact integer for each cell, over the records of the cell for which ``where`` is true.

    With ``survey_weight`` (of RECORDS, VALUES and SUM) each record counts as often as its weight's
    grid integer says, and a record without a weight not at all: the sum of w, or of w k.
    """

    kind: MeasureKind
    quantity: Quantity | None = None
    where: Expression | None = None
    column: str | None = None  # of DISTINCT
    survey_weight: Quantity | None = None


class Bound(Struct, frozen=True):
    """Limits on one unit's rows before anything is counted; the choice is pseudo-random.

    All rows with the same value of ``column`` are one unit; rows without a value are dropped, or
    with ``null_unit`` are one unit of their own. Of the unit's rows that pass the request's filter
    and lie in a cell, ``rows`` are kept; of the cells these lie in ``groups``; in each cell
    ``per_group`` rows. A cell here is a combination of the first ``leading`` groups.

    Each of the three cuts is a systematic sample, in an order by cell and content, from a start
    that a hash of the salt and the unit gives: what is cut is kept with the same chance, whatever
    it is like (``dprelease.engines.duckdb.bounding_rule`` has the rule and the proofs). The
    choice is a function of the unit's own rows and the salt: the same whoever else is there, in
    every engine.

    With ``clip`` no row is left out, and the three limits are 0. Of the one measure each unit has a
    total in every cell; these are scaled as ``Clip`` says, and what remains is added up.
    """

    column: str
    rows: int
    groups: int
    per_group: int
    leading: int
    null_unit: bool = False
    salt: int = 0
    clip: Clip | None = None


class InputColumn(Struct, frozen=True):
    """A column that the request reads: from the file, or computed when ``expression`` is set.

    An ``opaque`` column may be of any physical type: its values are compared as texts. ``format``
    and ``zone`` are those of ``Column``.
    """

    name: str
    type: ColumnType
    expression: Expression | None = None
    opaque: bool = False
    format: str | None = None
    zone: str | None = None


class AggregateRequest(Struct, frozen=True):
    """One table of exact integers over the records for which ``where`` is true.

    Usually: each measure in every cell of the cross product of ``groups``, row-major. With a
    private group the cells are the combinations of labels that occur. With ``scores``: the
    sum of the score of each candidate in each cell, row-major, and no measures. With ``points``:
    how often each grid integer of the quantity occurs in each cell, and no measures; with
    ``survey_weight`` the sum of the weights above 0 there.
    UNITS needs ``bound``, or counts records: without one every record is a unit.
    """

    source: Source
    inputs: tuple[InputColumn, ...]
    groups: tuple[Group, ...]
    measures: tuple[Measure, ...]
    where: Expression | None = None
    bound: Bound | None = None
    scores: Candidates | None = None
    points: Quantity | None = None
    survey_weight: Quantity | None = None  # of points

    @property
    def cells(self) -> int:
        """Number of cells (1 when there are no groups); no group may be private."""
        return prod(len(group.labels) for group in self.groups)

    @property
    def private(self) -> bool:
        """True if a group has no public keys."""
        return any(group.private for group in self.groups)


class ExactTable:
    """Exact aggregates: one sequence of integers per measure, one integer per cell.

    Of ``scores``: one sequence, the candidates of the first cell first. Of ``points``: three of
    equal length, in rising order: the cell, the grid integer, how often it occurs.
    Of private groups also ``keys``: the labels of each combination that occurs, one per group, each
    combination once, in no particular order. Cells are then numbered as in ``keys``: a measure has
    one integer for each of them, ``scores`` has one for each of them and candidate, and the cell of
    a point is its place there. A combination occurs if a record that counts lies in it, whether or
    not that has a value or a score.
    Private. It shows nothing of itself, can't be pickled, and has no equality.
    """

    __slots__ = ("_keys", "_measures")

    def __init__(
        self, measures: Sequence[Sequence[int]], keys: Sequence[tuple[str, ...]] = ()
    ) -> None:
        self._measures = tuple(measures)
        self._keys = keys

    def reveal(self) -> tuple[Sequence[int], ...]:
        """Return the integers; for ``privatize`` and tests of engines only."""
        return self._measures

    def reveal_keys(self) -> Sequence[tuple[str, ...]]:
        """Return the keys that occur; for ``privatize`` and tests of engines only."""
        return self._keys

    def __repr__(self) -> str:
        return "<ExactTable: private>"

    def __reduce__(self) -> str:
        raise TypeError("exact aggregates are never serialised")
