"""The base class of statistics: each is one file and one line of the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from dprelease.privacy.sensitivity import (
    Contribution,
    Row,
    Scalar,
    bound_addition,
    bound_clipped_change,
    bound_replacement,
)
from dprelease.statistics.shared.spec_keys import ColumnUse, Details, OwnKey, QueryReader

if TYPE_CHECKING:
    from dprelease.postprocess.intervals.combined_figure import Parts
    from dprelease.postprocess.intervals.fitted_count import CountTogether

ONE_ROW = Contribution(1, 1, 1)
RECORDS_FOR_EXAMPLE = 1000

Spell = Callable[[Expression], str]
"""Spells an expression of the spec in words."""
Noisy = Sequence[Sequence[int]]
"""Released integers with noise: ``noisy[i][cell]``."""


class Released(Struct, frozen=True):
    """The integers that a statistic has released of each cell, as in ``Step``.

    NUMBERS: the integers ``transform @ measures``; ``unit[i]`` is the value of one step of released
    integer i. CHOICE: one row of ``transform`` makes the score of each candidate, in steps of
    ``unit[0]``; the row is empty where ``Query.candidates`` has the scores. QUANTILES: no measures,
    but ``points`` and perhaps their ``survey_weight``; an empty row and a unit for each quantile.
    A count needs only its measure. ``together``: the noise of a cell's integers is drawn together.
    ``apart``: no record meets two of the filters, besides that of all records.
    """

    measures: tuple[Measure, ...]
    transform: tuple[tuple[int, ...], ...] = ((1,),)
    unit: tuple[Fraction, ...] = (Fraction(1),)
    form: Form = Form.NUMBERS
    points: Quantity | None = None
    axes: tuple[AxisMatrix, ...] = ()
    survey_weight: Quantity | None = None
    together: bool = False
    apart: bool = False


class Neighbours(Struct, frozen=True):
    """The difference of two neighbouring tables: one record, or one unit with all its rows.

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
        """Return the id of the word for the unit, for derivations."""
        return "words.person" if self.people else "words.record"


def read_neighbours(release: Release) -> Neighbours:
    """Read the neighbour relation and the contribution limits from a spec."""
    bounding = release.privacy.bounding
    if bounding is None:
        missing = not release.privacy.has_fixed_records
        return Neighbours(release.privacy.adjacency, may_be_missing=missing)
    limits = Contribution(bounding.rows, bounding.groups, bounding.per_group)
    return Neighbours(release.privacy.adjacency, limits, people=True)


BY_CHOICE = ("auto", "exponential")
"""Mechanisms of statistics that choose names or values instead of adding up."""


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
        """Return its own keys, needed or optional."""
        return tuple(dict.fromkeys((*self.needs, *self.may)))

    def has_key(self, name: str) -> bool:
        """Return True if one of its own keys has this name."""
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
        """Return what one record adds to all sums together."""
        return self.grid.width**2 if self.squared else self.grid.width

    @property
    def rows(self) -> tuple[int, ...]:
        """Return the positions of the sums of values."""
        return tuple(range(3 if self.squared else 2))


