"""What goes beyond the core: matters, which plans have them, and what a chapter says of each.

The core certifies noisy counts and sums with public keys. A plan that has anything else is refused
unless the chapter on it is handed over: a chapter that is missing makes plans fail, never pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from fractions import Fraction

from msgspec import Struct, field

from dprelease.kernel.core.rules import Breach
from dprelease.kernel.core.worst_change import Worst, bound_worst_change
from dprelease.model import Form, NoiseFamily, Plan, Privacy, Step


class Matter(Enum):
    """A matter that a plan may have, and that a chapter is about."""

    RECORD_TABLES = "record-level tables"
    CHOICES = "choices and quantiles"
    CLIPPED_PEOPLE = "people whose totals are scaled"
    STRATEGIES = "counts that are planned together"
    TOGETHER = "noise that is drawn together"
    PRIVATE_KEYS = "private keys"
    FIGURES = "figures that are read from steps"


def is_of_strategy(step: Step) -> bool:
    """Tell whether a step is implied by a strategy: not in the spec, and it selects no keys."""
    return step.query.implied and step.threshold is None


CONCERNED: Mapping[Matter, Callable[[Plan], bool]] = {
    Matter.RECORD_TABLES: lambda plan: bool(plan.records or plan.release.perturbs),
    Matter.CHOICES: lambda plan: any(step.form is not Form.NUMBERS for step in plan.steps),
    Matter.CLIPPED_PEOPLE: lambda plan: any(step.query.clip is not None for step in plan.steps),
    Matter.STRATEGIES: lambda plan: any(step.query.implied or step.axes for step in plan.steps),
    Matter.TOGETHER: lambda plan: any(s.noise.family is NoiseFamily.CUBE for s in plan.steps),
    Matter.PRIVATE_KEYS: lambda plan: any(
        step.query.private or step.threshold is not None or step.noise.reach for step in plan.steps
    ),
    Matter.FIGURES: lambda plan: bool(plan.steps),
}
"""Whether a plan has a matter: then it is refused without the chapter."""


def _find_nothing(plan: Plan) -> Iterator[Breach]:
    return iter(())


class Chapter(Struct, frozen=True):
    """Rules on a matter: what a plan means by it, and what that loses beyond its claim.

    Both give the rules that do not hold. ``meaning`` may rely on the core's rules on meaning,
    ``loss`` on all rules on meaning and on the core's on the loss of steps.
    """

    meaning: Callable[[Plan], Iterator[Breach]] = _find_nothing
    loss: Callable[[Plan], Iterator[Breach]] = _find_nothing


def _confirm_nothing(plan: Plan, epsilon: Fraction, delta: Fraction) -> bool:
    return False


class Chapters(Struct, frozen=True):
    """The chapters that certification has; by default none.

    Attributes:
        rules: The chapter on each matter.
        worst: Bounds what neighbours can do to the integers of a step.
        composes: Whether a tighter argument than the core's proves all steps (epsilon, delta)-DP.
    """

    rules: Mapping[Matter, Chapter] = field(default_factory=dict)
    worst: Callable[[Step, Privacy], Worst] = bound_worst_change
    composes: Callable[[Plan, Fraction, Fraction], bool] = _confirm_nothing

    def find_missing(self, plan: Plan) -> Iterator[Breach]:
        """Give the matters of a plan that no chapter is about."""
        for matter, concerned in CONCERNED.items():
            if concerned(plan) and matter not in self.rules:
                yield Breach("the plan", f"certification has a chapter on {matter.value}")
