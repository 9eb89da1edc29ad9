"""One change between two specs, and the two plans that are compared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dprelease.model import Plan, Release

Value = str | int | Fraction | None


class Kind(StrEnum):
    """WEAKER and STRONGER are about the guarantee; OTHER changes the figures or the papers."""

    WEAKER = "weaker"
    STRONGER = "stronger"
    OTHER = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """What was, what is, and why that matters; ``key`` is where it stands in the new spec."""

    kind: Kind
    what: str
    old: Value
    new: Value
    why: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """The plans of the old spec and the new one."""

    old: Plan
    new: Plan

    @property
    def releases(self) -> tuple[Release, Release]:
        """The old spec and the new one."""
        return self.old.release, self.new.release


def elsewhere(pair: Pair, old: str, new: str) -> tuple[str, str] | None:
    """Two absolute paths as the specs could write them; None if they lead to the same place.

    That is the same path, or the same one as seen from each spec: the old spec is often a copy in
    another directory.
    """
    seen = tuple(
        os.path.relpath(path, os.path.dirname(os.path.abspath(release.file)))
        for release, path in zip(pair.releases, (old, new), strict=True)
    )
    return None if old == new or seen[0] == seen[1] else (seen[0], seen[1])


def listed(words: list[str], most: int = 5) -> str:
    """Some words, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"
