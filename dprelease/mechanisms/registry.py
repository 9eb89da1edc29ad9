"""The mechanisms there are: one line each."""

from __future__ import annotations

from typing import NamedTuple

from dprelease.mechanisms import Mechanism
from dprelease.mechanisms.exponential import EXPONENTIAL
from dprelease.mechanisms.gaussian import GAUSSIAN
from dprelease.mechanisms.laplace import LAPLACE
from dprelease.mechanisms.permute_and_flip import PERMUTE_AND_FLIP
from dprelease.model import Form, NoiseFamily

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


class Families(NamedTuple):
    """The noise families of a form: where losses are pure, and where they are concentrated."""

    pure: NoiseFamily
    concentrated: NoiseFamily


_OF_FORM = {
    Form.NUMBERS: Families(LAPLACE.family, GAUSSIAN.family),
    Form.CHOICE: Families(PERMUTE_AND_FLIP.family, EXPONENTIAL.family),
    Form.QUANTILES: Families(EXPONENTIAL.family, EXPONENTIAL.family),
}


def families_of(form: Form, wanted: str) -> Families:
    """The families to choose from where a spec has ``mechanism = wanted``: both, or one twice."""
    pure, concentrated = _OF_FORM[form]
    if wanted == "laplace":
        return Families(pure, pure)
    if wanted in {"gaussian", "exponential"}:
        return Families(concentrated, concentrated)
    return Families(pure, concentrated)
