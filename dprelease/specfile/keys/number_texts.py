"""Exact numbers: from what TOML or a caller wrote to a Fraction, never through a float.

A number has at most 12 decimal places (its denominator divides 10^12), a delta at most 40, and an
absolute value below 10^18. Numbers outside are refused by looking at their exponent: they are
never built.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dprelease.specfile.complaints.complaint_wording import show
from dprelease.specfile.complaints.reporter import Refused
from dprelease.specfile.keys.section_reader import Fragment, takes

PLACES = 12
PROBABILITY_PLACES = 40
"""Of a delta: those of large populations are far below 10^-12."""
LARGEST = 10**18
MAX_EPSILON = 10**6
MAX_BOUND = 10**9
MAX_RECORD_LINES = 10_000
MAX_DESIGN_EFFECT = 1000
MAX_SELECTION_DELTA = Fraction(1, 1000)
LEAST_INTERVAL, MOST_INTERVAL = Fraction(1, 2), Fraction(999_999, 1_000_000)

# Parts of the JSON Schema.
NUMBER: Fragment = {"type": "number", "exclusiveMinimum": -LARGEST, "exclusiveMaximum": LARGEST}
POSITIVE: Fragment = {"type": "number", "exclusiveMinimum": 0}
WEIGHT: Fragment = POSITIVE | {"maximum": MAX_EPSILON}
SHARE: Fragment = POSITIVE | {"exclusiveMaximum": 1}


def _build_range(least: int, most: int) -> Fragment:
    return {"type": "integer", "minimum": least, "maximum": most}


def _build_array(items: Fragment) -> Fragment:
    return {"type": "array", "items": items, "minItems": 1}


@takes("number", NUMBER)
def read_exact(value: object, code: str = "E205", places: int = PLACES) -> Fraction:
    """Read a TOML integer or decimal exactly. Raises ``Refused``."""
    if isinstance(value, str):
        raise Refused(f"{show(value)} is a text, not a number", "write it without quotes", code)
    if isinstance(value, Decimal):
        return _parse_decimal(value, code, places)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise Refused(f"{show(value)} is not a number", "write a number", code)
    if 10**places % value.denominator:
        raise _build_precision_refusal(value, code, places)
    return _check_range(value, value, code)


@takes("number above 0", WEIGHT)
def read_budget(value: object) -> Fraction:
    """Read an epsilon, rho or cap: above 0, at most 10^6. Raises ``Refused`` (E203)."""
    number = read_exact(value, "E203")
    if number <= 0:
        hint = "write a budget above 0, such as 0.5"
        raise Refused(f"{show(value)} is not above 0", hint, "E203")
    if number > MAX_EPSILON:
        hint = "a loss above 10 already gives almost no protection"
        raise Refused(
            f"{show(value)} is more than {MAX_EPSILON}, which gives no protection", hint, "E203"
        )
    return number


@takes("number above 0", WEIGHT)
def read_weight(value: object) -> Fraction:
    """Read a query's weight: above 0, at most 10^6. Raises ``Refused`` (E203)."""
    number = read_exact(value, "E203")
    if not 0 < number <= MAX_EPSILON:
        message = f"weight {show(value)} is not above 0 and at most {MAX_EPSILON}"
        raise Refused(
            message, "write how much the accuracy of this query matters, such as 2", "E203"
        )
    return number


@takes("number above 0, at most 1,000", POSITIVE | {"maximum": MAX_DESIGN_EFFECT})
def read_design_effect(value: object) -> Fraction:
    """Read a survey's design effect: above 0, at most 1,000. Raises ``Refused`` (E205)."""
    number = read_exact(value)
    if not 0 < number <= MAX_DESIGN_EFFECT:
        hint = "write the ratio of two variances, such as 1.8, from the survey's documentation"
        message = f"design effect {show(value)} is not above 0 and at most {MAX_DESIGN_EFFECT:,}"
        raise Refused(message, hint, "E205")
    return number


