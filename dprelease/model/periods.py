"""Names of periods as spans of days."""

from __future__ import annotations

import calendar
import re
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

_FORM = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?:"
    r"(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?"
    r"|q(?P<quarter>[1-4])|h(?P<half>[12])|w(?P<week>[0-9]{2})))?"
)


class Span(NamedTuple):
    """A span of days, both ends included."""

    first: date
    last: date


@lru_cache(maxsize=4096)
def parse_period(period: str) -> Span | None:
    """Parse the name of a period.

    Args:
        period: YYYY, YYYY-MM, YYYY-MM-DD, YYYY-Qn, YYYY-Hn or YYYY-Www, in either case.

    Returns:
        Its days; None for any other text, also for a day that does not exist.
    """
    match = _FORM.fullmatch(period.casefold())
    if match is None:
        return None
    year = int(match["year"])
    try:
        if match["week"]:  # of ISO 8601, from Monday on
            first = date.fromisocalendar(year, int(match["week"]), 1)
            return Span(first, first + timedelta(6))
        if match["day"]:
            day = date(year, int(match["month"]), int(match["day"]))
            return Span(day, day)
        # A month, quarter, half or whole year.
        first_month, months = _read_months(match)
        last_month = first_month + months - 1
        days = calendar.monthrange(year, last_month)[1]
        return Span(date(year, first_month, 1), date(year, last_month, days))
    except (ValueError, OverflowError):
        return None


def _read_months(match: re.Match[str]) -> tuple[int, int]:
    """Read the first month and the number of months."""
    if match["month"]:
        return int(match["month"]), 1
    if match["quarter"]:
        return 3 * int(match["quarter"]) - 2, 3
    if match["half"]:
        return 6 * int(match["half"]) - 5, 6
    return 1, 12


def is_nearly_a_date(period: str) -> bool:
    """Tell if a text looks like a date but is none: 2026-1, 2026_02, 2026-02-30."""
    return re.match(r"[0-9]{4}(?![0-9a-zA-Z])|[0-9]{6,8}$", period) is not None and (
        parse_period(period) is None
    )