class Hazard(NamedTuple):
    """A hazard of reading a statistic's figures, for the report's table of hazards.

    ``place`` orders hazards of all statistics. The report adds the names of every ``subject`` with
    the same hazard to the note.
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
    """A statistic: its spec keys, its release, its sensitivity, and how its figures are read.

    Defaults hold for most statistics; each overrides what differs. In all methods ``query`` is a
    query of this statistic, ``step`` its step as the query sees it, ``noisy[i][cell]`` are the
    released integers with noise, and ``interval`` is the level of noise intervals.
    """

    name: str
    """Its name in the spec."""
    word = ""
    """What people read in place of its name; empty where they read the name."""
    what = ""
    """What a figure is, in a few words."""
    what_weighted = ""
    """The same with survey weights; empty if the statistic never takes them."""
    definition = ""
    """The sentence that defines a figure; {column} stands for the query's column."""
    keys = SpecKeys()
    """The keys that it takes in the spec."""
    suffixes: tuple[str, ...] = ESTIMATE
    """Suffixes, after the query's name, of the columns that it publishes for one figure."""
    sharing: Sharing | None = None
    """How it is read from a release shared with other statistics; None if it can't be."""
    end = ""
    """The end of the values that it approximates, minimum or maximum; empty for neither."""
    counts = ""
    """What it counts, if it is a count; {units} stands for the word for units."""
    overlaps = False
    """Whether what it counts can be in several cells, so that counts do not add up."""
    combines = False
    """Whether its figures are counts by cell that may be combined from others' integers."""
    has_feature = False
    """Whether its figures are made of one number of each record, and of the number of records."""
    counts_units = False
    """Whether a unit counts once, whatever the number of its rows."""
    selects_keys = False
    """Whether private keys can be selected by it."""
    selects_keys_by_sums = False
    """Whether it can select them by two sums, to which a row with a value adds its width."""
    one_number = False
    """Whether a figure is one released integer: the true value plus one draw of noise."""
    adds_up = False
    """Whether the figures of cells add up to the figure of these cells together."""
    names = False
    """Whether its figures are chosen names."""
    in_ranks = False
    """Whether its error is known in ranks alone, so that it has no half-width and no flag."""
    error_by_records = False
    """Whether its error depends on the number of records behind a figure."""
    example_error = "statistics.error.at_values"
    """The sentence that states its error before any data is read, if it depends on the records."""
    example_error_weighted = "statistics.error.at_weighted_count"
    """The same with survey weights."""
    compared_with: tuple[str, Fraction | None] | None = None
    """What the error is stated as a share of, in words, and the size of that.

    None for the size stands for half of the largest value of its column."""

    # Sentences of reports, where it has something to say.
    reading = ""
    """How to read its figures; {level} stands for the level of intervals, in percent."""
    hazard: Hazard | None = None
    """A hazard that all its figures have."""
    processing = ""
    """How values and figures are processed."""
    explained = ""
    """What the table of noise scales doesn't explain."""

    def is_overlapping(self, groups_per_unit: int | None) -> bool:
        """Check if one thing can count in two cells of a column.

        Args:
            groups_per_unit: In how many cells of a table a unit counts at most; None: no limit.
        """
        return self.overlaps and not (self.counts_units and groups_per_unit == 1)

    def read_details(self, spec: QueryReader) -> Details | None:
        """Read the keys of the spec that this statistic alone takes.

        Args:
            spec: The query as it is written.

        Returns:
            The values of these keys; None, with a complaint recorded, if they are not usable.
        """
        return Details()

    def describe_meaning(self, query: Query) -> Text:
        """Describe what a figure is, in a few words.

        Args:
            query: A query of this statistic.

        Returns:
            The text.
        """
        subject = self.what if query.survey_weight is None else self.what_weighted
        return sentence(subject)

    def define_figure(self, query: Query, spell: Spell) -> tuple[Text, ...]:
        """Define what is computed, but for the records and values that all statistics share.

        Args:
            query: A query of this statistic.
            spell: Spells an expression in words.

        Returns:
            Whole sentences. Condition, bounds, weight and groups are told by the caller.
        """
        column = "" if query.column is None else query.column.name
        return (sentence(self.definition, column=column),)

    def explain_step(self, step: Step) -> Text:
        """Explain what a table of noise scales does not show.

        Args:
            step: A step that a query of this statistic leads.

        Returns:
            The text; empty if there is nothing to explain.
        """
        return sentence(self.explained) if self.explained else ""

    def list_linear_factors(self, query: Query) -> Mapping[str, tuple[Fraction, ...]]:
        """List the factor of each released integer in every column that is linear in them.

        Args:
            query: A query of this statistic.

        Returns:
            Factors by column name, one for each released integer.
        """
        del query
        return {}

    def get_share_range(self, query: Query) -> tuple[Fraction, Fraction] | None:
        """Return the range of a figure that is a share of two sums on a scale.

        Args:
            query: A query of this statistic.

        Returns:
            The values of the shares 0 and 1; None for other figures.
        """
        del query
        return None

    def explain_reading(self, level: str) -> Text:
        """Explain how figures are read.

        Args:
            level: The level of noise intervals, in percent.

        Returns:
            The text; empty if there is nothing to explain.
        """
        return sentence(self.reading, level=level) if self.reading else ""

    def iter_hazards(self, step: Step, interval: Fraction) -> Iterator[Hazard]:
        """Give the hazards of reading the figures of a step.

        Args:
            step: A step as the query sees it.
            interval: The level of noise intervals.

        Yields:
            Hazards, each with the query's name.
        """
        if self.hazard is not None:
            title, note = self.hazard.title, self.hazard.note
            yield Hazard(self.hazard.place, title, note, step.query.name)

    def compute_relative_error(
        self, half: float | None, at_one: float | None, middle: float | None, units: Text
    ) -> tuple[float, Text] | None:
        """Compute the error of a figure of one record, as a share of that figure.

        Args:
            half: The half-width of the noise, if every cell has the same.
            at_one: The half-width for one record, if it differs by cell.
            middle: Half of the largest value of the query's column.
            units: The word for the unit.

        Returns:
            The share and the text that names the figure; None if the two can't be compared.
        """
        words, size = self.compared_with or ("", None)
        error, reference = at_one if half is None else half, size or middle
        if not (words and error and reference):
            return None
        return error / reference, sentence(
            "statistics.error.share_of", reference=sentence(words, units=units)
        )

    def list_suffixes(self, query: Query) -> tuple[str, ...]:
        """List the suffixes of the published columns after the query's name, in order.

        Args:
            query: A query of this statistic.

        Returns:
            The suffixes; "" is the column of the figure itself.
        """
        return self.suffixes

    @abstractmethod
    def define_release(self, query: Query) -> Released:
        """Define the exact integers of a cell and their combinations that get noise.

        Args:
            query: A query of this statistic.

        Returns:
            Measures, transform and units of the release.
        """

    def define_alternatives(self, query: Query) -> tuple[Released, ...]:
        """Define other releases of the same, which may err less with some noise.

        Args:
            query: A query of this statistic.

        Returns:
            The other releases, in the order in which they are tried.
        """
        return ()

    def spread(self, query: Query, axes: Sequence[AxisMatrix]) -> Fraction:
        """Compute the mean variance of the figures.

        Args:
            query: A query of this statistic.
            axes: The matrices by which the released integers are mixed.

        Returns:
            The variance in units of that of one released integer.
        """
        return Fraction(1)

    def list_aspects(self, query: Query) -> tuple[tuple[Fraction, ...], ...]:
        """List what is to err little: combinations of the integers that it releases by itself.

        Args:
            query: A query of this statistic.

        Returns:
            The factors of each, so that its error is in the unit of what is published. Empty if
            ``spread`` tells the error of figures.
        """
        return ()

    def describe_row(self, query: Query) -> Row:
        """Describe the integers that one row adds to its cell.

        Args:
            query: A query of this statistic.

        Returns:
            Bounds on these integers, in grid steps.

        Raises:
            TypeError: The statistic overrides ``bound_sensitivity`` instead.
        """
        raise TypeError("a statistic says what a row adds, or bounds its sensitivity by itself")

    def bound_sensitivity(self, query: Query, neighbours: Neighbours) -> Sensitivity:
        """Bound the change of all released integers together between neighbouring tables.

        Args:
            query: A query of this statistic.
            neighbours: The neighbour relation and the contribution limits.

        Returns:
            L1 and squared L2 bound in grid steps, with the derivation.
        """
        row = self.describe_row(query)
        if query.clip is not None and isinstance(row, Scalar):
            return bound_clipped_change(query.clip, row, query.cells, neighbours.adjacency)
        no_value = self.keys.column is ColumnUse.NUMBERS and find_null_fill(query.column) is None
        outside = no_value or may_be_outside(query, neighbours)
        return bound_change(query, neighbours, row, outside=outside)

    def plan_shared_read(self, query: Query, sums: SharedSums) -> Read:
        """Plan how a query is read from sums that several statistics share.

        Args:
            query: A query of this statistic.
            sums: The shared release.

        Returns:
            The read.
        """
        return Read(query, sums.step, sums.rows)

    def list_published_groups(self, query: Query) -> tuple[Group, ...]:
        """List the groups by which the figures are published.

        Args:
            query: A query of this statistic.

        Returns:
            The groups, in the order of the table's columns.
        """
        return query.groups

    @abstractmethod
    def build_columns(self, step: Step, noisy: Noisy, interval: Fraction) -> list[OutputColumn]:
        """Build the output columns from noisy integers: estimates, noise intervals, flags.

        Args:
            step: The step as the query sees it.
            noisy: The noisy integers, ``noisy[i][cell]``.
            interval: The level of noise intervals.

        Returns:
            The columns, with one value for each cell.
        """

    def build_joint_columns(
        self, step: Step, noisy: Noisy, interval: Fraction, together: CountTogether
    ) -> list[OutputColumn]:
        """Build the output columns of a figure whose count is fitted to other steps too.

        Args:
            step: The step as the query sees it.
            noisy: The noisy integers, ``noisy[i][cell]``.
            interval: The level of noise intervals.
            together: The fitted count.

        Returns:
            The columns, with one value for each cell.

        Raises:
            TypeError: The statistic has no count that others share.
        """
        raise TypeError("a share has its number of records with others")

    def build_part_columns(
        self, step: Step, parts: Parts, interval: Fraction
    ) -> list[OutputColumn]:
        """Build the output columns of figures whose parts are combined of several steps' integers.

        Args:
            step: The step as the query sees it.
            parts: What the statistic would have released by itself, with noise.
            interval: The level of noise intervals.

        Returns:
            The columns, with one value for each cell.

        Raises:
            TypeError: The statistic has a single part.
        """
        raise TypeError("only a share has several parts")

    def describe_expected_error(self, step: Step, interval: Fraction) -> Text:
        """Describe the size of the noise before any data is read.

        Args:
            step: The step as the query sees it.
            interval: The level of noise intervals.

        Returns:
            The text.
        """
        records = choose_example_records(step.query)
        half = self.compute_halfwidth_at(step, interval, records)
        error: Text = sentence("statistics.error.no_interval")
        if half is not None:
            error = write_halfwidth(Fraction(half))
        weighted = step.query.survey_weight is not None
        example_text = self.example_error_weighted if weighted else self.example_error
        return sentence(example_text, error=error, n=records)

    def compute_halfwidth_at(self, step: Step, interval: Fraction, records: int) -> float | None:
        """Compute the half-width at a number of records, for figures whose error depends on it.

        Args:
            step: The step as the query sees it.
            interval: The level of noise intervals.
            records: The number of records, of weighted ones their sum.

        Returns:
            The half-width in the unit of the figure; None if every cell has the same, or so few
            records have none.
        """
        return None

    def compute_halfwidth(self, step: Step, interval: Fraction) -> Fraction | None:
        """Compute the half-width of the noise interval, if every cell has the same.

        Args:
            step: The step as the query sees it.
            interval: The level of noise intervals.

        Returns:
            The half-width in the unit of the figure; None if it differs by cell.
        """
        return None

    def compute_selecting_halfwidth(self, step: Step, interval: Fraction) -> Fraction:
        """Compute the half-width of what selects private keys, far above the threshold.

        Args:
            step: The step as the query sees it; it selects keys.
            interval: The level of noise intervals.

        Returns:
            The half-width, in units that are counted.
        """
        return self.compute_halfwidth(step, interval) or Fraction(0)

    def find_settled_units(self, step: Step, interval: Fraction) -> int:
        """Find the noisy number of units from which the selection of keys hardly widens intervals.

        Args:
            step: The step as the query sees it; it selects keys by several integers.
            interval: The level of noise intervals.

        Returns:
            The number.

        Raises:
            TypeError: The statistic selects no keys like that.
        """
        raise TypeError("keys are selected by the integers of a mean")

    def find_meaningful_count(self, step: Step, interval: Fraction) -> int | None:
        """Find the number of a cell's values below which its figure says nothing.

        Args:
            step: The step as the query sees it.
            interval: The level of noise intervals.

        Returns:
            The number, a function of the plan alone; None if it is not known.
        """
        return None


