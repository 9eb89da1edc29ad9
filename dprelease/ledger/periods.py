"""Periods as spans of days, and which runs one protected unit can be in.

Runs over periods that were declared disjoint compose in parallel (McSherry 2009): a unit has
records in one of them, and all other runs are the same in both of two neighbouring tables. A unit
whose records lie at one point in time is in the runs whose span holds that point, and in those
that declared nothing. Under replace-one that protects what the unit's records say within its
period, not which period it is in.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

_FORM = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?:"
    r"(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?"
    r"|q(?P<quarter>[1-4])|h(?P<half>[12])|w(?P<week>[0-9]{2})))?"
)


class Span(NamedTuple):
    """From the first day to the last, both included."""

    first: date
    last: date


class Dated(Protocol):
    """What places a run in time. ``disjoint``: each unit has records in one period only."""

    @property
    def period(self) -> str | None:
        """The text that filled ``{period}``."""
        ...

    @property
    def disjoint(self) -> bool:
        """Whether the run declared so."""
        ...


Kind = TypeVar("Kind", bound=Dated)


@lru_cache(maxsize=4096)
def span_of(period: str) -> Span | None:
    """The days of YYYY, YYYY-MM, YYYY-MM-DD, YYYY-Qn, YYYY-Hn or YYYY-Www, in either case.

    None for any other text, also for a day that there is not: it is a period of its own.
    """
    found = _FORM.fullmatch(period.casefold())
    if found is None:
        return None
    year = int(found["year"])
    try:
        if found["week"]:  # of ISO 8601, from Monday on
            first = date.fromisocalendar(year, int(found["week"]), 1)
            return Span(first, first + timedelta(6))
        if found["day"]:
            day = date(year, int(found["month"]), int(found["day"]))
            return Span(day, day)
        first_month, months = _months(found)
        last_month = first_month + months - 1
        days = calendar.monthrange(year, last_month)[1]
        return Span(date(year, first_month, 1), date(year, last_month, days))
    except (ValueError, OverflowError):
        return None


def _months(found: re.Match[str]) -> tuple[int, int]:
    """The first month and the number of months."""
    if found["month"]:
        return int(found["month"]), 1
    if found["quarter"]:
        return 3 * int(found["quarter"]) - 2, 3
    if found["half"]:
        return 6 * int(found["half"]) - 5, 6
    return 1, 12


def meets(one: Dated, other: Dated) -> bool:
    """Whether a unit can be in both runs."""
    if not one.disjoint or not other.disjoint or one.period is None or other.period is None:
        return True
    span, late = span_of(one.period), span_of(other.period)
    if span is None or late is None:
        return one.period.casefold() == other.period.casefold()
    return span.first <= late.last and late.first <= span.last


def together(runs: Sequence[Kind]) -> list[list[Kind]]:
    """The sets of runs that one unit can be in, each in the order given; at least one set.

    The most runs meet at the first day of some span, so those days are all that is looked at.
    """
    spans: dict[str, Span] = {}
    others: list[str] = []
    for run in runs:
        if run.disjoint and run.period is not None:
            name = run.period.casefold()
            span = span_of(name)
            if span is not None:
                spans[name] = span
            elif name not in others:
                others.append(name)
    met = {frozenset([name]) for name in others}
    for day in {span.first for span in spans.values()}:
        met.add(frozenset(name for name, span in spans.items() if span.first <= day <= span.last))
    names = [one for one in met if not any(one < other for other in met)] if len(met) < 50 else met
    return [
        [
            run
            for run in runs
            if not run.disjoint or run.period is None or run.period.casefold() in meeting
        ]
        for meeting in sorted(names, key=sorted)
    ] or [list(runs)]
