"""Reads lower, upper and step of a column: its grid, or why it has none."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import NUMERIC_TYPES, ColumnType, Grid
from dprelease.spec.checks.columns.grids import make_grid
from dprelease.spec.complaints.reporter import Reporter
from dprelease.spec.schema.models import ColumnSection
from dprelease.spec.schema.structure import Part
from dprelease.spec.toml.numbers import Refused, exact

_KEYS = ("lower", "upper", "step")


def read_grid(
    kind: ColumnType, part: Part[ColumnSection], reporter: Reporter
) -> tuple[Grid | None, bool]:
    """Give the grid of a column, if it has one, and whether its step was chosen here.

    Mistakes become complaints; a boolean column has the grid 0, 1 by itself.
    """
    given = [key for key in _KEYS if getattr(part.model, key) is not None]
    if kind is ColumnType.BOOLEAN or kind not in NUMERIC_TYPES:
        for key in given:
            message = f"a {kind.value} column takes no {key}"
            reporter.complain("E209", message, (*part.path, key), _instead(kind))
        return (Grid(Fraction(1), 0, 1) if kind is ColumnType.BOOLEAN else None), False
    if not given or not part.sound(*_KEYS):
        return None, False
    if "lower" not in given or "upper" not in given:
        missing = [key for key in ("lower", "upper") if key not in given]
        message = f"{given[0]} without {' and '.join(missing)}"
        hint = "from a public rule, both"
        reporter.complain("E111", message, (*part.path, given[0]), hint)
        return None, False
    return _make(kind, part, reporter)


def _make(
    kind: ColumnType, part: Part[ColumnSection], reporter: Reporter
) -> tuple[Grid | None, bool]:
    numbers = []
    for key, value in (("lower", part.model.lower), ("upper", part.model.upper)):
        try:
            numbers.append(exact(value))
        except Refused as refused:
            reporter.complain(refused.code, refused.message, (*part.path, key), refused.hint)
    if len(numbers) < 2:
        return None, False
    try:
        return make_grid(kind, numbers[0], numbers[1], part.model.step)
    except Refused as refused:
        path = (*part.path, refused.key)
        reporter.complain(refused.code, refused.message, path, refused.hint)
        return None, False


def _instead(kind: ColumnType) -> str:
    if kind is ColumnType.BOOLEAN:
        return "false counts as 0 and true as 1"
    if kind is ColumnType.STRING:
        return "keys lists its values"
    return "sums and means of dates: derive a number by an expression; groups: use bins"
