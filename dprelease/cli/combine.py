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
  dprelease combine out/clinic-visits 'mean_waiting_days[region="north"]'
  dprelease combine --json out/clinic-visits 'overall_cost / 1000'"""


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
    noise are taken as they were released. An expression that begins with - stands after --.
    """
    from dprelease.report.combine.expression import combine as combined
    from dprelease.report.rerender import read_release

    facts, published = read_release(directory)
    level = Fraction(facts.provenance.interval) if interval is None else _level(interval)
    total, result = combined(published, expression, 1 - level)
    changed = _changed(total)
    if as_json:
        answer_json(
            {
                "schema": "dprelease/combination/1",
                "expression": expression,
                "value": float(result.value),
                "low": float(result.low),
                "high": float(result.high),
                "noise_halfwidth": float(result.half),
                "interval": str(level),
                "cells": total.cells,
                "as_released": changed,
            }
        )
        return int(ExitCode.DONE)
    for line in _lines(expression, result, level, changed):
        answer(line)
    return int(ExitCode.DONE)


def _lines(expression: str, result: Interval, level: Fraction, changed: list[str]) -> list[str]:
    from dprelease.report.combine.wording import interval_text
    from dprelease.report.numbers import percent

    value, half, low, high = interval_text(result)
    lines = [
        expression,
        f"  {value} ± {half}",
        f"  {percent(float(level))} noise interval: {low} to {high}",
    ]
    if changed:
        names = ", ".join(changed)
        lines.append(f"  of figures as they were released, before changes after the noise: {names}")
    return lines


def _changed(total: Sum) -> list[str]:
    figures = [figures for figures, _ in (*total.weighted, *total.divisor)]
    figures += [pooled.figures for pooled, _ in total.means]
    return list(dict.fromkeys(member.name for member in figures if member.raw))


def _level(text: str) -> Fraction:
    try:
        level = Fraction(text)
    except (ValueError, ZeroDivisionError):
        level = Fraction(0)
    if not 0 < level < 1 or level > 1 - Fraction(1, 10**9):
        hint = "write a level between 0 and 1, such as 0.95"
        raise Failure(ExitCode.SPEC, Complaint("E846", f"no level of an interval: {text}", hint))
    return level
