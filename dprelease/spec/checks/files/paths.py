"""Paths of a spec: made absolute, and kept from colliding."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from dprelease.model import Source

_WILD = re.compile(r"[*?\[]")


def absolute(base: str, path: str) -> str:
    """Make a path absolute; relative ones start at ``base``."""
    return os.path.normpath(os.path.join(os.path.abspath(base), path))


def has_wildcards(path: str) -> bool:
    """Say whether a path is a glob pattern."""
    return _WILD.search(path) is not None


def fixed_part(pattern: str) -> str:
    """Give the file or directory itself, or the nearest directory of a glob without wildcards."""
    while has_wildcards(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def same(one: str, two: str) -> bool:
    """Say whether two paths lead to the same place, links followed."""
    return os.path.realpath(one) == os.path.realpath(two)


def holds(directory: str, path: str) -> bool:
    """Say whether a path lies inside of a directory or is that directory, links followed."""
    outer, inner = os.path.realpath(directory), os.path.realpath(path)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def reads(source: Source, path: str) -> bool:
    """Say whether a file is, or may be taken for, a part of the data. Nothing is opened."""
    pattern = source.pattern
    if not has_wildcards(pattern):
        return holds(pattern, path)
    found = os.path.realpath(path)
    # The part without wildcards may be a link; a star doesn't cross directories, two do.
    start = fixed_part(pattern)
    wanted = os.path.realpath(start) + pattern[len(start.rstrip(os.sep)) :]
    levels = "**" in pattern or found.count(os.sep) == wanted.count(os.sep)
    return levels and fnmatchcase(found, wanted.replace("**/", "*"))
