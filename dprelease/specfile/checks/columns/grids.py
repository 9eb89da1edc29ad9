"""The public grid of a numeric column: its lower and upper bound and its step."""

from __future__ import annotations

from fractions import Fraction

from dprelease.model import NUMERIC_TYPES, ColumnType, Grid
from dprelease.specfile.complaints.complaint_wording import show_fraction
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.number_texts import read_exact
from dprelease.specfile.keys.section_reader import Part
from dprelease.specfile.schema.sections import ColumnSection

_KEYS = ("lower", "upper", "step")


def read_grid(kind: ColumnType, part: Part[ColumnSection]) -> tuple[Grid | None, bool]:
    """Give the grid of a column, if it has one, and whether its step was chosen here.

    Mistakes become complaints; a boolean column has the grid 0, 1 by itself.
    """
    model, keys = part.model, part.list_given(*_KEYS)
    if kind is ColumnType.BOOLEAN or kind not in NUMERIC_TYPES:
        for key in keys:
            part.complain(
                "E209",
                f"a {kind.value} column can't have `{key}`",
                key,
                hint=_suggest_instead(kind),
            )
        return (Grid(Fraction(1), 0, 1) if kind is ColumnType.BOOLEAN else None), False
    if not keys or not part.is_sound(*_KEYS):
        return None, False
    if model.lower is None or model.upper is None:
        missing = " and ".join(key for key in ("lower", "upper") if key not in keys)
        hint = "declare both, from a public rule"
        part.complain("E111", f"{keys[0]} needs {missing}", keys[0], hint=hint)
        return None, False
    lower = part.attempt(lambda: read_exact(model.lower), "lower")
    upper = part.attempt(lambda: read_exact(model.upper), "upper")
    if lower is None or upper is None:
        return None, False
    return part.attempt(lambda: make_grid(kind, lower, upper, model.step)) or (None, False)


def _suggest_instead(kind: ColumnType) -> str:
    if kind is ColumnType.BOOLEAN:
        return "false counts as 0 and true as 1"
    if kind is ColumnType.STRING:
        return "list its values in keys"
    return "derive a number from the date by an expression, or use bins for groups"


# A binary64 number converts exactly to a whole number of steps up to here.
LARGEST_STEPS = 2**53 - 1
# The default grid has at least so many steps: its rounding is far below any noise.
LEAST_STEPS = 10**5


def make_grid(
    kind: ColumnType, lower: Fraction, upper: Fraction, step: Fraction | None
) -> tuple[Grid, bool]:
    """Put bounds on a grid; also says whether the step was chosen here.

    Guarantee: ``lower`` and ``upper`` are whole multiples of the step, of at most 2^53 - 1 steps.
    Raises ``Refused`` (E205, E206, E207, E208).
    """
    if lower >= upper:
        message = f"lower {show_fraction(lower)} is not below upper {show_fraction(upper)}"
        raise Refused(message, code="E206", key="lower")
    if kind is ColumnType.INTEGER:
        _check_whole(lower, upper, step)
    chosen = step is None
    if step is None:
        step = Fraction(1) if kind is ColumnType.INTEGER else choose_default_step(lower, upper)
    if step <= 0:
        raise Refused(
            f"step {show_fraction(step)} is not above 0",
            "write a step such as 0.01",
            "E205",
            "step",
        )
    if not _is_fitting(lower, upper, step):
        fitting = show_fraction(_find_fitting_step(lower, upper, step))
        message = f"step {show_fraction(step)} does not divide lower and upper"
        raise Refused(message, f"step = {fitting} does", "E207", "step")
    grid = Grid(step, int(lower / step), int(upper / step))
    if grid.magnitude > LARGEST_STEPS:
        raise Refused(
            f"the bounds are more than 2^53 - 1 steps of {show_fraction(step)} away from 0",
            code="E208",
            key="upper" if chosen else "step",
        )
    return grid, chosen


def choose_default_step(lower: Fraction, upper: Fraction) -> Fraction:
    """Give the largest power of ten that divides both bounds and makes at least 10^5 steps."""
    step = Fraction(10) ** 18
    while not _is_fitting(lower, upper, step) or (upper - lower) / step < LEAST_STEPS:
        step /= 10
    return step


def _is_fitting(lower: Fraction, upper: Fraction, step: Fraction) -> bool:
    return (lower / step).denominator == 1 and (upper / step).denominator == 1


def _find_fitting_step(lower: Fraction, upper: Fraction, largest_step: Fraction) -> Fraction:
    """Find the largest 1, 2 or 5 times a power of ten that divides both, up to ``largest_step``."""
    power = Fraction(10) ** 18
    while True:
        for factor in (5, 2, 1):
            if factor * power <= largest_step and _is_fitting(lower, upper, factor * power):
                return factor * power
        power /= 10


def _check_whole(lower: Fraction, upper: Fraction, step: Fraction | None) -> None:
    for word, number in (("lower", lower), ("upper", upper), ("step", step)):
        if number is not None and number.denominator != 1:
            message = f"{word} {show_fraction(number)} of an integer column is not a whole number"
            raise Refused(message, 'write a whole number, or type = "decimal"', "E205", word)
