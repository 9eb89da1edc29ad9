"""What keys of ``[[perturb]]`` hold: mechanisms and weights by column, a chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

from dprelease.model import Mechanism
from dprelease.spec.complaints.did_you_mean import nearest
from dprelease.spec.complaints.quoting import listed, show
from dprelease.spec.schema.keys import Finding, Unread, take
from dprelease.spec.toml.numbers import Refused, exact, weight

MECHANISMS = tuple(each.value for each in Mechanism)
T = TypeVar("T")


def mechanisms(value: object) -> Mechanism | Mapping[str, Mechanism]:
    """Read a mechanism for all columns, or a table of mechanisms by column."""
    if isinstance(value, Mapping):
        return _by_column(value, _mechanism)
    return _mechanism(value)


def weights(value: object) -> Mapping[str, Fraction]:
    """Read a table of weights by column."""
    if not isinstance(value, Mapping):
        hint = "write { column = 2 }; columns that are left out have weight 1"
        raise Refused(f"{show(value)} is not a table", hint, "E103")
    return _by_column(value, weight)


def truth(value: object) -> Fraction:
    """Read a chance of the true answer: above 0, below 1. Raises ``Refused`` (E248)."""
    number = exact(value, "E248")
    if not 0 < number < 1:
        hint = "the chance that a record answers truly, such as truth = 0.75"
        raise Refused(f"truth {show(value)} is not above 0 and below 1", hint, "E248")
    return number


def _mechanism(value: object) -> Mechanism:
    if isinstance(value, str) and value in MECHANISMS:
        return Mechanism(value)
    close = nearest(value, MECHANISMS) if isinstance(value, str) else None
    hint = f'did you mean "{close}"?' if close else f"use {listed(MECHANISMS)}"
    raise Refused(f"{show(value)} is no mechanism of a [[perturb]]", hint, "E105")


def _by_column(content: Mapping[str, object], read: Callable[[object], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    findings: list[Finding] = []
    for name, value in content.items():
        try:
            found[name] = take(read, value)
        except Unread as unread:
            findings += [finding.below(name) for finding in unread.findings]
    if findings:
        raise Unread(*findings)
    return found
