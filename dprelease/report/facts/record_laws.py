"""The ``perturb`` part of ``report.json`` read back: the laws of a record-level table, exactly.

What is read may have been written by anybody: it is checked, and bounded in size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dprelease.local.cells import cells_of
from dprelease.local.estimates import chances
from dprelease.model import ColumnType, Grid, Group, Loss, Mechanism, Perturb, PerturbedColumn
from dprelease.model.local_tables import (
    LaplaceLaw,
    Law,
    RecordStep,
    Response,
    SubsetLaw,
    Window,
    WindowLaw,
)
from dprelease.model.requests import Quantity

SCHEMA = "dprelease/report/1"
_EXACT = re.compile(r"-?[0-9]{1,2000}/[0-9]{1,2000}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_LEVELS = 1000
_WHOLE = 2**63
_TINY = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True)
class Stated:
    """A record-level table as the report states it: its laws, and which file it is."""

    step: RecordStep
    file: str
    format: str
    sha256: str
    rows: int
    interval: Fraction


def steps_from_report(report: Mapping[str, Any], table: str) -> Stated:
    """Find the table, by the name of its file, and its laws.

    Raises LookupError where the report has no such record-level table, and ValueError where it is
    no report of this version or states no such laws.
    """
    if not isinstance(report, Mapping) or report.get("schema") != SCHEMA:
        raise ValueError("no report of this version")
    listed = report.get("perturb")
    if not isinstance(listed, list):
        raise LookupError(table)
    try:
        for each in listed:
            if each["file"] == table:
                return _stated(each, report["provenance"]["interval"])
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        raise ValueError("not the facts of a record-level table") from None
    raise LookupError(table)


def _stated(facts: Mapping[str, Any], interval: Any) -> Stated:
    asked = facts["asked"]
    responses = tuple(map(_response, facts["columns"]))
    perturb = Perturb(
        _text(facts["name"]),
        tuple(each.column for each in responses),
        _optional(asked["epsilon"]),
        _exact(asked["delta"]),
        _optional(asked["truth"]),
    )
    if not responses or len({each.column.name for each in responses}) != len(responses):
        raise ValueError("columns are named once")
    if facts["format"] not in ("csv", "parquet") or not _DIGEST.fullmatch(facts["sha256"]):
        raise ValueError("no file of ours")
    step = RecordStep(perturb, responses, _whole(facts["rows_per_unit"], 1), _loss(facts))
    rows = _whole(facts["rows"], 0)
    return Stated(step, facts["file"], facts["format"], facts["sha256"], rows, _coverage(interval))


def _response(facts: Mapping[str, Any]) -> Response:
    name = _text(facts["name"])
    mechanism = Mechanism(facts["mechanism"])
    group = None if facts["labels"] is None else _group(name, facts["labels"])
    quantity = None if facts["grid"] is None else _quantity(name, facts["grid"])
    if (group is None) == (quantity is None) or mechanism is Mechanism.AUTO:
        raise ValueError("a column has labels or a grid, and one mechanism")
    column = PerturbedColumn(
        name, group, quantity, mechanism, _exact(facts["weight"]), bool(facts["null_chosen"])
    )
    response = Response(column, mechanism, _law(facts["law"]), _loss(facts))
    cells_of(response)  # refuses a law that is of another kind of column
    return response


def _group(name: str, facts: Mapping[str, Any]) -> Group:
    labels = _texts(facts["labels"])
    if not labels or len(set(labels)) != len(labels):
        raise ValueError("labels are different")
    keys, bins = facts["keys"], facts["bins"]
    return Group(
        name,
        ColumnType(facts["type"]),
        labels,
        None if keys is None else labels[: _whole(keys, 0)],
        None if bins is None else _texts(bins),
        None if facts["other"] is None else _text(facts["other"]),
        None if facts["null_label"] is None else _text(facts["null_label"]),
    )


def _quantity(name: str, facts: Mapping[str, Any]) -> Quantity:
    grid = Grid(
        _exact(facts["step"]), _whole(facts["lower"], -_WHOLE), _whole(facts["upper"], -_WHOLE)
    )
    if not _TINY < grid.step < 1 / _TINY or grid.upper < grid.lower:
        raise ValueError("no grid")
    return Quantity(name, grid, _whole(facts["null_fill"], -_WHOLE))


def _law(facts: Mapping[str, Any]) -> Law:
    kind = facts["law"]
    if kind == "subset":
        law = SubsetLaw(_whole(facts["labels"], 1), _whole(facts["size"], 1), _exact(facts["keep"]))
        own, other = chances(law)
        if abs(own - other) < _TINY:
            raise ValueError("answers that tell nothing")
        return law
    if kind == "laplace":
        scale = _exact(facts["scale"])
        if not 0 < scale < _WHOLE:
            raise ValueError("no scale of integers of 64 bits")
        return LaplaceLaw(scale)
    if kind != "windows" or len(facts["windows"]) not in (1, 2):
        raise ValueError("no law of this version")
    share = _exact(facts["share"])
    if not 0 <= share <= 1:
        raise ValueError("a share is between 0 and 1")
    first, *second = map(_window, facts["windows"])
    return WindowLaw(first, second[0] if second else None, share)


def _window(facts: Mapping[str, Any]) -> Window:
    levels, width = _whole(facts["levels"], 2), _whole(facts["width"], 1)
    ratio, gap = _exact(facts["ratio"]), _exact(facts["gap"])
    if not width < levels <= _MOST_LEVELS or ratio <= 0 or not _TINY < gap < 1 / _TINY:
        raise ValueError("no window")
    return Window(levels, width, ratio, gap)


def _loss(facts: Mapping[str, Any]) -> Loss:
    return Loss(_exact(facts["epsilon_exact"]), _exact(facts["delta_exact"]))


def _coverage(stated: Any) -> Fraction:
    """The interval as the report writes it: a short decimal, or p/q."""
    if not isinstance(stated, str) or not re.fullmatch(r"[0-9./]{1,80}", stated, re.ASCII):
        raise ValueError("no coverage")
    found = Fraction(stated)
    if not 0 < found < 1:
        raise ValueError("a coverage is between 0 and 1")
    return found


def _exact(stated: Any) -> Fraction:
    if not isinstance(stated, str) or not _EXACT.fullmatch(stated):
        raise ValueError("no exact number")
    return Fraction(stated)


def _optional(stated: Any) -> Fraction | None:
    return None if stated is None else _exact(stated)


def _whole(stated: Any, least: int) -> int:
    if not isinstance(stated, int) or isinstance(stated, bool) or not least <= stated < _WHOLE:
        raise ValueError("no whole number of that size")
    return stated


def _text(stated: Any) -> str:
    if not isinstance(stated, str):
        raise TypeError("no text")
    stated.encode()  # half a character can be written in JSON, and nowhere else: a ValueError
    return stated


def _texts(stated: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(stated, list):
        raise TypeError("no list")
    return tuple(map(_text, stated))
