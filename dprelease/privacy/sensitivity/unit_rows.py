"""What a unit may bring, and what each of its rows adds to its cell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contribution:
    """At most ``rows`` rows of a unit in all, in ``groups`` cells, ``per_group`` in one cell.

    Limits that others make unreachable are lowered to what can be reached, so that two equal
    sets of rules are equal objects. ValueError unless all are at least 1.
    """

    rows: int
    groups: int
    per_group: int

    def __post_init__(self) -> None:
        if min(self.rows, self.groups, self.per_group) < 1:
            raise ValueError("a unit has at least one row in one cell")
        per_group, groups = min(self.per_group, self.rows), min(self.groups, self.rows)
        object.__setattr__(self, "per_group", per_group)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "rows", min(self.rows, groups * per_group))

    @property
    def squares(self) -> int:
        """S, the largest sum over cells of the squared number of the unit's rows."""
        full, rest = divmod(self.rows, self.per_group)
        return full * self.per_group**2 + rest**2

    @property
    def is_one_row(self) -> bool:
        """Whether a unit is a single row."""
        return self.rows == 1

    def within(self, cells: int) -> Contribution:
        """The same rules where there are only so many cells."""
        return Contribution(self.rows, min(self.groups, cells), self.per_group)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A row adds one integer between ``lower`` and ``upper`` to its cell: a count, a sum.

    ``noun`` is what is changed, for derivations.
    """

    lower: int
    upper: int
    noun: str = "sum"

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError("the lower bound is above the upper one")

    @property
    def magnitude(self) -> int:
        """M, the most that a row can add or take."""
        return max(abs(self.lower), abs(self.upper))

    def change(self, entering: int, leaving: int) -> int:
        """How far a cell moves when up to so many rows enter and up to so many others leave.

        Upward at most entering * max(upper, 0) + leaving * max(-lower, 0), downward the other
        way round; rows that help neither may be missing. Attained.
        """
        rise, fall = max(self.upper, 0), max(-self.lower, 0)
        return max(entering * rise + leaving * fall, entering * fall + leaving * rise)


COUNT = Scalar(1, 1, "count")
"""A count of rows: each adds exactly 1."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A row adds ``width`` integers to its cell, of these norms at most: a mean's two sums.

    ``signed`` if they can be below 0. A mean over K steps has (K, K^2, 2), a variance
    (K^2, K^4, 3): integers >= 0 that sum to K, or K^2, in which one can be everything.
    """

    l1: int
    l2_squared: int
    width: int
    signed: bool = False
    noun: str = "sum"

    def __post_init__(self) -> None:
        if self.width < 2:
            raise ValueError("one integer is a Scalar")
        if self.l1 < 0 or not self.l1 <= self.l2_squared <= self.l1**2:
            raise ValueError("integers have l1 <= l2_squared <= l1^2")

    @property
    def touched(self) -> int:
        """How many integers of its cell one row can change."""
        return min(self.width, self.l1)


Row = Scalar | Vector