def choose_example_records(query: Query) -> int:
    """Choose the number of records at which an error is stated: the target's, if it names one."""
    records = None if query.accuracy is None else query.accuracy.records
    if records is not None or query.survey_weight is None:
        return RECORDS_FOR_EXAMPLE if records is None else records
    # A weighted count stands for as many records of the largest weight.
    grid = build_quantity(query.survey_weight).grid
    return max(1, int(RECORDS_FOR_EXAMPLE * grid.upper * grid.step))


def build_quantity(column: Column | None) -> Quantity:
    """Put a column with bounds on its grid.

    Args:
        column: A column of the spec.

    Returns:
        The column's name, its grid, and the grid integer that replaces nulls.

    Raises:
        ValueError: The column has no bounds, which the spec's checks rule out.
    """
    if column is None or column.grid is None:
        raise ValueError("a quantity needs a column with bounds")
    return Quantity(column.name, column.grid, find_null_fill(column))


def find_null_fill(column: Column | None) -> int | None:
    """Find the grid integer that replaces a null.

    Args:
        column: A column of the spec.

    Returns:
        The integer, inside the bounds; None if nulls are dropped.
    """
    if column is None or column.null_value is None or column.grid is None:
        return None
    grid = column.grid
    # Booleans count as 1 and 0.
    text = {"true": "1", "false": "0"}.get(column.null_value, column.null_value)
    nearest = round(Fraction(text) / grid.step)
    return min(max(nearest, grid.lower), grid.upper)


