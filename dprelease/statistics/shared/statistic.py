"""Statistics: what each says of itself, in one file and one line of the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from dprelease.model import (
    Adjacency,
    AxisMatrix,
    Column,
    Expression,
    Form,
    Grid,
    Group,
    Measure,
    Noise,
    OutputColumn,
    Quantity,
    Query,
    Read,
    Release,
    Sensitivity,
    Step,
)
from dprelease.model.sentences import Text, sentence
from dprelease.postprocess.intervals.fixed_point import write_decimal
from dprelease.postprocess.intervals.number_text import write_halfwidth
from dprelease.privacy.sensitivity import Contribution, Row, bound_addition, bound_replacement
from dprelease.statistics.shared.spec_keys import ColumnUse, Details, OwnKey, QueryReader

if TYPE_CHECKING:
    from dprelease.postprocess.intervals.fitted_count import CountTogether

ONE_ROW = Contribution(1, 1, 1)
RECORDS_FOR_EXAMPLE = 1000

Noisy = Sequence[Sequence[int]]
"""Released integers with noise: ``noisy[i][cell]``."""


class Released(Struct, frozen=True):
    """What a statistic has released of each cell, as ``Step`` describes it.

    NUMBERS: the integers ``transform @ measures``; ``unit[i]`` is the value of one integer step of
    released integer i. CHOICE: one row of ``transform`` makes the score of each candidate, in steps
    of ``unit[0]``; the row is empty where the scores are those of ``Query.candidates``.
    QUANTILES: no measures, but ``points`` and perhaps their ``survey_weight``; an empty row and a
    unit for each quantile.
    Of a count it is enough to give the measure.
    """

    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...] = ((1,),)
    unit: tuple[Fraction, ...] = (Fraction(1),)
    form: Form = Form.NUMBERS
    points: Quantity | None = None
    axes: tuple[AxisMatrix, ...] = ()
    survey_weight: Quantity | None = None


class Neighbours(Struct, frozen=True):
    """What two neighbouring tables differ in: one record, or one unit with all its rows.

    ``people``: the unit is a column's value, and has the rows that ``contribution`` allows.
    Otherwise it is a record: exactly one row, or if it ``may_be_missing``, one or none.
    """

    adjacency: Adjacency
    contribution: Contribution = ONE_ROW
    people: bool = False
    may_be_missing: bool = False

    def __post_init__(self) -> None:
        if not self.people and self.contribution != ONE_ROW:
            raise ValueError("a record is one row")

    @property
    def noun(self) -> str:
        """What comes and goes, in derivations."""
        return "words.person" if self.people else "words.record"


def read_neighbours(release: Release) -> Neighbours:
    """Read from the spec what neighbouring tables can differ in."""
    bounding = release.privacy.bounding
    if bounding is None:
        missing = not release.privacy.has_fixed_records
        return Neighbours(release.privacy.adjacency, may_be_missing=missing)
    limits = Contribution(bounding.rows, bounding.groups, bounding.per_group)
    return Neighbours(release.privacy.adjacency, limits, people=True)


BY_CHOICE = ("auto", "exponential")
"""Mechanisms of what is chosen rather than added up."""


class SpecKeys(NamedTuple):
    """What a statistic takes of a ``[[query]]``, and which mechanisms it can use.

    ``column``: what it does with the query's column; ``squares``: so few steps that their squares
    add up; ``where_is_numerator``: the condition is what it asks for, not a filter; ``tables_of``:
    it makes several tables, each of that statistic, and has no `by`; ``states``: these are by the
    states of fields; ``ordered``: the values of its column are in order, and `other` is none of
    them. Of the keys that only some statistics have it ``needs`` some and ``may`` take others.
    """

    column: ColumnUse = ColumnUse.NONE
    squares: bool = False
    where_is_numerator: bool = False
    tables_of: str = ""
    states: bool = False
    ordered: bool = False
    needs: tuple[OwnKey[Any], ...] = ()
    may: tuple[OwnKey[Any], ...] = ()
    mechanisms: tuple[str, ...] = ("auto", "laplace", "gaussian")

    @property
    def own(self) -> tuple[OwnKey[Any], ...]:
        """Its own keys, whether needed or not."""
        return tuple(dict.fromkeys((*self.needs, *self.may)))

    def has_key(self, name: str) -> bool:
        """Say whether a key of this name is one of its own."""
        return any(key.name == name for key in self.own)


class Sharing(NamedTuple):
    """How a statistic takes part in a release of sums that several statistics are read from.

    ``lead``: of those that share, the one with the largest leads. ``squared``: it needs the sums of
    squares; ``linear``: it is a linear function of the sums; ``counts_rows``: it needs no column.
    """

    lead: int
    squared: bool = False
    linear: bool = False
    counts_rows: bool = False


class SharedSums(Struct, frozen=True):
    """A release of the sums of a column: two, or with ``squared`` three; see ``shared``.

    ``step`` is its name, ``grid`` the column's. ``counts_nulls``: one more sum, the last, is that
    of records without a value; ``screens``: that one is taken as 0 where it may be noise.
    """

    step: str
    grid: Grid
    squared: bool
    counts_nulls: bool
    screens: bool

    @property
    def width(self) -> int:
        """What one record adds to all sums together."""
        return self.grid.width**2 if self.squared else self.grid.width

    @property
    def rows(self) -> tuple[int, ...]:
        """The places of the sums of values."""
        return tuple(range(3 if self.squared else 2))


class Hazard(NamedTuple):
    """A hazard of reading a statistic's figures, for the report's table of hazards.

    ``place``: where it stands among those of other statistics. The names of all ``subject`` that
    have the same hazard follow the note.
    """

    place: int
    title: Text
    note: Text
    subject: Text = ""


ESTIMATE = ("", "_noise_moe", "_flag")
"""Suffixes of the three columns of an estimate."""
INTERVAL = (*ESTIMATE, "_low", "_high")
"""Suffixes of an estimate with the ends of its interval, where not every value is possible."""


class Statistic(ABC):
    """A statistic: what it takes and releases, how far a neighbour can move it, how it is read.

    What most statistics say of themselves is said here; each says what differs.
    """

    name: str
    """Its name in the spec."""
    what = ""
    """What a figure is, in a few words."""
    what_weighted = ""
    """The same where records count by a survey weight; empty: they never do."""
    keys = SpecKeys()
    """What it takes in the spec."""
    suffixes: tuple[str, ...] = ESTIMATE
    """Suffixes of the columns it publishes after the query's name, of one figure."""
    sharing: Sharing | None = None
    """How it is read from a release that others share, if it can be."""
    end = ""
    """The end of the values that it stands for: minimum or maximum."""
    counts = ""
    """What it counts, if it is a count; {units} stands for the word for units."""
    overlaps = False
    """Whether what is counted can be in several cells, so that counts do not add up."""
    combines = False
    """Whether its figures are counts by cell that may be combined of the integers of others."""
    counts_units = False
    """Whether a unit counts once, whatever the number of its rows."""
    selects_keys = False
    """Whether private keys can be selected by it."""
    one_number = False
    """Whether a figure is one released integer: the truth, and one draw of noise."""
    adds_up = False
    """Whether the figures of cells add up to that of the cells together."""
    names = False
    """Whether its figures are names that are chosen."""
    in_ranks = False
    """Whether its error is known in ranks alone, so that it has no half-width and no flag."""
    error_by_records = False
    """Whether its error depends on how many records are behind a figure."""
    example_error = "statistics.error.at_values"
    """How its error is stated before any data is read, if it depends on the records."""
    example_error_weighted = "statistics.error.at_weighted_count"
    """The same where records count by a survey weight."""
    compared_with: tuple[str, Fraction | None] | None = None
    """What the error of a figure of one record is a share of, and its size.

    None for the size: half of the largest value of its column."""

    # Sentences of reports, where it has something to say.
    reading = ""
    """How its figures are read; {level} stands for that of intervals, in percent."""
    hazard: Hazard | None = None
    """A hazard that all its figures have."""
    processing = ""
    """What happens to values and figures."""
    explained = ""
    """What a table of scales can't explain."""

    def read_details(
        self, spec: QueryReader, column: Column | None, axis: Group | None
    ) -> Details | None:
        """Read its own keys.

        Args:
            spec: The query as it is written.
            column: The query's column, if it has a usable one.
            axis: The group of that column, where the statistic counts or chooses by its values.

        Returns:
            What the query has of these keys; None, with a complaint, if that is not usable.
        """
        return Details()

    def describe_meaning(self, query: Query) -> Text:
        """What a figure is, in a few words."""
        subject = self.what if query.survey_weight is None else self.what_weighted
        return sentence(subject)

    def explain_step(self, step: Step) -> Text:
        """Explain of a step what a table of scales can't."""
        return sentence(self.explained) if self.explained else ""

    def list_linear_factors(self, query: Query) -> Mapping[str, tuple[Fraction, ...]]:
        """Give the factor of each released integer in the columns that are linear in them."""
        del query
        return {}

    def get_share_range(self, query: Query) -> tuple[Fraction, Fraction] | None:
        """Where a figure is a share of two sums on a scale: its lowest and highest value."""
        del query
        return None

    def explain_reading(self, level: str) -> Text:
        """Say how figures are read; ``level`` is that of intervals, in percent."""
        return sentence(self.reading, level=level) if self.reading else ""

    def iter_hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Name the hazards of reading the figures of a step."""
        if self.hazard is not None:
            title, note = self.hazard.title, self.hazard.note
            yield Hazard(self.hazard.place, title, note, step.query.name)

    def compute_relative_error(
        self, half: float | None, at_one: float | None, middle: float | None, units: Text
    ) -> tuple[float, Text] | None:
        """Give the error of a figure of one record as a share of it, and say of what.

        ``half`` is the half-width of its noise if it is the same for every cell, ``at_one`` else
        that for one record; ``middle`` half of the largest value of its column.
        """
        words, size = self.compared_with or ("", None)
        error, reference = at_one if half is None else half, size or middle
        if not (words and error and reference):
            return None
        return error / reference, sentence(
            "statistics.error.share_of", reference=sentence(words, units=units)
        )

    def list_suffixes(self, query: Query) -> tuple[str, ...]:
        """Suffixes of the columns it publishes after the query's name, in order."""
        return self.suffixes

    @abstractmethod
    def define_release(self, query: Query) -> Released:
        """Say which integers leave the engine, and which combinations of them are noised."""

    def define_alternative(self, query: Query) -> Released | None:
        """Say how else the same can be released, if that may err less with Gaussian noise."""
        return None

    def spread(self, query: Query, axes: Sequence[AxisMatrix]) -> Fraction:
        """Give the mean variance of its figures, in units of that of one released integer."""
        return Fraction(1)

    def describe_row(self, query: Query) -> Row:
        """Say what one row adds to the released integers of its cell."""
        raise TypeError("a statistic says what a row adds, or bounds its sensitivity by itself")

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all released integers together between neighbouring tables."""
        no_value = self.keys.column is ColumnUse.NUMBERS and find_null_fill(query.column) is None
        outside = no_value or may_be_outside(query, neighbours)
        return bound_change(query, neighbours, self.describe_row(query), outside=outside)

    def plan_shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Say how a query is read from a release of sums that others share."""
        return Read(query, sums.step, sums.rows)

    def list_published_groups(self, query: Query) -> tuple[Group, ...]:
        """Give the groups by which its figures are published."""
        return query.groups

    @abstractmethod
    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Read what was released: estimates, noise intervals, flags."""

    def build_joint_columns(
        self, step: Step, noisy: Noisy, interval: Fraction, together: CountTogether
    ) -> list[OutputColumn]:
        """Read a figure whose number of records is fitted to the integers of other steps too."""
        raise TypeError("a share has its number of records with others")

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Say before any data is read how large the noise will be, at the interval level."""
        records = choose_example_records(step.query)
        half = self.compute_halfwidth_at(step, interval, records)
        error: Text = sentence("statistics.error.no_interval")
        if half is not None:
            error = write_halfwidth(Fraction(half))
        weighted = step.query.survey_weight is not None
        example_text = self.example_error_weighted if weighted else self.example_error
        return sentence(example_text, error=error, n=records)

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float | None:
        """Give the half-width at so many records, weighted ones as they are; where it differs."""
        return None

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Give the half-width of the noise interval if it is the same for every cell."""
        return None

    def find_meaningful_count(self, step: Step, interval: Fraction) -> int | None:
        """Give the number of a cell's values below which its figure says nothing, if it is known.

        A function of the plan alone.
        """
        return None


def choose_example_records(query: Query) -> int:
    """Give the records at which an error is stated: those of the query's target, if it has any.

    Of weighted figures it is a weighted count: that of as many records of the largest weight.
    """
    records = None if query.accuracy is None else query.accuracy.records
    if records is not None or query.survey_weight is None:
        return RECORDS_FOR_EXAMPLE if records is None else records
    grid = build_quantity(query.survey_weight).grid
    return max(1, int(RECORDS_FOR_EXAMPLE * grid.upper * grid.step))


def build_quantity(column: Column | None) -> Quantity:
    """Put a column with bounds on its grid.

    Raises ValueError when the column has no bounds, which the spec's checks rule out.
    """
    if column is None or column.grid is None:
        raise ValueError("a quantity needs a column with bounds")
    return Quantity(column.name, column.grid, find_null_fill(column))


def find_null_fill(column: Column | None) -> int | None:
    """Give the grid integer that stands for a null, inside the bounds, or None to drop it."""
    if column is None or column.null_value is None or column.grid is None:
        return None
    grid = column.grid
    text = {"true": "1", "false": "0"}.get(column.null_value, column.null_value)
    nearest = round(Fraction(text) / grid.step)
    return min(max(nearest, grid.lower), grid.upper)


def build_weight(query: Query) -> Quantity | None:
    """The weight of a record on its grid; None where every record counts once."""
    return None if query.survey_weight is None else build_quantity(query.survey_weight)


def find_largest_weight(query: Query) -> int:
    """W, the largest weight of a record in steps of its grid; 1 where every record counts once."""
    weight = build_weight(query)
    return 1 if weight is None else weight.grid.upper


def weight_step(query: Query) -> Fraction:
    """What one step of a weight is worth; 1 where every record counts once."""
    weight = build_weight(query)
    return Fraction(1) if weight is None else weight.grid.step


def conjoin(first: Expression | None, second: Expression | None) -> Expression | None:
    """The condition that both are true; None is always true."""
    if first is None or second is None:
        return first or second
    columns = tuple(dict.fromkeys(first.columns + second.columns))
    return Expression(f"({first.text}) AND ({second.text})", columns)


def list_quantile_endings(query: Query) -> tuple[str, ...]:
    """Give what follows the query's name for each quantile: _q12_5 for 0.125."""
    return tuple(f"_q{write_decimal(100 * q).replace('.', '_')}" for q in query.quantiles)


