"""Changes between two specs: the plans that are compared, and how facts by name are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct

from dprelease.model import Plan, Release

Value = str | int | Fraction | None
Fact = Value | tuple[str, ...]
Facts = Mapping[str, Fact]
"""What is stated of one thing, by name, in the order of telling; a tuple is a public list."""

MOST = 12
EXPECTED_ERROR = "expected error"
_CLAIM = "check that it is public, and not taken from the data"
_WHY = {"bounds": _CLAIM}


class Kind(StrEnum):
    """WEAKER and STRONGER are about the guarantee; OTHER changes the figures or the papers."""

    WEAKER = "weaker"
    STRONGER = "stronger"
    OTHER = "changed"


class Change(Struct, frozen=True):
    """What was, what is, and why that matters; ``key`` is where it stands in the new spec.

    ``mark`` is + for a thing that is new, - for one that is gone.
    """

    kind: Kind
    what: str
    old: Value
    new: Value
    why: str = ""
    key: str = ""
    mark: str = "~"


class Pair(NamedTuple):
    """The plans of the old spec and the new one."""

    old: Plan
    new: Plan

    @property
    def releases(self) -> tuple[Release, Release]:
        """The old spec and the new one."""
        return self.old.release, self.new.release


class Item(NamedTuple):
    """A column, query or table of a spec: its key, what it is in short, and all it states."""

    key: str
    summary: str
    facts: Facts


def compare_places(pair: Pair, old: str, new: str) -> tuple[str, str] | None:
    """Return two absolute paths as each spec could write them; None if they are the same place.

    Paths that are equal as seen from each spec are the same: the old spec is often a copy in
    another directory.
    """
    paths = tuple(
        os.path.relpath(path, os.path.dirname(os.path.abspath(release.file)))
        for release, path in zip(pair.releases, (old, new), strict=True)
    )
    return None if old == new or paths[0] == paths[1] else (paths[0], paths[1])


def describe_change(  # noqa: PLR0913, PLR0917 - the fields of a change
    subject: str, old: Value, new: Value, why: str, key: str, kind: Kind = Kind.OTHER
) -> Iterator[Change]:
    """Yield the change of a fact, if it has changed."""
    if old != new:
        yield Change(kind, subject, old, new, why, key)


def describe_figure_change(
    subject: str, old: Fraction | None, new: Fraction | None, key: str, why: str = ""
) -> Iterator[Change]:
    """Yield the change of a figure that is worse the larger it is; None is largest."""
    grown = new is None or (old is not None and new > old)
    yield from describe_change(subject, old, new, why, key, Kind.WEAKER if grown else Kind.STRONGER)


def describe_item_changes(  # noqa: PLR0913, PLR0917 - what is compared, and the words on it
    section: str,
    noun: str,
    old: Mapping[str, Item],
    new: Mapping[str, Item],
    added: str = "added",
    removed: str = "removed",
) -> Iterator[Change]:
    """Yield the items of a section that are gone or new, and the changes of the others."""
    for name in dict.fromkeys((*old, *new)):
        subject, was, now = f"{noun} {name}", old.get(name), new.get(name)
        if was is None or now is None:
            yield Change(
                Kind.OTHER, subject, was and was.summary, now and now.summary,
                added if was is None else removed, now.key if now else section,
                "+" if was is None else "-",
            )  # fmt: skip
        else:
            for fact in dict.fromkeys((*was.facts, *now.facts)):
                values = was.facts.get(fact), now.facts.get(fact)
                yield from _describe_fact_change(f"{subject}: {fact}", *values, now.key)


def _describe_fact_change(subject: str, old: Fact, new: Fact, key: str) -> Iterator[Change]:
    """Compare lists by length, but bins by their edges: their number says little."""
    if not isinstance(old, tuple) and not isinstance(new, tuple):
        yield from describe_change(
            subject, old, new, _WHY.get(subject.rpartition(": ")[2], ""), key
        )
    elif old != new:
        was, now = (fact if isinstance(fact, tuple) else () for fact in (old, new))
        claim = f"; {_CLAIM}" if set(now) - set(was) else ""
        sizes: tuple[Value, Value] = len(was), len(now)
        if subject.endswith("bins"):
            sizes = join_words(was, MOST) or None, join_words(now, MOST) or None
        yield Change(Kind.OTHER, subject, *sizes, describe_moves(was, now) + claim, key)


def join_words(words: Sequence[str], limit: int = 5) -> str:
    """List some words, and how many more there are."""
    rest = f" and {len(words) - limit} more" if len(words) > limit else ""
    return f"{', '.join(words[:limit])}{rest}"


def describe_moves(before: Sequence[str], after: Sequence[str], remark: str = "") -> str:
    """Say what is new in a list, with a remark, and what is gone; or that the order changed."""
    old, new = set(before), set(after)
    added = [word for word in after if word not in old]
    gone = [word for word in before if word not in new]
    parts = [f"new: {join_words(added)}{remark}"] if added else []
    parts += [f"gone: {join_words(gone)}"] if gone else []
    return "; ".join(parts) or "in another order"
