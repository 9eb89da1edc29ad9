"""Keys of a ``[[query]]`` that only some statistics take, and how a statistic reads its own."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from dprelease.model import Candidates, Clip, Column, Expression, Grid, Group, Part

T = TypeVar("T")


class Kind(Generic[T]):
    """A kind of values; ``specfile.schema.query_keys`` says how each is read."""


WHOLE_NUMBER = Kind[int]()
NUMBER_OF_VALUES = Kind[int]()
NUMBER = Kind[Fraction]()
POSITIVE_NUMBER = Kind[Fraction]()
BANDWIDTHS = Kind[tuple[Fraction, ...]]()
CURVE_POINTS = Kind[int | tuple[Fraction | tuple[Fraction, ...], ...]]()
QUANTILES = Kind[tuple[Fraction, ...]]()
LINE = Kind[str]()
EXPRESSION = Kind[str]()
VALUES = Kind[tuple[object, ...]]()
COLUMNS = Kind[tuple[str, ...]]()
SETS_OF_COLUMNS = Kind[tuple[tuple[str, ...], ...]]()
WAYS = Kind[tuple[int, ...]]()
WEIGHED_ALIKE = Kind[str]()
PART_OF_RATIO = Kind[object]()
CLIP_OF_PEOPLE = Kind[object]()


class ColumnUse(Enum):
    """How a statistic uses the column of its query."""

    NONE = "it has none"
    ANY = "it needs one, of any type"
    NUMBERS = "it computes with numbers in bounds"
    GROUPS = "its values are groups, the last of the query"
    CHOICES = "it chooses among its public values"
    CURVE = "it is a curve of the column, or a surface over two"

    @property
    def needs_column(self) -> bool:
        """Return True if a query must name one column."""
        return self not in {ColumnUse.NONE, ColumnUse.CURVE}

    @property
    def has_bins(self) -> bool:
        """Return True if values of the column are labels, which may be bins of the query's own."""
        return self in {ColumnUse.GROUPS, ColumnUse.CHOICES}

    @property
    def is_numeric(self) -> bool:
        """Return True if the column holds numbers in bounds."""
        return self in {ColumnUse.NUMBERS, ColumnUse.CURVE}


class OwnKey(NamedTuple, Generic[T]):
    """A key of a query that only some statistics take.

    ``meaning`` and ``absent`` (what holds where it is left out) are the words of the reference and
    of the JSON Schema. ``example`` is what a complaint proposes where a statistic needs the key;
    ``instead`` names a key that may stand in its place. ``has_columns``: its value names columns.
    """

    name: str
    kind: Kind[T]
    meaning: str
    absent: str = "-"
    example: str = "leave it out"
    instead: str = ""
    has_columns: bool = False


class Details(NamedTuple):
    """The values of a statistic's own keys; each is a field of ``Query``.

    ``own`` holds values of a statistic that has no such field: a frozen ``Struct`` of its file, of
    numbers and texts. Certify holds columns against the release in the other fields alone.
    """

    quantiles: tuple[Fraction, ...] = ()
    points: tuple[int, ...] | None = None
    picks: int = 1
    axis: Group | None = None
    candidates: Candidates | None = None
    numerator: Part | None = None
    denominator: Part | None = None
    among: Expression | None = None
    max_unreadable: Fraction | None = None
    own: Struct | None = None
    clip: Clip | None = None


class QueryReader(Protocol):
    """The reader of one ``[[query]]``, as a statistic uses it.

    A method that returns None for what is written has recorded a complaint. Complaints are placed
    at ``keys``, which lead from the query to a value.
    """

    @property
    def column(self) -> Column | None:
        """Return the query's column, if it has a usable one."""

    @property
    def axis(self) -> Group | None:
        """Return the group of its column, where it counts or chooses by the column's values."""

    def read_value(self, key: OwnKey[T]) -> T | None:
        """Read the value of a key.

        Args:
            key: One of the statistic's own keys.

        Returns:
            The value; None if the key is absent or its value was refused.
        """

    def read_where(self) -> str | None:
        """Read the text of the query's condition; None if there is none."""

    def read_condition(self, text: str | None, *keys: str | int) -> Expression | None:
        """Parse a condition.

        Args:
            text: The condition as written, or None.
            keys: The place of the condition below the query, for complaints.

        Returns:
            The parsed condition; None if there is none or it was refused.
        """

    def note_missing(self, key: str, hint: str) -> None:
        """Complain that a needed key is absent, unless it may only be misspelt.

        Args:
            key: The absent key.
            hint: What to write.
        """

    def complain(self, code: str, message: str, hint: str, *keys: str | int) -> None:
        """Complain of the value at some keys.

        Args:
            code: The code of the complaint.
            message: The problem.
            hint: The remedy.
            keys: The place of the value below the query.
        """

    def read_ratio_part(self, key: OwnKey[object]) -> Part | None:
        """Read the numerator or the denominator of a ratio.

        Args:
            key: The key of that part.

        Returns:
            The part; None if it was refused.
        """

    def read_clip(self) -> Clip | None:
        """Read what the totals of a person are scaled to: a norm, and its bound in grid steps."""

    def read_points(self, column: Column, grid: Grid) -> tuple[int, ...] | None:
        """Read the values that ``candidates`` or its file lists for a column.

        Args:
            column: The query's column.
            grid: The grid of that column.

        Returns:
            Grid integers; None if the list was refused.
        """

    def read_scored_candidates(self) -> Candidates | None:
        """Read the candidates and their score."""


# Keys of several statistics. A key of one statistic stands in its file.

BOUNDING = OwnKey(
    "bounding",
    CLIP_OF_PEOPLE,
    "of a sum or count: scales what a person adds to all groups, instead of limiting their rows",
    "the limits of `[privacy.bounding]`",
)
COLUMNS_OF_TABLES = OwnKey(
    "columns",
    COLUMNS,
    "of marginals instead of `attributes`: the columns to combine; of a density: the two "
    "columns of a surface; of a quality: those to look at, else all of the file but the unit's",
    example='write the columns to combine, such as columns = ["sex", "age"], and ways',
)
Q = OwnKey(
    "q",
    QUANTILES,
    "which quantiles, at most 100; median is 0.5, min 0.01, max 0.99; of cumulative: which to "
    "read from it",
    example="write q = 0.5, or a list such as q = [0.25, 0.5, 0.75]",
)
CANDIDATES = OwnKey(
    "candidates",
    VALUES,
    "numbers or texts that best chooses from, at most 1,000,000; or for a quantile: the "
    "values it may take, multiples of the step",
    example="list the values to choose from, numbers or texts; or write candidates_file",
    instead="candidates_file",
)
CANDIDATES_FILE = OwnKey(
    "candidates_file",
    LINE,
    "the same in a UTF-8 file below the spec's folder, one a line; a text that reads as a "
    'number stands in double quotes, such as `"01"`',
    example="a file with one candidate a line",
)
LISTS: tuple[OwnKey[Any], ...] = (CANDIDATES, CANDIDATES_FILE)
"""Keys that list the candidates."""
