"""Changes between two specs, and the two plans that are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
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


def changed(  # noqa: PLR0913, PLR0917 - the fields of a change
    what: str, old: Value, new: Value, why: str = "", key: str = "", kind: Kind = Kind.OTHER
) -> Iterator[Change]:
    """The change of one fact, if it has changed."""
    if old != new:
        yield Change(kind, what, old, new, why, key)


def facts_changed(
    what: str, old: Mapping[str, Value], new: Mapping[str, Value], key: str, **why: str
) -> Iterator[Change]:
    """The changes of all facts about one thing, in order; ``why`` by the name of the fact."""
    for name in dict.fromkeys((*old, *new)):
        yield from changed(f"{what}: {name}", old.get(name), new.get(name), why.get(name, ""), key)


def listed(words: Sequence[str], most: int = 5) -> str:
    """Some words, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


def moves(before: Sequence[str], after: Sequence[str], remark: str = "") -> str:
    """What came to a list, with a remark, and what is gone; or that its order is another."""
    old, new = set(before), set(after)
    added = [word for word in after if word not in old]
    gone = [word for word in before if word not in new]
    parts = [
        *([f"new: {listed(added)}{remark}"] if added else []),
        *([f"gone: {listed(gone)}"] if gone else []),
    ]
    return "; ".join(parts) or "in another order"
