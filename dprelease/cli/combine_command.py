"""``dprelease combine``: sums, differences, means and shares of published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import dprelease
from dprelease.cli.app import JSON
from dprelease.cli.views.console import answer, answer_json
from dprelease.errors import ExitCode

if TYPE_CHECKING:
    from dprelease.release.published import Combination

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
    nothing is spent, no private data and no ledger are opened. Of figures that were changed after
    the noise the value is of what was published, and the interval of them before. An expression
    that begins with - stands after --.
    """
    result = dprelease.combine(directory, expression, interval=interval)
    if as_json:
        answer_json(result.to_dict())
        return int(ExitCode.DONE)
    for line in _build_lines(result):
        answer(line)
    return int(ExitCode.DONE)


def _build_lines(result: Combination) -> list[str]:
    from dprelease.combination.combination_wording import write_interval
    from dprelease.reports.text.shown_numbers import write_percent

    value, half, low, high = write_interval(result.interval)
    lines = [
        result.expression,
        f"  {value} ± {half}",
        f"  {write_percent(float(result.level))} noise interval: {low} to {high}",
    ]
    if result.as_released:
        names = ", ".join(result.as_released)
        lines.append(
            f"  the interval is for figures before they were changed after the noise: {names}"
        )
    return lines
