"""The ``perturb`` part of ``report.json`` read back: the laws of a record-level table, exactly.

What is read may have been written by anybody: it is checked, and bounded in size. What is wrong
with it is a ValueError.
"""

from __future__ import annotations

import re
from fractions import Fraction

from msgspec import Struct

from dprelease.local.answer_cells import choose_cells
from dprelease.local.estimates import compute_chances
from dprelease.model import ColumnType, Grid, Group, Loss, Mechanism, Perturb, PerturbedColumn
from dprelease.model.record_tables import (
    LaplaceLaw,
    Law,
    RecordStep,
    Response,
    SubsetLaw,
    Window,
    WindowLaw,
)
from dprelease.model.requests import Quantity
from dprelease.reports.model.json_form import SCHEMA, from_json
from dprelease.reports.model.record_model import (
    Labels,
    LaplaceResponse,
    NumberGrid,
    RecordColumn,
    RecordTable,
    ResponseLaw,
    ResponseWindow,
    SubsetResponse,
)

_EXACT = re.compile(r"-?[0-9]{1,2000}/[0-9]{1,2000}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST_LEVELS = 1000
_WHOLE = 2**63
_TINY = Fraction(1, 10**30)


class Stated(Struct, frozen=True):
    """A record-level table as the report states it: its laws, and which file it is."""

    step: RecordStep
    file: str
    format: str
    sha256: str
    rows: int
    interval: Fraction


def steps_from_report(report: object, table: str) -> Stated:
    """Find the table, by the name of its file, and its laws.

    Raises LookupError where the report has no such record-level table, and ValueError where it is
    no report of this version or states no such laws.
    """
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise ValueError("no report of this version")
    tables = report.get("perturb")
    if not isinstance(tables, list):
        raise LookupError(table)
    try:
        for content in tables:
            if content["file"] == table:
                return _stated(from_json(RecordTable, content), report["provenance"]["interval"])
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        raise ValueError("not the facts of a record-level table") from None
    raise LookupError(table)


def _stated(facts: RecordTable, interval: object) -> Stated:
    responses, goal = tuple(map(_response, facts.columns)), facts.asked_
    perturb = Perturb(
        _text(facts.name),
        tuple(response.column for response in responses),
        None if goal.epsilon is None else _exact(goal.epsilon),
        _exact(goal.delta),
        None if goal.truth is None else _exact(goal.truth),
    )
    if not responses or len({column.name for column in perturb.columns}) != len(responses):
        raise ValueError("columns are named once")
    file, form, digest = facts.file or "", facts.format or "", facts.sha256 or ""
    if form not in {"csv", "parquet"} or not _DIGEST.fullmatch(digest):
        raise ValueError("no file of ours")
    step = RecordStep(perturb, responses, _bounded(facts.rows_per_unit, 1), _loss(facts))
    return Stated(step, file, form, digest, _bounded(facts.rows, 0), _coverage(interval))


def _response(facts: RecordColumn) -> Response:
    name, mechanism = _text(facts.name), Mechanism(facts.mechanism)
    group = None if facts.labels is None else _group(name, facts.labels)
    quantity = None if facts.grid is None else _quantity(name, facts.grid)
    if (group is None) == (quantity is None) or mechanism is Mechanism.AUTO:
        raise ValueError("a column has labels or a grid, and one mechanism")
    column = PerturbedColumn(
        name, group, quantity, mechanism, _exact(facts.weight), facts.null_chosen
    )
    response = Response(column, mechanism, _law(facts.law), _loss(facts))
    choose_cells(response)  # refuses a law that is of another kind of column
    return response


def _group(name: str, facts: Labels) -> Group:
    labels = tuple(map(_text, facts.labels))
    if not labels or len(set(labels)) != len(labels):
        raise ValueError("labels are different")
    return Group(
        name,
        ColumnType(facts.type),
        labels,
        None if facts.keys is None else labels[: _bounded(facts.keys, 0)],
        None if facts.bins is None else tuple(map(_text, facts.bins)),
        None if facts.other is None else _text(facts.other),
        None if facts.null_label is None else _text(facts.null_label),
    )


def _quantity(name: str, facts: NumberGrid) -> Quantity:
    lower, upper = _bounded(facts.lower, -_WHOLE), _bounded(facts.upper, -_WHOLE)
    grid = Grid(_exact(facts.step), lower, upper)
    if not _TINY < grid.step < 1 / _TINY or grid.upper < grid.lower:
        raise ValueError("no grid")
    return Quantity(name, grid, _bounded(facts.null_fill, -_WHOLE))


def _law(facts: ResponseLaw) -> Law:
    if isinstance(facts, SubsetResponse):
        law = SubsetLaw(_bounded(facts.labels, 1), _bounded(facts.size, 1), _exact(facts.keep))
        own, other = compute_chances(law)
        if abs(own - other) < _TINY:
            raise ValueError("answers that tell nothing")
        return law
    if isinstance(facts, LaplaceResponse):
        scale = _exact(facts.scale)
        if not 0 < scale < _WHOLE:
            raise ValueError("no scale of integers of 64 bits")
        return LaplaceLaw(scale)
    share = _exact(facts.share)
    if len(facts.windows) not in {1, 2} or not 0 <= share <= 1:
        raise ValueError("no windows, or no share between 0 and 1")
    first, *second = map(_window, facts.windows)
    return WindowLaw(first, second[0] if second else None, share)


def _window(facts: ResponseWindow) -> Window:
    levels, width = _bounded(facts.levels, 2), _bounded(facts.width, 1)
    ratio, gap = _exact(facts.ratio), _exact(facts.gap)
    if not width < levels <= _MOST_LEVELS or ratio <= 0 or not _TINY < gap < 1 / _TINY:
        raise ValueError("no window")
    return Window(levels, width, ratio, gap)


def _loss(facts: RecordColumn | RecordTable) -> Loss:
    return Loss(_exact(facts.epsilon_exact), _exact(facts.delta_exact))


def _coverage(interval: object) -> Fraction:
    """The interval as the report writes it: a short decimal, or p/q."""
    if not isinstance(interval, str) or not re.fullmatch(r"[0-9./]{1,80}", interval, re.ASCII):
        raise ValueError("no coverage")
    coverage = Fraction(interval)
    if not 0 < coverage < 1:
        raise ValueError("a coverage is between 0 and 1")
    return coverage


def _exact(number: str) -> Fraction:
    if not _EXACT.fullmatch(number):
        raise ValueError("no exact number")
    return Fraction(number)


def _bounded(number: int | None, least: int) -> int:
    if number is None or not least <= number < _WHOLE:
        raise ValueError("no whole number of that size")
    return number


def _text(text: str) -> str:
    text.encode()  # half a character can be written in JSON, and nowhere else: a ValueError
    return text