def build_weight(query: Query) -> Quantity | None:
    """Put the survey weight on its grid; None where every record counts once."""
    return None if query.survey_weight is None else build_quantity(query.survey_weight)


def find_largest_weight(query: Query) -> int:
    """Find W, the largest weight of a record in steps of its grid; 1 without weights."""
    weight = build_weight(query)
    return 1 if weight is None else weight.grid.upper


def weight_step(query: Query) -> Fraction:
    """Find the value of one grid step of the survey weight; 1 where every record counts once."""
    weight = build_weight(query)
    return Fraction(1) if weight is None else weight.grid.step


def conjoin(first: Expression | None, second: Expression | None) -> Expression | None:
    """Join two conditions by AND; None is always true."""
    if first is None or second is None:
        return first or second
    columns = tuple(dict.fromkeys(first.columns + second.columns))
    return Expression(f"({first.text}) AND ({second.text})", columns)


def list_quantile_endings(query: Query) -> tuple[str, ...]:
    """List the suffix of each quantile after the query's name: _q12_5 for 0.125."""
    return tuple(f"_q{write_decimal(100 * q).replace('.', '_')}" for q in query.quantiles)


UNKNOWN_CELLS = 1 << 62
"""The number of cells with private keys, which is not known: more than any unit can reach."""


