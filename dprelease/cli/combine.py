"""``dprelease combine``: sums, differences, means and shares of published figures."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from dprelease.cli.app import JSON
from dprelease.cli.console import answer, answer_json
from dprelease.errors import Complaint, ExitCode, Failure

if TYPE_CHECKING:
    from dprelease.report.combine.expression import Sum
    from dprelease.report.combine.intervals import Interval

EPILOG = """\b
Example:
  dprelease combine out/clinic-visits 'mean(by_region.mean_waiting_days)'
  dprelease combine out/clinic-visits 'sum(visits[region="north"])'
  dprelease combine --json out/clinic-visits \\
    'sum(visits[region="north"]) - sum(visits[region="south"])'"""


@click.command(epilog=EPILOG)
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.argument("expression")
@click.option(
    "--interval", metavar="P", help="Level of the noise interval.  [default: the report's]"
)
@JSON
def combine(directory: str, expression: str, interval: str | None, as_json: bool) -> int:
    """Combine published figures, with the right noise interval.

    EXPRESSION has +, -, *, / and numbers, and figures such as visits[region="north"],
    by_region.visits[...], sum(visits) or mean(mean_days). Reads report.json and the tables in DIR:
    nothing is spent, no private data and no ledger are opened. Figures that were changed after the
    noise are taken as they were released.
    """
    from dprelease.report.combine.expression import combine as combined
    from dprelease.report.rerender import published_of

    published, usual = published_of(directory)
    level = Fraction(usual) if interval is None else _level(interval)
    found, told = combined(published, expression, 1 - level)
    changed = _changed(found)
    if as_json:
        answer_json(
            {
                "schema": "dprelease/combination/1",
                "expression": expression,
                "value": float(told.value),
                "low": float(told.low),
                "high": float(told.high),
                "noise_halfwidth": float(told.half),
                "interval": str(level),
                "cells": found.cells,
                "as_released": changed,
            }
        )
        return int(ExitCode.DONE)
    for line in _lines(expression, told, level, changed):
        answer(line)
    return int(ExitCode.DONE)


def _lines(expression: str, told: Interval, level: Fraction, changed: list[str]) -> list[str]:
    from dprelease.postprocess.number_text import percent
    from dprelease.report.combine.wording import interval_text

    value, half, low, high = interval_text(told)
    lines = [
        expression,
        f"  {value} ± {half}",
        f"  {percent(level)} noise interval: {low} to {high}",
    ]
    if changed:
        names = ", ".join(changed)
        lines.append(f"  of figures as they were released, before changes after the noise: {names}")
    return lines


def _changed(found: Sum) -> list[str]:
    figures = [figures for figures, _ in (*found.weighted, *found.divisor)]
    figures += [pooled.figures for pooled, _ in found.means]
    return list(dict.fromkeys(each.name for each in figures if each.raw))


def _level(text: str) -> Fraction:
    try:
        level = Fraction(text)
    except (ValueError, ZeroDivisionError):
        level = Fraction(0)
    if not 0 < level < 1 or level > 1 - Fraction(1, 10**9):
        hint = "write a level between 0 and 1, such as 0.95"
        raise Failure(ExitCode.SPEC, Complaint("E846", f"no level of an interval: {text}", hint))
    return level
