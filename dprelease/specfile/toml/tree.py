"""The spec as a plain tree: dicts, lists and scalars, whether it came from a file or a caller."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal

from dprelease.specfile.complaints.reporter import Refused

MAX_DEPTH = 16
MAX_VALUES = 10**6
_PLAIN = frozenset({str, int, bool, Decimal})


class TooMany:
    """Stands for a list that is too long to be copied, or for anything to be made of it."""

    def __init__(self, number: int) -> None:
        self.number = number


def copy_tree(value: object, depth: int = 0) -> object:
    """Copy a tree given from Python into what TOML would have given.

    Floats become the Decimal they print as, tuples become lists, paths become texts, keys with
    None are left out, lists beyond 10^6 values become ``TooMany``. Raises ``Refused``: a tree that
    is deeper than any spec, cyclic ones included (E004), a key that is not a text (E103).
    """
    if depth > MAX_DEPTH:
        raise Refused("the spec is nested too deep", code="E004")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise Refused("a key of the spec is not a text", "write it as a text", "E103")
        return {
            str(key): copy_tree(part, depth + 1) for key, part in value.items() if part is not None
        }
    if isinstance(value, list | tuple):
        return _copy_list(value, depth)
    if isinstance(value, float):
        return Decimal(float.__repr__(value))
    if isinstance(value, str):
        return str.__str__(value)  # an enumeration's member becomes its text
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return value


def _copy_list(value: Sequence[object], depth: int) -> object:
    if len(value) > MAX_VALUES:
        return TooMany(len(value))
    # The commonest values first: lists can be long.
    return [
        element
        if type(element) in _PLAIN
        else (Decimal(repr(element)) if type(element) is float else copy_tree(element, depth + 1))
        for element in value
    ]