def count_cells(query: Query) -> int:
    """Count the cells; with private keys, give more than any unit can reach."""
    return UNKNOWN_CELLS if query.private else query.cells


def may_be_outside(query: Query, neighbours: Neighbours) -> bool:
    """Check if some unit can have no row in any cell of the query.

    A filter, an undeclared group value, a null in a group (unreadable values are nulls) or a null
    weight can drop a row. A row without a value is dropped if the unit is a column's value, and a
    record may be missing if its content decides whether it is there.

    Returns:
        False only if every unit certainly has a row in a cell.
    """
    return (
        neighbours.people
        or neighbours.may_be_missing
        or query.where is not None
        or (query.survey_weight is not None and find_null_fill(query.survey_weight) is None)
        or any(group.other is None or group.null_label is None for group in query.groups)
    )


def bound_change(query: Query, neighbours: Neighbours, row: Row, *, outside: bool) -> Sensitivity:
    """Bound the change of all cells together, where each row adds a ``row`` to its cell.

    Args:
        query: The query whose cells change.
        neighbours: The neighbour relation and the contribution limits.
        row: The integers that one row adds to its cell.
        outside: A unit can have no row with a value in a cell.

    Returns:
        L1 and squared L2 bound in grid steps, with the derivation.
    """
    cells, limits, noun = count_cells(query), neighbours.contribution, neighbours.noun
    if neighbours.adjacency is Adjacency.ADD_REMOVE:
        return bound_addition(limits, row, cells, noun)
    return bound_replacement(limits, row, cells, outside=outside, unit=noun)


def compute_noise_halfwidth(noise: Noise, alpha: Fraction, draws: int | None = None) -> int:
    """Compute the half-width that noise, or a sum of draws, exceeds with at most chance alpha."""
    # Imported here for start-up: to load a spec needs no law.
    from dprelease.kernel.distributions.laws import find_halfwidth, sum_halfwidth

    return find_halfwidth(noise, alpha) if draws is None else sum_halfwidth(noise, draws, alpha)
