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
    """Look up the mechanism that knows variance, loss and words of a law other than NONE."""
    return next(mechanism for mechanism in MECHANISMS if mechanism.family is family)


def get_words(family: NoiseFamily) -> str:
    """Look up the id of the name of a noise family's mechanism in reports."""
    return NO_NOISE if family is NoiseFamily.NONE else get_law(family).words


def refine_choice(target: Target, choice: Choice) -> Choice:
    """Let every mechanism replace a choice by one of the same epsilon and rho that errs less.

    The events may lose more than those of ``choice``, so a total composed of those does not cover
    it.
    """
    for mechanism in MECHANISMS:
        choice = mechanism.refine(target, choice)
    return choice


def refine_selection(target: Target, keys: int, choice: Choice) -> Choice:
    """Let every mechanism refine the choice for a count that selects keys, where more are shown.

    A unit counts in at most so many keys. Loss and events stay.
    """
    for mechanism in MECHANISMS:
        choice = mechanism.refine_selection(target, keys, choice)
    return choice


class Options(NamedTuple):
    """The best mechanisms of a form: where losses are pure, and where they are concentrated."""

    pure: Mechanism
    concentrated: Mechanism


def list_options(target: Target, mechanism_name: str) -> Options:
    """List the mechanisms of the smallest error for a target: for pure and for concentrated losses.

    They are the same where only one fits. ``mechanism_name``: the spec's ``mechanism``, "auto" or a
    keyword.
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
