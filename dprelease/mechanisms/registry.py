"""The mechanisms there are: one line each."""

from __future__ import annotations

from dprelease.mechanisms import Mechanism
from dprelease.mechanisms.exponential import EXPONENTIAL
from dprelease.mechanisms.gaussian import GAUSSIAN
from dprelease.mechanisms.laplace import LAPLACE
from dprelease.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from dprelease.model import NoiseFamily

MECHANISMS: dict[NoiseFamily, Mechanism] = {
    mechanism.family: mechanism
    for mechanism in (
        LAPLACE,
        GAUSSIAN,
        EXPONENTIAL,
        PERMUTE_AND_FLIP,
    )
}

NO_NOISE = "no noise: the same in all neighbouring tables"


def words_of(family: NoiseFamily) -> str:
    """What reports call the mechanism of a noise family."""
    return NO_NOISE if family is NoiseFamily.NONE else MECHANISMS[family].words