@takes("number in [0, 1)", {"type": "number", "minimum": 0, "exclusiveMaximum": 1})
def read_probability(value: object) -> Fraction:
    """Read a delta: 0 or more, less than 1. Raises ``Refused`` (E203, E204)."""
    number = read_exact(value, "E204", PROBABILITY_PLACES)
    if not 0 <= number < 1:
        raise Refused(f"delta {show(value)} is not in [0, 1)", code="E204")
    return number


@takes("number above 0, to 0.001", WEIGHT | {"maximum": float(MAX_SELECTION_DELTA)})
def read_selection_delta(value: object) -> Fraction:
    """Read the delta of a selection of keys: above 0, at most 1/1000. Raises ``Refused``."""
    number = read_probability(value)
    if number == 0:
        hint = "write a chance far below 1 divided by the number of units, such as 1e-8"
        raise Refused("no private key can be shown with a delta of 0", hint, "E238")
    if number > MAX_SELECTION_DELTA:
        message = f"delta {show(value)} is too large: it is the chance that somebody's key is shown"
        raise Refused(
            message,
            "write a chance far below 1 divided by the number of units, such as 1e-8",
            "E238",
        )
    return number


@takes("number above 0", POSITIVE)
def read_halfwidth(value: object) -> Fraction:
    """Read the half-width of an accuracy target: above 0. Raises ``Refused``."""
    number = read_exact(value, "E240")
    if number <= 0:
        message = f"no noise is within {show(value)}"
        raise Refused(message, "write a number above 0, in the unit of the figure", "E240")
    return number


@takes("number above 0", POSITIVE)
def read_positive(value: object) -> Fraction:
    """Read what figures are rounded to, or a share of them: above 0. Raises ``Refused``."""
    number = read_exact(value)
    if number <= 0:
        raise Refused(f"{show(value)} is not above 0", "write a number above 0", "E205")
    return number


@takes("number from 0.5 to below 1", {"type": "number", "minimum": 0.5, "exclusiveMaximum": 1})
def read_confidence(value: object) -> Fraction:
    """Read the confidence of an accuracy target: from 0.5 to below 1. Raises ``Refused``."""
    number = read_exact(value, "E240")
    if not Fraction(1, 2) <= number < 1:
        message = f"confidence {show(value)} is not at least 0.5 and below 1"
        raise Refused(
            message, "write the share of figures that meet the target, such as 0.95", "E240"
        )
    return number


@takes("number", NUMBER | {"minimum": float(LEAST_INTERVAL), "maximum": float(MOST_INTERVAL)})
def read_interval(value: object) -> Fraction:
    """Read the level of the noise intervals: from 0.5 to 0.999999. Raises ``Refused``."""
    number = read_exact(value)
    if not LEAST_INTERVAL <= number <= MOST_INTERVAL:
        message = f"interval {show(number)} is not between 0.5 and 0.999999"
        raise Refused(message, code="E230")
    return number


def _build_whole_reader(
    words: str, most: int, code: str, hint: str = ""
) -> Callable[[object], int]:
    """Build a reader of whole numbers from 1 to ``most``; it raises ``Refused`` with the code."""

    @takes(words, _build_range(1, most))
    def read(value: object) -> int:
        return _read_whole(value, most, code, hint)

    return read


# How many rows or groups of one unit count.
read_limit = _build_whole_reader("whole number from 1", MAX_BOUND, "E236")
# How many records are behind a figure.
read_record_number = _build_whole_reader(
    "whole number from 1", MAX_BOUND, "E240", "write the number of records, such as 1000"
)
# How many lines stand before the header.
read_skipped_rows = _build_whole_reader(
    "whole number from 1 to 10,000",
    MAX_RECORD_LINES,
    "E229",
    "write how many lines stand before the header, such as 3",
)
# How many units there are in public.
read_population = _build_whole_reader(
    "whole number from 1",
    10**12,
    "E205",
    "write the number of units, such as population = 3_000_000",
)
read_whole_number = _build_whole_reader(
    "whole number from 1 to 1,000,000", 10**6, "E205", "write a whole number from 1 to 1,000,000"
)
# How many values are to be named.
read_picks = _build_whole_reader(
    "whole number from 1", 10**6, "E233", "write the number of values to name, such as k = 3"
)


