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


def seen_from_spec(release: Release, path: str) -> str:
    """A path as the spec could write it: relative to the spec's directory."""
    return os.path.relpath(path, os.path.dirname(os.path.abspath(release.file)))


def listed(words: list[str], most: int = 5) -> str:
    """Some words, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"