UNKNOWN_CELLS = 1 << 62
"""Private keys: as many cells as units can reach."""


def count_cells(query: Query) -> int:
    """Give the number of cells, or one that no unit can exceed where keys are private."""
    return UNKNOWN_CELLS if query.private else query.cells


def may_be_outside(query: Query, neighbours: Neighbours) -> bool:
    """Say whether some unit can have no row in any cell of the query.

    True when a filter, an undeclared group value or a null in a group can drop a row (unreadable
    values are nulls), or a weight that is null. Where the unit is a column's value also because
    rows without one are dropped, and where what a record holds decides whether it is there.
    """
    return (
        neighbours.people
        or neighbours.may_be_missing
        or query.where is not None
        or (query.survey_weight is not None and find_null_fill(query.survey_weight) is None)
        or any(group.other is None or group.null_label is None for group in query.groups)
    )


def bound_change(query: Query, neighbours: Neighbours, row: Row, *, outside: bool) -> Sensitivity:
    """Bound the change of all cells together, each row adding a ``row`` to its cell.

    ``outside``: whether a unit can have no row with a value in a cell.
    """
    cells, limits, noun = count_cells(query), neighbours.contribution, neighbours.noun
    if neighbours.adjacency is Adjacency.ADD_REMOVE:
        return bound_addition(limits, row, cells, noun)
    return bound_replacement(limits, row, cells, outside=outside, unit=noun)


def compute_noise_halfwidth(noise: Noise, alpha: Fraction, draws: int | None = None) -> int:
    """The half-width that noise, or a sum of so many draws, exceeds with a chance of alpha."""
    # Imported here for start-up: to load a spec needs no law.
    from dprelease.kernel.noise.distributions.laws import find_halfwidth, sum_halfwidth

    return find_halfwidth(noise, alpha) if draws is None else sum_halfwidth(noise, draws, alpha)
