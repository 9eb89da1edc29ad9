"""The mechanisms there are: one line each."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from dprelease.mechanisms import Choice, Mechanism, Target
from dprelease.mechanisms.cube import CUBE
from dprelease.mechanisms.cut_laplace import CUT_LAPLACE
from dprelease.mechanisms.exponential import EXPONENTIAL
from dprelease.mechanisms.gaussian import GAUSSIAN
from dprelease.mechanisms.laplace import LAPLACE
from dprelease.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from dprelease.mechanisms.quantiles import QUANTILES
from dprelease.mechanisms.staircase import STAIRCASE
from dprelease.model import NoiseFamily

MECHANISMS: list[Mechanism] = [
    LAPLACE,
    GAUSSIAN,
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    QUANTILES,
    STAIRCASE,
    CUBE,
    CUT_LAPLACE,
]

NO_NOISE = "mechanisms.none"


def get_law(family: NoiseFamily) -> Mechanism:
    """Look up the first mechanism of a noise family.

    Args:
        family: A family other than NONE.

    Returns:
        The mechanism that knows variance, loss and words of this law.
    """
    return next(mechanism for mechanism in MECHANISMS if mechanism.family is family)


def get_words(family: NoiseFamily) -> str:
    """Look up the name of a noise family's mechanism in reports.

    Args:
        family: Any noise family.

    Returns:
        The id of the sentence.
    """
    return NO_NOISE if family is NoiseFamily.NONE else get_law(family).words


def refine_choice(target: Target, choice: Choice) -> Choice:
    """Let every mechanism refine a choice.

    Args:
        target: The release to protect.
        choice: The planned choice.

    Returns:
        The choice, or one of the same epsilon and rho that errs less. Its events may lose more
        than those of ``choice``, so a total composed of those events does not cover it.
    """
    for mechanism in MECHANISMS:
        choice = mechanism.refine(target, choice)
    return choice


def refine_selection(target: Target, keys: int, choice: Choice) -> Choice:
    """Let every mechanism refine the choice for a count that selects private keys.

    Args:
        target: The count.
        keys: In how many keys a unit counts at most.
        choice: The planned choice.

    Returns:
        The choice, or one of the same loss and events that shows keys of fewer units.
    """
    for mechanism in MECHANISMS:
        choice = mechanism.refine_selection(target, keys, choice)
    return choice


class Options(NamedTuple):
    """The best mechanisms of a form: where losses are pure, and where they are concentrated."""

    pure: Mechanism
    concentrated: Mechanism


def list_options(target: Target, mechanism_name: str) -> Options:
    """List the mechanisms that a target can use.

    Args:
        target: The release to protect.
        mechanism_name: The spec's ``mechanism``: "auto" or a mechanism's keyword.

    Returns:
        The mechanism with the smallest error for pure losses, and that for concentrated losses; the
        same one twice where only one fits.
    """
    fitting = [
        mechanism
        for mechanism in MECHANISMS
        if mechanism.offered
        and mechanism.form is target.form
        and mechanism.together is target.together
        and mechanism_name in {"auto", mechanism.keyword}
    ]

    def choose_best(*, concentrated: bool) -> Mechanism:
        kinds = [option for option in fitting if option.concentrated is concentrated] or fitting
        if len(kinds) == 1:
            return kinds[0]
        return min(kinds, key=lambda option: option.estimate_error(target, Fraction(1)))

    return Options(choose_best(concentrated=False), choose_best(concentrated=True))
