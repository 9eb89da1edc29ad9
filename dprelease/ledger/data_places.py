"""Where the data of a run is, so that two periods can't be two names of one table or file.

Runs over disjoint periods count in parallel, by the names of their periods. So each place has one
period: its names are compared as patterns, whatever way it is written. A place is a list of steps,
each a pattern as in a glob, and ``**`` for any number of steps.

* Of a table, its schema and its name. One without a schema may be in any.
* Of files, the folders that lead to them from the root on, links followed as far as there are no
  wildcards. A path by itself may be a folder, whose files are all read.

Letters count in either case: file systems and databases fold it in their own ways, and so do names
of periods. That two tables are views of one, two files copies, or a file in a folder a link, can't
be told by names.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Sequence

from dprelease.model import Source

Steps = tuple[str, ...]

_MANY = "**"
_WILD = re.compile(r"[*?\[]")
_ONE_OF = re.compile(r"\[!?.[^\]]*\]")  # of a glob
_LONGEST = 63  # bytes of a name in PostgreSQL


def list_place_steps(source: Source) -> Steps:
    """List the steps that lead to the data of a source, case-folded.

    Args:
        source: A source of the spec: files, a URI, or a table of a database.

    Returns:
        One pattern for each step, as ``may_meet`` compares them.
    """
    if source.database is not None:
        # PostgreSQL cuts longer names; a table that names no schema may lie in any.
        *schema, name = (
            part.encode()[:_LONGEST].decode(errors="ignore") for part in source.database.table
        )
        return tuple(part.casefold() for part in (*(schema or ["*"]), name))
    if source.remote:
        bucket = source.pattern.partition("://")[2].partition("?")[0]
        steps = posixpath.normpath(f"/{bucket}").split("/")
    else:
        steps = _resolve(source.pattern).split(os.sep)
    folded = tuple(step.casefold() for step in steps if step)
    # A path without wildcards may be a folder, whose files are all read.
    return folded if any(map(_WILD.search, folded)) else (*folded, _MANY)


def may_meet(left: Steps, right: Steps) -> bool:
    """Tell if some file or table can be at both places; True where names can't decide."""
    return _is_overlapping(left, right, _MANY, _is_alike)


def _resolve(pattern: str) -> str:
    """Follow the links of a path, up to the first step with wildcards."""
    fixed, rest = pattern, ""
    while _WILD.search(fixed):
        fixed, step = os.path.split(fixed)
        rest = os.path.join(step, rest) if rest else step
    return os.path.join(os.path.realpath(fixed), rest) if rest else os.path.realpath(fixed)


def _is_alike(left: str, right: str) -> bool:
    """Tell if some name fits both steps."""
    if not _WILD.search(left + right):
        return left == right
    # A choice of letters counts as any letter: a pattern may match too much, never too little.
    first, second = (_ONE_OF.sub("?", step) for step in (left, right))
    return _is_overlapping(
        first, second, "*", lambda letter, beside: letter == beside or "?" in letter + beside
    )


def _is_overlapping(
    left: Sequence[str], right: Sequence[str], wildcard: str, alike: Callable[[str, str], bool]
) -> bool:
    """Tell if some sequence fits two patterns whose ``wildcard`` is any number of parts."""
    # Search pairs of positions. A wildcard is passed over, or takes one part of the other side.
    waiting, seen = [(0, 0)], {(0, 0)}
    while waiting:
        at, beside = waiting.pop()
        first, second = left[at : at + 1], right[beside : beside + 1]
        if not first and not second:
            return True
        further = []
        if wildcard in (*first, *second):
            further += [(at + 1, beside)] if first else []
            further += [(at, beside + 1)] if second else []
        elif first and second and alike(*first, *second):
            further.append((at + 1, beside + 1))
        for place in further:
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return False
