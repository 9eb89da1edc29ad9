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


def read_steps(report: object, table: str) -> Stated:
    """Read the laws of a published record-level table from its report.

    Args:
        report: The content of report.json.
        table: The name of the table's file.

    Returns:
        The table's laws and file, and the coverage of intervals.

    Raises:
        LookupError: The report has no such record-level table.
        ValueError: It is no report of this version, or states no such laws.
    """
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise ValueError("no report of this version")
    tables = report.get("perturb")
    if not isinstance(tables, list):
        raise LookupError(table)
    try:
        for content in tables:
            if content["file"] == table:
                return _describe_law(
                    from_json(RecordTable, content), report["provenance"]["interval"]
                )
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, OverflowError):
        raise ValueError("not the facts of a record-level table") from None
    raise LookupError(table)


def _describe_law(facts: RecordTable, interval: object) -> Stated:
    responses, goal = tuple(map(_read_response, facts.columns)), facts.asked_
    perturb = Perturb(
        _read_text(facts.name),
        tuple(response.column for response in responses),
        None if goal.epsilon is None else _read_exact(goal.epsilon),
        _read_exact(goal.delta),
        None if goal.truth is None else _read_exact(goal.truth),
    )
    if not responses or len({column.name for column in perturb.columns}) != len(responses):
        raise ValueError("columns are named once")
    file, form, digest = facts.file or "", facts.format or "", facts.sha256 or ""
    if form not in {"csv", "parquet"} or not _DIGEST.fullmatch(digest):
        raise ValueError("no file of ours")
    step = RecordStep(perturb, responses, _limit(facts.rows_per_unit, 1), _read_loss(facts))
    return Stated(step, file, form, digest, _limit(facts.rows, 0), _read_coverage(interval))


def _read_response(facts: RecordColumn) -> Response:
    name, mechanism = _read_text(facts.name), Mechanism(facts.mechanism)
    group = None if facts.labels is None else _group(name, facts.labels)
    quantity = None if facts.grid is None else _read_quantity(name, facts.grid)
    if (group is None) == (quantity is None) or mechanism is Mechanism.AUTO:
        raise ValueError("a column has labels or a grid, and one mechanism")
    column = PerturbedColumn(
        name, group, quantity, mechanism, _read_exact(facts.weight), facts.null_chosen
    )
    response = Response(column, mechanism, _read_law(facts.law), _read_loss(facts))
    choose_cells(response)  # refuses a law that is of another kind of column
    return response


def _group(name: str, facts: Labels) -> Group:
    labels = tuple(map(_read_text, facts.labels))
    if not labels or len(set(labels)) != len(labels):
        raise ValueError("labels are different")
    return Group(
        name,
        ColumnType(facts.type),
        labels,
        None if facts.keys is None else labels[: _limit(facts.keys, 0)],
        None if facts.bins is None else tuple(map(_read_text, facts.bins)),
        None if facts.other is None else _read_text(facts.other),
        None if facts.null_label is None else _read_text(facts.null_label),
    )


def _read_quantity(name: str, facts: NumberGrid) -> Quantity:
    lower, upper = _limit(facts.lower, -_WHOLE), _limit(facts.upper, -_WHOLE)
    grid = Grid(_read_exact(facts.step), lower, upper)
    if not _TINY < grid.step < 1 / _TINY or grid.upper < grid.lower:
        raise ValueError("no grid")
    return Quantity(name, grid, _limit(facts.null_fill, -_WHOLE))


def _read_law(facts: ResponseLaw) -> Law:
    if isinstance(facts, SubsetResponse):
        law = SubsetLaw(_limit(facts.labels, 1), _limit(facts.size, 1), _read_exact(facts.keep))
        own_chance, other_chance = compute_chances(law)
        if abs(own_chance - other_chance) < _TINY:
            raise ValueError("answers that tell nothing")
        return law
    if isinstance(facts, LaplaceResponse):
        scale = _read_exact(facts.scale)
        if not 0 < scale < _WHOLE:
            raise ValueError("no scale of integers of 64 bits")
        return LaplaceLaw(scale)
    share = _read_exact(facts.share)
    if len(facts.windows) not in {1, 2} or not 0 <= share <= 1:
        raise ValueError("no windows, or no share between 0 and 1")
    first, *second = map(_read_window, facts.windows)
    return WindowLaw(first, second[0] if second else None, share)


def _read_window(facts: ResponseWindow) -> Window:
    levels, width = _limit(facts.levels, 2), _limit(facts.width, 1)
    ratio, gap = _read_exact(facts.ratio), _read_exact(facts.gap)
    if not width < levels <= _MOST_LEVELS or ratio <= 0 or not _TINY < gap < 1 / _TINY:
        raise ValueError("no window")
    return Window(levels, width, ratio, gap)


def _read_loss(facts: RecordColumn | RecordTable) -> Loss:
    return Loss(_read_exact(facts.epsilon_exact), _read_exact(facts.delta_exact))


def _read_coverage(interval: object) -> Fraction:
    """Read the interval as the report writes it: a short decimal, or p/q."""
    if not isinstance(interval, str) or not re.fullmatch(r"[0-9./]{1,80}", interval, re.ASCII):
        raise ValueError("no coverage")
    coverage = Fraction(interval)
    if not 0 < coverage < 1:
        raise ValueError("a coverage is between 0 and 1")
    return coverage


def _read_exact(number: str) -> Fraction:
    if not _EXACT.fullmatch(number):
        raise ValueError("no exact number")
    return Fraction(number)


def _limit(number: int | None, minimum: int) -> int:
    if number is None or not minimum <= number < _WHOLE:
        raise ValueError("no whole number of that size")
    return number


def _read_text(text: str) -> str:
    text.encode()  # half a character can be written in JSON, and nowhere else: a ValueError
    return text