@takes("whole number from 2 to 10,000", _build_range(2, MAX_RECORD_LINES))
def read_record_lines(value: object) -> int:
    """Read how many lines one record may have: from 2 to 10,000. Raises ``Refused``."""
    hint = "write the most lines that one record has, such as 100"
    lines = _read_whole(value, MAX_RECORD_LINES, "E229", hint)
    if lines < 2:
        message = "a limit of 1 line has no use: a record without multiline has one line anyway"
        raise Refused(message, "leave max_lines_per_record out, or write 2 or more", "E229")
    return lines


@takes("number above 0, or list of them", {"oneOf": [POSITIVE, _build_array(POSITIVE)]})
def read_bandwidth(value: object) -> tuple[Fraction, ...]:
    """Read a bandwidth, or a list of them: each above 0. Raises ``Refused`` (E270)."""
    numbers = tuple(read_exact(number, "E270") for number in _read_list(value, "E270"))
    for number in numbers:
        if number <= 0:
            message = f"bandwidth {show(number)} is not above 0"
            raise Refused(message, "write the width of the kernel, in the column's unit", "E270")
    return numbers


Points: TypeAlias = int | tuple[Fraction | tuple[Fraction, ...], ...]


@takes(
    "whole number from 2, or list",
    {
        "oneOf": [
            _build_range(2, 10**6),
            _build_array({"oneOf": [NUMBER, _build_array(NUMBER)]}),
        ]
    },
)
def read_points(value: object) -> Points:
    """Read a number of points, or a list of numbers and of lists. Raises ``Refused`` (E271)."""
    if isinstance(value, list):
        return tuple(
            tuple(read_exact(number, "E271") for number in _read_list(part, "E271"))
            if isinstance(part, list)
            else read_exact(part, "E271")
            for part in _read_list(value, "E271")
        )
    return _read_whole(value, 10**6, "E271", "write the number of points, such as points = 100")


def _read_list(value: object, code: str) -> list[object]:
    """Read a list that is not empty; a single value stands for a list of one."""
    if value == []:
        raise Refused("the list is empty", "write numbers in [ ], or leave the key out", code)
    return value if isinstance(value, list) else [value]


def _read_whole(value: object, limit: int, code: str, hint: str = "") -> int:
    number = read_exact(value, code)
    if number.denominator != 1 or number < 1:
        raise Refused(f"{show(value)} is not a whole number of at least 1", hint, code)
    if number > limit:
        raise Refused(f"{show(value)} is more than {limit}", hint, code)
    return number.numerator


def _parse_decimal(value: Decimal, code: str, most_places: int) -> Fraction:
    if not value.is_finite():
        raise Refused(f"{show(value)} is not a finite number", "write a finite number", code)
    if value.is_zero():
        return Fraction(0)
    if value.adjusted() > 18:
        raise _build_size_refusal(value, code)
    # Zeros at the end don't count as places; a Decimal of few digits makes this cheap.
    sign, digits, exponent = value.as_tuple()
    significant = len(digits)
    while significant > 1 and digits[significant - 1] == 0:
        significant -= 1
    places = -(int(exponent) + len(digits) - significant)
    if places > most_places:
        raise _build_precision_refusal(value, code, most_places)
    number = int("".join(map(str, digits[:significant])))
    scaled = Fraction(number) / 10**places if places > 0 else Fraction(number * 10**-places)
    return _check_range(-scaled if sign else scaled, value, code)


def _check_range(number: int | Fraction, value: object, code: str) -> Fraction:
    if not -LARGEST < number < LARGEST:
        raise _build_size_refusal(value, code)
    return Fraction(number)


def _build_size_refusal(value: object, code: str) -> Refused:
    hint = "write a number below 10^18"
    return Refused(f"{show(value)} is too large to be held exactly", hint, code)


def _build_precision_refusal(value: object, code: str, places: int) -> Refused:
    return Refused(
        f"{show(value)} needs more than {places} decimal places",
        f"round it to at most {places} decimal places",
        code,
    )
