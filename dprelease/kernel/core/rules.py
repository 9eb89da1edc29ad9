"""Rules of certification: a condition, the sentence that states it, and its two numbers if any.

Rules stand in tables, tuples at the top of a module. Each table is of one kind of subject and is
gone through in order: a rule may rely on those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Generic, TypeVar

from msgspec import Struct

from dprelease.model import Plan, Step

Subject = TypeVar("Subject")
Number = Fraction | int


class Rule(Struct, Generic[Subject], frozen=True):
    """A condition that holds or doesn't."""

    sentence: str
    holds: Callable[[Subject], bool]


class AtMost(Struct, Generic[Subject], frozen=True):
    """A condition that one number, derived here, is at most another one, which is claimed.

    ``numbers`` gives both, or None for a subject that claims nothing.
    """

    sentence: str
    numbers: Callable[[Subject], tuple[Number, Number] | None]


Rules = tuple[Rule[Subject] | AtMost[Subject], ...]


class Breach(Struct, frozen=True):
    """A rule that does not hold, and of what. All of it is public: a plan holds no data."""

    subject: str
    sentence: str
    numbers: tuple[Number, Number] | None = None

    def __str__(self) -> str:
        text = f"{self.subject}: it is not confirmed that {self.sentence}"
        if self.numbers is None:
            return text
        derived, claimed = map(_format_number, self.numbers)
        return f"{text} ({derived} is more than {claimed})"


def find_breaches(rules: Rules[Subject], subject: Subject, name: str) -> Iterator[Breach]:
    """Give the rules that do not hold of a subject, in order, one at a time.

    Whoever goes on after the first one must know that the others don't rely on it.
    """
    for rule in rules:
        if isinstance(rule, Rule):
            if not rule.holds(subject):
                yield Breach(name, rule.sentence)
        else:
            numbers = rule.numbers(subject)
            if numbers is not None and not numbers[0] <= numbers[1]:  # so that NaN breaks it too
                yield Breach(name, rule.sentence, numbers)


def name_steps(plan: Plan) -> Iterator[tuple[str, Step]]:
    """Give each step with its name in refusals; steps count from 1."""
    for number, step in enumerate(plan.steps, start=1):
        yield f'step {number}, "{step.query.name}"', step


def _format_number(number: Number) -> str:
    """Write an integer as it is, any other number to 20 places that count."""
    try:
        exact = Fraction(number)
    except (OverflowError, ValueError):  # infinite, or not a number: nothing that a plan may hold
        return str(number)
    if exact.denominator == 1:
        return str(exact.numerator)
    return f"{Decimal(exact.numerator) / Decimal(exact.denominator):.20g}"
