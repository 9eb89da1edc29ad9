"""The key ``q``: which quantiles a query asks for."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from dprelease.spec.complaints.quoting import show
from dprelease.spec.schema.keys import Finding, Unread, each
from dprelease.spec.toml.numbers import Refused, exact

Quantiles: TypeAlias = tuple[Fraction, ...]

MAX_QUANTILES = 100


def quantiles(value: object) -> Quantiles:
    """Read one quantile or a list, at most 100, each inside (0, 1) and once; they come rising."""
    if not isinstance(value, list):
        return (_quantile(value),)
    if not value:
        raise Refused("q is empty", "such as q = [0.25, 0.5, 0.75]", "E232")
    if len(value) > MAX_QUANTILES:
        message = f"q has {len(value)} quantiles, more than {MAX_QUANTILES}"
        raise Refused(message, "each further one makes all of them less exact", "E232")
    found = each(_quantile)(value)
    twice = [
        Finding((place,), one, Refused(f"{show(one)} is named twice", "keep one", "E232"))
        for place, one in enumerate(found)
        if one in found[:place]
    ]
    if twice:
        raise Unread(*twice)
    return tuple(sorted(found))


def _quantile(value: object) -> Fraction:
    number = exact(value, "E232")
    if not 0 < number < 1:
        hint = "0.5 is the median, 0.9 is above nine tenths of the values"
        raise Refused(f"{show(value)} is not between 0 and 1", hint, "E232")
    return number
